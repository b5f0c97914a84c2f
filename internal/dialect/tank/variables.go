package tank

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"text/template"

	"brunt/internal/base/markup"
)

// counters count how often each list was asked for its next element, for all sessions.
type counters struct {
	mu sync.Mutex
	of map[string]int
}

func (c *counters) next(path string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.of[path]
	c.of[path]++
	return n
}

// lookup returns the variable with a path such as source.users[next].id, which may begin with a dot.
func lookup(vars map[string]any, path string, next *counters, random *rand.Rand) (any, error) {
	current := any(vars)
	var walked strings.Builder
	for segment := range strings.SplitSeq(strings.TrimPrefix(path, "."), ".") {
		segment = strings.TrimSpace(segment)
		walked.WriteString("." + segment)
		name, index, indexed := strings.Cut(segment, "[")
		fields, ok := current.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s: %s isn't in a set of variables", path, name)
		}
		if current, ok = fields[name]; !ok {
			return nil, fmt.Errorf("%s: there is no %s", path, name)
		}
		if !indexed {
			continue
		}
		list, ok := current.([]any)
		if !ok || len(list) == 0 {
			return nil, fmt.Errorf("%s: %s is no list, or empty", path, name)
		}
		i, err := position(strings.ToLower(strings.TrimSpace(strings.TrimSuffix(index, "]"))), len(list), func() int {
			return next.next(walked.String())
		}, random)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		current = list[i]
	}
	return current, nil
}

// position returns the index that a word names in a list of n elements.
func position(word string, n int, next func() int, random *rand.Rand) (int, error) {
	switch word {
	case "next":
		return next() % n, nil
	case "rand":
		return random.IntN(n), nil
	case "last":
		return n - 1, nil
	}
	i, err := strconv.Atoi(word)
	if err != nil {
		return 0, fmt.Errorf("%q is no index; use a number, next, rand or last", word)
	}
	return (i%n + n) % n, nil
}

// functions are the functions of templates. They draw from random.
func functions(random func() *rand.Rand) template.FuncMap {
	return template.FuncMap{
		"randInt":    func(args ...any) (string, error) { return randInt(random(), args) },
		"randString": func(args ...any) (string, error) { return randString(random(), args) },
		"uuid":       func(...any) (string, error) { return randUUID(random()), nil },
	}
}

// call calls the function that a text names, such as randInt(1, 6); ok is false if it names none. Arguments that are
// paths of variables stand for these.
func call(text string, vars map[string]any, next *counters, random *rand.Rand) (v string, ok bool, err error) {
	name, rest, given := strings.Cut(text, "(")
	var args []any
	if rest = strings.TrimSuffix(rest, ")"); given && rest != "" {
		for arg := range strings.SplitSeq(rest, ",") {
			arg = strings.TrimSpace(arg)
			if v, err := lookup(vars, arg, next, random); err == nil {
				args = append(args, v)
			} else {
				args = append(args, arg)
			}
		}
	}
	switch name {
	case "randInt":
		v, err = randInt(random, args)
	case "randString":
		v, err = randString(random, args)
	case "uuid":
		v = randUUID(random)
	default:
		return "", false, nil
	}
	return v, true, err
}

// integer returns an argument as a number.
func integer(arg any) (int64, error) {
	switch n := arg.(type) {
	case int:
		return int64(n), nil
	case int64:
		return n, nil
	case float64:
		return int64(n), nil
	}
	n, err := strconv.ParseInt(fmt.Sprint(arg), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no whole number", fmt.Sprint(arg))
	}
	return n, nil
}

// usualRange is the range of randInt without arguments.
const usualRange = 10

