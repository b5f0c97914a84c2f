// Package vegeta reads lists of HTTP requests in the text format of vegeta's targets:
//
//	GET http://host/path
//	Header-Name: value
//	@file-with-the-body
//
// A request begins with a line that has the method and the URL. It is followed by header fields, and at most one line
// with the name of the body's file. Empty lines between requests and lines that begin with # are ignored. If the first
// character of a list is {, the list is in the JSON format: each line is an object with method, url, header (lists of
// values by name) and body (base64).
//
// The formats are described in github.com/tsenart/vegeta, README, "http format" and "json format".
package vegeta

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"brunt/internal/dialect/endpoints"
)

// Limits of a list.
const (
	MaxRequests  = 100_000
	maxLineBytes = 1 << 20
)

// Read reads a list. name is the name of its file for errors (name:line: …). open reads the file of a body.
func Read(name string, in io.Reader, open func(path string) ([]byte, error)) ([]endpoints.Request, error) {
	r := &reader{open: open, bodies: map[string][]byte{}}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLineBytes)
	n := 1
	for ; lines.Scan(); n++ {
		text := lines.Text()
		if n == 1 {
			text = strings.TrimPrefix(text, "\ufeff") // a byte order mark, which editors of Windows write
		}
		text = strings.TrimSpace(text)
		read := r.line
		if r.json = r.json || len(r.all) == 0 && strings.HasPrefix(text, "{"); r.json {
			read = r.object
		}
		if err := read(text); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("%s:%d: the line is longer than %d bytes; name a file for its body", name, n, maxLineBytes)
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(r.all) == 0 {
		return nil, fmt.Errorf("%s holds no request; write lines such as: GET http://localhost:8080/", name)
	}
	return r.all, nil
}

type reader struct {
	open   func(path string) ([]byte, error)
	all    []endpoints.Request
	json   bool
	within bool // more lines may belong to the last request
	bodies map[string][]byte
}

func (r *reader) line(text string) error {
	switch {
	case text == "":
		r.within = false
		return nil
	case text[0] == '#':
		return nil
	case text[0] == '@':
		return r.body(text[1:])
	}
	method, rest, ok := strings.Cut(text, " ")
	if ok && isMethod(method) {
		return r.begin(method, strings.TrimSpace(rest))
	}
	return r.header(text)
}

// isMethod distinguishes the first line of a request from a header field, whose name ends in a colon.
func isMethod(s string) bool { return s != "" && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" }

func (r *reader) begin(method, text string) error {
	if len(r.all) == MaxRequests {
		return fmt.Errorf("more than %d requests; split the list", MaxRequests)
	}
	if address, version, ok := strings.Cut(text, " "); ok && strings.HasPrefix(version, "HTTP/") {
		text = address // the first line of a request as it is sent
	}
	u, err := endpoints.ParseURL(text)
	if err != nil {
		return err
	}
	r.all = append(r.all, endpoints.Request{Method: method, URL: u})
	r.within = true
	return nil
}

// object parses a line of the JSON format.
func (r *reader) object(text string) error {
	if text == "" {
		return nil
	}
	var target struct {
		Method string              `json:"method"`
		URL    string              `json:"url"`
		Body   []byte              `json:"body"`
		Header map[string][]string `json:"header"`
	}
	if err := json.Unmarshal([]byte(text), &target); err != nil {
		return fmt.Errorf("not a target in JSON: %w", err)
	}
	if !isMethod(target.Method) {
		return fmt.Errorf("method %q; write for example \"method\": \"GET\"", target.Method)
	}
	if err := r.begin(target.Method, target.URL); err != nil {
		return err
	}
	last := &r.all[len(r.all)-1]
	last.Body = target.Body
	for _, name := range slices.Sorted(maps.Keys(target.Header)) {
		for _, value := range target.Header[name] {
			if err := endpoints.ValidHeader(name, value); err != nil {
				return err
			}
			last.Header = append(last.Header, [2]string{name, value})
		}
	}
	return nil
}

func (r *reader) last() (*endpoints.Request, error) {
	if !r.within {
		return nil, errors.New("write method and URL first, as in: GET http://localhost:8080/")
	}
	return &r.all[len(r.all)-1], nil
}

func (r *reader) header(text string) error {
	last, err := r.last()
	if err != nil {
		return err
	}
	name, value, ok := strings.Cut(text, ":")
	if !ok {
		return errors.New("neither a request (METHOD URL), a header (Name: value) nor a body (@file)")
	}
	value = strings.TrimSpace(value)
	if err := endpoints.ValidHeader(name, value); err != nil {
		return err
	}
	last.Header = append(last.Header, [2]string{name, value})
	return nil
}

func (r *reader) body(path string) error {
	last, err := r.last()
	if err != nil {
		return err
	}
	if last.Body != nil {
		return errors.New("the request has a body already")
	}
	if r.bodies[path] == nil {
		body, err := r.open(path)
		if err != nil {
			return fmt.Errorf("body: %w", err)
		}
		r.bodies[path] = append([]byte{}, body...)
	}
	last.Body = r.bodies[path]
	return nil
}
