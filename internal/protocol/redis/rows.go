package redis

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

var (
	_ protocol.RowReader = (*codec)(nil)
	_ protocol.Adder     = (*codec)(nil)
)

// Rows calls each for every element of an answer, as give does; a nil answer has no rows. Maps give the same
// rows over both versions of the protocol.
func (c *codec) Rows(answer []byte, req *protocol.Request,
	each func(columns []string, row []gen.Value)) *protocol.Error {
	r := elements{rest: answer}
	v, ok := r.next()
	if list, flat := v.([]any); flat && answersMap(req.Words) {
		v = mapOf(list)
	}
	if ok && v != nil {
		give(v, each)
	}
	return nil
}

// answersMap reports whether a command returns a map, which version 2 of the protocol sends as a list of
// alternating keys and values.
func answersMap(words []string) bool {
	switch {
	case len(words) == 0:
		return false
	case strings.EqualFold(words[0], "CONFIG"):
		return len(words) > 1 && strings.EqualFold(words[1], "GET")
	}
	return strings.EqualFold(words[0], "HGETALL")
}

// Add prepares a command that isn't part of the program.
func (c *codec) Add(_ context.Context, _ protocol.Exchanger, req *protocol.Request) error {
	r, err := prepareOne(req)
	if err != nil {
		return protocol.Refused(req, "%v", err)
	}
	c.requests = protocol.Put(slices.Clone(c.requests), req.ID, r) // connections share the requests of their program
	return nil
}

// elements reads an answer that Scan has found to be valid RESP.
type elements struct{ rest []byte }

// next reads an element: nil, string, int64, float64, bool, error, []any or map[any]any. ok is false at the end.
func (e *elements) next() (v any, ok bool) {
	for {
		line, rest, found := bytes.Cut(e.rest, []byte("\r\n"))
		if !found || len(line) == 0 {
			return nil, false
		}
		e.rest = rest
		kind, text := line[0], line[1:]
		switch kind {
		case '+', '(':
			return string(text), true
		case '-':
			return errors.New(string(text)), true
		case ':', '*', '~', '%', '>', '|', '$', '!', '=':
			n, whole := parseInteger(text)
			if !whole {
				return nil, false
			}
			switch kind {
			case ':':
				return n, true
			case '$', '!', '=':
				return e.bulk(kind, n)
			case '>', '|': // a message that the server pushed, or an attribute
				if kind == '|' {
					n *= 2
				}
				e.list(n)
				continue
			case '%':
				return mapOf(e.list(2 * n)), true
			}
			if n < 0 {
				return nil, true
			}
			return e.list(n), true
		case ',':
			f, _ := strconv.ParseFloat(string(text), 64)
			return f, true
		case '#':
			return string(text) == "t", true
		}
		return nil, kind == '_'
	}
}

func (e *elements) bulk(kind byte, n int64) (v any, ok bool) {
	switch {
	case n < 0:
		return nil, true
	case n+2 > int64(len(e.rest)):
		return nil, false
	}
	text := e.rest[:n]
	e.rest = e.rest[n+2:]
	switch {
	case kind == '!':
		return errors.New(string(text)), true
	case kind == '=' && len(text) >= verbatimPrefix:
		text = text[verbatimPrefix:]
	}
	return string(text), true
}

func (e *elements) list(n int64) []any {
	all := []any{}
	for ; n > 0; n-- {
		v, ok := e.next()
		if !ok {
			break
		}
		all = append(all, v)
	}
	return all
}

// mapOf converts a list of alternating keys and values to a map. It drops a key without a value at the end.
func mapOf(list []any) map[any]any {
	all := map[any]any{}
	for pair := range slices.Chunk(list[:len(list)&^1], 2) {
		key := pair[0]
		switch key.(type) {
		case []any, map[any]any:
			key = string(appendJSON(key))
		}
		all[key] = pair[1]
	}
	return all
}

// give passes an answer to Reply.Each: a row of one column for each element of a list, a row of two columns for
// each pair of a map, and a single row for anything else.
func give(answer any, each func(columns []string, row []gen.Value)) {
	var pair [2]gen.Value
	switch v := answer.(type) {
	case []any:
		for _, element := range v {
			whole(&pair[0], element)
			each([]string{"value"}, pair[:1])
		}
	case map[any]any:
		byName := make(map[string]any, len(v))
		for key, element := range v {
			byName[fmt.Sprint(key)] = element
		}
		for _, key := range slices.Sorted(maps.Keys(byName)) {
			pair[0].SetString(key)
			whole(&pair[1], byName[key])
			each([]string{"key", "value"}, pair[:])
		}
	default:
		whole(&pair[0], v)
		each([]string{"value"}, pair[:1])
	}
}

// whole sets v to an element of an answer; a nested list or map becomes JSON.
func whole(v *gen.Value, element any) {
	switch x := element.(type) {
	case error:
		v.SetString(x.Error())
	case []any, map[any]any:
		v.Kind, v.B = gen.JSON, append(v.B[:0], appendJSON(x)...)
	default:
		if !v.SetAny(x) {
			v.SetString(fmt.Sprint(x))
		}
	}
}

func appendJSON(x any) []byte {
	text, err := json.Marshal(plain(x))
	if err != nil {
		return []byte("null")
	}
	return text
}

// plain converts x to types that encoding/json supports.
func plain(x any) any {
	switch x := x.(type) {
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = plain(x[i])
		}
		return out
	case map[any]any:
		out := make(map[string]any, len(x))
		for key, v := range x {
			out[fmt.Sprint(key)] = plain(v)
		}
		return out
	case float64:
		if math.IsInf(x, 0) || math.IsNaN(x) { // which JSON lacks
			return strings.ToLower(strings.TrimPrefix(fmt.Sprint(x), "+"))
		}
	case error:
		return x.Error()
	}
	return x
}
