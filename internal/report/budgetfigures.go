package report

import (
	"cmp"
	"slices"

	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/workload"
)

const (
	// multipleAccounts and multiplePolicies bound the small pictures of accounts,
	// servedLines the lines of a picture, and multipleBins the steps of either.
	multipleAccounts = 16
	multiplePolicies = 4
	servedLines      = colors
	multipleBins     = 100
)

// budgetFigures are what the page shows of budgets; nil without.
type budgetFigures struct {
	Owed    *multiples
	Served  []*figure
	Unalloc *figure
	Stops   *figure
	Losses  *textTable
}

// multiples are small pictures: an account in each row, a policy in each column.
type multiples struct {
	Head   []string
	Rows   []multipleRow
	X      []tick
	Hidden int
	Table  *textTable
}

type multipleRow struct {
	Name, Note string
	Cells      []multipleCell
}

type multipleCell struct {
	Policy, Note string
	Color        int
	// Band is the surface of what was owed, Path the line of what was charged.
	Band, Path string
}

// budgetFiguresOf draws what budgets have to do with; nil where no policy is judged by any.
func budgetFiguresOf(c *Comparison, s span) *budgetFigures {
	if !budgeted(c) {
		return nil
	}
	f := &budgetFigures{Losses: lossTable(c), Owed: owedMultiples(c, s)}
	if s.to <= s.from {
		return f
	}
	for i := range c.Policies[:min(len(c.Policies), multiplePolicies)] {
		if x := servedFigure(c, i, s); x != nil {
			f.Served = append(f.Served, x)
		}
	}
	f.Unalloc = overlay(c, s, &figure{ID: "unallocated", Title: "Unallocated work",
		Caption: "GPU-time of work that is not charged and not protected, of all that did anything."}, chartBins, unallocatedPart, 1, percent)
	f.Stops = overlay(c, s, &figure{ID: "stops", Title: "Preemptions per day",
		Caption: "Runs that had to give way, of any work; the table of losses has allocated work apart."}, stopBins(s), stopsPerDay, 0, significant)
	return f
}

// stopBins is about a day each.
func stopBins(s span) int { return min(60, max(12, int((s.to-s.from)/workload.Day))) }

// addBudgets gives the values of the pictures to the page's script.
func (d *pageData) addBudgets(c *Comparison, s span, f *budgetFigures) {
	if f == nil {
		return
	}
	d.addSeries(c, "unallocated", "percent", chartBins, func(b *metrics.Bin) float64 { return 1000 * unallocatedPart(b) })
	d.addSeries(c, "stops", "number", stopBins(s), stopsPerDay)
	for i := range c.Policies[:min(len(c.Policies), multiplePolicies)] {
		if a := c.Policies[i].Accounts; a != nil && len(a.Accounts) > 0 {
			d.addServed(c, i)
		}
	}
}

func unallocatedPart(b *metrics.Bin) float64 {
	if b.Assigned <= b.Squat {
		return 0
	}
	return b.Unallocated / (b.Assigned - b.Squat)
}

func stopsPerDay(b *metrics.Bin) float64 {
	if b.Span == 0 {
		return 0
	}
	return b.Preemptions * float64(workload.Day) / b.Span
}

// overlay draws one line per policy; top is the end of the axis, 0 = what the lines need.
func overlay(c *Comparison, s span, f *figure, bins int, value func(*metrics.Bin) float64, top float64, text func(float64) string) *figure {
	f.X, f.Mark = timeTicks(s.from, s.to, c.Workload.Epoch), s.mark(c)
	merged := make([]*metrics.Series, len(c.Policies))
	most := 0.0
	for i := range c.Policies {
		if sr := c.Policies[i].Series; sr != nil {
			merged[i] = sr.Merge(bins)
			for k := range merged[i].Bins {
				most = max(most, value(&merged[i].Bins[k]))
			}
		}
	}
	if top == 0 {
		top = niceMax(most)
	}
	f.Y = linearTicks(top, text)
	for i, sr := range merged {
		if sr != nil {
			f.Lines = append(f.Lines, line{Name: c.Policies[i].Name, Color: i % colors, Path: stepPath(sr, value, s.x(), scale{to: top}, false)})
		}
	}
	f.Table = seriesTable(c, s, value, text)
	return f
}

