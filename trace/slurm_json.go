package trace

import (
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/escala-sched/escala/workload"
)

// The JSON of sacct changes with each release: 21.08 and 22.05 write numbers, 23.02
// puts many into {set, infinite, number}; a state is a word, from 23.11 on a list of
// words. So no version is asked for: each value is taken in any shape that it has
// ever had, and what is not known is passed over.

// isSacctJSON tells what sacct --json writes: one object with the jobs and, before
// or behind them, what Slurm says of itself.
func isSacctJSON(head []byte) bool {
	text := strings.ToLower(strings.TrimSpace(string(head)))
	if !strings.HasPrefix(text, "{") {
		return false
	}
	if _, after, ok := strings.Cut(text, `"jobs"`); ok {
		after, ok = strings.CutPrefix(strings.TrimSpace(after), ":")
		return ok && strings.HasPrefix(strings.TrimSpace(after), "[")
	}
	return strings.Contains(text, `"meta"`) && strings.Contains(text, `"slurm"`)
}

// sacctJSON reads records of sacct --json.
type sacctJSON struct {
	*jsonScan
	out     SlurmRecord
	version string
	jobs    bool
	// queue: a record is one of the queue, as squeue writes it.
	queue bool
	known map[string]string
	// parts of the present record that others are made of.
	id, arrayID, arrayTask, hetID, hetOffset int64
	arrayTasks                               string
	memory                                   [3]int64 // as before 23.11, per core, per node
	list                                     []byte
}

func scanSacctJSON(in *Input, r io.Reader, each func(*SlurmRecord) error) (SlurmSource, error) {
	s := &sacctJSON{jsonScan: newJSONScan(r), known: map[string]string{}}
	err := s.object(func(key string) error {
		switch {
		case key == "jobs" && !s.jobs:
			s.jobs = true
			return s.array(func() error { return s.job(each) })
		case strings.EqualFold(key, "meta"):
			return s.meta()
		}
		return s.skip()
	})
	src := SlurmSource{JSON: true, Version: s.version}
	var broken errJSON
	switch {
	case errors.As(err, &broken):
		return src, in.fail(s.line(), string(broken), "the whole of what sacct --json writes")
	case err != nil:
		return src, err
	case !s.jobs:
		return src, in.fail(0, `the JSON has no list "jobs"`, "what sacct --json writes")
	}
	return src, nil
}

// meta reads the version of Slurm.
func (s *sacctJSON) meta() error {
	return s.fields(func(key string) error {
		if !strings.EqualFold(key, "slurm") {
			return s.skip()
		}
		return s.fields(func(key string) error {
			if key != "release" {
				return s.skip()
			}
			v, err := s.string()
			s.version = v
			return err
		})
	})
}

// job reads one record.
func (s *sacctJSON) job(each func(*SlurmRecord) error) error {
	c, err := s.peek()
	if err != nil {
		return err
	}
	s.out = SlurmRecord{Line: s.line(), Submit: workload.Unknown, Eligible: workload.Unknown, Start: workload.Unknown, End: workload.Unknown, Elapsed: -1}
	if c != '{' {
		s.out.Fault = causeJSON
		if err := s.skip(); err != nil {
			return err
		}
		return each(&s.out)
	}
	s.id, s.arrayID, s.arrayTask, s.hetID, s.hetOffset, s.arrayTasks, s.memory = 0, 0, -1, 0, -1, "", [3]int64{}
	s.queue = false
	if err := s.object(s.field); err != nil {
		return err
	}
	if s.queue && s.out.Submit == workload.Unknown {
		return errJSON("this is the queue as squeue --json writes it, not what has run")
	}
	s.close()
	return each(&s.out)
}

// causeJSON drops what has another shape than any version of Slurm writes.
const causeJSON = "field of the wrong JSON type"

// close makes what several fields tell.
func (s *sacctJSON) close() {
	r := &s.out
	r.NoStart, r.NoEnd = r.Start == workload.Unknown, r.End == workload.Unknown
	id := strconv.FormatInt
	switch {
	case s.arrayID > 0 && s.arrayTask >= 0:
		r.ID = id(s.arrayID, 10) + "_" + id(s.arrayTask, 10)
	case s.arrayID > 0 && s.arrayTasks != "":
		r.ID = id(s.arrayID, 10) + "_[" + s.arrayTasks + "]"
	case s.hetID > 0 && s.hetOffset >= 0:
		r.ID = id(s.hetID, 10) + "+" + id(s.hetOffset, 10)
	case s.id > 0:
		r.ID = id(s.id, 10)
	}
	const perCore = math.MinInt64 // the highest bit, before 23.11
	switch m := s.memory; {
	case m[1] > 0:
		r.ReqMem = id(m[1], 10) + "Mc"
	case m[2] > 0:
		r.ReqMem = id(m[2], 10) + "Mn"
	case m[0] < 0:
		r.ReqMem = id(m[0]-perCore, 10) + "Mc"
	case m[0] > 0:
		r.ReqMem = id(m[0], 10) + "Mn"
	}
}

