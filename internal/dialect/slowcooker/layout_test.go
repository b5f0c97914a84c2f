package slowcooker

import (
	"strings"
	"testing"
	"time"
)

func parse(t *testing.T, args ...string) *Options {
	t.Helper()
	o, err := Parse(args, strings.NewReader(""), "")
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// The lines were printed by releases of slow_cooker. Those of 1.0.0 are from Buoyant's article about it, the others
// from runs against a small server.
func TestFormat(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct {
		layout string
		line   Line
		want   string
	}{
		{"1.0", Line{Time: at("2016-10-12T20:34:20Z"), Good: 4990, Target: 5000, Interval: "10s", P50: 1, P95: 3, P99: 4,
			P999: 9, Max: 9},
			"2016-10-12T20:34:20Z   4990/0/0 5000  99% 10s   0 [  1   3   4    9 ]    9 "},
		{"1.0", Line{Time: at("2016-11-14T20:58:43Z"), Good: 1709, Target: 5000, Interval: "10s", P50: 1, P95: 6987,
			P99: 6987, P999: 6987, Max: 6985, Change: "+++"},
			"2016-11-14T20:58:43Z   1709/0/0 5000  34% 10s   0 [  1 6987 6987 6987 ] 6985 +++"},
		{"1.2", Line{Time: at("2026-11-21T21:48:58Z"), Good: 8, Target: 10, Interval: "1s", P50: 1, P95: 8, P99: 8, P999: 8,
			Max: 8, Change: "+"},
			"2026-11-21T21:48:58Z    0      8/0/0 10  80% 1s   0 [  1   8   8    8 ]    8      0 +"},
		{"1.2", Line{Time: at("2026-11-21T21:48:59+05:45"), Iteration: 1, Good: 9, Bad: 3, Failed: 2, Target: 10,
			Interval: "1s", P95: 1, P99: 1, P999: 1, Max: 1, BadHash: 7},
			"2026-11-21T21:48:59+05:45    1      9/3/2 10 100% 1s   0 [  0   1   1    1 ]    1      7 "},
		{"1.2.0", Line{Time: at("2026-11-21T21:48:59Z"), Iteration: 1, Good: 12, Target: 10, Interval: "1s", P95: 1, P99: 1,
			P999: 1, Max: 1},
			"2026-11-21T21:48:59Z     12/0/0 10 100% 1s   0 [  0   1   1    1 ]    1      0 "},
	} {
		if got := layoutOf(c.layout).Format(&c.line); got != c.want {
			t.Errorf("%s:\n%q, want\n%q", c.layout, got, c.want)
		}
	}
}

func TestShare(t *testing.T) {
	line := Line{Good: 60, Bad: 39, Failed: 100, Target: 100}
	if got := layoutOf("1.0").Share(&line); got != 60 {
		t.Errorf("1.0: %d", got)
	}
	if got := layoutOf("1.2").Share(&line); got != 99 {
		t.Errorf("1.2: %d", got)
	}
	if got := layoutOf("1.2").Share(&Line{}); got != 0 {
		t.Errorf("nothing: %d", got)
	}
}

func TestHeadings(t *testing.T) {
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-layout", "1.0", "-qps", "50", "-concurrency", "10", "http://perf-target-2:8080"},
			"# sending 500 req/s with concurrency=10 to http://perf-target-2:8080 ...\n" +
				"#                      good/b/f t   good%   min [p50 p95 p99  p999]  max change\n"},
		{[]string{"-qps", "5", "-concurrency", "2", "-interval", "1s", "http://127.0.0.1:18999/"},
			"# sending 10 GET req/s with concurrency=2 to http://127.0.0.1:18999/ ...\n" +
				"#                    iter   good/b/f t   goal%  min [p50 p95 p99  p999]  max bhash change\n"},
		{[]string{"-layout", "1.2.0", "-method", "PUT", "-interval", "1s", "http://u:secret@h/"},
			"# sending 1 PUT req/s with concurrency=1 to http://***@h/ ...\n" +
				"#                      good/b/f t   goal%  min [p50 p95 p99  p999]  max bhash change\n"},
	} {
		o := parse(t, c.args...)
		if got := o.Layout.Headings(o, now); got != c.want {
			t.Errorf("%v:\n%s\nwant\n%s", c.args, got, c.want)
		}
	}
}

// TestChange compares marks with the results of slow_cooker's own function.
func TestChange(t *testing.T) {
	for _, c := range []struct {
		before []int64
		p99    int64
		want   string
	}{
		{nil, 50, ""}, {[]int64{0, 0, 0, 0, 0}, 0, ""}, {[]int64{0, 0, 0, 0, 0}, 9, "+"}, {[]int64{5, 5}, 0, "-"},
		{[]int64{6, 3, 3, 0, 0}, 6987, "+++"}, {[]int64{6, 3, 3, 6987, 0}, 2, "--"}, {[]int64{10}, 99, ""},
		{[]int64{10}, 100, "+"},
		{[]int64{1000}, 100, "-"}, {[]int64{1}, 1_000_000, "+++"}, {[]int64{1_000_000}, 1, "---"},
	} {
		if got := markOf(c.before, c.p99); got != c.want {
			t.Errorf("%v then %d: %q, want %q", c.before, c.p99, got, c.want)
		}
	}
	ours, theirs := changeColumn{}, changeColumn{zeros: true}
	var a, b []string
	for _, p99 := range []int64{5, 5, 5, 5, 5, 5, 500, 5} {
		a, b = append(a, ours.next(p99)), append(b, theirs.next(p99))
	}
	if got := strings.Join(a, ","); got != ",,,,,,++,-" {
		t.Errorf("ours %q", got)
	}
	if got := strings.Join(b, ","); got != "+,,,,,,++,-" {
		t.Errorf("theirs %q", got)
	}
}
