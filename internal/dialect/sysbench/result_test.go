package sysbench

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestParseResult reads the real one's output, and that of both versions from brunt.
func TestParseResult(t *testing.T) {
	s := databases(t)[1]
	args := slices.Concat([]string{"oltp_read_write"}, s.flags, []string{"--table-size=1000"})
	if p := theirs(t, append(args, "prepare")...); p.code != 0 {
		t.Fatalf("%+v", p)
	}
	eleven := append(slices.Clone(args), "--sysbench-version=1.1")
	for name, out := range map[string]string{
		"sysbench":  theirs(t, append(args, "--events=40", "--threads=2", "run")...).out,
		"brunt 1.0": ours(t, append(args, "--events=40", "--threads=2", "run")...).out,
		"brunt 1.1": ours(t, append(eleven, "--events=40", "--threads=2", "--rand-type=zipfian", "run")...).out,
	} {
		if !isResult([]byte(out), nil) {
			t.Fatalf("%s: not recognized: %s", name, out)
		}
		r, err := ParseResult([]byte(out))
		if err != nil {
			t.Fatal(err)
		}
		for _, metric := range []string{"rate", "response.avg", "response.min", "response.max", "response.p(95)"} {
			if m := r.Find(metric, ""); m == nil || m.Value <= 0 {
				t.Errorf("%s: %s: %+v", name, metric, m)
			}
		}
		if m := r.Find("count", ""); m == nil || m.Value != 40 || r.Sessions != 2 || r.LoadModel != "closed" {
			t.Errorf("%s: %+v, %d sessions, %s", name, m, r.Sessions, r.LoadModel)
		}
	}
}

func TestParseResultOfParts(t *testing.T) {
	s := settingsOf(t, Version10, "oltp_read_write", "--threads=2", "--report-interval=1", "--rate=10")
	var out bytes.Buffer
	p := printer{&out, s}
	p.mode()
	text, l, _ := printed(t, s, second{events: 10, ms: 2}, second{events: 20, errors: 1, ms: 4})
	out.WriteString(text)
	if _, err := ParseResult(out.Bytes()); err == nil || !strings.Contains(err.Error(), "ends before its report") {
		t.Errorf("without a report: %v", err)
	}
	l.p.w = &out
	f := l.figures(&l.section)
	l.p.report(&f)
	r, err := ParseResult(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if m := r.Find("rate", ""); r.LoadModel != "open" || math.Abs(m.Value-30) > 0.01 || m.Within == nil {
		t.Errorf("%s, %+v", r.LoadModel, m)
	}
	if m := r.Find("errors", ""); math.Abs(m.Value-2.0/62) > 1e-9 {
		t.Errorf("%+v", m)
	}
	if _, err := ParseResult([]byte("sysbench 1.0.20\nFATAL: no server\n")); err == nil ||
		!strings.Contains(err.Error(), "no server") {
		t.Errorf("of a failure: %v", err)
	}
}

func FuzzParseResult(f *testing.F) {
	f.Add([]byte("SQL statistics:\n    transactions:                        20     (10.00 per sec.)\nThreads fairness:\n"))
	f.Fuzz(func(_ *testing.T, text []byte) { ParseResult(text) })
}
