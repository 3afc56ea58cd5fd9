package server

import "github.com/escala-sched/escala/internal/api"

// activity is the last measured activity of GPUs by node.
func (s *Server) activity() map[int32][]api.GPU {
	if s.cfg.Activity == nil {
		return nil
	}
	out := map[int32][]api.GPU{}
	for _, g := range s.cfg.Activity().GPUs {
		x := api.GPU{Index: g.GPU, MemoryUsedMiB: g.MemoryUsed, MemoryTotalMiB: g.MemoryTotal}
		if g.Busy >= 0 {
			p := float64(g.Busy) / 10
			x.Percent = &p
		}
		out[g.Node] = append(out[g.Node], x)
	}
	return out
}
