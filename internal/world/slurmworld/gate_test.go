package slurmworld

import "testing"

func TestGate(t *testing.T) {
	for _, c := range []struct {
		dependency, shut, open string
		gated, or              bool
	}{
		{"", "afterany:7", "", false, false},
		{"(null)", "afterany:7", "", false, false},
		{"afterany:7(unfulfilled)", "afterany:7", "", true, false},
		{"afterok:5(unfulfilled)", "afterok:5,afterany:7", "afterok:5", false, false},
		{"afterok:5_*(unfulfilled),afterany:7(unfulfilled)", "afterok:5_*,afterany:7", "afterok:5_*", true, false},
		{"afterany:77(unfulfilled)", "afterany:77,afterany:7", "afterany:77", false, false},
		{"singleton(unfulfilled)", "singleton,afterany:7", "singleton", false, false},
		{"afterok:1(unfulfilled)?afterok:2(unfulfilled)", "", "", false, true},
	} {
		text, ok := shut(c.dependency, "7")
		if text != c.shut || ok == c.or {
			t.Errorf("shut(%q) = %q, %v", c.dependency, text, ok)
		}
		if got := gated(c.dependency, "7"); got != c.gated {
			t.Errorf("gated(%q) = %v", c.dependency, got)
		}
		if got := open(c.dependency, "7"); !c.or && got != c.open {
			t.Errorf("open(%q) = %q, want %q", c.dependency, got, c.open)
		}
	}
}

func TestComment(t *testing.T) {
	for _, c := range []struct {
		text string
		bad  bool
		ok   func(d *declared) bool
	}{
		{"", false, func(d *declared) bool { return *d == declared{} }},
		{"my run", false, func(d *declared) bool { return *d == declared{} }},
		{"escala:min-runtime=2h,checkpoint-interval=30m,resumable=no", false, func(d *declared) bool {
			return d.contract.HasMinRuntime && d.contract.MinRuntime == 7_200_000 && d.contract.CheckpointInterval == 1_800_000 && d.contract.NotResumable
		}},
		{"run 7 escala:min-runtime=0,team=vision and more", false, func(d *declared) bool {
			return d.contract.HasMinRuntime && d.contract.MinRuntime == 0 && d.team == "vision"
		}},
		{"escala:checkpoint-on-stop,grace=90s,estimate=3h", false, func(d *declared) bool {
			return d.contract.CheckpointOnStop && d.contract.Grace == 90_000 && d.estimate == 10_800_000
		}},
		{"notescala:min-runtime=2h", false, func(d *declared) bool { return *d == declared{} }},
		{"escala:min-runtime=2", true, nil},
		{"escala:minruntime=2h", true, nil},
		{"escala:resumable=perhaps", true, nil},
		{"escala:team=", true, nil},
	} {
		d, err := parseComment(c.text)
		if (err != nil) != c.bad || err == nil && !c.ok(&d) {
			t.Errorf("%q: %+v, %v", c.text, d, err)
		}
		if err != nil && d != (declared{}) {
			t.Errorf("%q: half of it was taken", c.text)
		}
	}
}

func FuzzComment(f *testing.F) {
	f.Add("escala:min-runtime=2h")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = parseComment(text) })
}
