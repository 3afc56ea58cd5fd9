package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// delays are how long each step takes from a submission to the start, of what escala decided.
type delays struct {
	// seen: submission -> the journal has it; begun: decision -> the job runs.
	seen, begun []time.Duration
	// adopted starts were Slurm's own: it was faster than the first look. failed are decisions of which nothing came.
	decided, adopted, failed int
}

// line of a journal, as far as it is read.
type line struct {
	Escala   string `json:"escala"`
	Workload struct {
		Epoch int64 `json:"epoch_ms"`
	} `json:"workload"`
	T    int64  `json:"t"`
	Fact string `json:"fact"`
	Do   string `json:"do"`
	Job  int    `json:"job"`
	Try  int    `json:"try"`
	Why  string `json:"why"`
	Spec struct {
		ID string `json:"id"`
	} `json:"spec"`
}

// delaysOf reads a journal. Runs are matched with what the jobs wrote by their order.
func delaysOf(journal []byte, ids map[string]int, began time.Time, submitted []time.Duration, starts []start) (*delays, error) {
	d := &delays{}
	var epoch int64
	number := map[int]int{}              // the journal's to ours
	decided := map[int][]time.Duration{} // of each job's runs; < 0 = it was adopted
	for text := range bytes.Lines(journal) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, fmt.Errorf("the journal: %w", err)
		}
		at := time.UnixMilli(epoch + l.T).Sub(began)
		n, known := number[l.Job]
		switch {
		case l.Escala != "":
			epoch = l.Workload.Epoch
		case l.Fact == "submitted":
			if n, ok := ids[l.Spec.ID]; ok {
				number[l.Job] = n
				d.seen = append(d.seen, at-submitted[n])
			}
		case known && l.Do == "start" && l.Why == "adopted":
			decided[n] = append(decided[n], -1)
			d.adopted++
		case known && l.Fact == "start-failed": // that run never was
			decided[n] = decided[n][:max(len(decided[n])-1, 0)]
			d.failed++
		case known && l.Do == "start":
			decided[n] = append(decided[n], at)
			d.decided++
		}
	}
	count := map[int]int{}
	for _, s := range starts {
		k := count[s.job]
		count[s.job]++
		if k < len(decided[s.job]) && decided[s.job][k] >= 0 {
			d.begun = append(d.begun, s.at.Sub(began)-decided[s.job][k])
		}
	}
	return d, nil
}
