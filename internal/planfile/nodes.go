package planfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

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

// plainWord reports whether a text needs no quotes in any version of YAML.
func plainWord(s string) bool {
	if s == "" || !('a' <= s[0] && s[0] <= 'z' || 'A' <= s[0] && s[0] <= 'Z' || s[0] == '_') {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.' || c == '/') {
			return false
		}
	}
	return !slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"}, strings.ToLower(s))
}

func number[T int | int64 | uint32 | uint64](v T) *yaml.Node { return scalar("!!int", fmt.Sprint(v)) }

func float(f float64) *yaml.Node {
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		return scalar("!!int", s)
	}
	return scalar("!!float", s)
}

// constantFloat writes a float64 so that it isn't read as a whole number.
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

// pairs is a mapping of keys and values in turn.
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
