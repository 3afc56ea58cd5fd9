package services

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/escala-sched/escala/internal/reference"
	"github.com/escala-sched/escala/trace"
	"github.com/escala-sched/escala/workload"
)

// TestBadRates: a fault in a log of requests is told with the log's own file and line.
func TestBadRates(t *testing.T) {
	for name, tc := range map[string]struct{ data, want string }{
		"empty":         {"", "the file is empty; want a header with at and load"},
		"no time":       {"when,load\n0,1\n1,1\n", `1: no column is called "at"; want when or load`},
		"no column":     {"# by hand\nat,loda\n0,1\n1,1\n", `2: no column is called "load"; want at or loda`},
		"one row":       {"at,load\n0,1\n", "fewer than two rows below the header; want at least two, which say how long a window is"},
		"fields":        {"at,load\n0,1\n1\n", "3: another number of fields than in the header; want a field for each column"},
		"quotes":        {"at,load\n0,\"1\n", `2: extraneous or missing " in quoted-field; want fields quoted as in RFC 4180`},
		"time":          {"at,load\nnoon,1\n", `2: at: "noon" is no time; want seconds of the workload's clock, 0 or more`},
		"endless time":  {"at,load\n1e300,1\n", `2: at: "1e300" is no time; want seconds of the workload's clock, 0 or more`},
		"rate":          {"at,load\n0,1\n1,-1\n", `3: load: "-1" is no rate; want requests per second, 0 or more`},
		"NaN":           {"at,load\n0,1\n1,NaN\n", `3: load: "NaN" is no rate; want requests per second, 0 or more`},
		"backwards":     {"at,load\n0,1\n5,1\n3,1\n", "4: the time does not grow; want rows in order of time, each time once"},
		"twice":         {"at,load\n0,1\n5,1\n5,1\n", "4: the time does not grow; want rows in order of time, each time once"},
		"uneven":        {"at,load\n0,1\n5,1\n12,1\n", "4: the rows are 5 s apart, and this one comes 7 s after the one before it; want rows at equal distances"},
		"missing":       {"at,load\n0,1\n5,1\n20,1\n", "4: no row for the 10 s before; want a row every 5 s, or gaps: interpolate in the services file"},
		"broken gzip":   {"\x1f\x8b\x08\x00", "truncated gzip: the file ends after 4 bytes, in the middle of the data; want a complete .gz file or plain text"},
		"nothing asked": {"at,load\n0,0\n5,0\n", "no row has any requests; want a column of requests per second"},
		"long hole":     {"at,load\n0,1\n1,1\n9000000,1\n", "4: too many windows; want at most 1000000"},
	} {
		t.Run(name, func(t *testing.T) {
			gaps := "keep"
			if name == "nothing asked" || name == "long hole" {
				gaps = "interpolate"
			}
			yaml := "services: [{name: x, requests: {file: log.csv, time: at, column: load, gpusPer: 1, step: 1h, gaps: " + gaps + "}}]"
			read := func(string) ([]byte, error) { return []byte(tc.data), nil }
			_, err := Add(jobs(), Input{File: "apps.yaml", Data: []byte(yaml), Read: read})
			var e *trace.Error
			sep := ":"
			if !strings.Contains("0123456789", tc.want[:1]) {
				sep = ": "
			}
			if !errors.As(err, &e) || err.Error() != "log.csv"+sep+tc.want {
				t.Errorf("error\n got %v\nwant log.csv%s%s", err, sep, tc.want)
			}
		})
	}
}

// TestDecimalErrorsAreNoGPU: 0.07 x 100 is a little more than 7 to a computer.
func TestDecimalErrorsAreNoGPU(t *testing.T) {
	for _, tc := range []struct{ rate, per, want float64 }{{100, 0.07, 7}, {350, 0.02, 7}, {350.1, 0.02, 8}, {0, 5, 0}, {0.001, 0.02, 1}} {
		if got := gpusOf(tc.rate, tc.per); got != tc.want {
			t.Errorf("%g x %g: %g GPUs, want %g", tc.rate, tc.per, got, tc.want)
		}
	}
}

// TestServeGen makes applications of published logs of requests: peak and mean are those
// that their publisher names, and the windows without requests are filled in.
func TestServeGen(t *testing.T) {
	dir := reference.Path(t, "traces", "llm-servegen")
	for _, tc := range []struct {
		model      string
		peak, mean float64
		gaps       int
	}{{"m-large", 583.0, 195.8, 0}, {"m-mid", 3445, 1790, 84}, {"deepseek-r1", 42.5, 16.0, 0}} {
		yaml := fmt.Sprintf("services: [{name: x, for: 14d, requests: {file: %s_total_rate_10min.csv, time: offset_s, column: total_rate_req_per_s, gpusPer: 1, step: 10m, gaps: interpolate}}]", tc.model)
		out, err := Add(jobs(), Input{File: filepath.Join(dir, "apps.yaml"), Data: []byte(yaml), Read: os.ReadFile})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(out.Jobs, func(j workload.Job) bool { return j.ID == "x" })
		c := out.Jobs[i].Service.Demand
		sum := 0.0
		for _, v := range c.Values {
			sum += float64(v)
		}
		mean := sum / float64(len(c.Values))
		// Rounding up adds half a GPU on average, filling gaps some of the mean.
		if p := float64(c.Peak()); p < tc.peak-0.5 || p > tc.peak+1 || mean < tc.mean || mean > tc.mean*(1+float64(tc.gaps)/1000)+1 {
			t.Errorf("%s: peak %d, mean %.1f; published are %g and %g", tc.model, c.Peak(), mean, tc.peak, tc.mean)
		}
		if note := fmt.Sprintf(": %d of 2016;", tc.gaps); tc.gaps > 0 && !strings.Contains(strings.Join(out.Notes, "\n"), note) {
			t.Errorf("%s: no note with %q: %q", tc.model, note, out.Notes)
		}
	}
}
