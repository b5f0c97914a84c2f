// Package jsontext makes texts in JSON readable for parsers of YAML.
package jsontext

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// ForYAML returns a text in JSON with the characters that its strings write as two escapes, such as \ud83d\ude00: YAML
// refuses them, and many programs write them for all that isn't in Unicode's first plane. Other texts are returned as
// they are. Lines stay where they are.
func ForYAML(text []byte) []byte {
	if !bytes.Contains(text, []byte(`\u`)) || !json.Valid(text) {
		return text
	}
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		at := bytes.IndexByte(text, '\\')
		if at < 0 {
			break
		}
		out, text = append(out, text[:at]...), text[at:]
		first, ok := escaped(text)
		if !ok || !utf16.IsSurrogate(first) {
			const escape = 2 // or the beginning of one, without further backslashes
			out, text = append(out, text[:escape]...), text[escape:]
			continue
		}
		text = text[unit:]
		second, _ := escaped(text)
		r := utf16.DecodeRune(first, second)
		if r != utf8.RuneError {
			text = text[unit:]
		}
		out = utf8.AppendRune(out, r)
	}
	return append(out, text...)
}

// unit is the length of an escape such as \ud83d.
const unit = 6

// escaped returns the number that a text begins with as an escape.
func escaped(text []byte) (n rune, ok bool) {
	if len(text) < unit || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	u, err := strconv.ParseUint(string(text[2:unit]), 16, 16)
	return rune(u), err == nil
}
