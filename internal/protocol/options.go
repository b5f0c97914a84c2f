package protocol

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options reads a target's options. Ask for each supported option, then call Done. Options keeps the first
// error.
type Options struct {
	protocol string
	values   map[string]string
	known    []string
	fault    *Error
}

// OptionsOf returns a reader of a target's options.
func OptionsOf(protocol string, t Target) *Options {
	return &Options{protocol: protocol, values: t.Options}
}

func (o *Options) text(name string) (string, bool) {
	o.known = append(o.known, name)
	v, ok := o.values[name]
	return strings.TrimSpace(v), ok
}

// given is text for options that can't be empty: "" means the default.
func (o *Options) given(name string) (string, bool) {
	v, ok := o.text(name)
	return v, ok && v != ""
}

func (o *Options) wrong(name, value, want string) {
	if o.fault == nil {
		o.fault = Bad("option %s: %q isn't possible; give %s", name, value, want)
	}
}

// Text returns an option with any content.
func (o *Options) Text(name, standard string) string {
	if v, ok := o.text(name); ok {
		return v
	}
	return standard
}

// Prefixed returns the options whose names begin with a prefix, by the rest of their names.
func (o *Options) Prefixed(prefix string) map[string]string {
	o.known = append(o.known, prefix+"NAME")
	found := map[string]string{}
	for name := range o.values {
		if rest, ok := strings.CutPrefix(name, prefix); ok && rest != "" {
			found[rest], _ = o.text(name)
		}
	}
	return found
}

// Choice returns an option that must be one of words, in lower case. The first word is the default.
func (o *Options) Choice(name string, words ...string) string {
	v, ok := o.given(name)
	if !ok {
		return words[0]
	}
	if !slices.Contains(words, strings.ToLower(v)) {
		o.wrong(name, v, strings.Join(words, ", "))
	}
	return strings.ToLower(v)
}

// Bool returns an option that is true or false (also on or off, 1 or 0).
func (o *Options) Bool(name string, standard bool) bool {
	v, ok := o.given(name)
	switch {
	case !ok:
		return standard
	case strings.EqualFold(v, "on"):
		return true
	case strings.EqualFold(v, "off"):
		return false
	}
	b, err := strconv.ParseBool(strings.ToLower(v))
	if err != nil {
		o.wrong(name, v, "true or false")
	}
	return b
}

// Int returns an option that is a whole number from lo to hi.
func (o *Options) Int(name string, standard, lo, hi int64) int64 {
	v, ok := o.given(name)
	if !ok {
		return standard
	}
	n, err := strconv.ParseInt(v, 0, 64)
	if err != nil || n < lo || n > hi {
		o.wrong(name, v, "a whole number from "+strconv.FormatInt(lo, 10)+" to "+strconv.FormatInt(hi, 10))
	}
	return n
}

// Duration returns an option such as "250ms" or "2s", or a plain number of seconds.
func (o *Options) Duration(name string, standard time.Duration) time.Duration {
	v, ok := o.given(name)
	if !ok {
		return standard
	}
	d, err := time.ParseDuration(v)
	if s, plain := strconv.ParseFloat(v, 64); plain == nil {
		d, err = time.Duration(s*float64(time.Second)), nil
	}
	if err != nil || d < 0 {
		o.wrong(name, v, "a duration such as 2s")
	}
	return d
}

// Done returns the first error: an invalid value, or an option that wasn't asked for.
func (o *Options) Done() *Error {
	if o.fault != nil {
		return o.fault
	}
	for name := range o.values {
		if !slices.Contains(o.known, name) {
			return Bad("unknown option %q of %s; there are %s", name, o.protocol, strings.Join(o.known, ", "))
		}
	}
	return nil
}

// InitOption is the option of databases that understand SQL with the statements that each session sends first when it
// connects, a line each.
const InitOption = "init"

// FirstStatements returns the statements that a session sends when it connects.
func FirstStatements(t Target) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(t.Options[InitOption]) {
			if line = strings.TrimSpace(line); line != "" && !yield(line) {
				return
			}
		}
	}
}
