package program

import (
	"fmt"
	"io"
	"slices"

	"brunt/internal/render/cell"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
)

// Print writes a report as text, json, md or csv. Except for json, further tables follow its own. dir is the series'
// folder.
func (r *Report) Print(w io.Writer, format string, look cell.Look, dir string, more ...cell.Table) error {
	tables := append(r.Tables(look.Language), more...)
	switch format {
	case "json":
		r.Messages = message.TableOf(r)
		return cell.WriteJSON(w, r)
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

// Tables returns the report's non-empty tables in a language.
func (r *Report) Tables(l units.Language) (out []cell.Table) {
	if r.Search != nil {
		out = append(out, r.Search.tables(l)...)
		if !r.Note.IsZero() {
			out[0].Foot = append(out[0].Foot, r.Note.In(l))
		}
	}
	if r.Matrix != nil {
		out = append(out, r.Matrix.tables(l)...)
	}
	if len(r.Runs) > 0 {
		out = append(out, runsTable(l, r.Runs))
	}
	return slices.DeleteFunc(out, func(t cell.Table) bool { return len(t.Rows)+len(t.Foot) == 0 })
}
