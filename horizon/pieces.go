package horizon

// placePieces puts a job that may be interrupted: stretches of at least its minimum,
// each where a block is free, until its work is done or the horizon ends. What it
// loses by going on elsewhere is a few steps of restart.
func (d *decoder) placePieces(i int32, where uint8) int64 {
	in := d.in
	j := &in.jobs[i]
	left, t, first := j.steps, j.release, true
	value := int64(0)
	end := 0
	if j.running != nil {
		// Its protected steps are pinned; it goes on beside them while its block is free.
		kept := min(left, max(0, j.min-j.running.Elapsed))
		value = in.raw(j, 0, kept)
		n := d.runFor(j, j.running.Offset, kept, left-kept)
		if n > 0 {
			value += in.raw(j, kept, n)
			d.take(i, kept, j.running.Offset, n, 0)
		}
		left -= kept + n
		t = kept + n
		end = t
		first = false
	}
	for left > 0 && t <= in.steps-1 {
		lost := j.restart
		if first {
			lost = 0
		}
		need := min(left+lost, max(j.min, lost+1))
		last := in.steps - 1
		if in.p.Reading.Complete {
			last = in.steps - need
		}
		t = d.find(j, t, last, need, where)
		if t < 0 {
			break
		}
		at := d.choice(j, d.found, t, where)
		n := need + d.runFor(j, at, t+need, left+lost-need)
		d.take(i, t, at, n, lost)
		value += in.raw(j, t+lost, n-lost)
		left -= n - lost
		t += n
		end = t
		first = false
	}
	if left > 0 {
		end = in.steps + left
	}
	return j.inTime(value, end)
}

// runFor is for how many steps from step t, at most n, the block at offset is free.
// Past the horizon everything is.
func (d *decoder) runFor(j *job, offset, t, n int) int {
	in := d.in
	for s := t; s < t+n; s++ {
		if s >= in.steps {
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
