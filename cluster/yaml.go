package cluster

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/escala-sched/escala/internal/yamlx"
)

// LoadYAML reads and checks a cluster file.
func LoadYAML(path string) (*Spec, error) {
	return yamlx.Load("cluster", path, ParseYAML)
}

// ParseYAML checks the bytes of a cluster file. file is its name, for errors
// and as the default of the cluster's name. An error says file, line, column
// and what would be right.
func ParseYAML(file string, data []byte) (*Spec, error) {
	var f yamlFile
	root, err := yamlx.Decode(file, data, &f)
	if err != nil {
		return nil, err
	}
	s := &Spec{Name: f.Name, Levels: f.Levels, Hash: yamlx.Hash(data)}
	if s.Name == "" {
		s.Name = yamlx.BaseName(file)
	}
	for _, step := range []func(*Spec, *yamlFile, *yamlx.Node) error{takeLevels, takeCapacity, takeTypes, takeCurrency, takePUE, takeOutages} {
		if err := step(s, &f, root); err != nil {
			return nil, err
		}
	}
	if err := s.Check(); err != nil {
		return nil, root.Errorf("", "%s", err.Error())
	}
	return s, nil
}

// yamlFile is the shape of a cluster file. Pointers tell absent from given.
type yamlFile struct {
	Name     string              `yaml:"name"`
	Levels   []string            `yaml:"levels"`
	Nodes    []yamlGroup         `yaml:"nodes"`
	Pool     *int32              `yaml:"pool"`
	GPUTypes map[string]yamlType `yaml:"gpuTypes"`
	Currency *string             `yaml:"currency"`
	PUE      *float64            `yaml:"pue"`
	Outages  []yamlOutage        `yaml:"outages"`
}

// yamlGroup is a run of equal nodes.
type yamlGroup struct {
	Count     *int32            `yaml:"count"`
	Name      string            `yaml:"name"`
	First     *int32            `yaml:"first"`
	GPUs      int32             `yaml:"gpus"`
	GPU       string            `yaml:"gpu"`
	CPUs      yamlx.Milli       `yaml:"cpus"`
	Memory    yamlx.Size        `yaml:"memory"`
	Partition oneOrMore         `yaml:"partition"`
	Places    map[string]string `yaml:"places"`
	Every     map[string]int32  `yaml:"every"`
}

type yamlType struct {
	PricePerHour float64 `yaml:"pricePerHour"`
	IdleWatts    float64 `yaml:"idleWatts"`
	ActiveWatts  float64 `yaml:"activeWatts"`
}

type yamlOutage struct {
	At      *yamlx.Duration `yaml:"at"`
	Node    string          `yaml:"node"`
	Change  changeWord      `yaml:"change"`
	Planned bool            `yaml:"planned"`
}

// changeWord is a change of health; the empty text means that it is missing.
type changeWord string

var changeNames = []string{"down", "up", "drain", "resume"}

// UnmarshalNode reads one of the known words.
func (c *changeWord) UnmarshalNode(n *yamlx.Node) error {
	i, err := n.OneOf(changeNames)
	if err == nil {
		*c = changeWord(changeNames[i])
	}
	return err
}

// oneOrMore is a text or a list of texts.
type oneOrMore []string

// UnmarshalNode reads either form.
func (o *oneOrMore) UnmarshalNode(n *yamlx.Node) error {
	if n.Kind == yamlx.List {
		return n.Decode((*[]string)(o))
	}
	s, err := n.AsText()
	*o = oneOrMore{s}
	return err
}

func takeLevels(s *Spec, _ *yamlFile, root *yamlx.Node) error {
	for i, l := range s.Levels {
		switch {
		case l == "":
			return root.At("levels", i).Errorf("want a word such as rack", "a level without a name")
		case slices.Index(s.Levels, l) < i:
			return root.At("levels", i).Errorf("want it once", "level %q appears twice", l)
		}
	}
	return nil
}

func takeCapacity(s *Spec, f *yamlFile, root *yamlx.Node) error {
	switch {
	case f.Pool == nil && f.Nodes == nil:
		return root.Errorf("give nodes (a list of groups) or pool (a count of GPUs)", "the cluster has neither nodes nor a pool")
	case f.Pool != nil && f.Nodes != nil:
		return root.At("pool").Errorf("drop one of them", "the cluster has both nodes and a pool")
	case f.Pool == nil:
		return takeNodes(s, f, root.At("nodes"))
	case *f.Pool < 1:
		return root.At("pool").Errorf("want at least 1", "a pool of %d GPUs", *f.Pool)
	}
	for _, key := range []string{"levels", "gpuTypes", "currency", "outages"} {
		if n := root.Get(key); n != nil {
			return n.Errorf("drop it, or describe nodes", "a pool has no nodes that %s could be about", key)
		}
	}
	s.Count = *f.Pool
	return nil
}

