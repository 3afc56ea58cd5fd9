package place

import (
	"github.com/escala-sched/escala/cluster"
)

// scale is the most of each resource that one node of the cluster has.
type scale struct {
	cpu, gpu int64
}

func newScale(l *cluster.Layout) scale {
	c := scale{cpu: 1, gpu: 1}
	for i := range l.Spec.Nodes {
		n := &l.Spec.Nodes[i]
		c.cpu, c.gpu = max(c.cpu, n.CPU), max(c.gpu, int64(n.GPUs)*1000)
	}
	return c
}

// one is the whole of a resource; cores that are not counted are none of it.
const one = 1 << 20

func (c *scale) cores(n int64) int64 {
	if n > c.cpu {
		return 0
	}
	return n * one / c.cpu
}

func (c *scale) gpus(milli int64) int64 { return milli * one / c.gpu }

// percent is a hundredth of the best score, the grain of the study's scores: it
// makes near-equal nodes equal, and the first of them takes the task.
const percent = one / 100

var Grain = int64(1)

// dotProduct takes the node whose free cores and GPUs, as parts of the largest
// node's, have the smallest product with what is asked for.
type dotProduct scale

func (d dotProduct) score(f *cluster.Free, i int32, s *Shape, k int) (int64, uint64) {
	c := scale(d)
	cpu := c.cores(f.CPU(i)) * c.cores(s.Need.CPU)
	gpu := c.gpus(milliLeft(f, i)) * c.gpus(asked(s, k))
	return ((cpu+gpu)/2/one)/Grain, s.usual(f, i, k)
}

// bestFit takes the node on which least is left over of cores and GPUs, as parts
// of the largest node's.
type bestFit scale

func (b bestFit) score(f *cluster.Free, i int32, s *Shape, k int) (int64, uint64) {
	c := scale(b)
	cpu := c.cores(f.CPU(i) - s.Need.CPU)
	gpu := c.gpus(milliLeft(f, i) - asked(s, k))
	return ((cpu+gpu)/2)/Grain, s.usual(f, i, k)
}

// asked is the GPU capacity of one task, in milli-GPU.
func asked(s *Shape, k int) int64 { return int64(s.cuts[k].GPUs) * int64(s.Need.MilliPerGPU()) }