// accountOrder lists the accounts by what the first policy owed them, the most first.
func accountOrder(c *Comparison) []int {
	var u *metrics.BudgetUse
	for i := range c.Policies {
		if u = c.Policies[i].Metrics.Budget; u != nil {
			break
		}
	}
	order := make([]int, len(u.Reported))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(u.Reported[b].Owed, u.Reported[a].Owed) })
	return order
}

// owedMultiples are one picture per account and policy.
func owedMultiples(c *Comparison, s span) *multiples {
	m := &multiples{X: timeTicks(s.from, s.to, c.Workload.Epoch), Table: owedTable(c)}
	if s.to <= s.from {
		return m
	}
	policies := c.Policies[:min(len(c.Policies), multiplePolicies)]
	for i := range policies {
		m.Head = append(m.Head, policies[i].Name)
	}
	for _, a := range accountOrder(c) {
		row := multipleRow{}
		lines := make([]*metrics.AccountLine, len(policies))
		series := make([]*metrics.AccountSeries, len(policies))
		top := 0.0
		for i := range policies {
			if policies[i].Accounts == nil || a >= len(policies[i].Accounts.Accounts) {
				continue
			}
			series[i] = policies[i].Accounts.Merge(multipleBins)
			lines[i] = &series[i].Accounts[a]
			for k := range lines[i].Bins {
				b := &lines[i].Bins[k]
				top = max(top, rate(b.Owed, b), rate(b.Charged, b))
			}
		}
		if len(m.Rows) == multipleAccounts || top == 0 {
			m.Hidden++
			continue
		}
		for i, l := range lines {
			if l == nil {
				continue
			}
			u := &policies[i].Metrics.Budget.Reported[a]
			row.Name, row.Note = u.Account, percent(u.Share)+" · to "+significant(niceMax(top))+" GPUs"
			y := scale{to: niceMax(top)}
			row.Cells = append(row.Cells, multipleCell{Policy: policies[i].Name, Color: i % colors, Note: partOf(u.DeliveredOfOwed),
				Band: accountPath(series[i], l, func(b *metrics.AccountBin) float64 { return rate(b.Owed, b) }, s.x(), y, true),
				Path: accountPath(series[i], l, func(b *metrics.AccountBin) float64 { return rate(b.Charged, b) }, s.x(), y, false)})
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}

func rate(area float64, b *metrics.AccountBin) float64 {
	if b.Span == 0 {
		return 0
	}
	return area / b.Span
}

func partOf(p *float64) string {
	if p == nil {
		return "-"
	}
	return percent(*p)
}

// accountPath draws the bins of an account as steps.
func accountPath(s *metrics.AccountSeries, l *metrics.AccountLine, value func(*metrics.AccountBin) float64, x, y scale, area bool) string {
	return binsPath(s.From, s.Width, len(l.Bins), func(i int) (float64, bool) { return value(&l.Bins[i]), true }, x, y, area)
}

// owedTable says what each account was owed and got under each policy.
func owedTable(c *Comparison) *textTable {
	t := &textTable{Head: []string{"Account", "Share"}}
	for i := range c.Policies {
		if c.Policies[i].Metrics.Budget != nil {
			t.Head = append(t.Head, c.Policies[i].Name)
		}
	}
	for _, a := range accountOrder(c) {
		var row []string
		for i := range c.Policies {
			u := c.Policies[i].Metrics.Budget
			if u == nil || a >= len(u.Reported) {
				continue
			}
			x := &u.Reported[a]
			if row == nil {
				row = []string{x.Account, percent(x.Share)}
			}
			row = append(row, partOf(x.DeliveredOfOwed)+" of "+hoursUnit.text(x.Owed))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// servedFigure draws what fair share sorts by, one line per account.
func servedFigure(c *Comparison, i int, s span) *figure {
	p := &c.Policies[i]
	if p.Accounts == nil || len(p.Accounts.Accounts) == 0 {
		return nil
	}
	sr := p.Accounts.Merge(multipleBins)
	f := &figure{ID: servedID(i), Title: "How well accounts were served under " + p.Name,
		Caption: "What an account was charged in the " + duration(float64(sr.Window)/1000) + " before, of its share of what the cluster offered in that time: 100 % is its share. Fair share sorts by it. The " + count(servedLines) + " accounts that were owed most.",
		X:       timeTicks(s.from, s.to, c.Workload.Epoch), Mark: s.mark(c), Table: servedTable(c, sr)}
	served := func(b *metrics.AccountBin) float64 { return b.Served }
	order, top := accountOrder(c), 1.0
	order = order[:min(len(order), servedLines)]
	for _, a := range order {
		for k := range sr.Accounts[a].Bins {
			top = max(top, sr.Accounts[a].Bins[k].Served)
		}
	}
	y := scale{to: niceMax(min(top, 8))}
	f.Y = linearTicks(y.to, func(v float64) string { return count(100*v) + " %" })
	for k, a := range order {
		if a < len(sr.Accounts) {
			f.Lines = append(f.Lines, line{Name: sr.Accounts[a].Path, Color: (k + 1) % colors, Path: accountPath(sr, &sr.Accounts[a], served, s.x(), y, false)})
		}
	}
	return f
}

func servedID(i int) string { return "served-" + count(float64(i)) }

// servedTable gives a dozen rows of it in words.
func servedTable(c *Comparison, sr *metrics.AccountSeries) *textTable {
	t := &textTable{Head: []string{"At"}}
	few := sr.Merge(12)
	order := accountOrder(c)
	order = order[:min(len(order), servedLines)]
	for _, a := range order {
		if a < len(few.Accounts) {
			t.Head = append(t.Head, few.Accounts[a].Path)
		}
	}
	for k := range few.Accounts[0].Bins {
		row := []string{moment(few.From+workload.Span(k+1)*few.Width, c.Workload.Epoch)}
		for _, a := range order {
			if a < len(few.Accounts) {
				row = append(row, percent(few.Accounts[a].Bins[k].Served))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// addServed gives the values of a picture of accounts to the page's script.
func (d *pageData) addServed(c *Comparison, i int) {
	sr := c.Policies[i].Accounts.Merge(multipleBins)
	chart := chartData{ID: servedID(i), Kind: "time", Unit: "percent"}
	order := accountOrder(c)
	for k, a := range order[:min(len(order), servedLines)] {
		if a >= len(sr.Accounts) {
			continue
		}
		s := seriesData{Name: sr.Accounts[a].Path, Color: (k + 1) % colors, From: sr.From, Width: sr.Width}
		for b := range sr.Accounts[a].Bins {
			s.V = append(s.V, int64(1000*sr.Accounts[a].Bins[b].Served+0.5))
		}
		chart.Series = append(chart.Series, s)
	}
	d.Charts = append(d.Charts, chart)
}

// lossTable says what stopping cost, by class of work and by cause.
func lossTable(c *Comparison) *textTable {
	t := &textTable{Head: []string{"Policy", "Preemptions of allocated work", "again within 3 h", "Lost, allocated", "unallocated", "Restarting, allocated", "unallocated"}}
	causes := map[string]bool{}
	for i := range c.Policies {
		for name := range c.Policies[i].Metrics.LostByCause {
			causes[name] = true
		}
	}
	names := make([]string, 0, len(causes))
	for name := range causes {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t.Head = append(t.Head, "Lost, "+name)
	}
	for i := range c.Policies {
		m := &c.Policies[i].Metrics
		a, u := m.LostByClass["allocated"], m.LostByClass["unallocated"]
		row := []string{c.Policies[i].Name, count(float64(m.AllocatedPreemptions)), count(float64(m.Thrash)),
			hoursUnit.text(a.LostGPUHours), hoursUnit.text(u.LostGPUHours), hoursUnit.text(a.RestartGPUHours), hoursUnit.text(u.RestartGPUHours)}
		for _, name := range names {
			row = append(row, hoursUnit.text(m.LostByCause[name]))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
