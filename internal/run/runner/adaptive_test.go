package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/internal/load/control"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile"
	"brunt/internal/record"
	"brunt/internal/server/target"
)

// adaptivePlan returns a plan with an adaptive load of one second on an HTTP handler.
func adaptivePlan(t *testing.T, tier, keys string, length time.Duration, handler http.HandlerFunc) *plan.Plan {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	p, err := planfile.Read("x.yml", fmt.Appendf(nil, `
target: {protocol: http, addresses: ["%s"]}
sessions: 4
interval: 50ms
tier: %s
queries: [{name: get, http: /, weight: 1}]
load: [{adaptive: {duration: %s, max: 400, %s}}]
`, strings.TrimPrefix(server.URL, "http://"), tier, length, keys))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// decisions runs an adaptive load and returns what was decided, after checking that the record is consistent.
func decisions(t *testing.T, p *plan.Plan) (all []measure.Control) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if _, err := Run(context.Background(), nil, p, Options{Recording: Recording{Dir: dir}}); err != nil {
		t.Fatal(err)
	}
	b, err := record.Open(record.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Intervals(func(iv *measure.Interval) error {
		if iv.Control != nil && !iv.Drain {
			all = append(all, *iv.Control)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	run := b.Run
	if len(all) < 2 || all[0].Reason != string(control.Start) {
		t.Fatalf("decisions %+v", all)
	}
	a := run.Phases[0].Adaptive
	if a == nil || a.Decisions < len(all) || a.RatePerS <= 0 { // intervals are combined while the disk is busy
		t.Errorf("the record says %+v of %d decisions", a, len(all))
	}
	due := run.Phases[0].Offered
	if sum := run.Total.Counts.Done + run.Total.Counts.Dropped + run.Total.Counts.Unfinished; sum != due {
		t.Errorf("%d arrivals fell due, and %d have a fate", due, sum)
	}
	return all
}

func TestAdaptiveLoads(t *testing.T) {
	well := func(http.ResponseWriter, *http.Request) {}
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"0.9"]}]}}`)
	}))
	t.Cleanup(busy.Close)
	for _, c := range []struct {
		name    string
		keys    string
		handler http.HandlerFunc
		comesTo float64 // expected rate
		reason  control.Reason
	}{
		{"far below its goal", `start: 300, goal: "response.p(50) < 10s"`, well, 400, control.AtMost},
		{"as much as possible", `start: 300, method: aimd, goal: "errors < 1%"`, well, 400, control.AtMost},
		{"everything fails", `start: 60, min: 20, goal: "response.p(50) < 10s"`,
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, 20, control.Errors},
		{"what is watched is beyond its goal",
			"start: 60, min: 20, watch: 'query:" + busy.URL + "?up', metric: value, at: 0.1", well, 20, control.AtLeast},
	} {
		for _, tier := range []string{"codec", "library"} {
			t.Run(c.name+", "+tier, func(t *testing.T) {
				t.Parallel()
				// A busy machine can stall a short load so long that few decisions are taken.
				for _, length := range []time.Duration{time.Second, 3 * time.Second, 10 * time.Second, 30 * time.Second} {
					all := decisions(t, adaptivePlan(t, tier, c.keys, length, c.handler))
					came := slices.ContainsFunc(all, func(d measure.Control) bool { return d.RatePerS == c.comesTo })
					decided := slices.ContainsFunc(all, func(d measure.Control) bool { return d.Reason == string(c.reason) })
					if came && decided {
						return
					}
					t.Logf("in %s: rate %g reached: %t, reason %q given: %t: %+v", length, c.comesTo, came, c.reason, decided, all)
				}
				t.Error("no load came to its rate for its reason")
			})
		}
	}
}

func TestAdaptiveLoadsRefuse(t *testing.T) {
	none := httptest.NewServer(http.NotFoundHandler())
	defer none.Close()
	for _, c := range []struct {
		name string
		keys string
		part schedule.Part
		says string
	}{
		{"a part of the load", `goal: "response.p(50) < 10s"`, schedule.Part{Of: 2, Takes: []uint64{1}}, "--part"},
		{"a process that isn't there", `watch: "pid:99999999", metric: rss_bytes, at: 5`, schedule.Part{}, "pid:99999999"},
		{"a metric that isn't there", fmt.Sprintf(`watch: "pid:%d", metric: rss_byte, at: 5`, os.Getpid()), schedule.Part{},
			"did you mean rss_bytes"},
		{"a query that fails", `watch: "query:` + none.URL + `?up", metric: value, at: 5`, schedule.Part{}, "404"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := adaptivePlan(t, "auto", c.keys, time.Second,
				func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
			_, err := Run(context.Background(), nil, p, Options{Part: c.part, Recording: Recording{None: true}})
			var u *target.UsageError
			if !errors.As(err, &u) {
				t.Fatalf("%v is no error of the plan", err)
			}
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v doesn't say %q", err, c.says)
			}
		})
	}
}
