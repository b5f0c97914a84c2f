package planfile

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"brunt/internal/plan"
	"brunt/internal/plan/planfile/form"
)

// Write returns a plan as YAML that Read converts to an equal plan, with shorthands expanded. Secrets are replaced by
// ***: the password, options, HTTP headers, URL parameters and parts of bodies whose names sound secret, and credentials
// in addresses. Secrets restores them.
func Write(p *plan.Plan) ([]byte, error) {
	out, err := dump(newFormat().Write(form.ValueOf(withoutParts(p))))
	if err != nil {
		return nil, fmt.Errorf("write the plan as YAML: %w", err)
	}
	return out, nil
}

// mostAtOnce is how many elements of a list are written at once. The YAML library holds its input in memory until all
// of it is written, in several times the size of the text.
const mostAtOnce = 1000

// dump writes a mapping key by key, and long lists in pieces. This works because list elements have the indentation of
// the list's key.
func dump(root *yaml.Node) ([]byte, error) {
	var out []byte
	write := func(n *yaml.Node) error {
		text, err := yaml.Dump(n)
		out = append(out, text...)
		return err
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		first := *value
		var rest []*yaml.Node
		if value.Kind == yaml.SequenceNode && value.Style&yaml.FlowStyle == 0 && len(value.Content) > mostAtOnce {
			first.Content, rest = value.Content[:mostAtOnce], value.Content[mostAtOnce:]
		}
		pair := *root
		pair.Content = []*yaml.Node{key, &first}
		if err := write(&pair); err != nil {
			return nil, err
		}
		for some := range slices.Chunk(rest, mostAtOnce) {
			list := *value
			list.Content = some
			if err := write(&list); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// constantFloat writes a float64 so that it isn't read as an integer.
func constantFloat(f float64) *yaml.Node {
	n := form.Float(f)
	if n.Tag == "!!int" {
		n = form.Scalar("!!float", n.Value+".0")
	}
	return n
}

func flow(nodes ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle, Content: nodes}
}

// pairs returns a mapping of alternating keys and values.
func pairs(content ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: content}
}

func binary(b []byte) *yaml.Node {
	if utf8.Valid(b) {
		return form.Text(string(b))
	}
	n := &yaml.Node{}
	n.SetString(string(b))
	return n
}
