package horizon_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/internal/horizontest"
)

// searched is the plan after so many decodes, made in the given pieces.
func searched(t *rapid.T, p *horizon.Problem, seed uint64, pieces ...int) (*horizon.Search, *horizon.Plan) {
	s, err := horizon.NewSearch(p, seed)
	if err != nil {
		t.Skip(err)
	}
	work := 0
	for _, n := range pieces {
		work += n
		s.Run(work, nil)
	}
	return s, s.Plan()
}

// TestMoreWorkIsNeverWorse: and a first plan is the least that there is.
func TestMoreWorkIsNeverWorse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawSized(t)
		best := int64(-1 << 62)
		for _, work := range []int{1, 2, 30, 200, 400} {
			r, err := horizon.Fast(p, horizon.Options{Work: work, Seed: 7, NoBound: true})
			if err != nil {
				return
			}
			if r.Score.Exact() < best {
				t.Fatalf("%d decodes: %d after %d", work, r.Score.Exact(), best)
			}
			best = r.Score.Exact()
		}
	})
}

// TestSearchCanBeDivided: into any number of calls.
func TestSearchCanBeDivided(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawSized(t)
		seed := rapid.Uint64().Draw(t, "seed")
		pieces := rapid.SliceOfN(rapid.IntRange(0, 150), 1, 5).Draw(t, "pieces")
		sum := 0
		for _, n := range pieces {
			sum += n
		}
		divided, a := searched(t, p, seed, pieces...)
		whole, b := searched(t, p, seed, sum)
		if divided.Work() != whole.Work() {
			t.Fatalf("%d decodes in pieces, %d at once", divided.Work(), whole.Work())
		}
		if d := cmp.Diff(b, a); d != "" {
			t.Fatalf("in pieces (+), at once (-):\n%s", d)
		}
	})
}

// TestSearchKnowsItsPlan: what it takes its best for is what that is worth.
func TestSearchKnowsItsPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, plan := searched(t, drawSized(t), 1, 100)
		if got := plan.Score().Exact(); got != s.Best() {
			t.Fatalf("the search says %d, the plan is worth %d", s.Best(), got)
		}
	})
}

// TestNamesDoNotMatter: other names of jobs and applications, the same plan; and planning leaves
// the problem alone.
func TestNamesDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawSized(t)
		_, a := searched(t, p, 3, 150)
		names := make([]int, len(p.Jobs)+len(p.Apps))
		for i := range names {
			names[i] = i
		}
		names = rapid.Permutation(names).Draw(t, "names")
		q := *p
		q.Jobs, q.Apps = slices.Clone(p.Jobs), slices.Clone(p.Apps)
		for i := range q.Jobs {
			q.Jobs[i].ID = strconv.Itoa(names[i])
		}
		for i := range q.Apps {
			q.Apps[i].ID = strconv.Itoa(names[len(q.Jobs)+i])
		}
		_, b := searched(t, &q, 3, 150)
		a.Problem, b.Problem = nil, nil
		if d := cmp.Diff(a, b); d != "" {
			t.Fatalf("with other names (+):\n%s", d)
		}
		_, c := searched(t, p, 3, 150)
		c.Problem = nil
		if d := cmp.Diff(a, c); d != "" {
			t.Fatalf("planned again (+):\n%s", d)
		}
	})
}

// TestLayoutIsFound: a problem is refused only where no legal layout exists, for a single
// application on a row that is tiny.
func TestLayoutIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := horizontest.DrawSqueezed(t, horizontest.Size{GPUs: 6, Steps: 7, Apps: 1})
		if _, err := horizon.NewSearch(p, 0); err != nil && horizontest.Layouts(p) {
			t.Fatalf("%v; there is a layout\n%s", err, horizontest.Text(p))
		}
	})
}

// TestLayoutBesideRunningJobs: the same where jobs run.
func TestLayoutBesideRunningJobs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := horizontest.Draw(t, horizontest.Tiny)
		if _, err := horizon.NewSearch(p, 0); err != nil && horizontest.Layouts(p) {
			t.Fatalf("%v; there is a layout\n%s", err, horizontest.Text(p))
		}
	})
}

// TestUnusedFeaturesCostNothing: a problem with every feature, none of which binds, has the plan
// of one without.
func TestUnusedFeaturesCostNothing(t *testing.T) {
	var plans []*horizon.Plan
	for _, p := range []*horizon.Problem{crowd(64, 24, 30), everything(crowd(64, 24, 30))} {
		r, err := horizon.Fast(p, horizon.Options{Work: 500, NoBound: true})
		if err != nil {
			t.Fatal(err)
		}
		r.Plan.Problem = nil
		plans = append(plans, r.Plan)
	}
	if d := cmp.Diff(plans[0], plans[1]); d != "" {
		t.Errorf("with all features (+):\n%s", d)
	}
}
