package finite

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
)

type leaf struct {
	F float64
	S float32
	N int
	h float64 // not encoded
}

type tree struct {
	Leaf  leaf
	Ptr   *leaf
	Nil   *leaf
	List  []float64
	Array [2]float64
	Map   map[string]any
	Any   any
	Text  string
}

// Every number that is not finite is encoded, wherever it is, and nothing else changes.
func TestMarshal(t *testing.T) {
	for name, x := range map[string]float64{"+Inf": math.Inf(1), "-Inf": math.Inf(-1), "NaN": math.NaN()} {
		t.Run(name, func(t *testing.T) {
			v := &tree{
				Leaf: leaf{F: x, S: float32(x), N: 3, h: x}, Ptr: &leaf{F: x}, List: []float64{1, x}, Array: [2]float64{x, 2},
				Map: map[string]any{"a": x, "b": []any{x, "t"}}, Any: leaf{F: x}, Text: "t",
			}
			for _, marshal := range []func(any) ([]byte, error){Marshal, func(v any) ([]byte, error) {
				return MarshalIndent(v, "", " ")
			}} {
				text, err := marshal(v)
				if err != nil || !json.Valid(text) {
					t.Fatalf("%v: %s", err, text)
				}
				var back tree
				if err := json.Unmarshal(text, &back); err != nil {
					t.Fatal(err)
				}
				if want := Number(x); back.Leaf.F != want || back.Ptr.F != want || back.List[1] != want || back.Array[0] != want ||
					back.Map["a"] != want || back.Leaf.N != 3 || back.Text != "t" || back.Nil != nil {
					t.Errorf("%s", text)
				}
			}
			if v.Leaf.F == Number(x) || v.List[1] == Number(x) {
				t.Error("the value itself was changed")
			}
		})
	}
}

// A value whose numbers are finite is encoded as encoding/json does.
func TestFiniteValuesAreUnchanged(t *testing.T) {
	v := &tree{Leaf: leaf{F: 1.5}, Map: map[string]any{"z": 1.0, "a": nil}, List: []float64{}}
	want, err := json.Marshal(v)
	if got, failed := Marshal(v); err != nil || failed != nil || string(got) != string(want) {
		t.Errorf("%s, want %s", got, want)
	}
	if !reflect.DeepEqual(Copy(v), v) {
		t.Errorf("%+v", Copy(v))
	}
	if _, err := Marshal(make(chan int)); err == nil || !strings.Contains(err.Error(), "unsupported type") {
		t.Errorf("a channel: %v", err)
	}
}
