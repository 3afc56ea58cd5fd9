package services

import (
	"errors"
	"math"
	"path/filepath"
	"strconv"

	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/workload"
)

// requests turns a log of requests per second into GPUs.
func (c *curves) requests(what string, y *requests, n *yamlx.Node) (workload.Curve, error) {
	for _, key := range []string{"file", "time", "column", "gpusPer", "step"} {
		if n.Get(key) == nil {
			return workload.Curve{}, n.Errorf("requests needs file, time, column, gpusPer and step", "no %s here", key)
		}
	}
	if !(y.GPUsPer > 0 && y.GPUsPer <= maxGPUs) {
		return workload.Curve{}, n.At("gpusPer").Errorf("want the GPUs that one request per second takes, above 0, such as 0.02", "gpusPer is %g", y.GPUsPer)
	}
	step := int64(*y.Step)
	if err := checkStep(step, maxSteps, n.At("step")); err != nil {
		return workload.Curve{}, err
	}
	rates, err := c.read(y, n)
	if err != nil {
		return workload.Curve{}, err
	}
	span := rates.window * int64(len(rates.values))
	count := (span + step - 1) / step
	switch {
	case count > maxSteps:
		return workload.Curve{}, n.At("step").Errorf("want a longer one: at most "+strconv.Itoa(maxSteps)+" steps", "%s has %d steps of this length", filepath.Base(y.File), count)
	case y.Repeat && span%step != 0:
		return workload.Curve{}, n.At("step").Errorf("want a step that divides it, or no repeat", "%s covers %s, which is no multiple of the step", filepath.Base(y.File), yamlx.Duration(span))
	}
	c.noteGaps(what, y, rates)
	out := workload.Curve{Start: rates.start, Step: step, Values: make([]int32, count), Repeat: y.Repeat}
	for k := range out.Values {
		gpus := gpusOf(rates.over(int64(k)*step, min(int64(k+1)*step, span), y.Aggregate), y.GPUsPer)
		if gpus > maxGPUs {
			return out, n.At("gpusPer").Errorf("want at most "+strconv.Itoa(maxGPUs)+" GPUs", "%s rises to %.0f GPUs", filepath.Base(y.File), gpus)
		}
		out.Values[k] = int32(gpus)
	}
	return out, nil
}

// gpusOf rounds up to whole GPUs. A millionth of one is an error of decimal numbers,
// not worth another GPU.
func gpusOf(rate, gpusPer float64) float64 { return math.Ceil(float64(rate*gpusPer) - 1e-6) }

// read reads the file, once its name is known to be right.
func (c *curves) read(y *requests, n *yamlx.Node) (*rates, error) {
	path := y.File
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(c.a.in.File), path)
	}
	data, err := c.a.in.Read(path)
	if err != nil {
		if inner := errors.Unwrap(err); inner != nil { // the system names the path in its own way
			err = inner
		}
		return nil, n.At("file").Errorf("want a CSV file, named from where this one lies", "%s: %s", path, err)
	}
	c.a.sums = append(c.a.sums, yamlx.Hash(data))
	return readRates(path, data, y)
}

// noteGaps says what was made of times without requests.
func (c *curves) noteGaps(what string, y *requests, r *rates) {
	if r.gaps == 0 {
		return
	}
	made := "they count as they are (gaps: interpolate would fill them in)"
	if y.Gaps == gapsInterpolate {
		made = "they were filled in between their neighbours"
	}
	c.a.note("Windows without requests in %s (%s of %s): %d of %d; %s.", filepath.Base(y.File), what, c.app, r.gaps, len(r.values), made)
}
