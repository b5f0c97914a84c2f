package cell

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"
)

// WriteCSV writes tables, separated by empty lines, each with a heading line. Figures are in base units (ns, bytes,
// fractions of 1); unknown and infinite ones are empty. A column with intervals is followed by two columns with their
// ends.
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

// csv writes a table. out keeps errors for out.Error.
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

// raw returns the value without its unit, or the text.
func (c Cell) raw() string {
	if c.Unit == "" {
		return c.Text
	}
	return Number(c.Value)
}

// Number returns a figure in machine-readable form; "" if it is unknown or infinite.
func Number(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return ""
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}
