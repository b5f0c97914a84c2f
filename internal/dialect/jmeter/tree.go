// Package jmeter is the command line of JMeter (jmeter.apache.org, 5.6.3), its test plans (.jmx) as programs of
// brunt's engine, its lines and its results (JTL).
package jmeter

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Element is an element of a test plan with its properties, as XStream wrote it.
type Element struct {
	Class    string // the tag: HTTPSamplerProxy, LoopController …
	GUI      string // the class of its window, which tells some elements apart
	Name     string
	Enabled  bool
	Line     int
	File     string // of an included file; "" for the plan's own
	Parent   *Element
	Children []*Element // what hangs below it

	props map[string]*property
}

// property is a value of an element: a text, a list or an element of its own.
type property struct {
	tag   string
	name  string
	text  string
	class string
	line  int
	list  []*property
}

// text returns a property's text as written; "" if there is none.
func (e *Element) text(name string) string {
	if p := e.props[name]; p != nil {
		return p.text
	}
	return ""
}

// has reports whether there is a property.
func (e *Element) has(name string) bool { return e.props[name] != nil }

// flag returns a property that is true or false.
func (e *Element) flag(name string) bool {
	return strings.EqualFold(strings.TrimSpace(e.text(name)), "true")
}

// list returns the members of a property that is a collection.
func (e *Element) list(name string) []*property {
	if p := e.props[name]; p != nil {
		return p.list
	}
	return nil
}

// get returns a member of a property that is an element.
func (p *property) get(name string) *property {
	for _, m := range p.list {
		if m.name == name {
			return m
		}
	}
	return nil
}

// value returns the text of a member.
func (p *property) value(name string) string {
	if m := p.get(name); m != nil {
		return m.text
	}
	return ""
}

// Fault is what can't be carried out of a test plan.
type Fault struct {
	File    string
	Line    int
	Element string // "If Controller «name»"
	Text    string
}

// Error returns the fault as one line.
func (f *Fault) Error() string {
	var b strings.Builder
	if f.File != "" {
		fmt.Fprintf(&b, "%s:", f.File)
	}
	if f.Line > 0 {
		fmt.Fprintf(&b, "%d: ", f.Line)
	} else if f.File != "" {
		b.WriteByte(' ')
	}
	if f.Element != "" {
		fmt.Fprintf(&b, "%s: ", f.Element)
	}
	return b.String() + f.Text
}

// xmlNode is an element of XML.
type xmlNode struct {
	tag      string
	attrs    map[string]string
	text     string
	line     int
	children []*xmlNode
}

// limits of files.
const (
	mostBytes = 64 << 20
	mostDepth = 500
)

// parseXML reads a whole file. Errors are *Fault.
func parseXML(text []byte) (*xmlNode, error) {
	d := xml.NewDecoder(bytes.NewReader(text))
	d.CharsetReader = func(string, io.Reader) (io.Reader, error) {
		return nil, errors.New("only UTF-8 is read; save the plan with JMeter 3 or later")
	}
	if len(text) > mostBytes {
		return nil, &Fault{Text: fmt.Sprintf("the file is larger than %d MB", mostBytes>>20)}
	}
	root := &xmlNode{}
	stack := []*xmlNode{root}
	for {
		token, err := d.Token()
		if err == io.EOF && len(stack) == 1 {
			break
		}
		if err != nil {
			return nil, xmlFault(d, err, stack)
		}
		top := stack[len(stack)-1]
		switch t := token.(type) {
		case xml.StartElement:
			line, _ := d.InputPos()
			n := &xmlNode{tag: t.Name.Local, line: line, attrs: map[string]string{}}
			for _, a := range t.Attr {
				n.attrs[a.Name.Local] = a.Value
			}
			top.children = append(top.children, n)
			if stack = append(stack, n); len(stack) > mostDepth {
				return nil, &Fault{Line: line, Text: "elements are nested too deeply"}
			}
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			if len(stack) > 1 {
				top.text += string(t)
			}
		}
	}
	if len(root.children) == 0 {
		return nil, &Fault{Text: "the file is empty"}
	}
	return root.children[0], nil
}

// xmlFault explains an error of the decoder.
func xmlFault(d *xml.Decoder, err error, stack []*xmlNode) error {
	line, _ := d.InputPos()
	text := strings.TrimPrefix(err.Error(), "XML syntax error on line "+strconv.Itoa(line)+": ")
	if strings.Contains(text, "unexpected EOF") {
		open := stack[len(stack)-1]
		if open.tag == "" {
			return &Fault{Line: line, Text: "the file ends before its first element"}
		}
		return &Fault{Line: line, Text: fmt.Sprintf("the file ends in the middle: <%s> of line %d isn't closed; "+
			"save or copy it again", open.tag, open.line)}
	}
	return &Fault{Line: line, Text: "this isn't XML: " + strings.Join(strings.Fields(text), " ")}
}

