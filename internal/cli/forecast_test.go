package cli

import "testing"

func TestPercentage(t *testing.T) {
	for text, want := range map[string]float64{"10%": .1, "0": 0, "0%": 0, "12.5 %": .125, "100%": 1, "7%": .07} {
		var v float64
		p := percentage{&v}
		if err := p.Set(text); err != nil || v < want-1e-12 || v > want+1e-12 {
			t.Errorf("%s is %v (%v), want %v", text, v, err, want)
		}
		var again float64
		if err := (percentage{&again}).Set(p.String()); err != nil || again != v {
			t.Errorf("%s is written %s, which is %v (%v)", text, p, again, err)
		}
	}
	for _, text := range []string{"", "%", "10", "0.1", "-1%", "101%", "NaN%", "Inf%", "ten%", "1e9%"} {
		v := 5.0
		if err := (percentage{&v}).Set(text); err == nil || v != 5 {
			t.Errorf("%q is taken as %v", text, v)
		}
	}
}
