package budget

import "github.com/escala-sched/escala/workload"

// Owed sums up what each reported account was owed and what it got, by the hour of
// the workload's clock: in each hour an account is owed its share of usable
// capacity, but no more than it asked for. Amounts hold from the time they are told
// on; times must not go back.
type Owed struct {
	tree     *Tree
	lookback int64 // hours
	hour     int64 // the open one: [hour, hour+1) x 3,600 s
	usable   level
	accounts []dues
}

// Due is what came of one account, in milli-GPU x ms.
type Due struct {
	// Node is the account.
	Node int32
	// Demand is what it asked for, Owed the sum over hours of min(share x usable,
	// demand), Charged what it was charged, Delivered min(Charged, Owed).
	Demand, Owed, Charged, Delivered Sum
	// Strict is Delivered where what an hour lacked counts as made good only by what
	// later hours, within the look-back, were charged above what they owed.
	Strict Sum
}

// level is an amount that holds until it changes; area is its integral since the
// hour began.
type level struct {
	milli int64
	since workload.Time
	area  uint64
}

func (l *level) set(at workload.Time, milli int64) {
	l.area, l.milli, l.since = l.until(at), max(milli, 0), at
}

func (l *level) until(at workload.Time) uint64 { return l.area + uint64(l.milli)*uint64(at-l.since) }

// begin opens an hour at its start.
func (l *level) begin(at workload.Time) { l.area, l.since = 0, at }

type dues struct {
	demand, charged level
	sum             Due
	// lacks are the hours not made good, oldest first.
	lacks []lack
}

type lack struct {
	hour   int64
	amount uint64
}

// NewOwed begins at a time, with nothing usable, asked for or charged. lookback is
// how long the strict form lets what was missed be made good, in whole hours.
func NewOwed(t *Tree, start workload.Time, lookback workload.Span) *Owed {
	o := &Owed{tree: t, lookback: lookback / workload.Hour, hour: floorHour(start), accounts: make([]dues, len(t.Reported))}
	o.usable.since = start
	for i := range o.accounts {
		a := &o.accounts[i]
		a.sum.Node, a.demand.since, a.charged.since = t.Reported[i], start, start
	}
	return o
}

func floorHour(at workload.Time) int64 {
	h := at / workload.Hour
	if at%workload.Hour < 0 {
		h--
	}
	return h
}

// Usable tells how much capacity can be used, in milli-GPU.
func (o *Owed) Usable(at workload.Time, milli int64) {
	o.close(at)
	o.usable.set(at, milli)
}

// Demand tells how much an account could use, in milli-GPU: what it runs allocated
// and what of its waiting allocated requests counts. account is an index in
// [Tree.Reported], see [Tree.Allocation].
func (o *Owed) Demand(account int32, at workload.Time, milli int64) {
	o.close(at)
	o.accounts[account].demand.set(at, milli)
}

// Charged tells at which rate an account is charged, in milli-GPU.
func (o *Owed) Charged(account int32, at workload.Time, milli int64) {
	o.close(at)
	o.accounts[account].charged.set(at, milli)
}

// close closes the hours that are over.
func (o *Owed) close(at workload.Time) {
	for end := (o.hour + 1) * workload.Hour; end <= at; end += workload.Hour {
		usable := o.usable.until(end)
		o.usable.begin(end)
		for i := range o.accounts {
			a := &o.accounts[i]
			a.close(o, usable, end)
			a.demand.begin(end)
			a.charged.begin(end)
		}
		o.hour++
	}
}

// close adds what the open hour came to by a time. Its owed part is rounded down to
// whole milli-GPU x ms.
func (a *dues) close(o *Owed, usable uint64, at workload.Time) {
	num, den := o.tree.ProductShare(a.sum.Node)
	demand, charged := a.demand.until(at), a.charged.until(at)
	owed := min(mulDiv(num, usable, den), demand)
	s := &a.sum
	s.Demand.add(Sum{lo: demand})
	s.Owed.add(Sum{lo: owed})
	s.Charged.add(Sum{lo: charged})
	s.Delivered = smaller(s.Charged, s.Owed)
	s.Strict.add(Sum{lo: min(charged, owed)})
	if charged < owed {
		a.lacks = append(a.lacks, lack{o.hour, owed - charged})
		return
	}
	s.Strict.add(Sum{lo: a.makeGood(charged-owed, o.hour-o.lookback)})
}

// makeGood fills hours from the oldest one on that may still be, and returns how much.
func (a *dues) makeGood(surplus uint64, oldest int64) (filled uint64) {
	for len(a.lacks) > 0 && (a.lacks[0].hour < oldest || surplus > 0) {
		l := &a.lacks[0]
		if l.hour >= oldest {
			n := min(surplus, l.amount)
			filled, surplus, l.amount = filled+n, surplus-n, l.amount-n
			if l.amount > 0 {
				break
			}
		}
		a.lacks = a.lacks[1:]
	}
	return filled
}

// Results returns what each account was owed and got up to a time, in the order of
// [Tree.Reported]. The hour that is open counts as far as it has come. at must not lie
// before what was told last; reading changes nothing.
func (o *Owed) Results(at workload.Time) []Due {
	c := *o
	c.accounts = make([]dues, len(o.accounts))
	for i := range o.accounts {
		c.accounts[i] = o.accounts[i]
		c.accounts[i].lacks = append([]lack(nil), o.accounts[i].lacks...)
	}
	c.close(at)
	out := make([]Due, len(c.accounts))
	for i := range c.accounts {
		a := &c.accounts[i]
		if at > c.hour*workload.Hour {
			a.close(&c, c.usable.until(at), at)
		}
		out[i] = a.sum
	}
	return out
}

// Total adds up accounts; its Delivered is the sum of theirs.
func Total(dues []Due) Due {
	t := Due{Node: none}
	for i := range dues {
		d := &dues[i]
		t.Demand.add(d.Demand)
		t.Owed.add(d.Owed)
		t.Charged.add(d.Charged)
		t.Delivered.add(d.Delivered)
		t.Strict.add(d.Strict)
	}
	return t
}
