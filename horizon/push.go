package horizon

// A push that fails costs a layout. A decode may afford so many, and fewer where a layout
// costs more than all else in the decode.
const (
	triesPerJob    = 6
	triesPerDecode = 48
	leastTries     = 6
	cheapWords     = 64 // words of a row x steps up to which a layout is cheap
)

// tries is how many layouts a decode may make.
func (in *instance) tries() int {
	return max(leastTries, min(triesPerDecode, triesPerDecode*cheapWords/(in.words*in.steps)))
}

// push finds a block for a stretch that begins before limit, the first step in which real-time
// work leaves it one (after w.last if none), where real-time work would stand, and lays that
// out anew around it; false where nothing was gained.
func (d *decoder) push(i int32, g *genome, w wanted, limit int) (start, offset int, ok bool) {
	in := d.in
	j := &in.jobs[i]
	tries := triesPerJob
	sh := &in.shapes[j.shape]
	for t := w.from; t < limit && t <= w.last; {
		end := min(t+w.n, in.steps)
		for k := range d.window {
			d.window[k] = ^uint64(0)
		}
		skip := -1
		for s := end - 1; s >= t && skip < 0; s-- {
			open := in.row(d.open, s)
			for k := range d.window {
				d.window[k] &= open[k]
			}
			need := in.want[s]
			if g.push[i] == shed {
				need = in.floor[s]
			}
			if open.Len()-j.size < need || !sh.starts(d.found, d.window) || !j.keepMay(d.found) {
				skip = s
			}
		}
		if skip >= 0 {
			t = skip + 1
			continue
		}
		worth := in.worthOf(j, t, w)
		if limit <= w.last {
			worth -= in.worthOf(j, limit, w)
		}
		cand := d.tried // layouts use the others
		for copy(cand, d.found); !cand.empty(); {
			at := cand.lowest()
			if g.where[i] == high || g.where[i] == snugHigh {
				at = cand.highest()
			}
			cand.remove(at)
			if tries == 0 || d.relayouts >= d.tries {
				return 0, 0, false
			}
			tries--
			if d.shove(j, g, t, at, end, worth, g.push[i] == shed) {
				for s := range in.steps {
					d.refresh(s)
				}
				clear(d.earliest)
				return t, at, true
			}
		}
		t++
	}
	return 0, 0, false
}

// worthOf is what a stretch that begins in step t brings; whether a job that may be interrupted
// ends in time is not looked at.
func (in *instance) worthOf(j *job, t int, w wanted) int64 {
	if j.min > 0 {
		return in.raw(j, t+w.lost, w.n-w.lost)
	}
	return in.worth(j, t, w.n)
}

// keepMay drops the first slots that blocks of the job may not have, and tells whether any is left.
func (j *job) keepMay(starts Set) bool {
	if j.may == nil {
		return true
	}
	for i := range starts {
		starts[i] &= j.may[i]
	}
	return !starts.empty()
}

// shove lays real-time work out as if the block were taken, and keeps that if it costs
// nothing more, or with mayShed less than the job is worth.
func (d *decoder) shove(j *job, g *genome, t, offset, end int, worth int64, mayShed bool) bool {
	in := d.in
	d.relayouts++
	for s := t; s < end; s++ {
		in.row(d.open, s).clearRange(offset, j.size)
	}
	cost, ok := d.layout(d.open, g.apps, g.tastes, g.solo)
	for s := t; s < end; s++ {
		in.row(d.open, s).fillRange(offset, j.size)
	}
	if !ok || cost > d.shortfall && (!mayShed || cost-d.shortfall >= worth) {
		return false
	}
	d.shortfall = cost
	d.rt, d.rtNew = d.rtNew, d.rt
	return true
}
