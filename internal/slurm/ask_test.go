package slurm

import (
	"errors"
	"testing"
)

func TestGPUsAskedFor(t *testing.T) {
	for _, c := range []struct {
		name string
		job  Job
		want Ask
	}{
		{"none", Job{NumNodes: 1, PerNode: "gres:tmp:844G"}, Ask{}},
		{"--gres=gpu:4", Job{NumNodes: 1, PerNode: "gres:gpu:4"}, Ask{4, 4, ""}},
		{"--gres=gpu:v100:4 -N2", Job{NumNodes: 2, PerNode: "gres:gpu:v100:4"}, Ask{8, 4, "v100"}},
		{"--gpus=8 -N2", Job{NumNodes: 2, PerJob: "gres:gpu:8"}, Ask{8, 0, ""}},
		{"--gpus-per-node=8 -N2", Job{NumNodes: 2, PerNode: "gres/gpu:8"}, Ask{16, 8, ""}},
		{"--gpus=8 --gpus-per-node=4 -N2", Job{NumNodes: 2, PerJob: "gres/gpu=8", PerNode: "gres/gpu=4"}, Ask{8, 4, ""}},
		{"--gpus-per-task=1 -n6 -N2", Job{NumNodes: 2, NumTasks: 6, PerTask: "gres:gpu:a100:1"}, Ask{6, 0, "a100"}},
		{"--gres=gpu:tesla:2,gpu:kepler:2", Job{NumNodes: 1, PerNode: "gpu:tesla:2,gpu:kepler:2"}, Ask{4, 4, "tesla|kepler"}},
		{"-N 2-4", Job{NumNodes: 2, PerNode: "gpu:2", Detail: Detail{MaxNodes: 4}}, Ask{4, 2, ""}},
		{"not told", Job{NumNodes: 1, PerNode: "N/A", PerJob: "gres:gpu:1"}, Ask{1, 1, ""}},
	} {
		if got, err := c.job.GPUs(); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
	if _, err := (&Job{PerSocket: "gres:gpu:2"}).GPUs(); !errors.Is(err, ErrSockets) {
		t.Error(err)
	}
	if _, err := (&Job{PerNode: "gpu:v100:3(IDX:0,4-5"}).GPUs(); err == nil {
		t.Error("a field that was cut is read")
	}
}
