package trace

import "github.com/escala-sched/escala/workload"

// ServiceInfo says what a real-time application needs while it runs: really, where
// that is told, else by its forecast.
type ServiceInfo struct {
	Name string `json:"name"`
	// Span is how long it runs, in seconds.
	Span float64 `json:"span"`
	// Peak and Mean demand in GPUs, and the GPU-hours that it comes to.
	Peak     int32   `json:"peak"`
	Mean     float64 `json:"mean"`
	GPUHours float64 `json:"gpu_hours"`
	// HeldGPUHours is what its gang takes that holds the highest demand all the time;
	// the other figures of a workload count this.
	HeldGPUHours float64 `json:"held_gpu_hours"`
}

func describeService(j *workload.Job, a *workload.Actual) ServiceInfo {
	c := a.Demand
	if c == nil {
		c = &j.Service.Demand
	}
	from, to := j.Submit, j.Submit+a.Duration
	out := ServiceInfo{Name: j.ID, Span: sec(a.Duration), Peak: c.Max(from, to), GPUHours: gpuTime(c, from, to) / float64(workload.Hour),
		HeldGPUHours: float64(j.Need.TotalMilli()) / 1000 * float64(a.Duration) / float64(workload.Hour)}
	if a.Duration > 0 {
		out.Mean = gpuTime(c, from, to) / float64(a.Duration)
	}
	return out
}

// gpuTime is the area under a curve in [from, to), in GPU x ms. It takes whole rounds
// of a repeated curve at once: O(values), however long the time.
func gpuTime(c *workload.Curve, from, to workload.Time) float64 {
	n := int64(len(c.Values))
	if n == 0 || from >= to {
		return 0
	}
	// The area from the start of the curve to t, negative before it.
	area := func(t workload.Time) float64 {
		if t <= c.Start {
			return float64(t-c.Start) * float64(c.Values[0])
		}
		rest, sum := t-c.Start, 0.0
		if round := c.Step * n; c.Repeat && rest >= round {
			sum = float64(rest/round) * float64(c.Step) * total(c.Values)
			rest %= round
		}
		k := min(rest/c.Step, n)
		sum += float64(c.Step) * total(c.Values[:k])
		return sum + float64(rest-k*c.Step)*float64(c.Values[min(k, n-1)])
	}
	return area(to) - area(from)
}

func total(values []int32) float64 {
	sum := 0.0
	for _, v := range values {
		sum += float64(v)
	}
	return sum
}
