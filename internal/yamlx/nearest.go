package yamlx

import "strings"

// Nearest returns the known word that is spelled most like the given one, ""
// where none is close enough to be meant: at most a third of its letters differ.
func Nearest(word string, known []string) string {
	best, bestDist := "", 1+max(1, len(word)/3)
	low := strings.ToLower(word)
	for _, k := range known {
		if d := distance(low, strings.ToLower(k)); d < bestDist {
			best, bestDist = k, d
		}
	}
	return best
}

// Choice says which of the known words would be right: the nearest one if there
// is one, and all of them.
func Choice(word string, known []string) string {
	want := "want " + orList(known)
	if near := Nearest(word, known); near != "" {
		return "did you mean " + near + "? " + want
	}
	return want
}

func orList(words []string) string {
	switch n := len(words); n {
	case 0:
		return "nothing"
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " or " + words[n-1]
	}
}

// distance counts insertions, deletions, substitutions and swaps of neighbours
// (optimal string alignment), over bytes: keys are ASCII.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	var two, one, row [65]int
	for j := range len(b) + 1 {
		one[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(one[j]+1, row[j-1]+1, one[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], two[j-2]+1)
			}
		}
		two, one = one, row
	}
	return one[len(b)]
}
