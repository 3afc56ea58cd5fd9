package trace

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// GPUs is what one Slurm field (a GRES or TRES list) tells about GPUs.
type GPUs struct {
	// Count is the number of GPUs the field names; see PerNode.
	Count int64
	// Types are the types it names, in its order; their counts need not add up to
	// Count where the field also has an untyped total.
	Types []GPUType
	// IDs are the device indices of "(IDX:0,4-5)".
	IDs []int
	// PerNode: the count is for each node, not for the job.
	PerNode bool
}

// GPUType is a number of GPUs of one type.
type GPUType struct {
	Name  string
	Count int64
}

// ErrNotTold says that the field does not say how many GPUs there are. It is not zero.
var ErrNotTold = errors.New("the field does not tell GPUs")

// ErrCut says that the field may have been cut at its column's width, so its numbers
// cannot be trusted.
var ErrCut = errors.New("the field may be cut")

// Total is the number of GPUs of a job on that many nodes.
func (g GPUs) Total(nodes int64) int64 {
	if g.PerNode {
		return g.Count * nodes
	}
	return g.Count
}

// TypeNames joins the names of the types with '|', as workload.Need.GPUTypes wants it.
func (g GPUs) TypeNames() string {
	var names []string
	for _, t := range g.Types {
		names = append(names, t.Name)
	}
	return strings.Join(names, "|")
}

// ParseGPUs reads the GPUs of a Slurm field, in any of its spellings:
//
//	gpu:4                    gpu:v100:4(S:0-1)      gpu:v100:3(IDX:0,4-5)
//	gpu:tesla:2,gpu:kepler:2 gres:gpu:4             gres/gpu:a100:2
//	PER_NODE:gpu:8           cpu=10,mem=100G,node=1,gres/gpu=1,gres/gpu:a100=1
//	gpu:2K
//
// "(null)" and a list without GPUs are 0. An empty field and "N/A" are
// [ErrNotTold]; a field that stops in the middle is [ErrCut].
func ParseGPUs(field string) (GPUs, error) {
	field = strings.TrimSpace(field)
	switch field {
	case "", "N/A", "n/a", "Unknown", "None":
		return GPUs{}, ErrNotTold
	case "(null)":
		return GPUs{}, nil
	}
	items, whole := splitList(field)
	if !whole {
		return GPUs{}, ErrCut
	}
	var g GPUs
	var generic, typed int64
	hasGeneric := false
	tres := strings.Contains(field, "=")
	for _, item := range items {
		item, note, _ := strings.Cut(item, "(")
		name, count, err := gpuItem(item, tres, &g.PerNode)
		if err != nil {
			return GPUs{}, err
		}
		kind, typ, _ := strings.Cut(name, ":")
		if kind != "gpu" {
			continue
		}
		if typ == "" {
			generic += count
			hasGeneric = true
		} else {
			typed += count
			g.addType(typ, count)
		}
		if ids, ok := strings.CutPrefix(note, "IDX:"); ok {
			if g.IDs, err = appendRanges(g.IDs, strings.TrimSuffix(ids, ")")); err != nil {
				return GPUs{}, err
			}
		}
	}
	// In a TRES list gres/gpu is the total and gres/gpu:type a part of it; in a
	// GRES list every item is an amount of its own.
	switch {
	case !tres:
		g.Count = generic + typed
	case hasGeneric:
		g.Count = generic
	default:
		g.Count = typed
	}
	return g, nil
}

// ParseGPUsColumn is [ParseGPUs] for a column of fixed width: a value as long as
// the column may have been longer.
func ParseGPUsColumn(field string, width int) (GPUs, error) {
	if len(field) >= width {
		return GPUs{}, ErrCut
	}
	return ParseGPUs(field)
}

func (g *GPUs) addType(name string, count int64) {
	for i := range g.Types {
		if g.Types[i].Name == name {
			g.Types[i].Count += count
			return
		}
	}
	if count > 0 {
		g.Types = append(g.Types, GPUType{name, count})
	}
}

