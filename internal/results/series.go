package results

import (
	"io"
	"math"
	"strconv"

	"github.com/escala-sched/escala/metrics"
)

// seriesRow is one bin: means over its time.
type seriesRow struct {
	Time           float64 `parquet:"time"`
	Span           float64 `parquet:"span"`
	InstalledGPUs  float64 `parquet:"installed_gpus"`
	AvailableGPUs  float64 `parquet:"available_gpus"`
	AssignedGPUs   float64 `parquet:"assigned_gpus"`
	HeldGPUs       float64 `parquet:"held_gpus"`
	FragmentedGPUs float64 `parquet:"fragmented_gpus"`
	WaitingGPUs    float64 `parquet:"waiting_gpus"`
	WaitingJobs    float64 `parquet:"waiting_jobs"`
	RunningJobs    float64 `parquet:"running_jobs"`
	// Unallocated and parked work are parts of AssignedGPUs; stops are counts.
	UnallocatedGPUs      float64 `parquet:"unallocated_gpus"`
	SquatGPUs            float64 `parquet:"squat_gpus"`
	Preemptions          float64 `parquet:"preemptions"`
	AllocatedPreemptions float64 `parquet:"allocated_preemptions"`
	LostGPUHours         float64 `parquet:"lost_gpu_hours"`
}

const seriesHeader = "time,span,installed_gpus,available_gpus,assigned_gpus,held_gpus,fragmented_gpus,waiting_gpus,waiting_jobs,running_jobs," +
	"unallocated_gpus,squat_gpus,preemptions,allocated_preemptions,lost_gpu_hours\n"

// rowsOf turns the bins' integrals into means. Bins that no time was spent in are left out.
func rowsOf(s *metrics.Series) []seriesRow {
	rows := make([]seriesRow, 0, len(s.Bins))
	for i := range s.Bins {
		b := &s.Bins[i]
		if b.Span <= 0 {
			continue
		}
		mean := func(integral float64) float64 { return integral / b.Span }
		rows = append(rows, seriesRow{Time: seconds(s.From + int64(i)*s.Width), Span: b.Span / 1000,
			InstalledGPUs: mean(b.Installed), AvailableGPUs: mean(b.Available), AssignedGPUs: mean(b.Assigned),
			HeldGPUs: mean(b.Held), FragmentedGPUs: mean(b.Fragmented), WaitingGPUs: mean(b.WaitingGPUs),
			WaitingJobs: mean(b.WaitingJobs), RunningJobs: mean(b.RunningJobs),
			UnallocatedGPUs: mean(b.Unallocated), SquatGPUs: mean(b.Squat),
			Preemptions: b.Preemptions, AllocatedPreemptions: b.AllocatedPreemptions, LostGPUHours: b.LostGPUHours})
	}
	return rows
}

// WriteSeriesCSV writes the run over time, one row per bin, to six decimals at most.
func WriteSeriesCSV(out io.Writer, s *metrics.Series) error {
	b := []byte(seriesHeader)
	for _, r := range rowsOf(s) {
		for i, v := range [...]float64{r.Time, r.Span, r.InstalledGPUs, r.AvailableGPUs, r.AssignedGPUs, r.HeldGPUs, r.FragmentedGPUs,
			r.WaitingGPUs, r.WaitingJobs, r.RunningJobs, r.UnallocatedGPUs, r.SquatGPUs, r.Preemptions, r.AllocatedPreemptions, r.LostGPUHours} {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendFloat(b, math.Round(v*1e6)/1e6, 'f', -1, 64)
		}
		b = append(b, '\n')
	}
	_, err := out.Write(b)
	return err
}

// WriteSeriesParquet writes the rows of [WriteSeriesCSV] as Parquet, unrounded.
func WriteSeriesParquet(out io.Writer, s *metrics.Series) error {
	p := newParquet[seriesRow](out)
	if _, err := p.Write(rowsOf(s)); err != nil {
		return err
	}
	return p.Close()
}
