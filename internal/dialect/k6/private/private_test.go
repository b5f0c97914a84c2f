package private

import "testing"

func TestSet(t *testing.T) {
	type status rune
	type hidden struct {
		values []float64
		status status
		call   func() int
	}
	for _, row := range []struct {
		name  string
		field string
		value any
		want  bool
	}{
		{"the same type", "values", []float64{1, 2}, true},
		{"a named type of the same kind", "status", 'x', true},
		{"a function", "call", func() int { return 7 }, true},
		{"no such field", "value", 1.0, false},
		{"another kind", "values", "text", false},
		{"a number that would become a text", "status", "x", false},
		{"elements of another type", "values", []int{1}, false},
		{"another signature", "call", func() string { return "" }, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := hidden{values: []float64{0}, status: 'a', call: func() int { return 0 }}
			if got := Set(&h, row.field, row.value); got != row.want {
				t.Errorf("got %t, want %t", got, row.want)
			}
			changed := len(h.values) == 2 || h.status == 'x' || h.call() == 7
			if changed != row.want {
				t.Errorf("the struct is %v, %q, %d", h.values, h.status, h.call())
			}
		})
	}
}
