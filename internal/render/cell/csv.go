package cell

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"
)

// WriteCSV writes tables one after the other, with an empty line between them, each with a line of
// heads. Figures are in base units (ns, bytes, shares of 1), unknown and infinite ones empty; a column
// with intervals is followed by two with their ends.
func WriteCSV(w io.Writer, tables ...Table) error {
	out := csv.NewWriter(w)
	for i := range tables {
		if i > 0 {
			out.Flush()
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		tables[i].csv(out)
	}
	out.Flush()
	return out.Error()
}

// csv writes a table. Errors of writing are kept until Error is asked.
func (t *Table) csv(out *csv.Writer) {
	columns := t.Columns
	switch t.Kind {
	case Tree:
		columns = []Column{{Head: "label"}, {Head: "value"}, {Head: "note"}}
	case List:
		columns = []Column{{Head: "sign"}, {Head: "text"}}
	}
	estimates := make([]bool, len(columns))
	for _, row := range t.Rows {
		for i := range columns {
			estimates[i] = estimates[i] || at(row, i).Bounds != nil
		}
	}
	var head []string
	for i, c := range columns {
		head = append(head, c.Head)
		if estimates[i] {
			head = append(head, c.Head+"_low", c.Head+"_high")
		}
	}
	_ = out.Write(head)
	for _, row := range t.Rows {
		var line []string
		for i := range columns {
			c := at(row, i)
			line = append(line, c.raw())
			if estimates[i] {
				low, high := "", ""
				if b := c.Bounds; b != nil && b.Why.IsZero() {
					low, high = Number(b.Low), Number(b.High)
				}
				line = append(line, low, high)
			}
		}
		_ = out.Write(line)
	}
}

// raw is the value without its unit, or the text.
func (c Cell) raw() string {
	if c.Unit == "" {
		return c.Text
	}
	return Number(c.Value)
}

// Number is a figure for machines, empty if it is unknown or infinite.
func Number(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return ""
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}
