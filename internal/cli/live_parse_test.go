package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/escala-sched/escala/internal/api"
)

// noon is when tests take place, in a zone that is not UTC.
var noon = wallClock{now: time.Date(2026, 12, 1, 12, 0, 0, 0, time.FixedZone("test", 3600)), loc: time.FixedZone("test", 3600)}

func TestParseArray(t *testing.T) {
	for _, tc := range []struct {
		text     string
		want     []int32
		throttle int
		wrong    string
	}{
		{"7", []int32{7}, 0, ""},
		{"0-4", []int32{0, 1, 2, 3, 4}, 0, ""},
		{"0-9:4", []int32{0, 4, 8}, 0, ""},
		{"1,3,7-9%2", []int32{1, 3, 7, 8, 9}, 2, ""},
		{"2147483647", []int32{2147483647}, 0, ""},
		{"2147483646-2147483647", []int32{2147483646, 2147483647}, 0, ""},
		{"0-2147483647:1073741824", []int32{0, 1073741824}, 0, ""},
		{"", nil, 0, "no range"},
		{"-1", nil, 0, "no range"},
		{"4-2", nil, 0, "no range"},
		{"1:2", nil, 0, "no range"},
		{"0-4:0", nil, 0, "no range"},
		{"1,,2", nil, 0, "no range"},
		{"0-4,2", nil, 0, "index 2 comes twice"},
		{"0-10000", nil, 0, "more than 10,000"},
		{"0-9%", nil, 0, "after %"},
		{"0-9%0", nil, 0, "after %"},
		{"2147483648", nil, 0, "no range"},
	} {
		got, throttle, err := parseArray(tc.text)
		if tc.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("%q: error %v, want %q", tc.text, err, tc.wrong)
			}
			continue
		}
		if err != nil || !slices.Equal(got, tc.want) || throttle != tc.throttle {
			t.Errorf("%q: %v at most %d, %v; want %v at most %d", tc.text, got, throttle, err, tc.want, tc.throttle)
		}
	}
}

func FuzzParseArray(f *testing.F) {
	for _, s := range []string{"0-99%10", "0-99:5", "1,3,7-9", "2147483640-2147483647:3", "%", "0-0:"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, throttle, err := parseArray(text)
		if err != nil {
			return
		}
		if len(list) == 0 || len(list) > maxArray || throttle < 0 || throttle > maxArray {
			t.Fatalf("%q: %d indices, at most %d", text, len(list), throttle)
		}
		sorted := slices.Sorted(slices.Values(list))
		if sorted[0] < 0 || len(slices.Compact(sorted)) != len(list) {
			t.Fatalf("%q: an index is negative, or comes twice: %v", text, list)
		}
	})
}

func TestParseAfter(t *testing.T) {
	for _, tc := range []struct {
		text  string
		want  []api.After
		wrong string
	}{
		{"12", []api.After{{Job: "12", When: "any"}}, ""},
		{"12:ok,15_3:not-ok,4:any", []api.After{{Job: "12", When: "ok"}, {Job: "15_3", When: "not-ok"}, {Job: "4", When: "any"}}, ""},
		{"", nil, "names no job"},
		{":ok", nil, "names no job"},
		{"12,", nil, "names no job"},
		{"12:okay", nil, "want ok, any or not-ok"},
		{"12:", nil, "want ok, any or not-ok"},
	} {
		got, err := parseAfter(tc.text)
		if tc.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("%q: error %v, want %q", tc.text, err, tc.wrong)
			}
			continue
		}
		if d := cmp.Diff(tc.want, got); err != nil || d != "" {
			t.Errorf("%q: %v\n%s", tc.text, err, d)
		}
	}
}

