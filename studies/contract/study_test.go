package main

import (
	"context"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var tinyLab = lab{nodes: 4, perNode: 8, days: 4, from: 1}

// sections that the document has to have.
var sections = []string{"# Study", "## What ran", "## Goals", "## Results", "### Regime 0.75", "### Regime 1.0", "### Regime 1.7", "## Beside the published figures",
	"## What reservations bring and cost", "## Who waits", "## Knobs", "## What is weak or not modelled"}

// TestTiny runs the whole study on a tiny lab.
func TestTiny(t *testing.T) {
	log.SetOutput(io.Discard)
	dir := t.TempDir()
	o := options{lab: tinyLab, seeds: 2, parallel: 2, out: dir}
	if err := o.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	page := read(t, dir, "contract.md")
	for _, s := range sections {
		if !strings.Contains(page, s) {
			t.Errorf("the document has no %q", s)
		}
	}
	for _, k := range knobs {
		if !strings.Contains(page, "### "+k.title) || !strings.Contains(page, "(contract-"+k.key+".svg)") {
			t.Errorf("the document says nothing of the knob %s", k.key)
		}
		if svg := read(t, dir, "contract-"+k.key+".svg"); !strings.HasPrefix(svg, "<svg ") || !strings.HasSuffix(svg, "</svg>\n") {
			t.Errorf("the picture of %s is broken", k.key)
		}
	}
	again := t.TempDir()
	o = options{lab: tinyLab, out: again, from: filepath.Join(dir, "contract.csv")}
	if err := o.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"contract.md", "contract.csv", "contract-main.svg", "contract-debug.svg"} {
		if read(t, dir, name) != read(t, again, name) {
			t.Errorf("%s written from the CSV differs", name)
		}
	}
}

// TestRepeatable: the same seed gives the same figures, whatever ran before.
func TestRepeatable(t *testing.T) {
	s := &study{lab: tinyLab, seeds: 2}
	var lines []string
	for range 2 {
		var once study
		u := unit{1.7, 1, onSignal, []string{noReservations, contract}}
		if err := s.unit(context.Background(), &u, func(r run) { once.runs = append(once.runs, r) }); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, once.csv())
	}
	if lines[0] != lines[1] {
		t.Errorf("%s\n%s", lines[0], lines[1])
	}
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	o := options{lab: tinyLab, seeds: 2, parallel: 1, out: dir}
	if err := o.run(ctx); err == nil {
		t.Fatal("an interrupted study ends well")
	}
	if files, _ := os.ReadDir(dir); len(files) > 0 {
		t.Error("an interrupted study wrote", files)
	}
}

// TestPublished holds the document of the repository against its own figures.
func TestPublished(t *testing.T) {
	const dir = "../../docs/studies"
	s := &study{lab: fullLab}
	if err := s.read(read(t, dir, "contract.csv")); err != nil {
		t.Fatal(err)
	}
	files, err := s.files()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if read(t, dir, f.name) != string(f.data) {
			t.Errorf("docs/studies/%s is not what the figures give; go run ./studies/contract --from docs/studies/contract.csv", f.name)
		}
	}
	for _, c := range texts {
		if c.holds != nil && !c.holds(s) {
			t.Errorf("not borne out by the figures: %s: %s", c.part, c.text)
		}
	}
}

func TestWrap(t *testing.T) {
	if got := wrap("a  b\n c"); got != "a b c" {
		t.Errorf("%q", got)
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{spread(ratio, .9951, .9962, .9971, false), "99.62 % [99.51, 99.71]"},
		{spread(ratio, -.0001, 0, .0101, true), "0.00 points [-0.01, +1.01]"},
		{spread(wait, 30, 45, 130, false), "0.8 min [0.5, 2.2]"},
		{spread(wait, -7200, -3600, 0, true), "-1.0 h [-2.0, 0.0]"},
		{spread(count, 1, 2.5, 14, false), "2.50 [1, 14]"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
