package server

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/workload"
)

// maxBatch bounds the body of a batch of submissions.
const maxBatch = 64 << 20

type submitIn struct {
	Key  string `header:"Idempotency-Key" maxLength:"200" doc:"makes a submission that is sent twice one"`
	Body api.Submit
}

type submitOut struct {
	Location string `header:"Location"`
	Body     api.Submitted
}

func (s *Server) submitRoutes() {
	o := op(http.MethodPost, "/jobs", "submit-job", "Queue a job, or an array of jobs")
	o.DefaultStatus = http.StatusCreated
	huma.Register(s.api, o, s.submit)
	o = op(http.MethodPost, "/jobs/batch", "submit-batch", "Queue many jobs at once")
	o.MaxBodyBytes = maxBatch
	huma.Register(s.api, o, s.submitBatch)
}

func (s *Server) submit(ctx context.Context, in *submitIn) (*submitOut, error) {
	sub, warnings, err := s.submission(ctx, &in.Body)
	if err != nil {
		return nil, s.problem(err)
	}
	if err := s.limits.jobs(s.who(ctx).User, max(len(sub.Indices), 1)); err != nil {
		return nil, err
	}
	sub.Key = in.Key
	done, err := s.d.Submit(ctx, sub)
	if err != nil {
		return nil, s.problem(err)
	}
	return &submitOut{Location: "/api/v1/jobs/" + done.ID, Body: api.Submitted{ID: done.ID, Jobs: done.Jobs, Again: done.Again, Warnings: warnings}}, nil
}

type batchIn struct{ Body api.Batch }

type batchOut struct{ Body api.BatchResult }

func (s *Server) submitBatch(ctx context.Context, in *batchIn) (*batchOut, error) {
	out := &batchOut{Body: api.BatchResult{Results: make([]api.BatchItem, len(in.Body.Jobs))}}
	var list []*live.Submission
	var of []int
	for i := range in.Body.Jobs {
		sub, _, err := s.submission(ctx, &in.Body.Jobs[i])
		if err != nil {
			out.Body.Results[i].Error = err.Error()
			continue
		}
		list, of = append(list, sub), append(of, i)
	}
	jobs := 0
	for _, sub := range list {
		jobs += max(len(sub.Indices), 1)
	}
	if err := s.limits.jobs(s.who(ctx).User, jobs); err != nil {
		return nil, err
	}
	done, err := s.d.SubmitAll(ctx, list)
	if err != nil {
		return nil, s.problem(err)
	}
	for k, x := range done {
		if x.Err != nil {
			out.Body.Results[of[k]].Error = x.Err.Error()
		} else {
			out.Body.Results[of[k]].ID = x.Done.ID
		}
	}
	return out, nil
}

