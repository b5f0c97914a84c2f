package planfile

import (
	"strings"

	"go.yaml.in/yaml/v4"

	"brunt/internal/suggest"
)

// object is a mapping whose keys have been checked. A nil object is empty.
type object struct {
	r      *reader
	node   *yaml.Node
	values map[string]*yaml.Node
}

func resolve(n *yaml.Node) *yaml.Node {
	for range maxDepth {
		if n.Kind != yaml.AliasNode || n.Alias == nil {
			break
		}
		n = n.Alias
	}
	return n
}

// object reads a mapping and reports unknown keys. It returns nil if n is not a mapping.
func (r *reader) object(n *yaml.Node, what string, known []string) *object {
	n = resolve(n)
	if n.Kind != yaml.MappingNode {
		r.problemAt(n, "write keys and values", "%s is %s instead of a mapping", what, kindName(n))
		return nil
	}
	o := &object{r: r, node: n, values: map[string]*yaml.Node{}}
	var merged []*yaml.Node
	first := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], resolve(n.Content[i+1])
		if key.ShortTag() == "!!merge" {
			merged = append(merged, value)
			continue
		}
		key = resolve(key)
		if key.Kind != yaml.ScalarNode {
			r.problemAt(key, "use a word", "a key of %s is %s", what, kindName(key))
			continue
		}
		if earlier := first[key.Value]; earlier != nil {
			r.problemAt(key, "remove one", "key %s stands twice, first at line %d", key.Value, earlier.Line)
			continue
		}
		first[key.Value] = key
		o.set(key, value, what, known)
	}
	o.merge(merged, what, known)
	return o
}

func (o *object) set(key, value *yaml.Node, what string, known []string) {
	for _, k := range known {
		if k == key.Value || strings.HasSuffix(k, "*") && strings.HasPrefix(key.Value, k[:len(k)-1]) {
			if o.values[key.Value] == nil {
				o.values[key.Value] = value
			}
			return
		}
	}
	fix := "remove it; " + what + " has " + strings.Join(known, ", ")
	if near := suggest.Nearest(key.Value, known); near != "" {
		fix = "did you mean " + near + "?"
	}
	o.r.problemAt(key, fix, "unknown key %q in %s", key.Value, what)
}

// merge adds the keys of << mappings that the object itself doesn't have.
func (o *object) merge(merged []*yaml.Node, what string, known []string) {
	for _, m := range merged {
		switch m.Kind {
		case yaml.SequenceNode:
			list := make([]*yaml.Node, len(m.Content))
			for i, c := range m.Content {
				list[i] = resolve(c)
			}
			o.merge(list, what, known)
		case yaml.MappingNode:
			if from := o.r.object(m, what, known); from != nil {
				for k, v := range from.values {
					if o.values[k] == nil {
						o.values[k] = v
					}
				}
			}
		default:
			o.r.problemAt(m, "merge a mapping", "<< is followed by %s", kindName(m))
		}
	}
}

func kindName(n *yaml.Node) string {
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

func (o *object) get(key string) *yaml.Node {
	if o == nil {
		return nil
	}
	return o.values[key]
}

func (o *object) has(key string) bool { return o.get(key) != nil }

// require reports missing keys.
func (o *object) require(what string, keys ...string) {
	if o == nil {
		return
	}
	for _, k := range keys {
		if !o.has(k) {
			o.r.problemAt(o.node, "add "+k, "%s has no %s", what, k)
		}
	}
}

// refuse reports keys that are present but have no meaning, and says why.
func (o *object) refuse(fix, why string, keys ...string) {
	for _, k := range keys {
		if n := o.get(k); n != nil {
			o.r.problemAt(n, fix, "%s has no meaning %s", k, why)
		}
	}
}
