package slurmhist

import (
	"fmt"
	"strconv"
	"strings"
)

// mostHosts bounds what a list may name.
const mostHosts = 1 << 16

// Hosts expands a list of nodes: "n[1-3,07],gpu01" is n1 n2 n3 n07 gpu01. A name may have several
// brackets; numbers keep their leading zeros.
func Hosts(list string) ([]string, error) {
	var out []string
	depth, from := 0, 0
	for i := 0; i <= len(list); i++ {
		if i < len(list) {
			switch list[i] {
			case '[':
				depth++
			case ']':
				depth--
			}
			if list[i] != ',' || depth > 0 {
				continue
			}
		}
		if item := strings.TrimSpace(list[from:i]); item != "" {
			var err error
			if out, err = appendHosts(out, item); err != nil {
				return nil, fmt.Errorf("list of nodes %q: %w", list, err)
			}
		}
		from = i + 1
	}
	if depth != 0 {
		return nil, fmt.Errorf("list of nodes %q: a bracket is not closed", list)
	}
	return out, nil
}

func appendHosts(out []string, item string) ([]string, error) {
	before, rest, ok := strings.Cut(item, "[")
	if !ok {
		return append(out, item), tooMany(len(out) + 1)
	}
	ranges, after, ok := strings.Cut(rest, "]")
	if !ok {
		return nil, fmt.Errorf("a bracket of %q is not closed", item)
	}
	for r := range strings.SplitSeq(ranges, ",") {
		lo, hi, isRange := strings.Cut(r, "-")
		if !isRange {
			hi = lo
		}
		a, err1 := strconv.ParseUint(lo, 10, 32)
		b, err2 := strconv.ParseUint(hi, 10, 32)
		if err1 != nil || err2 != nil || b < a || b-a > mostHosts {
			return nil, fmt.Errorf("%q is no range of numbers", r)
		}
		for k := a; k <= b; k++ {
			var err error
			if out, err = appendHosts(out, fmt.Sprintf("%s%0*d%s", before, len(lo), k, after)); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func tooMany(n int) error {
	if n > mostHosts {
		return fmt.Errorf("more than %d names", mostHosts)
	}
	return nil
}
