package trace

import (
	"github.com/escala-sched/escala/workload"
)

// acmeFormat is Shanghai AI Lab's Acme (Hu et al., NSDI'24): trace_seren.csv and
// trace_kalos.csv. Times carry their zone.
var acmeFormat = Format{
	Name:  "acme",
	Title: "Acme (Shanghai AI Lab, NSDI'24): trace_seren.csv, trace_kalos.csv",
	Detect: func(head []byte, name string) bool {
		return headerHas(head, acmeColumns...)
	},
	Read: readAcme,
}

// kalosConvertedFormat is a table of Kalos jobs converted for a network
// simulator; its network columns are invented by the converter.
var kalosConvertedFormat = Format{
	Name:  "acme-converted",
	Title: "Acme's Kalos jobs converted for a network simulator",
	Detect: func(head []byte, name string) bool {
		return headerHas(head, kalosColumns...)
	},
	Read: readKalosConverted,
}

var (
	acmeColumns = []string{"job_id", "user", "gpu_num", "cpu_num", "type", "state", "submit_time", "start_time", "duration"}
	// node_num is deliberately missing above: it is where a job landed.
	kalosColumns = []string{"job_id", "arrival_time", "num_iteration", "gpu_workers", "gpu_per_worker"}
)

const acmeLicence = "CC-BY-4.0 (Hu et al., NSDI 2024)"

func readAcme(in *Input) (*workload.Workload, error) {
	t, err := openTable(in, acmeColumns...)
	if err != nil {
		return nil, err
	}
	b := newBuilder(in)
	b.calendar = true
	b.w.Licence = acmeLicence
	err = t.each(b, func(line int) {
		kind := t.get("type")
		b.addLogRow(t, line, workload.Job{
			ID: t.keep("job_id"), User: b.text(t.get("user")), Team: b.text(kind),
			Kind: acmeKind(kind), Labels: b.label("type", b.text(kind)),
		})
	})
	if err != nil {
		return nil, err
	}
	b.note("Acme names no team; the workload type (Pretrain, SFT, Evaluation, ...) stands in its place.")
	b.note("Memory per pod (Kalos) is not read: the number of pods is not recorded.")
	return b.finish()
}

// acmeKind maps the type of work: everything that trains is training, and
// evaluation runs a model over a data set.
func acmeKind(s string) workload.Kind {
	switch s {
	case "Pretrain", "SFT", "MLLM", "RLHF":
		return workload.KindTraining
	case "Evaluation":
		return workload.KindBatchInference
	case "Debug":
		return workload.KindInteractive
	}
	return workload.KindUnspecified
}

// kalosIterations per second: the converter wrote num_iteration = 2 x duration.
const kalosIterations = 2

func readKalosConverted(in *Input) (*workload.Workload, error) {
	t, err := openTable(in, kalosColumns...)
	if err != nil {
		return nil, err
	}
	b := newBuilder(in)
	b.w.Licence = acmeLicence
	err = t.each(b, func(line int) {
		submit, ok := parseMilliLoose(t.get("arrival_time"))
		iterations, okDuration := parseMilliLoose(t.get("num_iteration"))
		tasks, okTasks := parseCount(t.get("gpu_workers"))
		gpus, okGPUs := parseCount(t.get("gpu_per_worker"))
		switch {
		case !ok || submit < 0:
			b.drop(line, causeSubmit)
		case !okDuration:
			b.drop(line, causeDuration)
		case !okGPUs || !okTasks || tasks < 1:
			b.drop(line, causeGPUs)
		default:
			b.add(line, workload.Job{
				ID: t.keep("job_id"), Submit: submit, Need: workload.Need{Tasks: tasks, GPUs: gpus}, Kind: workload.KindTraining,
			}, actual(iterations/kalosIterations, workload.OutcomeCompleted))
		}
	})
	if err != nil {
		return nil, err
	}
	b.note("Duration is num_iteration / 2 seconds; the network columns, invented by the converter, are not read.")
	return b.finish()
}
