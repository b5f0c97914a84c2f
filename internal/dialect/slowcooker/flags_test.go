package slowcooker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brunt/internal/plan/workload"
)

func TestParse(t *testing.T) {
	dir := t.TempDir()
	list, body := filepath.Join(dir, "urls"), filepath.Join(dir, "body")
	for path, text := range map[string]string{list: "http://a/1\n\nhttps://b:81/2?x\n", body: "from a file"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := parse(t, "-qps", "5", "--concurrency=2", "@"+list, "-data", "@"+body, "-header", "X-A: 1: 2", "-header", "x-a: 3",
		"-host", "h1, h2",
		"-hashValue", "7", "-hashSampleRate", "0.25", "-latencyUnit", "us", "-interval", "90s", "-noLatencySummary")
	if o.QPS != 5 || o.Concurrency != 2 || len(o.URLs) != 2 || o.URLs[1].String() != "https://b:81/2?x" ||
		string(o.Body) != "from a file" {
		t.Errorf("%+v", o)
	}
	if fmt.Sprintln(o.Headers, o.Hosts, o.HashValue, o.HashEvery, o.Unit, o.Slice,
		o.Summary) != "[[X-A 3]] [h1 h2] 7 4 1µs 1s none\n" {
		t.Errorf("%v", []any{o.Headers, o.Hosts, o.HashValue, o.HashEvery, o.Unit, o.Slice, o.Summary})
	}
	stdin, err := Parse([]string{"@-"}, strings.NewReader("http://c/\n"), "report")
	if err != nil || stdin.URLs[0].Host != "c" || stdin.Summary != "report" {
		t.Errorf("%+v, %v", stdin, err)
	}
	stdin, err = Parse([]string{"-data", "@-", "http://c/"}, strings.NewReader("text"), "")
	if err != nil || string(stdin.Body) != "text" || stdin.Summary != "1.2" {
		t.Errorf("%+v, %v", stdin, err)
	}
	if o := parse(t, "-layout", "1.0", "http://a"); o.Summary != "1.0" {
		t.Errorf("summary %s", o.Summary)
	}
	if o := parse(t, "-compat", "http://a"); !o.Insecure || !o.HTTP1 {
		t.Errorf("%+v", o)
	}
}

func TestFaults(t *testing.T) {
	for line, want := range map[string]string{
		"":                                "expecting one argument",
		"http://a http://b":               "expecting one argument",
		"-qps 0 http://a":                 "qps must be at least 1",
		"-qps x http://a":                 "invalid value \"x\" for flag -qps",
		"-concurrency 0 http://a":         "concurrency must be at least 1",
		"-latencyUnit s http://a":         "latency unit should be [ms | us | ns]",
		"-nonsense http://a":              "flag provided but not defined: -nonsense",
		"-interval 1ms http://a":          "at least 10ms",
		"-slice 3s http://a":              "a part of the interval",
		"-layout 2 http://a":              "use 1.0, 1.2 or 1.2.0",
		"-summary x http://a":             "use 1.0, 1.2, report or none",
		"-hashSampleRate 2 http://a":      "a share from 0 to 1",
		"-timeout 0s http://a":            "above zero",
		"-late never http://a":            "queue or drop",
		"-header nonsense http://a":       "write Name: value",
		"-data @- @-":                     "standard input",
		"localhost:80":                    "invalid URL",
		"@missing-file":                   "no such file",
		"-data @missing-file http://a":    "no such file",
		"-host a -header Host:b http://a": "give one",
	} {
		_, err := Parse(strings.Fields(line), strings.NewReader(""), "")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
	list := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(list, []byte("\ufeffhttp://a/\n\nhttp://a/b c\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Parse([]string{"@" + list}, nil, ""); err == nil || !strings.Contains(err.Error(), list+":3: ") {
		t.Errorf("a list with a bad line: %v, want the file and the line", err)
	}
	for _, help := range []string{"-help", "--help", "-h"} {
		if _, err := Parse([]string{help}, nil, ""); !errors.Is(err, ErrHelp) {
			t.Errorf("%s: %v", help, err)
		}
	}
}

func TestUsageNamesEveryFlag(t *testing.T) {
	var b strings.Builder
	Usage(&b, "slow_cooker")
	for _, name := range strings.Fields(
		"qps concurrency iterations totalRequests interval timeout latencyUnit method data header host noreuse compress hashValue hashSampleRate noLatencySummary reportLatenciesCSV metric-addr help layout compat service-time log") {
		if !strings.Contains(b.String(), "  -"+name) {
			t.Errorf("-%s is missing", name)
		}
	}
}

func TestPlan(t *testing.T) {
	o := parse(t, "-qps", "5", "-concurrency", "4", "-iterations", "3", "-host", "h1,h2", "-seed", "9", "-threshold",
		"p(99) < 10ms", "-k", "https://a/x?$")
	p, err := o.Plan(true)
	if err != nil {
		t.Fatal(err)
	}
	ph := p.Load[0]
	if ph.RateFrom != 20 || ph.Duration != 30*time.Second || p.Settings.Sessions != 4 || p.Settings.Retries != -1 ||
		p.Settings.Interval != time.Second {
		t.Errorf("%+v %+v", ph, p.Settings)
	}
	if p.Target.Options["proxy"] != "env" || p.Target.Options["good"] != "200-499" || !p.Target.TLS.InsecureSkipVerify ||
		len(p.Thresholds) != 1 {
		t.Errorf("%+v", p.Target)
	}
	step := p.Operations[0].Steps[0]
	if step.Request.Web.Path != "/x?$$" {
		t.Errorf("path %s", step.Request.Web.Path)
	}
	w, err := workload.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	var st workload.State
	hosts := map[string]int{}
	for i := range uint64(1000) {
		args := w.Args(&st, 0, 0, i)
		if args[0].I != int64(i)+1 {
			t.Fatalf("request %d has id %d", i, args[0].I)
		}
		hosts[string(args[1].B)]++
	}
	if len(hosts) != 2 || hosts["h1"] < 400 || hosts["h2"] < 400 {
		t.Errorf("%v", hosts)
	}
	endless, err := parse(t, "-qps", "1000000", "-concurrency", "500", "http://a").Plan(false)
	if err != nil || endless.Load[0].Duration < 80*24*time.Hour {
		t.Errorf("%+v, %v", endless, err)
	}
	if p, err := parse(t, "-k", "http://a").Plan(false); err != nil || p.Target.TLS.Enabled ||
		p.Target.TLS.InsecureSkipVerify {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := parse(t, "-threshold", "nonsense", "http://a").Plan(false); err == nil {
		t.Error("a wrong threshold passes")
	}
}

func FuzzParse(f *testing.F) {
	f.Add("-qps 5 -header X:1 http://a/", "http://b/")
	f.Add("@-", "http://b/\nhttps://c")
	f.Fuzz(func(t *testing.T, line, stdin string) {
		args := strings.Fields(line)
		for _, a := range args {
			if strings.Contains(a, "@") && !strings.HasSuffix(a, "@-") {
				return // without files
			}
		}
		o, err := Parse(args, strings.NewReader(stdin), "")
		if err == nil {
			if _, err := o.Plan(false); err == nil && (o.RatePerS() < 1 || len(o.URLs) == 0) {
				t.Errorf("%+v", o)
			}
		}
	})
}
