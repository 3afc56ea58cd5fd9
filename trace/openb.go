package trace

import (
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/workload"
)

// openbFormat is the pod list of Alibaba's cluster-trace-gpu-v2023 (Weng et al.,
// ATC'23). One row is one pod, which lies on one node.
var openbFormat = Format{
	Name:  "openb",
	Title: "openb (Alibaba cluster-trace-gpu-v2023, ATC'23): pod list",
	Detect: func(head []byte, name string) bool {
		return headerHas(head, openbColumns...)
	},
	Read: readOpenb,
}

var (
	openbColumns = []string{"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec",
		"creation_time", "deletion_time", "scheduled_time"}
	openbNodeColumns = []string{"sn", "cpu_milli", "memory_mib", "gpu", "model"}
)

func readOpenb(in *Input) (*workload.Workload, error) {
	t, err := openTable(in, openbColumns...)
	if err != nil {
		return nil, err
	}
	b := newBuilder(in)
	b.w.Licence = "research or study purpose only, by the publisher's README (Weng et al., USENIX ATC 2023)"
	err = t.each(b, func(line int) { b.addPod(t, line) })
	if err != nil {
		return nil, err
	}
	b.note("The deletion of a pod in phase Running is the end of observation or later, not a real end; its outcome is unknown.")
	if in.Options.KeepUnscheduled {
		b.note("Pods that were never scheduled are kept, with deletion - creation as their duration.")
	}
	return b.finish()
}

func (b *builder) addPod(t *table, line int) {
	created, ok := parseMilliLoose(t.get("creation_time"))
	deleted, okEnd := parseMilliLoose(t.get("deletion_time"))
	cpu, okCPU := parseWhole(t.get("cpu_milli"))
	memory, okMemory := parseWhole(t.get("memory_mib"))
	gpus, okGPUs := parseCount(t.get("num_gpu"))
	milli, okMilli := parseCount(t.get("gpu_milli"))
	begun := created
	a := actual(0, openbOutcome(t.get("pod_phase")))
	if s := t.get("scheduled_time"); s != "" {
		at, okAt := parseMilliLoose(s)
		if !okAt {
			b.drop(line, "scheduled_time not readable")
			return
		}
		begun = at
		a.Start, a.End = at, deleted
	} else if !b.in.Options.KeepUnscheduled {
		b.drop(line, "never scheduled (pending)")
		return
	}
	switch {
	case !ok || created < 0:
		b.drop(line, causeSubmit)
		return
	case !okEnd:
		b.drop(line, causeDuration)
		return
	case !okCPU || !okMemory || cpu < 0 || memory < 0:
		b.drop(line, "cpu or memory not readable")
		return
	case !okGPUs || !okMilli:
		b.drop(line, causeGPUs)
		return
	}
	a.Duration = deleted - begun
	need := workload.Need{Tasks: 1, GPUs: gpus, CPU: cpu, Memory: memory, GPUTypes: b.text(t.get("gpu_spec"))}
	if gpus > 0 && milli < 1000 {
		need.Milli = milli
	}
	if need.Milli == 0 && gpus > 0 && milli != 1000 {
		b.drop(line, causeImpossible)
		return
	}
	b.add(line, workload.Job{
		ID: t.keep("name"), Submit: created, Need: need, Labels: b.label("qos", b.text(t.get("qos"))),
	}, a)
}

func openbOutcome(phase string) workload.Outcome {
	switch phase {
	case "Succeeded":
		return workload.OutcomeCompleted
	case "Failed":
		return workload.OutcomeFailed
	}
	return workload.OutcomeUnknown
}

// IsOpenbNodes tells whether a file (gzip or plain) is the node list that goes with the pods.
func IsOpenbNodes(data []byte) bool {
	plain, err := Unpack("", data)
	return err == nil && headerHas(plain[:min(len(plain), headSize)], openbNodeColumns...)
}

// ReadOpenbNodes reads the node list (gzip or plain) as a cluster; name stands in messages. A node that is wrong is an error: a
// cluster with a node less is another experiment.
func ReadOpenbNodes(name string, data []byte) (*cluster.Spec, error) {
	plain, err := Unpack(name, data)
	if err != nil {
		return nil, err
	}
	in := &Input{Name: name, Data: plain}
	t, err := openTable(in, openbNodeColumns...)
	if err != nil {
		return nil, err
	}
	spec := &cluster.Spec{Name: in.stem(), Hash: hashOf(data)}
	b := newBuilder(in)
	var wrong error
	err = t.each(b, func(line int) {
		cpu, okCPU := parseWhole(t.get("cpu_milli"))
		memory, okMemory := parseWhole(t.get("memory_mib"))
		gpus, okGPUs := parseCount(t.get("gpu"))
		if wrong == nil && (!okCPU || !okMemory || !okGPUs) {
			wrong = in.fail(line, "cpu_milli, memory_mib and gpu must be whole numbers", "for example openb-node-0000,64000,262144,2,P100")
		}
		spec.Nodes = append(spec.Nodes, cluster.Node{
			Name: t.keep("sn"), GPUType: b.text(t.get("model")), GPUs: gpus, CPU: cpu, Memory: memory,
		})
	})
	switch {
	case err != nil:
		return nil, err
	case wrong != nil:
		return nil, wrong
	case len(b.w.Dropped) > 0:
		return nil, &Error{File: b.w.Dropped[0].First, Msg: b.w.Dropped[0].Cause, Want: "as many fields as the header"}
	case len(spec.Nodes) == 0:
		return nil, in.fail(0, "no nodes in the file", "at least one row of data")
	}
	if err := spec.Check(); err != nil {
		return nil, in.fail(0, err.Error(), "")
	}
	return spec, nil
}
