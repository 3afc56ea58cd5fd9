package slurm

import "testing"

func TestContract(t *testing.T) {
	for _, c := range []struct {
		text string
		bad  bool
		ok   func(d *Declared) bool
	}{
		{"", false, func(d *Declared) bool { return *d == Declared{} }},
		{"my run", false, func(d *Declared) bool { return *d == Declared{} }},
		{"escala:min-runtime=2h,checkpoint-interval=30m,resumable=no", false, func(d *Declared) bool {
			return d.Contract.HasMinRuntime && d.Contract.MinRuntime == 7_200_000 && d.Contract.CheckpointInterval == 1_800_000 && d.Contract.NotResumable
		}},
		{"run 7 escala:min-runtime=0,team=vision and more", false, func(d *Declared) bool {
			return d.Contract.HasMinRuntime && d.Contract.MinRuntime == 0 && d.Team == "vision"
		}},
		{"escala:checkpoint-on-stop,grace=90s,estimate=3h", false, func(d *Declared) bool {
			return d.Contract.CheckpointOnStop && d.Contract.Grace == 90_000 && d.Estimate == 10_800_000
		}},
		{"notescala:min-runtime=2h", false, func(d *Declared) bool { return *d == Declared{} }},
		{"escala:checkpoint-on-stop,resumable=no,estimate=4h\nnext line", false, func(d *Declared) bool {
			return d.Contract.CheckpointOnStop && d.Contract.NotResumable && d.Estimate == 14_400_000
		}},
		{"escala:restart-cost=90s", false, func(d *Declared) bool { return d.Contract.RestartCost == 90_000 }},
		{"escala:", false, func(d *Declared) bool { return *d == Declared{} }},
		{"escala:min-runtime=-2h", true, nil},
		{"escala:min-runtime=2", true, nil},
		{"escala:minruntime=2h", true, nil},
		{"escala:resumable=perhaps", true, nil},
		{"escala:team=", true, nil},
	} {
		d, err := ParseContract(c.text)
		if (err != nil) != c.bad || err == nil && !c.ok(&d) {
			t.Errorf("%q: %+v, %v", c.text, d, err)
		}
		if err != nil && d != (Declared{}) {
			t.Errorf("%q: half of it was taken", c.text)
		}
	}
}

func FuzzContract(f *testing.F) {
	f.Add("escala:min-runtime=2h")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = ParseContract(text) })
}
