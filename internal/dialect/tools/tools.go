// Package tools links the foreign tools into the binary, each by a file of one line that a build tag leaves out.
package tools

import (
	"cmp"
	"slices"

	"brunt/internal/dialect"
	"brunt/internal/plan/script"
)

// linked are the tools of this binary. Only link changes it, before main begins.
var linked dialect.Tools

// link adds a tool to the binary.
func link(t dialect.Tool) {
	linked = append(linked, t)
	for _, l := range t.Languages {
		script.Register(l)
	}
}

// All returns the tools of this binary, in the order of brunt's lists.
func All() dialect.Tools {
	all := slices.Clone(linked)
	slices.SortStableFunc(all, func(a, b dialect.Tool) int {
		return cmp.Or(place(a.Name)-place(b.Name), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// first are the tools that lists begin with. The others follow by name.
var first = []string{"picostress", "ycsb", "slow_cooker", "vegeta", "k6", "pgbench"}

// place returns the place of a tool in first, or that of all others.
func place(name string) int {
	if i := slices.Index(first, name); i >= 0 {
		return i
	}
	return len(first)
}
