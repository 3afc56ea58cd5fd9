package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/internal/splitmix"
	"github.com/escala-sched/escala/internal/world/local"
	"github.com/escala-sched/escala/workload"
)

// DemoBudgets are those of the made-up lab.
const DemoBudgets = `name: lab
children:
  - name: research
    share: 70
    children:
      - {name: vision, share: 40, users: [ana, bruno, carla]}
      - {name: language, share: 40, users: [diego, elena]}
      - {name: robotics, share: 20, users: [felix]}
  - name: product
    share: 30
    children:
      - {name: search, share: 60, users: [gabi, hugo]}
      - {name: speech, share: 40, users: [iris]}
`

// labWork is what its jobs do: count seconds, and remember how far they came.
const labWork = `trap 'exit 75' TERM
i=0
[ -f "$ESCALA_CHECKPOINT_DIR/step" ] && i=$(cat "$ESCALA_CHECKPOINT_DIR/step")
[ "$i" -gt 0 ] && echo "going on from step $i of $STEPS"
while [ "$i" -lt "$STEPS" ]; do
  sleep 1 & wait $!
  i=$((i+1)); echo "$i" > "$ESCALA_CHECKPOINT_DIR/step"
  [ $((i % 5)) = 0 ] && echo "step $i of $STEPS"
done
echo done
exit "${FATE:-0}"
`

// Lab submits the jobs of a small made-up lab, for as long as it is asked to.
type Lab struct{ src splitmix.Source }

// NewLab returns one; the same seed has the same jobs.
func NewLab(seed int64) *Lab { return &Lab{src: splitmix.Source(seed)} }

// labKind is a kind of work that the lab has.
type labKind struct {
	name   string
	weight int
	gpus   []int32
	// lo and hi bound the run time in seconds; minimum is the minimum runtime, -1 = not declared.
	lo, hi  float64
	minimum int64
}

var labKinds = []labKind{
	{"debug", 45, []int32{1, 1, 1, 2}, 3, 20, 10},
	{"train", 25, []int32{2, 4, 4, 8}, 30, 150, 30},
	{"sweep", 15, []int32{1}, 10, 60, 15},
	{"pretrain", 3, []int32{16}, 60, 120, 60},
	{"fill", 12, []int32{1, 2, 4}, 40, 200, 0},
}

var labPeople = []struct{ user, team string }{{"ana", "vision"}, {"bruno", "vision"}, {"carla", "vision"}, {"diego", "language"}, {"elena", "language"}, {"felix", "robotics"}, {"gabi", "search"}, {"hugo", "search"}, {"iris", "speech"}}

// labLoad is how much of the GPUs the lab asks for.
const labLoad = 1.05

// Run submits jobs until the context ends.
func (l *Lab) Run(ctx context.Context, d *live.Daemon) error {
	const atOnce = 24 // so that there is a queue to look at from the first moment
	for n := 0; ; n++ {
		s, seconds, err := l.draw()
		if err != nil {
			return err
		}
		_, err = d.Submit(ctx, s)
		var busy *live.Busy
		later := errors.As(err, &busy) || errors.Is(err, live.ErrUnavailable)
		if ctx.Err() != nil || errors.Is(err, live.ErrClosed) {
			return nil //nolint:nilerr // it was asked to end
		}
		if err != nil && !later {
			return fmt.Errorf("the demo's lab: %w", err)
		}
		gpus := float64(d.Counts().Installed) / 1000
		if n < atOnce {
			continue
		}
		wait := -math.Log(1-float64(l.src.Below(1<<20))/(1<<20)) * seconds / (labLoad * max(gpus, 1))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Duration(min(wait, 60) * float64(time.Second))):
		}
	}
}

// draw draws a job, and the GPU-seconds that a job has on average.
func (l *Lab) draw() (*live.Submission, float64, error) {
	total, mean := 0, 0.0
	for _, k := range labKinds {
		total += k.weight
		g := 0.0
		for _, n := range k.gpus {
			g += float64(n)
		}
		mean += float64(k.weight) * g / float64(len(k.gpus)) * (k.hi - k.lo) / math.Log(k.hi/k.lo)
	}
	mean /= float64(total)
	at := l.src.Below(total)
	k := labKinds[0]
	for _, k = range labKinds {
		if at -= k.weight; at < 0 {
			break
		}
	}
	who := labPeople[l.src.Below(len(labPeople))]
	run := k.lo * math.Pow(k.hi/k.lo, float64(l.src.Below(1<<20))/(1<<20))
	wrong := math.Pow(3, float64(l.src.Below(1<<20))/(1<<20)) // people say up to three times what it takes
	j := workload.Job{User: who.user, Team: who.team, Need: workload.Need{GPUs: k.gpus[l.src.Below(len(k.gpus))]}, Estimate: int64(run * wrong * 1000),
		Contract: workload.Contract{HasMinRuntime: true, MinRuntime: k.minimum * workload.Second, CheckpointOnStop: true, Grace: 5 * workload.Second},
		Labels:   map[string]string{live.LabelName: fmt.Sprintf("%s-%03d", k.name, l.src.Below(1000))}}
	p := local.Payload{Script: "#!/bin/sh\n" + labWork, Dir: "/", Env: map[string]string{"STEPS": fmt.Sprint(int(run) + 1)}}
	if l.src.Below(20) == 0 {
		p.Env["FATE"] = "1"
	}
	uid, gid := uint32(os.Getuid()), uint32(os.Getgid())
	if uid == 0 {
		uid, gid = 65534, 65534
	}
	p.UID, p.GID = &uid, &gid
	body, err := json.Marshal(&p)
	return &live.Submission{Job: j, By: who.user, Payload: body}, mean, err
}
