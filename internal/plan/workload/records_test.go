package workload

import "testing"

// TestWalk goes through a list step by step, as slow_cooker's goroutines do.
func TestWalk(t *testing.T) {
	for _, c := range []struct{ n, sessions int }{{1, 1}, {1, 4}, {5, 2}, {7, 3}, {4, 4}, {3, 5}} {
		stride := c.sessions
		if stride > c.n {
			stride = 1
		}
		compat := walk(c.n, c.sessions)
		at := make([]int, c.sessions)
		for s := range at {
			at[s] = s % c.n
		}
		for i := range uint64(100) {
			s := int(i) % c.sessions
			if got := compat(i); got != at[s] {
				t.Fatalf("%+v: operation %d takes variant %d, want %d", c, i, got, at[s])
			}
			if at[s] += stride; at[s] >= c.n {
				at[s] = s % c.n
			}
		}
	}
}
