package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"strings"

	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/workload"
)

// colors is the number of policy colours in page.css; more policies repeat them.
const colors = 8

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string

	page = template.Must(template.New("page").Funcs(template.FuncMap{
		"color":  func(i int) int { return i % colors },
		"last":   func(i int, lines []line) bool { return i == len(lines)-1 },
		"across": func(percent float64) float64 { return percent * grid / 100 },
		"down":   func(percent float64) float64 { return grid - percent*grid/100 },
	}).Parse(pageHTML))
)

// WriteHTML writes the comparison as one page that needs nothing else: no
// request leaves it, and a content security policy holds it to that. Names from
// the input are escaped; the only script that may run is the page's own, by hash.
func WriteHTML(w io.Writer, c *Comparison) error {
	sum := sha256.Sum256([]byte(pageJS))
	v := pageView{
		Title: c.title(), Finding: readable(Finding(c)), Version: c.Version,
		CSS: template.CSS(pageCSS), JS: template.JS(pageJS), Hash: base64.StdEncoding.EncodeToString(sum[:]),
		Chips: c.chips(), Numbers: c.numbers(), Check: c.checkTable(), Groups: c.groupTable(), Types: c.typeTable(),
		Definitions: definitions(c), Policies: c.Policies,
	}
	for _, l := range c.head() {
		v.Head = append(v.Head, [2]string{l.name, l.value})
	}
	v.Waits = waitBarsOf(c)
	s, cut := pictureSpan(c)
	v.Budgets, v.Services = budgetFiguresOf(c, s), serviceFiguresOf(c, s)
	if s.to > s.from {
		v.Cut = cut
		v.Occupancy, v.Waiting = occupancyFigure(c, s), waitingFigure(c, s)
		v.Picture = pictureOf(c, s)
		v.Data.From, v.Data.To = s.from, s.to
		v.Data.addSeries(c, "occupancy", "percent", chartBins, func(b *metrics.Bin) float64 { return 1000 * b.Occupancy() })
		v.Data.addSeries(c, "waiting", "gpus", chartBins, func(b *metrics.Bin) float64 { return 10 * b.MeanWaitingGPUs() })
		v.Data.addBudgets(c, s, v.Budgets)
		v.Data.addServices(c, v.Services)
	}
	if f := cdfFigure(c); len(f.Lines) > 0 {
		v.CDF = f
		v.Data.addCDF(c)
	}
	if c.Workload.Epoch != workload.Unknown {
		v.Data.Epoch = &c.Workload.Epoch
	}
	v.Data.Picture = v.Picture
	if v.Picture == nil && len(c.Cluster.Nodes) == 0 {
		v.NoPicture = "The cluster is one pool of GPUs without nodes, so there is no picture of who ran where."
	}
	return page.Execute(w, &v)
}

// pageView is what the template reads.
type pageView struct {
	Title, Finding, Version string
	CSS                     template.CSS
	JS                      template.JS
	Hash                    string
	Chips                   []string
	Numbers                 numbersTable
	Occupancy, Waiting, CDF *figure
	Cut                     bool
	Budgets                 *budgetFigures
	Services                *serviceFigures
	Waits                   *waitBars
	Picture                 *picture
	NoPicture               string
	Check, Groups, Types    *textTable
	Head                    [][2]string
	Definitions             [][2]string
	Policies                []Policy
	Data                    pageData
}

// pageData is what the page's script reads.
type pageData struct {
	Epoch   *workload.Time `json:"epoch"`
	From    workload.Time  `json:"from"`
	To      workload.Time  `json:"to"`
	Charts  []chartData    `json:"charts"`
	Picture *picture       `json:"picture"`
}

// chartData are the values that the pointer reads off a picture.
type chartData struct {
	ID     string       `json:"id"`
	Kind   string       `json:"kind"` // time or wait
	Unit   string       `json:"unit"`
	To     float64      `json:"to"` // end of a wait axis in seconds
	Series []seriesData `json:"series"`
}

type seriesData struct {
	Name  string        `json:"name"`
	Color int           `json:"color"`
	From  workload.Time `json:"from"`
	Width workload.Span `json:"width"`
	// V in thousandths of a whole, or tenths of a GPU.
	V []int64 `json:"v"`
}

func (d *pageData) addSeries(c *Comparison, id, unit string, bins int, value func(*metrics.Bin) float64) {
	chart := chartData{ID: id, Kind: "time", Unit: unit}
	for i := range c.Policies {
		p := &c.Policies[i]
		if p.Series == nil {
			continue
		}
		sr := p.Series.Merge(bins)
		s := seriesData{Name: p.Name, Color: i % colors, From: sr.From, Width: sr.Width}
		for k := range sr.Bins {
			s.V = append(s.V, int64(value(&sr.Bins[k])+0.5))
		}
		chart.Series = append(chart.Series, s)
	}
	d.Charts = append(d.Charts, chart)
}

func (d *pageData) addCDF(c *Comparison) {
	chart := chartData{ID: "cdf", Kind: "wait", Unit: "percent", To: cdfEnd(c)}
	for i := range c.Policies {
		s := seriesData{Name: c.Policies[i].Name, Color: i % colors}
		for k, v := range c.Policies[i].Metrics.WaitCDF {
			if metrics.CDFPoint(k) > chart.To*1.0001 {
				break
			}
			s.V = append(s.V, int64(v*1000+0.5))
		}
		if s.V != nil {
			chart.Series = append(chart.Series, s)
		}
	}
	d.Charts = append(d.Charts, chart)
}

