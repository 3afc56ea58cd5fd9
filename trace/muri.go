package trace

import (
	"strconv"

	"github.com/escala-sched/escala/workload"
)

// muriFormat is the job table of Muri (Zhao et al., SIGCOMM'22), derived from
// Philly. Its times are milliseconds.
var muriFormat = Format{
	Name:  "muri",
	Title: "Muri (SIGCOMM'22): Philly-derived traces, milliseconds",
	Detect: func(head []byte, name string) bool {
		return headerHas(head, append([]string{"iterations", "model_name"}, muriColumns...)...)
	},
	Read: readMuri,
}

var muriColumns = []string{"job_id", "num_gpu", "submit_time", "duration"}

func readMuri(in *Input) (*workload.Workload, error) {
	t, err := openTable(in, muriColumns...)
	if err != nil {
		return nil, err
	}
	b := newBuilder(in)
	b.w.Licence = "Apache-2.0 (Zhao et al., SIGCOMM 2022)"
	err = t.each(b, func(line int) {
		submit, ok := parseWhole(t.get("submit_time"))
		duration, okDuration := parseWhole(t.get("duration"))
		gpus, okGPUs := parseCount(t.get("num_gpu"))
		switch {
		case !ok || submit < 0:
			b.drop(line, causeSubmit)
		case !okDuration:
			b.drop(line, causeDuration)
		case !okGPUs:
			b.drop(line, causeGPUs)
		default:
			priority, _ := strconv.ParseInt(t.get("priority"), 10, 64)
			b.add(line, workload.Job{
				ID: t.keep("job_id"), Submit: submit, Need: workload.Need{GPUs: gpus}, Priority: priority,
				Kind: workload.KindTraining, Labels: b.label("model", b.text(t.get("model_name"))),
			}, actual(duration, workload.OutcomeCompleted))
		}
	})
	if err != nil {
		return nil, err
	}
	b.note("Interleaving columns (resource_time_*) are not read.")
	return b.finish()
}
