package slowcooker

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"brunt/internal/measure"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
)

// bench feeds slices of 1 s to a printer.
type bench struct {
	t     *testing.T
	out   strings.Builder
	lines *Lines
	c     *measure.Collector
	s     *measure.Shared
	end   int64
	now   time.Time

	warmUp bool
}

func newBench(t *testing.T, args ...string) *bench {
	b := &bench{t: t, c: measure.NewCollector(1, 1), now: time.Date(2026, 10, 25, 0, 59, 50, 0, time.UTC)}
	b.s = b.c.NewShared()
	b.lines = NewLines(parse(t, append(args, "http://a")...), &b.out, func() time.Time { return b.now })
	return b
}

// slice adds ms milliseconds with good, bad and failed requests that took tookMs each.
func (b *bench) slice(ms int64, good, bad, failed int, tookMs int64, health measure.Health) {
	b.t.Helper()
	b.now = b.now.Add(time.Duration(ms) * time.Millisecond)
	one := func(class protocol.Class, ms int64) {
		b.s.Record(&measure.Sample{Sent: ms * 1e6, End: 2 * ms * 1e6, Class: class, Attempts: 1})
		b.lines.Timed(workload.Timing{Class: class, SentNs: ms * 1e6, EndNs: 2 * ms * 1e6})
	}
	for range good {
		one(protocol.OK, tookMs)
	}
	for range bad {
		one(protocol.Server, 11*tookMs)
	}
	for range failed {
		one(protocol.Timeout, 9000)
	}
	b.s.Do(func(r *measure.Recorder) { r.Offer(uint64(good + bad + failed)) })
	b.end += ms * 1e6
	if err := b.lines.Interval(b.c.Cut(b.end, measure.Meta{Health: health, WarmUp: b.warmUp})); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) want(lines ...string) {
	b.t.Helper()
	if err := b.lines.Finish(); err != nil {
		b.t.Fatal(err)
	}
	if got, want := b.out.String(), strings.Join(lines, "\n")+"\n"; got != want {
		b.t.Errorf("\n%s\nwant\n%s", got, want)
	}
}

func TestLinesCountAnswers(t *testing.T) {
	b := newBench(t, "-qps", "10", "-interval", "2s")
	b.slice(1000, 8, 0, 2, 1, measure.Health{})
	b.slice(1000, 5, 5, 0, 1, measure.Health{})
	b.slice(1000, 10, 0, 0, 1, measure.Health{})
	b.slice(1000, 10, 0, 0, 1, measure.Health{})
	b.slice(700, 7, 0, 0, 1, measure.Health{})
	b.want(
		"2026-10-25T00:59:52Z    0     13/5/2 20  90% 2s   2 [  2  22  22   22 ]   22      0 ",
		"2026-10-25T00:59:54Z    1     20/0/0 20 100% 2s   2 [  2   2   2    2 ]    2      0 -",
		"2026-10-25T00:59:54Z    2      7/0/0 7 100% 700ms   2 [  2   2   2    2 ]    2      0 ",
	)
}

func TestServiceTimeAndUnit(t *testing.T) {
	b := newBench(t, "-qps", "2", "-interval", "1s", "-service-time", "-latencyUnit", "us")
	b.slice(1000, 1, 1, 0, 1, measure.Health{})
	b.want("2026-10-25T00:59:51Z    0      1/1/0 2 100% 1s 1000 [1000 11000 11000 11000 ] 11000      0 ")
}

// The last report of a bounded load waits for the last answers, so it has exactly the requested number.
func TestTheLastReportHasAllAnswers(t *testing.T) {
	for _, args := range [][]string{
		{"-qps", "10", "-interval", "1s", "-iterations", "2"},
		{"-qps", "10", "-interval", "1s", "-totalRequests", "20"},
		{"-qps", "10", "-interval", "1s", "-duration", "2s"},
	} {
		b := newBench(t, args...)
		b.slice(1000, 10, 0, 0, 1, measure.Health{})
		b.s.Do(func(r *measure.Recorder) { r.Offer(1) })
		b.slice(1000, 9, 0, 0, 1, measure.Health{})
		b.slice(4, 1, 0, 0, 1, measure.Health{})
		b.want(
			"2026-10-25T00:59:51Z    0     10/0/0 10 100% 1s   2 [  2   2   2    2 ]    2      0 ",
			"2026-10-25T00:59:52Z    1     10/0/0 10 100% 1s   2 [  2   2   2    2 ]    2      0 ",
		)
	}
}

func TestAGeneratorThatStoodStillSaysSo(t *testing.T) {
	b := newBench(t, "-qps", "10", "-interval", "1s")
	b.slice(1000, 10, 0, 0, 1, measure.Health{})
	b.slice(3200, 32, 0, 0, 900, measure.Health{PausedNs: 2_104_000_000})
	b.slice(800, 8, 0, 0, 1, measure.Health{})
	b.want(
		"2026-10-25T00:59:51Z    0     10/0/0 10 100% 1s   2 [  2   2   2    2 ]    2      0 ",
		"2026-10-25T00:59:54Z    1     32/0/0 32 100% 3s 1800 [1800 1800 1800 1800 ] 1800      0 ",
		"# the generator itself stood still for 2.1s in this interval (suspended, stopped or starved): its latencies are not the server's",
		"2026-10-25T00:59:55Z    2      8/0/0 8 100% 800ms   2 [  2   2   2    2 ]    2      0 ",
	)
}

