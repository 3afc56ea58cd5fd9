package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/internal/store"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/internal/world/simworld"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// order is what a world was told, by an action of the journal.
type order struct {
	Do      string `json:"do"`
	Job     int32  `json:"job"`
	Attempt int32  `json:"try"`
}

// dated is a world that notes what was on its way to the disk when it was told something.
type dated struct {
	world.World
	disk *store.Disk
	mu   sync.Mutex
	told map[order]int
}

func (w *dated) Do(orders ...world.Order) {
	w.mu.Lock()
	for i := range orders {
		o := order{orders[i].Do.String(), orders[i].Job, orders[i].Attempt}
		if _, again := w.told[o]; !again {
			w.told[o] = w.disk.Ops()
		}
	}
	w.mu.Unlock()
	w.World.Do(orders...)
}

func scheduler(t *testing.T, st store.Store, w world.World) *live.Daemon {
	t.Helper()
	p, err := policy.Resolve("contract")
	if err != nil {
		t.Fatal(err)
	}
	d, err := live.Open(context.Background(), live.Config{Store: st, World: w, Policy: p, Version: "test", Holder: "test", Now: time.Now, SegmentBytes: 20_000,
		Assume: sim.Assumptions{Checkpoint: -1, Grace: workload.Second, StartLatency: 30 * workload.Second}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func machine() *simworld.Machine {
	return simworld.New(cluster.Uniform("cut", 2, 8), simworld.Options{Now: time.Now, Behave: func(o *world.Order) simworld.Behaviour {
		return simworld.Behaviour{Duration: time.Duration(1+o.Job%9) * 5 * time.Millisecond}
	}})
}

// The power fails under a scheduler at work: whatever part of what was not synced reaches the disk, each
// submission that was answered is there, and nothing was ordered of which the journal does not tell.
func TestPowerCutUnderTheLoop(t *testing.T) {
	dir := store.TempDir(t)
	st, disk := store.RecordedStore(t, dir)
	m := machine()
	w := &dated{World: m.Open(), disk: disk, told: map[order]int{}}
	d := scheduler(t, st, w)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	type answered struct {
		id  string
		ops int
	}
	var mu sync.Mutex
	var taken []answered
	var wg sync.WaitGroup
	for c := range 4 {
		wg.Go(func() {
			for i := range 60 {
				user := fmt.Sprint("u", c)
				done, err := d.Submit(ctx, &live.Submission{By: user, Key: fmt.Sprint(i), Job: workload.Job{User: user, Team: user, Need: workload.Need{GPUs: int32(1 + i%8)}}})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				taken = append(taken, answered{done.ID, disk.Ops()})
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	time.Sleep(100 * time.Millisecond)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 5))
	images := 40 * store.Soak() / store.Slow()
	jobs, orders := 0, 0
	for i := range images {
		n := 1 + rng.IntN(disk.Ops())
		at := filepath.Join(store.TempDir(t), "a")
		if err := os.Mkdir(at, 0o700); err != nil {
			t.Fatal(err)
		}
		disk.Image(t, at, n, rng)
		st, err := store.Open(context.Background(), filepath.Join(at, "escala.db"))
		if err != nil {
			t.Fatalf("seed %d, image %d: %v", seed, i, err)
		}
		var all bytes.Buffer
		if err := st.Read(context.Background(), 0, func(b *store.Batch) error { all.Write(b.Body); return nil }); err != nil {
			t.Fatalf("seed %d, image %d: %v", seed, i, err)
		}
		there := map[order]bool{}
		for line := range bytes.Lines(all.Bytes()) {
			var o order
			if json.Unmarshal(line, &o) == nil && o.Do != "" {
				there[o] = true
			}
		}
		for o, ops := range w.told {
			if ops <= n {
				if orders++; !there[o] {
					t.Errorf("seed %d, image %d: the order to %s run %d of job %d was given, and is not in the journal", seed, i, o.Do, o.Attempt, o.Job)
				}
			}
		}
		d := scheduler(t, st, machine().Open())
		for _, a := range taken {
			if a.ops <= n {
				jobs++
				if _, err := d.Job(context.Background(), a.id); err != nil {
					t.Errorf("seed %d, image %d: job %s was taken: %v", seed, i, a.id, err)
				}
			}
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
		_ = os.RemoveAll(at)
	}
	if jobs == 0 || orders == 0 {
		t.Errorf("%d jobs, %d orders", jobs, orders)
	}
	t.Logf("%d images of %d operations: %d submissions and %d orders were held to them", images, disk.Ops(), jobs, orders)
}
