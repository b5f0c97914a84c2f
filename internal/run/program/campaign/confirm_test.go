package campaign

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"brunt/internal/judge/verdict"
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
	"brunt/internal/run/program"
	"brunt/internal/run/program/campaign/campaignfile"
	"brunt/test/testserver"
)

// credits are the requests that a service answers above its rate before it slows down, as burstable machines do.
type credits struct {
	mu     sync.Mutex
	left   float64
	most   float64
	perS   float64
	latest time.Time
}

func (c *credits) take() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.left, c.latest = min(c.left+now.Sub(c.latest).Seconds()*c.perS, c.most), now
	if c.left < 1 {
		return false
	}
	c.left--
	return true
}

// bursting starts such an HTTP server on loopback.
func bursting(t *testing.T, most, perS float64) string {
	t.Helper()
	c := &credits{left: most, most: most, perS: perS, latest: time.Now()}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !c.take() {
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return l.Addr().String()
}

// TestMaximumIsWhatIsHeld runs a campaign on a service that sustains more for a second than for long. The load that it
// held is reported, analysed, compared and repeated.
func TestMaximumIsWhatIsHeld(t *testing.T) {
	testserver.SkipQuick(t)
	t.Parallel() // it mostly sleeps
	const sustained = 40.0
	text := `plan: plan.yml
settings: {POOL: 3}
service: {reconfigure: "true"}
steps:
  - search: {start: 1, max: 2, trial: 400ms, warm_up: 0, width: 0.5, trials: 4}
  - confirm: {ramp: 0, hold: 2s}
  - connections: {at: maximum, warm_up: 0, duration: 500ms}
  - matrix: {cells: [{POOL: 3}, {POOL: 4}], repetitions: 1, warm_up: 0, duration: 500ms}
`
	file := files(t, text, bursting(t, 110, sustained))
	p, err := parse(file)
	if err != nil {
		t.Fatal(err)
	}
	p.Scale = 1
	dir := t.TempDir()
	o := options(dir)
	next := uint64(0)
	o.Drive = func(ctx context.Context, r Run) (*program.Outcome, error) {
		if r.Plan.First != next {
			t.Errorf("%s begins with request %d, want %d", r.Dir, r.Plan.First, next)
		}
		out, err := execute(ctx, r)
		if err == nil {
			next += out.Requests()
		}
		return out, err
	}
	c, err := Begin(p, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Run(context.Background()), c.Close()); err != nil {
		t.Fatal(err)
	}
	search, confirm := &c.results[0], &c.results[1]
	if search.Search.Bracket.Lower*100 < 2*sustained {
		t.Fatalf("the trials saw no burst: %+v", search.Search.Bracket)
	}
	held := confirm.Trial
	if held.Verdict != verdict.Pass || len(confirm.Holds) < 2 || held.N >= search.Search.Bracket.Lower {
		t.Errorf("%d holds, the last at N %g: %s %v", len(confirm.Holds), held.N, held.Verdict, held.Why)
	}
	// Over two seconds the credits add up to 55 requests per second.
	if held.LoadPerS() > sustained+55 {
		t.Errorf("%.0f/s are said to be held, %.0f/s can be", held.LoadPerS(), sustained)
	}
	if got := c.results[2].Trial.N; got != held.N {
		t.Errorf("connections are counted at N %g, not at %g that was held", got, held.N)
	}
	if got := c.results[3].Matrix.Options.N; got != held.N {
		t.Errorf("settings are compared at N %g, not at %g that was held", got, held.N)
	}
	var said strings.Builder
	look := cell.Look{Columns: 200, Language: units.English}
	if err := cell.WriteText(&said, look, c.Tables(units.English)...); err != nil {
		t.Fatal(err)
	}
	if want := "was held for 2 s"; !strings.Contains(said.String(), want) {
		t.Errorf("%q isn't said:\n%s", want, said.String())
	}
}

// If no load was held, the confirmation says so, and the next steps use the lowest load that it tried.
func TestNothingIsHeld(t *testing.T) {
	search := Result{Kind: campaignfile.StepSearch, Search: &program.SearchLog{Bracket: program.Bracket{Lower: 10}}}
	fails := func(n float64) program.Result {
		return program.Result{Trial: program.Trial{N: n}, Verdict: verdict.Fail, LastsNs: 3600e9, OfferedPerS: n * 10}
	}
	confirm := Result{Kind: campaignfile.StepConfirm, Confirms: true, Holds: []program.Result{fails(10), fails(1)}}
	confirm.Trial = &confirm.Holds[1]
	if n := maximum([]Result{search, confirm}); n != 1 {
		t.Errorf("the steps after it are at N %g", n)
	}
	want := "No load was held for 1 h, from N = 10 (100/s) down to N = 1 (10.0/s): fail."
	if got := confirm.Sentence(units.English); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
