package report

import (
	"fmt"
	"strings"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// Namer gives jobs and times the names that readers know.
type Namer interface {
	Job(number int32) string
	Time(t workload.Time) string
}

// WindowNamer is a Namer that knows windows on nodes: which one keeps a node until a time, as in
// "node n1 is kept for maintenance from 2 p.m. until 4 p.m.".
type WindowNamer interface {
	Window(node int32, until workload.Time) (text string, ok bool)
}

// Names names the jobs of a workload by their IDs and times by its calendar.
func Names(w *workload.Workload) Namer { return workloadNames{w} }

type workloadNames struct{ w *workload.Workload }

func (n workloadNames) Job(i int32) string {
	if i < 0 || int(i) >= len(n.w.Jobs) {
		return "another job"
	}
	return "job " + n.w.Jobs[i].ID
}

func (n workloadNames) Time(t workload.Time) string { return moment(t, n.w.Epoch) }

// Sentence renders a reason: why an action was taken, or why a job waits.
func Sentence(r fact.Reason, names Namer) string {
	other := "another job"
	if r.For >= 0 {
		other = names.Job(r.For)
	}
	until := "a later time"
	if r.Until != workload.Never {
		until = names.Time(r.Until)
	}
	switch r.Code {
	case fact.InOrder:
		return "It was the first in order and fitted."
	case fact.Skipped:
		return "Jobs before it in order do not fit, and the policy lets it pass them."
	case fact.Adopted:
		return "The cluster's own scheduler started it there."
	case fact.BackfillEnds:
		return fmt.Sprintf("It was backfilled: by its estimate it ends by %s, when %s is to start.", until, other)
	case fact.BackfillSpare:
		return fmt.Sprintf("It was backfilled on GPUs that the reservation of %s does not need.", other)
	case fact.Promised:
		return promised(r.Until, until)
	case fact.Freed:
		return "The jobs that were stopped for it have left."
	case fact.GaveWay:
		return fmt.Sprintf("It was stopped for %s, which goes before it under the policy's preemption rule.", other)
	case fact.EarliestFit:
		return fmt.Sprintf("By the estimates of what runs, %s is the earliest time at which it fits.", until)
	case fact.NeverFits:
		return fmt.Sprintf("It can never run here: it needs %d, and even the empty cluster could give it only %d.", r.Want, r.Have)
	case fact.NoSuchType:
		return "It can never run here: the cluster has no GPU of a type that it allows."
	case fact.NoSuchPartition:
		return "It can never run here: no node of the cluster is in its partition."
	case fact.NoSuchLevel:
		return "It can never run here: the cluster names no such level of its topology."
	case fact.BlockedByHead:
		return fmt.Sprintf("%s is before it in the same queue and does not fit yet.", capital(other))
	case fact.TooFewFree:
		return fmt.Sprintf("It needs %s and %s free.", gpus(r.Want), are(r.Have))
	case fact.NoShape:
		return fmt.Sprintf("Enough GPUs are free (%d), but not in its shape: the largest usable block is %d of the %d it needs.", r.Have, r.Block, r.Want)
	case fact.WouldDelay:
		return fmt.Sprintf("It fits now, but would delay %s, which has a reservation at %s.", other, until)
	case fact.NotFreeable:
		return fmt.Sprintf("It needs %s, and preemption could free no more than %d.", gpus(r.Want), r.Have)
	case fact.NoVictims:
		return fmt.Sprintf("Enough work could give way in all, but no one place can be cleared: at most %d of the %s it needs.", r.Have, gpus(r.Want))
	case fact.CrossTeamOff:
		return "Under this policy only work of its own team may give way to it, and that is not enough."
	case fact.Leaving:
		return fmt.Sprintf("GPUs are held for %s until the jobs stopped for it have left.", other)
	case fact.Held:
		return heldBy(r.Want)
	case fact.Dependency:
		return fmt.Sprintf("It waits for %s to end.", other)
	case fact.Withdrawn:
		return "Its owner cancelled it."
	case fact.PlaceLost:
		return "A node of the place that was held for it takes no more work."
	case fact.DependencyFailed:
		return fmt.Sprintf("It can never start: %s ended in a way that does not satisfy its dependency.", other)
	case fact.InWindow:
		if w, ok := names.(WindowNamer); ok {
			if text, ok := w.Window(r.Block, r.Until); ok {
				return text + "."
			}
		}
		return fmt.Sprintf("A node is kept for maintenance or for others until %s.", until)
	case fact.Planned, fact.PlannedLater, fact.Unplanned, fact.Proposed, fact.OffPlan, fact.FollowsDemand:
		return planSentence(r, until)
	}
	return shareSentence(r, other, until)
}

// StopSentence renders the reason of a stop; unallocated tells that the run was charged to nobody, under
// a policy that shares: that is why it gave way, and no rule between jobs.
func StopSentence(r fact.Reason, unallocated bool, names Namer) string {
	if r.Code != fact.GaveWay || !unallocated {
		return Sentence(r, names)
	}
	text := "It ran unallocated: such work gives way at once to work that is charged"
	if r.For >= 0 {
		text += ", here to " + names.Job(r.For)
	}
	return text + "."
}

// planSentence renders the reasons of policies that plan the hours to come.
func planSentence(r fact.Reason, until string) string {
	switch {
	case r.Code == fact.Planned:
		return "The plan of the hours to come has it now."
	case r.Code == fact.PlannedLater:
		return fmt.Sprintf("The plan of the hours to come has it at %s.", until)
	case r.Code == fact.Unplanned:
		return fmt.Sprintf("The plan of the hours to come has no place for it until %s, where it ends.", until)
	case r.Code == fact.Proposed:
		return "The plan that was proposed has it now."
	case r.Code == fact.OffPlan:
		return fmt.Sprintf("The plan that was proposed had it at %s, but the GPUs that it named are not free.", until)
	case r.Have < r.Want:
		return fmt.Sprintf("It follows its demand: it needs %s, and can have only %d.", gpus(r.Want), r.Have)
	case r.Have > r.Want:
		return fmt.Sprintf("It follows its demand: it needs %s, and has %d.", gpus(r.Want), r.Have)
	case r.Want == 0:
		return "It follows its demand: it needs no GPU now."
	}
	return fmt.Sprintf("It follows its demand: it needs %s, and has as many.", gpus(r.Want))
}

// shareSentence renders the reasons of budgets, shares and contracts.
func shareSentence(r fact.Reason, other, until string) string {
	switch r.Code {
	case fact.ProtectionEnds:
		return fmt.Sprintf("It uses GPUs that are reserved for %s at %s, and its protection is over before.", other, until)
	case fact.BelowShare:
		return "Its account is below its share and was next in line."
	case fact.AboveShare:
		return "Its account has had its share, but nobody below theirs can use the place."
	case fact.Fill:
		return "It runs unallocated, on GPUs that nobody else can use now."
	case fact.CertainFit:
		return fmt.Sprintf("All protections in its place will have ended by %s: it starts then at the latest.", until)
	case fact.DateCame:
		return fmt.Sprintf("It was stopped for the reservation of %s, whose date is %s.", other, until)
	case fact.Protected:
		return fmt.Sprintf("What could give way is protected: %d of the %s it needs could be cleared, and the next protection of the rest ends at %s.", r.Have, gpus(r.Want), until)
	case fact.GuardOff:
		if r.Want == 0 {
			return "Others could be stopped for it, but with its own start counted its account would be served no less than theirs, or they are below their share themselves."
		}
		return fmt.Sprintf("Others could be stopped for it, but its account would hold %s of a share of %d.", gpus(r.Have), r.Want)
	case fact.RateLimited:
		return fmt.Sprintf("Allocated work may be stopped for others again at %s.", until)
	case fact.OverKill:
		return fmt.Sprintf("Making room would stop %s of work, and it may stop %d.", gpus(r.Have), r.Want)
	case fact.ReservedFor:
		return fmt.Sprintf("It fits, but only on nodes that are reserved for %s at %s, before its protection would be over.", other, until)
	case fact.DebugNodes:
		return "It fits, but only on nodes that are kept for short debug jobs."
	case fact.BudgetShort:
		return fmt.Sprintf("The hard budget of its account has %d GPU-h left of the %d that it needs.", r.Have, r.Want)
	case fact.NoAccount:
		return "No account of the budgets takes its team and user."
	case fact.TeamLimit:
		return fmt.Sprintf("Its team may hold %s of such work at once, and would hold %d.", gpus(r.Want), r.Have)
	case fact.Drained:
		return "It was stopped since its node is wanted for repair."
	case fact.Idle:
		return "It was stopped since its session has had nothing to do."
	}
	return ""
}

func are(n int32) string {
	if n == 1 {
		return "1 is"
	}
	return fmt.Sprintf("%d are", n)
}

func gpus(n int32) string {
	if n == 1 {
		return "1 GPU"
	}
	return fmt.Sprintf("%d GPUs", n)
}

func capital(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}

// heldBy says why a job is kept out of the queue: bit h of holds is set for each [fact.HoldBy] h.
func heldBy(holds int32) string {
	texts := [...]string{fact.HoldOwner: "its owner holds it back", fact.HoldOperator: "an operator holds it back",
		fact.HoldThrottle: "as many jobs of its array run as may run at once", fact.HoldBackOff: "its last start failed, and it is tried again a little later",
		fact.HoldBegin:     "it is not to start before a time that its owner named",
		fact.HoldElsewhere: "the cluster's own scheduler keeps it back"}
	var why []string
	for h, t := range texts {
		if holds>>h&1 == 1 {
			why = append(why, t)
		}
	}
	return "It does not wait for GPUs: " + strings.Join(why, "; ") + "."
}

// promised is the reason of a start whose reservation has come, or of a job that waits for it.
func promised(at workload.Time, until string) string {
	if at == 0 {
		return "The time of its reservation has come."
	}
	return "It has a reservation, and starts at " + until + " at the latest."
}
