package yamlx

import "time"

// Moment is a point in time: a date, or a time since some zero that the reader knows.
type Moment struct {
	// At is Unix milliseconds where Dated, else milliseconds since the zero.
	At    int64
	Dated bool
}

// dateLayouts are read as UTC unless the text says otherwise.
var dateLayouts = []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", time.DateTime, time.RFC3339}

const wantMoment = "want a date (2026-03-01, 2026-03-01T12:00, in UTC unless it says otherwise) or a time since the workload's zero (36h)"

// UnmarshalNode reads a date or a duration; 0 needs no unit.
func (m *Moment) UnmarshalNode(n *Node) error {
	if n.Kind == Number && n.Text == "0" {
		return nil
	}
	if n.Kind != Text {
		return n.Errorf(wantMoment, "no point in time here")
	}
	if d, err := ParseDuration(n.Text); err == nil {
		m.At = int64(d)
		return nil
	}
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, n.Text); err == nil {
			m.At, m.Dated = t.UnixMilli(), true
			return nil
		}
	}
	return n.Errorf(wantMoment, "%q is no point in time", n.Text)
}