// gpuItem reads one item of a list into "gpu" or "gpu:type" and its count.
func gpuItem(item string, tres bool, perNode *bool) (name string, count int64, err error) {
	if tres {
		name, value, found := strings.Cut(item, "=")
		if !found {
			return "", 0, ErrCut
		}
		name = strings.TrimPrefix(name, "gres/")
		if kind, _, _ := strings.Cut(name, ":"); kind != "gpu" {
			return name, 0, nil
		}
		count, err = gpuNumber(value)
		return name, count, err
	}
	if rest, ok := strings.CutPrefix(item, "PER_NODE:"); ok {
		*perNode, item = true, rest
	}
	item = strings.TrimPrefix(strings.TrimPrefix(item, "gres:"), "gres/")
	parts := strings.Split(item, ":")
	if parts[0] != "gpu" {
		return parts[0], 0, nil
	}
	switch len(parts) {
	case 1: // "gpu" asks for one
		return "gpu", 1, nil
	case 2:
		if parts[1] == "" {
			return "", 0, ErrCut
		}
		if n, notANumber := gpuNumber(parts[1]); notANumber == nil {
			return "gpu", n, nil
		}
		return "gpu:" + parts[1], 1, nil // "gpu:v100" asks for one of that type
	case 3:
		count, err = gpuNumber(parts[2])
		return "gpu:" + parts[1], count, err
	}
	return "", 0, ErrNotTold
}

// gpuNumber reads a count, which people may give, and Slurm then shows, in units of 1024: "2K".
func gpuNumber(s string) (int64, error) {
	if s == "" {
		return 0, ErrCut
	}
	shift := 0
	switch s[len(s)-1] {
	case 'k', 'K':
		shift = 10
	case 'm', 'M':
		shift = 20
	}
	if shift > 0 {
		s = s[:len(s)-1]
	}
	n, err := strconv.ParseUint(s, 10, 31-shift)
	if err != nil {
		return 0, ErrNotTold
	}
	return int64(n) << shift, nil
}

// splitList cuts at commas outside parentheses; whole is false where one is not closed.
func splitList(s string) (items []string, whole bool) {
	depth, start := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				items = append(items, s[start:i])
				start = i + 1
			}
		}
		if depth < 0 {
			return nil, false
		}
	}
	return append(items, s[start:]), depth == 0
}

// maxGPUID bounds device indices, so that a wrong range cannot fill the memory.
const maxGPUID = 1023

// appendRanges reads "0,4-5"; "N/A" is none.
func appendRanges(ids []int, s string) ([]int, error) {
	if s == "N/A" || s == "" {
		return ids, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		lo, hi, ranged := strings.Cut(part, "-")
		a, err1 := strconv.Atoi(lo)
		b, err2 := a, error(nil)
		if ranged {
			b, err2 = strconv.Atoi(hi)
		}
		if err1 != nil || err2 != nil || a < 0 || b < a || b > maxGPUID {
			return nil, ErrNotTold
		}
		for id := a; id <= b; id++ {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// tresAmount returns the value of one name of a TRES list ("cpu", "node"), 0 where it is not told.
func tresAmount(list, name string) int64 {
	n, err := strconv.ParseInt(tresValue(list, name), 10, 64)
	if err != nil || n < 0 || n > math.MaxInt32 {
		return 0
	}
	return n
}

func tresValue(list, name string) string {
	for item := range strings.SplitSeq(list, ",") {
		if k, v, ok := strings.Cut(item, "="); ok && k == name {
			return v
		}
	}
	return ""
}

// slurmMiB reads an amount of memory such as "62.50G" or "3000M" into MiB, 0
// where it cannot be read. A bare number is MiB.
func slurmMiB(s string) int64 {
	if s == "" {
		return 0
	}
	per := 1.0
	switch s[len(s)-1] {
	case 'K', 'k':
		per = 1.0 / 1024
	case 'M', 'm':
	case 'G', 'g':
		per = 1024
	case 'T', 't':
		per = 1024 * 1024
	case 'P', 'p':
		per = 1024 * 1024 * 1024
	default:
		s += "M"
	}
	f, err := strconv.ParseFloat(s[:len(s)-1], 64)
	if err != nil || !(f >= 0) || f*per > 1<<40 {
		return 0
	}
	return int64(math.Ceil(f * per))
}