// chips are the facts beside the title.
func (c *Comparison) chips() []string {
	out := append(c.jobsText(), count(float64(c.Cluster.GPUs()))+" GPUs")
	switch n := len(c.Cluster.Nodes); n {
	case 0:
	case 1:
		out = append(out, "1 node")
	default:
		out = append(out, count(float64(n))+" nodes")
	}
	if len(c.Policies) > 0 {
		b := c.Policies[0].Metrics.Window
		out = append(out, duration(b.To-b.From)+" observed")
	}
	return out
}

// readable turns the plain signs of the terminal into typographic ones.
func readable(s string) string {
	return strings.NewReplacer(">=", "≥ ", "(x", "(×").Replace(s)
}

// numbersTable is the table of figures.
type numbersTable struct {
	Policies []string
	Sections []numbersSection
}

type numbersSection struct {
	Name string
	Rows []numbersRow
}

type numbersRow struct {
	Label, Definition string
	Cells             []numbersCell
}

type numbersCell struct {
	Text, Diff string
	// Mark is "better", "worse" or "".
	Mark string
	Best bool
}

func (c *Comparison) numbers() numbersTable {
	var t numbersTable
	for i := range c.Policies {
		t.Policies = append(t.Policies, c.Policies[i].Name)
	}
	for _, r := range shownRows(c) {
		if n := len(t.Sections); n == 0 || t.Sections[n-1].Name != r.section {
			t.Sections = append(t.Sections, numbersSection{Name: r.section})
		}
		s := &t.Sections[len(t.Sections)-1]
		row := numbersRow{Label: r.label, Definition: r.definition}
		for i := range c.Policies {
			x := r.cellOf(c, i)
			n := numbersCell{Text: strings.Replace(x.text, ">=", "≥ ", 1), Diff: strings.Replace(x.diff, "x", "×", 1), Best: r.best(c, i)}
			switch {
			case x.good > 0:
				n.Mark = "better"
			case x.good < 0:
				n.Mark = "worse"
			}
			row.Cells = append(row.Cells, n)
		}
		s.Rows = append(s.Rows, row)
	}
	return t
}

// best tells whether no other policy has a better figure, and more than half
// have a worse one: what nearly all share is no distinction.
func (r *row) best(c *Comparison, i int) bool {
	if r.better == 0 {
		return false
	}
	mine := r.value(&c.Policies[i].Metrics)
	worse := 0
	for k := range c.Policies {
		d := (r.value(&c.Policies[k].Metrics) - mine) * float64(r.better)
		if d > 0 {
			return false
		}
		if d < 0 {
			worse++
		}
	}
	return 2*worse > len(c.Policies)
}

// groupRows is how many teams the table of teams shows.
const groupRows = 12

// groupTable says what the largest groups got under each policy: the text
// alternative to the picture of who ran where.
func (c *Comparison) groupTable() *textTable {
	if len(c.Policies) == 0 || len(c.Policies[0].Metrics.Groups) < 2 {
		return nil
	}
	t := &textTable{Head: []string{capital(c.Policies[0].Metrics.JainBy), "Jobs"}}
	byName := make([]map[string]metrics.GroupUse, len(c.Policies))
	for i := range c.Policies {
		t.Head = append(t.Head, c.Policies[i].Name)
		byName[i] = map[string]metrics.GroupUse{}
		for _, u := range c.Policies[i].Metrics.Groups {
			byName[i][u.Name] = u
		}
	}
	for _, u := range largest(c.Policies[0].Metrics.Groups, groupRows) {
		name := u.Name
		if name == "" {
			name = "(none)"
		}
		row := []string{name, count(float64(u.Jobs))}
		for i := range c.Policies {
			x := byName[i][u.Name]
			wait := duration(x.P90Wait)
			if x.Jobs == 0 { // applications alone
				wait = "-"
			}
			row = append(row, wait+" · "+percent(x.Delivered))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// typeTable splits money and energy by GPU type, nil without prices and watts.
func (c *Comparison) typeTable() *textTable {
	t := &textTable{Head: []string{"Policy", "GPU type", "GPUs", "GPU-hours assigned", "idle", "Cost of work", "of idling", "Energy"}}
	for i := range c.Policies {
		m := &c.Policies[i].Metrics
		if m.Cost == nil && m.KWh == nil {
			continue
		}
		for _, u := range m.Types {
			t.Rows = append(t.Rows, []string{c.Policies[i].Name, u.Name, count(u.GPUs), significant(u.GPUHours), significant(u.IdleHours),
				c.text(moneyUnit, u.Cost), c.text(moneyUnit, u.IdleCost), energyUnit.text(u.KWh)})
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// definitions lists what each figure means, once.
func definitions(c *Comparison) [][2]string {
	var out [][2]string
	for _, r := range shownRows(c) {
		if n := len(out); n > 0 && out[n-1][1] == r.definition {
			continue
		}
		label := strings.TrimSuffix(r.label, ", mean")
		out = append(out, [2]string{label, r.definition})
	}
	return out
}
