// Package nearest finds the name that a person meant.
//
// In: what was typed, and the names there are. Out: the nearest name. Guarantees: the same answer
// each time; no answer if no name is near.
package nearest

import "strings"

// maxTyped is how many bytes a typed name may have. It bounds the work for one name.
const maxTyped = 100

// Of returns the candidate that takes the fewest edits (insert, delete, replace, swap of
// neighbours). One edit is always allowed, and up to a third of the typed bytes. If no candidate is
// that near, Of returns the first that contains typed, if typed has more than two bytes, or else
// "". It ignores case.
func Of(typed string, candidates []string) string {
	if len(typed) > maxTyped {
		return ""
	}
	typed = strings.ToLower(typed)
	best, edits := "", max(1, len(typed)/3)+1
	for _, candidate := range candidates {
		if n := distance(typed, strings.ToLower(candidate)); n < edits {
			best, edits = candidate, n
		}
	}
	for _, candidate := range candidates {
		if best == "" && len(typed) > 2 && strings.Contains(strings.ToLower(candidate), typed) {
			best = candidate
		}
	}
	return best
}

// distance is the optimal string alignment distance of two names, in bytes.
func distance(a, b string) int {
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}

// Hint returns "; did you mean X?", or "" if no name is near.
func Hint(typed string, candidates []string) string {
	if name := Of(typed, candidates); name != "" {
		return "; did you mean " + name + "?"
	}
	return ""
}
