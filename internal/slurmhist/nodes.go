package slurmhist

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/trace"
)

// Node is a node as Slurm describes it.
type Node struct {
	Name       string
	GPUs       []trace.GPUType // by type, "" where the type is not named
	CPUs       int64
	Memory     int64 // MiB
	Features   []string
	Partitions []string
}

func (n *Node) gpus() (sum int64) {
	for _, t := range n.GPUs {
		sum += t.Count
	}
	return sum
}

// Partition is what is used of one.
type Partition struct {
	Name string
	// Exclusive: each of its jobs has its nodes for itself.
	Exclusive bool
}

// Site is what is known of a cluster besides its accounting.
type Site struct {
	Nodes      []Node
	Partitions []Partition
	// QOS are priorities by name.
	QOS map[string]int64
	// Config has the lines of scontrol show config.
	Config map[string]string
	Events []Event
	// untold counts what cannot be used of it.
	untold tally
}

// InputError is an input that cannot be used: where, what is wrong, what would be right.
type InputError = trace.Error

func bad(file string, line int, want, format string, args ...any) error {
	return &InputError{File: file, Line: line, Msg: fmt.Sprintf(format, args...), Want: want}
}

const nodesWanted = "the text of scontrol show node, of scontrol show partition, of sinfo -N -o \"%N|%G|%c|%m|%f|%P\", or sinfo --json"

// AddNodes reads nodes or partitions in any of the ways in which Slurm's tools write them.
func (s *Site) AddNodes(file string, data []byte) error {
	text := strings.TrimSpace(string(bytes.TrimPrefix(data, []byte("\ufeff"))))
	switch {
	case text == "":
		return bad(file, 0, nodesWanted, "the file is empty")
	case text[0] == '{':
		return s.nodesJSON(file, data)
	case strings.Contains(text, "NodeName=") || strings.Contains(text, "PartitionName="):
		return s.nodesText(file, text)
	}
	return s.nodesTable(file, text)
}

// nodesText reads blocks of Key=Value, of nodes and partitions.
func (s *Site) nodesText(file, text string) error {
	block := map[string]string{}
	line := 0
	flush := func() error {
		defer clear(block)
		if name, ok := block["NodeName"]; ok {
			return s.nodeBlock(file, line, name, block)
		}
		if name, ok := block["PartitionName"]; ok {
			s.Partitions = append(s.Partitions, Partition{Name: name, Exclusive: strings.HasPrefix(block["OverSubscribe"], "EXCLUSIVE")})
		}
		return nil
	}
	n := 0
	for l := range strings.SplitSeq(text, "\n") {
		n++
		if strings.HasPrefix(l, "NodeName=") || strings.HasPrefix(l, "PartitionName=") {
			if err := flush(); err != nil {
				return err
			}
			line = n
		}
		for f := range strings.FieldsSeq(l) {
			if k, v, ok := strings.Cut(f, "="); ok && block[k] == "" {
				block[k] = v
			}
		}
	}
	return flush()
}

func (s *Site) nodeBlock(file string, line int, name string, b map[string]string) error {
	n := Node{Name: name, Features: list(b["AvailableFeatures"]), Partitions: list(b["Partitions"])}
	n.CPUs, _ = strconv.ParseInt(b["CPUTot"], 10, 64)
	if v, err := strconv.ParseInt(b["CPUEfctv"], 10, 64); err == nil && v > 0 {
		n.CPUs = v // without those set aside for the system
	}
	n.Memory, _ = strconv.ParseInt(b["RealMemory"], 10, 64)
	return s.addNode(file, line, n, b["Gres"], b["CfgTRES"])
}

// addNode takes a node once; sinfo names one for each of its partitions.
func (s *Site) addNode(file string, line int, n Node, gres, cfg string) error {
	g, err := gpusOf(gres, cfg)
	if err != nil {
		return bad(file, line, "GPUs such as gpu:a100:8", "node %s: GPUs %q cannot be read", n.Name, gres)
	}
	n.GPUs = g
	if i := slices.IndexFunc(s.Nodes, func(o Node) bool { return o.Name == n.Name }); i >= 0 {
		for _, p := range n.Partitions {
			if !slices.Contains(s.Nodes[i].Partitions, p) {
				s.Nodes[i].Partitions = append(s.Nodes[i].Partitions, p)
			}
		}
		return nil
	}
	s.Nodes = append(s.Nodes, n)
	return nil
}

