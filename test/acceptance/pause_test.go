package acceptance_test

import (
	"encoding/base64"
	"path/filepath"
	"testing"
	"time"

	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/test/shell"
	"brunt/test/testserver"
)

// The arithmetic of a pause. At rate R for T seconds, with the server stopped from s to e within
// it: an arrival at a in between is answered at e at the earliest, so its response time is at least
// e − a. Of N = R·T arrivals the k-th longest response is therefore at least (e − s) − k/R, which
// makes the quantile q, beyond which (1 − q)·N lie, at least (e − s) − (1 − q)·T. That holds
// whatever else happens. From above the same holds with the time from when nothing waited before
// the pause until nothing waits after it, which the intervals tell, to the length of an interval.
const (
	pauseRate     = 200
	pauseDuration = 12 * time.Second
	pauseLength   = 5 * time.Second
)

func TestPauseShowsAtItsTrueSize(t *testing.T) {
	t.Parallel()
	plan := shell.File(t, "plan.yml", "queries: [{name: one, sql: select 1, weight: 1}]\n")
	for _, c := range []struct {
		name  string
		start func(testserver.TB, ...testserver.Option) *testserver.Server
		proto string
		tier  string
	}{
		{"PostgreSQL codec", testserver.Postgres, "pg", "codec"},
		{"PostgreSQL library", testserver.Postgres, "pg", "library"},
		{"Tarantool codec", testserver.Tarantool, "iproto", "codec"},
		{"Tarantool library", testserver.Tarantool, "iproto", "library"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := c.start(t)
			inTime(t, func() bool { return pauseOnce(t, of(c.proto, server), server, plan, c.tier) })
		})
	}
}

// pauseOnce runs a load, pauses its server and checks what is recorded. It is false if the machine was
// so busy that the pause didn't end within the load, or that what had waited wasn't sent within it.
func pauseOnce(t *testing.T, s stand, server *testserver.Server, plan, tier string) bool {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bundle")
	ended := make(chan outcome)
	go func() {
		ended <- brunt(t, s.with("rate", "-c", plan, "--rate", "200", "--duration", pauseDuration.String(),
			"--vu", "4", "--tier", tier, "--interval", "250ms", "--quiet", "--bundle", dir)...)
	}()
	shell.UntilIntervals(t, dir, 4)
	before := time.Now()
	server.Pause()
	stopped := time.Now()
	time.Sleep(pauseLength)
	resumed := time.Now()
	server.Resume()
	after := time.Now()
	o := <-ended
	run := readRun(t, dir)
	late := run.Total.Overdue > 0 // the verdict is then that the server wasn't fast enough
	if !judged(o.code) && !late || run.Total.OK+run.Total.Dropped != pauseRate*12 || run.Total.Failed != 0 ||
		run.Tier != tier {
		t.Fatalf("exit %d, %d succeeded, %d failed, tier %s\n%s", o.code, run.Total.OK, run.Total.Failed, run.Tier, o.err)
	}
	all := recordtest.Intervals(t, dir)
	began := time.Unix(0, all[0].UnixNs)
	if late || run.Total.Dropped > 0 || after.Sub(began) > pauseDuration-time.Second/2 {
		return false
	}
	checkPause(t, run, all, resumed.Sub(stopped), waiting(all, before, after))
	return true
}

// waiting is the time around a pause at whose ends nothing waited.
func waiting(all []measure.Interval, before, after time.Time) time.Duration {
	end := func(iv *measure.Interval) time.Time { return time.Unix(0, iv.UnixNs+iv.DurationNs()) }
	from := time.Unix(0, all[0].UnixNs)
	for i := range all {
		iv := &all[i]
		if iv.Backlog > 0 {
			continue
		}
		if end(iv).Before(before) {
			from = end(iv)
		} else if end(iv).After(after) {
			return end(iv).Sub(from)
		}
	}
	return end(&all[len(all)-1]).Sub(from)
}

// checkPause compares a run's distributions with a pause that lasted at least least, and around which
// arrivals waited for most at most.
func checkPause(t *testing.T, run *record.Run, all []measure.Interval, least, most time.Duration) {
	t.Helper()
	longest, silent := time.Duration(0), time.Duration(0)
	for i := range all {
		length := time.Duration(all[i].DurationNs())
		if longest = max(longest, length); all[i].Totals().Done == 0 {
			silent += length
		}
	}
	response := decode(t, run.Total.Response.HDR)
	lag := decode(t, run.Total.Lag.HDR)
	service := decode(t, run.Total.Service.HDR)
	const precision = 0.999 // of the histogram's buckets
	for _, q := range []float64{0.6, 0.7, 0.8, 0.9, 0.95, 0.99} {
		beyond := time.Duration((1 - q) * float64(pauseDuration))
		from := least - beyond - time.Second/pauseRate
		to := max(most-beyond, 0) + 2*longest
		got := time.Duration(response.Quantile(q))
		t.Logf("response p%g: %v, by arithmetic %v to %v", q*100, got, from, to)
		if float64(got) < precision*float64(from) || got > to {
			t.Errorf("response p%g is %v; arithmetic says %v to %v", q*100, got, from, to)
		}
		// The wait of all but the few requests that were in flight is lag.
		if got := time.Duration(lag.Quantile(q)); got > to || float64(got) < precision*float64(from-time.Second/10) {
			t.Errorf("lag p%g is %v; arithmetic says %v to %v", q*100, got, from, to)
		}
	}
	if got := time.Duration(run.Total.Response.MaxNs); got < least-2*time.Second/pauseRate {
		t.Errorf("the longest response time is %v, the pause lasted %v", got, least)
	}
	lost := time.Duration(run.Standstill.TotalNs)
	t.Logf("time lost: %v of a pause of %v at least", lost, least)
	// A server stands still from one answer to the next: through intervals without one, parts of the two
	// next to it, and of one more where an answer was taken in after its interval had ended.
	if most := silent + 3*longest*time.Duration(run.Standstill.Count); lost < least*98/100 || lost > most ||
		run.Standstill.Count == 0 {
		t.Errorf("time lost is %v in %d standstills; the pause lasted %v, intervals and what is beside them %v", lost,
			run.Standstill.Count, least, most)
	}
	// At most the 4 requests that were in flight can show the pause as service time.
	if got := service.CountAbove(int64(least) * 9 / 10); got > 4 {
		t.Errorf("%d service times are as long as the pause", got)
	}
}

func decode(t *testing.T, hdr string) *measure.Histogram {
	t.Helper()
	h := measure.NewHistogram()
	packed, err := base64.StdEncoding.DecodeString(hdr)
	if err == nil {
		err = new(measure.HDRDecoder).DecodeInto(h, packed)
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}
