package brunt_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"brunt"
)

// run runs a load that must have a result.
func run(t *testing.T, l brunt.Load) *brunt.Result {
	t.Helper()
	r, err := l.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A closed load calls the function once for each number.
func TestOperationsAreNumbered(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []uint64
	r := run(t, brunt.Load{Count: 500, Sessions: 8, Do: func(_ context.Context, n uint64) error {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, n)
		return nil
	}})
	slices.Sort(seen)
	for i, n := range seen {
		if n != uint64(i) {
			t.Fatalf("call %d has the number %d", i, n)
		}
	}
	if len(seen) != 500 || r.Total.Done != 500 || r.Total.OK != 500 || r.Total.Response.Count() != 500 {
		t.Errorf("%d calls, and the result has %+v", len(seen), r.Total)
	}
	if !r.Complete || r.Interrupted || r.Duration <= 0 || r.Total.Rate <= 0 {
		t.Errorf("%+v", r)
	}
}

// Every arrival of an open load has a fate, and those of the warm-up aren't counted.
func TestArrivalsHaveFates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		random bool
		warmUp time.Duration
	}{{false, 0}, {true, 0}, {false, 500 * time.Millisecond}} {
		t.Run(fmt.Sprintf("random %t, warm-up %s", c.random, c.warmUp), func(t *testing.T) {
			t.Parallel()
			var calls atomic.Uint64
			r := run(t, brunt.Load{Rate: 400, Duration: 500 * time.Millisecond, WarmUp: c.warmUp, Random: c.random,
				Do: func(context.Context, uint64) error {
					calls.Add(1)
					return nil
				}})
			fates := r.Total.Done + r.Total.Dropped + r.Total.Unfinished
			if !c.random && c.warmUp == 0 && fates != 200 || fates == 0 || (r.Total.Done == calls.Load()) != (c.warmUp == 0) {
				t.Errorf("%d fates, %d done, %d calls", fates, r.Total.Done, calls.Load())
			}
			if r.Total.Response.Count() != fates {
				t.Errorf("%d response times of %d arrivals", r.Total.Response.Count(), fates)
			}
		})
	}
}

// A call that stalls the only session delays the arrivals behind it, and their response times say so.
func TestWaitingCounts(t *testing.T) {
	t.Parallel()
	r := run(t, brunt.Load{Rate: 100, Duration: 500 * time.Millisecond, Sessions: 1,
		Do: func(_ context.Context, n uint64) error {
			if n == 10 {
				<-time.After(300 * time.Millisecond)
			}
			return nil
		}})
	// 30 arrivals fell due during the stall, and those of its first 100 ms waited for at least 200 ms.
	if got := r.Total.Response.Quantile(0.82); got < 200*time.Millisecond {
		t.Errorf("a fifth of the arrivals waited, and the 82nd percentile is %s", got)
	}
	if r.Total.Service.Quantile(0.5) > r.Total.Response.Quantile(0.5) {
		t.Errorf("calls took %s, response times are %s", r.Total.Service.Quantile(0.5), r.Total.Response.Quantile(0.5))
	}
}

// The phases of a load follow one another, and its operations are numbered through all of them.
func TestPhasesFollowOneAnother(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []uint64
	var together, most atomic.Int64
	r := run(t, brunt.Load{Random: true, Results: t.TempDir(), Do: func(_ context.Context, n uint64) error {
		most.Store(max(most.Load(), together.Add(1)))
		defer together.Add(-1)
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, n)
		return nil
	}, Phases: []brunt.Phase{
		{Name: "rise", Rate: 100, RateTo: 500, Duration: 500 * time.Millisecond},
		{Rate: 200, Duration: 250 * time.Millisecond},
		{Name: "queue", Sessions: 2, Count: 50},
	}})
	slices.Sort(seen)
	if unique := slices.Compact(slices.Clone(seen)); len(unique) != len(seen) {
		t.Error("two operations have one number")
	}
	if fates := r.Total.Done + r.Total.Dropped + r.Total.Unfinished; fates < 100 || r.Total.Done != uint64(len(seen)) {
		t.Errorf("%d arrivals, %d done, %d calls", fates, r.Total.Done, len(seen))
	}
	var text strings.Builder
	if err := r.Report(&text, "text"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"rise", "phase 2", "queue"} {
		if !strings.Contains(text.String(), name) {
			t.Errorf("the report doesn't have the phase %s:\n%s", name, &text)
		}
	}
}

