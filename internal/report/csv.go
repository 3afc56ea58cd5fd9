package report

import (
	"encoding/csv"
	"io"
	"strconv"
)

// WriteCSV writes one line per policy and one column per figure, named by its
// JSON key. A figure that a run does not have is empty. The figures that came later
// stand behind the currency of money, which is empty where the cluster file names none,
// and last those that only some workloads have: of real-time applications, and value.
func WriteCSV(w io.Writer, c *Comparison) error {
	out := csv.NewWriter(w)
	var first, later, last []*row
	for i := range rows {
		switch r := &rows[i]; {
		case r.onDemand:
			if r.had(c) {
				last = append(last, r)
			}
		case r.added:
			later = append(later, r)
		default:
			first = append(first, r)
		}
	}
	later = append(later, last...)
	line := []string{"policy"}
	for _, r := range first {
		line = append(line, r.key)
	}
	line = append(line, "currency")
	for _, r := range later {
		line = append(line, r.key)
	}
	if err := out.Write(line); err != nil {
		return err
	}
	for i := range c.Policies {
		line = append(line[:0], c.Policies[i].Name)
		for _, r := range first {
			line = append(line, r.csv(c, i))
		}
		line = append(line, c.Cluster.Currency)
		for _, r := range later {
			line = append(line, r.csv(c, i))
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// had tells whether any policy has the figure.
func (r *row) had(c *Comparison) bool {
	for i := range c.Policies {
		if _, ok := r.get(&c.Policies[i].Metrics); ok {
			return true
		}
	}
	return false
}

// csv is a policy's figure as CSV has it.
func (r *row) csv(c *Comparison, i int) string {
	v, ok := r.get(&c.Policies[i].Metrics)
	if !ok {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
