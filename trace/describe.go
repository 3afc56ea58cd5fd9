package trace

import (
	"slices"

	"github.com/escala-sched/escala/workload"
)

// Info says what is in a workload. Times are seconds.
type Info struct {
	Name    string `json:"name"`
	Format  string `json:"format"`
	Source  string `json:"source"`
	Licence string `json:"licence,omitempty"`
	Hash    string `json:"sha256,omitempty"`
	// Epoch is the Unix time of the workload's time 0, in seconds; absent where it has no calendar.
	Epoch *float64 `json:"epoch_unix,omitempty"`
	Rows  int      `json:"rows"`
	Jobs  int      `json:"jobs"`
	// GPUJobs ask for at least part of a GPU, FractionalJobs for a part, GangJobs for several tasks.
	GPUJobs        int `json:"gpu_jobs"`
	FractionalJobs int `json:"fractional_jobs"`
	GangJobs       int `json:"gang_jobs"`
	// Services are the real-time applications among the jobs.
	Services []ServiceInfo `json:"services,omitempty"`
	// First and Last submission, and the span between them.
	First float64 `json:"first_submit"`
	Last  float64 `json:"last_submit"`
	Span  float64 `json:"span"`
	// GPUHours of all jobs run to their end without interruption.
	GPUHours float64 `json:"gpu_hours"`
	MaxGPUs  int64   `json:"max_gpus"`
	Duration Spread  `json:"duration"`
	// Wait is the recorded wait, over the jobs whose start is recorded.
	Wait       *Spread     `json:"recorded_wait,omitempty"`
	Sizes      []SizeCount `json:"sizes"`
	Users      int         `json:"users"`
	Teams      []NameCount `json:"teams"`
	Partitions []NameCount `json:"partitions"`
	GPUTypes   []NameCount `json:"gpu_types"`
	Estimates  Accuracy    `json:"estimates"`
	Outcomes   []NameCount `json:"outcomes"`
	Dropped    []DropCount `json:"dropped"`
	Notes      []string    `json:"notes"`
	// Load is GPU-time asked for over GPU-time there in the span; absent where no
	// capacity was given or the span is 0.
	Load *float64 `json:"offered_load,omitempty"`
}

// Spread summarises a distribution, in seconds.
type Spread struct {
	Mean   float64 `json:"mean"`
	Median float64 `json:"median"`
	P90    float64 `json:"p90"`
	Max    float64 `json:"max"`
}

// SizeCount counts the jobs of one size with their part of the GPU-time.
type SizeCount struct {
	GPUs     int64   `json:"gpus"`
	Jobs     int     `json:"jobs"`
	GPUHours float64 `json:"gpu_hours"`
}

// NameCount counts jobs and GPU-time by name.
type NameCount struct {
	Name     string  `json:"name"`
	Jobs     int     `json:"jobs"`
	GPUHours float64 `json:"gpu_hours"`
}

// DropCount is a cause with the number of rows it cost.
type DropCount struct {
	Cause string `json:"cause"`
	Count int    `json:"count"`
	First string `json:"first,omitempty"`
}

// Accuracy says how good the predictions of the run time are: the estimate, or
// the limit where there is no estimate.
type Accuracy struct {
	// Given is the number of jobs with an estimate or a limit.
	Given int `json:"given"`
	// Exact, Over and Under compare it with the duration.
	Exact int `json:"exact"`
	Over  int `json:"over"`
	Under int `json:"under"`
	// MedianRatio and MeanAccuracy are of duration / estimate: its median, and
	// the mean of min(duration, estimate) / max(duration, estimate).
	MedianRatio  float64 `json:"median_ratio"`
	MeanAccuracy float64 `json:"mean_accuracy"`
}

