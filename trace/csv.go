package trace

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/escala-sched/escala/workload"
)

// csvFormat is the plain table that everything can write: one job per row, times
// in seconds. It is the project's own, so a wrong row is an error.
var csvFormat = Format{
	Name:  "csv",
	Title: "plain table: job_id,submit,gpus,duration,... (seconds)",
	Detect: func(head []byte, name string) bool {
		return headerHas(head, "job_id") || headerHas(head, "submit", "gpus")
	},
	Read:  readCSV,
	Write: writeCSV,
}

// readCSV scans the bytes by hand: a million rows are the size at which a study
// still waits for its input. Only a file that holds a quote goes the slow way.
func readCSV(in *Input) (*workload.Workload, error) {
	if len(in.Data) == 0 {
		return nil, in.fail(0, "the file is empty", "a header such as "+csvExample)
	}
	if !utf8.Valid(in.Data) {
		return nil, in.fail(invalidLine(in.Data), "bytes that are no UTF-8", "UTF-8 text")
	}
	// Jobs keep substrings of this one string; Data is promised not to change.
	text := unsafe.String(unsafe.SliceData(in.Data), len(in.Data))
	text, line := skipPreamble(text)
	r := &csvRows{in: in, line: line, sorted: true}
	if strings.IndexByte(text, '"') >= 0 {
		if err := r.readQuoted(text, line); err != nil {
			return nil, err
		}
	} else if err := r.readPlain(text); err != nil {
		return nil, err
	}
	return r.finish()
}

// skipPreamble skips '#' lines and empty ones before the header.
func skipPreamble(text string) (rest string, line int) {
	for line = 1; text != ""; line++ {
		first, after, _ := strings.Cut(text, "\n")
		first = strings.TrimSpace(first)
		if first != "" && first[0] != '#' {
			return text, line
		}
		text = after
	}
	return "", line
}

// invalidLine is the line of the first byte that is no UTF-8.
func invalidLine(data []byte) int {
	line := 1
	for len(data) > 0 {
		text, rest, _ := bytes.Cut(data, []byte("\n"))
		if !utf8.Valid(text) {
			return line
		}
		data = rest
		line++
	}
	return line
}

// csvRows fills a workload row by row.
type csvRows struct {
	in   *Input
	cols []csvColumn
	// line is the current one; field points into it.
	line   int
	jobs   []workload.Job
	actual []workload.Actual
	ids    idSet
	names  intern
	sorted bool
	after  bool
}

// header reads the column names.
func (r *csvRows) header(names []string) error {
	seen := map[csvColumn]bool{}
	for _, name := range names {
		name = strings.TrimSpace(name)
		c, ok := csvColumnByName[name]
		if !ok {
			return r.fail("unknown column "+quote(name), "columns among "+strings.Join(csvColumnNames[:], ","))
		}
		if seen[c] {
			return r.fail("column "+name+" appears twice", "each column once")
		}
		seen[c] = true
		r.cols = append(r.cols, c)
	}
	for _, c := range []csvColumn{csvID, csvSubmit, csvGPUs, csvDuration} {
		if !seen[c] {
			return r.fail("column "+csvColumnNames[c]+" is missing", "a header such as "+csvExample)
		}
	}
	// A column of its own for team or partition takes it away from vc.
	for i, c := range r.cols {
		switch {
		case c == csvVC && seen[csvTeam] && seen[csvPartition]:
			r.cols[i] = csvIgnored
		case c == csvVC && seen[csvTeam]:
			r.cols[i] = csvPartition
		case c == csvVC && seen[csvPartition]:
			r.cols[i] = csvTeam
		}
	}
	return nil
}

// grow makes room for all rows at once: jobs are large, and copying them while
// growing would double the memory.
func (r *csvRows) grow(n int) {
	r.jobs, r.actual = make([]workload.Job, 0, n), make([]workload.Actual, 0, n)
}

