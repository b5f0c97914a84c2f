package planfile

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"

	"brunt/internal/plan"
)

// Write returns a plan as YAML that Read turns into an equal plan, shorthands resolved. Secrets (the
// password, options, HTTP headers and parameters of URLs whose names sound secret, and credentials in
// addresses) are replaced by ***; Secrets puts them back.
func Write(p *plan.Plan) ([]byte, error) {
	out, err := dump(newFormat().write(valueOf(p)))
	if err != nil {
		return nil, fmt.Errorf("write the plan as YAML: %w", err)
	}
	return out, nil
}

// mostAtOnce is how many elements of a list are written at once. What is given to the library at once
// stays in its memory, several times as large as the text, until all of it is written.
const mostAtOnce = 1000

// dump writes a mapping key by key, and long lists in pieces: the elements of a list stand as far to the
// left as its key.
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
