package form

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"brunt/internal/base/lazyregexp"
)

// Scalar returns the YAML of a plain value.
func Scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

// Text returns the YAML of a string, in quotes unless it needs none.
func Text(s string) *yaml.Node {
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

// Number returns the YAML of an integer.
func Number[T int | int64 | uint32 | uint64](v T) *yaml.Node { return Scalar("!!int", fmt.Sprint(v)) }

// Float returns the YAML of a number, which is written as an integer if it is one.
func Float(f float64) *yaml.Node {
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		return Scalar("!!int", s)
	}
	return Scalar("!!float", s)
}

// Duration returns the YAML of a duration: "1m30s", or 0.
func Duration(d time.Duration) *yaml.Node {
	if d == 0 {
		return Number(0)
	}
	return Text(d.String())
}
