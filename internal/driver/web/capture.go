package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"brunt/internal/driver"
	"brunt/internal/gen"
	"brunt/internal/template"
)

// source says what part of an answer a capture reads.
type source uint8

const (
	fromHeader source = iota
	fromBody
	fromJSON
)

// capture is one value of an answer that a later request needs.
type capture struct {
	from source
	name string   // of the header field, in lower case
	path []string // within JSON
	kind gen.Kind
}

func parseCapture(c driver.Capture) (capture, error) {
	from, rest, _ := strings.Cut(c.Name, ":")
	switch {
	case from == "header" && isToken(rest):
		return capture{from: fromHeader, name: strings.ToLower(rest), kind: c.Kind}, nil
	case c.Name == "body":
		return capture{from: fromBody, kind: c.Kind}, nil
	case from == "json" && rest != "":
		return capture{from: fromJSON, path: strings.Split(rest, "."), kind: c.Kind}, nil
	}
	return capture{}, fmt.Errorf("capture %q: write header:Name, body or json:path", c.Name)
}

// setJSON gives v what stands at path in a JSON text; null if there is nothing, or no JSON.
func setJSON(v *gen.Value, kind gen.Kind, path []string, text []byte) {
	v.SetNull()
	rest := json.RawMessage(text)
	for _, step := range path {
		if rest = descend(rest, step); rest == nil {
			return
		}
	}
	rest = bytes.TrimSpace(rest)
	var s string
	switch {
	case len(rest) == 0 || bytes.Equal(rest, []byte("null")) || !json.Valid(rest):
	case json.Unmarshal(rest, &s) == nil:
		template.SetText(v, kind, []byte(s))
	case (kind == gen.Bool || kind == gen.Null) && (rest[0] == 't' || rest[0] == 'f'):
		template.SetText(v, gen.Bool, rest)
	case kind == gen.Bool:
	default:
		template.SetText(v, kind, rest)
	}
}

func descend(text json.RawMessage, step string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(text, &object) == nil {
		return object[step]
	}
	var array []json.RawMessage
	if i, err := strconv.Atoi(step); err == nil && json.Unmarshal(text, &array) == nil && i >= 0 && i < len(array) {
		return array[i]
	}
	return nil
}