// gpusOf reads the GPUs of a node by type. What is configured tells where the list of
// devices does not.
func gpusOf(gres, cfg string) ([]trace.GPUType, error) {
	for _, list := range []string{gres, cfg} {
		g, err := trace.ParseGPUs(list)
		if err != nil {
			if list == cfg || cfg == "" {
				if list == "" || list == "N/A" || list == "(null)" {
					return nil, nil
				}
				return nil, err
			}
			continue
		}
		out := slices.Clone(g.Types)
		typed := int64(0)
		for _, t := range out {
			typed += t.Count
		}
		if g.Count > typed {
			out = append(out, trace.GPUType{Count: g.Count - typed})
		}
		return out, nil
	}
	return nil, nil
}

// list reads names joined by commas.
func list(s string) []string {
	if s == "" || s == "(null)" || s == "N/A" {
		return nil
	}
	var out []string
	for v := range strings.SplitSeq(s, ",") {
		if v = strings.TrimSuffix(strings.TrimSpace(v), "*"); v != "" {
			out = append(out, v)
		}
	}
	return out
}

// nodesTable reads the table of sinfo -N: with bars, or in columns as --long has them.
func (s *Site) nodesTable(file, text string) error {
	at := map[string]int{}
	n, bars := 0, false
	for l := range strings.SplitSeq(text, "\n") {
		n++
		if strings.TrimSpace(l) == "" || len(at) == 0 && !strings.Contains(l, "NODELIST") {
			continue // sinfo --long begins with the date
		}
		if len(at) == 0 {
			bars = strings.Contains(l, "|")
		}
		fields := strings.Fields(l)
		if bars {
			fields = strings.Split(l, "|")
		}
		if len(at) == 0 {
			for i, f := range fields {
				at[strings.TrimSpace(f)] = i + 1
			}
			if at["GRES"] == 0 {
				return bad(file, n, nodesWanted, "column GRES is missing: nothing tells GPUs")
			}
			continue
		}
		get := func(names ...string) string {
			for _, name := range names {
				if i := at[name]; i > 0 && i <= len(fields) {
					return strings.TrimSpace(fields[i-1])
				}
			}
			return ""
		}
		names, err := slurm.Hosts(get("NODELIST"))
		if err != nil || len(names) == 0 {
			return bad(file, n, "the name of a node", "%q names no node", get("NODELIST"))
		}
		for _, name := range names {
			x := Node{Name: name, Features: list(get("AVAIL_FEATURES", "AVAIL_FE", "FEATURES")), Partitions: list(get("PARTITION"))}
			x.CPUs, _ = strconv.ParseInt(strings.TrimRight(get("CPUS"), "+"), 10, 64)
			if _, total, ok := strings.Cut(get("CPUS(A/I/O/T)"), "/"); ok {
				x.CPUs, _ = strconv.ParseInt(total[strings.LastIndex(total, "/")+1:], 10, 64)
			}
			x.Memory, _ = strconv.ParseInt(strings.TrimRight(get("MEMORY"), "+"), 10, 64)
			if err := s.addNode(file, n, x, get("GRES"), ""); err != nil {
				return err
			}
		}
	}
	if len(at) == 0 {
		return bad(file, 1, nodesWanted, "this describes no nodes")
	}
	return nil
}