// randInt returns a number from the first argument to below the second; 0 to below 10 without arguments.
func randInt(random *rand.Rand, args []any) (string, error) {
	if len(args) > 2 {
		return "", errors.New("randInt takes at most two arguments")
	}
	var bounds [2]int64
	for i, arg := range args {
		var err error
		if bounds[i], err = integer(arg); err != nil {
			return "", fmt.Errorf("randInt: %w", err)
		}
	}
	from, to := min(bounds[0], bounds[1]), max(bounds[0], bounds[1])
	if from == to {
		to = from + usualRange
	}
	if to-from <= 0 {
		return "", errors.New("randInt: the range is too wide")
	}
	return strconv.FormatInt(from+random.Int64N(to-from), 10), nil
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// longestRandom is the longest text of randString.
const longestRandom = 1 << 20

// randString returns as many letters as the first argument says, of those in the second.
func randString(random *rand.Rand, args []any) (string, error) {
	if len(args) > 2 {
		return "", errors.New("randString takes at most two arguments")
	}
	n, from := int64(1), []rune(letters)
	if len(args) > 0 {
		var err error
		if n, err = integer(args[0]); err != nil || n < 0 || n > longestRandom {
			return "", fmt.Errorf("randString: %q is no length from 0 to %d", fmt.Sprint(args[0]), longestRandom)
		}
		n = max(n, 1)
	}
	if len(args) == 2 {
		if text := fmt.Sprint(args[1]); text != "" {
			from = []rune(text)
		}
	}
	out := make([]rune, n)
	for i := range out {
		out[i] = from[random.IntN(len(from))]
	}
	return string(out), nil
}

// randUUID returns a random UUID (RFC 9562, version 4).
func randUUID(random *rand.Rand) string {
	a, b := random.Uint64(), random.Uint64()
	a = a&^0xf000 | 0x4000
	b = b&^(3<<62) | 2<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", a>>32, a>>16&0xffff, a&0xffff, b>>48, b&0xffffffffffff)
}

// readCSV reads a source of variables: a list of records with named fields.
func readCSV(in io.Reader, fields []string, ignoreFirst bool, delimiter string) ([]any, error) {
	r := csv.NewReader(in)
	r.FieldsPerRecord = -1
	if delimiter != "" {
		r.Comma = []rune(delimiter)[0]
	}
	list := []any{}
	named := func(words []string) (names []string) {
		for _, w := range words {
			names = append(names, strings.ReplaceAll(w, " ", "_"))
		}
		return names
	}
	fields = named(fields)
	for {
		record, err := r.Read()
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		if len(fields) == 0 {
			fields = named(record)
		}
		if ignoreFirst {
			ignoreFirst = false
			continue
		}
		row := map[string]any{}
		for i, name := range fields {
			if name == "" {
				name = strconv.Itoa(i)
			}
			row[name] = ""
			if i < len(record) {
				row[name] = record[i]
			}
		}
		list = append(list, row)
	}
}

// findXPath returns what an XPath expression finds in HTML: one value as a text, otherwise a list.
func findXPath(doc *markup.Node, query string) (any, error) {
	found, err := doc.XPath(query, false)
	if err != nil || len(found) == 1 {
		return strings.Join(found, ""), err
	}
	var texts []any
	for _, text := range found {
		texts = append(texts, text)
	}
	return texts, nil
}

// decodeJSON decodes a text as Pandora does: all numbers are float64.
func decodeJSON(text []byte) (v any, err error) {
	err = json.Unmarshal(text, &v)
	return v, err
}

// encodeSources returns the sources of variables as JSON in which floating numbers have a point or an exponent.
func encodeSources(sources map[string]any) (string, error) {
	text, err := json.Marshal(pointed(sources))
	return string(text), err
}

// pointed returns a value whose floating numbers have a point or an exponent in JSON.
func pointed(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name := range v {
			out[name] = pointed(v[name])
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = pointed(v[i])
		}
		return out
	case float64:
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return json.RawMessage(text)
	}
	return v
}

// decodeSources decodes what encodeSources returns.
func decodeSources(text string) (map[string]any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v map[string]any
	err := d.Decode(&v)
	if err == nil {
		_, err = numbered(v)
	}
	return v, err
}

// numbered replaces numbers by int64, or float64 if they have a point or an exponent.
func numbered(v any) (out any, err error) {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			if v[name], err = numbered(v[name]); err != nil {
				return nil, err
			}
		}
	case []any:
		for i := range v {
			if v[i], err = numbered(v[i]); err != nil {
				return nil, err
			}
		}
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return v.Float64()
		}
		n, err := v.Int64()
		if err != nil {
			return v.Float64()
		}
		return n, nil
	}
	return v, nil
}
