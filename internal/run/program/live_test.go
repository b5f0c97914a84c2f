package program_test

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"brunt/internal/judge/verdict"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile"
	"brunt/internal/record"
	"brunt/internal/run/program"
	"brunt/internal/run/runner"
	"brunt/test/testserver"
)

// bucket is a token bucket: requests above its rate are refused.
type bucket struct {
	mu     sync.Mutex
	tokens float64
	last   time.Time
	perS   float64
}

func (b *bucket) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	const most = 20
	now := time.Now()
	b.tokens, b.last = min(b.tokens+now.Sub(b.last).Seconds()*b.perS, most), now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// limited starts an HTTP server on loopback that serves perS requests per second.
func limited(t *testing.T, perS float64) string {
	t.Helper()
	b := &bucket{perS: perS, last: time.Now(), tokens: 20}
	return serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if !b.take() {
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
}

func serve(t *testing.T, f http.HandlerFunc) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: f}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return l.Addr().String()
}

func read(t *testing.T, text, addr string) *plan.Plan {
	t.Helper()
	p, err := planfile.Read("plan.yml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p.Target = plan.Target{Protocol: "http", Addresses: []string{addr}}
	return p
}

// execute sends real loads and writes their bundles into a folder.
func execute(dir string) program.Driver {
	return func(ctx context.Context, o program.Load) (*program.Outcome, error) {
		r, err := runner.Open(ctx, o.Plan, runner.Options{Recording: runner.Recording{Dir: filepath.Join(dir, o.Name)},
			PeakPerS: o.PeakPerS})
		if err != nil {
			return nil, err
		}
		defer r.Close()
		if err = r.SetUp(ctx); err == nil {
			if err = r.Drive(ctx, nil, o.Next); err == nil {
				err = r.Finish()
			}
		}
		if err != nil {
			return nil, err
		}
		out, err := program.ReadOutcome(record.OS{}, r.Dir)
		if err == nil {
			out.AcceptInvalid() // other tests use the same machine, so the precision of times doesn't matter here
		}
		return out, err
	}
}

const pages = `config_name: pages
queries:
  - {name: page, http: {path: /}, rate: 80}
  - {name: other, http: {path: /other}, rate: 20}
thresholds: ["errors < 1%"]
`

// TestSearchOfALimitedService searches a real service of known capacity by real loads.
func TestSearchOfALimitedService(t *testing.T) {
	testserver.SkipQuick(t)
	t.Parallel() // it mostly sleeps
	const limit = 310.0
	p := read(t, pages, limited(t, limit))
	o := program.DefaultSearch()
	o.Width, o.Trials = 0.1, 20
	h, err := program.NewTargetSearch(p, o)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	h.Trial, h.WarmUp, h.Pause, h.Drive = 600*time.Millisecond, 100*time.Millisecond, 0, execute(dir)
	h.Done = func(r program.Result) {
		t.Logf("%d %s N %.3f with %d sessions: %s", r.Number, r.Purpose, r.N, r.Sessions, r.Line())
	}
	s, err := h.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	b := s.Bracket()
	t.Logf("%+v", b)
	// Trials tolerate 1 % of errors, and the bucket allows a burst, so both add to the capacity. A busy machine can
	// lower the result, so only the upper bound is checked here. Simulated servers check the lower bound.
	const burst = 20 / 0.6
	if b.End == program.Found && b.LowerPerS > limit+burst {
		t.Errorf("the limit %g is below %+v", limit, b)
	}
	if b.End != program.Found && b.End != program.OutOfTrials && b.End != program.GeneratorLimit {
		t.Errorf("ended: %s", b.End)
	}
	judged := map[string]bool{}
	for _, r := range s.Results() {
		judged[r.Verdict] = true
		if r.Verdict == verdict.Pass && r.OfferedPerS > 1.15*(limit+burst) {
			t.Errorf("N %.3f, %.0f/s, is said to %s", r.N, r.OfferedPerS, r.Verdict)
		}
		if again, err := program.ReadOutcome(record.OS{}, filepath.Join(dir, r.Dir)); err != nil ||
			again.Run.Total.Offered == 0 &&
				r.Verdict != verdict.Invalid {
			t.Errorf("bundle %q: %v", r.Dir, err)
		}
	}
	if !judged[verdict.Fail] {
		t.Errorf("no trial found the limit %g", limit)
	}
}