// nodesJSON reads what sinfo --json and scontrol show node --json write. Lists of nodes are small.
func (s *Site) nodesJSON(file string, data []byte) error {
	var f struct {
		Nodes []json.RawMessage `json:"nodes"`
		Sinfo []json.RawMessage `json:"sinfo"`
		Parts json.RawMessage   `json:"partitions"`
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return bad(file, 0, nodesWanted, "broken JSON: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	var parts []struct {
		Name string `json:"name"`
		// OverSubscribe is a word before 23.02.
		OverSubscribe json.RawMessage `json:"over_subscribe"`
		Maximums      struct {
			Over struct {
				Jobs *int64 `json:"jobs"`
			} `json:"oversubscribe"`
		} `json:"maximums"`
	}
	if json.Unmarshal(f.Parts, &parts) == nil {
		for _, p := range parts {
			exclusive := bytes.Contains(p.OverSubscribe, []byte("EXCLUSIVE")) || p.Maximums.Over.Jobs != nil && *p.Maximums.Over.Jobs == 0
			s.Partitions = append(s.Partitions, Partition{Name: p.Name, Exclusive: exclusive})
		}
	}
	switch {
	case len(f.Nodes) > 0:
		for i, raw := range f.Nodes {
			if err := s.nodeJSON(file, i, raw); err != nil {
				return err
			}
		}
		return nil
	case len(f.Sinfo) > 0:
		for i, raw := range f.Sinfo {
			if err := s.sinfoJSON(file, i, raw); err != nil {
				return err
			}
		}
		return nil
	case len(parts) > 0:
		return nil
	}
	return bad(file, 0, nodesWanted, `the JSON has no list "nodes" or "sinfo"`)
}

// anyList is a list of texts, or one text with commas.
type anyList []string

// UnmarshalJSON takes either.
func (l *anyList) UnmarshalJSON(b []byte) error {
	var all []string
	if json.Unmarshal(b, &all) == nil {
		*l = all
		return nil
	}
	var one string
	_ = json.Unmarshal(b, &one) // anything else tells nothing
	*l = list(one)
	return nil
}

// anyNumber is a number, or an object that has one.
type anyNumber int64

// UnmarshalJSON takes either.
func (n *anyNumber) UnmarshalJSON(b []byte) error {
	var v struct {
		Number  float64 `json:"number"`
		Maximum float64 `json:"maximum"`
		Total   float64 `json:"total"`
	}
	if json.Unmarshal(b, &v.Number) != nil {
		_ = json.Unmarshal(b, &v) // anything else tells nothing
	}
	*n = anyNumber(max(v.Number, v.Maximum, v.Total))
	return nil
}

func (s *Site) nodeJSON(file string, i int, raw json.RawMessage) error {
	var n struct {
		Name       string    `json:"name"`
		Gres       string    `json:"gres"`
		TRES       string    `json:"tres"`
		CPUs       anyNumber `json:"cpus"`
		Effective  anyNumber `json:"effective_cpus"`
		Memory     anyNumber `json:"real_memory"`
		Features   anyList   `json:"features"`
		Partitions anyList   `json:"partitions"`
	}
	if err := json.Unmarshal(raw, &n); err != nil || n.Name == "" {
		return bad(file, 0, nodesWanted, "node %d of the list cannot be read", i+1)
	}
	if n.Effective > 0 {
		n.CPUs = n.Effective
	}
	return s.addNode(file, 0, Node{Name: n.Name, CPUs: int64(n.CPUs), Memory: int64(n.Memory), Features: n.Features, Partitions: n.Partitions}, n.Gres, n.TRES)
}

// sinfoJSON reads a group of nodes as sinfo --json writes it from 23.02 on.
func (s *Site) sinfoJSON(file string, i int, raw json.RawMessage) error {
	var n struct {
		Nodes struct {
			Nodes anyList `json:"nodes"`
		} `json:"nodes"`
		Gres struct {
			Total string `json:"total"`
		} `json:"gres"`
		CPUs struct {
			Maximum anyNumber `json:"maximum"`
			Total   anyNumber `json:"total"`
		} `json:"cpus"`
		Memory struct {
			Maximum anyNumber `json:"maximum"`
		} `json:"memory"`
		Features struct {
			Total anyList `json:"total"`
		} `json:"features"`
		Partition struct {
			Name string `json:"name"`
		} `json:"partition"`
	}
	if err := json.Unmarshal(raw, &n); err != nil || len(n.Nodes.Nodes) == 0 {
		return bad(file, 0, nodesWanted, "group %d of the list cannot be read", i+1)
	}
	for _, item := range n.Nodes.Nodes {
		names, err := slurm.Hosts(item)
		if err != nil {
			return bad(file, 0, nodesWanted, "group %d: %s", i+1, err)
		}
		for _, name := range names {
			x := Node{Name: name, CPUs: int64(n.CPUs.Maximum), Memory: int64(n.Memory.Maximum), Features: n.Features.Total, Partitions: list(n.Partition.Name)}
			if err := s.addNode(file, 0, x, n.Gres.Total, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// AddConfig reads scontrol show config.
func (s *Site) AddConfig(file string, data []byte) error {
	s.Config = map[string]string{}
	for l := range strings.SplitSeq(string(data), "\n") {
		if k, v, ok := strings.Cut(l, "="); ok {
			s.Config[strings.TrimSpace(k)] = strings.TrimSpace(v)
		}
	}
	if s.Config["PriorityType"] == "" && s.Config["SchedulerType"] == "" {
		return bad(file, 0, "the text of scontrol show config", "there is neither PriorityType nor SchedulerType in it")
	}
	return nil
}

// table reads what sacctmgr -P writes: a header, then rows; each gets a row as a function of the
// column.
func table(file string, data []byte, need []string, want string, each func(line int, get func(column string) string) error) error {
	at := map[string]int{}
	n := 0
	for l := range strings.SplitSeq(string(data), "\n") {
		n++
		l = strings.TrimRight(l, "\r")
		if l == "" {
			continue
		}
		fields := strings.Split(l, "|")
		if len(at) == 0 {
			for i, f := range fields {
				at[strings.TrimSpace(f)] = i + 1
			}
			for _, c := range need {
				if at[c] == 0 {
					return bad(file, n, want, "column %s is missing", c)
				}
			}
			continue
		}
		if err := each(n, func(column string) string {
			if i := at[column]; i > 0 && i <= len(fields) {
				return fields[i-1]
			}
			return ""
		}); err != nil {
			return err
		}
	}
	if len(at) == 0 {
		return bad(file, 0, want, "the file is empty")
	}
	return nil
}

// AddQOS reads sacctmgr -P show qos.
func (s *Site) AddQOS(file string, data []byte) error {
	s.QOS = map[string]int64{}
	limits := []string{"GrpTRES", "GrpTRESMins", "GrpTRESRunMins", "GrpJobs", "GrpSubmit", "GrpWall", "MaxTRES", "MaxTRESPerNode", "MaxTRESMins", "MaxWall", "MaxTRESPU",
		"MaxJobsPU", "MaxSubmitPU", "MaxTRESPA", "MaxJobsPA", "MaxSubmitPA", "MinTRES"}
	return table(file, data, []string{"Name", "Priority"}, "the text of sacctmgr -P show qos", func(line int, get func(string) string) error {
		v, err := strconv.ParseInt(get("Priority"), 10, 64)
		if err != nil {
			return bad(file, line, "a whole number", "priority %q of QOS %s", get("Priority"), get("Name"))
		}
		s.QOS[get("Name")] = v
		for _, l := range limits {
			if get(l) != "" {
				s.untold.add("limit "+l+" of QOS is not modelled", 0, get("Name")+": "+get(l))
			}
		}
		if get("Preempt") != "" {
			s.untold.add("preemption by QOS is not modelled", 0, get("Name")+" stops "+get("Preempt"))
		}
		return nil
	})
}

// spec makes nodes of a cluster. A node with GPUs of several types becomes one for each.
func (n *Node) spec(memory bool) []cluster.Node {
	if !memory {
		n.Memory = 0
	}
	base := cluster.Node{Name: n.Name, CPU: n.CPUs * 1000, Memory: n.Memory, Partitions: n.Partitions}
	if len(n.GPUs) == 0 {
		return []cluster.Node{base}
	}
	total := n.gpus()
	var out []cluster.Node
	for _, t := range n.GPUs {
		x := base
		x.GPUType, x.GPUs = t.Name, int32(t.Count)
		if len(n.GPUs) > 1 {
			x.Name = n.Name + "." + typeName(t.Name)
			x.CPU, x.Memory = base.CPU*t.Count/total, base.Memory*t.Count/total
		}
		out = append(out, x)
	}
	return out
}

func typeName(t string) string {
	if t == "" {
		return "gpu"
	}
	return t
}
