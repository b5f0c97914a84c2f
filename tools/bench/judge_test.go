package main

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestJudge(t *testing.T) {
	g := group{goals: []goal{
		{work: "a", ours: "o", peer: "p", ratio: 0.5},
		{work: "b", ours: "o", peer: "p", ratio: 0.4, lagP99Us: 35, tail: true},
		{work: "c", ours: "o", peer: "gone", ratio: 0.5},
		{work: "d", ours: "o", lagP99Us: 60},
		{work: "e", ours: "p", peer: "o", tail: true},
		{work: "f", ours: "o", peer: "p"},
	}}
	results := map[string][]sample{
		"o": {{Round: 1, CPUUs: 4, LagP99Us: 50, P99Us: 9}, {Round: 2, CPUUs: 6, LagP99Us: 50, P99Us: 9},
			{Round: 3, CPUUs: 5, Fault: "broke"}},
		"p":    {{Round: 1, CPUUs: 10, P99Us: 8}, {Round: 2, CPUUs: 12, P99Us: 8}, {Round: 3, CPUUs: 1}},
		"gone": {{Fault: "gone isn't there"}},
	}
	lines := judge(&g, results)
	if l := lines[0]; math.Abs(median(l.ratios)-0.45) > 1e-9 || math.Abs(slices.Min(l.ratios)-0.4) > 1e-9 ||
		math.Abs(slices.Max(l.ratios)-0.5) > 1e-9 || l.oursUs != 5 || l.fault != "broke" {
		t.Errorf("%+v", l)
	}
	for i, want := range []string{"yes", "no: CPU, lag, p99", "not measured", "yes", "yes", "–"} {
		if got := lines[i].reached(); got != want {
			t.Errorf("%s: %q, want %q", lines[i].work, got, want)
		}
	}
	var b bytes.Buffer
	printTable(&b, lines)
	for _, want := range []string{"0.45 (0.40–0.50)", "≤ 0.40, lag ≤ 35 µs, p99 ≤ peer's", "gone isn't there"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
}

func TestRowsRestOnQuietRounds(t *testing.T) {
	g := group{goals: []goal{{work: "a", ours: "o", peer: "p", ratio: 0.5}}}
	results := make(map[string][]sample)
	for round, ratio := range []float64{9, 0.4, 9, 0.5, 9} {
		noisy := round%2 == 0
		results["o"] = append(results["o"], sample{Round: round + 1, CPUUs: ratio, Quiet: !noisy})
		results["p"] = append(results["p"], sample{Round: round + 1, CPUUs: 1, Quiet: true})
	}
	if l := judge(&g, results)[0]; median(l.ratios) != 9 || l.basis() != "5, noisy" || g.quietEnough(results, 3) {
		t.Errorf("two quiet rounds: %v, %s", median(l.ratios), l.basis())
	}
	results["o"] = append(results["o"], sample{Round: 6, CPUUs: 0.6, Quiet: true})
	results["p"] = append(results["p"], sample{Round: 6, CPUUs: 1, Quiet: true})
	if l := judge(&g, results)[0]; median(l.ratios) != 0.5 || slices.Max(l.ratios) != 0.6 || l.basis() != "3 of 6" ||
		!g.quietEnough(results, 3) || g.quietEnough(results, 4) {
		t.Errorf("three quiet rounds: %v, %v, %s", median(l.ratios), slices.Max(l.ratios), l.basis())
	}
	results["p"] = []sample{{Fault: "not there"}}
	if !g.quietEnough(results, 3) {
		t.Error("waits for rounds of a client that isn't there")
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		of   []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 4}, 4}, {[]float64{4, 1, 9, 2}, 3}} {
		if got := median(c.of); got != c.want {
			t.Errorf("%v: %v, want %v", c.of, got, c.want)
		}
	}
}

