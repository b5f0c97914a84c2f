package hey

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"brunt/internal/dialect/httpload"
	"brunt/internal/plan"
	"brunt/internal/protocol"
)

func TestParse(t *testing.T) {
	line := "-n 21 -c 4 -q 2.5 -m post -d x -H X:1 -A text/plain -a u:pw -U me -x http://p:3128 http://127.0.0.1:81/a"
	o, err := Parse(strings.Fields(line))
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.Plan()
	if err != nil {
		t.Fatal(err)
	}
	w := p.Operations[0].Steps[0].Request.Web
	want := [][2]string{{"Content-Type", "text/html"}, {"X", "1"}, {"Accept", "text/plain"},
		{"User-Agent", "me hey/0.0.1"}}
	if len(w.Header) != len(want) || w.Method != "POST" || string(w.Body) != "x" || p.Target.User != "u" ||
		p.Target.Way.Via != "http://p:3128" {
		t.Errorf("%+v", w)
	}
	for i := range want {
		if w.Header[i] != want[i] {
			t.Errorf("%v, want %v", w.Header[i], want[i])
		}
	}
	if ph := p.Load[0]; ph.Kind != plan.Open || ph.RateFrom != 10 || ph.Operations != 20 {
		t.Errorf("%+v", ph)
	}
	for line, want := range map[string]string{
		"":                      "",
		"-n 1 -c 2 http://a/":   "-n cannot be less than -c.",
		"-c 0 http://a/":        "-n and -c cannot be smaller than 1.",
		"-h x http://a/":        "Flag '-h' is deprecated",
		"-o {{.Rps http://a/":   "-o: -o:1: unclosed action",
		"-o {{x}} http://a/":    `function "x" not defined`,
		"-q NaN http://a/":      "-q: give requests a second",
		"-q 1e30 http://a/":     "-q: give requests a second",
		"-H nonsense http://a/": "could not parse the provided input",
		"-nothing 1 http://a/":  "flag provided but not defined: -nothing",
		"ftp://a/":              "scheme ftp",
	} {
		if _, err := Parse(strings.Fields(line)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
	var flags *errFlags
	if _, err := Parse([]string{"-c"}); !errors.As(err, &flags) {
		t.Error(err)
	}
}

func TestReport(t *testing.T) {
	r := &Outcome{Total: 2 * time.Second, Errors: map[string]uint64{"refused": 1}}
	for i := range 10 {
		r.Samples = append(r.Samples, httpload.Sample{Took: time.Duration(i+1) * 100 * time.Millisecond, Status: 200,
			SentNs: int64(i) * 1e9, Parts: protocol.Parts{BodyBytes: 10, ConnectNs: 1e6}})
	}
	r.Samples[9].Status, r.Samples[9].Class = 404, protocol.Server
	r.Samples = append(r.Samples, httpload.Sample{Class: protocol.Connect})
	want := "\nSummary:\n  Total:\t2.0000 secs\n  Slowest:\t1.0000 secs\n  Fastest:\t0.1000 secs\n  Average:\t0.5500 secs\n" +
		"  Requests/sec:\t5.5000\n  \n  Total data:\t100 bytes\n  Size/request:\t10 bytes\n\nResponse time histogram:\n"
	var b strings.Builder
	if err := r.Write(&b); err != nil || !strings.HasPrefix(b.String(), want) ||
		!strings.Contains(b.String(), "Latency distribution:\n  10%% in 0.2000 secs\n  25%% in 0.4000 secs\n") ||
		!strings.Contains(b.String(), "  0%% in 0.0000 secs\n\nDetails") ||
		!strings.Contains(b.String(), "  DNS+dialup:\t0.0010 secs, 0.0010 secs, 0.0010 secs\n") ||
		!strings.HasSuffix(b.String(), "  [200]\t9 responses\n  [404]\t1 responses\n\nError distribution:\n  [1]\trefused\n\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
	res, err := ParseResult([]byte(strings.TrimSpace(b.String())))
	if err != nil || res.Find("rate", "").Value != 5.5 || res.Find("errors", "").Value != 2.0/11 {
		t.Errorf("%+v %v", res, err)
	}
	b.Reset()
	if err := r.WriteCSV(&b); err != nil || strings.Count(b.String(), "\n") != 11 ||
		!strings.Contains(b.String(), "\n0.2000,0.0010,0.0000,0.0000,0.0000,0.0000,200,1.0000\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// A template of -o has hey's figures, by its names.
func TestTemplate(t *testing.T) {
	r := &Outcome{Total: 2 * time.Second, Errors: map[string]uint64{"refused": 1}}
	const text = `{{.NumRes}} {{.Rps}} {{len .Lats}} {{jsonify .ErrorDist}} {{range $c, $n := .StatusCodeDist}}{{$c}}:{{$n}}` +
		`{{end}} {{formatNumber .Slowest}} {{formatNumberInt 3}} {{.SizeReq}} {{range .LatencyDistribution}}{{.Percentage}} ` +
		`{{end}}{{histogram .Histogram}}`
	for _, want := range []string{
		"0 0 0 {\"refused\":1}  0.0000 3 0 \n",
		"2 1 2 {\"refused\":1} 200:2 0.3000 3 10 10 0 0 0 0 0 0   0.100 [1]\t|" + strings.Repeat("■", 40) + "\n",
	} {
		var b strings.Builder
		if err := r.WriteTemplate(&b, text); err != nil || !strings.HasPrefix(b.String(), want) {
			t.Errorf("%v\n%s\nwant\n%s", err, b.String(), want)
		}
		for i := range 2 {
			r.Samples = append(r.Samples, httpload.Sample{Took: time.Duration(2*i+1) * 100 * time.Millisecond, Status: 200,
				Parts: protocol.Parts{BodyBytes: 10}})
		}
	}
	if err := r.WriteTemplate(io.Discard, "{{.Nothing}}"); err == nil || !strings.Contains(err.Error(), "Nothing") {
		t.Error(err)
	}
}

func FuzzParseResult(f *testing.F) {
	f.Add("Summary:\n  Requests/sec:\t5.5\nResponse time histogram:\nStatus code distribution:\n  [200]\t9 responses")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = ParseResult([]byte(text)) })
}
