package wrk

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"brunt/internal/measure"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
)

func TestUnits(t *testing.T) {
	for got, want := range map[string]string{
		formatUs(635.914):         "635.91us",
		formatUs(849.9):           "849.90us",
		formatUs(850):             "0.85ms",
		formatUs(999999):          "1000.00ms",
		formatUs(30e6):            "30.00s",
		formatUs(60e6):            "1.00m",
		formatMetric(56204):       "56.20k",
		formatMetric(84):          "84.00",
		formatBinary(17.76 * 1e9): "16.54G",
		seconds(30 * time.Second): "30s",
		seconds(2 * time.Minute):  "2m",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for text, want := range map[string]time.Duration{"30": 30 * time.Second, "2m": 2 * time.Minute, "1H": time.Hour,
		"5s": 5 * time.Second} {
		if d, err := scanTime(text); err != nil || d != want {
			t.Errorf("%s: %v, %v", text, d, err)
		}
	}
	for _, text := range []string{"", "x", "1d", "-1", "1.5", "1e3"} {
		if _, err := scanTime(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// Values with their mean, deviation and percentiles computed by hand.
func TestStats(t *testing.T) {
	s := NewStats()
	for _, v := range []int64{2, 4, 4, 4, 5, 5, 7, 9} {
		s.Add(v, 1)
	}
	if s.Mean() != 5 || math.Abs(s.Stdev()-2.13809) > 1e-5 || s.Within() != 75 || s.Percentile(50) != 5 ||
		s.Percentile(90) != 9 || s.Least != 2 || s.Most != 9 || s.Distinct() != 5 {
		t.Errorf("%v %v %v %v %v", s.Mean(), s.Stdev(), s.Within(), s.Percentile(50), s.Percentile(90))
	}
	if v, n := s.At(1); v != 4 || n != 3 {
		t.Error(v, n)
	}
	// A wait of 100 hides requests at 70 and 40, if one is expected every 30.
	s = NewStats()
	s.Add(100, 2)
	s.Add(10, 1)
	s.Correct(30)
	if s.Count() != 7 || s.Percentile(60) != 70 {
		t.Errorf("%d %v", s.Count(), s.counts)
	}
}

// The least and the greatest value are among the values, though a histogram's buckets are wider than a microsecond.
func TestStatsOfAHistogram(t *testing.T) {
	for _, values := range [][]int64{{7_001_000}, {7_001_000, 7_003_000}, {7_001_000, 7_001_000, 7_003_000, 9_999_000},
		{1_000, 7_001_000, 900_001_000, 900_003_000}} {
		var h measure.Histogram
		for _, v := range values {
			h.Record(v)
		}
		s := NewStats()
		s.AddNs(&h)
		least, _ := s.At(0)
		most, _ := s.At(s.Distinct() - 1)
		if s.Count() != uint64(len(values)) || least != values[0]/1000 || least != s.Least ||
			most != values[len(values)-1]/1000 || most != s.Most {
			t.Errorf("%v: %d values, from %d (%d) to %d (%d): %v", values, s.Count(), least, s.Least, most, s.Most, s.counts)
		}
	}
}

func TestParse(t *testing.T) {
	o, err := Parse("wrk", strings.Fields("-t3 -c 10 -d2m --latency http://127.0.0.1:1/a?b -T 5 -- x y"))
	if err != nil || o.Threads != 3 || o.Connections != 9 || o.Asked != 10 || o.Duration != 2*time.Minute || !o.Latency ||
		o.Timeout != 5*time.Second || strings.Join(o.Args, " ") != "http://127.0.0.1:1/a?b x y" {
		t.Errorf("%+v, %v", o, err)
	}
	for line, want := range map[string]string{
		"":                          "usage",
		"-t 0 http://a/":            "usage",
		"-c 1 http://a/":            "number of connections must be >= threads",
		"ftp://a/":                  "invalid URL: ftp://a/",
		"-x http://a/":              "wrk: invalid option -- 'x'",
		"-d x http://a/":            "wrk: -d x: not a number",
		"-H X:1 http://a/":          "with a blank after the colon",
		"-s /nowhere.lua http://a/": "cannot open /nowhere.lua: no such file",
	} {
		if _, err := Parse("wrk", strings.Fields(line)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
	for _, password := range []string{`s3c"ret`, "s3c ret"} {
		if _, err := Parse("wrk", []string{"http://u:" + password + "@h/"}); err == nil ||
			strings.Contains(err.Error(), "s3c") || strings.Contains(err.Error(), "ret") {
			t.Errorf("a password that can't be in a URL: %v", err)
		}
	}
	if _, err := Parse("wrk2", strings.Fields("http://a/")); err == nil || !strings.Contains(err.Error(), "Throughput") {
		t.Error(err)
	}
}

// compiled returns the program of a script for two threads.
func compiled(t *testing.T, text string) (*Program, error) {
	t.Helper()
	p, err := Language{}.Compile(&script.Source{Options: map[string]string{"url": "http://127.0.0.1:8080/p?q",
		"threads": "2", "file": "x.lua", "header1": "X-A: 1", "arg1": "one"},
		Operations: []script.Operation{{Text: text}}})
	if err != nil {
		return nil, err
	}
	return p.(*Program), nil
}

// sent returns the requests that a script sends over one connection, each answered with status 200.
func sent(t *testing.T, text string, n int) (requests []string, printed string) {
	t.Helper()
	p, err := compiled(t, text)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	p.Out = &out
	s := p.Session(1)
	for i := range n {
		step := s.Begin(0, uint64(i))
		if step.Move != script.Send {
			t.Fatalf("%+v", step)
		}
		requests = append(requests, string(step.Args[0].B))
		r := &protocol.Reply{Status: 200}
		r.Captured = step.Args[:0]
		s.Answered(r)
	}
	return requests, out.String()
}

func TestRequests(t *testing.T) {
	plain := "GET /p?q HTTP/1.1\r\nX-A: 1\r\nHost: 127.0.0.1:8080\r\n\r\n"
	for name, c := range map[string]struct{ text, want, printed string }{
		"static": {"wrk.method = 'POST'; wrk.body = 'ab'",
			"POST /p?q HTTP/1.1\r\nX-A: 1\r\nHost: 127.0.0.1:8080\r\nContent-Length: 2\r\n\r\nab", ""},
		"byte order mark": {"\ufeffwrk.path = '/b'", "GET /b HTTP/1.1\r\nX-A: 1\r\nHost: 127.0.0.1:8080\r\n\r\n", ""},
		"wrk.request":     {"function request() return wrk.request() end", plain, ""},
		"counter":         {"n = 0; function request() n = n + 1; return wrk.format(nil, '/' .. n, {Host = 'h'}) end", "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n", ""},
		"args":            {"function init(a) print(a[0], a[1], #a) end", plain, "http://127.0.0.1:8080/p?q\tone\t1\nhttp://127.0.0.1:8080/p?q\tone\t1\n"},
		"setup": {"local n = 0; function setup(t) n = n + 1; t:set('id', n); t:set('l', {a = {1}}) end " +
			"function init() io.write(id, l.a[1], ' ') end", plain, "11 21 "},
		"format": {"function init() print(string.format('%5.1f|%d|%s', 1.25, 3, {}):sub(1, 14)) end", plain,
			"  1.2|3|table:\n  1.2|3|table:\n"},
	} {
		t.Run(name, func(t *testing.T) {
			requests, printed := sent(t, c.text, 1)
			if requests[0] != c.want || printed != c.printed {
				t.Errorf("%q, printed %q", requests[0], printed)
			}
		})
	}
}

func TestFaultsOfScripts(t *testing.T) {
	for text, want := range map[string]string{
		"x = = 1":                                 "near \"=\"",
		"error('no')":                             "x.lua:1: no",
		"function request() return 1 end":         "request() returned a number",
		"function request() return 'GET' end":     "the request: incomplete request",
		"function init() os.execute('ls') end":    "os.execute isn't available",
		"function setup(t) t:set('f', print) end": "cannot transfer 'function' to thread",
		"require 'ffi'":                           "module ffi not found",
	} {
		p, err := compiled(t, text)
		if err == nil {
			p.Out = io.Discard
			err = p.Begin()
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	var at *script.Error
	if _, err := compiled(t, "a = 1\nb = ="); !errors.As(err, &at) || at.Line != 2 {
		t.Error(err)
	}
}

// A function that never returns is ended.
func TestLoopsEnd(t *testing.T) {
	for _, text := range []string{"while true do end", "function init() while true do end end",
		"function request() while true do end end"} {
		p, err := compiled(t, text)
		if err != nil {
			t.Fatal(err)
		}
		p.world.patience = 50 * time.Millisecond
		if err := p.Begin(); err == nil || !strings.Contains(err.Error(), "does it loop for ever?") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A function that joins texts or collects values without end is ended when it uses too much memory.
func TestMemoryIsBounded(t *testing.T) {
	for name, text := range map[string]string{
		"doubling":   `s = "x" while true do s = s .. s end`,
		"lengthened": `function init() s = ("x"):rep(1e6) all = {} while true do all[#all + 1] = s .. #all end end`,
		"collected":  `function request() t = {} while true do t[#t + 1] = {#t} end end`,
	} {
		t.Run(name, func(t *testing.T) {
			p, err := compiled(t, text)
			if err != nil {
				t.Fatal(err)
			}
			p.world.memory, p.world.patience = 64<<20, time.Hour
			if err := p.Begin(); err == nil || !strings.Contains(err.Error(), "more than 64 MiB of memory") ||
				strings.Contains(err.Error(), "\n") {
				t.Error(err)
			}
		})
	}
}

func TestRepetitionsAreBounded(t *testing.T) {
	for text, want := range map[string]string{
		`s = string.rep("ab", 1e10)`: "not enough memory", `s = ("ab"):rep(1e18)`: "not enough memory",
		`s = ("x"):rep(1e5) s = s:gsub("", s)`: "not enough memory", `table.concat({}, "x")`: "",
		`s = ("x"):rep(1e5) s = s:gsub("(.*)", ("%1"):rep(1e4))`:                                  "not enough memory",
		`t = {} for i = 1, 1e4 do t[i] = "x" end table.concat(t, ("y"):rep(1e6))`:                 "not enough memory",
		`s = ("x"):rep(1e6) t = {} for i = 1, 1e3 do t[i] = s end table.concat(t)`:                "not enough memory",
		`t = {} for i = 1, 1e5 do t[i] = "x" end assert(#table.concat(t, "-") == 2e5 - 1)`:        "",
		`s = ("x"):rep(1e6) .. "@" assert(#s:gsub("@", ("y"):rep(1e4)) == 1e6 + 1e4)`:             "",
		`assert(("ab"):rep(3) == "ababab" and ("x"):rep(-1) == "" and string.rep("", 1e9) == "")`: ""} {
		p, err := compiled(t, text)
		if err == nil {
			err = p.Begin()
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestDone(t *testing.T) {
	p, err := compiled(t, `function done(s, l, r)
		print(s.duration, s.requests, s.bytes, s.errors.status, s.errors.timeout)
		print(l.min, l.max, l.mean, l:percentile(50), #l, l(2))
	end`)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	p.Out = &out
	if err := p.Begin(); err != nil {
		t.Fatal(err)
	}
	o := &Outcome{Latency: NewStats(), Requests: NewStats(), Runtime: time.Second, Complete: 3, Bytes: 99,
		Errors: Errors{Status: 1, Timeout: 2}}
	o.Latency.Add(10, 1)
	o.Latency.Add(20, 2)
	if err := p.Done(o); err != nil || out.String() != "1000000\t3\t99\t1\t2\n10\t20\t16.666666666666668\t20\t2\t20\t2\n" {
		t.Errorf("%q %v", out.String(), err)
	}
}

func TestStop(t *testing.T) {
	p, err := compiled(t, "function request() wrk.thread:stop(); return wrk.request() end")
	if err != nil {
		t.Fatal(err)
	}
	s := p.Session(0)
	if step := s.Begin(0, 0); !step.Quit || step.Move != script.End || s.(script.Aborter).Aborted() {
		t.Errorf("%+v", step)
	}
	// A fault after the first requests ends the session, too, but before its time.
	if p, err = compiled(t, "n = 0; function request() n = n + 1; return n < 9 and wrk.request() or nil end"); err != nil {
		t.Fatal(err)
	}
	s = p.Session(0)
	for range 20 {
		if s.Begin(0, 0).Quit {
			break
		}
	}
	if !s.(script.Aborter).Aborted() {
		t.Error("a session with a faulty script goes on, or has come to its end")
	}
}

func TestReport(t *testing.T) {
	o := &Options{Program: "wrk", Threads: 2, Asked: 4, Duration: time.Second, URL: "http://a/", Latency: true}
	r := &Outcome{Latency: NewStats(), Requests: NewStats(), Runtime: time.Second, Complete: 200, Bytes: 166 << 10,
		Errors: Errors{Read: 1, Status: 3}}
	r.Latency.Add(94, 2)
	want := "  Thread Stats   Avg      Stdev     Max   +/- Stdev\n" +
		"    Latency    94.00us    0.00us  94.00us  100.00%\n" +
		"    Req/Sec     0.00      0.00     0.00      -nan%\n" +
		"  Latency Distribution\n" +
		"     50%   94.00us\n     75%   94.00us\n     90%   94.00us\n     99%   94.00us\n" +
		"  200 requests in 1.00s, 166.00KB read\n" +
		"  Socket errors: connect 0, read 1, write 0, timeout 0\n  Non-2xx or 3xx responses: 3\n" +
		"Requests/sec:    200.00\nTransfer/sec:    166.00KB\n"
	if got := o.Report(r); got != want {
		t.Errorf("%s", got)
	}
	res, err := ParseResult([]byte(o.Header() + want))
	if err != nil || res.Find("rate", "").Value != 200 || res.Find("response.p(99)", "").Value != 94e3 ||
		res.Sessions != 4 {
		t.Errorf("%+v %v", res, err)
	}
}

func FuzzParseResult(f *testing.F) {
	f.Add("Running 1s test @ http://a/\n  2 threads and 4 connections\n    Latency 94.00us 0.00us 1.00us\n" +
		"  2 requests in 1.00s, 1KB read\nRequests/sec: 1\n")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = ParseResult([]byte(text)) })
}

func FuzzParse(f *testing.F) {
	f.Add("-t2 -c 4 -d 1s http://a/")
	f.Fuzz(func(_ *testing.T, line string) {
		if strings.Contains(line, "s") {
			return // no files
		}
		_, _ = Parse("wrk2", strings.Fields(line))
	})
}
