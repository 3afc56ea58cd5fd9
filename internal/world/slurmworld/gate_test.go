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
