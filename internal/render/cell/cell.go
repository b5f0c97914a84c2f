// Package cell is the layer between figures and text. It has tables of cells, each with a value, unit and confidence
// interval, and writes them as text for terminals, Markdown, CSV or HTML. All figures are formatted here, with package
// units, in the reader's language. Texts must already be in that language.
package cell

import (
	"math"

	"brunt/internal/render/message"
	"brunt/internal/render/units"
)

// Kind is the layout of a table.
type Kind int

// The kinds of tables.
const (
	Grid Kind = iota // columns with headings
	Tree             // rows of a label, a value and a note
	List             // rows of a sign and a sentence
)

// Table is a table of figures with a title.
type Table struct {
	ID      string // stable; used in links and file names
	Title   string
	Note    string // short explanation of the table
	Kind    Kind
	Columns []Column // of a Grid
	Rows    [][]Cell
	Foot    []string // sentences below the table
}

// Column is a column of a Grid. If no column has a heading, the table has no heading line.
type Column struct {
	Head     string
	Left     bool // left-aligned, as text is
	Priority int  // columns with the highest numbers are omitted first if space is short; 0: never omitted
	Wrap     bool // takes the remaining width and wraps into as many lines as needed
	Short    bool // with Wrap: at most two lines, for example for SQL statements
}

// Mark is the emphasis of a cell.
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

// Units of figures in addition to those of units.Value.
const (
	UnitBar    = "bar"    // a fraction of 1, drawn as a bar
	UnitNumber = "number" // without a unit
)

// Cell is one field of a table: a figure or a text.
type Cell struct {
	Value  float64 // in Unit; +Inf means never, NaN means unknown
	Unit   string  // a unit of units.Value, or UnitBar or UnitNumber; "" for a text
	Text   string  // the text, or a text after the figure
	Step   float64 // smallest difference that the figure's digits must show, in Unit; 0 means three digits
	Bounds *Bounds // of estimates; nil for other figures
	Mark   Mark
	Depth  int    // nesting of a name below others: 1 is a branch
	Link   string // link target: a fragment of the page, or a URL
}

// Bounds is the confidence interval of an estimate, or why there is none.
type Bounds struct {
	Low, High  float64
	Confidence float64         // such as 0.95
	Runs       bool            // over several runs, as opposed to variation within one run
	Correlated bool            // widened for autocorrelation; may still be too narrow
	Why        message.Message // why there is no interval; zero if there is one
}

// Text returns a cell of text, which is cut if it is very long.
func Text(s string) Cell { return Cell{Text: units.Limited(s, mostText)} }

// mostText limits the text of a cell, in bytes: names and messages of others can have any length.
const mostText = 8 << 10

// Figure returns a cell with a value in a unit of units.Value.
func Figure(v float64, unit string) Cell { return Cell{Value: v, Unit: unit} }

// Time returns a cell with a time in nanoseconds. Values of at least math.MaxInt64 stand for never.
func Time[N ~int64 | ~float64](ns N) Cell {
	v := float64(ns)
	if v >= math.MaxInt64 {
		v = math.Inf(1)
	}
	return Cell{Value: v, Unit: "ns"}
}

// Count returns a cell with a number of things.
func Count[N ~int | ~uint64](n N) Cell { return Cell{Value: float64(n), Unit: "count"} }

// Rate returns a cell with a rate per second.
func Rate(perS float64) Cell { return Cell{Value: perS, Unit: "per_s"} }

// Share returns a cell with part ÷ whole; 0 if whole is 0.
func Share(part, whole uint64) Cell {
	if whole == 0 {
		return Cell{Unit: "share"}
	}
	return Cell{Value: float64(part) / float64(whole), Unit: "share"}
}

// None returns the cell for a missing figure.
func None() Cell { return Cell{Value: math.NaN(), Unit: UnitNumber, Mark: Dim} }

// Texts returns a cell for each text.
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

// Between returns c with its confidence interval over several runs. confidence is a fraction such as 0.95.
func (c Cell) Between(low, high, confidence float64) Cell {
	c.Bounds = &Bounds{Low: low, High: high, Confidence: confidence, Runs: true}
	return c
}

// Without returns c with the reason why it has no interval.
func (c Cell) Without(why message.Message) Cell {
	c.Bounds = &Bounds{Why: why}
	return c
}

// Showing returns c with as many digits as are needed to show a difference of step.
func (c Cell) Showing(step float64) Cell {
	c.Step = step
	return c
}

// Add appends a row.
func (t *Table) Add(row ...Cell) { t.Rows = append(t.Rows, row) }
