package vegeta

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"brunt/internal/dialect/command"
	"brunt/internal/plan/workload"
	"brunt/internal/record"
)

// Results survive each encoding.
func TestEncodings(t *testing.T) {
	want := []Result{
		{Attack: "a", Seq: 1, Code: 200, Timestamp: time.Unix(5, 7).UTC(), Latency: 9, BytesOut: 1, BytesIn: 2,
			Body: []byte("b"), Method: "GET", URL: "http://a/", Headers: http.Header{"X": {"1"}}},
		{Seq: 2, Code: 404, Timestamp: time.Unix(6, 0).UTC(), Latency: 8, Error: "404 Not Found, \"x\"", Method: "PUT"},
	}
	for _, encoding := range []string{"gob", "json", "csv"} {
		var b bytes.Buffer
		write, end, err := encoder(&b, encoding)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if err := write(&want[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		read, err := decoder(&b)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			var got Result
			err := read(&got)
			got.Timestamp = got.Timestamp.UTC()
			if len(got.Body) == 0 {
				got.Body = nil
			}
			if err != nil || !reflect.DeepEqual(got, want[i]) {
				t.Errorf("%s: %+v, %v; want %+v", encoding, got, err, want[i])
			}
		}
		if err := read(new(Result)); !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v at the end", encoding, err)
		}
	}
}

func TestReports(t *testing.T) {
	const results = "1000000000,200,1000000,0,6,,,x,0,GET,http://a/,\n2000000000,500,3000000,4,6,no,,x,1,GET,http://a/,\n"
	for kind, want := range map[string]string{
		"text":        "Requests      [total, rate, throughput]         2, 2.00, 1.00\n",
		"hist[0,2ms]": "[0s,    2ms]   1  50.00%  #####################################\n",
		"hdrplot":     "1.000000   0.500000    1           2.000000\n",
		"json":        `"50th":1000000,"90th":3000000`,
		"hist":        "",
		"nothing":     "",
		"hist[x]":     "",
	} {
		read, err := decoder(strings.NewReader(results))
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		err = (&reporting{kind: kind}).report(&b, read)
		if (err != nil) != (want == "") || !strings.Contains(b.String(), want) {
			t.Errorf("%s: %v\n%s", kind, err, b.String())
		}
		if kind == "text" || kind == "json" {
			r, err := ParseResult([]byte(strings.TrimSpace(b.String())))
			if err != nil || r.Find("rate", "").Value != 2 || r.Find("response.max", "").Value != 3e6 {
				t.Errorf("%s: %+v %v", kind, r, err)
			}
		}
	}
}

