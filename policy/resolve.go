package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/escala-sched/escala/internal/yamlx"
)

// Resolve returns the policy that a command line names: a shipped one ("easy")
// or a file ("my/policy.yaml"). A suffix "@given", "@perfect", "@limit" or
// "@helios" gives it another estimates model, and its name that suffix: the
// same policy with worse information is another line in a report.
func Resolve(ref string) (*Policy, error) {
	base, model, err := splitModel(ref)
	if err != nil {
		return nil, err
	}
	p, err := find(base)
	if err != nil {
		return nil, err
	}
	if model >= 0 {
		p.Name += "@" + estimateNames[model]
		drawn := EstimateModel(model) == EstimateHelios
		if p.Estimates.Model != EstimateModel(model) {
			p.Estimates = Estimates{Model: EstimateModel(model), Seed: seedOf(nil, drawn)}
		}
	}
	return p, nil
}

// splitModel cuts the suffix off. An '@' inside a path is part of the path.
func splitModel(ref string) (base string, model int, err error) {
	i := strings.LastIndexByte(ref, '@')
	if i < 0 || isPath(ref[i+1:]) {
		return ref, -1, nil
	}
	base, suffix := ref[:i], ref[i+1:]
	if model = slices.Index(estimateNames[:], suffix); model < 0 {
		return "", 0, fmt.Errorf("policy %q: %q is no estimates model; %s", ref, suffix, yamlx.Choice(suffix, estimateNames[:]))
	}
	return base, model, nil
}

func isPath(s string) bool {
	return strings.HasSuffix(s, ".yaml") || strings.HasSuffix(s, ".yml") || strings.ContainsAny(s, `/\`)
}

func find(ref string) (*Policy, error) {
	if isPath(ref) {
		return Load(ref)
	}
	if p, ok := Shipped(ref); ok {
		return p, nil
	}
	names := Names()
	hint := ""
	if near := yamlx.Nearest(ref, names); near != "" {
		hint = "did you mean " + near + "? "
	}
	return nil, fmt.Errorf("no policy %q is shipped; %swant the path of a .yaml file or one of %s", ref, hint, strings.Join(names, ", "))
}
