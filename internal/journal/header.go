package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// Version of the format. A reader refuses journals of a higher one.
const Version = 1

// Header is the first line: all that the facts and actions below stand on.
type Header struct {
	// Engine is the version of the program that decided.
	Engine  string
	Cluster *cluster.Spec
	Policy  *policy.Policy
	// Workload says where the jobs came from; it holds no jobs.
	Workload workload.Workload
	Assume   sim.Assumptions
	Faults   sim.Faults
	Forecast sim.Forecast
	// Until is the time at which the run was to be cut, 0 = not.
	Until workload.Time
}

// HeaderOf returns the header of a simulation; version is the program's.
func HeaderOf(o *sim.Options, version string) *Header {
	h := &Header{Engine: version, Cluster: o.Cluster, Policy: o.Policy, Assume: o.Assume, Faults: o.Faults, Forecast: o.Forecast, Until: o.Until}
	w := o.Workload
	h.Workload = workload.Workload{Name: w.Name, Hash: w.Hash, Source: w.Source, Format: w.Format, Licence: w.Licence, Epoch: w.Epoch}
	return h
}

// defaults are the assumptions as the engine takes them.
func (h *Header) defaults() engine.Defaults {
	return engine.Defaults{Checkpoint: h.Assume.Checkpoint, RestartCost: h.Assume.RestartCost, Grace: h.Assume.Grace, StartLatency: h.Assume.StartLatency}
}

type jsonHeader struct {
	Escala   string        `json:"escala"`
	Version  int           `json:"version"`
	Engine   string        `json:"engine,omitempty"`
	Workload *jsonWorkload `json:"workload"`
	Policy   *jsonPolicy   `json:"policy"`
	Assume   jsonAssume    `json:"assume"`
	Faults   *jsonFaults   `json:"faults,omitempty"`
	Forecast *jsonForecast `json:"forecast,omitempty"`
	Until    int64         `json:"until_ms,omitempty"`
	Cluster  *jsonCluster  `json:"cluster"`
}

type jsonWorkload struct {
	Name    string `json:"name,omitempty"`
	Epoch   *int64 `json:"epoch_ms,omitempty"`
	Source  string `json:"source,omitempty"`
	Format  string `json:"format,omitempty"`
	Licence string `json:"licence,omitempty"`
	Hash    string `json:"sha256,omitempty"`
}

type jsonPolicy struct {
	Name string `json:"name"`
	Hash string `json:"sha256,omitempty"`
	YAML string `json:"yaml"`
}

type jsonAssume struct {
	Checkpoint   int64 `json:"checkpoint_ms"`
	RestartCost  int64 `json:"restart_cost_ms"`
	Grace        int64 `json:"grace_ms"`
	StartLatency int64 `json:"start_latency_ms"`
}

type jsonFaults struct {
	MTBF int64  `json:"mtbf_ms"`
	MTTR int64  `json:"mttr_ms"`
	Seed uint64 `json:"seed"`
}

type jsonForecast struct {
	Error float64 `json:"error"`
	Seed  uint64  `json:"seed"`
}

// baseName is a policy's name without the estimates model that a command line
// may have put behind it: files do not take the '@'.
func baseName(name string) string {
	base, _, _ := strings.Cut(name, "@")
	return base
}

// AppendHeader appends the line that begins a journal, or another segment of it. It is an
// error where the header has no cluster or no policy.
func AppendHeader(b []byte, h *Header) ([]byte, error) {
	if h.Cluster == nil || h.Policy == nil {
		return b, errors.New("journal: a header needs cluster and policy")
	}
	w, p := &h.Workload, *h.Policy
	p.Name = baseName(p.Name)
	j := jsonHeader{Escala: "journal", Version: Version, Engine: h.Engine,
		Workload: &jsonWorkload{Name: w.Name, Source: w.Source, Format: w.Format, Licence: w.Licence, Hash: w.Hash},
		Policy:   &jsonPolicy{Name: h.Policy.Name, Hash: p.Hash, YAML: string(p.YAML())},
		Assume:   jsonAssume(h.Assume), Until: h.Until, Cluster: toCluster(h.Cluster)}
	if w.Epoch != workload.Unknown {
		j.Workload.Epoch = &w.Epoch
	}
	if h.Faults != (sim.Faults{}) {
		j.Faults = (*jsonFaults)(&h.Faults)
	}
	if h.Forecast.Error != 0 { // without an error the seed draws nothing
		j.Forecast = (*jsonForecast)(&h.Forecast)
	}
	line, err := json.Marshal(j)
	if err != nil {
		return b, fmt.Errorf("journal: header: %w", err)
	}
	return append(append(b, line...), '\n'), nil
}

// parseHeader reads the first line; msg and want say what is wrong.
func parseHeader(line []byte) (h *Header, msg, want string) {
	var j jsonHeader
	if err := json.Unmarshal(line, &j); err != nil {
		return nil, "no header: " + strings.TrimPrefix(err.Error(), "json: "), `a first line {"escala":"journal","version":1,...}`
	}
	switch {
	case j.Escala == "":
		return nil, "no header", `a first line {"escala":"journal","version":1,...}`
	case j.Escala != "journal":
		return nil, "a file of escala that holds " + quote(j.Escala), `"escala":"journal"`
	case j.Version < 1 || j.Version > Version:
		return nil, fmt.Sprintf("version %d of the format", j.Version), "version 1 (a newer escala reads newer ones)"
	case j.Cluster == nil:
		return nil, "the header names no cluster", `"cluster":{...}`
	case j.Policy == nil:
		return nil, "the header names no policy", `"policy":{"name":...,"yaml":...}`
	}
	h = &Header{Engine: j.Engine, Assume: sim.Assumptions(j.Assume), Until: j.Until, Workload: workload.Workload{Epoch: workload.Unknown}}
	var err error
	if h.Cluster, err = j.Cluster.spec(); err != nil {
		return nil, "the header's cluster: " + err.Error(), ""
	}
	if h.Policy, err = policy.Parse("the header's policy", []byte(j.Policy.YAML)); err != nil {
		return nil, err.Error(), ""
	}
	if baseName(j.Policy.Name) != h.Policy.Name {
		return nil, "the header calls its policy both " + quote(j.Policy.Name) + " and " + quote(h.Policy.Name), "one name"
	}
	h.Policy.Name, h.Policy.Hash = j.Policy.Name, j.Policy.Hash
	if w := j.Workload; w != nil {
		h.Workload = workload.Workload{Name: w.Name, Source: w.Source, Format: w.Format, Licence: w.Licence, Hash: w.Hash, Epoch: workload.Unknown}
		if w.Epoch != nil {
			h.Workload.Epoch = *w.Epoch
		}
	}
	if j.Faults != nil {
		h.Faults = sim.Faults(*j.Faults)
	}
	if j.Forecast != nil {
		h.Forecast = sim.Forecast(*j.Forecast)
	}
	for _, v := range []int64{j.Assume.Checkpoint, j.Assume.RestartCost, j.Assume.Grace, j.Assume.StartLatency} {
		if v < -1 || v > maxTime {
			return nil, fmt.Sprintf("the header assumes a length of time of %d ms", v), "0 to 9e15 ms"
		}
	}
	return h, "", ""
}
