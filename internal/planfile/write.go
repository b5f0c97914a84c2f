package planfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"brunt/internal/lazyregexp"
	"brunt/internal/plan"
)

// Write returns a plan as YAML that Read converts to an equal plan, with shorthands expanded. Secrets are replaced by
// ***: the password, options, HTTP headers and URL parameters whose names sound secret, and credentials in addresses.
// Secrets restores them.
func Write(p *plan.Plan) ([]byte, error) {
	out, err := dump(newFormat().write(valueOf(p)))
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

func scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

func text(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	if n.Tag == "!!str" {
		n.Style = yaml.DoubleQuotedStyle
		if plainWord(s) {
			n.Style = 0
		}
	}
	return n
}

var wordLike = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_./-]*$`)

// plainWord reports whether a string needs no quotes in any version of YAML.
func plainWord(s string) bool {
	return wordLike().MatchString(s) && !slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false",
		"null", "nan", "inf"}, strings.ToLower(s))
}

func number[T int | int64 | uint32 | uint64](v T) *yaml.Node { return scalar("!!int", fmt.Sprint(v)) }

func float(f float64) *yaml.Node {
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		return scalar("!!int", s)
	}
	return scalar("!!float", s)
}

// constantFloat writes a float64 so that it isn't read as an integer.
func constantFloat(f float64) *yaml.Node {
	n := float(f)
	if n.Tag == "!!int" {
		n = scalar("!!float", n.Value+".0")
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

func duration(d time.Duration) *yaml.Node {
	if d == 0 {
		return number(0)
	}
	return text(d.String())
}

func binary(b []byte) *yaml.Node {
	if utf8.Valid(b) {
		return text(string(b))
	}
	n := &yaml.Node{}
	n.SetString(string(b))
	return n
}
