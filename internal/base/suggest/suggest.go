// Package suggest finds the known word that a user probably meant.
package suggest

// Nearest returns the known word with the smallest Levenshtein distance from word, ignoring case, or "" if none is
// near. The distance may be at most a third of the longer word's length, or 2 if that is more.
func Nearest(word string, known []string) string {
	w := lower(word)
	if len(w) > 64 {
		return ""
	}
	known = known[:min(len(known), 1000)]
	best, at := "", -1
	for _, k := range known {
		l := lower(k)
		d := distance(w, l)
		limit := max(2, max(len(w), len(l))/3)
		if d > limit || d >= len(l) || d >= len(w) && d > 0 {
			continue
		}
		if at < 0 || d < at {
			best, at = k, d
		}
	}
	return best
}

func lower(s string) []rune {
	r := []rune(s)
	for i, c := range r {
		if 'A' <= c && c <= 'Z' {
			r[i] = c + 'a' - 'A'
		}
	}
	return r
}

func distance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for k := range row {
		row[k] = k
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for k := range b {
			replaced := diagonal
			if a[i] != b[k] {
				replaced++
			}
			diagonal = row[k+1]
			row[k+1] = min(replaced, row[k]+1, row[k+1]+1)
		}
	}
	return row[len(b)]
}

// DidYouMean returns advice that names the nearest known word or, if none is near, lists the words.
func DidYouMean(word string, known []string) string {
	return Or(word, known, "use "+either(known))
}

// Or returns advice that names the nearest known word, or otherwise if none is near.
func Or(word string, known []string, otherwise string) string {
	if n := Nearest(word, known); n != "" {
		return "did you mean " + n + "?"
	}
	return otherwise
}

func either(words []string) string {
	s := ""
	if len(words) > 12 {
		words = append(append([]string(nil), words[:11]...), "…")
	}
	for i, w := range words {
		switch {
		case i == 0:
		case i == len(words)-1:
			s += " or "
		default:
			s += ", "
		}
		s += w
	}
	return s
}
