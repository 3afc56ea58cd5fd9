package cluster

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/escala-sched/escala/internal/yamlx"
)

// WriteYAML writes the cluster as a file that [ParseYAML] reads back as the
// same cluster, but for Hash. Runs of equal nodes with running numbers become
// one group.
func WriteYAML(w io.Writer, s *Spec) error {
	for i := range s.Nodes {
		if strings.ContainsAny(s.Nodes[i].Name, "{}") {
			return fmt.Errorf("cluster %s: node %q: braces stand for a number in a file; give it another name", s.Name, s.Nodes[i].Name)
		}
	}
	b := bufio.NewWriter(w)
	if s.Name != "" {
		fmt.Fprintf(b, "name: %s\n", yamlx.Quote(s.Name))
	}
	if len(s.Levels) > 0 {
		fmt.Fprintf(b, "levels: %s\n", flowList(s.Levels))
	}
	if s.Count > 0 {
		fmt.Fprintf(b, "pool: %d\n", s.Count)
	}
	if len(s.Nodes) > 0 {
		b.WriteString("nodes:\n")
	}
	for i := 0; i < len(s.Nodes); {
		n := runLength(s.Nodes[i:])
		fmt.Fprintf(b, "  - {%s}\n", strings.Join(groupFields(s, i, n), ", "))
		i += n
	}
	if len(s.Types) > 0 {
		b.WriteString("gpuTypes:\n")
	}
	for _, t := range s.Types {
		fmt.Fprintf(b, "  %s: {pricePerHour: %s, idleWatts: %s, activeWatts: %s}\n",
			yamlx.Quote(t.Name), yamlx.Decimal(t.PricePerHour), yamlx.Decimal(t.IdleWatts), yamlx.Decimal(t.ActiveWatts))
	}
	if s.Currency != "" {
		fmt.Fprintf(b, "currency: %s\n", yamlx.Quote(s.Currency))
	}
	if s.PUE != 0 {
		fmt.Fprintf(b, "pue: %s\n", yamlx.Decimal(s.PUE))
	}
	if len(s.Outages) > 0 {
		b.WriteString("outages:\n")
	}
	for _, o := range s.Outages {
		planned := ""
		if o.Planned {
			planned = ", planned: true"
		}
		fmt.Fprintf(b, "  - {at: %s, node: %s, change: %s%s}\n", yamlx.Duration(o.At), yamlx.Quote(o.Node), o.Change, planned)
	}
	return b.Flush()
}

func groupFields(s *Spec, first, count int) []string {
	n := &s.Nodes[first]
	var f []string
	add := func(format string, args ...any) { f = append(f, fmt.Sprintf(format, args...)) }
	if count > 1 {
		prefix, digits := splitNumber(n.Name)
		number, _ := strconv.Atoi(digits)
		add("count: %d", count)
		add("name: %q", prefix+"{"+padding(digits)+"}")
		if number != 1 {
			add("first: %d", number)
		}
	} else {
		add("name: %s", yamlx.Quote(n.Name))
	}
	if n.GPUs > 0 {
		add("gpus: %d", n.GPUs)
	}
	if n.GPUType != "" {
		add("gpu: %s", yamlx.Quote(n.GPUType))
	}
	if n.CPU > 0 {
		add("cpus: %s", yamlx.Milli(n.CPU))
	}
	if n.Memory > 0 {
		add("memory: %s", yamlx.Size(n.Memory))
	}
	switch len(n.Partitions) {
	case 0:
	case 1:
		add("partition: %s", yamlx.Quote(n.Partitions[0]))
	default:
		add("partition: %s", flowList(n.Partitions))
	}
	if len(n.Places) > 0 {
		var places []string
		for l, level := range s.Levels {
			places = append(places, yamlx.Quote(level)+": "+yamlx.Quote(n.Places[l]))
		}
		add("places: {%s}", strings.Join(places, ", "))
	}
	return f
}

// runLength counts the nodes at the front that are equal but for a running number.
func runLength(nodes []Node) int {
	prefix, digits := splitNumber(nodes[0].Name)
	first, err := strconv.Atoi(digits)
	if err != nil {
		return 1
	}
	width := len(padding(digits))
	for k := 1; k < len(nodes); k++ {
		a, b := &nodes[0], &nodes[k]
		if b.Name != fmt.Sprintf("%s%0*d", prefix, width, first+k) || a.GPUType != b.GPUType || a.GPUs != b.GPUs || a.CPU != b.CPU ||
			a.Memory != b.Memory || !slices.Equal(a.Partitions, b.Partitions) || !slices.Equal(a.Places, b.Places) {
			return k
		}
	}
	return len(nodes)
}

// splitNumber cuts the number at a name's end off, at most nine digits of it.
func splitNumber(name string) (prefix, digits string) {
	prefix = strings.TrimRight(name, "0123456789")
	if len(name)-len(prefix) > 9 {
		prefix = name[:len(name)-9]
	}
	return prefix, name[len(prefix):]
}

// padding is the zeros that stand in "{000}" for numbers of this width, none
// where the number needs none.
func padding(digits string) string {
	if len(digits) > 1 && digits[0] == '0' {
		return strings.Repeat("0", len(digits))
	}
	return ""
}

func flowList(items []string) string {
	quoted := make([]string, len(items))
	for i, s := range items {
		quoted[i] = yamlx.Quote(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
