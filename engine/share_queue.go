package engine

// enter and leave file a class with waiting jobs under its leaf, in each lane that it
// may run in.
func (s *sharing) enter(e *Engine, ci int32) {
	c := &e.classes[ci]
	if c.seats == nil {
		s.enterAt(c, c.lane)
		return
	}
	for i := range c.seats {
		x := &c.seats[i]
		c.known = x.known
		s.enterAt(c, x.lane)
		x.inLeaf, x.group = c.inLeaf, c.group
	}
	c.known = c.seats[0].known
	c.inStraddlers = int32(len(s.straddlers))
	s.straddlers = append(s.straddlers, ci)
}

func (s *sharing) enterAt(c *class, lane int32) {
	s.lane = &s.lanes[lane]
	list := s.list(c)
	c.inLeaf = int32(len(*list))
	*list = append(*list, c.self)
	if !c.fill {
		s.leaves[c.leaf].nWork++
	}
}

func (s *sharing) leave(e *Engine, ci int32) {
	c := &e.classes[ci]
	if c.seats == nil {
		s.leaveAt(e, c, c.lane)
		return
	}
	for i := range c.seats {
		x := &c.seats[i]
		c.known, c.inLeaf = x.known, x.inLeaf
		s.leaveAt(e, c, x.lane)
	}
	c.known = c.seats[0].known
	last := len(s.straddlers) - 1
	moved := s.straddlers[last]
	s.straddlers[c.inStraddlers] = moved
	e.classes[moved].inStraddlers = c.inStraddlers
	s.straddlers = s.straddlers[:last]
}

func (s *sharing) leaveAt(e *Engine, c *class, lane int32) {
	s.lane = &s.lanes[lane]
	list := s.list(c)
	last := len(*list) - 1
	moved := (*list)[last]
	(*list)[c.inLeaf] = moved
	m := &e.classes[moved]
	m.inLeaf = c.inLeaf
	for i := range m.seats {
		if m.seats[i].lane == lane {
			m.seats[i].inLeaf = c.inLeaf
		}
	}
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
	s.pending.fresh, s.pending.some = append(s.pending.fresh, ci), true
	return true
}
