package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

var csvHead = []string{"regime", "seed", "file", "policy", "workload_sha256", "policy_sha256"}

// sort puts runs into an order of their own, whatever order they ended in.
func (s *study) sort() {
	slices.SortFunc(s.runs, func(a, b run) int {
		return cmp.Or(cmp.Compare(a.regime, b.regime), cmp.Compare(a.file, b.file), cmp.Compare(a.policy, b.policy), cmp.Compare(a.seed, b.seed))
	})
	s.index = map[runKey]int{}
	for i := range s.runs {
		s.index[s.runs[i].runKey] = i
	}
}

// csv is one line per run.
func (s *study) csv() string {
	var b strings.Builder
	cells := slices.Clone(csvHead)
	for i := range figures {
		cells = append(cells, figures[i].key)
	}
	b.WriteString(strings.Join(append(cells, "owed_gpu_hours", "charged_gpu_hours"), ",") + "\n")
	for i := range s.runs {
		r := &s.runs[i]
		cells := []string{fmt.Sprint(r.regime), strconv.Itoa(r.seed), r.file, r.policy, r.workload, r.policyHash}
		for _, v := range r.values {
			cells = append(cells, v.csv())
		}
		cells = append(cells, join(r.owed), join(r.charged))
		b.WriteString(strings.Join(cells, ",") + "\n")
	}
	return b.String()
}

func join(v []float64) string {
	out := make([]string, len(v))
	for i := range v {
		out[i] = strconv.FormatFloat(v[i], 'g', -1, 64)
	}
	return strings.Join(out, " ")
}

// read takes what csv wrote.
func (s *study) read(text string) error {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	head := strings.Split(lines[0], ",")
	column := map[string]int{}
	for i, h := range head {
		column[h] = i
	}
	for _, h := range append(slices.Clone(csvHead), "owed_gpu_hours", "charged_gpu_hours") {
		if _, ok := column[h]; !ok {
			return fmt.Errorf("no column %s", h)
		}
	}
	for n, line := range lines[1:] {
		cells := strings.Split(line, ",")
		if len(cells) != len(head) {
			return fmt.Errorf("line %d has %d cells, want %d", n+2, len(cells), len(head))
		}
		if err := s.readRun(cells, column); err != nil {
			return fmt.Errorf("line %d: %w", n+2, err)
		}
	}
	s.sort()
	return s.complete()
}

func (s *study) readRun(cells []string, column map[string]int) (err error) {
	var r run
	at := func(name string) string { return cells[column[name]] }
	keep := func(e error) { err = errors.Join(err, e) }
	var e error
	r.regime, e = strconv.ParseFloat(at("regime"), 64)
	keep(e)
	r.seed, e = strconv.Atoi(at("seed"))
	keep(e)
	s.seeds = max(s.seeds, r.seed)
	r.file, r.policy, r.workload, r.policyHash = at("file"), at("policy"), at("workload_sha256"), at("policy_sha256")
	for i := range figures {
		c, ok := column[figures[i].key]
		if !ok {
			return fmt.Errorf("no column %s", figures[i].key)
		}
		v, e := parseValue(cells[c])
		keep(e)
		r.values = append(r.values, v)
	}
	for _, list := range []struct {
		from string
		to   *[]float64
	}{{at("owed_gpu_hours"), &r.owed}, {at("charged_gpu_hours"), &r.charged}} {
		for _, f := range strings.Fields(list.from) {
			v, e := strconv.ParseFloat(f, 64)
			keep(e)
			*list.to = append(*list.to, v)
		}
	}
	s.runs = append(s.runs, r)
	return err
}

// complete tells which run of the plan is missing.
func (s *study) complete() error {
	for _, u := range plan(s.seeds) {
		for _, p := range u.policies {
			if _, ok := s.index[runKey{u.regime, u.seed, u.file, p}]; !ok {
				return fmt.Errorf("the run of regime %g, seed %d, %s, %s is missing", u.regime, u.seed, u.file, p)
			}
		}
	}
	return nil
}
