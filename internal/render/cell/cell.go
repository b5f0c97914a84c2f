// Package cell is the layer between figures and text: tables of cells that know their value, unit and
// confidence interval, written as text for terminals, Markdown, CSV or HTML. Figures are formatted
// here and nowhere else, by package units, in the reader's language; texts come in that language.
package cell

import (
	"math"

	"brunt/internal/message"
)

// Kind says how a table is laid out where that makes a difference.
type Kind int

// The kinds of tables.
const (
	Grid Kind = iota // columns with heads
	Tree             // rows of a label, a value and what it means
	List             // rows of a sign and a sentence
)

// Table is figures under a title.
type Table struct {
	ID      string // stable: names the table in links and files
	Title   string
	Note    string // what it means, in short
	Kind    Kind
	Columns []Column // of a Grid
	Rows    [][]Cell
	Foot    []string // sentences under it
}

// Column is a column of a Grid. Without heads a table has no head line.
type Column struct {
	Head     string
	Left     bool // aligned left, as text is
	Priority int  // columns of higher numbers go first where there is no room; 0 never goes
	Wrap     bool // takes the room that is left, in as many lines as it needs
	Short    bool // of those that wrap: in two lines at most, as the texts of statements are
}

// Mark is how a cell is emphasized.
type Mark string

// The marks.
const (
	Plain  Mark = ""
	Strong Mark = "strong"
	Dim    Mark = "dim"
	Good   Mark = "good"
	Bad    Mark = "bad"
	Warn   Mark = "warn"
	Accent Mark = "accent"
)

// The units of figures next to those of units.Value.
const (
	UnitBar    = "bar"    // a share of 1, drawn
	UnitNumber = "number" // without a unit
)

// Cell is one field: a figure or a text.
type Cell struct {
	Value  float64 // in Unit; +Inf is never, NaN is unknown
	Unit   string  // as units.Value names them, or UnitBar or UnitNumber; "" means a text
	Text   string  // the text, or what follows the figure
	Step   float64 // of a figure next to others: the difference that its digits must show, in Unit; 0 means three digits
	Bounds *Bounds // of estimates
	Mark   Mark
	Depth  int    // of a name under others: 1 is a branch
	Link   string // where it leads: a fragment of the page, or a URL
}

// Bounds is the confidence interval of an estimate, or why there is none.
type Bounds struct {
	Low, High  float64
	Confidence float64         // such as 0.95
	Runs       bool            // it is of several runs, not of what varied within one
	Correlated bool            // it was widened for autocorrelation and may still be too narrow
	Why        message.Message // why there is no interval, if there is none
}

// Text returns a cell of text.
func Text(s string) Cell { return Cell{Text: s} }

// Figure returns a cell of a value in a unit as units.Value names them.
func Figure(v float64, unit string) Cell { return Cell{Value: v, Unit: unit} }

// Time returns a cell of nanoseconds, of which the greatest stands for never.
func Time[N ~int64 | ~float64](ns N) Cell {
	v := float64(ns)
	if v >= math.MaxInt64 {
		v = math.Inf(1)
	}
	return Cell{Value: v, Unit: "ns"}
}

// Count returns a cell of a number of things.
func Count[N ~int | ~uint64](n N) Cell { return Cell{Value: float64(n), Unit: "count"} }

// Rate returns a cell of something per second.
func Rate(perS float64) Cell { return Cell{Value: perS, Unit: "per_s"} }

// Share returns a cell of a part of a whole; of nothing it is 0.
func Share(part, whole uint64) Cell {
	if whole == 0 {
		return Cell{Unit: "share"}
	}
	return Cell{Value: float64(part) / float64(whole), Unit: "share"}
}

// None returns the cell of a figure that there isn't.
func None() Cell { return Cell{Value: math.NaN(), Unit: UnitNumber, Mark: Dim} }

// Texts returns a cell of each text.
func Texts(texts ...string) []Cell {
	out := make([]Cell, len(texts))
	for i, t := range texts {
		out[i].Text = t
	}
	return out
}

// Marked returns c with a mark.
func (c Cell) Marked(m Mark) Cell {
	c.Mark = m
	return c
}

// Followed returns c with a text after its figure.
func (c Cell) Followed(text string) Cell {
	c.Text = text
	return c
}

// Between returns c with its confidence interval over several runs.
func (c Cell) Between(low, high, confidence float64) Cell {
	c.Bounds = &Bounds{Low: low, High: high, Confidence: confidence, Runs: true}
	return c
}

// Without returns c with the reason why it has no interval.
func (c Cell) Without(why message.Message) Cell {
	c.Bounds = &Bounds{Why: why}
	return c
}

// Showing returns c with as many digits as it takes to see a difference of step.
func (c Cell) Showing(step float64) Cell {
	c.Step = step
	return c
}

// Add appends a row.
func (t *Table) Add(row ...Cell) { t.Rows = append(t.Rows, row) }
