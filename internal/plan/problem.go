package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Position is a position in a plan file. The zero value means that it is unknown.
type Position struct {
	File   string
	Line   int // from 1
	Column int // from 1
}

// String returns file:line:column, or the parts that are known.
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.File == "":
		return strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column)
	}
	return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column)
}

// firstAt returns a text that says where something was first defined; "" if that is unknown.
func firstAt(p Position) string {
	if p == (Position{}) {
		return ""
	}
	return ", first at " + p.String()
}

// Place is the position of a key.
type Place struct {
	Key string
	At  Position
}

// Places are the positions of the keys of one part of a plan file.
type Places []Place

// At returns the position of key, or otherwise if the file doesn't have the key.
func (p Places) At(key string, otherwise Position) Position {
	for i := range p {
		if p[i].Key == key {
			return p[i].At
		}
	}
	return otherwise
}

// Problem is an error in a plan.
type Problem struct {
	At   Position
	Text string // what is wrong
	Fix  string // what to do
	// Cross is set if the problem is an inconsistency between two parts of the plan. It may then be a mere consequence
	// of a problem in the other part.
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

// Problems are all errors in a plan. An empty list is not an error: use Err.
type Problems []Problem

// MaxProblemLines is how many problems Error lists.
const MaxProblemLines = 1000

// Error returns one line for each problem. After MaxProblemLines it adds only the number of the remaining ones.
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

// Sort sorts problems by their position in the file and removes duplicates.
func (f Problems) Sort() Problems {
	slices.SortStableFunc(f, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.At.File, b.At.File), cmp.Compare(a.At.Line, b.At.Line),
			cmp.Compare(a.At.Column, b.At.Column))
	})
	return slices.CompactFunc(f, func(a, b Problem) bool { return a.String() == b.String() })
}

// FirstProblem returns the first problem of an error from reading a plan, without its position, for plans whose text
// the user never saw. It returns another error unchanged.
func FirstProblem(err error) error {
	if problems, ok := errors.AsType[Problems](err); ok && len(problems) > 0 {
		first := problems[0]
		first.At = Position{}
		return errors.New(first.String())
	}
	return err
}

// Unused returns a name that is not taken yet, and takes it: base, or base followed by the first free number from 2.
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
