package journal

import (
	"math/bits"
	"strconv"
	"unicode/utf8"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// Lines are written by hand: a simulation writes millions of them.

// number appends a field whose key comes with its comma and quotes.
func number(b []byte, key string, v int64) []byte {
	return strconv.AppendInt(append(b, key...), v, 10)
}

// nonZero appends a field unless it is 0, which is then its default.
func nonZero(b []byte, key string, v int64) []byte {
	if v == 0 {
		return b
	}
	return number(b, key, v)
}

// text appends a field unless it is empty.
func text(b []byte, key, v string) []byte {
	if v == "" {
		return b
	}
	return appendString(append(b, key...), v)
}

// word appends a field whose value needs no escapes.
func word(b []byte, key, v string) []byte {
	return append(append(append(b, key...), v...), '"')
}

// appendString appends s as a JSON string. Bytes that are no UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		n := 1
		if c >= utf8.RuneSelf {
			var r rune
			if r, n = utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
		}
		b = append(b, s[from:i]...)
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, "\ufffd"...)
		}
		i += n
		from = i
	}
	return append(append(b, s[from:]...), '"')
}

const hex = "0123456789abcdef"

// AppendFact appends the line of a fact, its newline included. Facts of kinds that carry a
// job, budgets, a window or a plan must have it.
func AppendFact(b []byte, f *fact.Fact) []byte {
	b = number(b, `{"t":`, f.At)
	b = word(b, `,"fact":"`, f.Kind.String())
	switch f.Kind {
	case fact.BudgetsChanged:
		if f.Epoch != workload.Unknown {
			b = number(b, `,"epoch_ms":`, f.Epoch)
		}
		b = appendString(append(b, `,"name":`...), f.Budgets.Name)
		b = appendString(append(b, `,"yaml":`...), string(f.Budgets.YAML()))
		return said(b, f)
	case fact.WindowSet, fact.WindowLifted:
		return said(appendWindow(b, f), f)
	case fact.NodeDown, fact.NodeUp, fact.NodeDrained, fact.NodeResumed:
		b = number(b, `,"node":`, int64(f.Node))
		return said(b, f)
	case fact.ClockStepped:
		return said(nonZero(b, `,"kept":`, f.Kept), f)
	case fact.JobHeld, fact.JobReleased:
		b = number(b, `,"job":`, int64(f.Job))
		return said(word(b, `,"hold":"`, f.Hold.String()), f)
	case fact.JobObserved:
		return said(appendObserved(b, f), f)
	case fact.JobEdited:
		b = number(b, `,"job":`, int64(f.Job))
		return said(number(b, `,"priority":`, f.Priority), f)
	case fact.JobAdopted:
		b = number(b, `,"job":`, int64(f.Job))
		b = nonZero(b, `,"tasks":`, int64(f.Tasks))
		b = appendPlace(append(b, `,"place":[`...), f.Place)
		return said(b, f)
	case fact.PlanProposed:
		return append(appendPlan(b, f.Plan), '}', '\n')
	case fact.JobSubmitted:
		b = number(b, `,"job":`, int64(f.Job))
		b = nonZero(b, `,"est":`, f.Estimate)
		b = appendJob(append(b, `,"spec":`...), f.Submitted)
		return said(b, f)
	case fact.JobCancelled, fact.SessionActive:
		b = number(b, `,"job":`, int64(f.Job))
		return said(b, f)
	case fact.DemandChanged:
		b = number(b, `,"job":`, int64(f.Job))
		b = number(b, `,"gpus":`, int64(f.Demand))
		return append(b, '}', '\n')
	}
	b = number(b, `,"job":`, int64(f.Job))
	b = number(b, `,"try":`, int64(f.Attempt))
	switch f.Kind {
	case fact.SessionIdle:
		b = number(b, `,"since":`, f.Since)
		return append(b, '}', '\n')
	case fact.StartFailed:
		if f.Node >= 0 {
			b = number(b, `,"node":`, int64(f.Node))
		}
	case fact.JobFinished:
		if f.Outcome != 0 {
			b = word(b, `,"outcome":"`, f.Outcome.String())
		}
	case fact.JobStopped:
		if f.Cause != fact.CauseNone {
			b = word(b, `,"cause":"`, f.Cause.String())
		}
	}
	b = nonZero(b, `,"kept":`, f.Kept)
	b = nonZero(b, `,"lost":`, f.Lost)
	b = nonZero(b, `,"restart":`, f.Restart)
	return said(nonZero(b, `,"exit":`, int64(f.Exit)), f)
}

