package horizon_test

import (
	"testing"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/horizon/legal"
)

// shut closes a slot for some steps.
func shut(slot, from, to int) horizon.Window {
	return horizon.Window{First: slot, Count: 1, From: from, To: to}
}

// TestHardLayouts: there is one way to keep the rules, and it is not to hold what is wanted as
// soon as it can be had.
func TestHardLayouts(t *testing.T) {
	for name, tc := range map[string]struct {
		gpus, steps int
		closed      []horizon.Window
		types       []int
		app         horizon.App
	}{
		"it shrinks before all is closed": {
			gpus: 5, steps: 3, closed: []horizon.Window{{Count: 5, From: 2, To: 6}},
			app: horizon.App{Min: flat(3, 0), Demand: []int{2, 3, 2}, Max: flat(3, 4), SwapCap: 1, Current: []int{4}},
		},
		"it lets its GPU go to have another later": {
			gpus: 2, steps: 2, closed: []horizon.Window{shut(0, 1, 2), shut(1, 0, 1)},
			app: horizon.App{Min: flat(2, 0), Demand: []int{2, 1}, Max: []int{2, 1}, SwapCap: 1, Current: []int{0}},
		},
		"it gives up one that is wanted for one that lasts": {
			gpus: 4, steps: 5, closed: []horizon.Window{shut(0, 2, 8), {First: 0, Count: 3, From: 1, To: 3}},
			app: horizon.App{Min: flat(5, 0), Demand: []int{2, 1, 0, 0, 0}, Max: []int{2, 1, 0, 0, 0}, SwapCap: 1, Current: []int{0, 2}},
		},
		"GPUs of a type that it may not use go at once": {
			gpus: 2, steps: 2, types: []int{0, 1},
			app: horizon.App{Min: flat(2, 0), Demand: flat(2, 1), Max: flat(2, 1), SwapCap: 2, Current: []int{0}, Types: 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.app.ID = "a"
			p := &horizon.Problem{GPUs: tc.gpus, Steps: tc.steps, Decay: 1, Closed: tc.closed, Types: tc.types, Apps: []horizon.App{tc.app}}
			s, err := horizon.NewSearch(p, 0)
			if err != nil {
				t.Fatal(err)
			}
			if v := legal.Check(s.Plan()); len(v) > 0 {
				t.Fatal(v)
			}
		})
	}
}

// TestNoLayout: what is said where there is none.
func TestNoLayout(t *testing.T) {
	app := func(id string, least, cap int, current ...int) horizon.App {
		return horizon.App{ID: id, Min: flat(2, least), Demand: flat(2, 2), Max: flat(2, 3), SwapCap: cap, Current: current}
	}
	for name, tc := range map[string]struct {
		p    horizon.Problem
		want string
	}{
		"too few GPUs": {
			p:    horizon.Problem{GPUs: 4, Steps: 2, Closed: []horizon.Window{{Count: 3, From: 1, To: 2}}, Apps: []horizon.App{app("chat", 2, 4)}},
			want: `rt[0] "chat": in step 1 what runs and what is closed leave it 1 of the 2 GPUs that are its min`,
		},
		"too few swaps": {
			p:    horizon.Problem{GPUs: 4, Steps: 2, Closed: []horizon.Window{{Count: 2, From: 0, To: 2}}, Apps: []horizon.App{app("a", 1, 1, 3), app("chat", 0, 1, 0, 1)}},
			want: `rt[1] "chat": what runs and what is closed take more of its GPUs than it can replace when at most 1 change in a step`,
		},
		"two are too many": {
			p:    horizon.Problem{GPUs: 3, Steps: 2, Apps: []horizon.App{app("a", 2, 2, 0, 1), app("b", 2, 2)}},
			want: `rt: the applications together need more than what runs and what is closed leave them`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.p.Decay = 1
			if _, err := horizon.NewSearch(&tc.p, 0); err == nil || err.Error() != tc.want {
				t.Errorf("%v\nwant %s", err, tc.want)
			}
		})
	}
}
