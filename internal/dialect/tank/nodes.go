package tank

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"brunt/internal/base/jsontext"
	"brunt/internal/base/lazyregexp"
	"brunt/internal/base/suggest"
)

// Faults are what is wrong in a configuration: a line for each, with its place.
type Faults []string

// Error returns the faults, one a line.
func (f Faults) Error() string { return strings.Join(f, "\n") }

// reader reads YAML nodes. Faults and notes are collected.
type reader struct {
	file   string
	faults Faults
	notes  []string
}

// fault adds a fault at a node, which may be nil. Parts of phantom's multi share nodes, whose faults are added once.
func (r *reader) fault(n *yaml.Node, format string, args ...any) {
	if text := r.place(n) + fmt.Sprintf(format, args...); !slices.Contains(r.faults, text) {
		r.faults = append(r.faults, text)
	}
}

// place returns where a node is, for the beginning of a line.
func (r *reader) place(n *yaml.Node) string {
	switch {
	case n == nil || n.Line == 0 && n.Anchor == "":
		return r.file + ": "
	case n.Line == 0:
		return n.Anchor + ": " // made from the command line
	}
	file := r.file
	if n.HeadComment != "" && strings.HasPrefix(n.HeadComment, fileMark) {
		file = strings.TrimPrefix(n.HeadComment, fileMark)
	}
	return fmt.Sprintf("%s:%d:%d: ", file, n.Line, n.Column)
}

// note says once what of the configuration isn't followed.
func (r *reader) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}

// fileMark precedes the name of a node's file in its comment, since nodes of several files are merged.
const fileMark = "\x00"

// mark notes the file of all nodes below n.
func mark(n *yaml.Node, file string, depth int) {
	if depth > maxDepth {
		return
	}
	n.HeadComment, n.LineComment, n.FootComment = fileMark+file, "", ""
	for _, c := range n.Content {
		mark(c, file, depth+1)
	}
}

// maxDepth is how deep a configuration may be nested.
const maxDepth = 100

// entry is a key of a mapping with its value.
type entry struct {
	key, value *yaml.Node
}

// object is a mapping.
type object struct {
	node    *yaml.Node
	entries []entry
}

// get returns the value of the first of keys that is given; nil if none is, or if it is null.
func (o *object) get(keys ...string) *yaml.Node {
	if o == nil {
		return nil
	}
	for _, key := range keys {
		for _, e := range o.entries {
			if e.key.Value == key && !null(e.value) {
				return e.value
			}
		}
	}
	return nil
}

func null(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && (n.Tag == "!!null" || n.Value == "" && n.Style == 0)
}

// resolve follows aliases.
func resolve(n *yaml.Node) *yaml.Node {
	for range maxDepth {
		if n == nil || n.Kind != yaml.AliasNode {
			break
		}
		n = n.Alias
	}
	return n
}

// object reads a mapping. known are its keys; none means any.
func (r *reader) object(n *yaml.Node, what string, known ...string) *object {
	n = resolve(n)
	if n == nil || n.Kind != yaml.MappingNode {
		r.fault(n, "%s must be a mapping of keys to values", what)
		return nil
	}
	o := &object{node: n}
	for _, e := range pairsOf(n, 0) {
		if len(known) > 0 && !slices.Contains(known, e.key.Value) {
			text := fmt.Sprintf("unknown key %q in %s", e.key.Value, what)
			r.fault(e.key, "%s; %s", text, suggest.Or(e.key.Value, known, "remove it"))
			continue
		}
		o.entries = append(o.entries, e)
	}
	return o
}

// pairsOf returns the keys and values of a mapping, with those that it merges (<<) behind its own.
func pairsOf(n *yaml.Node, depth int) (all []entry) {
	var merged []entry
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], resolve(n.Content[i+1])
		if key.Value == "<<" && depth < maxDepth && value != nil {
			switch value.Kind {
			case yaml.MappingNode:
				merged = append(merged, pairsOf(value, depth+1)...)
			case yaml.SequenceNode:
				for _, c := range value.Content {
					if c = resolve(c); c != nil && c.Kind == yaml.MappingNode {
						merged = append(merged, pairsOf(c, depth+1)...)
					}
				}
			}
			continue
		}
		all = append(all, entry{key, value})
	}
	for _, e := range merged {
		if !slices.ContainsFunc(all, func(own entry) bool { return own.key.Value == e.key.Value }) {
			all = append(all, e)
		}
	}
	return all
}