// appendObserved writes what really happened to a job.
func appendObserved(b []byte, f *fact.Fact) []byte {
	b = number(b, `,"job":`, int64(f.Job))
	if f.Since != workload.Unknown {
		b = number(b, `,"since":`, f.Since)
	}
	if f.Until != workload.Unknown {
		b = number(b, `,"until":`, f.Until)
	}
	if f.Outcome != 0 {
		b = word(b, `,"outcome":"`, f.Outcome.String())
	}
	return nonZero(b, `,"exit":`, int64(f.Exit))
}

// said ends a fact with who asked for it and what there is to read.
func said(b []byte, f *fact.Fact) []byte {
	b = text(b, `,"by":`, f.By)
	b = text(b, `,"text":`, f.Text)
	return append(b, '}', '\n')
}

// AppendTimer appends the line that says that time alone led to a decision at a time.
func AppendTimer(b []byte, at workload.Time) []byte {
	return append(number(b, `{"t":`, at), `,"fact":"timer"}`+"\n"...)
}

// AppendAction appends the line of an action.
func AppendAction(b []byte, a *fact.Action) []byte {
	b = number(b, `{"t":`, a.At)
	b = word(b, `,"do":"`, a.Do.String())
	b = number(b, `,"job":`, int64(a.Job))
	b = nonZero(b, `,"try":`, int64(a.Attempt))
	if a.For >= 0 {
		b = number(b, `,"for":`, int64(a.For))
	}
	b = nonZero(b, `,"tasks":`, int64(a.Tasks))
	b = nonZero(b, `,"gpus":`, int64(a.Count))
	if a.Milli != int64(a.Count)*1000 {
		b = nonZero(b, `,"milli":`, a.Milli)
	}
	b = nonZero(b, `,"until":`, a.Until)
	if a.Unallocated {
		b = append(b, `,"unalloc":true`...)
	}
	if len(a.Place) > 0 {
		b = appendPlace(append(b, `,"place":[`...), a.Place)
	}
	r := &a.Reason
	if r.Code != 0 {
		b = word(b, `,"why":"`, r.Code.String())
	}
	if r.For >= 0 {
		b = number(b, `,"why_job":`, int64(r.For))
	}
	b = nonZero(b, `,"have":`, int64(r.Have))
	b = nonZero(b, `,"want":`, int64(r.Want))
	b = nonZero(b, `,"block":`, int64(r.Block))
	b = nonZero(b, `,"why_until":`, r.Until)
	return append(b, '}', '\n')
}

// appendPlace writes each grant as [node, "set of GPUs", milli, cpu, memory,
// count], without the trailing elements that are at their defaults.
func appendPlace(b []byte, place []fact.Grant) []byte {
	for i := range place {
		g := &place[i]
		b = append(b, '[')
		b = strconv.AppendInt(b, int64(g.Node), 10)
		b = append(b, ',', '"')
		b = strconv.AppendUint(b, g.GPUs, 16)
		b = append(b, '"')
		rest := [...]int64{int64(g.Milli), g.CPU, g.Memory, int64(g.Count)}
		usual := [...]int64{1000, 0, 0, int64(bits.OnesCount64(g.GPUs))}
		n := len(rest)
		for n > 0 && rest[n-1] == usual[n-1] {
			n--
		}
		for _, v := range rest[:n] {
			b = strconv.AppendInt(append(b, ','), v, 10)
		}
		b = append(b, ']', ',')
	}
	b[len(b)-1] = ']'
	return b
}
