package properties

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Set is a set of properties. A later Put of a key replaces an earlier one.
type Set struct {
	values map[string]string
	where  map[string]string
}

// NewSet returns an empty set.
func NewSet() *Set { return &Set{values: map[string]string{}, where: map[string]string{}} }

// Put sets a property. where is the place where it was given, for errors.
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
	return slices.Sorted(maps.Keys(s.values))
}

// Where returns the place where a property was given.
func (s *Set) Where(key string) string { return s.where[key] }

// Expand replaces every ${key} by the value of that property or, if there is none, of the environment variable. It
// removes references to neither. A circular reference or a missing } is an error.
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

// maxExpanded is the longest value in bytes. Without it, values could double with each reference.
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

// Text returns a property, or standard if it isn't set.
func (s *Set) Text(key, standard string) string {
	if v, ok := s.values[key]; ok {
		return v
	}
	return standard
}

// Reader reads properties of a set, and keeps the first error.
type Reader struct {
	*Set
	err error
}

// Err returns the first error: the property, where it was given, and what is expected.
func (r *Reader) Err() error { return r.err }

// Keep keeps an error that the caller found, unless there is one already.
func (r *Reader) Keep(err error) {
	if r.err == nil {
		r.err = err
	}
}

// read parses a property, and returns standard if it isn't set. If it can't be parsed, read returns the zero value.
func read[T any](r *Reader, key string, standard T, want string, parse func(text string) (T, bool)) T {
	v, ok := r.values[key]
	if !ok {
		return standard
	}
	x, ok := parse(strings.TrimSpace(v))
	if !ok {
		r.Keep(fmt.Errorf("%s: property %s=%q: %s", r.where[key], key, v, want))
		return *new(T)
	}
	return x
}

// Int returns a property as a whole number from lo to hi, or standard if it isn't set.
func (r *Reader) Int(key string, standard, lo, hi int64) int64 {
	return read(r, key, standard, fmt.Sprintf("give a whole number from %d to %d", lo, hi),
		func(text string) (int64, bool) {
			n, err := strconv.ParseInt(text, 10, 64)
			return n, err == nil && n >= lo && n <= hi
		})
}

// Float returns a property as a number from lo to hi, or standard if it isn't set.
func (r *Reader) Float(key string, standard, lo, hi float64) float64 {
	return read(r, key, standard, fmt.Sprintf("give a number from %g to %g", lo, hi), func(text string) (float64, bool) {
		x, err := strconv.ParseFloat(text, 64)
		return x, err == nil && x >= lo && x <= hi
	})
}

// Bool returns a property as a boolean, or standard if it isn't set: true, t, yes, on and 1 are true; false, f, no, off
// and 0 are false, in any case.
func (r *Reader) Bool(key string, standard bool) bool {
	return read(r, key, standard, "give true or false", func(text string) (value, ok bool) {
		text = strings.ToLower(text)
		value = slices.Contains([]string{"true", "t", "yes", "on", "1"}, text)
		return value, value || slices.Contains([]string{"false", "f", "no", "off", "0"}, text)
	})
}

// Choice returns a property that must be one of the words, in lower case, or standard if it isn't set.
func (r *Reader) Choice(key, standard string, words ...string) string {
	return read(r, key, standard, "give "+strings.Join(words, ", "), func(text string) (string, bool) {
		text = strings.ToLower(text)
		return text, slices.Contains(words, text)
	})
}
