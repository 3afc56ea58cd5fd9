package policy

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/escala-sched/escala/internal/yamlx"
)

// YAML writes the policy as a file with every default spelled out. Parsing it
// gives the policy back, but for Hash.
func (p *Policy) YAML() []byte {
	var b bytes.Buffer
	line := func(key, value string) { fmt.Fprintf(&b, "%s: %s\n", key, value) }
	line("name", yamlx.Quote(p.Name))
	if p.Description != "" {
		line("description", yamlx.Quote(p.Description))
	}
	if p.Source != "" {
		line("source", yamlx.Quote(p.Source))
	}
	b.WriteString("order:\n")
	for i := range p.Order {
		fmt.Fprintf(&b, "  - %s\n", p.Order[i].yaml())
	}
	line("blocking", p.Blocking.String())
	line("decide", decideNames[b2i(p.PerEvent)])
	if p.Depth > 0 {
		line("reservations", strconv.Itoa(p.Depth))
	}
	line("placement", p.Placement.yaml())
	line("preemption", p.Preemption.yaml())
	if p.Limit.TeamUnpreemptible > 0 {
		line("limit", fmt.Sprintf("{teamUnpreemptible: %s}", yamlx.Percent(p.Limit.TeamUnpreemptible)))
	}
	if p.Sharing != nil {
		b.WriteString("sharing:\n")
		p.Sharing.yaml(&b)
	}
	if p.Horizon != nil {
		b.WriteString("horizon:\n")
		p.Horizon.yaml(&b)
	}
	if p.onGrid() {
		line("interval", span(p.Interval))
	}
	line("estimates", p.Estimates.yaml())
	line("defaultEstimate", span(p.DefaultEstimate))
	return b.Bytes()
}

func (p *Policy) onGrid() bool {
	for i := range p.Order {
		if p.Order[i].onGrid() {
			return true
		}
	}
	return false
}

func (t *Term) yaml() string {
	parts := []string{"by: " + t.Kind.String()}
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if t.Descending {
		add("descending: true")
	}
	switch t.Kind {
	case ByAttained:
		var list []string
		for _, th := range t.Thresholds {
			list = append(list, yamlx.Milli(th).String())
		}
		add("thresholds: [%s]", strings.Join(list, ", "))
		if t.Promote > 0 {
			add("promote: %s", yamlx.Milli(t.Promote))
		}
	case ByExpr:
		add("expr: %s", strconv.Quote(t.Text))
	case ByMultifactor:
		m := &t.Multifactor
		add("weights: {age: %s, jobSize: %s, priority: %s, fairShare: %s}", yamlx.Decimal(m.Age), yamlx.Decimal(m.JobSize), yamlx.Decimal(m.Priority), yamlx.Decimal(m.FairShare))
		if m.Age > 0 {
			add("maxAge: %s", span(m.MaxAge))
		}
		if m.Priority > 0 {
			add("maxPriority: %d", m.MaxPriority)
		}
		if m.FavorSmall {
			add("favorSmall: true")
		}
		if m.FairShare > 0 {
			add("halfLife: %s", span(m.HalfLife))
		}
		add("usageBy: %s", usageNames[b2i(m.ByUser)])
	}
	if len(parts) == 1 {
		return t.Kind.String()
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (p *Placement) yaml() string {
	switch {
	case p.Level != "":
		return fmt.Sprintf("{by: %s, level: %s}", p.By, yamlx.Quote(p.Level))
	case p.By == Random:
		return fmt.Sprintf("{by: %s, seed: %d}", p.By, p.Seed)
	}
	return p.By.String()
}

func (p *Preemption) yaml() string {
	if p.By == PreemptNone {
		return p.By.String()
	}
	if l := p.Spare; l != nil {
		return fmt.Sprintf("{by: %s, crossTeam: %t, spare: {label: %s, value: %s}}", p.By, p.CrossTeam, yamlx.Quote(l.Key), yamlx.Quote(l.Value))
	}
	return fmt.Sprintf("{by: %s, crossTeam: %t}", p.By, p.CrossTeam)
}

func (e *Estimates) yaml() string {
	if e.Model == EstimateHelios {
		return fmt.Sprintf("{model: %s, seed: %d}", e.Model, e.Seed)
	}
	return e.Model.String()
}

func span(ms int64) string { return yamlx.Duration(ms).String() }
func b2i(b bool) (i int) {
	if b {
		i = 1
	}
	return i
}