func (r *csvRows) readPlain(text string) error {
	head, rest, _ := strings.Cut(text, "\n")
	if err := r.header(strings.Split(strings.TrimSuffix(head, "\r"), ",")); err != nil {
		return err
	}
	r.grow(strings.Count(rest, "\n") + 1)
	for pos := 0; pos < len(rest); {
		r.line++
		if rest[pos] == '\n' || rest[pos] == '\r' && (pos+1 == len(rest) || rest[pos+1] == '\n') {
			if rest[pos] == '\r' {
				pos++
			}
			pos++
			continue
		}
		j, a := r.begin()
		col, start, i := 0, pos, pos
		for ; ; i++ {
			if i < len(rest) && rest[i] != ',' && rest[i] != '\n' {
				continue
			}
			end := i
			last := i == len(rest) || rest[i] == '\n'
			if last && end > start && rest[end-1] == '\r' {
				end--
			}
			if col == len(r.cols) {
				return r.width(1 + col + strings.Count(rowFrom(rest, i), ","))
			}
			if err := r.set(r.cols[col], rest[start:end], j, a); err != nil {
				return err
			}
			col++
			start = i + 1
			if last {
				break
			}
		}
		if col != len(r.cols) {
			return r.width(col)
		}
		if err := r.end(j); err != nil {
			return err
		}
		pos = i + 1
	}
	return nil
}

// rowFrom is the rest of the row at i.
func rowFrom(text string, i int) string {
	row, _, _ := strings.Cut(text[i:], "\n")
	return row
}

func (r *csvRows) readQuoted(text string, first int) error {
	cr := csv.NewReader(strings.NewReader(text))
	cr.FieldsPerRecord = -1
	cr.ReuseRecord = true
	for n := 0; ; n++ {
		rec, err := cr.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var broken *csv.ParseError
		if errors.As(err, &broken) {
			r.line = first + broken.Line - 1
			return r.fail("broken quoting: "+broken.Err.Error(), `fields quoted as in RFC 4180: "a ""b"" c"`)
		}
		if err != nil {
			return err
		}
		line, _ := cr.FieldPos(0)
		r.line = first + line - 1
		if n == 0 {
			if err := r.header(rec); err != nil {
				return err
			}
			r.grow(strings.Count(text, "\n"))
			continue
		}
		if len(rec) != len(r.cols) {
			return r.width(len(rec))
		}
		j, a := r.begin()
		for i, field := range rec {
			if err := r.set(r.cols[i], field, j, a); err != nil {
				return err
			}
		}
		if err := r.end(j); err != nil {
			return err
		}
	}
}

// begin opens the next job in place: a job is too large to build aside and copy.
func (r *csvRows) begin() (*workload.Job, *workload.Actual) {
	n := len(r.jobs)
	if n == cap(r.jobs) {
		r.jobs = slices.Grow(r.jobs, 1)
	}
	r.jobs = r.jobs[:n+1] // fresh memory is zero, and so is a job
	r.actual = append(r.actual, workload.Actual{Start: workload.Unknown, End: workload.Unknown})
	return &r.jobs[n], &r.actual[n]
}

// end checks the row as a whole.
func (r *csvRows) end(j *workload.Job) error {
	if j.Need.Milli == 1000 {
		j.Need.Milli = 0
	}
	if int64(j.Need.GPUs)*int64(max(j.Need.Tasks, j.Need.MaxTasks, 1)) > math.MaxInt32 {
		return r.fail("tasks x gpus is too large", "at most 2147483647 GPUs")
	}
	if err := j.Need.Check(); err != nil {
		msg, want, _ := strings.Cut(err.Error(), "; want ")
		return r.fail("job "+quote(j.ID)+": "+msg, want)
	}
	n := len(r.jobs) - 1
	if !r.ids.add(r.jobs[:n], j.ID) {
		return r.fail("job_id "+quote(j.ID)+" appears twice", "a job_id of its own for each row")
	}
	if n > 0 && r.jobs[n-1].Submit > j.Submit {
		r.sorted = false
	}
	return nil
}

func (r *csvRows) finish() (*workload.Workload, error) {
	if len(r.jobs) == 0 {
		return nil, r.in.fail(r.line, "no jobs below the header", "at least one row")
	}
	w := &workload.Workload{Jobs: r.jobs, Actual: r.actual, Rows: len(r.jobs), Epoch: workload.Unknown}
	if !r.sorted {
		w.Sort()
	}
	if r.after {
		if err := w.Check(); err != nil {
			return nil, r.in.fail(0, err.Error(), "")
		}
	}
	return w, nil
}

func (r *csvRows) fail(msg, want string) error { return r.in.fail(r.line, msg, want) }

func (r *csvRows) width(got int) error {
	return r.fail("row has "+itoa(got)+" fields", itoa(len(r.cols))+" as in the header")
}
