package slurm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// mostHosts bounds what a hostlist may name.
const mostHosts = 1 << 16

// Hosts expands a hostlist: "n[1-3,7],gpu01" is n1 n2 n3 n7 gpu01. Numbers keep their leading
// zeros. "", "(null)" and "None" name nobody.
func Hosts(list string) ([]string, error) {
	switch list {
	case "", "(null)", "None", "None assigned", "n/a", "N/A":
		return nil, nil
	}
	var out []string
	for _, item := range cut(list) {
		names, err := expand(strings.TrimSpace(item))
		if err != nil {
			return nil, fmt.Errorf("host list %q: %w", list, err)
		}
		if out = append(out, names...); len(out) > mostHosts {
			return nil, fmt.Errorf("host list %q names more than %d", list, mostHosts)
		}
	}
	return out, nil
}

// cut splits at commas outside brackets.
func cut(s string) []string {
	var out []string
	depth, from := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, s[from:i])
				from = i + 1
			}
		}
	}
	return append(out, s[from:])
}

// expand resolves the first brackets of a name, and then the rest.
func expand(s string) ([]string, error) {
	open := strings.IndexByte(s, '[')
	if open < 0 {
		if s == "" || strings.ContainsAny(s, "]") {
			return nil, fmt.Errorf("%q is no name", s)
		}
		return []string{s}, nil
	}
	shut := strings.IndexByte(s[open:], ']')
	if shut < 0 {
		return nil, fmt.Errorf("a bracket is not closed")
	}
	rest := []string{""}
	if tail := s[open+shut+1:]; tail != "" {
		var err error
		if rest, err = expand(tail); err != nil {
			return nil, err
		}
	}
	var out []string
	for part := range strings.SplitSeq(s[open+1:open+shut], ",") {
		lo, hi, ranged := strings.Cut(part, "-")
		if !ranged {
			hi = lo
		}
		a, err1 := strconv.Atoi(lo)
		b, err2 := strconv.Atoi(hi)
		if err1 != nil || err2 != nil || a < 0 || b < a || b-a >= mostHosts {
			return nil, fmt.Errorf("%q is no range of numbers", part)
		}
		for i := a; i <= b; i++ {
			for _, r := range rest {
				if out = append(out, fmt.Sprintf("%s%0*d%s", s[:open], len(lo), i, r)); len(out) > mostHosts {
					return nil, fmt.Errorf("it names more than %d", mostHosts)
				}
			}
		}
	}
	return out, nil
}

// Compress is [HostList] made short as Slurm does it: n1 n2 n3 n7 gpu01 is "n[1-3,7],gpu01". Names keep their
// order; [Hosts] gives the same names back.
func Compress(names []string) string {
	var out []string
	for i := 0; i < len(names); {
		stem, digits := ending(names[i])
		group := 1
		for digits != "" && i+group < len(names) && sameKind(names[i+group], stem, digits) {
			group++
		}
		if group == 1 {
			out = append(out, names[i])
		} else {
			out = append(out, stem+"["+ranges(names[i:i+group], len(stem))+"]")
		}
		i += group
	}
	return strings.Join(out, ",")
}

// ending cuts the number off the end of a name; none is too long for an int.
func ending(name string) (stem, digits string) {
	stem = strings.TrimRight(name, "0123456789")
	if len(name)-len(stem) > 9 {
		stem = name[:len(name)-9]
	}
	return stem, name[len(stem):]
}

// sameKind tells whether a name has this stem, and a number that is written as wide. Numbers of other widths fit only if
// none of the two begins with a zero.
func sameKind(name, stem, digits string) bool {
	s, d := ending(name)
	return s == stem && d != "" && (len(d) == len(digits) || d[0] != '0' && digits[0] != '0')
}

// ranges writes the numbers at the ends of names, in their order.
func ranges(names []string, from int) string {
	var b strings.Builder
	for i := 0; i < len(names); {
		first, _ := strconv.Atoi(names[i][from:])
		n := 1
		for i+n < len(names) && names[i+n][from:] == fmt.Sprintf("%0*d", len(names[i])-from, first+n) {
			n++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(names[i][from:])
		if n > 1 {
			b.WriteString("-" + names[i+n-1][from:])
		}
		i += n
	}
	return b.String()
}

// Tasks expands the tasks of an array that still wait: "1-3,7%2", "0-8:4". Lists that were cut
// ("1-3,...") are an error.
func Tasks(spec string) ([]int32, error) {
	spec, _, _ = strings.Cut(spec, "%")
	var out []int32
	for part := range strings.SplitSeq(spec, ",") {
		step := 1
		if r, s, ok := strings.Cut(part, ":"); ok {
			n, err := strconv.Atoi(s)
			if err != nil || n < 1 {
				return nil, fmt.Errorf("array tasks %q: %q is no step", spec, s)
			}
			part, step = r, n
		}
		lo, hi, ranged := strings.Cut(part, "-")
		if !ranged {
			hi = lo
		}
		a, err1 := strconv.ParseInt(lo, 10, 32)
		b, err2 := strconv.ParseInt(hi, 10, 32)
		if err1 != nil || err2 != nil || a < 0 || b < a || (b-a)/int64(step) >= mostTasks {
			return nil, fmt.Errorf("array tasks %q: %q is no range of numbers", spec, part)
		}
		for i := a; i <= b; i += int64(step) {
			if out = append(out, int32(i)); len(out) > mostTasks {
				return nil, fmt.Errorf("array tasks %q are more than %d", spec, mostTasks)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// mostTasks is more than Slurm's MaxArraySize may be.
const mostTasks = 4_000_001
