package slurmworld

import "strings"

// The dependency of a waiting job on the lease, beside dependencies of its own.

// gate is the dependency on a lease.
func gate(lease string) string { return "afterany:" + lease }

// parts cuts a dependency as Slurm shows it ("afterok:1(unfulfilled),afterany:2") into what each
// part asks for.
func parts(dependency string) []string {
	var out []string
	for p := range strings.SplitSeq(dependency, ",") {
		p, _, _ = strings.Cut(strings.TrimSpace(p), "(")
		if p != "" && p != "null" {
			out = append(out, p)
		}
	}
	return out
}

// gated tells whether a dependency has a part on the lease.
func gated(dependency, lease string) bool {
	for _, p := range parts(dependency) {
		if p == gate(lease) {
			return true
		}
	}
	return false
}

// shut adds the lease to a dependency. ok is false where it cannot be: parts of which any suffices.
func shut(dependency, lease string) (text string, ok bool) {
	if strings.Contains(dependency, "?") {
		return "", false
	}
	return strings.Join(append(without(dependency, lease), gate(lease)), ","), true
}

// open takes the lease out of a dependency.
func open(dependency, lease string) string { return strings.Join(without(dependency, lease), ",") }

func without(dependency, lease string) []string {
	var out []string
	for _, p := range parts(dependency) {
		if p != gate(lease) {
			out = append(out, p)
		}
	}
	return out
}