func TestRates(t *testing.T) {
	for text, want := range map[string]float64{"50": 50, "50/1s": 50, "30/m": 0.5, "5/2s": 2.5, "0": 0, "infinity": 0} {
		o := &attackOptions{}
		if err := o.setRate(text); err != nil || o.ratePerS != want {
			t.Errorf("%s: %v, %v", text, o.ratePerS, err)
		}
	}
	for _, text := range []string{"", "x", "5/x", "5/0s", "-1"} {
		if err := (&attackOptions{}).setRate(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// A report is written before each result while -every has passed.
func TestReportsAgain(t *testing.T) {
	again := make(chan time.Time, 1)
	sent := 0
	p := &reporting{kind: "text", again: again, before: "clear\n"}
	var b strings.Builder
	err := p.report(&b, func(r *Result) error {
		if sent++; sent > 3 {
			return io.EOF
		}
		*r = Result{Code: 200, Timestamp: time.Unix(int64(sent), 0), Latency: time.Duration(4-sent) * time.Second}
		if sent == 2 {
			again <- time.Time{}
		}
		return nil
	})
	got := b.String()
	if err != nil || strings.Count(got, "clear\n") != 1 || strings.Count(got, "Success ") != 2 ||
		!strings.HasPrefix(got, "clear\nRequests      [total, rate, throughput]         2, 2.00, 0.67\n") ||
		!strings.Contains(got, "\nRequests      [total, rate, throughput]         3, 1.50, 1.00\n") ||
		!strings.Contains(got, "]  1s, 2s, 2s, 3s, 3s, 3s, 3s\n") {
		t.Errorf("%v\n%s", err, got)
	}
}

// The page has a line for the good requests of each attack, which begin at 0, and one for the others.
func TestPlot(t *testing.T) {
	const results = "1000000000,200,1000000,0,6,,,x,0,GET,http://a/,\n2000000000,500,3000000,4,6,no,,x,1,GET,http://a/,\n" +
		"9000000000,200,1000000,0,6,,,,0,GET,http://a/,\n9500000000,200,2000000,0,6,,,,1,GET,http://a/,\n"
	var out strings.Builder
	s := &command.Env{In: strings.NewReader(results), Out: &out}
	if err := plot(s, []string{"-title", "A <b>", "-threshold", "1"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<title>A &lt;b&gt;</title>", "x: OK", "x: ERROR", "attack: OK",
		"1970-01-01 00:00:01 UTC"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(out.String(), "<script") {
		t.Error("the page has scripts")
	}
}

func FuzzResults(f *testing.F) {
	f.Add([]byte("1000000000,200,1000000,0,6,,,x,0,GET,http://a/,\n"))
	f.Add([]byte(`{"code":200}`))
	f.Fuzz(func(_ *testing.T, data []byte) {
		read, err := decoder(bytes.NewReader(data))
		for r := new(Result); err == nil; {
			err = read(r)
		}
		_, _ = ParseResult(data)
	})
}

// What is said of a file that ends in the middle, and of one that isn't results.
func TestTruncatedResults(t *testing.T) {
	var b bytes.Buffer
	write, end, err := encoder(&b, "gob")
	for seq := range uint64(3) {
		err = errors.Join(err, write(&Result{Seq: seq, URL: "http://a/"}))
	}
	if err = errors.Join(err, end()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, content string
		read          int
		want          string
	}{
		{"in the middle", b.String()[:b.Len()-3], 2, "the results end in the middle, after 2: unexpected EOF"},
		{"no results", "GET http://a/\n", 0, "encode: can't detect encoding of the results: unexpected EOF"},
		{"a bad line", `{"seq":1} {"seq":"x"}`, 1, "the result after 1: json: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			next, n := mixed([]io.ReadCloser{io.NopCloser(strings.NewReader(c.content))}), 0
			var r Result
			var err error
			for err = next(&r); err == nil; err = next(&r) {
				n++
			}
			if n != c.read || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%d results, then %v", n, err)
			}
		})
	}
}

// full is a disk that is full for a while.
type full struct {
	bytes.Buffer
	writes int
}

func (f *full) Write(b []byte) (int, error) {
	if f.writes++; f.writes == 2 {
		n, _ := f.Buffer.Write(b[:len(b)/2])
		return n, io.ErrShortWrite
	}
	return f.Buffer.Write(b)
}

// Results that a full disk didn't take fail the attack, and the file ends there: what was written before can be read.
func TestLostResults(t *testing.T) {
	o, err := parseAttack(nil)
	if err != nil {
		t.Fatal(err)
	}
	if o.requests, err = Read("t", strings.NewReader("GET http://a/"), files); err != nil {
		t.Fatal(err)
	}
	out := &full{}
	e := &attacking{o: o, quiet: true, texts: map[uint64]string{}, out: out}
	if e.write, e.flush, err = encoder(&e.chunk, "gob"); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(3) {
		e.samples.Timed(workload.Timing{EndNs: 1, Index: i})
		if err := e.Interval(nil); (err != nil) != (i == 1) {
			t.Errorf("interval %d: %v", i, err)
		}
	}
	if err := e.result(&record.Run{}, ""); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("the attack ends with %v", err)
	}
	next, n := mixed([]io.ReadCloser{io.NopCloser(&out.Buffer)}), 0
	var r Result
	for err = next(&r); err == nil; err = next(&r) {
		n++
	}
	if n != 1 || !errors.Is(err, io.ErrUnexpectedEOF) || out.writes != 2 {
		t.Errorf("%d results after %d writes, then %v", n, out.writes, err)
	}
}
