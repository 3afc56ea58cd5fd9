package place

import "github.com/escala-sched/escala/cluster"

// scale is the most cores and GPU capacity that one node of the cluster has:
// amounts become comparable as parts of it. Memory is left out, as in the study.
type scale struct {
	steady
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

// one is the whole of the largest node.
const one = 1 << 20

// cores and gpus are parts of the largest node, in units of 1/one. Cores that
// are not counted never run out and count as none.
func (c *scale) cores(milli int64) int64 {
	if milli > c.cpu {
		return 0
	}
	return milli * one / c.cpu
}

func (c *scale) gpus(milli int64) int64 { return milli * one / c.gpu }

// steps is x/whole in steps of 1/n, rounded up.
func steps(x, whole, n int64) int64 { return (x*n + whole - 1) / whole }

// dotProduct takes the node whose free cores and GPUs have the smallest product
// with what is asked for.
type dotProduct struct{ scale }

func (d dotProduct) score(f *cluster.Free, i int32, s *Shape, k int) (int64, uint64) {
	cpu := d.cores(f.CPU(i)) * d.cores(s.Need.CPU)
	gpu := d.gpus(milliLeft(f, i)) * d.gpus(capacity(s, k))
	return steps(cpu+gpu, 2*one*one, 100), s.usual(f, i, k)
}

// bestFit takes the node on which the least is left over of cores and GPUs.
type bestFit struct{ scale }

func (b bestFit) score(f *cluster.Free, i int32, s *Shape, k int) (int64, uint64) {
	cpu := b.cores(f.CPU(i) - s.Need.CPU)
	gpu := b.gpus(milliLeft(f, i) - capacity(s, k))
	return steps(cpu+gpu, 2*one, 100), s.usual(f, i, k)
}

// capacity is what one task of the shape's k-th cut asks for, in milli-GPU.
func capacity(s *Shape, k int) int64 { return int64(s.cuts[k].GPUs) * int64(s.Need.MilliPerGPU()) }