func (s *sacctJSON) field(key string) (err error) {
	r := &s.out
	switch key {
	case "job_id":
		s.id, err = s.count()
	case "account":
		r.Account, err = s.string()
	case "user", "user_name":
		var v string
		if v, err = s.string(); v != "" {
			r.User = v
		}
	case "association":
		return s.fields(func(key string) (err error) {
			if key != "user" || r.User != "" {
				return s.skip()
			}
			r.User, err = s.string()
			return err
		})
	case "partition":
		r.Partition, err = s.string()
	case "qos":
		r.QOS, err = s.string()
	case "cluster":
		r.Cluster, err = s.string()
	case "priority":
		r.Priority, err = s.count()
	case "constraints":
		r.Constraints, err = s.string()
	case "licenses":
		r.Licenses, err = s.string()
	case "nodes":
		var v string
		if v, err = s.string(); !noNodes(v) {
			r.NodeList = v
		}
	case "allocation_nodes":
		r.Nodes, err = s.count()
	case "job_state":
		s.queue = true
		return s.state()
	case "state":
		return s.state()
	case "comment":
		return s.comment()
	case "array":
		return s.fields(s.arrayField)
	case "het":
		return s.fields(s.hetField)
	case "time":
		return s.fields(s.timeField)
	case "tres":
		return s.fields(func(key string) (err error) {
			switch key {
			case "requested":
				r.ReqTRES, err = s.tres()
			case "allocated":
				r.AllocTRES, err = s.tres()
			default:
				return s.skip()
			}
			return err
		})
	case "required":
		return s.fields(s.requiredField)
	case "reservation":
		return s.reservation()
	default:
		return s.skip()
	}
	return err
}

func (s *sacctJSON) arrayField(key string) (err error) {
	switch key {
	case "job_id":
		s.arrayID, err = s.count()
	case "task_id":
		s.arrayTask, err = s.number(-1)
	case "task":
		s.arrayTasks, err = s.string()
	default:
		return s.skip()
	}
	return err
}

func (s *sacctJSON) hetField(key string) (err error) {
	switch key {
	case "job_id":
		s.hetID, err = s.count()
	case "job_offset":
		s.hetOffset, err = s.number(-1)
	default:
		return s.skip()
	}
	return err
}

func (s *sacctJSON) timeField(key string) (err error) {
	r := &s.out
	var v int64
	switch key {
	case "submission":
		r.Submit, err = s.time()
	case "eligible":
		r.Eligible, err = s.time()
	case "start":
		r.Start, err = s.time()
	case "end":
		r.End, err = s.time()
	case "elapsed":
		if v, err = s.number(-1); v >= 0 && v < maxWhole {
			r.Elapsed = v * workload.Second
		}
	case "limit":
		if v, err = s.count(); v < maxWhole/60 {
			r.Limit = v * workload.Minute
		}
	default:
		return s.skip()
	}
	return err
}

func (s *sacctJSON) requiredField(key string) (err error) {
	switch key {
	case "CPUs", "cpus":
		s.out.CPUs, err = s.count()
	case "memory":
		s.memory[0], err = s.number(0)
	case "memory_per_cpu":
		s.memory[1], err = s.count()
	case "memory_per_node":
		s.memory[2], err = s.count()
	default:
		return s.skip()
	}
	return err
}

// reservation: releases before 23.02 write a number for its name that means nothing.
func (s *sacctJSON) reservation() error {
	c, err := s.peek()
	if err != nil || c != '{' {
		v, err := s.string()
		s.out.Reserved = v != ""
		return err
	}
	return s.object(func(key string) error {
		if key != "id" {
			return s.skip()
		}
		v, err := s.count()
		s.out.Reserved = v > 0
		return err
	})
}

// state takes a word, a list of words, or an object that has one of these.
func (s *sacctJSON) state() error {
	c, err := s.peek()
	if err != nil || c != '{' {
		v, err := s.string()
		s.setState(v)
		return err
	}
	return s.object(func(key string) error {
		if key != "current" {
			return s.skip()
		}
		v, err := s.string()
		s.setState(v)
		return err
	})
}

// setState takes the word that stands for how the run ended; flags stand beside it.
func (s *sacctJSON) setState(list string) {
	first, _, _ := strings.Cut(list, ",")
	for word := range strings.SplitSeq(list, ",") {
		if strings.EqualFold(word, "REQUEUED") || strings.EqualFold(word, "COMPLETING") && first == word {
			continue
		}
		if _, ends := endState(word); ends {
			first = word
			break
		}
	}
	s.out.State = first
}

// comment takes the owner's.
func (s *sacctJSON) comment() (err error) {
	c, err := s.peek()
	if err != nil || c != '{' {
		s.out.Comment, err = s.plain()
		return err
	}
	return s.object(func(key string) error {
		if key != "job" {
			return s.skip()
		}
		v, err := s.plain()
		s.out.Comment = v
		return err
	})
}

