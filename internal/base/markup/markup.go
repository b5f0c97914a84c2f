// Package markup reads documents of XML and HTML, and finds values in them by XPath.
package markup

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/antchfx/xpath"
	"golang.org/x/net/html"
)

// Node is a node of a document, or the document itself.
type Node struct {
	kind     xpath.NodeType
	name     string
	prefix   string
	value    string
	attrs    []html.Attribute
	up       *Node
	children []*Node
	index    int // in its parent
}

func (n *Node) add(c *Node) *Node {
	c.up, c.index = n, len(n.children)
	n.children = append(n.children, c)
	return c
}

func (n *Node) text() string {
	if n.kind == xpath.TextNode || n.kind == xpath.CommentNode {
		return n.value
	}
	var b strings.Builder
	for _, c := range n.children {
		if c.kind != xpath.CommentNode {
			b.WriteString(c.text())
		}
	}
	return b.String()
}

// navigator implements xpath.NodeNavigator.
type navigator struct {
	root, at *Node
	attr     int // −1: at the node itself
}

func (n *navigator) NodeType() xpath.NodeType {
	if n.attr >= 0 {
		return xpath.AttributeNode
	}
	return n.at.kind
}

func (n *navigator) LocalName() string {
	if n.attr >= 0 {
		return n.at.attrs[n.attr].Key
	}
	return n.at.name
}

func (n *navigator) Prefix() string {
	if n.attr >= 0 {
		return n.at.attrs[n.attr].Namespace
	}
	return n.at.prefix
}

func (n *navigator) Value() string {
	if n.attr >= 0 {
		return n.at.attrs[n.attr].Val
	}
	return n.at.text()
}

func (n *navigator) Copy() xpath.NodeNavigator { c := *n; return &c }

func (n *navigator) MoveToRoot() { n.at, n.attr = n.root, -1 }

func (n *navigator) MoveToParent() bool {
	if n.attr >= 0 {
		n.attr = -1
		return true
	}
	if n.at.up == nil {
		return false
	}
	n.at = n.at.up
	return true
}

func (n *navigator) MoveToNextAttribute() bool {
	if n.attr+1 >= len(n.at.attrs) {
		return false
	}
	n.attr++
	return true
}

func (n *navigator) MoveToChild() bool {
	if n.attr >= 0 || len(n.at.children) == 0 {
		return false
	}
	n.at = n.at.children[0]
	return true
}

func (n *navigator) sibling(i int) bool {
	if n.attr >= 0 || n.at.up == nil || i < 0 || i >= len(n.at.up.children) {
		return false
	}
	n.at = n.at.up.children[i]
	return true
}

func (n *navigator) MoveToFirst() bool    { return n.sibling(0) }
func (n *navigator) MoveToNext() bool     { return n.sibling(n.at.index + 1) }
func (n *navigator) MoveToPrevious() bool { return n.sibling(n.at.index - 1) }

func (n *navigator) MoveTo(to xpath.NodeNavigator) bool {
	o, ok := to.(*navigator)
	if !ok || o.root != n.root {
		return false
	}
	n.at, n.attr = o.at, o.attr
	return true
}

// mostDepth limits the nesting of elements.
const mostDepth = 500

// Parse reads a document: XML or, if tolerant, HTML as browsers do.
func Parse(input string, tolerant bool) (*Node, error) {
	root := &Node{kind: xpath.RootNode}
	if tolerant {
		doc, err := html.Parse(strings.NewReader(input))
		if err != nil {
			return nil, err
		}
		fromHTML(root, doc)
		return root, nil
	}
	d := xml.NewDecoder(strings.NewReader(input))
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	at, depth := root, 0
	for {
		token, err := d.RawToken()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("the answer isn't XML: %w", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			n := &Node{kind: xpath.ElementNode, name: t.Name.Local, prefix: t.Name.Space}
			for _, a := range t.Attr {
				n.attrs = append(n.attrs, html.Attribute{Namespace: a.Name.Space, Key: a.Name.Local, Val: a.Value})
			}
			if depth++; depth > mostDepth {
				return nil, fmt.Errorf("the answer is nested too deeply")
			}
			at = at.add(n)
		case xml.EndElement:
			if at.up == nil || at.name != t.Name.Local {
				return nil, fmt.Errorf("the answer isn't XML: </%s> ends no element", t.Name.Local)
			}
			at, depth = at.up, depth-1
		case xml.CharData:
			if at != root {
				at.add(&Node{kind: xpath.TextNode, value: string(t)})
			}
		case xml.Comment:
			at.add(&Node{kind: xpath.CommentNode, value: string(t)})
		}
	}
	if at != root || len(root.children) == 0 {
		return nil, fmt.Errorf("the answer isn't XML: it ends inside <%s>", at.name)
	}
	return root, nil
}

func fromHTML(to *Node, n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.Type {
		case html.ElementNode:
			fromHTML(to.add(&Node{kind: xpath.ElementNode, name: c.Data, attrs: c.Attr}), c)
		case html.TextNode:
			to.add(&Node{kind: xpath.TextNode, value: c.Data})
		case html.CommentNode:
			to.add(&Node{kind: xpath.CommentNode, value: c.Data})
		}
	}
}

func compile(query string) (expr *xpath.Expr, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the XPath expression %q isn't understood: %v", cut(query), r)
		}
	}()
	expr, err = xpath.Compile(query)
	if err != nil {
		err = fmt.Errorf("the XPath expression %q isn't understood: %w", cut(query), err)
	}
	return expr, err
}

// cut shortens an expression for messages.
func cut(query string) string {
	const most = 80
	if r := []rune(query); len(r) > most {
		return string(r[:most]) + "…"
	}
	return query
}

// CheckXPath reports whether an XPath expression can be used.
func CheckXPath(query string) error {
	_, err := compile(query)
	return err
}

// XPath returns the values of an expression in a document; those of nodes as text or, if fragment, as XML.
func (n *Node) XPath(query string, fragment bool) (out []string, err error) {
	expr, err := compile(query)
	if err != nil {
		return nil, err
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the XPath expression %q: %v", cut(query), r)
		}
	}()
	switch v := expr.Evaluate(&navigator{n, n, -1}).(type) {
	case *xpath.NodeIterator:
		for v.MoveNext() {
			found := v.Current().(*navigator)
			if fragment && found.attr < 0 && found.at.kind == xpath.ElementNode {
				out = append(out, found.at.source())
				continue
			}
			out = append(out, found.Value())
		}
		return out, nil
	case bool:
		return []string{strconv.FormatBool(v)}, nil
	case float64:
		return []string{strconv.FormatFloat(v, 'f', -1, 64)}, nil
	case string:
		return []string{v}, nil
	}
	return nil, nil
}

// entities are the characters that XML writes as entities.
var entities = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")

// source writes an element as XML.
func (n *Node) source() string {
	if n.kind == xpath.TextNode {
		return entities.Replace(n.value)
	}
	name := n.name
	if n.prefix != "" {
		name = n.prefix + ":" + name
	}
	var b strings.Builder
	b.WriteString("<" + name)
	for _, a := range n.attrs {
		b.WriteString(" " + a.Key + `="` + entities.Replace(a.Val) + `"`)
	}
	if len(n.children) == 0 {
		return b.String() + "/>"
	}
	b.WriteByte('>')
	for _, c := range n.children {
		b.WriteString(c.source())
	}
	return b.String() + "</" + name + ">"
}
