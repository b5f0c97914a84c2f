package inspect

import (
	"math"
	"testing"
	"time"

	"brunt/internal/record"
)

func TestActivityPointsAreJoined(t *testing.T) {
	a := NewActivity()
	for k := range 3*mostPoints + 7 {
		a.point(0, map[string]float64{"CPU": float64(k % 2)})
	}
	n, sum := 0, 0.0
	for _, p := range a.points {
		n += p.Samples
		sum += p.Classes["CPU"] * float64(p.Samples)
	}
	if len(a.points) > mostPoints || n != 3*mostPoints+7 || math.Abs(sum-float64(n/2)) > 1e-6 {
		t.Errorf("%d points of %d samples, %v", len(a.points), n, sum)
	}
}

// A session that works for half of the time is seen in most of the samples, because these are closer together while it
// works. Its mean doesn't depend on that.
func TestSamplesCountByTheTimeBetweenThem(t *testing.T) {
	a := NewActivity()
	at := time.Duration(0)
	for second := range 10 {
		end := time.Duration(second+1) * time.Second
		for at < end {
			s := Session{Application: "shop", Count: 1, Query: "7"}
			if at < end-time.Second/2 {
				s.State, s.Class = Active, "Lock"
				at += samplePeriod / 2
			} else {
				at += restPeriod
			}
			a.Add(int64(at), []Session{s})
			if got := a.AtWork(); got != (s.State == Active) {
				t.Errorf("at work: %v", got)
			}
			if s.State == Active {
				a.Block(record.Blocking{Waiting: "update"})
			}
		}
	}
	out := a.Record(func(string) bool { return false })
	c := out.Clients[0]
	if out.Samples != 60 || !near(c.ActiveMean, 0.5) || !near(c.AllActive, 0.5) || !near(c.Mean, 1) ||
		!near(out.Waits[0].Mean, 0.5) || out.Waits[0].Share != 1 || !near(out.Blocked[0].Mean, 0.5) {
		t.Errorf("%+v", out)
	}
	seen := a.Executing("7")[[2]string{"Lock", ""}]
	if seen.Sessions != 50 || !near(seen.Seconds, 5) || !near(a.Seconds(), 10) {
		t.Errorf("%+v in %v s", seen, a.Seconds())
	}
}

func near(x, want float64) bool { return math.Abs(x-want) < 1e-9 }

// After a gap, a sample doesn't stand for all of it.
func TestGapsCountForLittle(t *testing.T) {
	a := NewActivity()
	for _, at := range []time.Duration{samplePeriod, 2 * samplePeriod, time.Minute, time.Minute} {
		a.Add(int64(at), nil)
	}
	if want := (2*samplePeriod + restPeriod + leastWeight).Seconds(); !near(a.Seconds(), want) {
		t.Errorf("%v, want %v", a.Seconds(), want)
	}
}
