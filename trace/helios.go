package trace

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/escala-sched/escala/workload"
)

// heliosFormat is SenseTime's Helios (Hu et al., SC'21): the published
// cluster_log.csv, and the table of a two-VC slice with the columns of a
// simulator, whose submission times are microseconds.
var heliosFormat = Format{
	Name:  "helios",
	Title: "Helios (SenseTime, SC'21): cluster_log.csv, or the 2-VC slice",
	Detect: func(head []byte, name string) bool {
		return headerHas(head, heliosColumns...) || headerHas(head, heliosSliceColumns...)
	},
	Read: readHelios,
}

var (
	heliosColumns      = []string{"job_id", "user", "vc", "gpu_num", "cpu_num", "state", "submit_time", "start_time", "duration"}
	heliosSliceColumns = []string{"job_id", "user", "tenant", "submit_time", "num_chips", "duration_s", "final_status"}
)

const heliosLicence = "CC-BY-4.0 (Hu et al., SC'21, doi 10.1145/3458817.3476223)"

func readHelios(in *Input) (*workload.Workload, error) {
	if headerHas(in.Data[:min(len(in.Data), headSize)], "tenant", "num_chips") {
		return readHeliosSlice(in)
	}
	t, err := openTable(in, heliosColumns...)
	if err != nil {
		return nil, err
	}
	b := newBuilder(in)
	b.calendar = true
	b.w.Licence = heliosLicence
	err = t.each(b, func(line int) {
		vc := b.text(t.get("vc"))
		j := workload.Job{ID: t.keep("job_id"), User: b.text(t.get("user")), Team: vc, Partition: vc}
		b.addLogRow(t, line, j)
	})
	if err != nil {
		return nil, err
	}
	b.note(b.in.zoneNote() + " Helios ran in China (UTC+8, no daylight saving).")
	b.note("A job is a total of GPUs; node_num, which is where it landed, is not read.")
	return b.finish()
}

// addLogRow reads the columns that Helios and Acme share: gpu_num, cpu_num,
// state, submit_time, start_time, end_time, duration.
func (b *builder) addLogRow(t *table, line int, j workload.Job) {
	loc := b.in.location()
	outcome, known := endState(t.get("state"))
	submit, ok := parseClock(t.get("submit_time"), loc)
	gpus, okGPUs := parseCount(t.get("gpu_num"))
	// "nan" is how a data frame writes a missing CPU count.
	cpus, okCPUs := parseMilliLoose(t.get("cpu_num"))
	switch {
	case !known && liveState(t.get("state")):
		b.drop(line, causeRunning)
		return
	case !ok:
		b.drop(line, causeSubmit)
		return
	case !okGPUs:
		b.drop(line, causeGPUs)
		return
	case noTime(t.get("start_time")) && outcome == workload.OutcomeCancelled:
		b.drop(line, causeCancelled)
		return
	case noTime(t.get("start_time")):
		b.drop(line, causeNoStart)
		return
	}
	duration, ok := parseMilliLoose(t.get("duration"))
	if !ok {
		b.drop(line, causeDuration)
		return
	}
	j.Submit = submit
	j.Need.GPUs = gpus
	if okCPUs && cpus > 0 {
		j.Need.CPU = cpus
	}
	a := actual(duration, outcome)
	if at, ok := parseClock(t.get("start_time"), loc); ok {
		a.Start = at
	}
	if at, ok := parseClock(t.get("end_time"), loc); ok {
		a.End = at
	}
	b.add(line, j, a)
}

func readHeliosSlice(in *Input) (*workload.Workload, error) {
	t, err := openTable(in, heliosSliceColumns...)
	if err != nil {
		return nil, err
	}
	b := newBuilder(in)
	b.w.Licence = heliosLicence
	b.w.Epoch = sliceEpoch(in)
	err = t.each(b, func(line int) {
		vc := b.text(t.get("tenant"))
		outcome, _ := endState(t.get("final_status"))
		submit, ok := parseMicro(t.get("submit_time"))
		gpus, okGPUs := parseCount(t.get("num_chips"))
		duration, okDuration := parseMilliLoose(t.get("duration_s"))
		switch {
		case !ok || submit < 0:
			b.drop(line, causeSubmit)
			return
		case !okGPUs:
			b.drop(line, causeGPUs)
			return
		case !okDuration:
			b.drop(line, causeDuration)
			return
		}
		estimate, _ := parseMilliLoose(t.get("walltime_limit_s"))
		b.add(line, workload.Job{
			ID: t.keep("job_id"), User: b.text(t.get("user")), Team: vc, Partition: vc, Submit: submit,
			Need:     workload.Need{GPUs: gpus, GPUTypes: b.text(t.get("chip_type"))},
			Estimate: max(estimate, 0),
		}, actual(duration, outcome))
	})
	if err != nil {
		return nil, err
	}
	b.note("walltime_limit_s is read as the estimate; in the published slice it equals the duration (a perfect estimate).")
	return b.finish()
}

// parseMicro reads microseconds into milliseconds.
func parseMicro(s string) (int64, bool) {
	if v, err := strconv.ParseInt(s, 10, 64); err == nil {
		return v / 1000, v/1000 <= maxWhole*1000
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.Abs(f) > 1e18 {
		return 0, false
	}
	return int64(f / 1000), true
}

var sliceWindow = regexp.MustCompile(`window (\d{4}-\d\d-\d\d)\.\.`)

// sliceEpoch reads the start of the window from the comment header; the slice's
// times are offsets from it.
func sliceEpoch(in *Input) workload.Time {
	head := string(in.Data[:min(len(in.Data), headSize)])
	for line := range strings.SplitSeq(head, "\n") {
		if !strings.HasPrefix(line, "#") {
			break
		}
		if m := sliceWindow.FindStringSubmatch(line); m != nil {
			if t, err := time.ParseInLocation(time.DateOnly, m[1], in.location()); err == nil {
				return t.UnixMilli()
			}
		}
	}
	return workload.Unknown
}
