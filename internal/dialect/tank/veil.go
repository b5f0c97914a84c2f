package tank

import (
	"bytes"
	"strings"

	"brunt/internal/base/secret"
	"brunt/internal/plan/script"
)

// veil keeps the secrets of requests out of a plan's scripts. Lists repeat the same header fields in most requests, so
// that what became of a line is remembered.
type veil struct {
	*script.Veil
	lines map[string]string
}

func newVeil(options map[string]string) *veil {
	return &veil{script.NewVeil(options), map[string]string{}}
}

// mostLines limits how many lines are remembered.
const mostLines = 10_000

// raw returns a request as it is sent, with marks instead of its secrets.
func (v *veil) raw(text []byte) []byte {
	head, body, ended := bytes.Cut(text, []byte("\r\n\r\n"))
	var b bytes.Buffer
	for line := range strings.Lines(string(head)) {
		known, ok := v.lines[line]
		if !ok {
			known = v.line(line)
			if len(v.lines) < mostLines {
				v.lines[line] = known
			}
		}
		b.WriteString(known)
	}
	if ended {
		b.WriteString("\r\n\r\n" + v.Text(string(body)))
	}
	return b.Bytes()
}

// line returns a line of a request's head.
func (v *veil) line(line string) string {
	text := strings.TrimRight(line, "\r\n")
	name, value, field := strings.Cut(text, ":")
	trimmed := strings.TrimLeft(value, " \t")
	if field && trimmed != "" && !strings.ContainsAny(name, " \t") && secret.Name(name) {
		return name + ":" + value[:len(value)-len(trimmed)] + v.Secret(name, trimmed) + line[len(text):]
	}
	return v.Text(line)
}

// web returns a copy of a request with marks instead of its secrets.
func (v *veil) web(w *webEntry) *webEntry {
	if w == nil {
		return nil
	}
	out := &webEntry{Method: w.Method, Path: v.Text(w.Path)}
	for _, h := range w.Header {
		out.Header = append(out.Header, [2]string{h[0], v.Value(h[0], h[1])})
	}
	if len(w.Body) > 0 {
		out.Body = []byte(v.Text(string(w.Body)))
	}
	return out
}

// unveiled puts the secrets of a request back.
func (w *webEntry) unveiled(unveil func(string) string) {
	w.Path = unveil(w.Path)
	for i := range w.Header {
		w.Header[i][1] = unveil(w.Header[i][1])
	}
	if len(w.Body) > 0 {
		w.Body = []byte(unveil(string(w.Body)))
	}
}
