package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestRatiosToGoYCSB(t *testing.T) {
	read, load := &contest{work: "reads"}, &contest{work: "load", load: true}
	results := map[string][]sample{
		oursName: {{Round: 1, PerS: 150, CPUUs: 7}, {Round: 2, PerS: 180, CPUUs: 6},
			{Round: 3, PerS: 1, CPUUs: 1, Fault: "broke"}},
		peerName:     {{Round: 1, PerS: 100, CPUUs: 10}, {Round: 2, PerS: 90, CPUUs: 10}, {Round: 3, PerS: 100, CPUUs: 10}},
		oneByOneName: {{Round: 1, PerS: 110, CPUUs: 7}, {Round: 2, PerS: 90, CPUUs: 7}},
	}
	of := func(c *contest) []line { return judge(&group{goals: c.goals()}, results) }
	lines := append(of(read), of(load)...)
	if len(lines) != 3 {
		t.Fatalf("%+v", lines)
	}
	for i, want := range []string{"no: CPU", "yes", "no: rate"} {
		if got := lines[i].reached(); got != want {
			t.Errorf("%s, %s: %q, want %q", lines[i].work, lines[i].ours, got, want)
		}
	}
	if l := lines[0]; l.oursPS != 165 || l.peerPS != 95 || l.oursUs != 6.5 || l.fault != "broke" {
		t.Errorf("%+v", l)
	}
	var b bytes.Buffer
	printRates(&b, lines)
	for _, want := range []string{"1.75 (1.50–2.00)", "0.65 (0.60–0.70)", "rate ≥ 1.0, CPU ≤ 0.60", "rate ≥ 1.5",
		"reads, go-ycsb: broke"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
	if l := (&line{goal: read.goals()[0]}); l.reached() != "not measured" {
		t.Errorf("nothing measured: %s", l.reached())
	}
}

func TestEachContestAsksBothTheSame(t *testing.T) {
	names := ""
	for _, c := range contests("go-ycsb", 1000) {
		names += " " + c.name
		args := strings.Join(c.args("run"), " ")
		if c.load {
			args = strings.Join(c.args("load"), " ")
		}
		if want := "recordcount=1000"; c.load && !strings.Contains(args, want) {
			t.Errorf("%s lacks %s: %s", c.name, want, args)
		}
		if strings.HasSuffix(args, "dropdata=false") == c.load {
			t.Errorf("%s: %s", c.name, args)
		}
	}
	if want := " pg-c-16 pg-c-50 pg-load redis-c-16 redis-c-50 redis-load etcd-c-16 etcd-c-50"; names != want {
		t.Errorf("%s, want%s", names, want)
	}
}
