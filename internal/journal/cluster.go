package journal

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/escala-sched/escala/cluster"
)

// jsonCluster is a cluster in the header.
type jsonCluster struct {
	Name     string       `json:"name,omitempty"`
	Hash     string       `json:"sha256,omitempty"`
	Pool     int32        `json:"pool,omitempty"`
	Levels   []string     `json:"levels,omitempty"`
	Nodes    []jsonNodes  `json:"nodes,omitempty"`
	Types    []jsonType   `json:"gpu_types,omitempty"`
	Currency string       `json:"currency,omitempty"`
	PUE      float64      `json:"pue,omitempty"`
	Outages  []jsonOutage `json:"outages,omitempty"`
}

// jsonNodes is a run of nodes that differ in the number at their name's end
// alone; Name is the first of them.
type jsonNodes struct {
	Name       string   `json:"name"`
	Count      int      `json:"count,omitempty"`
	GPUs       int32    `json:"gpus,omitempty"`
	GPUType    string   `json:"gpu_type,omitempty"`
	CPU        int64    `json:"cpu_milli,omitempty"`
	Memory     int64    `json:"memory_mib,omitempty"`
	Partitions []string `json:"partitions,omitempty"`
	Places     []string `json:"places,omitempty"`
}

type jsonType struct {
	Name         string  `json:"name"`
	PricePerHour float64 `json:"price_per_hour,omitempty"`
	IdleWatts    float64 `json:"idle_watts,omitempty"`
	ActiveWatts  float64 `json:"active_watts,omitempty"`
}

type jsonOutage struct {
	At      int64  `json:"t"`
	Node    string `json:"node"`
	Change  string `json:"change"`
	Planned bool   `json:"planned,omitempty"`
}

func toCluster(s *cluster.Spec) *jsonCluster {
	c := &jsonCluster{Name: s.Name, Hash: s.Hash, Pool: s.Count, Levels: s.Levels, Currency: s.Currency, PUE: s.PUE}
	for i := 0; i < len(s.Nodes); {
		n := &s.Nodes[i]
		count := 1
		for i+count < len(s.Nodes) && follows(&s.Nodes[i+count-1], &s.Nodes[i+count]) {
			count++
		}
		g := jsonNodes{Name: n.Name, Count: count, GPUs: n.GPUs, GPUType: n.GPUType, CPU: n.CPU, Memory: n.Memory, Partitions: n.Partitions, Places: n.Places}
		if count == 1 {
			g.Count = 0
		}
		c.Nodes = append(c.Nodes, g)
		i += count
	}
	for _, t := range s.Types {
		c.Types = append(c.Types, jsonType(t))
	}
	for _, o := range s.Outages {
		c.Outages = append(c.Outages, jsonOutage(o))
	}
	return c
}

func follows(a, b *cluster.Node) bool {
	return b.GPUs == a.GPUs && b.GPUType == a.GPUType && b.CPU == a.CPU && b.Memory == a.Memory &&
		slices.Equal(a.Partitions, b.Partitions) && slices.Equal(a.Places, b.Places) && b.Name == nextName(a.Name)
}

// nextName counts the number at a name's end up, keeping its width: "n9" gives
// "n10", "n09" gives "n10". "" where there is none.
func nextName(name string) string {
	prefix := strings.TrimRight(name, "0123456789")
	digits := name[len(prefix):]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return ""
	}
	next := strconv.FormatInt(n+1, 10)
	return prefix + strings.Repeat("0", max(0, len(digits)-len(next))) + next
}

// spec lays the groups out and checks the whole.
func (c *jsonCluster) spec() (*cluster.Spec, error) {
	const most = 1_000_000
	s := &cluster.Spec{Name: c.Name, Hash: c.Hash, Count: c.Pool, Levels: c.Levels, Currency: c.Currency, PUE: c.PUE}
	for i := range c.Nodes {
		g := &c.Nodes[i]
		count := max(g.Count, 1)
		if g.Count < 0 || count > most-len(s.Nodes) {
			return nil, fmt.Errorf("%d nodes like %q; want at most %d in all", g.Count, g.Name, most)
		}
		name := g.Name
		for range count {
			s.Nodes = append(s.Nodes, cluster.Node{Name: name, GPUType: g.GPUType, GPUs: g.GPUs, CPU: g.CPU, Memory: g.Memory, Partitions: g.Partitions, Places: g.Places})
			if count > 1 {
				name = nextName(name)
			}
		}
	}
	for _, t := range c.Types {
		s.Types = append(s.Types, cluster.Type(t))
	}
	for _, o := range c.Outages {
		s.Outages = append(s.Outages, cluster.Outage(o))
	}
	return s, s.Check()
}
