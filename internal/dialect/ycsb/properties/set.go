package properties

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Set is a set of properties. A later Put of a key replaces the earlier.
type Set struct {
	values map[string]string
	where  map[string]string
}

// NewSet returns an empty set.
func NewSet() *Set { return &Set{values: map[string]string{}, where: map[string]string{}} }

// Put sets a property. where says where it was given, for errors.
func (s *Set) Put(key, value, where string) {
	s.values[key], s.where[key] = value, where
}

// Get returns a property's text; ok is false if it isn't set.
func (s *Set) Get(key string) (value string, ok bool) {
	value, ok = s.values[key]
	return value, ok
}

// Keys returns all keys, sorted.
func (s *Set) Keys() []string {
	keys := make([]string, 0, len(s.values))
	for k := range s.values {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Where says where a property was given.
func (s *Set) Where(key string) string { return s.where[key] }

// Expand replaces every ${key} by that property's value or, if there is none, the environment
// variable's; what is neither stands for nothing. A circle or a missing } is an error.
func (s *Set) Expand(environment func(string) (string, bool)) error {
	done := make(map[string]string, len(s.values))
	for _, k := range s.Keys() {
		v, err := s.expand(s.values[k], []string{k}, environment)
		if err != nil {
			return fmt.Errorf("%s: property %s: %w", s.where[k], k, err)
		}
		done[k] = v
	}
	s.values = done
	return nil
}

// maxExpanded bounds a value's length, against values that double with each reference.
const maxExpanded = 1 << 20

func (s *Set) expand(text string, path []string, environment func(string) (string, bool)) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		b.WriteString(before)
		if b.Len() > maxExpanded {
			return "", fmt.Errorf("the value is longer than 1 MiB with its references replaced")
		}
		if !found {
			return b.String(), nil
		}
		key, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", fmt.Errorf("${ without } in %q", text)
		}
		text = after
		if slices.Contains(path, key) {
			return "", fmt.Errorf("${%s} refers to itself in a circle", key)
		}
		value, ok := s.values[key]
		if !ok {
			value, _ = environment(key)
			b.WriteString(value)
			continue
		}
		value, err := s.expand(value, append(slices.Clone(path), key), environment)
		if err != nil {
			return "", err
		}
		b.WriteString(value)
	}
}

func (s *Set) fault(key, value, want string) error {
	return fmt.Errorf("%s: property %s=%q: %s", s.where[key], key, value, want)
}

// Text returns a property or a default.
func (s *Set) Text(key, standard string) string {
	if v, ok := s.values[key]; ok {
		return v
	}
	return standard
}

// Int returns a property as a whole number within lo and hi, or a default.
func (s *Set) Int(key string, standard, lo, hi int64) (int64, error) {
	v, ok := s.values[key]
	if !ok {
		return standard, nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
	if err != nil || n < lo || n > hi {
		return 0, s.fault(key, v, fmt.Sprintf("give a whole number from %d to %d", lo, hi))
	}
	return n, nil
}

// Float returns a property as a number within lo and hi, or a default.
func (s *Set) Float(key string, standard, lo, hi float64) (float64, error) {
	v, ok := s.values[key]
	if !ok {
		return standard, nil
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	if err != nil || !(x >= lo && x <= hi) {
		return 0, s.fault(key, v, fmt.Sprintf("give a number from %g to %g", lo, hi))
	}
	return x, nil
}

// Bool returns a property as a truth value, or a default: true, t, yes, on and 1 are true; false,
// f, no, off and 0 false, in any case.
func (s *Set) Bool(key string, standard bool) (bool, error) {
	v, ok := s.values[key]
	if !ok {
		return standard, nil
	}
	switch strings.ToLower(strings.TrimSpace(v)) {
	case "true", "t", "yes", "on", "1":
		return true, nil
	case "false", "f", "no", "off", "0":
		return false, nil
	}
	return false, s.fault(key, v, "give true or false")
}

// Duration returns a property as a time such as 2s, or a default. A bare number is nanoseconds.
func (s *Set) Duration(key string, standard time.Duration) (time.Duration, error) {
	v, ok := s.values[key]
	if !ok {
		return standard, nil
	}
	v = strings.TrimSpace(v)
	if n, err := strconv.ParseInt(v, 10, 64); err == nil {
		return time.Duration(n), nil
	}
	d, err := time.ParseDuration(v)
	if err != nil {
		return 0, s.fault(key, v, "give a time such as 2s")
	}
	return d, nil
}

// Choice returns a property that is one of a few words, in lower case, or a default.
func (s *Set) Choice(key, standard string, words ...string) (string, error) {
	v, ok := s.values[key]
	if !ok {
		return standard, nil
	}
	word := strings.ToLower(strings.TrimSpace(v))
	if !slices.Contains(words, word) {
		return "", s.fault(key, v, "give "+strings.Join(words, ", "))
	}
	return word, nil
}
