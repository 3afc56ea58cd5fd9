package engine

// enter and leave file a class with waiting jobs under its leaf.
func (s *sharing) enter(e *Engine, ci int32) {
	c := &e.classes[ci]
	list := s.list(c)
	c.inLeaf = int32(len(*list))
	*list = append(*list, ci)
	if !c.fill {
		s.leaves[c.leaf].nWork++
	}
}

func (s *sharing) leave(e *Engine, ci int32) {
	c := &e.classes[ci]
	list := s.list(c)
	last := len(*list) - 1
	moved := (*list)[last]
	(*list)[c.inLeaf] = moved
	e.classes[moved].inLeaf = c.inLeaf
	*list = (*list)[:last]
	if !c.fill {
		s.leaves[c.leaf].nWork--
	}
}

func (s *sharing) list(c *class) *[]int32 {
	if c.fill {
		return &s.leaves[c.leaf].fill
	}
	l := &s.leaves[c.leaf]
	for i := range l.work {
		if l.work[i].known == c.known {
			c.group = int32(i)
			return &l.work[i].classes
		}
	}
	l.work = append(l.work, group{known: c.known})
	c.group = int32(len(l.work) - 1)
	return &l.work[c.group].classes
}

// queued takes in that a job joined its class; true if that can change anything.
func (s *sharing) queued(e *Engine, ci int32) bool {
	c := &e.classes[ci]
	if !c.fill {
		s.waitingWork++
	}
	if c.n > 1 {
		return false
	}
	s.pending.fresh = append(s.pending.fresh, ci)
	return true
}