func FuzzParseAfter(f *testing.F) {
	for _, s := range []string{"12", "12:ok,15_3:not-ok", ":", ",", "1:any,"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parseAfter(text)
		if err != nil {
			return
		}
		var back []string
		for _, a := range list {
			if a.Job == "" || !slices.Contains([]string{"ok", "any", "not-ok"}, a.When) {
				t.Fatalf("%q: %+v", text, a)
			}
			back = append(back, a.Job+":"+a.When)
		}
		again, err := parseAfter(strings.Join(back, ","))
		if err != nil || !slices.Equal(again, list) {
			t.Fatalf("%q: %v comes back as %v, %v", text, list, again, err)
		}
	})
}

func TestParseSizes(t *testing.T) {
	for text, want := range map[string]int64{"512M": 512, "16G": 16384, "1.5T": 1572864, "16GiB": 16384, "16GB": 16384, "16g": 16384, "0.1M": 1} {
		if got, err := parseMemory(text); err != nil || got != want {
			t.Errorf("memory %q: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "16", "G", "-1G", "1e3G", "16K", "GiB", "9999999999T", "1..2G"} {
		if got, err := parseMemory(text); err == nil {
			t.Errorf("memory %q: %d, want an error", text, got)
		}
	}
	for text, want := range map[string]int64{"4": 4000, "0.5": 500, "50%": 500, "0.125": 125, "12.5%": 125} {
		if got, err := parseMilli(text, 100); err != nil || got != want {
			t.Errorf("milli %q: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "-1", "101", "0.0005", "1e2", "%"} {
		if got, err := parseMilli(text, 100); err == nil {
			t.Errorf("milli %q: %d, want an error", text, got)
		}
	}
}

func TestParseWhen(t *testing.T) {
	for text, want := range map[string]string{
		"+2h": "2026-12-01T14:00:00+01:00", "14:35": "2026-12-01T14:35:00+01:00", "11:00": "2026-12-02T11:00:00+01:00", "12:00": "2026-12-01T12:00:00+01:00",
		"2026-12-24T08:00": "2026-12-24T08:00:00+01:00", "2026-12-24": "2026-12-24T00:00:00+01:00", "2026-12-24T08:00:00Z": "2026-12-24T08:00:00Z",
	} {
		if got, err := noon.parseWhen(text); err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%q: %s, %v, want %s", text, got.Format(time.RFC3339), err, want)
		}
	}
	for _, text := range []string{"", "+", "+x", "25:00", "tomorrow", "2026-13-01"} {
		if got, err := noon.parseWhen(text); err == nil {
			t.Errorf("%q: %s, want an error", text, got)
		}
	}
	if got, err := noon.parseSince("7d"); err != nil || got.Format(time.DateOnly) != "2026-11-24" {
		t.Errorf("since 7d: %s, %v", got, err)
	}
}

func TestSplitWords(t *testing.T) {
	for _, tc := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"  --gpus 2\t--time=4h ", []string{"--gpus", "2", "--time=4h"}},
		{`--label 'a b' --name "x \"y\" \z"`, []string{"--label", "a b", "--name", `x "y" \z`}},
		{`a\ b '' # a remark`, []string{"a b", ""}},
		{"a#b", []string{"a#b"}},
	} {
		if got, err := splitWords(tc.text); err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%q: %q, %v, want %q", tc.text, got, err, tc.want)
		}
	}
	for _, text := range []string{"'a", `"a`, `a\`} {
		if got, err := splitWords(text); err == nil {
			t.Errorf("%q: %q, want an error", text, got)
		}
	}
}

func FuzzSplitWords(f *testing.F) {
	for _, s := range []string{`--label 'a b'`, `"x\"`, `a\ b # c`, "''"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words, err := splitWords(text)
		if err != nil {
			return
		}
		if strings.ContainsRune(text, 0xfffd) || strings.ToValidUTF8(text, "") != text {
			return
		}
		again, err := splitWords(quoteArgs(words))
		if err != nil || !slices.Equal(again, words) {
			t.Fatalf("%q: %q comes back as %q, %v", text, words, again, err)
		}
	})
}