// Describe summarises a workload. capacityGPUs is the size of the cluster that
// the offered load is for; 0 leaves the load out.
func Describe(w *workload.Workload, capacityGPUs int64) Info {
	d := describer{sizes: map[int64]*SizeCount{}, users: map[string]bool{}}
	info := Info{Name: w.Name, Format: w.Format, Source: w.Source, Licence: w.Licence, Hash: w.Hash,
		Rows: w.Rows, Jobs: len(w.Jobs), Notes: append([]string{}, w.Notes...), Dropped: []DropCount{}}
	if w.Epoch != workload.Unknown {
		e := float64(w.Epoch) / 1000
		info.Epoch = &e
	}
	for _, drop := range w.Dropped {
		info.Dropped = append(info.Dropped, DropCount(drop))
	}
	for i := range w.Jobs {
		d.add(&w.Jobs[i], &w.Actual[i], &info)
	}
	t0, t1 := w.Window()
	info.First, info.Last, info.Span = sec(t0), sec(t1), sec(t1-t0)
	info.Duration = spread(d.durations)
	if len(d.waits) > 0 {
		s := spread(d.waits)
		info.Wait = &s
	}
	info.Sizes = make([]SizeCount, 0, len(d.sizes))
	for _, s := range d.sizes {
		info.Sizes = append(info.Sizes, *s)
	}
	slices.SortFunc(info.Sizes, func(a, b SizeCount) int { return int(a.GPUs - b.GPUs) })
	info.Users = len(d.users)
	info.Teams, info.Partitions = d.teams.sorted(), d.partitions.sorted()
	info.GPUTypes, info.Outcomes = d.types.sorted(), d.outcomes.sorted()
	if n := len(d.ratios); n > 0 {
		slices.Sort(d.ratios)
		info.Estimates.MedianRatio = (d.ratios[(n-1)/2] + d.ratios[n/2]) / 2
		info.Estimates.MeanAccuracy /= float64(n)
	}
	if capacityGPUs > 0 && info.Span > 0 {
		load := info.GPUHours * 3600 / (info.Span * float64(capacityGPUs))
		info.Load = &load
	}
	return info
}

type describer struct {
	sizes                              map[int64]*SizeCount
	users                              map[string]bool
	teams, partitions, types, outcomes counts
	durations, waits                   []int64
	ratios                             []float64
}

func (d *describer) add(j *workload.Job, a *workload.Actual, info *Info) {
	gpus := int64(j.Need.TotalGPUs())
	hours := float64(j.Need.TotalMilli()) / 1000 * float64(a.Duration) / float64(workload.Hour)
	info.GPUHours += hours
	info.MaxGPUs = max(info.MaxGPUs, gpus)
	if gpus > 0 {
		info.GPUJobs++
	}
	if j.Need.Fractional() {
		info.FractionalJobs++
	}
	if j.Need.Tasks > 1 {
		info.GangJobs++
	}
	if j.Service != nil {
		info.Services = append(info.Services, describeService(j, a))
	}
	s := d.sizes[gpus]
	if s == nil {
		s = &SizeCount{GPUs: gpus}
		d.sizes[gpus] = s
	}
	s.Jobs++
	s.GPUHours += hours
	if j.User != "" {
		d.users[j.User] = true
	}
	d.teams.add(j.Team, hours)
	d.partitions.add(j.Partition, hours)
	d.types.add(j.Need.GPUTypes, hours)
	d.outcomes.add(a.Outcome.String(), hours)
	d.durations = append(d.durations, a.Duration)
	if a.Start != workload.Unknown && a.Start >= j.Submit {
		d.waits = append(d.waits, a.Start-j.Submit)
	}
	predicted := j.Estimate
	if predicted == 0 {
		predicted = j.Limit
	}
	if predicted > 0 {
		d.compare(a.Duration, predicted, &info.Estimates)
	}
}

func (d *describer) compare(duration, predicted int64, acc *Accuracy) {
	acc.Given++
	switch {
	case predicted == duration:
		acc.Exact++
	case predicted > duration:
		acc.Over++
	default:
		acc.Under++
	}
	d.ratios = append(d.ratios, float64(duration)/float64(predicted))
	acc.MeanAccuracy += float64(min(duration, predicted)) / float64(max(duration, predicted))
}

// counts collects NameCounts; jobs without the name are left out.
type counts map[string]*NameCount

func (c *counts) add(name string, hours float64) {
	if name == "" {
		return
	}
	n := (*c)[name]
	if n == nil {
		if *c == nil {
			*c = counts{}
		}
		n = &NameCount{Name: name}
		(*c)[name] = n
	}
	n.Jobs++
	n.GPUHours += hours
}

// sorted orders by jobs, most first, then by name.
func (c counts) sorted() []NameCount {
	out := make([]NameCount, 0, len(c))
	for _, n := range c {
		out = append(out, *n)
	}
	slices.SortFunc(out, func(a, b NameCount) int {
		if a.Jobs != b.Jobs {
			return b.Jobs - a.Jobs
		}
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return out
}

func sec(ms int64) float64 { return float64(ms) / 1000 }

// spread sorts its argument.
func spread(v []int64) Spread {
	if len(v) == 0 {
		return Spread{}
	}
	slices.Sort(v)
	var sum float64
	for _, x := range v {
		sum += float64(x)
	}
	n := len(v)
	return Spread{
		Mean:   sum / float64(n) / 1000,
		Median: (sec(v[(n-1)/2]) + sec(v[n/2])) / 2,
		P90:    sec(v[min(n-1, (9*n+9)/10-1)]),
		Max:    sec(v[n-1]),
	}
}
