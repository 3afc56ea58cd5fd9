package local

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Activity is how busy one GPU, or one slice of a divided one, is.
type Activity struct {
	// GPU is its index as the driver counts, UUID its name; either may be missing (-1, "").
	GPU  int
	UUID string
	// Instance tells the slices of one GPU apart, "" for a whole one.
	Instance string
	// Busy is how much of it works, 0..1. Measured: that is known.
	Busy     float64
	Measured bool
	// Part is how much of a GPU it is, 0..1.
	Part float64
	// MemoryUsed and MemoryTotal in MiB, 0 where not told.
	MemoryUsed, MemoryTotal int64
}

// Mean is the mean activity, by how much of a GPU each value is about, and over how many GPUs
// that is. What was not measured does not count, neither as busy nor as idle.
func Mean(list []Activity) (busy, gpus float64) {
	for i := range list {
		if list[i].Measured {
			busy += list[i].Busy * list[i].Part
			gpus += list[i].Part
		}
	}
	if gpus > 0 {
		busy /= gpus
	}
	return busy, gpus
}

// Values that say that nothing was measured: DCGM's blanks, of which there are 16 each (not
// found, not supported, no permission, ...), of its 32-bit and 64-bit integers and its doubles.
const (
	blank32    = 0x7ffffff0
	blank64    = 0x7ffffffffffffff0
	blankFloat = 140737488355328
	blanks     = 16
)