// submission turns a body into what the daemon takes. warnings are for its owner.
func (s *Server) submission(ctx context.Context, b *api.Submit) (sub *live.Submission, warnings []string, err error) {
	who := s.who(ctx)
	user := b.User
	if user == "" {
		user = who.User
	}
	team := b.Team
	if team == "" {
		team = s.homeTeam(user)
	}
	if err := s.maySubmit(ctx, user, team); err != nil {
		return nil, nil, err
	}
	kind, ok := workload.ParseKind(b.Kind)
	if !ok {
		return nil, nil, &live.Invalid{Field: "kind", Msg: fmt.Sprintf("%q is no kind of work", b.Kind)}
	}
	n := &b.Need
	j := workload.Job{User: user, Team: team, Partition: b.Partition, Kind: kind, Priority: b.Priority, Estimate: b.EstimateSeconds * second, Limit: b.LimitSeconds * second,
		Need: workload.Need{Tasks: n.Tasks, GPUs: n.GPUs, Milli: n.GPUMilli, MinTasks: n.MinTasks, MaxTasks: n.MaxTasks, PerNode: n.PerNode, CPU: n.CPUMilli, Memory: n.MemoryMiB,
			GPUTypes: strings.Join(n.GPUTypes, "|"), Within: n.Within, Nodes: strings.Join(n.Nodes, "|"), Span: n.Span}}
	if b.Deadline != nil {
		j.Deadline = s.d.Time(*b.Deadline)
	}
	c := &b.Contract
	j.Contract = workload.Contract{CheckpointInterval: c.CheckpointSeconds * second, CheckpointOnStop: c.CheckpointOnStop, RestartCost: c.RestartCostSeconds * second,
		Grace: c.GraceSeconds * second, NotResumable: c.NotResumable}
	if c.MinRuntimeSeconds != nil {
		j.Contract.HasMinRuntime, j.Contract.MinRuntime = true, *c.MinRuntimeSeconds*second
	}
	for _, a := range b.After {
		when, ok := workload.ParseCondition(strings.Replace(a.When, "not-ok", "notok", 1)) // files spell it in one word
		if !ok {
			return nil, nil, &live.Invalid{Field: "after", Msg: fmt.Sprintf("%q is no condition; want any, ok or not-ok", a.When)}
		}
		j.After = append(j.After, workload.Dependency{Job: a.Job, When: when})
	}
	if j.Labels = maps.Clone(b.Labels); j.Labels == nil {
		j.Labels = map[string]string{}
	}
	for k, v := range b.Labels {
		if strings.HasPrefix(k, "escala.") || k == live.LabelName || len(k) > 200 || len(v) > 2000 {
			return nil, nil, &live.Invalid{Field: "labels", Msg: fmt.Sprintf("label %.60q is not free for use, or too long", k)}
		}
	}
	if b.Name != "" {
		j.Labels[live.LabelName] = b.Name
	}
	if b.Retries > 0 {
		j.Labels[live.LabelRetries] = strconv.Itoa(b.Retries)
	}
	if len(j.Labels) == 0 {
		j.Labels = nil
	}
	sub = &live.Submission{Job: j, Indices: b.Indices, Throttle: b.Throttle, Hold: b.Hold, By: who.User}
	if err := indices(b.Indices); err != nil {
		return nil, nil, err
	}
	if b.Begin != nil {
		sub.Begin = *b.Begin
	}
	if s.cfg.Payload != nil {
		if sub.Payload, err = s.cfg.Payload(b.Run, who, user); err != nil {
			return nil, nil, &live.Invalid{Field: "run", Msg: err.Error()}
		}
	}
	return sub, append(s.unsure(b, &j, s.d.Now()), s.warnings(&j)...), nil
}

// indices holds that an array's indices are numbers of their own.
func indices(list []int32) error {
	seen := make(map[int32]bool, len(list))
	for _, i := range list {
		if i < 0 || seen[i] {
			return &live.Invalid{Field: "array", Msg: fmt.Sprintf("index %d is negative, or comes twice", i)}
		}
		seen[i] = true
	}
	return nil
}

// warnings says what the owner of a job may not have meant.
func (s *Server) warnings(j *workload.Job) []string {
	var out []string
	h := s.d.Header()
	c := s.d.Defaults().Fill(j.Contract)
	if p := h.Policy.Sharing; p != nil {
		if c.HasMinRuntime && c.MinRuntime > p.MinRuntimeCap {
			out = append(out, fmt.Sprintf("its minimum runtime is cut to %s, the most that policy %s gives", yamlx.Duration(p.MinRuntimeCap).String(), h.Policy.Name))
		}
		if c.HasMinRuntime && c.MinRuntime > 0 && !c.CheckpointOnStop && min(c.MinRuntime, p.MinRuntimeCap) < c.RestartCost+c.CheckpointInterval {
			out = append(out, "it is protected for less time than a restart and a checkpoint take: stopped at the end of it, it has got no further")
		}
	}
	if j.Limit > 0 && j.Estimate > j.Limit {
		out = append(out, "its estimate is beyond its limit: it will be ended before it is expected to be done")
	}
	return out
}
