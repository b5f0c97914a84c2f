// Package resulttest helps tests of results.
package resulttest

import (
	"math"
	"strings"
	"testing"

	"brunt/internal/judge/result"
)

// Expect compares some metrics of a result. A name may begin with an operation, as in "READ: rate".
func Expect(t testing.TB, r *result.Result, want map[string]float64) {
	t.Helper()
	for key, value := range want {
		operation, name := "", key
		if i := strings.LastIndex(key, ": "); i >= 0 {
			operation, name = key[:i], key[i+2:]
		}
		m := r.Find(name, operation)
		if m == nil {
			t.Errorf("there is no %s", key)
		} else if math.Abs(m.Value-value) > 1e-9*math.Abs(value) {
			t.Errorf("%s is %v, want %v", key, m.Value, value)
		}
	}
}
