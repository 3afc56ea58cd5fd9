package trace

import (
	"io"
	"strconv"
	"strings"

	"github.com/escala-sched/escala/workload"
)

// columns of sacct that are read; the first of a list that is there and not empty tells.
const (
	colID = iota
	colIDRaw
	colUser
	colAccount
	colPartition
	colQOS
	colCluster
	colState
	colSubmit
	colEligible
	colStart
	colEnd
	colElapsedRaw
	colElapsed
	colLimitRaw
	colLimit
	colPriority
	colNNodes
	colAllocNodes
	colNCPUS
	colAllocCPUS
	colReqCPUS
	colReqMem
	colReqTRES
	colAllocTRES
	colReqGRES
	colAllocGRES
	colNodeList
	colConstraints
	colComment
	colLicenses
	colReservation
	columnCount
)

var sacctColumns = [columnCount]string{"JobID", "JobIDRaw", "User", "Account", "Partition", "QOS", "Cluster", "State", "Submit", "Eligible", "Start", "End",
	"ElapsedRaw", "Elapsed", "TimelimitRaw", "Timelimit", "Priority", "NNodes", "AllocNodes", "NCPUS", "AllocCPUS", "ReqCPUS", "ReqMem", "ReqTRES", "AllocTRES",
	"ReqGRES", "AllocGRES", "NodeList", "Constraints", "Comment", "Licenses", "Reservation"}

// sacctText reads records by column name.
type sacctText struct {
	in  *Input
	at  [columnCount]int // place in the record, -1 = no such column
	rec []string
	out SlurmRecord
}

// scanSacctText reads the text of sacct. line is the first.
func scanSacctText(in *Input, line string, r io.Reader, each func(*SlurmRecord) error) error {
	s := &sacctText{in: in}
	records := sacctRecords{delim: "|", line: 1, in: r}
	names := xdmodColumns
	if !isXDMoD(line) {
		for _, d := range sacctDelimiters {
			if strings.Contains(line, d) {
				records.delim = d
				break
			}
		}
		names = strings.Split(line, records.delim)
		if err := records.skipLine(); err != nil {
			return err
		}
	}
	for c := range s.at {
		s.at[c] = -1
		for i, name := range names {
			if name == sacctColumns[c] {
				s.at[c] = i
				break
			}
		}
	}
	if err := s.columns(); err != nil {
		return err
	}
	records.want = len(names)
	for {
		fields, line, whole, more := records.next()
		if !more {
			return records.err
		}
		s.rec = fields
		if s.out = (SlurmRecord{Line: line, Fault: causeFields}); whole {
			s.read(line)
		}
		if err := each(&s.out); err != nil {
			return err
		}
	}
}

// columns checks that the header has what a replay needs.
func (s *sacctText) columns() error {
	missing := ""
	switch {
	case !s.has(colID, colIDRaw):
		missing = "JobID"
	case !s.has(colSubmit):
		missing = "Submit"
	case !s.has(colState):
		missing = "State"
	case !s.has(colElapsed, colElapsedRaw) && !(s.has(colStart) && s.has(colEnd)):
		missing = "Elapsed"
	case !s.has(colAllocTRES, colReqTRES, colAllocGRES, colReqGRES):
		missing = "AllocTRES (nothing else tells GPUs)"
	}
	if missing != "" {
		return s.in.fail(1, "column "+missing+" is missing", "the columns of "+sacctCommand)
	}
	return nil
}

// has tells whether one of the columns is there.
func (s *sacctText) has(columns ...int) bool {
	for _, c := range columns {
		if s.at[c] >= 0 {
			return true
		}
	}
	return false
}

// get returns the first non-empty field of the columns.
func (s *sacctText) get(columns ...int) string {
	for _, c := range columns {
		if i := s.at[c]; i >= 0 {
			if v := strings.TrimSpace(s.rec[i]); v != "" {
				return v
			}
		}
	}
	return ""
}

func (s *sacctText) read(line int) {
	start, end := s.get(colStart), s.get(colEnd)
	r := &s.out
	*r = SlurmRecord{
		Line: line, ID: s.get(colID, colIDRaw), User: s.get(colUser), Account: s.get(colAccount), Partition: s.get(colPartition), QOS: s.get(colQOS),
		Cluster: s.get(colCluster), State: s.get(colState), Submit: s.time(s.get(colSubmit)), Eligible: s.time(s.get(colEligible)), Start: s.time(start), End: s.time(end),
		NoStart: s.has(colStart) && noTime(start), NoEnd: s.has(colEnd) && noTime(end), Elapsed: s.elapsed(), Limit: s.limit(),
		ReqMem: s.get(colReqMem), ReqTRES: s.get(colReqTRES), AllocTRES: s.get(colAllocTRES), ReqGRES: s.get(colReqGRES), AllocGRES: s.get(colAllocGRES),
		Constraints: s.get(colConstraints), Comment: s.get(colComment), Licenses: s.get(colLicenses), Reserved: s.get(colReservation) != "",
	}
	if list := s.get(colNodeList); !noNodes(list) {
		r.NodeList = list
	}
	r.Priority, _ = strconv.ParseInt(s.get(colPriority), 10, 64)
	r.Nodes = whole(s.get(colNNodes, colAllocNodes))
	r.CPUs = whole(s.get(colNCPUS, colAllocCPUS, colReqCPUS))
}

func (s *sacctText) time(text string) workload.Time {
	if t, ok := parseClock(text, s.in.location()); ok {
		return t
	}
	return workload.Unknown
}

// whole reads a count, 0 where it cannot be read.
func whole(s string) int64 {
	v, ok := parseCount(s)
	if !ok || v < 0 {
		return 0
	}
	return int64(v)
}

// elapsed is the run time that the record names.
func (s *sacctText) elapsed() workload.Span {
	if n, ok := parseWhole(s.get(colElapsedRaw)); ok && n >= 0 {
		return n * workload.Second
	}
	if d, ok := slurmSpan(s.get(colElapsed)); ok {
		return d
	}
	return -1
}

// limit is the time limit; UNLIMITED and Partition_Limit are none.
func (s *sacctText) limit() workload.Span {
	if n, ok := parseWhole(s.get(colLimitRaw)); ok && n > 0 {
		return n * workload.Minute
	}
	d, _ := slurmSpan(s.get(colLimit))
	return d
}
