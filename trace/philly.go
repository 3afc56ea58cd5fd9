package trace

import (
	"github.com/escala-sched/escala/workload"
)

// phillyFormat is the table into which Pollux, Sia and ElasticFlow processed
// Microsoft's Philly trace (Jeon et al., ATC'19): timestamp, duration, num_gpus,
// gpu_time, cluster. It is not sorted and has no job IDs.
var phillyFormat = Format{
	Name:  "philly",
	Title: "Philly (Microsoft, ATC'19), processed table",
	Detect: func(head []byte, name string) bool {
		return headerHas(head, phillyColumns...)
	},
	Read: readPhilly,
}

var phillyColumns = []string{"timestamp", "duration", "num_gpus", "cluster"}

const (
	phillyLicence = "CC-BY-4.0 (Microsoft; Jeon et al., USENIX ATC 2019)"
	phillyZone    = " Philly's are local Pacific times: unless a zone was given, the hour around 2017-11-05 (end of daylight saving) is off by one."
)

func readPhilly(in *Input) (*workload.Workload, error) {
	t, err := openTable(in, phillyColumns...)
	if err != nil {
		return nil, err
	}
	b := newBuilder(in)
	b.calendar = true
	b.w.Licence = phillyLicence
	err = t.each(b, func(line int) {
		submit, ok := parseClock(t.get("timestamp"), in.location())
		gpus, okGPUs := parseCount(t.get("num_gpus"))
		duration, okDuration := parseMilliLoose(t.get("duration"))
		switch {
		case !ok:
			b.drop(line, causeSubmit)
		case !okGPUs:
			b.drop(line, causeGPUs)
		case !okDuration:
			b.drop(line, causeDuration)
		default:
			vc := b.text(t.get("cluster"))
			b.add(line, workload.Job{
				ID: "row" + itoa(b.w.Rows), Team: vc, Partition: vc, Submit: submit, Need: workload.Need{GPUs: gpus},
			}, actual(duration, workload.OutcomeUnknown))
		}
	})
	if err != nil {
		return nil, err
	}
	b.note("The table has no job IDs; row7 is the seventh row of data.")
	b.note(in.zoneNote() + phillyZone)
	return b.finish()
}