// The few answers in the rest of an interval are not enough for a comparison.
func TestAShortRestOfAnIntervalHasNoMark(t *testing.T) {
	for ms, mark := range map[int64]string{5: "", 999: "", 1000: "--", 1500: "--"} {
		b := newBench(t, "-qps", "10", "-interval", "2s")
		for range 3 {
			b.slice(2000, 20, 0, 0, 300, measure.Health{})
		}
		b.slice(ms, 2, 0, 0, 1, measure.Health{})
		if err := b.lines.Finish(); err != nil {
			t.Fatal(err)
		}
		rows := strings.Split(strings.TrimSuffix(b.out.String(), "\n"), "\n")
		if last := rows[len(rows)-1]; len(rows) != 4 || last[strings.LastIndex(last, " ")+1:] != mark {
			t.Errorf("%d ms: want the mark %q in\n%s", ms, mark, b.out.String())
		}
	}
}

// Intervals count from the beginning of the load, after connecting and warm-up.
func TestIntervalsCountFromTheLoadsBeginning(t *testing.T) {
	for _, connectMs := range []int64{0, 5, 500} {
		b := newBench(t, "-qps", "20", "-interval", "2s", "-iterations", "2")
		b.c.Begin(connectMs * 1e6)
		b.end = connectMs * 1e6
		b.warmUp = true
		b.slice(300, 6, 0, 0, 1, measure.Health{})
		b.warmUp = false
		for range 3 {
			b.slice(1000, 20, 0, 0, 1, measure.Health{})
		}
		b.slice(1700, 20, 0, 0, 1, measure.Health{}) // a server that answers late
		if err := b.lines.Finish(); err != nil {
			t.Fatal(err)
		}
		rows := strings.Split(strings.TrimSpace(b.out.String()), "\n")
		for _, row := range rows {
			if len(rows) != 2 || !strings.Contains(row, " 40/0/0 40 100% 2s ") {
				t.Errorf("%d ms: %s", connectMs, b.out.String())
			}
		}
	}
}

func TestCommentsFollowTheirLine(t *testing.T) {
	b := newBench(t, "-qps", "1", "-interval", "1s")
	for range mostComments + 3 {
		b.lines.Comment("recovery")
	}
	b.slice(1000, 1, 0, 0, 1, measure.Health{})
	got := strings.Split(b.out.String(), "\n")
	if len(got) != mostComments+3 || got[1] != "# 2026-10-25T00:59:50Z recovery" || got[mostComments+1] != "# and 3 more" {
		t.Errorf("%q", got)
	}
}

// fullDisk fails all writes except the first.
type fullDisk struct{ writes int }

func (d *fullDisk) Write(b []byte) (int, error) {
	if d.writes++; d.writes > 1 && d.writes < 5 {
		return 0, errors.New("no space left on device")
	}
	return len(b), nil
}

func TestAFullDiskIsToldOfOnce(t *testing.T) {
	b := newBench(t, "-qps", "1", "-interval", "1s")
	b.lines.out = &fullDisk{}
	var told []bool
	for range 6 {
		b.end += 1e9
		told = append(told, b.lines.Interval(b.c.Cut(b.end, measure.Meta{})) != nil)
	}
	if fmt.Sprint(told) != "[false true false false false false]" {
		t.Error(told)
	}
}

// TestSummerTimeEnds checks that the zone's offset at the time of the line is printed.
func TestSummerTimeEnds(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, "-qps", "1", "-interval", "10s")
	b.now = b.now.In(zone)
	for range 20 {
		b.slice(1000, 1, 0, 0, 1, measure.Health{})
	}
	got := strings.Split(b.out.String(), "\n")
	if !strings.HasPrefix(got[0], "2026-10-25T02:00:00+01:00") && !strings.HasPrefix(got[0], "2026-10-25T02:00:00+02:00") {
		t.Error(got[0])
	}
	if !strings.HasPrefix(got[1], "2026-10-25T02:00:10+01:00") {
		t.Error(got[1])
	}
}

func TestCompatP999IsTheMaximum(t *testing.T) {
	for args, want := range map[string]string{"": "   2 ] 1800", "-compat": "1800 ] 1800"} {
		b := newBench(t, append(strings.Fields(args), "-qps", "2001", "-interval", "1s")...)
		for range 2000 {
			b.s.Record(&measure.Sample{End: 2e6, Attempts: 1})
		}
		b.slice(1000, 1, 0, 0, 900, measure.Health{})
		if !strings.Contains(b.out.String(), want) {
			t.Errorf("%q: %s", args, b.out.String())
		}
	}
}

// The planned requests of all intervals add up to those of the load, also if an interval has no whole number of them.
func TestPlannedRequestsAddUp(t *testing.T) {
	b := newBench(t, "-qps", "5", "-interval", "1500ms")
	for range 4 {
		b.slice(500, 2, 0, 0, 1, measure.Health{})
		b.slice(500, 3, 0, 0, 1, measure.Health{})
		b.slice(500, 2, 0, 0, 1, measure.Health{})
	}
	var planned []string
	for line := range strings.Lines(b.out.String()) {
		planned = append(planned, strings.Fields(line)[3])
	}
	if got := strings.Join(planned, " "); got != "8 7 8 7" {
		t.Errorf("planned %s of 30, want 8 7 8 7", got)
	}
}
