package server

import (
	"time"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/internal/report"
	"github.com/escala-sched/escala/workload"
)

// at is a time of the journal as the API tells it, nil for one that is not known.
func (s *Server) at(t workload.Time) *time.Time {
	w := s.d.Wall(t)
	if w.IsZero() {
		return nil
	}
	return &w
}

// until is the same for a time that is 0 where there is none.
func (s *Server) until(t workload.Time) *time.Time {
	if t == 0 {
		return nil
	}
	return s.at(t)
}

// now is the present on the journal's clock.
func (s *Server) now() workload.Time { return s.d.Time(s.d.Now()) }

const second = workload.Second

// job renders a job; now is the journal's time.
func (s *Server) job(j *live.Job, now workload.Time) api.Job {
	w := j.Spec
	out := api.Job{ID: w.ID, Number: j.Number, Name: j.Name(), User: w.User, Team: w.Team, Partition: w.Partition, Kind: w.Kind.String(),
		State: j.Fate(), Need: w.Need.String(), GPUs: w.Need.TotalGPUs(), Priority: w.Priority, EstimateSeconds: w.Estimate / second, LimitSeconds: w.Limit / second,
		Submitted: s.d.Wall(w.Submit), Started: s.at(j.FirstStart()), Labels: own(w.Labels), By: j.EndedBy, Text: j.Text}
	if w.Contract.HasMinRuntime {
		m := w.Contract.MinRuntime / second
		out.MinRuntimeSeconds = &m
	}
	if !j.Phase.Alive() {
		out.Ended = s.at(j.Ended)
		exit := j.Exit
		if j.Phase == live.Ended && len(j.Runs) > 0 {
			out.Exit = &exit
		}
		if j.Phase == live.Refused {
			out.Text = report.Sentence(j.Refused, s.names())
		}
		now = j.Ended
	}
	out.Real = s.real(j.Real)
	out.GPUHours = hours(j.GPUTime(now))
	for h := fact.HoldOwner; h <= fact.HoldElsewhere; h++ {
		if j.Holds>>h&1 == 1 && j.Phase.Alive() {
			out.Holds = append(out.Holds, h.String())
			out.HeldBy = j.HeldBy
		}
	}
	for i := range j.Runs {
		if j.Runs[i].End == fact.JobStopped {
			out.Stops++
		}
	}
	if r := j.Run(); r != nil {
		out.Attempt, out.Nodes = r.Attempt, s.nodes(r.Place)
		switch j.Phase {
		case live.Starting, live.Running, live.Stopping:
			out.Running, out.Unallocated = s.at(r.Up), r.Unallocated
			out.Protected = s.until(r.Protected)
			if j.Phase == live.Stopping {
				out.LeavesBy = s.until(r.Deadline)
				out.Text = s.stopWhy(r)
			}
			if j.Lost {
				out.Text = "The world cannot see this run; its GPUs stay taken until it can."
			}
		}
	}
	return out
}

// runs renders the runs of a job.
func (s *Server) runs(j *live.Job) []api.JobRun {
	out := make([]api.JobRun, 0, len(j.Runs))
	for i := range j.Runs {
		r := &j.Runs[i]
		x := api.JobRun{Attempt: r.Attempt, Decided: s.d.Wall(r.Decided), Started: s.at(r.Up), Ended: s.at(r.Left), Nodes: s.nodes(r.Place), GPUs: r.Count,
			Unallocated: r.Unallocated, Why: report.Sentence(r.Why, s.names()), Text: r.Text, LostSeconds: r.Lost / second}
		if r.StopWhy.Code != 0 {
			x.StopWhy = s.stopWhy(r)
		}
		if r.Left != workload.Unknown {
			exit := r.Exit
			x.Exit = &exit
			switch r.End {
			case fact.JobFinished:
				x.End = r.Outcome.String()
			case fact.JobStopped:
				x.End = r.Cause.String()
			default:
				x.End, x.Exit = r.End.String(), nil
			}
		}
		out = append(out, x)
	}
	return out
}

// stopWhy says why a run was told to stop.
func (s *Server) stopWhy(r *live.JobRun) string {
	return report.StopSentence(r.StopWhy, r.Unallocated && s.d.Header().Policy.Sharing != nil, s.names())
}

func (s *Server) nodes(place []fact.Grant) []string {
	all := s.cfg.World.Cluster().Nodes
	var out []string
	for _, g := range place {
		if g.Node >= 0 && int(g.Node) < len(all) && (len(out) == 0 || out[len(out)-1] != all[g.Node].Name) {
			out = append(out, all[g.Node].Name)
		}
	}
	return out
}

// own are the labels without those that the daemon reads itself.
func own(labels map[string]string) map[string]string {
	out := make(map[string]string, len(labels))
	for k, v := range labels {
		switch k {
		case live.LabelName, live.LabelThrottle, live.LabelBegin, live.LabelRetries:
		default:
			out[k] = v
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// hours turns milli-GPU x ms into GPU-hours.
func hours(v int64) float64 { return float64(v) / 3.6e9 }

// names names jobs and times in sentences.
func (s *Server) names() report.Namer { return namer{s} }

type namer struct{ s *Server }

func (n namer) Job(i int32) string {
	if js := n.s.d.Some([]int32{i}); len(js) > 0 {
		return "job " + js[0].Spec.ID
	}
	return "another job"
}

func (n namer) Time(t workload.Time) string {
	return n.s.d.Wall(t).UTC().Format("2006-01-02 15:04:05Z")
}
