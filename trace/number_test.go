package trace

import (
	"testing"
	"time"
)

func TestParseMilli(t *testing.T) {
	tests := map[string]struct {
		want int64
		ok   bool
	}{
		"0": {0, true}, "7": {7000, true}, "-1": {-1000, true}, "1.5": {1500, true}, ".5": {500, true}, "2.": {2000, true},
		"0.0004": {0, true}, "0.0005": {1, true}, "0.99999": {1000, true}, "1.2345": {1235, true}, "-0.0015": {-2, true},
		"0.00049": {0, true}, "9000000000000": {9e15, true}, "9000000000001": {0, false},
		"": {0, false}, "-": {0, false}, ".": {0, false}, "1e3": {0, false}, "0x10": {0, false}, " 1": {0, false}, "1 ": {0, false},
		"+1": {0, false}, "1.2.3": {0, false}, "nan": {0, false}, "99999999999999999999999": {0, false},
	}
	for s, tc := range tests {
		if got, ok := parseMilli(s); got != tc.want || ok != tc.ok {
			t.Errorf("%q: %d %v, want %d %v", s, got, ok, tc.want, tc.ok)
		}
	}
	if v, ok := parseMilliLoose(" 1.2e+03 "); !ok || v != 1_200_000 {
		t.Errorf("loose exponent: %d %v", v, ok)
	}
	for _, s := range []string{"nan", "inf", "1e300", ""} {
		if v, ok := parseMilliLoose(s); ok {
			t.Errorf("loose %q: %d", s, v)
		}
	}
}

func TestAppendSeconds(t *testing.T) {
	tests := map[int64]string{0: "0", 1: "0.001", 10: "0.01", 100: "0.1", 1000: "1", 1050: "1.05", 12345: "12.345", -1500: "-1.5"}
	for ms, want := range tests {
		got := string(appendSeconds(nil, ms))
		if got != want {
			t.Errorf("%d: %q, want %q", ms, got, want)
		}
		if back, ok := parseMilli(got); !ok || back != ms {
			t.Errorf("%q reads back as %d", got, back)
		}
	}
}

func TestParseClock(t *testing.T) {
	shanghai := time.FixedZone("UTC+8", 8*3600)
	tests := map[string]struct {
		loc  *time.Location
		want string
	}{
		"2017-10-09 07:01:55":       {time.UTC, "2017-10-09T07:01:55Z"},
		"2017-10-09T07:01:55":       {nil, "2017-10-09T07:01:55Z"},
		"2017-10-09 07:01:56":       {shanghai, "2017-10-08T23:01:56Z"},
		"2023-03-01 00:18:22+08:00": {time.UTC, "2023-02-28T16:18:22Z"},
		"2024-11-13T11:08:00+0100":  {shanghai, "2024-11-13T10:08:00Z"},
		"2024-02-29T23:59:59.5Z":    {shanghai, "2024-02-29T23:59:59.5Z"},
		"1969-12-31 23:59:59-00:30": {time.UTC, "1970-01-01T00:29:59Z"},
		"0001-01-01 00:00:00":       {time.UTC, "0001-01-01T00:00:00Z"},
		"2000-03-01 00:00:00":       {time.UTC, "2000-03-01T00:00:00Z"},
		"2023-02-29 00:00:00":       {time.UTC, ""}, "2023-13-01 00:00:00": {time.UTC, ""}, "2023-04-31 00:00:00": {time.UTC, ""},
		"2023-01-01 24:00:00": {time.UTC, ""}, "2023-01-01 00:60:00": {time.UTC, ""}, "2023-01-01": {time.UTC, ""},
		"2023-01-01 00:00:00 PST": {time.UTC, ""}, "2023-01-01 00:00:00+8": {time.UTC, ""}, "None": {time.UTC, ""}, "": {time.UTC, ""},
	}
	for s, tc := range tests {
		ms, ok := parseClock(s, tc.loc)
		if tc.want == "" {
			if ok {
				t.Errorf("%q is read as %s", s, time.UnixMilli(ms).UTC())
			}
			continue
		}
		if got := time.UnixMilli(ms).UTC().Format(time.RFC3339Nano); !ok || got != tc.want {
			t.Errorf("%q: %s %v, want %s", s, got, ok, tc.want)
		}
	}
}

// TestDaysFromCivil compares with the standard library over four centuries.
func TestDaysFromCivil(t *testing.T) {
	for d := time.Date(1799, 12, 25, 0, 0, 0, 0, time.UTC); d.Year() < 2201; d = d.AddDate(0, 0, 1) {
		y, m, day := d.Date()
		if got, want := daysFromCivil(y, int(m), day), int(d.Unix()/86400); got != want {
			t.Fatalf("%s: %d, want %d", d.Format(time.DateOnly), got, want)
		}
		if day > daysIn(y, int(m)) {
			t.Fatalf("%s is beyond the month", d.Format(time.DateOnly))
		}
	}
}
