package slurm

import (
	"maps"
	"slices"
	"strings"

	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/workload"
)

// Contracts are what a site says of jobs that do not say it themselves: of all, by partition, by QOS. nil says nothing.
type Contracts struct {
	defaults        Terms
	partitions, qos map[string]Terms
	root            *yamlx.Node
}

// contractsFile is the shape of the file. Its words are those of comments, and some that only a site may say.
type contractsFile struct {
	Defaults   termsFile            `yaml:"defaults"`
	Partitions map[string]termsFile `yaml:"partitions"`
	QOS        map[string]termsFile `yaml:"qos"`
}

type termsFile struct {
	Class              string          `yaml:"class"`
	MinRuntime         *yamlx.Duration `yaml:"min-runtime"`
	CheckpointInterval *yamlx.Duration `yaml:"checkpoint-interval"`
	CheckpointOnStop   *bool           `yaml:"checkpoint-on-stop"`
	RestartCost        *yamlx.Duration `yaml:"restart-cost"`
	Grace              *yamlx.Duration `yaml:"grace"`
	Resumable          *bool           `yaml:"resumable"`
	Estimate           *yamlx.Duration `yaml:"estimate"`
	Team               string          `yaml:"team"`
	Signal             string          `yaml:"signal"`
	Kind               string          `yaml:"kind"`
	Priority           *int64          `yaml:"priority"`
}

// classes are minimum runtimes by name: work that is free and gives way at once, and jobs that are over soon.
var classes = map[string]workload.Span{"unallocated": 0, "debug": 15 * workload.Minute}

// kinds are the kinds of work that a partition or QOS may be for.
var kinds = []string{"training", "batch-inference", "quantization", "interactive"}

// ParseContracts reads the file of a site.
func ParseContracts(file string, data []byte) (*Contracts, error) {
	var f contractsFile
	root, err := yamlx.Decode(file, data, &f)
	if err != nil {
		return nil, err
	}
	c := &Contracts{root: root}
	if c.defaults, err = f.Defaults.terms(root.At("defaults")); err != nil {
		return nil, err
	}
	if c.partitions, err = termsBy(f.Partitions, root.At("partitions")); err != nil {
		return nil, err
	}
	c.qos, err = termsBy(f.QOS, root.At("qos"))
	return c, err
}

func termsBy(of map[string]termsFile, at *yamlx.Node) (map[string]Terms, error) {
	out := map[string]Terms{}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		f := of[name]
		t, err := f.terms(at.At(name))
		if err != nil {
			return nil, err
		}
		out[name] = t
	}
	return out, nil
}

func (f *termsFile) terms(at *yamlx.Node) (t Terms, err error) {
	c := &t.contract
	if at.Get("class") != nil {
		words := slices.Sorted(maps.Keys(classes))
		n, err := at.At("class").OneOf(words)
		if err != nil {
			return t, err
		}
		if f.MinRuntime != nil {
			return t, at.At("min-runtime").Errorf("drop one of them", "class: %s is a minimum runtime of %s already", f.Class, yamlx.Duration(classes[words[n]]))
		}
		t.said |= saidMinRuntime
		c.HasMinRuntime, c.MinRuntime = true, classes[words[n]]
	}
	if f.MinRuntime != nil {
		c.HasMinRuntime = true
	}
	for _, x := range []struct {
		given *yamlx.Duration
		what  terms
		to    *workload.Span
	}{
		{f.MinRuntime, saidMinRuntime, &c.MinRuntime}, {f.CheckpointInterval, saidCheckpoint, &c.CheckpointInterval}, {f.RestartCost, saidRestartCost, &c.RestartCost},
		{f.Grace, saidGrace, &c.Grace}, {f.Estimate, saidEstimate, &t.estimate},
	} {
		if x.given != nil {
			t.said |= x.what
			*x.to = workload.Span(*x.given)
		}
	}
	if f.CheckpointOnStop != nil {
		t.said |= saidCheckpoint
		c.CheckpointOnStop = *f.CheckpointOnStop
	}
	if f.Resumable != nil {
		t.said |= saidResumable
		c.NotResumable = !*f.Resumable
	}
	if f.Priority != nil {
		t.said |= saidPriority
		t.priority = *f.Priority
	}
	if at.Get("team") != nil {
		if t.team = f.Team; strings.TrimSpace(f.Team) == "" {
			return t, at.At("team").Errorf("want the name of an account of the budgets", "a team without a name")
		}
		t.said |= saidTeam
	}
	if at.Get("kind") != nil {
		if _, err := at.At("kind").OneOf(kinds); err != nil {
			return t, err
		}
		t.said |= saidKind
		t.kind, _ = workload.ParseKind(f.Kind)
	}
	if at.Get("signal") != nil {
		t.said |= saidSignal
		if t.signal, err = ParseSignal(f.Signal); err != nil {
			return t, at.At("signal").Errorf("", "%s", err)
		}
	}
	return t.graceOfSignal(), nil
}

// Of adds to what a job says itself what the site says of it: its QOS goes before its partition, since people choose it for
// the job, and that before what holds for all. Of several partitions that a job may run in the first counts of which the
// site says something.
func (c *Contracts) Of(own Terms, qos string, partitions []string) Terms {
	if c == nil {
		return own
	}
	t := own.Or(c.qos[qos])
	for _, p := range partitions {
		if there, ok := c.partitions[p]; ok {
			t = t.Or(there)
			break
		}
	}
	return t.Or(c.defaults)
}

// Check holds the names of the file to those that there are; nil = these are not known.
func (c *Contracts) Check(partitions, qos []string) error {
	if c == nil {
		return nil
	}
	for _, x := range []struct {
		key, what string
		there     []string
	}{{"partitions", "partition", partitions}, {"qos", "QOS", qos}} {
		at := c.root.Get(x.key)
		if at == nil || x.there == nil {
			continue
		}
		for _, k := range at.Keys {
			if !slices.Contains(x.there, k.Name) {
				return at.At(k.Name).Errorf(yamlx.Choice(k.Name, x.there), "Slurm has no %s %q", x.what, k.Name)
			}
		}
	}
	return nil
}
