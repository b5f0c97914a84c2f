package form

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sort"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"brunt/internal/base/jsontext"
	"brunt/internal/plan"
)

// MaxBytes is the size of the largest file that Document accepts.
const MaxBytes = 16 << 20

// Limits of a file's size in memory.
const (
	maxDepth    = 64        // nesting of lists and mappings
	maxExpanded = 1_000_000 // nodes that aliases may add
)

// Reader reads one file: it converts the nodes and collects problems.
type Reader struct {
	File     string // its name as shown in problems
	Kind     Kind   // what the file must be
	Problems plan.Problems
	broken   []lines // items with syntax problems, whose meaning can't be checked
	cross    bool    // an item of a list with cross is broken, so references to it can't be checked
}

// Kind is a kind of file.
type Kind struct {
	Noun  string   // "plan"
	Least string   // what a file must have: "plan and steps"
	Run   string   // the command that runs such a file: "brunt run"
	Keys  []string // keys that only files of this kind have at the top
}

// The kinds of files that brunt reads.
var (
	Plan = Kind{Noun: "plan", Least: "tables_schema or queries", Run: "brunt run",
		Keys: []string{"tables_schema", "queries", "transactions", "load"}}
	Campaign = Kind{Noun: "campaign", Least: "plan and steps", Run: "brunt campaign run",
		Keys: []string{"steps", "campaign"}}
)

// lines is a range of lines, including both.
type lines struct{ first, last int }

// Problem adds a problem. fix says what to do about it.
func (r *Reader) Problem(at plan.Position, fix, format string, args ...any) {
	r.Problems = append(r.Problems, plan.Problem{At: at, Text: fmt.Sprintf(format, args...), Fix: fix})
}

// ProblemAt adds a problem at a node.
func (r *Reader) ProblemAt(n *yaml.Node, fix, format string, args ...any) {
	r.Problem(r.At(n), fix, format, args...)
}

// At returns the position of a node.
func (r *Reader) At(n *yaml.Node) plan.Position {
	return plan.Position{File: r.File, Line: n.Line, Column: n.Column}
}

// Consequences returns a function that reports whether a problem found later may be a mere consequence of one
// found while reading.
func (r *Reader) Consequences() func(f plan.Problem) bool {
	spans := slices.SortedFunc(slices.Values(r.broken), func(a, b lines) int { return a.first - b.first })
	for i := 1; i < len(spans); i++ {
		spans[i].last = max(spans[i].last, spans[i-1].last)
	}
	return func(f plan.Problem) bool {
		if f.Cross && r.cross {
			return true
		}
		after := sort.Search(len(spans), func(i int) bool { return spans[i].first > f.At.Line })
		return after > 0 && f.At.Line <= spans[after-1].last
	}
}

// Item calls read for a list item and marks the item as broken if read adds a problem.
func (r *Reader) Item(n *yaml.Node, read func()) {
	before := len(r.Problems)
	read()
	if len(r.Problems) > before {
		r.broken = append(r.broken, lines{n.Line, lastLine(n)})
	}
}

func lastLine(n *yaml.Node) int {
	last := n.Line
	for _, c := range n.Content {
		last = max(last, lastLine(c))
	}
	return last
}

// Document parses the file's only document and returns its root node, or nil after a problem. A file of another kind is
// a problem that names the command for it.
func (r *Reader) Document(data []byte) *yaml.Node {
	file := plan.Position{File: r.File, Line: 1, Column: 1}
	switch {
	case len(data) > MaxBytes:
		r.Problem(file, "split it or shorten its lists", "the file has %d bytes, more than %d", len(data), MaxBytes)
		return nil
	case !utf8.Valid(data):
		r.Problem(r.offset(data, invalidUTF8(data)), "save the file as UTF-8", "the text is not UTF-8")
		return nil
	case filepath.Ext(r.File) == ".js", filepath.Ext(r.File) == ".ts":
		r.Problem(file, "run it with brunt k6 run", "this is a script, and no %s", r.Kind.Noun)
		return nil
	}
	loader, err := yaml.NewLoader(bytes.NewReader(jsontext.ForYAML(data)))
	if err != nil {
		r.Problem(file, "", "the YAML reader failed: %v", err)
		return nil
	}
	var doc, next yaml.Node
	if err := loader.Load(&doc); err != nil && !errors.Is(err, io.EOF) {
		r.syntax(data, err)
		return nil
	}
	if len(doc.Content) == 0 || Empty(doc.Content[0]) {
		r.Problem(file, "write at least "+r.Kind.Least, "the file is empty")
		return nil
	}
	if err := loader.Load(&next); err == nil {
		r.ProblemAt(&next, "keep one "+r.Kind.Noun+" a file", "the file holds a second document")
		return nil
	} else if !errors.Is(err, io.EOF) {
		r.syntax(data, err)
		return nil
	}
	root := doc.Content[0]
	if !r.bounded(root) {
		return nil
	}
	for _, k := range []Kind{Plan, Campaign} {
		if k.fits(root) && !r.Kind.fits(root) {
			r.ProblemAt(root, "run it with "+k.Run, "this is a %s, and no %s", k.Noun, r.Kind.Noun)
			return nil
		}
	}
	return root
}

