package place

import (
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/policy"
)

// scorer is a placement rule that gives every node a number; see the files score_*.go.
type scorer interface {
	// score says how bad it is to put one task of the shape on node i (smaller is
	// better), and which GPUs it would take.
	score(f *cluster.Free, i int32, s *Shape) (score int64, gpus uint64)
}

// scoreMemo remembers scores by node.
type scoreMemo struct{}

func newScorer(*cluster.Layout, policy.Placement) scorer { return nil }

func (p *Placer) scorable(s *Shape) bool { return false }

func (p *Placer) placeByScore(frees []*cluster.Free, s *Shape, buf []cluster.Grant) ([]cluster.Grant, int32, bool) {
	return buf, -1, false
}