// text reads a scalar as a text; "" if n is nil.
func (r *reader) text(n *yaml.Node, what string) string {
	if null(n) {
		return ""
	}
	if n.Kind != yaml.ScalarNode {
		r.fault(n, "%s must be a text", what)
		return ""
	}
	return n.Value
}

// whole reads a whole number; usual if n is nil.
func (r *reader) whole(n *yaml.Node, what string, usual int) int {
	if null(n) {
		return usual
	}
	v, err := strconv.Atoi(strings.TrimSpace(r.text(n, what)))
	if err != nil {
		r.fault(n, "%s must be a whole number, not %q", what, n.Value)
		return usual
	}
	return v
}

// number reads a number.
func (r *reader) number(n *yaml.Node, what string) float64 {
	v, err := strconv.ParseFloat(strings.TrimSpace(r.text(n, what)), 64)
	if err != nil || v < 0 || v > mostRate {
		r.fault(n, "%s must be a number from 0 to %g, not %q", what, mostRate, r.text(n, what))
		return 0
	}
	return v
}

// mostRate is the greatest number in a schedule.
const mostRate = 1e9

// flag reads true or false, as PyYAML does; usual if n is nil.
func (r *reader) flag(n *yaml.Node, what string, usual bool) bool {
	if null(n) {
		return usual
	}
	switch strings.ToLower(r.text(n, what)) {
	case "true", "yes", "on", "1":
		return true
	case "false", "no", "off", "0":
		return false
	}
	r.fault(n, "%s must be true or false", what)
	return usual
}

// texts reads a list of texts. A text stands for a list of one.
func (r *reader) texts(n *yaml.Node, what string) (all []string) {
	if null(n) {
		return nil
	}
	if n.Kind == yaml.ScalarNode {
		return []string{n.Value}
	}
	for _, c := range r.list(n, what) {
		all = append(all, r.text(c, what))
	}
	return all
}

// list reads a list.
func (r *reader) list(n *yaml.Node, what string) []*yaml.Node {
	if null(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		r.fault(n, "%s must be a list", what)
		return nil
	}
	all := make([]*yaml.Node, len(n.Content))
	for i, c := range n.Content {
		all[i] = resolve(c)
	}
	return all
}

// value returns a node as a Go value: map[string]any, []any, string, int64, float64, bool or nil.
func value(n *yaml.Node, depth int) any {
	n = resolve(n)
	if null(n) || depth > maxDepth {
		return nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for _, e := range pairsOf(n, 0) {
			m[e.key.Value] = value(e.value, depth+1)
		}
		return m
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, c := range n.Content {
			list[i] = value(c, depth+1)
		}
		return list
	}
	var v any
	if n.Tag == "!!int" || n.Tag == "!!float" || n.Tag == "!!bool" {
		if err := n.Decode(&v); err == nil {
			return v
		}
	}
	return n.Value
}

// placedError is a fault at a line of a text.
type placedError struct {
	line int
	text string
}

func (e *placedError) Error() string { return e.text }

// inFile returns a fault of a file, with its line if that is known.
func inFile(file string, err error) error {
	if at, ok := errors.AsType[*placedError](err); ok {
		return fmt.Errorf("%s:%d:1: %s", file, at.line, at.text)
	}
	return fmt.Errorf("%s: %w", file, err)
}

var yamlLine = lazyregexp.New(`^(?:yaml: )?(?:unmarshal errors: )?(?:line (\d+): )?`)

// notYAML returns the fault of a text that can't be parsed.
func notYAML(text []byte, err error) error {
	message := strings.Join(strings.Fields(err.Error()), " ")
	head := yamlLine().FindStringSubmatch(message)
	line, _ := strconv.Atoi(head[1])
	if line == 0 { // of a character, whose place isn't told
		at := bytes.IndexFunc(text, func(c rune) bool {
			return c == utf8.RuneError || c == 0x7f || c < ' ' && !strings.ContainsRune("\t\r\n", c)
		})
		line = 1 + bytes.Count(text[:max(at, 0)], []byte("\n"))
	}
	line = min(line, 1+bytes.Count(bytes.TrimRight(text, "\n"), []byte("\n")))
	return &placedError{line: line, text: "isn't YAML: " + message[len(head[0]):]}
}

// parseYAML returns the root of a YAML document.
func parseYAML(text []byte) (*yaml.Node, error) {
	var n yaml.Node
	if err := yaml.Unmarshal(jsontext.ForYAML(text), &n); err != nil {
		return nil, notYAML(text, err)
	}
	if n.Kind != yaml.DocumentNode || len(n.Content) != 1 {
		return nil, fmt.Errorf("is empty")
	}
	return n.Content[0], nil
}
