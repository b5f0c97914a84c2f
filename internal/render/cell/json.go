package cell

import (
	"encoding/json"
	"io"
)

// WriteJSON writes a value as indented JSON, with <, > and & as they are.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
