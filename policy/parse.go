package policy

import (
	"regexp"
	"strings"

	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/workload"
)

// Load reads and checks a policy file.
func Load(path string) (*Policy, error) {
	return yamlx.Load("policy", path, Parse)
}

// Parse checks the bytes of a policy file and fills in its defaults. file is
// its name, for errors and as the default of the policy's name. An error says
// file, line, column and what would be right.
func Parse(file string, data []byte) (*Policy, error) {
	p, err := parse(file, data)
	if err != nil {
		return nil, err
	}
	p.Hash = yamlx.Hash(data)
	return p, nil
}

var goodName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

const wantName = "want letters, digits, '.', '_' and '-' only"

func parse(name string, data []byte) (*Policy, error) {
	var f file
	root, err := yamlx.Decode(name, data, &f)
	if err != nil {
		return nil, err
	}
	p := &Policy{
		Description:     strings.TrimSpace(f.Description),
		Source:          strings.TrimSpace(f.Source),
		Blocking:        Blocking(f.Blocking),
		PerEvent:        f.Decide == 1,
		DefaultEstimate: DefaultEstimate,
	}
	for _, step := range []func(*Policy, *file, *yamlx.Node) error{
		takeText, takeOrder, takeSharing, takeHorizon, takeReservations, takePlacement, takePreemption, takeLimit, takeEstimates, takeSpans,
	} {
		if err := step(p, &f, root); err != nil {
			return nil, err
		}
	}
	if p.Name == "" {
		p.Name = yamlx.BaseName(name)
		if !goodName.MatchString(p.Name) {
			return nil, root.Errorf("give a name in the file", "the file's own name %q is no name for a policy", p.Name)
		}
	}
	return p, nil
}

func takeText(p *Policy, f *file, root *yamlx.Node) error {
	if f.Name != nil {
		if p.Name = *f.Name; !goodName.MatchString(p.Name) {
			return root.At("name").Errorf(wantName, "%q is no name for a policy", p.Name)
		}
	}
	if strings.Contains(p.Description, "\n") {
		return root.At("description").Errorf("say it in one sentence; comments may say more", "the description has several lines")
	}
	if strings.Contains(p.Source, "\n") {
		return root.At("source").Errorf("want one line", "the source has several lines")
	}
	return nil
}

func takeReservations(p *Policy, f *file, root *yamlx.Node) error {
	at := root.At("reservations")
	reserves := p.Blocking == EASY || p.Blocking == Conservative
	switch {
	case f.Reservations == nil:
		if p.Blocking == EASY {
			p.Depth = 1
		}
	case !reserves:
		return at.Errorf("drop it, or set blocking to easy or conservative", "blocking %s makes no reservations", p.Blocking)
	case *f.Reservations < 1:
		return at.Errorf("want at least 1; conservative without the key reserves for every job", "%d reservations", *f.Reservations)
	default:
		p.Depth = int(*f.Reservations)
	}
	return nil
}

func takePlacement(p *Policy, f *file, root *yamlx.Node) error {
	if f.Placement.By != nil {
		p.Placement.By = Placer(*f.Placement.By)
	}
	at := root.At("placement")
	if f.Placement.Level != "" && p.Placement.By != Topology {
		return at.At("level").Errorf("drop it, or use by: topology", "placement %s has no level", p.Placement.By)
	}
	if f.Placement.Seed != nil && p.Placement.By != Random {
		return at.At("seed").Errorf("drop it, or use by: random", "placement %s draws nothing at random", p.Placement.By)
	}
	p.Placement.Level = f.Placement.Level
	p.Placement.Seed = seedOf(f.Placement.Seed, p.Placement.By == Random)
	return nil
}

// seedOf keeps the seed 0 out of choices that draw nothing, so that equal
// policies are equal values.
func seedOf(given *uint64, drawn bool) uint64 {
	switch {
	case given != nil:
		return *given
	case drawn:
		return defaultSeed
	}
	return 0
}

func takeEstimates(p *Policy, f *file, root *yamlx.Node) error {
	if f.Estimates.Model != nil {
		p.Estimates.Model = EstimateModel(*f.Estimates.Model)
	}
	drawn := p.Estimates.Model == EstimateHelios
	if f.Estimates.Seed != nil && !drawn {
		return root.At("estimates", "seed").Errorf("drop it, or use model: helios", "the estimates model %s draws nothing at random", p.Estimates.Model)
	}
	p.Estimates.Seed = seedOf(f.Estimates.Seed, drawn)
	return nil
}

func takeSpans(p *Policy, f *file, root *yamlx.Node) error {
	timed := false
	for i := range p.Order {
		t := &p.Order[i]
		timed = timed || t.onGrid()
		if t.Kind == ByMultifactor && f.Interval == nil {
			p.Interval = defaultInterval
		}
	}
	if f.Interval != nil {
		if !timed {
			return root.At("interval").Errorf("drop it, or sort by wfp3, unicep, multifactor or an expression of now or wait",
				"no order term of this policy changes with time")
		}
		p.Interval = workload.Span(*f.Interval)
	}
	if f.DefaultEstimate != nil {
		if p.DefaultEstimate = workload.Span(*f.DefaultEstimate); p.DefaultEstimate < 1 {
			return root.At("defaultEstimate").Errorf("want more than 0s", "a job cannot be predicted to take no time")
		}
	}
	return nil
}