// A session rests between its operations.
func TestSessionsThink(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ least, most time.Duration }{
		{20 * time.Millisecond, 0}, {20 * time.Millisecond, 30 * time.Millisecond}, {0, 20 * time.Millisecond},
	} {
		t.Run(fmt.Sprintf("%s to %s", c.least, c.most), func(t *testing.T) {
			t.Parallel()
			var last time.Time
			var rested time.Duration
			run(t, brunt.Load{Count: 10, Think: c.least, ThinkMost: c.most, Do: func(context.Context, uint64) error {
				if !last.IsZero() {
					rest := time.Since(last)
					rested += rest
					if rest < c.least {
						t.Errorf("the session rested for %s", rest)
					}
				}
				last = time.Now()
				return nil
			}})
			if rested < 10*time.Millisecond {
				t.Errorf("the session rested for %s in all", rested)
			}
		})
	}
}

// Several operations share the load by their weights.
func TestOperationsShareTheLoad(t *testing.T) {
	t.Parallel()
	good := func(context.Context, uint64) error { return nil }
	r := run(t, brunt.Load{Count: 1000, Operations: []brunt.Operation{
		{Name: "often", Weight: 9, Do: good}, {Name: "seldom", Do: good},
	}})
	often, _ := r.Operation("often")
	seldom, ok := r.Operation("seldom")
	if !ok || often.Done+seldom.Done != 1000 || often.Done < 5*seldom.Done || seldom.Done == 0 {
		t.Errorf("%d and %d", often.Done, seldom.Done)
	}
	if _, ok := r.Operation("never"); ok {
		t.Error("an operation that isn't there has figures")
	}
}