// The newest formats that are read, and the newest JMeter whose plans are.
const (
	newestFormat = 1.2
	newestProps  = 5.0
	newestMajor  = 5
)

// Parse reads a test plan. The result is the root of its tree, whose children are usually one TestPlan. Errors are
// *Fault.
func Parse(text []byte) (*Element, error) {
	top, err := parseXML(text)
	if err != nil {
		return nil, err
	}
	if top.tag != "jmeterTestPlan" {
		return nil, &Fault{Line: top.line, Text: fmt.Sprintf("this isn't a test plan of JMeter: it begins with <%s> "+
			"instead of <jmeterTestPlan>", top.tag)}
	}
	if err := checkVersion(top); err != nil {
		return nil, err
	}
	root := &Element{Class: "root", Enabled: true, Line: top.line}
	for _, c := range top.children {
		if c.tag == "hashTree" {
			if err := hang(root, c); err != nil {
				return nil, err
			}
		}
	}
	return root, nil
}

func checkVersion(top *xmlNode) error {
	major, _, _ := strings.Cut(top.attrs["jmeter"], ".")
	format, _ := strconv.ParseFloat(top.attrs["version"], 64)
	props, _ := strconv.ParseFloat(top.attrs["properties"], 64)
	if n, err := strconv.Atoi(major); err == nil && n > newestMajor {
		return &Fault{Line: top.line, Text: fmt.Sprintf("the plan was saved by JMeter %s; plans up to JMeter %d.x are read: "+
			"save it by one", top.attrs["jmeter"], newestMajor)}
	}
	if format > newestFormat || props > newestProps {
		return &Fault{Line: top.line, Text: fmt.Sprintf("the plan has format %s with properties %s, which is newer than "+
			"what JMeter 5.6 writes (1.2, 5.0)", top.attrs["version"], top.attrs["properties"])}
	}
	return nil
}

// hang adds the elements of a hashTree to their parent: each is followed by the hashTree with what is below it.
func hang(parent *Element, tree *xmlNode) error {
	var last *Element
	for _, n := range tree.children {
		if n.tag != "hashTree" {
			last = element(n)
			last.Parent = parent
			parent.Children = append(parent.Children, last)
			continue
		}
		if last == nil {
			if len(n.children) == 0 {
				continue
			}
			return &Fault{Line: n.line, Text: "a hashTree has no element before it"}
		}
		if err := hang(last, n); err != nil {
			return err
		}
	}
	return nil
}

func element(n *xmlNode) *Element {
	class := n.tag
	if i := strings.LastIndexByte(class, '.'); i >= 0 && strings.HasPrefix(class, "org.apache.jmeter.") {
		class = class[i+1:]
	}
	e := &Element{Class: class, GUI: n.attrs["guiclass"], Name: n.attrs["testname"], Line: n.line,
		Enabled: !strings.EqualFold(n.attrs["enabled"], "false"), props: map[string]*property{}}
	for _, c := range n.children {
		p := propertyOf(c)
		e.props[p.name] = p
	}
	if p := e.props["TestElement.name"]; p != nil && e.Name == "" {
		e.Name = p.text
	}
	if p := e.props["TestElement.enabled"]; p != nil && strings.EqualFold(p.text, "false") {
		e.Enabled = false
	}
	return e
}

func propertyOf(n *xmlNode) *property {
	p := &property{tag: n.tag, name: n.attrs["name"], text: n.text, line: n.line, class: n.attrs["elementType"]}
	children := n.children
	if n.tag == "objProp" {
		p.text = ""
		for _, c := range children {
			switch c.tag {
			case "name":
				p.name = strings.TrimSpace(c.text)
			case "value":
				p.text, children = c.text, c.children
			}
		}
	}
	if n.attrs["name"] == "" && (strings.HasSuffix(n.tag, "Prop") || strings.HasSuffix(n.tag, "Property")) &&
		n.tag != "objProp" {
		for _, c := range children {
			if c.tag == "name" {
				p.name = strings.TrimSpace(c.text)
			}
			if c.tag == "value" {
				p.text = c.text
			}
		}
		p.text = strings.TrimSpace(p.text)
	}
	for _, c := range children {
		m := propertyOf(c)
		if m.name == "" && n.tag == "objProp" {
			m.name = c.tag
		}
		p.list = append(p.list, m)
	}
	return p
}

// kindOf returns an element's class in words, as JMeter's menu has it where that differs.
func (e *Element) String() string {
	name := strings.TrimSuffix(strings.TrimSuffix(e.Class, "Proxy"), "Config")
	if e.Name == "" {
		return name
	}
	return fmt.Sprintf("%s %q", name, e.Name)
}

// fault returns a fault of the element.
func (e *Element) fault(format string, args ...any) *Fault {
	return &Fault{File: e.File, Line: e.Line, Element: e.String(), Text: fmt.Sprintf(format, args...)}
}
