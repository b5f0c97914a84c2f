package measure

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"brunt/internal/protocol"
)

func TestCountsAsJSON(t *testing.T) {
	for text, c := range map[string]Counts{
		`{"done":0,"attempts":0,"retries":0,"late":0}`: {},
		`{"done":5,"errors":{"server":1,"timeout":2},"unsent":{"load-over":3},"unfinished":4,"attempts":6,"retries":1,"late":2,"bytes_in":9,"status":{"2xx":4,"5xx":1}}`: {
			Done: 5, Errors: ByClass{protocol.Server: 1, protocol.Timeout: 2}, Unsent: ByReason{UnsentLoadOver: 3},
			Unfinished: 4,
			Attempts:   6, Retries: 1, Late: 2, BytesIn: 9, Status: ByStatus{2: 4, 5: 1},
		},
	} {
		t.Run(text, func(t *testing.T) {
			got, err := json.Marshal(c)
			if err != nil || string(got) != text {
				t.Errorf("%v: written as %s", err, got)
			}
			back := Counts{Errors: ByClass{protocol.Client: 7}}
			if !strings.Contains(text, "errors") {
				back = Counts{}
			}
			if err := json.Unmarshal([]byte(text), &back); err != nil || back != c {
				t.Errorf("%v: read as %+v", err, back)
			}
		})
	}
}

func TestUnknownNamesOfCountsAreRefused(t *testing.T) {
	for _, text := range []string{`{"errors":{"bad luck":1}}`, `{"unsent":{"bad luck":1}}`, `{"status":{"7xx":1}}`,
		`{"errors":[1]}`} {
		t.Run(text, func(t *testing.T) {
			var c Counts
			if err := json.Unmarshal([]byte(text), &c); err == nil {
				t.Errorf("read as %+v", c)
			}
		})
	}
}

// A field is all that a counter needs: it is added up, has a name, and a value that Number and exports find.
func TestEveryCounterIsAddedUp(t *testing.T) {
	var a, b, want Counts
	n := uint64(0)
	each := func(c *Counts, f func(name string, number reflect.Value)) {
		v := reflect.ValueOf(c).Elem()
		for i := range v.NumField() {
			field, name := v.Field(i), v.Type().Field(i).Name
			switch {
			case field.Kind() == reflect.Uint64:
				f(name, field)
			case field.Kind() == reflect.Array && field.Type().Elem().Kind() == reflect.Uint64:
				for k := range field.Len() {
					f(name, field.Index(k))
				}
			default:
				t.Errorf("%s is neither a uint64 nor an array of them: Add would corrupt it", name)
			}
		}
	}
	each(&a, func(_ string, v reflect.Value) { n++; v.SetUint(n) })
	each(&b, func(_ string, v reflect.Value) { n++; v.SetUint(n << 20) })
	k := uint64(0)
	each(&want, func(_ string, v reflect.Value) { k++; v.SetUint(k + (k+n/2)<<20) })
	if n/2 != uint64(words) {
		t.Errorf("Counts has %d numbers, and Add adds %d", n/2, words)
	}
	a.Add(&b)
	if a != want {
		t.Errorf("the sum is %+v, want %+v", a, want)
	}
	for _, c := range Exported() {
		if c.Name == "" || c.Of(&a) == 0 || c.Of(&a) != a.Number(c.Name) {
			t.Errorf("%s: exported as %d, by its name it is %d", c.Name, c.Of(&a), a.Number(c.Name))
		}
	}
}
