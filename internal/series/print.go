package series

import (
	"encoding/json"
	"fmt"
	"io"

	"brunt/internal/report/cell"
	"brunt/internal/units"
)

// Print writes a report as text, json, md or csv. Folders are shown below dir.
func (r *Report) Print(w io.Writer, format string, look cell.Look, dir string) error {
	tables := r.Tables(look.Language)
	switch format {
	case "json":
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(r)
	case "md":
		return cell.WriteMarkdown(w, look.Language, tables...)
	case "csv":
		return cell.WriteCSV(w, tables...)
	case "text":
		if err := cell.WriteText(w, look, tables...); err != nil {
			return err
		}
		_, err := fmt.Fprintf(w, "%s\n", dir)
		return err
	}
	return fmt.Errorf("unknown output format %q; use text, json, md or csv", format)
}

// Tables are the report's tables in a language.
func (r *Report) Tables(l units.Language) (out []cell.Table) {
	if r.Search != nil {
		out = append(out, r.Search.tables(l)...)
	}
	if r.Matrix != nil {
		out = append(out, r.Matrix.tables(l)...)
	}
	if len(r.Runs) > 0 {
		out = append(out, runsTable(l, r.Runs))
	}
	return out
}
