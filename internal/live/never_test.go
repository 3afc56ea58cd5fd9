package live

import (
	"errors"
	"strings"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// TestWhatCanNeverRunIsNotTaken holds that the answer to a submission says what was asked for and
// what there is, and that nothing of it is written down.
func TestWhatCanNeverRunIsNotTaken(t *testing.T) {
	bubble(t, lasts(0), nil, func(r *rig) {
		before := r.d.Stats().Facts.Load()
		for _, c := range []struct {
			need workload.Need
			want string // "" = it is taken
		}{
			{workload.Need{GPUs: 99}, "it asks for 99 GPUs, and the cluster has 2 nodes of 8 GPUs"},
			{workload.Need{Tasks: 3, GPUs: 8}, "it asks for 3 x 8 GPUs, and the cluster has 2 nodes of 8 GPUs"},
			{workload.Need{GPUs: 8, MinTasks: 3, MaxTasks: 9, Tasks: 3}, "at least 3 x 8 GPUs"},
			{workload.Need{GPUs: 1, Nodes: "n9"}, "it names node n9, which is none"},
			{workload.Need{GPUs: 2, Within: "rack", Tasks: 2}, "it has to lie in one rack, and the cluster has no level of topology"},
			{workload.Need{GPUs: 16}, ""},
			{workload.Need{GPUs: 1, GPUTypes: "H100"}, ""}, // nodes that declare no type serve any
		} {
			_, err := r.d.Submit(r.t.Context(), &Submission{Job: workload.Job{User: "ana", Team: "ana", Need: c.need}, By: "ana"})
			var never *Never
			switch {
			case c.want == "" && err != nil:
				t.Errorf("%s: %v", c.need.String(), err)
			case c.want != "" && (!errors.As(err, &never) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%s: %v, want %q", c.need.String(), err, c.want)
			}
			if c.want != "" && r.d.Stats().Facts.Load() != before {
				t.Errorf("%s: something was written down", c.need.String())
			}
			before = r.d.Stats().Facts.Load()
		}
	})
}

func TestNeverText(t *testing.T) {
	c := &cluster.Spec{Nodes: []cluster.Node{{Name: "a1", GPUs: 8, GPUType: "A100", CPU: 96_000, Memory: 1 << 20, Partitions: []string{"vision"}},
		{Name: "h1", GPUs: 4, GPUType: "H100", Partitions: []string{"speech"}}, {Name: "h2", GPUs: 4, GPUType: "H100"}, {Name: "login", CPU: 8000}}, Levels: []string{"rack", "block"}}
	for _, x := range []struct {
		job  workload.Job
		code fact.Code
		want string
	}{
		{workload.Job{Need: workload.Need{GPUs: 1, GPUTypes: "H200|B200"}}, fact.NoSuchType, "it asks for GPUs of type H200 or B200, and the cluster has 8 of type A100, 8 of type H100"},
		{workload.Job{Need: workload.Need{GPUs: 1}, Partition: "visio"}, fact.NoSuchPartition, "it asks for partition visio, and there are speech, vision; did you mean vision?"},
		{workload.Job{Need: workload.Need{GPUs: 2, Within: "blok"}}, fact.NoSuchLevel, "it has to lie in one blok, and there are rack, block; did you mean block?"},
		{workload.Job{Need: workload.Need{GPUs: 20}}, fact.NeverFits, "it asks for 20 GPUs, and the cluster has 1 node of 8 GPUs A100; 2 nodes of 4 GPUs H100"},
		{workload.Job{Need: workload.Need{GPUs: 20, GPUTypes: "H100"}}, fact.NeverFits, "it asks for 20 GPUs H100, and what may serve it are 2 nodes of 4 GPUs H100"},
		{workload.Job{Need: workload.Need{GPUs: 1, CPU: 200_000}}, fact.NeverFits, "1 node of 8 GPUs A100, 96 cores; 2 nodes"},
		{workload.Job{Need: workload.Need{GPUs: 1, Nodes: "a2"}}, fact.NeverFits, "it names node a2, which is none of the cluster's; did you mean a1?"},
	} {
		if got := neverText(c, &x.job, fact.Reason{Code: x.code, For: -1}, nil); !strings.Contains(got, x.want) {
			t.Errorf("%s: %q, want %q", x.code, got, x.want)
		}
	}
}
