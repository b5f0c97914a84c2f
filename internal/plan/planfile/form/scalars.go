package form

import (
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// TagIs reports whether a node is a scalar with one of the YAML tags: "!!str".
func TagIs(n *yaml.Node, tags ...string) bool {
	return n.Kind == yaml.ScalarNode && slices.Contains(tags, n.ShortTag())
}

// Wrong adds the problem that a value has another type than it must have.
func (r *Reader) Wrong(n *yaml.Node, what, want, fix string) {
	r.ProblemAt(n, fix, "%s is %s instead of %s", what, KindName(n), want)
}

// TextOf returns a string. Unquoted dates count as strings.
func (r *Reader) TextOf(n *yaml.Node, what string) string {
	switch {
	case TagIs(n, "!!str", "!!timestamp"):
		return n.Value
	case TagIs(n, "!!binary"):
		b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Value), ""))
		if err != nil {
			r.ProblemAt(n, "write base64", "%s is no base64", what)
		}
		return string(b)
	}
	r.Wrong(n, what, "a text", "put it in quotes")
	return ""
}

// PlainOf returns a text, a number or a boolean as written.
func (r *Reader) PlainOf(n *yaml.Node, what string) string {
	if n.Kind != yaml.ScalarNode || TagIs(n, "!!null") {
		r.Wrong(n, what, "a text, number, true or false", "write one value")
		return ""
	}
	return n.Value
}

// digits reports a number that versions of YAML read differently: 017 is 17 in one and 15 in another. It returns
// whether the number is unambiguous.
func (r *Reader) digits(n *yaml.Node, what string) bool {
	d := strings.TrimLeft(n.Value, "+-")
	if len(d) < 2 || d[0] != '0' || d[1] < '0' || d[1] > '9' && d[1] != '_' {
		return true
	}
	bare := strings.TrimLeft(d, "0_")
	if bare == "" || bare[0] == '.' {
		bare = "0" + bare
	}
	fix := "write " + bare
	if strings.Trim(bare, "01234567") == "" {
		fix += ", or 0o" + bare + " if octal is meant"
	}
	r.ProblemAt(n, fix, "%s is %s, which some read as octal", what, n.Value)
	return false
}

// NumberOf returns a finite number.
func (r *Reader) NumberOf(n *yaml.Node, what string) float64 {
	if !TagIs(n, "!!int", "!!float") {
		r.Wrong(n, what, "a number", "write a number without quotes")
		return 0
	}
	if !r.digits(n, what) {
		return 0
	}
	if i, err := strconv.ParseInt(n.Value, 0, 64); err == nil {
		return float64(i)
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		r.ProblemAt(n, "write a finite number", "%s is %s", what, n.Value)
		return 0
	}
	return f
}

// IntegerOf returns an integer from lo to hi. 1e6 counts as an integer.
func (r *Reader) IntegerOf(n *yaml.Node, what string, lo, hi int64) int64 {
	if !TagIs(n, "!!int", "!!float") {
		r.Wrong(n, what, "a whole number", "write a number without quotes")
		return 0
	}
	if !r.digits(n, what) {
		return 0
	}
	i, err := strconv.ParseInt(n.Value, 0, 64)
	if err != nil {
		f, ferr := strconv.ParseFloat(n.Value, 64)
		if ferr != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			r.ProblemAt(n, "write a whole number of at most 64 bits", "%s is %s", what, n.Value)
			return 0
		}
		i = int64(f)
	}
	if i < lo || i > hi {
		r.ProblemAt(n, "write a number from "+strconv.FormatInt(lo, 10)+" to "+strconv.FormatInt(hi, 10), "%s is %s", what,
			n.Value)
		return 0
	}
	return i
}

// UnsignedOf returns an integer ≥ 0 of up to 64 bits.
func (r *Reader) UnsignedOf(n *yaml.Node, what string) uint64 {
	if TagIs(n, "!!int", "!!float") {
		if !r.digits(n, what) {
			return 0
		}
		if u, err := strconv.ParseUint(strings.TrimPrefix(n.Value, "+"), 0, 64); err == nil {
			return u
		}
		if strings.HasPrefix(n.Value, "-") {
			r.ProblemAt(n, "write a number from 0 to 18446744073709551615", "%s is %s", what, n.Value)
			return 0
		}
	}
	return uint64(r.IntegerOf(n, what, 0, math.MaxInt64))
}

// maxDuration is the limit of every duration.
const maxDuration = 100 * 365 * 24 * time.Hour

// DurationOf returns a duration: "1m30s", or a number of seconds.
func (r *Reader) DurationOf(n *yaml.Node, what string) time.Duration {
	switch {
	case TagIs(n, "!!int", "!!float"):
		s := r.NumberOf(n, what)
		if s < 0 || s > maxDuration.Seconds() {
			r.ProblemAt(n, "write seconds from 0 to 3153600000", "%s is %s", what, n.Value)
			return 0
		}
		return time.Duration(math.Round(s * float64(time.Second)))
	case TagIs(n, "!!str"):
		d, err := time.ParseDuration(n.Value)
		if err != nil || d < 0 || d > maxDuration || n.Value[0] == '+' || n.Value[0] == '-' || n.Value == "0" {
			r.ProblemAt(n, "write for example 10s, 1m30s or 200us", "%s is %q, which is no time", what, n.Value)
			return 0
		}
		return d
	}
	r.Wrong(n, what, "a time", "write for example 10s, or a number of seconds")
	return 0
}
