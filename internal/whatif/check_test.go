package whatif

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/escala-sched/escala/internal/journal"
	"github.com/escala-sched/escala/internal/report"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

func ask(t *rapid.T, data []byte, q *Question) *report.Comparison {
	j, err := Read("j.jsonl", data)
	if err != nil {
		t.Fatal(err)
	}
	if q.To == 0 {
		q.To = j.End
	}
	c, err := j.Ask(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestTheReplayIsHeldToWhatHappened: where run times are known the recorded policy's replay
// has the figures that the record has.
func TestTheReplayIsHeldToWhatHappened(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := options(t, rapid.SampledFrom(policies()).Draw(t, "policy"))
		data, ok := record(t, o)
		if !ok {
			return
		}
		from := workload.Time(rapid.IntRange(-1, 60).Draw(t, "from")) * 1000
		c := ask(t, data, &Question{From: from, truth: known(o.Workload)})
		was, is := &c.Check.Recorded, &c.Check.Replay
		for name, pair := range map[string][2]float64{
			"occupancy": {was.Occupancy, is.Occupancy}, "wait": {was.Wait.Mean, is.Wait.Mean}, "wait p90": {was.Wait.P90, is.Wait.P90}, "jct": {was.JCT.Mean, is.JCT.Mean},
			"preemptions": {float64(was.Preemptions), float64(is.Preemptions)}, "node failures": {float64(was.NodeFailures), float64(is.NodeFailures)},
			"lost": {was.LostGPUHours, is.LostGPUHours}, "restart": {was.RestartGPUHours, is.RestartGPUHours}, "jobs": {float64(was.Jobs), float64(is.Jobs)},
			"unfinished": {float64(was.Unfinished), float64(is.Unfinished)}, "withdrawn": {float64(was.Withdrawn), float64(is.Withdrawn)}, "queue time": {was.QueueTime.Mean, is.QueueTime.Mean},
			"slowdown": {was.BoundedSlowdown.Mean, is.BoundedSlowdown.Mean}, "jain": {was.Jain, is.Jain},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-9 {
				t.Fatalf("%s from %d: %s was %v and is %v", o.Policy.Name, from, name, pair[0], pair[1])
			}
		}
	})
}

// TestAShorterJournalOnlyDraws: a journal that was cut knows the run times of those that had
// ended by then, and draws the others, each longer than what was done of it.
func TestAShorterJournalOnlyDraws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := options(t, rapid.SampledFrom(policies()).Draw(t, "policy"))
		data, ok := record(t, o)
		if !ok {
			return
		}
		j, err := Read("j.jsonl", data)
		if err != nil {
			t.Fatal(err)
		}
		to := workload.Time(rapid.IntRange(0, int(j.End)/1000).Draw(t, "to")) * 1000
		work := func(to workload.Time, seed uint64) (map[string]workload.Actual, map[string]bool) {
			s, err := j.cut(-1, to)
			if err != nil {
				t.Fatal(err)
			}
			c, err := s.scene(seed, nil)
			if err != nil {
				t.Fatal(err)
			}
			all, sure := map[string]workload.Actual{}, map[string]bool{}
			for i := range c.w.Jobs {
				b := c.book(int32(i))
				all[b.spec.ID], sure[b.spec.ID] = c.w.Actual[i], b.fate == finished
				if c.w.Actual[i].Duration < b.done {
					t.Fatalf("job %s did %d of %d", b.spec.ID, b.done, c.w.Actual[i].Duration)
				}
			}
			return all, sure
		}
		full, _ := work(j.End, 1)
		short, sure := work(to, 1)
		again, _ := work(to, 1)
		for id, a := range short {
			if again[id] != a {
				t.Fatalf("job %s takes %v, and again %v", id, a, again[id])
			}
			if sure[id] && full[id].Duration != a.Duration {
				t.Fatalf("job %s took %d, and in the shorter journal %d", id, full[id].Duration, a.Duration)
			}
		}
	})
}

// TestSameSeedSameAnswer: all of an answer hangs on the journal, the question and the seed.
func TestSameSeedSameAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := options(t, rapid.SampledFrom(policies()).Draw(t, "policy"))
		data, ok := record(t, o)
		if !ok {
			return
		}
		easy, _ := policy.Shipped("fifo-skip")
		var texts [2]bytes.Buffer
		for i := range texts {
			c := ask(t, data, &Question{From: 20_000, To: 50_000, Policies: []*policy.Policy{easy}, Seed: 3})
			if err := json.NewEncoder(&texts[i]).Encode([]any{c.Policies[0].Metrics, c.Policies[1].Metrics, c.Check}); err != nil {
				t.Fatal(err)
			}
		}
		if texts[0].String() != texts[1].String() {
			t.Fatal("two answers to one question")
		}
	})
}

// TestSegmentsTellTheSame: a journal that was cut into segments, the file beginning with a
// snapshot, answers for the stretch behind it as the whole one does.
func TestSegmentsTellTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := options(t, rapid.SampledFrom(policies()).Draw(t, "policy"))
		data, ok := record(t, o)
		if !ok {
			return
		}
		whole, err := Read("j.jsonl", data)
		if err != nil {
			t.Fatal(err)
		}
		from := workload.Time(rapid.IntRange(0, int(whole.End)/1000).Draw(t, "from")) * 1000
		s, err := whole.cut(from, whole.End)
		if err != nil {
			t.Fatal(err)
		}
		tail, err := s.segment()
		if err != nil {
			t.Fatal(err)
		}
		if s.whole || len(s.rest) == 0 {
			return
		}
		figures := func(data []byte) metrics.Metrics {
			return ask(t, data, &Question{From: s.from, To: whole.End, truth: known(o.Workload)}).Policies[0].Metrics
		}
		a, b := figures(data), figures(tail)
		if a.Occupancy != b.Occupancy || a.Wait.Mean != b.Wait.Mean || a.JCT.Mean != b.JCT.Mean || a.Jobs != b.Jobs || a.Preemptions != b.Preemptions {
			t.Fatalf("%s from %d: %+v, and of the segment %+v", o.Policy.Name, from, a, b)
		}
		if _, err := journal.NewReader("x", bytes.NewReader(tail)); err != nil {
			t.Fatal(err)
		}
	})
}
