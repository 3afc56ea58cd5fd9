package report

import (
	"encoding/csv"
	"io"
	"strconv"
)

// WriteCSV writes one line per policy and one column per figure, named by its
// JSON key. A figure that a run does not have is empty. The column behind
// them is the currency of money, empty where the cluster file names none.
func WriteCSV(w io.Writer, c *Comparison) error {
	out := csv.NewWriter(w)
	line := []string{"policy"}
	for i := range rows {
		line = append(line, rows[i].key)
	}
	line = append(line, "currency")
	if err := out.Write(line); err != nil {
		return err
	}
	for i := range c.Policies {
		line = append(line[:0], c.Policies[i].Name)
		for k := range rows {
			v, ok := rows[k].get(&c.Policies[i].Metrics)
			if !ok {
				line = append(line, "")
				continue
			}
			line = append(line, strconv.FormatFloat(v, 'g', -1, 64))
		}
		line = append(line, c.Cluster.Currency)
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