// fits reports whether a file with this root has a key that only files of this kind have.
func (k Kind) fits(root *yaml.Node) bool {
	for i := 0; root.Kind == yaml.MappingNode && i+1 < len(root.Content); i += 2 {
		if slices.Contains(k.Keys, root.Content[i].Value) {
			return true
		}
	}
	return false
}

// Empty reports whether a key has no value.
func Empty(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		if c == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
	return len(data)
}

func (r *Reader) offset(data []byte, i int) plan.Position {
	before := data[:i]
	return plan.Position{File: r.File, Line: 1 + bytes.Count(before, []byte("\n")),
		Column: i - bytes.LastIndexByte(before, '\n')}
}

// syntax reports an error of the YAML parser.
func (r *Reader) syntax(data []byte, err error) {
	at := plan.Position{File: r.File, Line: 1, Column: 1}
	text := err.Error()
	if load, ok := errors.AsType[*yaml.LoadError](err); ok {
		at.Line, at.Column, text = max(load.Mark.Line, 1), max(load.Mark.Column, 1), load.Message
		if load.ContextMsg != "" {
			text = load.ContextMsg + ": " + text
		}
	}
	fix := "check indentation, quotes and brackets near here"
	if lines := bytes.SplitN(data, []byte("\n"), at.Line+1); at.Line <= len(lines) {
		line := lines[at.Line-1]
		if indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]; bytes.ContainsRune(indent, '\t') {
			text, fix = "a tab in the indentation", "indent with spaces"
		}
	}
	r.Problem(at, fix, "not YAML: %s", text)
}

// bounded reports whether a document, with aliases expanded, is small enough to be processed. If not, it adds a
// problem. It visits each node once.
func (r *Reader) bounded(root *yaml.Node) bool {
	m := measurer{sizes: map[*yaml.Node]int{}}
	size, plain := m.size(root, 0), m.nodes
	switch {
	case m.circular != nil:
		r.ProblemAt(m.circular, "write the value out", "alias *%s stands within what it stands for", m.circular.Value)
	case m.deep != nil:
		r.ProblemAt(m.deep, "flatten it", "lists and mappings are nested deeper than %d", maxDepth)
	case size > plain+maxExpanded:
		r.ProblemAt(root, "write the values out", "aliases make the file more than %d values longer", maxExpanded)
	default:
		return true
	}
	return false
}

// measurer computes the number of nodes of a tree with aliases expanded.
type measurer struct {
	sizes    map[*yaml.Node]int // of anchored nodes; 0 while being computed
	nodes    int                // without expanding aliases
	circular *yaml.Node
	deep     *yaml.Node
}

// huge is the limit of sizes, so that sums can't overflow.
const huge = 1 << 40

func (m *measurer) size(n *yaml.Node, depth int) int {
	if depth > maxDepth {
		m.deep = n
	}
	if m.deep != nil || m.circular != nil {
		return 0
	}
	if n.Kind == yaml.AliasNode {
		m.nodes++
		size, seen := m.sizes[n.Alias]
		if !seen {
			return 1
		}
		if size == 0 {
			m.circular = n
		}
		return size
	}
	if n.Anchor != "" {
		m.sizes[n] = 0
	}
	m.nodes++
	total := 1
	for _, c := range n.Content {
		total = min(total+m.size(c, depth+1), huge)
	}
	if n.Anchor != "" {
		m.sizes[n] = total
	}
	return total
}
