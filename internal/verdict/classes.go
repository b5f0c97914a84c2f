package verdict

import (
	"slices"
	"strings"

	"brunt/internal/record"
	"brunt/internal/units"
)

// ClassList writes the failed operations by class, the most frequent first.
func ClassList(c *record.Counts) []string {
	classes := SortedClasses(c)
	for i, name := range classes {
		classes[i] = units.Count(c.Errors[name]) + " " + name
	}
	return classes
}

// SortedClasses are the classes of failures, the most frequent first.
func SortedClasses(c *record.Counts) []string {
	names := make([]string, 0, len(c.Errors))
	for name := range c.Errors {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if x, y := c.Errors[a], c.Errors[b]; x != y {
			return map[bool]int{true: -1, false: 1}[x > y]
		}
		return strings.Compare(a, b)
	})
	return names
}
