package engine

import (
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/internal/pack"
	"github.com/escala-sched/escala/workload"
)

// codeSpec codes what a job declares. Of the parts that most jobs leave out it is coded
// which are there.
func codeSpec(c *pack.Coder, j *workload.Job, now workload.Time) {
	c.Plain(&j.ID)
	c.Text(&j.User)
	c.Text(&j.Team)
	c.From(&j.Submit, now)
	n := &j.Need
	k := &j.Contract
	has := struct{ where, size, cores, types, urgent, times, contract, service, after, speed, labels, perNode bool }{
		j.Partition != "" || n.Within != "" || n.Nodes != "", n.Tasks != 0 || n.Milli != 0 || n.MinTasks != 0 || n.MaxTasks != 0 || n.Span,
		n.CPU != 0 || n.Memory != 0, n.GPUTypes != "", j.Priority != 0 || j.Kind != 0, j.Estimate != 0 || j.Limit != 0 || j.Deadline != 0,
		*k != workload.Contract{}, j.Service != nil, len(j.After) > 0, len(j.Speed) > 0, len(j.Labels) > 0, n.PerNode != 0}
	c.Flags(&has.where, &has.size, &has.cores, &has.types, &has.urgent, &has.times, &has.contract, &has.service, &has.after, &has.speed, &has.labels, &has.perNode)
	c.Int32(&n.GPUs)
	if has.where {
		c.Text(&j.Partition)
		c.Text(&n.Within)
		c.Text(&n.Nodes)
	}
	if has.size {
		c.Int32(&n.Tasks)
		c.Int32(&n.Milli)
		c.Int32(&n.MinTasks)
		c.Int32(&n.MaxTasks)
		c.Bool(&n.Span)
	}
	if has.perNode { // last among the flags: older snapshots end before it
		c.Int32(&n.PerNode)
	}
	if has.cores {
		c.Int(&n.CPU)
		c.Int(&n.Memory)
	}
	if has.types {
		c.Text(&n.GPUTypes)
	}
	if has.urgent {
		c.Int(&j.Priority)
		c.Byte((*uint8)(&j.Kind), uint8(workload.KindInteractive)+1)
	}
	if has.times {
		c.Int(&j.Estimate)
		c.Int(&j.Limit)
		c.From(&j.Deadline, now)
	}
	if has.contract {
		c.Flags(&k.HasMinRuntime, &k.CheckpointOnStop, &k.NotResumable)
		c.Int(&k.MinRuntime)
		c.Int(&k.CheckpointInterval)
		c.Int(&k.RestartCost)
		c.Int(&k.Grace)
	}
	if has.service {
		if c.Reading() {
			j.Service = &workload.Service{}
		}
		codeService(c, j.Service)
	}
	if has.after {
		pack.List(c, &j.After, func(d *workload.Dependency) {
			c.Text(&d.Job)
			c.Byte((*uint8)(&d.When), uint8(workload.AfterNotOK)+1)
		})
	}
	if has.speed {
		pack.List(c, &j.Speed, func(s *workload.Speed) {
			c.Text(&s.GPUType)
			c.Int32(&s.Milli)
		})
	}
	if has.labels {
		codeLabels(c, &j.Labels)
	}
}

func codeLabels(c *pack.Coder, labels *map[string]string) {
	var keys []string
	if !c.Reading() {
		keys = sortedKeys(*labels)
	}
	pack.List(c, &keys, c.Text)
	if c.Reading() {
		*labels = make(map[string]string, len(keys))
	}
	for _, k := range keys {
		v := (*labels)[k]
		c.Text(&v)
		if c.Reading() {
			(*labels)[k] = v
		}
	}
}

func codeService(c *pack.Coder, s *workload.Service) {
	for _, x := range []*workload.Curve{&s.Demand, &s.Min, &s.Max} {
		c.Int(&x.Start)
		c.Int(&x.Step)
		c.Bool(&x.Repeat)
		pack.List(c, &x.Values, c.Int32)
	}
	c.Int32(&s.Swaps)
	c.Int(&s.SwapEvery)
	c.Int(&s.Penalty)
}

// codePlace codes grants by node.
func codePlace(c *pack.Coder, gs *[]cluster.Grant) {
	var last int64
	pack.List(c, gs, func(g *cluster.Grant) {
		node := int64(g.Node)
		c.From(&node, last)
		if last = node; node < -1 || node > 1<<30 {
			c.Fail()
			node = 0
		}
		if c.Reading() {
			g.Node = int32(node)
		}
		whole := *g == cluster.WholeGrant(g.Node, g.GPUs)
		c.Bool(&whole)
		c.Uint(&g.GPUs)
		switch {
		case whole && c.Reading():
			*g = cluster.WholeGrant(g.Node, g.GPUs)
			return
		case whole:
			return
		}
		c.Int32(&g.Milli)
		c.Int32(&g.Count)
		c.Int(&g.CPU)
		c.Int(&g.Memory)
	})
}
