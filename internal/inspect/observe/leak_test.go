package observe

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/internal/record"
)

// recorded is a run in testdata/rss. Each line is one second, with the time in ns, the resident memory in bytes, and
// the number of threads of a server under a load of 50 to 150 requests per second without warm-up. The server is Go's
// net/http, which encodes fifty rows as JSON per request. In the leaking runs it keeps 2048 bytes (leak-150s) or 1024
// bytes (leak-420s) of each request.
type recorded struct {
	ns           int64
	rss, threads float64
}

func readRSS(t *testing.T, name string) (out []recorded) {
	t.Helper()
	f, err := os.Open("testdata/rss/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var r recorded
		if _, err := fmt.Sscan(lines.Text(), &r.ns, &r.rss, &r.threads); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// judged returns the trends of memory and of threads in a part of a recorded run.
func judged(samples []recorded) (rss, threads *record.Trend) {
	s := &watched{source: fake(nil), log: &logFile{}}
	for _, r := range samples {
		s.source = fake(func(context.Context) (Sample, error) {
			return Sample{{Metric: metricRSS, Value: r.rss}, {Metric: metricThreads, Value: r.threads}}, nil
		})
		s.sample(context.Background(), tick{endNs: r.ns}, func() time.Time { return time.Unix(0, r.ns) })
	}
	s.log = nil
	w := NewWatcher(nil, nil)
	w.watched = []*watched{s}
	out, _ := w.Finish()
	return out[0].Metrics[0].Trend, out[0].Metrics[1].Trend
}

// A steady server grows for a while after it starts under load. No part of its run is judged as a leak, for any length
// and any beginning.
func TestASteadyServerIsNeverALeak(t *testing.T) {
	for _, name := range []string{"steady-120s", "steady-420s"} {
		all := readRSS(t, name)
		for from := 0; from < len(all); from += 10 {
			for to := from + fewestSamples; to <= len(all); to += 10 {
				rss, threads := judged(all[from:to])
				if rss.Verdict == record.TrendLeak || threads.Verdict == record.TrendLeak {
					t.Errorf("%s from %d s to %d s: memory %+v, threads %+v", name, from, to, rss, threads)
				}
			}
		}
	}
}

// A run that is too short says so, even if it contains a leak.
func TestAShortRunIsNotJudged(t *testing.T) {
	for _, name := range []string{"steady-120s", "leak-150s"} {
		rss, _ := judged(readRSS(t, name))
		if rss.Verdict != record.TrendUnjudged || !strings.Contains(rss.Why.String(), "180 are needed") {
			t.Errorf("%s: %+v", name, rss)
		}
	}
}

// A server that keeps 100 KB per second is judged as a leak in every run of three minutes or more, from its start or
// later.
func TestALeakingServerIsALeak(t *testing.T) {
	all := readRSS(t, "leak-420s")
	for from := 0; from < len(all); from += 20 {
		for to := from + 190; to <= len(all); to += 20 {
			rss, threads := judged(all[from:to])
			if rss.Verdict != record.TrendLeak || threads.Verdict == record.TrendLeak {
				t.Errorf("from %d s to %d s: memory %+v, threads %+v", from, to, rss, threads)
			}
			if grows := rss.PerHour / 3600; grows < 50e3 || grows > 400e3 {
				t.Errorf("from %d s to %d s: %.0f bytes a second", from, to, grows)
			}
		}
	}
}

// Significant but small growth is no leak. The same growth is a leak once it reaches the minimum.
func TestTheLeastGrowth(t *testing.T) {
	grow := func(unit string, bySample float64) string {
		m := metricFiles
		if unit == Bytes {
			m = metricRSS
		}
		return feed(t, 600, func(i int) Sample {
			return Sample{{Metric: m, Value: 20 + bySample*float64(i)}}
		}).Metrics[0].Trend.Verdict
	}
	for _, c := range []struct {
		unit  string
		total float64
		want  string
	}{
		{Bytes, 0.9 * fewestBytes, record.TrendSteady}, {Bytes, 1.1 * fewestBytes, record.TrendLeak},
		{Count, 0.9 * fewestThings, record.TrendSteady}, {Count, 1.1 * fewestThings, record.TrendLeak},
	} {
		if got := grow(c.unit, c.total/600); got != c.want {
			t.Errorf("%s that grow by %g in ten minutes: %s, want %s", c.unit, c.total, got, c.want)
		}
	}
}

// The recorded runs have the properties that their names say.
func TestTheRecordedRuns(t *testing.T) {
	steady, leak := readRSS(t, "steady-420s"), readRSS(t, "leak-420s")
	most := func(v []recorded) float64 {
		return slices.MaxFunc(v, func(a, b recorded) int { return int(a.rss - b.rss) }).rss
	}
	if len(steady) < 400 || len(leak) < 400 || most(steady) > 20e6 || most(leak) < 50e6 {
		t.Errorf("%d samples up to %.0f bytes, %d up to %.0f", len(steady), most(steady), len(leak), most(leak))
	}
}
