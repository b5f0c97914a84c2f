package form

import (
	"strings"

	"go.yaml.in/yaml/v4"

	"brunt/internal/base/suggest"
)

// Object is a mapping whose keys have been checked. A nil object is empty.
type Object struct {
	Node   *yaml.Node
	Values map[string]*yaml.Node // by key, without aliases
	r      *Reader
}

// Resolve returns what an alias stands for, and other nodes as they are.
func Resolve(n *yaml.Node) *yaml.Node {
	for range maxDepth {
		if n.Kind != yaml.AliasNode || n.Alias == nil {
			break
		}
		n = n.Alias
	}
	return n
}

// Object reads a mapping and reports unknown keys. It returns nil if n is not a mapping.
func (r *Reader) Object(n *yaml.Node, what string, known []string) *Object {
	n = Resolve(n)
	if n.Kind != yaml.MappingNode {
		r.ProblemAt(n, "write keys and values", "%s is %s instead of a mapping", what, KindName(n))
		return nil
	}
	o := &Object{r: r, Node: n, Values: map[string]*yaml.Node{}}
	var merged []*yaml.Node
	first := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], Resolve(n.Content[i+1])
		if key.ShortTag() == "!!merge" {
			merged = append(merged, value)
			continue
		}
		key = Resolve(key)
		if key.Kind != yaml.ScalarNode {
			r.ProblemAt(key, "use a word", "a key of %s is %s", what, KindName(key))
			continue
		}
		if earlier := first[key.Value]; earlier != nil {
			r.ProblemAt(key, "remove one", "key %s stands twice, first at line %d", key.Value, earlier.Line)
			continue
		}
		first[key.Value] = key
		o.set(key, value, what, known)
	}
	o.merge(merged, what, known)
	return o
}

func (o *Object) set(key, value *yaml.Node, what string, known []string) {
	for _, k := range known {
		if k == key.Value || strings.HasSuffix(k, "*") && strings.HasPrefix(key.Value, k[:len(k)-1]) {
			if o.Values[key.Value] == nil {
				o.Values[key.Value] = value
			}
			return
		}
	}
	fix := suggest.Or(key.Value, known, "remove it; "+what+" has "+strings.Join(known, ", "))
	o.r.ProblemAt(key, fix, "unknown key %q in %s", key.Value, what)
}

// merge adds the keys of << mappings that the object itself doesn't have.
func (o *Object) merge(merged []*yaml.Node, what string, known []string) {
	for _, m := range merged {
		switch m.Kind {
		case yaml.SequenceNode:
			list := make([]*yaml.Node, len(m.Content))
			for i, c := range m.Content {
				list[i] = Resolve(c)
			}
			o.merge(list, what, known)
		case yaml.MappingNode:
			if from := o.r.Object(m, what, known); from != nil {
				for k, v := range from.Values {
					if o.Values[k] == nil {
						o.Values[k] = v
					}
				}
			}
		default:
			o.r.ProblemAt(m, "merge a mapping", "<< is followed by %s", KindName(m))
		}
	}
}

// KindName says what a node is, for problems: "a list".
func KindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!null":
		return "empty"
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "true or false"
	}
	return "a text"
}

// Get returns the value of a key; nil if the key is missing.
func (o *Object) Get(key string) *yaml.Node {
	if o == nil {
		return nil
	}
	return o.Values[key]
}

// Has reports whether a key is present.
func (o *Object) Has(key string) bool { return o.Get(key) != nil }

// Require reports missing keys.
func (o *Object) Require(what string, keys ...string) {
	if o == nil {
		return
	}
	for _, k := range keys {
		if !o.Has(k) {
			o.r.ProblemAt(o.Node, "add "+k, "%s has no %s", what, k)
		}
	}
}

// Refuse reports keys that are present but have no meaning, and says why.
func (o *Object) Refuse(fix, why string, keys ...string) {
	for _, k := range keys {
		if n := o.Get(k); n != nil {
			o.r.ProblemAt(n, fix, "%s has no meaning %s", k, why)
		}
	}
}
