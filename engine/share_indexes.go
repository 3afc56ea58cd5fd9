package engine

import "github.com/escala-sched/escala/cluster"

// looked is what would be free of a pool if some work went: all says it of all nodes,
// work of those that are not kept for debug jobs.
type looked struct{ all, work []*cluster.Free }

// of returns the index that a class looks at.
func (l *looked) of(pool int32, debug bool) *cluster.Free {
	if debug {
		return l.all[pool]
	}
	return l.work[pool]
}

func (l *looked) take(e *Engine, pool int32, g []cluster.Grant, milli int64) {
	e.takeFrom(l.all[pool], g, milli)
	if l.work[pool] != l.all[pool] {
		e.takeFrom(l.work[pool], g, milli)
	}
}

func (l *looked) give(e *Engine, pool int32, g []cluster.Grant, milli int64) {
	e.giveTo(l.all[pool], g, milli)
	if l.work[pool] != l.all[pool] {
		e.giveTo(l.work[pool], g, milli)
	}
}

func (l *looked) shut(s *sharing, pool, node int32, shut bool) {
	l.all[pool].SetShut(node, shut)
	l.work[pool].SetShut(node, shut || s.debug[node])
}