func TestErrorsAreClassified(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		err   error
		class brunt.Class
		code  string
		text  string
	}{
		{"an error that says nothing", errors.New("no such\ncar"), brunt.ClassServer, "", "no such car"},
		{"a class and a code", &brunt.Failure{Class: brunt.ClassProtocol, Code: "42", Text: "what?"},
			brunt.ClassProtocol, "42", "what?"},
		{"no class", fmt.Errorf("asked: %w", &brunt.Failure{Code: "409", Err: errors.New("taken")}),
			brunt.ClassServer, "409", "taken"},
		{"a class that isn't one", &brunt.Failure{Class: "bad", Text: "what?"}, brunt.ClassClient, "",
			`there is no class "bad"`},
		{"no failure", &brunt.Failure{Class: "ok", Text: "fine"}, brunt.ClassClient, "", `there is no class "ok"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := run(t, brunt.Load{Count: 20, Do: func(_ context.Context, n uint64) error {
				if n%2 == 0 {
					return c.err
				}
				return nil
			}})
			if r.Total.Failed != 10 || r.Total.OK != 10 || len(r.Failures) != 1 {
				t.Fatalf("%+v: %+v", r.Total, r.Failures)
			}
			if f := r.Failures[0]; f.Class != c.class || f.Code != c.code || !strings.Contains(f.Text, c.text) {
				t.Errorf("%+v", f)
			}
		})
	}
}

// A call whose time is up, and that returns then, has no known outcome.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	r := run(t, brunt.Load{Count: 3, Timeout: 20 * time.Millisecond, Do: func(ctx context.Context, _ uint64) error {
		<-ctx.Done()
		return ctx.Err()
	}})
	if len(r.Failures) != 1 || r.Failures[0].Class != brunt.ClassUnknownOutcome || r.Total.Failed != 3 {
		t.Errorf("%+v: %+v", r.Total, r.Failures)
	}
	if got := r.Total.Response.Quantile(0.5); got != brunt.Never {
		t.Errorf("the response time of arrivals without an answer is %s", got)
	}
}

// A panic ends the load, not the program. The error has the place, and the result counts the failure.
func TestFunctionPanics(t *testing.T) {
	t.Parallel()
	var cars map[string]int
	for _, c := range []struct {
		name, code, says string
		do               func()
	}{
		{"a value", "panic", "no such car", func() { panic("no such car") }},
		{"nil", "panic", "nil", func() { panic(nil) }},
		{"a nil map", "panic", "assignment to entry in nil map", func() { cars["car"]++ }},
		{"the goroutine is ended", "goexit", "return an error instead", runtime.Goexit},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := brunt.Load{Rate: 200, Duration: time.Hour, Do: func(_ context.Context, n uint64) error {
				if n == 20 {
					c.do()
				}
				return nil
			}}.Run(t.Context())
			var p *brunt.PanicError
			if !errors.As(err, &p) || r == nil {
				t.Fatalf("%v, %v", r, err)
			}
			if !strings.Contains(err.Error(), c.says) || !strings.Contains(p.Stack, "load_test.go") {
				t.Errorf("%v", err)
			}
			if !r.Interrupted || len(r.Failures) != 1 || r.Failures[0].Class != brunt.ClassClient ||
				r.Failures[0].Code != c.code {
				t.Errorf("%+v", r.Failures)
			}
			if c.code == "panic" && !strings.Contains(r.Failures[0].Text, "load_test.go:") {
				t.Errorf("%q names no place", r.Failures[0].Text)
			}
		})
	}
}

// A function that ignores its context holds up neither the load nor its end.
func TestFunctionIgnoresItsContext(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release) // a call that this process begins late may still come
	r := run(t, brunt.Load{Rate: 50, Duration: 400 * time.Millisecond, Timeout: 30 * time.Millisecond,
		Do: func(_ context.Context, n uint64) error {
			if n%2 == 0 {
				<-release
			}
			return nil
		}})
	if fates := r.Total.Done + r.Total.Dropped + r.Total.Unfinished; fates != 20 {
		t.Errorf("%d of 20 arrivals have a fate", fates)
	}
	if len(r.Failures) != 1 || r.Failures[0].Code != "left" || r.Failures[0].Class != brunt.ClassUnknownOutcome {
		t.Errorf("%+v", r.Failures)
	}
	if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "still run") }) {
		t.Errorf("no warning of calls that still run: %q", r.Warnings)
	}
}

// A load whose function blocks for ever ends soon after its context.
func TestFunctionBlocksForEver(t *testing.T) {
	t.Parallel()
	release, begun := make(chan struct{}), make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	r, err := brunt.Load{Duration: time.Hour, Sessions: 3, Do: func(context.Context, uint64) error {
		select {
		case begun <- struct{}{}:
		default:
		}
		<-release
		return nil
	}}.Run(ctx)
	close(release)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Interrupted || r.ExitCode() != 105 || r.Total.OK != 0 {
		t.Errorf("%+v", r.Total)
	}
}

// Goroutines that a call leaves behind see their context end, and change nothing of the result.
func TestGoroutinesOutliveTheCall(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	r := run(t, brunt.Load{Count: 200, Sessions: 4, Do: func(ctx context.Context, _ uint64) error {
		all.Go(func() { <-ctx.Done() })
		return nil
	}})
	all.Wait()
	if r.Total.OK != 200 || len(r.Failures) > 0 {
		t.Errorf("%+v: %+v", r.Total, r.Failures)
	}
}

func TestWrongLoads(t *testing.T) {
	t.Parallel()
	do := func(context.Context, uint64) error {
		t.Error("the function was called")
		return nil
	}
	for _, c := range []struct {
		name string
		load brunt.Load
		says string
	}{
		{"no function", brunt.Load{Count: 1}, "set Do or Operations"},
		{"two kinds", brunt.Load{Count: 1, Do: do, Operations: []brunt.Operation{{Name: "a", Do: do}}}, "set one of them"},
		{"an operation without a function", brunt.Load{Count: 1, Operations: []brunt.Operation{{Name: "a"}}},
			`"a" has no function`},
		{"two of one name", brunt.Load{Count: 1, Operations: []brunt.Operation{{Name: "a", Do: do}, {Name: "a", Do: do}}},
			"stands twice"},
		{"a negative weight", brunt.Load{Count: 1, Operations: []brunt.Operation{{Name: "a", Weight: -1, Do: do}}}, "weight"},
		{"no end", brunt.Load{Do: do}, "no end"},
		{"an open load by count", brunt.Load{Do: do, Rate: 1, Count: 1}, "a Count is for closed loads"},
		{"a negative rate", brunt.Load{Do: do, Rate: -1, Duration: 1}, "Rate is -1"},
		{"a negative time", brunt.Load{Do: do, Duration: -1}, "negative"},
		{"phases and a rate", brunt.Load{Do: do, Rate: 1, Phases: []brunt.Phase{{Count: 1}}}, "set Phases or the others"},
		{"a phase without an end", brunt.Load{Do: do, Phases: []brunt.Phase{{Count: 1}, {Rate: 5}}},
			`phase "phase 2": the load has no end`},
		{"sessions of an open phase",
			brunt.Load{Do: do, Phases: []brunt.Phase{{Name: "a", Rate: 5, Duration: 1, Sessions: 2}}},
			`phase "a": the Sessions of a phase`},
		{"a rate that falls below 0", brunt.Load{Do: do, Phases: []brunt.Phase{{Rate: 5, RateTo: -1, Duration: 1}}},
			"RateTo is -1"},
		{"more sessions than there are", brunt.Load{Do: do, Sessions: 2, Phases: []brunt.Phase{{Count: 1, Sessions: 3}}},
			`"phase 1" has 3 sessions, and the load has 2`},
		{"a rest in an open load", brunt.Load{Do: do, Rate: 5, Duration: 1, Think: 1}, "Think is for closed loads"},
		{"a rest that ends before it begins", brunt.Load{Do: do, Count: 1, Think: 2, ThinkMost: 1}, "ThinkMost is 1ns"},
		{"a negative rest", brunt.Load{Do: do, Count: 1, Think: -1}, "negative"},
		{"random times of a closed load", brunt.Load{Do: do, Count: 1, Random: true}, "Random"},
		{"a rule that isn't one", brunt.Load{Do: do, Count: 1, Rules: []string{"speed < 3"}}, "speed"},
		{"a folder below a file", brunt.Load{Do: do, Count: 1, Results: "load_test.go/x"}, "name another folder in Results"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := c.load.Run(t.Context()); err == nil || !strings.Contains(err.Error(), c.says) ||
				strings.Contains(err.Error(), "--") {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

// Without Results, nothing is written, so that no folder needs to be writable.
func TestNothingIsWritten(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	r := run(t, brunt.Load{Count: 10, Do: func(context.Context, uint64) error { return nil }})
	if names, err := filepath.Glob("*"); err != nil || len(names) > 0 || r.Dir != "" {
		t.Errorf("%q (%v), bundle %q", names, err, r.Dir)
	}
	if err := r.Report(&strings.Builder{}, "html"); err == nil || !strings.Contains(err.Error(), "Results") {
		t.Errorf("a page without a bundle: %v", err)
	}
}

// A writer that blocks, or fails, doesn't stop the load.
func TestProgressThatBlocks(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	r := run(t, brunt.Load{Rate: 100, Duration: 200 * time.Millisecond, Progress: blocked(release),
		Do: func(context.Context, uint64) error { return nil }})
	if fates := r.Total.Done + r.Total.Dropped + r.Total.Unfinished; fates != 20 {
		t.Errorf("%d of 20 arrivals have a fate", fates)
	}
}

type blocked chan struct{}

func (b blocked) Write(p []byte) (int, error) {
	<-b
	return len(p), nil
}
