package report

import (
	"encoding/json"
	"io"

	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/workload"
)

// schemaVersion of the JSON. Keys are added within a version, never renamed or removed.
const schemaVersion = 1

type jsonReport struct {
	SchemaVersion int          `json:"schemaVersion"`
	Input         jsonInput    `json:"input"`
	Finding       string       `json:"finding"`
	Policies      []jsonPolicy `json:"policies"`
	Check         *Check       `json:"check,omitempty"`
}

type jsonInput struct {
	Workload jsonWorkload `json:"workload"`
	Cluster  jsonCluster  `json:"cluster"`
	// Budgets that policies are judged by, absent without.
	Budgets     *jsonBudgets `json:"budgets,omitempty"`
	Assumptions []Assumption `json:"assumptions"`
	Version     string       `json:"version"`
	Command     string       `json:"command,omitempty"`
}

type jsonWorkload struct {
	Name        string `json:"name"`
	Format      string `json:"format,omitempty"`
	Source      string `json:"source,omitempty"`
	Licence     string `json:"licence,omitempty"`
	Attribution string `json:"attribution,omitempty"`
	SHA256      string `json:"sha256,omitempty"`
	Jobs        int    `json:"jobs"`
	// Services are those of the jobs that are real-time applications.
	Services int           `json:"services,omitempty"`
	Rows     int           `json:"rows"`
	Dropped  []jsonDropped `json:"dropped"`
	Notes    []string      `json:"notes"`
	// EpochUnix is the calendar time of the input's zero, in seconds.
	EpochUnix *float64 `json:"epoch_unix,omitempty"`
}

type jsonBudgets struct {
	Name     string   `json:"name"`
	SHA256   string   `json:"sha256,omitempty"`
	Accounts int      `json:"accounts"`
	Reported int      `json:"reported"`
	Notes    []string `json:"notes,omitempty"`
	// Unmatched are the jobs that no account takes.
	Unmatched []Unbudgeted `json:"unmatched,omitempty"`
}

type jsonDropped struct {
	Cause string `json:"cause"`
	Count int    `json:"count"`
	First string `json:"first,omitempty"`
}

type jsonCluster struct {
	Name   string  `json:"name"`
	SHA256 string  `json:"sha256,omitempty"`
	Nodes  int     `json:"nodes"`
	GPUs   int64   `json:"gpus"`
	PUE    float64 `json:"pue,omitempty"`
	// Currency of prices and costs, as the cluster file names it.
	Currency string     `json:"currency,omitempty"`
	Types    []jsonType `json:"types,omitempty"`
}

type jsonType struct {
	Name         string  `json:"name"`
	PricePerHour float64 `json:"price_per_hour"`
	IdleWatts    float64 `json:"idle_watts"`
	ActiveWatts  float64 `json:"active_watts"`
}

type jsonPolicy struct {
	Name      string             `json:"name"`
	SHA256    string             `json:"sha256,omitempty"`
	Source    string             `json:"source,omitempty"`
	Estimates string             `json:"estimates,omitempty"`
	Text      string             `json:"text,omitempty"`
	Notes     []string           `json:"notes,omitempty"`
	Metrics   *metrics.Metrics   `json:"metrics"`
	Groups    []metrics.GroupUse `json:"groups,omitempty"`
}

// WriteJSON writes the comparison for scripts, with everything it rests on.
func WriteJSON(w io.Writer, c *Comparison) error {
	r := jsonReport{SchemaVersion: schemaVersion, Input: c.jsonInput(), Finding: Finding(c), Policies: []jsonPolicy{}, Check: c.Check}
	for i := range c.Policies {
		p := &c.Policies[i]
		r.Policies = append(r.Policies, jsonPolicy{
			Name: p.Name, SHA256: p.Hash, Source: p.Source, Estimates: p.Estimates, Text: p.Text, Notes: p.Notes,
			Metrics: &p.Metrics, Groups: p.Metrics.Groups,
		})
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func (c *Comparison) jsonInput() jsonInput {
	w, s := c.Workload, c.Cluster
	in := jsonInput{
		Workload: jsonWorkload{Name: w.Name, Format: w.Format, Source: w.Source, Licence: w.Licence, Attribution: c.Attribution,
			SHA256: w.Hash, Jobs: len(w.Jobs), Services: applications(w), Rows: w.Rows, Dropped: []jsonDropped{}, Notes: append([]string{}, w.Notes...)},
		Cluster:     jsonCluster{Name: s.Name, SHA256: s.Hash, Nodes: len(s.Nodes), GPUs: s.GPUs(), PUE: s.PUE, Currency: s.Currency},
		Assumptions: append([]Assumption{}, c.Assumptions...),
		Version:     c.Version, Command: c.Command,
	}
	if b := c.Budgets; b != nil {
		in.Budgets = &jsonBudgets{Name: b.Name, SHA256: b.Hash, Accounts: len(b.Nodes), Reported: len(b.Reported), Notes: b.Notes, Unmatched: c.Unbudgeted}
	}
	if w.Epoch != workload.Unknown {
		e := float64(w.Epoch) / 1000
		in.Workload.EpochUnix = &e
	}
	for _, d := range w.Dropped {
		in.Workload.Dropped = append(in.Workload.Dropped, jsonDropped(d))
	}
	for _, t := range s.Types {
		in.Cluster.Types = append(in.Cluster.Types, jsonType(t))
	}
	return in
}
