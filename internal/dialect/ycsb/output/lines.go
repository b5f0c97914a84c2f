package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// header returns the names of the columns of results.
func header() []string {
	return []string{
		"Operation", "Takes(s)", "Count", "OPS", "Avg(us)", "Min(us)", "Max(us)",
		"50th(us)", "90th(us)", "95th(us)", "99th(us)", "99.9th(us)", "99.99th(us)",
	}
}

// rows returns the results in go-ycsb's form: one row for each operation, sorted by name.
func (r *Results) rows() [][]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	elapsed := float64(r.elapsedNs) / 1e9
	var rows [][]string
	for _, name := range r.names() {
		h := r.byName[name]
		rate := 0.0
		if elapsed > 0 {
			rate = float64(h.TotalCount()) / elapsed
		}
		row := []string{name, fmt.Sprintf("%.1f", elapsed), fmt.Sprint(h.TotalCount()), fmt.Sprintf("%.1f", rate)}
		for _, us := range []int64{
			int64(h.Mean()), h.Min(), h.Max(),
			h.ValueAtPercentile(50), h.ValueAtPercentile(90), h.ValueAtPercentile(95),
			h.ValueAtPercentile(99), h.ValueAtPercentile(99.9), h.ValueAtPercentile(99.99),
		} {
			row = append(row, fmt.Sprint(us))
		}
		rows = append(rows, row)
	}
	return rows
}

// Write writes the results in one of go-ycsb's styles: plain, table or json. It writes nothing if there are no results.
func (r *Results) Write(w io.Writer, style string) error {
	rows := r.rows()
	if len(rows) == 0 {
		return nil
	}
	var b bytes.Buffer
	switch style {
	case "json":
		writeJSON(&b, rows)
	case "table":
		writeTable(&b, rows)
	default:
		names := header()
		for _, row := range rows {
			var cells []string
			for i, name := range names[1:] {
				cells = append(cells, name+": "+row[i+1])
			}
			fmt.Fprintf(&b, "%-6s - %s\n", row[0], strings.Join(cells, ", "))
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// writeJSON writes an array of objects whose values are all strings.
func writeJSON(b *bytes.Buffer, rows [][]string) {
	names := header()
	var all []map[string]string
	for _, row := range rows {
		object := map[string]string{}
		for i, name := range names {
			object[name] = row[i]
		}
		all = append(all, object)
	}
	// Encoding maps of strings can't fail.
	text, _ := json.Marshal(all)
	b.Write(append(text, '\n'))
}

// writeTable writes a table with centred headings in capitals and right-aligned numbers.
func writeTable(b *bytes.Buffer, rows [][]string) {
	names := header()
	widths := make([]int, len(names))
	for i, name := range names {
		names[i] = strings.ToUpper(name)
		widths[i] = utf8.RuneCountInString(name)
		for _, row := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	rule := "+"
	for _, w := range widths {
		rule += strings.Repeat("-", w+2) + "+"
	}
	b.WriteString(rule + "\n|")
	for i, name := range names {
		left := (widths[i] - len(name)) / 2
		fmt.Fprintf(b, " %s%s%s |", strings.Repeat(" ", left), name, strings.Repeat(" ", widths[i]-len(name)-left))
	}
	b.WriteString("\n" + rule + "\n")
	for _, row := range rows {
		b.WriteByte('|')
		for i, cell := range row {
			if i == 0 {
				fmt.Fprintf(b, " %-*s |", widths[i], cell)
			} else {
				fmt.Fprintf(b, " %*s |", widths[i], cell)
			}
		}
		b.WriteByte('\n')
	}
	b.WriteString(rule + "\n")
}
