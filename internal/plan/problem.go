package plan

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// Position is where in its file something was said. The zero value means nowhere.
type Position struct {
	File   string
	Line   int // from 1
	Column int // from 1
}

// String returns file:line:column, as far as known.
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.File == "":
		return strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column)
	}
	return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column)
}

// firstAt says where something stood before, if that is known.
func firstAt(p Position) string {
	if p == (Position{}) {
		return ""
	}
	return ", first at " + p.String()
}

// Place says where a key stands.
type Place struct {
	Key string
	At  Position
}

// Places says where the keys of a part of the plan stand in its file.
type Places []Place

// At returns the place of a key, or otherwise if the file doesn't have the key.
func (p Places) At(key string, otherwise Position) Position {
	for i := range p {
		if p[i].Key == key {
			return p[i].At
		}
	}
	return otherwise
}

// Problem is one thing that is wrong with a plan.
type Problem struct {
	At   Position
	Text string // what is wrong
	Fix  string // what to do
	// Cross is set if the problem lies between two parts of the plan, so that it may only be the
	// consequence of a problem in the other one.
	Cross bool
}

// String returns the problem as one line: file:line:column: what; what to do.
func (f Problem) String() string {
	s := f.Text
	if f.Fix != "" {
		s += "; " + f.Fix
	}
	if at := f.At.String(); at != "" {
		s = at + ": " + s
	}
	return oneLine(s)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Problems is everything that is wrong with a plan. An empty list is no error: use Err.
type Problems []Problem

// MaxProblemLines is how many problems Error writes out.
const MaxProblemLines = 1000

// Error returns one line a problem; after MaxProblemLines it only says how many more there are.
func (f Problems) Error() string {
	lines := make([]string, 0, min(len(f), MaxProblemLines+1))
	for i := range f[:min(len(f), MaxProblemLines)] {
		lines = append(lines, f[i].String())
	}
	if more := len(f) - MaxProblemLines; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more; correct these first", more))
	}
	return strings.Join(lines, "\n")
}

// Err returns f as an error, or nil if there is no problem.
func (f Problems) Err() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// Sort orders problems as they stand in the file and removes repetitions.
func (f Problems) Sort() Problems {
	sort.SliceStable(f, func(i, k int) bool {
		a, b := f[i].At, f[k].At
		switch {
		case a.File != b.File:
			return a.File < b.File
		case a.Line != b.Line:
			return a.Line < b.Line
		}
		return a.Column < b.Column
	})
	out := f[:0]
	for i := range f {
		if len(out) == 0 || out[len(out)-1].String() != f[i].String() {
			out = append(out, f[i])
		}
	}
	return out
}

// Unused returns base, or base with the first number from 2 that makes it new, and takes it.
// taken holds the last number tried for each name.
func Unused(base string, taken map[string]int) string {
	name := base
	for taken[name] > 0 {
		taken[base]++
		name = base + " " + strconv.Itoa(taken[base])
	}
	taken[name] = 1
	return name
}
