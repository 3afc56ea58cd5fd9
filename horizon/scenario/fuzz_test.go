package scenario_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/horizon/legal"
	"github.com/escala-sched/escala/horizon/scenario"
)

// FuzzRead: whatever is read, nothing panics; what is accepted has a legal plan or is refused
// with a reason, and is written and read again unchanged.
func FuzzRead(f *testing.F) {
	seeds, err := filepath.Glob(filepath.Join("testdata", "*.json"))
	if err != nil || len(seeds) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, name := range seeds {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, uint8(0))
		f.Add(data, uint8(0b1111))
	}
	f.Fuzz(accepted)
}

// accepted checks what becomes of data.
func accepted(t *testing.T, data []byte, flags uint8) {
	p, err := scenario.Read(bytes.NewReader(data))
	if p == nil {
		if err == nil {
			t.Fatal("neither a problem nor an error")
		}
		return
	}
	p.Reading = horizon.Reading{Unaligned: flags&1 > 0, AnySize: flags&2 > 0, Complete: flags&4 > 0, CountSwaps: flags&8 > 0}
	if p.Check() != nil {
		return
	}
	again(t, p)
	if p.GPUs*p.Steps*(1+len(p.Jobs)+len(p.Apps)) > 1<<18 {
		return // it would take too long
	}
	s, err := horizon.NewSearch(p, 1)
	if err != nil {
		return
	}
	s.Run(20, nil)
	if v := legal.Check(s.Plan()); len(v) > 0 {
		t.Fatal(v)
	}
}

// TestExtremes: every number of a scenario is one that nobody means.
func TestExtremes(t *testing.T) {
	seeds, _ := filepath.Glob(filepath.Join("testdata", "*.json"))
	number := regexp.MustCompile(`[0-9.]+`)
	for _, name := range seeds {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range number.FindAllIndex(data, -1) {
			for _, x := range []string{"-9223372036854775808", "-1", "0", "1", "63", "64", "65536", "1048576", "9223372036854775807"} {
				for _, flags := range []uint8{0b0000, 0b0101, 0b1010, 0b1111} {
					accepted(t, slices.Concat(data[:at[0]], []byte(x), data[at[1]:]), flags)
				}
			}
		}
	}
}

// again checks that a problem is written and read again unchanged.
func again(t *testing.T, p *horizon.Problem) {
	var b bytes.Buffer
	if err := scenario.Write(&b, p); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	q, err := scenario.Read(&b)
	if q == nil {
		t.Fatalf("%v\n%s", err, text)
	}
	q.Reading = p.Reading
	if d := cmp.Diff(p, q, cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("read again (+):\n%s", d)
	}
}
