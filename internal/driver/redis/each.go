package redis

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"brunt/internal/gen"
)

// give passes an answer to Reply.Each: a row of one column for each element of a list, of two for each
// pair of a map, and one row for everything else.
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

// whole sets v to an element of an answer as it is; a list or map within becomes JSON.
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

// plain is x in forms that JSON has.
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
	case error:
		return x.Error()
	case fmt.Stringer:
		return x.String()
	}
	return x
}
