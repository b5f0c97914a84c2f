package slowcooker

import (
	"fmt"
	"strings"
	"time"

	"brunt/internal/dialect/endpoints"
)

// Layout is how a release prints.
type Layout struct {
	iteration bool   // a column numbers the lines from 0
	badHash   bool   // a column counts wrong hashes
	method    bool   // the first header line names it
	goodOnly  bool   // the share counts good answers only
	share     string // the share's heading
	pad       int    // columns that the heading of the time is short of the time
	summary   string
}

// layoutOf finds a release's layout; nil if there is none. "1.2" is what the project's head prints,
// "1.2.0" the release.
func layoutOf(release string) *Layout {
	switch release {
	case "1.0":
		return &Layout{goodOnly: true, share: "good%", summary: "1.0"}
	case "1.2.0":
		return &Layout{badHash: true, method: true, share: "goal%", summary: "1.2"}
	case "1.2":
		return &Layout{iteration: true, badHash: true, method: true, share: "goal%", pad: 2, summary: "1.2"}
	}
	return nil
}

// Line is one report.
type Line struct {
	Time                          time.Time
	Iteration                     uint64
	Good, Bad, Failed             uint64
	Target                        uint64 // requests that the interval was to have
	Interval                      string
	Min, P50, P95, P99, P999, Max int64 // in the unit of latencies
	BadHash                       uint64
	Change                        string
}

// Share is the percentage of the target reached: whole per cent, at most 100.
func (y *Layout) Share(l *Line) int {
	n := l.Good + l.Bad
	if y.goodOnly {
		n = l.Good
	}
	if n >= l.Target {
		if n == 0 {
			return 0
		}
		return 100
	}
	return int(float64(n) / float64(l.Target) * 100)
}

// Format writes a line without its end.
func (y *Layout) Format(l *Line) string {
	var b strings.Builder
	b.WriteString(l.Time.Format(time.RFC3339))
	if y.iteration {
		fmt.Fprintf(&b, " %4d", l.Iteration)
	}
	fmt.Fprintf(&b, " %6d/%1d/%1d %d %3d%% %s %3d [%3d %3d %3d %4d ] %4d",
		l.Good, l.Bad, l.Failed, l.Target, y.Share(l), l.Interval, l.Min, l.P50, l.P95, l.P99, l.P999, l.Max)
	if y.badHash {
		fmt.Fprintf(&b, " %6d", l.BadHash)
	}
	return b.String() + " " + l.Change
}

// Headings writes the two lines that come before the first report at a time such as now.
func (y *Layout) Headings(o *Options, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# sending %d ", o.QPS*o.Concurrency)
	if y.method {
		b.WriteString(o.Method + " ")
	}
	fmt.Fprintf(&b, "req/s with concurrency=%d ", o.Concurrency)
	if strings.HasPrefix(o.Target, "@") {
		fmt.Fprintf(&b, "using url list %s ...\n", o.Target[1:])
	} else {
		fmt.Fprintf(&b, "to %s ...\n", endpoints.Redacted(o.URLs[0]))
	}
	times := strings.Repeat(" ", len(now.Format(time.RFC3339))-y.pad)
	intervals := strings.Repeat(" ", len(o.Interval.String())-2)
	b.WriteString("# " + times)
	if y.iteration {
		b.WriteString(" iter  ")
	}
	fmt.Fprintf(&b, " good/b/f t   %s %s min [p50 p95 p99  p999]  max ", y.share, intervals)
	if y.badHash {
		b.WriteString("bhash ")
	}
	return b.String() + "change\n"
}
