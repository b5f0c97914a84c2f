package recordtest

import (
	"testing"

	"brunt/internal/measure"
	"brunt/internal/record"
)

// Open opens the bundle in a folder of this machine. It fails the test if there is none.
func Open(t testing.TB, dir string) *record.Recorded {
	t.Helper()
	b, err := record.Open(record.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Result returns the result of a bundle, as record.Recorded.Result does.
func Result(t testing.TB, dir string) *record.Run {
	t.Helper()
	run, _, err := Open(t, dir).Result()
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// Intervals returns the intervals of a bundle.
func Intervals(t testing.TB, dir string) (all []measure.Interval) {
	t.Helper()
	err := Open(t, dir).Intervals(func(iv *measure.Interval) error {
		all = append(all, *iv)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