// tres writes a list of resources as sacct does.
func (s *sacctJSON) tres() (string, error) {
	c, err := s.peek()
	if err != nil || c != '[' {
		return s.string()
	}
	s.list = s.list[:0]
	err = s.array(func() error {
		var kind, name string
		count := int64(-1)
		err := s.fields(func(key string) (err error) {
			switch key {
			case "type":
				kind, err = s.string()
			case "name":
				name, err = s.string()
			case "count":
				count, err = s.number(-1)
			default:
				return s.skip()
			}
			return err
		})
		if err != nil || kind == "" || count < 0 {
			return err
		}
		if len(s.list) > 0 {
			s.list = append(s.list, ',')
		}
		s.list = append(s.list, kind...)
		if name != "" {
			s.list = append(append(s.list, '/'), name...)
		}
		s.list = strconv.AppendInt(append(s.list, '='), count, 10)
		if kind == "mem" {
			s.list = append(s.list, 'M')
		}
		return nil
	})
	return s.intern(s.list), err
}

// fields reads an object; what is none is passed over.
func (s *sacctJSON) fields(field func(key string) error) error {
	c, err := s.peek()
	if err != nil {
		return err
	}
	if c != '{' {
		return s.skip()
	}
	return s.object(field)
}

// noValue32 and infinite32 are Slurm's words for none and without end where numbers are
// plain, noValue64 the 64-bit one as it comes out.
const (
	noValue32  = 0xfffffffe
	infinite32 = 0xffffffff
	noValue64  = -2
)

// count reads a number of 0 or more; anything else is 0.
func (s *sacctJSON) count() (int64, error) {
	v, err := s.number(0)
	return max(v, 0), err
}

// time reads seconds since 1970. 0 is none.
func (s *sacctJSON) time() (workload.Time, error) {
	v, err := s.number(0)
	if err != nil || v <= 0 || v > maxWhole {
		return workload.Unknown, err
	}
	return v * workload.Second, nil
}

// number reads a whole number in any of its shapes: 7, "7", {"set": true, "number": 7}.
// Where none is set, or it is without end, it is the one given.
func (s *sacctJSON) number(none int64) (int64, error) {
	c, err := s.peek()
	if err != nil {
		return none, err
	}
	switch c {
	case '"':
		text, err := s.str()
		return wholeOf(text, none), err
	case '[':
		return none, s.skip()
	case '{':
		set, infinite, v := true, false, none
		err := s.object(func(key string) (err error) {
			switch key {
			case "set":
				set, err = s.yes()
			case "infinite":
				infinite, err = s.yes()
			case "number":
				v, err = s.number(none)
			default:
				return s.skip()
			}
			return err
		})
		if !set || infinite {
			v = none
		}
		return v, err
	}
	text, err := s.word()
	return wholeOf(text, none), err
}

func wholeOf(text []byte, none int64) int64 {
	v, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		u, err := strconv.ParseUint(string(text), 10, 64)
		if err != nil {
			f, err := strconv.ParseFloat(string(text), 64)
			if err != nil || math.IsNaN(f) || math.Abs(f) > maxWhole {
				return none
			}
			return int64(f)
		}
		v = int64(u) //nolint:gosec // the highest bit says what it is per
	}
	if v == noValue32 || v == infinite32 || v == noValue64 || v == -1 {
		return none
	}
	return v
}

// yes reads true or false; what is neither is false.
func (s *sacctJSON) yes() (bool, error) {
	if c, err := s.peek(); err != nil || c == '{' || c == '[' || c == '"' {
		return false, s.skip()
	}
	w, err := s.word()
	return string(w) == "true", err
}

// string reads a text, or what stands for one: a number, or a list of texts, which is joined
// by commas; an object has none, nor has null.
func (s *sacctJSON) string() (string, error) {
	c, err := s.peek()
	if err != nil {
		return "", err
	}
	switch c {
	case '"':
		b, err := s.str()
		return s.intern(b), err
	case '{':
		return "", s.skip()
	case '[':
		var all []string
		err := s.array(func() error {
			v, err := s.string()
			if v != "" {
				all = append(all, v)
			}
			return err
		})
		return strings.Join(all, ","), err
	}
	b, err := s.word()
	if string(b) == "null" {
		return "", err
	}
	return s.intern(b), err
}

// plain is string for texts that are all different.
func (s *sacctJSON) plain() (string, error) {
	if c, err := s.peek(); err != nil || c != '"' {
		return s.string()
	}
	b, err := s.str()
	return strings.TrimSpace(string(b)), err
}

// mostKnown bounds how many texts are remembered.
const mostKnown = 1 << 16

// intern gives equal texts one copy.
func (s *sacctJSON) intern(b []byte) string {
	if v, ok := s.known[string(b)]; ok {
		return v
	}
	v := string(b)
	if len(s.known) < mostKnown {
		s.known[v] = v
	}
	return v
}