func TestArrivalsAgainstTheirSchedule(t *testing.T) {
	var at []int64
	for i := range int64(1000) {
		at = append(at, 5_000_000+i*1000) // a million a second
	}
	at[500] += 900 // late, but before the next request
	if got := against(at, 1_000_000); got.Requests != 1000 || got.P50Us != 0 || got.P99Us != 0 || got.MaxUs != 0.9 {
		t.Errorf("%+v", got)
	}
	for i := range at {
		at[i] = int64(i)*100_000 + int64(i%2)*40_000 // ten thousand a second
	}
	if got := against(at, 10_000); got.P50Us != 40 && got.P50Us != 0 || got.P99Us != 40 {
		t.Errorf("every second request was 40 µs late: %+v", got)
	}
	if got := against(nil, 10); got.Requests != 0 {
		t.Errorf("%+v", got)
	}
}

func TestPeersNumbers(t *testing.T) {
	const wrk = "  Latency Distribution\n     50%  262.00us\n     75%    1.50ms\n     90%    2.50ms\n     99%    6.43ms\n  123456 requests in 4.00s, 98MB read\n"
	if got := wrkTime(`50(?:\.000)?%\s+(\S+)`, wrk); got != 262 {
		t.Errorf("p50 %v", got)
	}
	if got := wrkTime(`\b99(?:\.000)?%\s+(\S+)`, wrk); got != 6430 {
		t.Errorf("p99 %v", got)
	}
	if got := wrkTime(`\b99(?:\.000)?%\s+(\S+)`, " 99.000%    1.25s \n 99.900%  2.00s"); got != 1.25e6 {
		t.Errorf("p99 %v", got)
	}
	if got := find(`(\d+) requests in `, wrk); got != 123456 {
		t.Errorf("%d requests", got)
	}
	if got := find(`(\d+) transactions`, wrk); got != 0 {
		t.Errorf("%d of what isn't there", got)
	}
	p := sample{Requests: 1000}
	if err := p.charge(&outcome{user: 2 * time.Millisecond, sys: 3 * time.Millisecond, wall: time.Second}); err != nil ||
		math.Abs(p.CPUUs-5) > 1e-9 {
		t.Errorf("%+v, %v", p, err)
	}
	if err := (&sample{}).charge(&outcome{}); err == nil {
		t.Error("charged nothing with CPU")
	}
}

func TestStolenTime(t *testing.T) {
	for text, want := range map[string]float64{
		"cpu  1142380 21846 462663 1720903 22825 0 84212 137096 0 0\ncpu0 1 2 3 4 5 6 7 8\n": 1370.96,
		"cpu  1 2 3\n": 0, "": 0,
	} {
		if got := stolenOf(text); math.Abs(got-want) > 1e-9 {
			t.Errorf("%q: %v s, want %v", text, got, want)
		}
	}
}

func TestPlansHaveTheirDuration(t *testing.T) {
	entries, err := plans.ReadDir("plans")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := plans.ReadFile("plans/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		if closed := strings.Contains(string(text), "closed: {duration: 5s}"); closed == (e.Name() == "accounts.yml") {
			t.Errorf("%s: a load of 5 s: %v", e.Name(), closed)
		}
	}
}

func TestOlderBuilds(t *testing.T) {
	g := group{name: "redis-get", goals: []goal{{ours: "brunt", peer: "redis-benchmark"}}}
	clients := g.withOlder([]client{{name: "brunt", older: []client{{name: "brunt, old"}}}, {name: "redis-benchmark"}})
	var names []string
	for _, c := range clients {
		names = append(names, c.name)
	}
	if want := []string{"brunt", "brunt, old", "redis-benchmark"}; !slices.Equal(names, want) {
		t.Errorf("clients: %q, want %q", names, want)
	}
	if len(g.goals) != 2 {
		t.Fatalf("%d goals, want 2", len(g.goals))
	}
	if last := g.goals[1]; last.ours != "brunt" || last.peer != "brunt, old" || last.ratio != slowerThanOlder {
		t.Errorf("the goal for the older build: %+v", last)
	}
}
