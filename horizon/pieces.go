package horizon

// placePieces puts a job that may be interrupted: stretches of at least its minimum,
// each where a block is free, until its work is done or the horizon ends. What it
// loses by going on elsewhere is a few steps of restart.
func (d *decoder) placePieces(i int32, g *genome) int64 {
	in := d.in
	j := &in.jobs[i]
	left, t, lost := j.steps, j.release, 0
	block, end := -1, 0 // of its last stretch
	value := int64(0)
	if j.running != nil {
		t = d.goOn(i)
		left, lost = left-t, j.restart
		block, end = j.running.Offset, t
		value = in.raw(j, 0, t)
	}
	for left > 0 {
		need := min(left+lost, max(j.min, lost+1))
		last := in.steps - 1 - lost // what does no work inside the horizon is not begun
		if in.p.Reading.Complete {
			last = min(last, in.steps-need)
		}
		start, at, _ := d.choose(i, g, wanted{from: t, last: last, n: need, lost: lost}, 0)
		if start < 0 {
			break
		}
		if start == end && at == block { // real-time work has made way: it is not stopped at all
			need, lost = min(need, left), 0
		}
		t = start
		n := need + d.runFor(j, at, t+need, left+lost-need)
		d.put(i, t, at, n, lost)
		value += in.raw(j, t+lost, n-lost)
		left -= n - lost
		t += n
		block, end, lost = at, t, j.restart
	}
	if left > 0 {
		end = max(end, in.steps) + left
	}
	return j.inTime(value, end)
}

// goOn lets a running job go on where it is beyond the steps that are pinned, while its block
// is free, and returns for how many steps it runs there in all.
func (d *decoder) goOn(i int32) int {
	j := &d.in.jobs[i]
	n := d.runFor(j, j.running.Offset, j.kept, j.steps-j.kept)
	if n > 0 {
		d.put(i, j.kept, j.running.Offset, n, 0)
	}
	return j.kept + n
}

// put takes a stretch of job i, or makes its last one, which is the last of all or pinned, longer
// where that goes on.
func (d *decoder) put(i int32, t, offset, n, lost int) {
	j := &d.in.jobs[i]
	for _, k := range [...]int{len(d.placed) - 1, j.pin} {
		if lost > 0 || len(d.placed) == 0 {
			break
		}
		if p := &d.placed[k]; p.job == i && int(p.start+p.steps) == t && int(p.offset) == offset {
			p.steps += int32(n)
			d.occupy(j, t, offset, n)
			return
		}
	}
	d.take(i, t, offset, n, lost)
}

// runFor is for how many steps from step t, at most n, the block at offset is free. Past the
// horizon everything is, where jobs may run past it.
func (d *decoder) runFor(j *job, offset, t, n int) int {
	in := d.in
	for s := t; s < t+n; s++ {
		if s >= in.steps {
			if in.p.Reading.Complete {
				return s - t
			}
			return n
		}
		if !in.row(d.free, s).hasRange(offset, j.size) {
			return s - t
		}
	}
	return n
}

// hasRange tells whether slots [first, first+n) are all in the set.
func (s Set) hasRange(first, n int) bool {
	for n > 0 {
		w, b := first>>6, first&63
		m := min(n, 64-b)
		if s[w]>>b&ones(m) != ones(m) {
			return false
		}
		first, n = first+m, n-m
	}
	return true
}