// parseValue reads a number as exporters print it; ok is false where there is none.
func parseValue(s string) (v float64, ok bool) {
	s = strings.TrimSpace(s)
	if n, err := strconv.ParseUint(s, 10, 64); err == nil && (n >= blank64 || n >= blank32 && n < blank32+blanks || n >= blankFloat && n < blankFloat+blanks) {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v >= blank64 || v >= blankFloat && v < blankFloat+blanks || v >= blank32 && v < blank32+blanks {
		return 0, false
	}
	return v, true
}

// set takes in a fraction that should be in 0..1; one that cannot be is cut, and counted.
func (a *Activity) set(v float64) (anomalies int) {
	a.Measured = true
	if a.Busy = min(max(v, 0), 1); a.Busy != v {
		return 1
	}
	return 0
}

// Fields of the DCGM exporter.
const (
	smActive = "DCGM_FI_PROF_SM_ACTIVE" // fraction of time that multiprocessors had work
	gpuUtil  = "DCGM_FI_DEV_GPU_UTIL"   // percent of time that any kernel ran
	fbUsed   = "DCGM_FI_DEV_FB_USED"    // MiB
	fbFree   = "DCGM_FI_DEV_FB_FREE"    // MiB
	maxText  = 16 << 20                 // of an exporter's answer, in bytes
	maxLine  = 1 << 20
)

// ParseActivity reads the text of a DCGM exporter (Prometheus exposition format). The activity of
// multiprocessors goes before the utilization, which is 1 as soon as any kernel runs. anomalies
// counts values that cannot be.
func ParseActivity(r io.Reader) (list []Activity, anomalies int, err error) {
	at := map[string]int{}
	precise := map[int]bool{}
	in := bufio.NewScanner(io.LimitReader(r, maxText))
	in.Buffer(nil, maxLine)
	for in.Scan() {
		line := strings.TrimSpace(in.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, labels, value, err := parseMetric(line)
		if err != nil {
			return nil, 0, err
		}
		switch name {
		case smActive, gpuUtil, fbUsed, fbFree:
		default:
			continue
		}
		key := labels["gpu"] + "/" + labels["UUID"] + "/" + labels["GPU_I_ID"]
		i, ok := at[key]
		if !ok {
			i = len(list)
			at[key] = i
			a := Activity{GPU: -1, UUID: labels["UUID"], Instance: labels["GPU_I_ID"], Part: slicePart(labels["GPU_I_PROFILE"])}
			if n, err := strconv.Atoi(labels["gpu"]); err == nil {
				a.GPU = n
			}
			list = append(list, a)
		}
		v, ok := parseValue(value)
		if !ok {
			continue
		}
		a := &list[i]
		switch {
		case name == smActive:
			anomalies += a.set(v)
			precise[i] = true
		case name == gpuUtil && !precise[i]:
			anomalies += a.set(v / 100)
		case name == fbUsed:
			a.MemoryUsed = int64(v)
			a.MemoryTotal += int64(v)
		case name == fbFree:
			a.MemoryTotal += int64(v)
		}
	}
	return list, anomalies, in.Err()
}

// parseMetric reads one line: name{label="value",...} value [time]. The value may be missing.
func parseMetric(line string) (name string, labels map[string]string, value string, err error) {
	i := strings.IndexAny(line, "{ \t")
	if i < 0 {
		return line, nil, "", nil
	}
	name, rest := line[:i], line[i:]
	if rest[0] == '{' {
		if labels, rest, err = parseLabels(rest[1:]); err != nil {
			return "", nil, "", fmt.Errorf("%.120q: %w", line, err)
		}
	}
	if f := strings.Fields(rest); len(f) > 0 {
		value = f[0]
	}
	return name, labels, value, nil
}

func parseLabels(s string) (labels map[string]string, rest string, err error) {
	labels = map[string]string{}
	for {
		s = strings.TrimLeft(s, ", \t")
		if after, ok := strings.CutPrefix(s, "}"); ok {
			return labels, after, nil
		}
		key, after, ok := strings.Cut(s, "=")
		after = strings.TrimLeft(after, " \t")
		if !ok || after == "" || after[0] != '"' {
			return nil, "", fmt.Errorf("want label=\"value\" at %.40q", s)
		}
		var b strings.Builder
		i := 1
		for ; i < len(after) && after[i] != '"'; i++ {
			c := after[i]
			if c == '\\' && i+1 < len(after) {
				i++
				if c = after[i]; c == 'n' {
					c = '\n'
				}
			}
			b.WriteByte(c)
		}
		if i >= len(after) {
			return nil, "", fmt.Errorf("a value without its closing quote at %.40q", s)
		}
		labels[strings.TrimSpace(key)] = b.String()
		s = after[i+1:]
	}
}

// sevenths: a GPU is divided into seven slices at most.
const sevenths = 7

// slicePart is how much of a GPU a MIG profile such as "4g.20gb" is; 1 where there is none.
func slicePart(profile string) float64 {
	n, _, ok := strings.Cut(profile, "g.")
	if !ok {
		return 1
	}
	if i := strings.LastIndexByte(n, 'c'); i >= 0 { // "1c.4g.20gb": a part of its multiprocessors
		n = strings.TrimPrefix(n[i+1:], ".")
	}
	k, err := strconv.Atoi(n)
	if err != nil || k < 1 || k > sevenths {
		return 1
	}
	return float64(k) / sevenths
}

const smiActivity = "--query-gpu=index,utilization.gpu,memory.used,memory.total"

// parseSMIActivity reads the answer of nvidia-smi to smiActivity.
func parseSMIActivity(out string) (list []Activity, anomalies int, err error) {
	for line := range strings.Lines(out) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		f := strings.Split(strings.TrimSpace(line), ", ")
		if len(f) != 4 {
			return nil, 0, fmt.Errorf("%q: want index, utilization.gpu, memory.used, memory.total", line)
		}
		a := Activity{Part: 1}
		if a.GPU, err = strconv.Atoi(f[0]); err != nil {
			return nil, 0, fmt.Errorf("%q: index: %w", line, err)
		}
		if v, ok := parseValue(f[1]); ok {
			anomalies += a.set(v / 100)
		} else if !missing(f[1]) {
			if _, err := strconv.ParseFloat(f[1], 64); err != nil {
				return nil, 0, fmt.Errorf("%q: utilization %q", line, f[1])
			}
		}
		if v, ok := parseValue(f[2]); ok {
			a.MemoryUsed = int64(v)
		}
		if v, ok := parseValue(f[3]); ok {
			a.MemoryTotal = int64(v)
		}
		list = append(list, a)
	}
	return list, anomalies, nil
}
