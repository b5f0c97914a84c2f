// Package inspecttest contains what the tests of inspectors have in common.
package inspecttest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"brunt/internal/inspect"
	"brunt/internal/record"
)

// Run inspects a server while a load of operations runs, closes the inspector, and returns what it knows.
func Run[I inspect.Inspector](t testing.TB, i I, load func(I), operations ...inspect.Operation) *record.Inspection {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	defer i.Close()
	if err := i.Begin(ctx); err != nil {
		t.Fatal(err)
	}
	load(i)
	out, err := i.End(ctx, inspect.Phase{Name: "load"}, inspect.Load{Operations: operations})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Sample takes n samples.
func Sample(t testing.TB, i inspect.Inspector, n int) {
	t.Helper()
	for k := range n {
		if err := i.Sample(context.Background(), time.Duration(k)*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}

// Repeat calls each of the clients again and again until the returned function is called, which returns when their last
// calls have. The error of a client ends it and fails the test.
func Repeat(t testing.TB, clients ...func() error) (stop func()) {
	end := make(chan struct{})
	var group sync.WaitGroup
	for _, c := range clients {
		group.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
				}
				if err := c(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	return func() {
		close(end)
		group.Wait()
	}
}

// Expect fails the test unless there is a finding with this id, and the texts of the first one contain the given ones.
func Expect(t testing.TB, in *record.Inspection, id string, texts ...string) record.Finding {
	t.Helper()
	k := slices.IndexFunc(in.Findings, func(f record.Finding) bool { return f.ID == id })
	if k < 0 {
		t.Fatalf("no finding %s among %+v\nplans %+v\nwindows %+v", id, in.Findings, in.Plans, in.Windows)
	}
	f := in.Findings[k]
	whole := fmt.Sprint(f.Subject, " ", f.Evidence, " ", f.Advice)
	for _, text := range texts {
		if !strings.Contains(whole, text) {
			t.Errorf("%s doesn't say %q: %s", id, text, whole)
		}
	}
	if f.Severity == "" || f.Subject == "" || f.Evidence.IsZero() || f.Advice.IsZero() {
		t.Errorf("a part is missing: %+v", f)
	}
	return f
}

// Silent fails the test if there are findings with these ids.
func Silent(t testing.TB, in *record.Inspection, ids ...string) {
	t.Helper()
	for _, f := range in.Findings {
		if slices.Contains(ids, f.ID) {
			t.Errorf("unexpected: %s %s: %s", f.ID, f.Subject, f.Evidence)
		}
	}
}
