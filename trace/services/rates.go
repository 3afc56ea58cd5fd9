package services

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/trace"
	"github.com/escala-sched/escala/workload"
)

// rates are requests per second in windows of equal length.
type rates struct {
	start  workload.Time
	window workload.Span
	values []float64
	// gaps is the number of windows without a request, or without a row.
	gaps int
}

// rateReader reads the two columns of a log.
type rateReader struct {
	file       string
	in         *csv.Reader
	y          *requests
	time, rate int
	out        rates
	// last is the time of the row before, -1 = none.
	last int64
	rows int
}

// readRates reads a CSV file with a header. Rows are windows of equal length; what is
// said of them holds from their time on. Missing rows are gaps.
func readRates(file string, data []byte, y *requests) (*rates, error) {
	plain, err := trace.Unpack(file, data)
	if err != nil {
		return nil, err
	}
	r := &rateReader{file: file, in: csv.NewReader(bytes.NewReader(bytes.TrimPrefix(plain, []byte("\ufeff")))), y: y, last: -1}
	r.in.Comment, r.in.ReuseRecord = '#', true
	if err := r.header(); err != nil {
		return nil, err
	}
	for {
		row, err := r.in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, r.broken(err)
		}
		if err := r.row(row); err != nil {
			return nil, err
		}
	}
	if r.rows < 2 {
		return nil, r.fail(0, "fewer than two rows below the header", "at least two, which say how long a window is")
	}
	return &r.out, r.fill()
}

func (r *rateReader) fail(line int, msg, want string) error {
	return &trace.Error{File: r.file, Line: line, Msg: msg, Want: want}
}

// broken is a fault of the CSV itself.
func (r *rateReader) broken(err error) error {
	var p *csv.ParseError
	if !errors.As(err, &p) {
		return r.fail(0, err.Error(), "a CSV file")
	}
	if errors.Is(p.Err, csv.ErrFieldCount) {
		return r.fail(p.Line, "another number of fields than in the header", "a field for each column")
	}
	return r.fail(p.Line, p.Err.Error(), "fields quoted as in RFC 4180")
}

func (r *rateReader) header() error {
	row, err := r.in.Read()
	switch {
	case errors.Is(err, io.EOF):
		return r.fail(0, "the file is empty", "a header with "+r.y.Time+" and "+r.y.Column)
	case err != nil:
		return r.broken(err)
	}
	names := make([]string, len(row))
	for i := range row {
		names[i] = strings.Clone(strings.TrimSpace(row[i]))
	}
	for _, c := range []struct {
		name string
		at   *int
	}{{r.y.Time, &r.time}, {r.y.Column, &r.rate}} {
		if *c.at = slices.Index(names, c.name); *c.at < 0 {
			line, _ := r.in.FieldPos(0)
			_, want, _ := strings.Cut(yamlx.Choice(c.name, names), "want ")
			return r.fail(line, "no column is called "+strconv.Quote(c.name), want)
		}
	}
	return nil
}

// row takes a window, after those that are missing before it.
func (r *rateReader) row(row []string) error {
	line, _ := r.in.FieldPos(0)
	sec, err := strconv.ParseFloat(strings.TrimSpace(row[r.time]), 64)
	if err != nil || !(sec >= 0 && sec <= maxTime/1e6) {
		return r.fail(line, r.y.Time+": "+strconv.Quote(row[r.time])+" is no time", "seconds of the workload's clock, 0 or more")
	}
	rate, err := strconv.ParseFloat(strings.TrimSpace(row[r.rate]), 64)
	if err != nil || !(rate >= 0 && rate <= 1e15) {
		return r.fail(line, r.y.Column+": "+strconv.Quote(row[r.rate])+" is no rate", "requests per second, 0 or more")
	}
	at := int64(math.Round(sec * 1000))
	missing := int64(0)
	switch after := at - r.last; {
	case r.rows == 0:
		r.out.start = at
	case after <= 0:
		return r.fail(line, "the time does not grow", "rows in order of time, each time once")
	case r.rows == 1:
		r.out.window = after
	case after%r.out.window != 0:
		return r.fail(line, "the rows are "+secondsText(r.out.window)+" apart, and this one comes "+secondsText(after)+" after the one before it", "rows at equal distances")
	default:
		missing = after/r.out.window - 1
	}
	if missing > 0 && r.y.Gaps != gapsInterpolate {
		return r.fail(line, "no row for the "+secondsText(missing*r.out.window)+" before", "a row every "+secondsText(r.out.window)+", or gaps: interpolate in the services file")
	}
	if int64(len(r.out.values))+missing >= maxSteps {
		return r.fail(line, "too many windows", "at most "+strconv.Itoa(maxSteps))
	}
	for range missing {
		r.out.values = append(r.out.values, 0)
	}
	r.out.values = append(r.out.values, rate)
	r.last, r.rows = at, r.rows+1
	return nil
}

func secondsText(ms int64) string { return strconv.FormatFloat(float64(ms)/1000, 'f', -1, 64) + " s" }

// fill counts the gaps, and draws a line over each where that is asked for. Before the
// first window with requests and after the last there is nothing to draw from: that
// one's rate holds.
func (r *rateReader) fill() error {
	v := r.out.values
	before := -1 // the last window with requests
	for i := 0; i <= len(v); i++ {
		if i < len(v) && v[i] == 0 {
			r.out.gaps++
			continue
		}
		if r.y.Gaps == gapsInterpolate && i-before > 1 {
			if before < 0 && i == len(v) {
				return r.fail(0, "no row has any requests", "a column of requests per second")
			}
			r.out.bridge(before, i)
		}
		before = i
	}
	return nil
}

// bridge fills the windows between two others; either may lie outside.
func (r *rates) bridge(before, after int) {
	v := r.values
	var from, to float64
	switch {
	case before < 0:
		from, to = v[after], v[after]
	case after == len(v):
		from, to = v[before], v[before]
	default:
		from, to = v[before], v[after]
	}
	for i := before + 1; i < after; i++ {
		part := float64(i-before) / float64(after-before)
		v[i] = from + float64((to-from)*part) // rounded before it is added: the same on every processor
	}
}

// over is the rate in [from, to) since the start of the log: the highest, or the mean
// over time.
func (r *rates) over(from, to workload.Span, how aggregateWord) float64 {
	top, area := 0.0, 0.0
	for i := from / r.window; i*r.window < to; i++ {
		v := r.values[i]
		part := min(to, (i+1)*r.window) - max(from, i*r.window)
		top = max(top, v)
		area += float64(v * float64(part))
	}
	if how == aggregateMean {
		return area / float64(to-from)
	}
	return top
}
