package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/workload"
)

func takeOrder(p *Policy, f *file, root *yamlx.Node) error {
	at := root.At("order")
	if f.Order == nil {
		p.Order = []Term{{Kind: BySubmit}}
		return nil
	}
	if len(f.Order) == 0 {
		return at.Errorf("want at least one term, or no key at all (= submit)", "the order is empty")
	}
	for i := range f.Order {
		term, err := takeTerm(&f.Order[i], at.At(i))
		if err != nil {
			return err
		}
		if term.Kind != ByExpr && slices.ContainsFunc(p.Order, func(t Term) bool { return t.Kind == term.Kind }) {
			return at.At(i).Errorf("want it once; only the first decides", "%s stands in the order twice", term.Kind)
		}
		p.Order = append(p.Order, term)
	}
	terms := len(p.Order)
	if last := &p.Order[terms-1]; last.Kind == BySubmit && !last.Descending {
		terms--
	}
	if terms > MaxTerms {
		return at.At(MaxTerms).Errorf(fmt.Sprintf("want at most %d, a closing submit not counted", MaxTerms), "the order has %d terms", terms)
	}
	return nil
}

func takeTerm(f *fileTerm, at *yamlx.Node) (Term, error) {
	t := Term{Kind: TermKind(*f.By), Descending: f.Descending}
	for _, key := range at.Keys {
		if owner, ok := termKeys[key.Name]; ok && owner != t.Kind {
			return t, at.At(key.Name).Errorf(fmt.Sprintf("drop it, or use by: %s", owner), "%s does not belong to %s", key.Name, t.Kind)
		}
	}
	switch t.Kind {
	case ByAttained:
		return takeAttained(t, f, at)
	case ByMultifactor:
		return takeMultifactor(t, f, at)
	case ByExpr:
		return takeExpr(t, f, at)
	}
	return t, nil
}

func takeAttained(t Term, f *fileTerm, at *yamlx.Node) (Term, error) {
	if len(f.Thresholds) == 0 {
		return t, at.At("thresholds").Errorf("give at least one, in GPU-seconds, such as thresholds: [3250]", "attained has no thresholds")
	}
	for i, th := range f.Thresholds {
		if th == 0 || i > 0 && th <= f.Thresholds[i-1] {
			return t, at.At("thresholds", i).Errorf("want GPU-seconds that rise from above 0", "threshold %s is not above the one before it", th)
		}
		// A Milli of GPU-seconds is GPU-milliseconds.
		t.Thresholds = append(t.Thresholds, int64(th))
	}
	t.Promote = int64(f.Promote)
	return t, nil
}

func takeMultifactor(t Term, f *fileTerm, at *yamlx.Node) (Term, error) {
	m := &t.Multifactor
	*m = Multifactor{
		Age: f.Weights.Age, JobSize: f.Weights.JobSize, Priority: f.Weights.Priority, FairShare: f.Weights.FairShare,
		MaxAge: defaultMaxAge, HalfLife: defaultHalfLife,
		MaxPriority: f.MaxPriority, FavorSmall: f.FavorSmall, ByUser: f.UsageBy == 1,
	}
	weights := at.At("weights")
	for i, w := range []float64{m.Age, m.JobSize, m.Priority, m.FairShare} {
		if name := yamlx.Keys(fileWeights{})[i]; w < 0 {
			return t, weights.At(name).Errorf("want 0 or more", "weight %s is %g", name, w)
		}
	}
	if m.Age+m.JobSize+m.Priority+m.FairShare == 0 {
		return t, weights.Errorf("want one above 0 of "+strings.Join(yamlx.Keys(fileWeights{}), ", "), "multifactor has no weight above 0")
	}
	switch {
	case m.Priority > 0 && f.MaxPriority < 1:
		return t, at.At("maxPriority").Errorf("give the priority at which the factor is 1, such as maxPriority: 100", "weight priority needs maxPriority")
	case m.Priority == 0 && at.Get("maxPriority") != nil:
		return t, at.At("maxPriority").Errorf("drop it, or give weight priority", "maxPriority without the weight priority")
	}
	if err := takeFactorSpan(&m.MaxAge, f.MaxAge, at, "maxAge", "age", m.Age); err != nil {
		return t, err
	}
	return t, takeFactorSpan(&m.HalfLife, f.HalfLife, at, "halfLife", "fairShare", m.FairShare)
}

// takeFactorSpan reads a length of time that means something only with its weight.
func takeFactorSpan(to *workload.Span, given *yamlx.Duration, at *yamlx.Node, key, weight string, w float64) error {
	switch {
	case given == nil:
		return nil
	case *given < 1:
		return at.At(key).Errorf("want more than 0s", "%s is 0", key)
	case w == 0:
		return at.At(key).Errorf("drop it, or give weight "+weight, "%s without the weight %s", key, weight)
	}
	*to = workload.Span(*given)
	return nil
}

func takeExpr(t Term, f *fileTerm, at *yamlx.Node) (Term, error) {
	node := at.At("expr")
	if t.Text = strings.TrimSpace(f.Expr); t.Text == "" {
		return t, node.Errorf(`give one, such as expr: "job.gpus * job.estimate"`, "cel has no expr")
	}
	if CompileExpr == nil {
		return t, node.Errorf("use the other order terms", "this program is built without expressions")
	}
	var err error
	if t.Expr, err = CompileExpr(f.Expr); err != nil {
		var e *ExprError
		if errors.As(err, &e) {
			return t, node.ErrorfIn(e.Line, e.Col, e.Want, "%s", e.Msg)
		}
		return t, node.Errorf("", "%s", err.Error())
	}
	return t, nil
}
