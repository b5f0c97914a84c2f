package record

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"brunt/internal/render/message"
)

// mergeRule combines the field of a merged run, whole, with the field of a part. first says that this is the first
// part, so whole holds no value yet.
type mergeRule func(whole, part reflect.Value, first bool)

// mergeRules are the rules that a field's merge tag may name. There is one more rule, "by A B": list elements whose
// fields A and B are equal are merged into one by the tags of their own fields.
var mergeRules map[string]mergeRule

func init() {
	mergeRules = map[string]mergeRule{
		"same": func(whole, part reflect.Value, _ bool) { whole.Set(part) }, // Merge refuses parts that differ
		"part": leave,                                                       // describes one part only; see Part
		// derived from the sums: see Fill, and packages verdict and confidence
		"sums":     leave,
		"whole":    leave, // Merge has a function for it
		"first":    firstSet,
		"each":     mergeEach,
		"all":      func(whole, part reflect.Value, first bool) { whole.SetBool((first || whole.Bool()) && part.Bool()) },
		"any":      func(whole, part reflect.Value, _ bool) { whole.SetBool(whole.Bool() || part.Bool()) },
		"sum":      mergeSum,
		"most":     extreme(+1),
		"latest":   extreme(+1),
		"least":    extreme(-1),
		"earliest": extreme(-1),
		"fields":   mergePointed,
		"distinct": mergeDistinct,
	}
}

// mergeFields merges the fields of a struct by their tags.
func mergeFields(whole, part reflect.Value, first bool) {
	for i := range whole.NumField() {
		rule := whole.Type().Field(i).Tag.Get("merge")
		if keys, ok := strings.CutPrefix(rule, "by "); ok {
			mergeBy(whole.Field(i), part.Field(i), strings.Fields(keys))
			continue
		}
		mergeRules[rule](whole.Field(i), part.Field(i), first)
	}
}

func leave(reflect.Value, reflect.Value, bool) {}

// firstSet keeps the first non-zero value of the parts. For maps it does so for each key.
func firstSet(whole, part reflect.Value, _ bool) {
	if part.Kind() != reflect.Map || whole.IsNil() {
		if whole.IsZero() && !part.IsZero() {
			whole.Set(cloned(part))
		}
		return
	}
	for _, key := range part.MapKeys() {
		if !whole.MapIndex(key).IsValid() {
			whole.SetMapIndex(key, part.MapIndex(key))
		}
	}
}

// cloned returns v, or a copy of v if it is a map.
func cloned(v reflect.Value) reflect.Value {
	if v.Kind() != reflect.Map {
		return v
	}
	out := reflect.MakeMap(v.Type())
	for _, key := range v.MapKeys() {
		out.SetMapIndex(key, v.MapIndex(key))
	}
	return out
}

// mergeEach lists the distinct texts of the parts.
func mergeEach(whole, part reflect.Value, _ bool) {
	if have, ok := whole.Addr().Interface().(*message.Message); ok {
		more := part.Interface().(message.Message)
		for _, sentence := range more.Parts() {
			if !slices.ContainsFunc(have.Parts(), sentence.Equal) {
				*have = message.Sentences(append(have.Parts(), sentence)...)
			}
		}
		return
	}
	text := part.String()
	switch have := whole.String(); {
	case have == "":
		whole.SetString(text)
	case text != "" && !slices.Contains(strings.Split(have, "; "), text):
		whole.SetString(have + "; " + text)
	}
}

func mergeSum(whole, part reflect.Value, _ bool) {
	if whole.CanUint() {
		whole.SetUint(whole.Uint() + part.Uint())
		return
	}
	whole.SetInt(whole.Int() + part.Int())
}

// extreme returns a rule that keeps the greatest value, or the least if sign is -1.
func extreme(sign int) mergeRule {
	return func(whole, part reflect.Value, first bool) {
		if first || sign*compareValues(part, whole) > 0 {
			whole.Set(part)
		}
	}
}

func compareValues(a, b reflect.Value) int {
	switch {
	case a.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	case a.CanUint():
		return cmp.Compare(a.Uint(), b.Uint())
	case a.Kind() == reflect.String:
		return cmp.Compare(a.String(), b.String())
	}
	return a.Interface().(time.Time).Compare(b.Interface().(time.Time))
}

// mergePointed merges the fields of the structs that the fields point to. A nil pointer of a part changes nothing.
func mergePointed(whole, part reflect.Value, _ bool) {
	if part.IsNil() {
		return
	}
	first := whole.IsNil()
	if first {
		whole.Set(reflect.New(whole.Type().Elem()))
	}
	mergeFields(whole.Elem(), part.Elem(), first)
}

// mergeDistinct adds the elements that whole doesn't have yet.
func mergeDistinct(whole, part reflect.Value, _ bool) {
	for i := range part.Len() {
		element, there := part.Index(i), false
		for k := range whole.Len() {
			there = there || reflect.DeepEqual(whole.Index(k).Interface(), element.Interface())
		}
		if !there {
			whole.Set(reflect.Append(whole, element))
		}
	}
}

// mergeBy merges elements whose keys are equal, and adds the others.
func mergeBy(whole, part reflect.Value, keys []string) {
	places := map[string]int{}
	for i := range whole.Len() {
		places[keyOf(whole.Index(i), keys)] = i
	}
	for i := range part.Len() {
		element := part.Index(i)
		place, there := places[keyOf(element, keys)]
		if !there {
			place = whole.Len()
			places[keyOf(element, keys)] = place
			whole.Set(reflect.Append(whole, reflect.Zero(element.Type())))
		}
		mergeFields(whole.Index(place), element, !there)
	}
}

func keyOf(element reflect.Value, keys []string) string {
	texts := make([]string, len(keys))
	for i, key := range keys {
		texts[i] = fmt.Sprint(element.FieldByName(key))
	}
	return strings.Join(texts, "\x00")
}
