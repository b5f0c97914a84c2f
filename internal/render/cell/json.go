package cell

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// WriteJSON writes a value as indented JSON, with <, > and & as they are. Characters that control terminals or the
// direction of text are escaped.
func WriteJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	text := b.Bytes()
	if bytes.ContainsFunc(text, controls) {
		text = []byte(escaped(text))
	}
	_, err := w.Write(text)
	return err
}

// controls reports whether a character is one that JSON allows in texts and that controls terminals or the direction of
// text.
func controls(r rune) bool {
	return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\ufeff')
}

func escaped(text []byte) string {
	var b strings.Builder
	for _, r := range string(text) {
		if controls(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
