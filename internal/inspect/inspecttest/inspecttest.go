// Package inspecttest contains what the tests of inspectors have in common.
package inspecttest

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
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

// Cost reports what a server's threads use for one sample of an inspector, in µs of CPU. Samples are some time apart,
// as they are during a load, because a server that did something else in between uses more. An entry of threads is the
// PID of a process, or PID/TID for one thread.
func Cost(b *testing.B, i inspect.Inspector, threads ...string) {
	b.Helper()
	used := func() (ns float64) {
		for _, id := range threads {
			pid, tid, one := strings.Cut(id, "/")
			if !one {
				tid = pid
			}
			text, err := os.ReadFile("/proc/" + pid + "/task/" + tid + "/schedstat")
			if err != nil {
				b.Fatal(err)
			}
			x, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
			if err != nil {
				b.Fatal(err)
			}
			ns += x
		}
		return ns
	}
	const apart = 20 * time.Millisecond
	n, before := 0, used()
	for b.Loop() {
		if err := i.Sample(context.Background(), time.Duration(n)*apart); err != nil {
			b.Fatal(err)
		}
		n++
		time.Sleep(apart)
	}
	b.ReportMetric((used()-before)/float64(n)/1e3, "server-µs/sample")
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
