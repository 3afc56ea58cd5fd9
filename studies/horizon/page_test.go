package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// The page is what its figures say, and nobody has written into it by hand.
func TestPageIsMadeOfItsFigures(t *testing.T) {
	dir := filepath.Join("..", "..", "docs", "studies")
	data, err := os.ReadFile(filepath.Join(dir, "horizon.json"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "horizon.md"))
	if err != nil {
		t.Fatal(err)
	}
	var s study
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	if s.page() != string(page) {
		t.Error("docs/studies/horizon.md is not what horizon.json makes; run go run ./studies/horizon --from docs/studies/horizon.json")
	}
}

// Better is better: what the text says of the figures holds for those that are there.
func TestFiguresBearTheText(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "studies", "horizon.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s study
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	for i := range s.Scenarios {
		r := &s.Scenarios[i]
		if r.Full.Objective < r.Fast["200"].Objective-1e-9 {
			t.Errorf("%s: full mode is worse than fast mode with 200 decodes", r.Name)
		}
		if r.Full.Bound < r.best()-0.051 { // the best known of some are told to one decimal
			t.Errorf("%s: the bound %v is below a known plan, %v", r.Name, r.Full.Bound, r.best())
		}
		if g := gap(r.Known, r.Full.Objective); g > 1e-3 {
			t.Errorf("%s: full mode is %.2f %% below the best known", r.Name, 100*g)
		}
	}
	rows := map[string]weekRow{}
	for _, r := range s.Week.Rows {
		if r.Forecast == 0 && r.Estimates == "perfect" {
			rows[r.Policy] = r
		}
	}
	for _, base := range []string{"fifo", "fifo-skip", "conservative"} {
		if rows["horizon"].Served <= rows[base].Served || rows["horizon"].Value <= rows[base].Value {
			t.Errorf("the week: horizon is no better than %s", base)
		}
	}
}
