package record

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/internal/render/message"
)

// eachField calls f for each field of a struct whose fields have merge tags, including the fields of items of lists and
// of pointers' targets.
func eachField(of reflect.Type, path string, f func(path string, field reflect.StructField, rule string)) {
	for i := range of.NumField() {
		field := of.Field(i)
		rule := field.Tag.Get("merge")
		f(path+"."+field.Name, field, rule)
		if strings.HasPrefix(rule, "by ") || rule == "fields" {
			eachField(field.Type.Elem(), path+"."+field.Name, f)
		}
	}
}

// Each field needs a merge tag, so that merging can't ignore a new field.
func TestEveryFieldSaysHowItIsMerged(t *testing.T) {
	eachField(reflect.TypeFor[Run](), "Run", func(path string, field reflect.StructField, rule string) {
		t.Run(path, func(t *testing.T) {
			keys, by := strings.CutPrefix(rule, "by ")
			if !by && mergeRules[rule] == nil {
				t.Fatalf("its tag merge is %q: name one of mergeRules", rule)
			}
			for key := range strings.FieldsSeq(keys) {
				if !by {
					break
				}
				k, ok := field.Type.Elem().FieldByName(key)
				if !ok || k.Type.Kind() != reflect.String && k.Type.Kind() != reflect.Int || k.Tag.Get("merge") != "same" {
					t.Errorf("its key %s is no text that is the same in all that it joins", key)
				}
			}
		})
	})
}

// someValue returns a value of a type in which no field is empty.
func someValue(of reflect.Type) reflect.Value {
	if of == reflect.TypeFor[message.Message]() {
		return reflect.ValueOf(message.Literal("something"))
	}
	v := reflect.New(of).Elem()
	switch of.Kind() {
	case reflect.Struct:
		if of == reflect.TypeFor[time.Time]() {
			return reflect.ValueOf(began)
		}
		for i := range of.NumField() {
			v.Field(i).Set(someValue(of.Field(i).Type))
		}
	case reflect.Pointer:
		v.Set(reflect.New(of.Elem()))
		v.Elem().Set(someValue(of.Elem()))
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).Set(someValue(of.Elem()))
		}
	case reflect.Slice:
		v.Set(reflect.Append(v, someValue(of.Elem())))
	case reflect.Map:
		v.Set(reflect.MakeMap(of))
		v.SetMapIndex(someValue(of.Key()), someValue(of.Elem()))
	case reflect.String:
		v.SetString("something")
	case reflect.Interface:
		v.Set(reflect.ValueOf("something"))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(3)
	default:
		if v.CanInt() {
			v.SetInt(3)
		} else {
			v.SetUint(3)
		}
	}
	return v
}

// Values that only the second part has are in the merged record.
func TestWhatTheSecondPartHasIsKept(t *testing.T) {
	exceptions := []string{"part", "sums", "whole", "all", "least", "earliest"}
	var whole Run
	mergeFields(reflect.ValueOf(&whole).Elem(), reflect.ValueOf(&Run{}).Elem(), true)
	mergeFields(reflect.ValueOf(&whole).Elem(), someValue(reflect.TypeFor[Run]()), false)
	v := reflect.ValueOf(whole)
	for i := range v.NumField() {
		field := v.Type().Field(i)
		t.Run(field.Name, func(t *testing.T) {
			if slices.Contains(exceptions, field.Tag.Get("merge")) != v.Field(i).IsZero() {
				t.Errorf("by the rule %q the whole has %+v", field.Tag.Get("merge"), v.Field(i))
			}
		})
	}
}

func TestMergeRules(t *testing.T) {
	seed := uint64(7)
	for name, row := range map[string]struct{ a, b, want Run }{
		"elements of one key": {
			Run{Tables: []TableUse{{Name: "a", Rows: 3}, {Name: "b", Rows: 1}}},
			Run{Tables: []TableUse{{Name: "b", Rows: 2}, {Name: "c", Rows: 5}}},
			Run{Tables: []TableUse{{Name: "a", Rows: 3}, {Name: "b", Rows: 1}, {Name: "c", Rows: 5}}},
		},
		"tables": {
			Run{Tables: []TableUse{{Name: "cars", Origin: "brunt", Rows: 12}}},
			Run{Tables: []TableUse{{Name: "cars", Origin: "run", Rows: 10, Seed: &seed}, {Name: "more", Rows: 1}}},
			Run{Tables: []TableUse{{Name: "cars", Origin: "run", Rows: 10, Seed: &seed}, {Name: "more", Rows: 1}}},
		},
		"set-up": {
			Run{Setup: &Setup{DurationNs: 5, Tables: []Table{{Name: "a", Rows: 1}}}},
			Run{Setup: &Setup{DurationNs: 7, Tables: []Table{{Name: "a", Rows: 1}, {Name: "b", Rows: 2}}}},
			Run{Setup: &Setup{DurationNs: 7, Tables: []Table{{Name: "a", Rows: 1}, {Name: "b", Rows: 2}}}},
		},
		"sequences": {
			Run{Sequences: []Sequence{{Table: "a", First: 1}}},
			Run{Sequences: []Sequence{{Table: "a", First: 1}, {Table: "a", First: 2}}},
			Run{Sequences: []Sequence{{Table: "a", First: 1}, {Table: "a", First: 2}}},
		},
		"texts": {Run{Brunt: "1"}, Run{Brunt: "2"}, Run{Brunt: "1; 2"}},
		"one of": {Run{Complete: true, Tier: "library"}, Run{Interrupted: true, Tier: "codec"},
			Run{Interrupted: true, Tier: "library"}},
		"numbers": {Run{Sessions: 2, Pipeline: 3}, Run{Sessions: 3, Pipeline: 1}, Run{Sessions: 5, Pipeline: 3}},
		"maps": {
			Run{Flags: map[string]string{"a": "1"}}, Run{Flags: map[string]string{"a": "2", "b": "3"}},
			Run{Flags: map[string]string{"a": "1", "b": "3"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var whole Run
			mergeFields(reflect.ValueOf(&whole).Elem(), reflect.ValueOf(row.a), true)
			mergeFields(reflect.ValueOf(&whole).Elem(), reflect.ValueOf(row.b), false)
			if !reflect.DeepEqual(whole, row.want) {
				t.Errorf("got %+v\nwant %+v", whole, row.want)
			}
			if len(row.a.Flags) > 1 {
				t.Errorf("the part itself was changed: %v", row.a.Flags)
			}
		})
	}
}
