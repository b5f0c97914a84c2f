package acceptance_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/test/shell"
)

// Two processes that divide a load between them send together what one process would send, and their merged records
// contain what both recorded.
func TestTwoProcessesShareALoad(t *testing.T) {
	t.Parallel()
	s, dir := postgres(t), t.TempDir()
	// The process that begins later would find the other's inserted rows and begin after them.
	plan := shell.File(t, "stream.yml", strings.Replace(streamPlan, "range: [1, 500000], unique: true}",
		"range: [1, 500000], unique: true, start: range}", 1))
	_, whole := s.stream(t, plan, "42", "codec", "2")
	if up := brunt(t, s.with("schema", "up", "-c", plan, "--seed", "42", "--checkpoint",
		filepath.Join(dir, "load"))...); up.code != 0 {
		t.Fatalf("schema up: exit %d\n%s", up.code, up.err)
	}
	var both []*child
	var bundles []string
	for _, part := range []string{"1/2", "2/2"} {
		bundle := filepath.Join(dir, part[:1])
		bundles = append(bundles, bundle)
		both = append(both, spawn(t, dir, s.with("queue", "-c", plan, "--seed", "42", "--vu", "3", "--no-setup", "--part",
			part, "--bundle", bundle)...))
	}
	for _, c := range both {
		if o := c.wait(); !judged(o.code) {
			t.Fatalf("exit %d\n%s%s", o.code, o.out, o.err)
		}
	}
	landed := s.rows(t, `SELECT "n", "id", "word", "share", "seen", "on_sale" FROM "landed" ORDER BY "n"`)
	canonical(t, s.proto, landed, 4, 5, 3)
	differ(t, "requests", "one process", whole, "two", landed)
	mergedIsBoth(t, bundles)
	if down := brunt(t, s.with("schema", "down", "-c", plan)...); down.code != 0 {
		t.Fatalf("schema down: exit %d", down.code)
	}
}

// mergedIsBoth compares two bundles' merge with their sums.
func mergedIsBoth(t *testing.T, bundles []string) {
	t.Helper()
	var opened []*record.Recorded
	response := make([]*measure.Histogram, 2)
	done := make([]uint64, 2) // of each operation
	for _, b := range bundles {
		r := recordtest.Open(t, b)
		opened = append(opened, r)
		for i := range r.Run.Operations {
			h, err := r.Run.Operations[i].Response.Histogram()
			if err != nil {
				t.Fatal(err)
			}
			if response[i] == nil {
				response[i] = h
			} else {
				response[i].Merge(h)
			}
			done[i] += r.Run.Operations[i].Done
		}
	}
	if n := opened[0].Run.Total.Done; n == 0 || n == 400 {
		t.Errorf("one of the two did %d operations of 400: they didn't share", n)
	}
	run, _, err := record.Merge(opened...)
	if err != nil {
		t.Fatal(err)
	}
	if run.Total.Done != 400 || run.Total.OK != 400 || run.Sessions != 6 || !slices.Equal(done, []uint64{300, 100}) {
		t.Errorf("merged: %d operations, %d well, %d sessions; the parts did %v", run.Total.Done, run.Total.OK,
			run.Sessions, done)
	}
	for i := range run.Operations {
		o := &run.Operations[i]
		h, err := o.Response.Histogram()
		if err != nil {
			t.Fatal(err)
		}
		if o.Done != done[i] || h.Count() != response[i].Count() {
			t.Errorf("%s: %d done, %d measured; the parts did %d, measured %d", o.Name, o.Done, h.Count(), done[i],
				response[i].Count())
		}
		for _, q := range []float64{0, 0.1, 0.5, 0.9, 0.99, 1} {
			if got, want := h.Quantile(q), response[i].Quantile(q); got != want {
				t.Errorf("%s: the quantile %g is %v, of both %v", o.Name, q, got, want)
			}
		}
	}
}
