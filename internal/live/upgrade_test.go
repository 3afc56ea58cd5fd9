package live

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/internal/store"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/internal/world/simworld"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

var newVersion = flag.String("write-version", "", "name of a folder of testdata in which to keep a journal as this version writes it")

// kept is what a journal of testdata comes to. See testdata/README.md.
type kept struct {
	// Hash of the engine's state right after the journal was opened.
	Hash string
	// Jobs that were alive, and two that had ended, with their states; Policy in force.
	Jobs            map[string]string
	Policy, Budgets string
	Hours           []store.HourRow
}

// Journals as earlier versions wrote them open, and come to what they came to then.
func TestJournalsOfEarlierVersions(t *testing.T) {
	if *newVersion != "" {
		writeVersion(t, filepath.Join("testdata", *newVersion))
	}
	dirs, err := filepath.Glob("testdata/v*")
	if err != nil || len(dirs) == 0 {
		t.Fatal("no journals of earlier versions", err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			var want kept
			body, err := os.ReadFile(filepath.Join(dir, "want.json"))
			if err == nil {
				err = json.Unmarshal(body, &want)
			}
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(memory(t), "journal.db")
			unpack(t, filepath.Join(dir, "journal.db.gz"), path)
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(100 * time.Hour) // later than the journal ends
				r := versionRig(t, path)
				r.open()
				got := r.kept(want.Jobs)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("what it came to (-) and comes to (+):\n%s", diff)
				}
				r.run()
				r.wait(time.Hour)
				id := r.submit("ana", 1, nil)
				r.wait(3 * time.Hour)
				r.want(id, "completed")
				r.kill()
				if _, err := r.store.Verify(t.Context(), nil); err != nil {
					t.Error(err)
				}
				if err := r.store.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func versionRig(t *testing.T, path string) *rig {
	t.Helper()
	st, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Resolve("contract")
	if err != nil {
		t.Fatal(err)
	}
	m := simworld.New(labCluster(), simworld.Options{Now: time.Now, Behave: func(*world.Order) simworld.Behaviour { return simworld.Behaviour{Duration: 40 * time.Minute} }})
	return &rig{t: t, machine: m, store: st, cfg: Config{Store: st, Policy: p, Version: "test", Holder: "test", Now: time.Now, Assume: labAssume}}
}

// kept says what a daemon has that was just opened.
func (r *rig) kept(ids map[string]string) kept {
	k := kept{Hash: r.hash(r.d.engine.Snapshot().Now()), Jobs: map[string]string{}}
	for id := range ids {
		k.Jobs[id] = r.job(id).Fate()
	}
	p, _, _ := r.d.Policy()
	tree, _, _ := r.d.Budgets()
	k.Policy, k.Budgets = p.Name, tree.Name
	var err error
	if k.Hours, err = r.store.Hours(r.ctx(), 0, workload.Never); err != nil {
		r.t.Fatal(err)
	}
	return k
}

func unpack(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

const versionBudgets = `name: lab
children:
  - {name: ana, share: 60, users: [ana]}
  - {name: eva, share: 40, users: [eva]}
`

// writeVersion has a lab do a bit of everything for some hours, and keeps its journal.
func writeVersion(t *testing.T, dir string) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(memory(t), "journal.db")
	ids := map[string]string{}
	var want kept
	synctest.Test(t, func(t *testing.T) {
		r := versionRig(t, path)
		r.start()
		tree, err := budget.Parse("budgets.yaml", []byte(versionBudgets))
		if err != nil {
			t.Fatal(err)
		}
		r.must(r.d.SetBudgets(r.ctx(), tree, "root", ""))
		note := func(id string) string { ids[id] = ""; return id }
		first := note(r.submit("ana", 8, func(s *Submission) { s.Key = "k" }))
		note(r.submit("eva", 64, func(s *Submission) {
			s.Job.Contract = workload.Contract{HasMinRuntime: true, MinRuntime: workload.Hour}
		}))
		r.wait(50 * time.Minute)
		r.must(r.d.Drain(r.ctx(), []int32{1}, "root", "a fan"))
		array := r.submit("eva", 1, func(s *Submission) { s.Indices, s.Throttle = []int32{0, 1, 2, 3}, 2 })
		for _, n := range []string{"_0", "_1", "_2", "_3"} {
			note(array + n)
		}
		note(r.submit("ana", 4, func(s *Submission) { s.Job.Contract.HasMinRuntime = true }))
		big := note(r.submit("ana", 56, nil))
		note(r.submit("ana", 2, func(s *Submission) { s.Job.After = []workload.Dependency{{Job: big, When: workload.AfterOK}} }))
		note(r.submit("eva", 2, func(s *Submission) { s.Hold = true }))
		note(r.submit("eva", 2, func(s *Submission) { s.Begin = time.Now().Add(1000 * time.Hour) }))
		note(r.submit("eva", 1000, nil))
		r.machine.Crash(2)
		r.wait(20 * time.Minute)
		p, err := policy.Resolve("easy")
		if err != nil {
			t.Fatal(err)
		}
		r.must(r.d.SetPolicy(r.ctx(), p, "root", ""))
		r.wait(10 * time.Minute)
		if p, err = policy.Resolve("contract"); err != nil {
			t.Fatal(err)
		}
		r.must(r.d.SetPolicy(r.ctx(), p, "root", ""))
		r.wait(5 * time.Minute)
		r.want(first, "completed")
		r.kill()
		r.open() // as a later version finds it
		want = r.kept(ids)
		if err := r.cfg.World.Close(); err != nil {
			t.Fatal(err)
		}
		if err := r.store.Close(); err != nil {
			t.Fatal(err)
		}
	})
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	_, _ = z.Write(data)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	body, _ := json.MarshalIndent(&want, "", "  ")
	for name, data := range map[string][]byte{"journal.db.gz": b.Bytes(), "want.json": append(body, '\n')} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