func takeTypes(s *Spec, f *yamlFile, root *yamlx.Node) error {
	if f.GPUTypes == nil {
		return nil
	}
	var used []string
	for i := range s.Nodes {
		if t := s.Nodes[i].GPUType; t != "" && !slices.Contains(used, t) {
			used = append(used, t)
		}
	}
	at := root.At("gpuTypes")
	for i, key := range at.Keys {
		t := f.GPUTypes[key.Name]
		if !slices.Contains(used, key.Name) {
			if len(used) == 0 {
				return at.Values[i].Errorf("give the nodes a gpu", "no node has GPUs of type %q", key.Name)
			}
			return at.Values[i].Errorf(yamlx.Choice(key.Name, used), "no node has GPUs of type %q", key.Name)
		}
		for _, v := range []struct {
			key   string
			value float64
		}{{"pricePerHour", t.PricePerHour}, {"idleWatts", t.IdleWatts}, {"activeWatts", t.ActiveWatts}} {
			if v.value < 0 {
				return at.Values[i].At(v.key).Errorf("want 0 or more", "%s of %s is %g", v.key, key.Name, v.value)
			}
		}
		s.Types = append(s.Types, Type{Name: key.Name, PricePerHour: t.PricePerHour, IdleWatts: t.IdleWatts, ActiveWatts: t.ActiveWatts})
	}
	return nil
}

// maxCurrency is the longest name of a currency: it stands behind every amount.
const maxCurrency = 12

func takeCurrency(s *Spec, f *yamlFile, root *yamlx.Node) error {
	if f.Currency == nil {
		return nil
	}
	s.Currency = *f.Currency
	wrong := strings.ContainsFunc(s.Currency, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.Is(unicode.Sc, r) })
	if n := utf8.RuneCountInString(s.Currency); n == 0 || n > maxCurrency || wrong {
		return root.At("currency").Errorf(fmt.Sprintf("want a word of 1 to %d letters, such as USD", maxCurrency), "currency is %q", s.Currency)
	}
	return nil
}

func takePUE(s *Spec, f *yamlFile, root *yamlx.Node) error {
	if f.PUE == nil {
		return nil
	}
	if s.PUE = *f.PUE; s.PUE < 1 {
		return root.At("pue").Errorf("want 1 or more: all energy of the site divided by that of its machines", "pue is %g", s.PUE)
	}
	return nil
}

// takeOutages keeps them in the order of time, that of the file among equals.
func takeOutages(s *Spec, f *yamlFile, root *yamlx.Node) error {
	if len(f.Outages) == 0 {
		return nil
	}
	known := make(map[string]bool, len(s.Nodes))
	for i := range s.Nodes {
		known[s.Nodes[i].Name] = true
	}
	for i, o := range f.Outages {
		at := root.At("outages", i)
		switch {
		case o.At == nil:
			return at.Errorf("give the time since the cluster's clock began, such as at: 10h", "the outage has no time")
		case o.Node == "":
			return at.Errorf("give the name of a node", "the outage has no node")
		case !known[o.Node]:
			return at.At("node").Errorf(nodeHint(o.Node, s.Nodes), "no node is called %q", o.Node)
		case o.Change == "":
			return at.Errorf("give change: down, up, drain or resume", "the outage has no change")
		}
		s.Outages = append(s.Outages, Outage{At: int64(*o.At), Node: o.Node, Change: string(o.Change), Planned: o.Planned})
	}
	slices.SortStableFunc(s.Outages, func(a, b Outage) int { return int(min(max(a.At-b.At, -1), 1)) })
	return nil
}

func nodeHint(name string, nodes []Node) string {
	const few = 10_000 // above it the search for a likeness costs more than it is worth
	names := make([]string, 0, min(len(nodes), few))
	for i := range nodes[:min(len(nodes), few)] {
		names = append(names, nodes[i].Name)
	}
	if near := yamlx.Nearest(name, names); near != "" {
		return "did you mean " + near + "?"
	}
	return "names run from " + nodes[0].Name + " to " + nodes[len(nodes)-1].Name
}
