package ghz

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"brunt/internal/dialect/calls"
	"brunt/internal/plan"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
	"brunt/internal/record"
)

// read returns a file of the real ghz, see testdata/README.md.
func read(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func reportOf(t testing.TB, name string) *Report {
	t.Helper()
	r := new(Report)
	if err := json.Unmarshal([]byte(read(t, name)), r); err != nil {
		t.Fatal(err)
	}
	return r
}

// sortLabels sorts the labels of each line of metrics.
func sortLabels(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		name, rest, ok := strings.Cut(l, "{")
		labels, value, _ := strings.Cut(rest, "} ")
		if ok {
			all := strings.Split(labels, ",")
			slices.Sort(all)
			lines[i] = name + "{" + strings.Join(all, ",") + "} " + value
		}
	}
	return strings.Join(lines, "\n")
}

func TestReportsAreThoseOfGhz(t *testing.T) {
	for _, name := range []string{"real", "schedules"} {
		for _, form := range formats {
			if form == "html" {
				continue
			}
			t.Run(name+"."+form, func(t *testing.T) {
				var b strings.Builder
				if err := reportOf(t, name+".json").Write(&b, form); err != nil {
					t.Fatal(err)
				}
				got, want := b.String(), read(t, name+"."+form)
				if form == "prometheus" {
					got, want = sortLabels(got), sortLabels(want)
				}
				if got != want {
					t.Errorf("got\n%s\nwant\n%s", got, want)
				}
			})
		}
	}
}

func TestFiguresAreThoseOfGhz(t *testing.T) {
	for _, name := range []string{"real.json", "schedules.json"} {
		want := reportOf(t, name)
		got := *want
		got.Count, got.Average, got.Fastest, got.Slowest, got.RPS = 0, 0, 0, 0, 0
		got.Quantiles, got.Histogram, got.Details = nil, nil, nil
		got.Options.SkipFirst = 0 // the details are those that were left
		got.Tally(want.Details, want.Total)
		got.Options.SkipFirst = want.Options.SkipFirst
		if !reflect.DeepEqual(&got, want) {
			t.Errorf("%s: got %+v\nwant %+v", name, got, want)
		}
	}
	r := &Report{Options: Settings{SkipFirst: 1}}
	r.Tally([]Detail{{Latency: time.Second, Status: "OK"}, {Status: "NotFound", Error: "x"}}, time.Second)
	if r.Count != 1 || r.Slowest != 0 || r.Histogram != nil {
		t.Errorf("%+v", r)
	}
}

func TestTemplates(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": "x {{.RequestNumber}} {{newUUID}}", "b": {{.RequestNumber}}}`: `{"a": "x $1 $2", "b": "$1"} | .RequestNumber newUUID`,
		`{"a": "5 $ \" {{randomInt 1 5}}"}`:                                  `{"a": "5 $$ \" $1"} | randomInt 1 5`,
		`{"a": "{{randomString 3 | upper}}{{uuidv4}}{{uuidv4}}"}`:            `{"a": "$1$2$3"} | randomString 3 | upper uuidv4 uuidv4`,
		"": " | ",
		`{"a": "{{if true}}b{{else}}c{{end}}", "n": {{range $i, $x := .M}}{{$x}}{{end}}}`: `{"a": "$1", "n": "$2"} | ` +
			`if true}}b{{else}}c{{end range $i, $x := .M}}{{$x}}{{end`,
		`{{$x := 1}}{{$y := 2}}{"a": {{$x}}, "b": {{$y}}}`: `{"a": "$1", "b": "$2"} | $x := 1}}{{$y := 2}}{{$x $y`,
		`{{if true}}{}{{end}}`:                             "error: data: {{if true}}{}{{end}}: conditions and loops make one value",
		`{"a": {{if true}}"b"{{end}}}`:                     "error: data: {{if true}}\"b\"{{end}}: conditions and loops make one value",
		`{"a": "{{with 1}}{{if .}}\n{{end}}{{end}}"}`:      "error: data: {{with 1}}{{if .}}\\n{{end}}{{end}}: conditions and loops in",
		`{{template "x"}}`:                                 "error: data: {{template \"x\"}}: only values",
		`{{nothing}}`:                                      `error: function "nothing" not defined`,
		`{{`:                                               "error: unclosed action",
	} {
		p, err := split(text, true)
		got := p.Text + " | " + strings.Join(p.Actions, " ")
		if err != nil {
			got = "error: " + err.Error()
			want = strings.TrimPrefix(want, "error: ")
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	if got := calls.Renumber("$1 $$1 $12 $", func(i int) int { return i + 9 }); got != "$10 $$1 $21 $" {
		t.Error(got)
	}
}

// options parses a command line whose server isn't asked.
func options(t testing.TB, line ...string) *Options {
	t.Helper()
	o, err := Parse(append([]string{"--insecure", "--call", "a.B.C"}, line...), strings.NewReader(`{"x":1}`))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func phases(p *plan.Plan) string {
	var out []string
	for _, ph := range p.Load {
		switch ph.Kind {
		case plan.Open:
			out = append(out, fmt.Sprintf("%g/s %s %d", ph.RateFrom, ph.Duration.Round(time.Millisecond), ph.Operations))
		case plan.Closed:
			out = append(out, fmt.Sprintf("%d %s %d", ph.Sessions, ph.Duration, ph.Operations))
		default:
			out = append(out, fmt.Sprintf("pause %s", ph.Duration))
		}
	}
	return strings.Join(out, ", ")
}

func TestLoads(t *testing.T) {
	for line, want := range map[string]string{
		"h:1":                            "0 0s 200 | 1 × 50",
		"-c 10 --connections 4 -n 5 h:1": "0 0s 5 | 4 × 3",
		"-z 3s h:1":                      "0 3s 0 | 1 × 50",
		"-x 3s -n 7 h:1":                 "0 3s 7 | 1 × 50",
		"-r 100 -n 50 h:1":               "100/s 1.5s 50 | 1 × 50",
		"-r 100 -z 2s --async h:1":       "100/s 2s 0 | 1 × 10000",
		"--load-schedule step --load-start 10 --load-step 10 --load-end 30 --load-step-duration 1s -n 100 h:1": "10/s 1s 0, 20/s 1s 0, 30/s 1s 0, 30/s 2.333s 40 | 1 × 50",
		"--load-schedule line --load-start 30 --load-step -10 --load-end 10 --load-max-duration 2s -z 4s h:1":  "30/s 1s 0, 20/s 1s 0, 10/s 2s 0 | 1 × 50",
		"--concurrency-schedule step --concurrency-start 1 --concurrency-step 2 --concurrency-end 5 " +
			"--concurrency-step-duration 1s -n 9 -c 5 h:1": "1 1s 0, 3 1s 0, 5 0s 0 | 5 × 1",
		"--concurrency-schedule step --concurrency-start 0 --concurrency-step 2 --concurrency-end 4 " +
			"--concurrency-step-duration 1s -n 9 -c 4 --connections 0 h:1": "pause 1s, 2 1s 0, 4 0s 0 | 4 × 1",
		"--load-schedule= --concurrency-schedule= --duration-stop= -z 1s h:1":                                   "0 1s 0 | 1 × 50",
		"--concurrency-schedule line --concurrency-start 4 --concurrency-step -1 --concurrency-end 2 -z 9s h:1": "4 1s 0, 3 1s 0, 2 7s 0 | 4 × 1",
	} {
		p, err := options(t, strings.Fields(line)...).Plan(t.Context())
		if err != nil {
			t.Fatal(line, err)
		}
		got := fmt.Sprintf("%s | %d × %d", phases(p), p.Settings.Sessions, p.Settings.Pipeline)
		if got != want {
			t.Errorf("%s: got %s, want %s", line, got, want)
		}
		if problems := p.Validate(); len(problems) > 0 {
			t.Errorf("%s: %v", line, problems)
		}
	}
}

func TestCalls(t *testing.T) {
	o := options(t, "-d", `{"n": "{{.RequestNumber}}", "m": "$1"}`, "-m", `{"Id": "{{newUUID}} $", "x-bin": "AAE="}`, "-t",
		"1s", "h:1")
	p, err := o.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := p.Operations[0].Steps[0]
	want := protocol.RPC{Method: "a.B/C", Messages: []string{`{"m":"$$1","n":"$1"}`}, Deadline: time.Second,
		Metadata: [][2]string{{"id", "$2 $$"}, {"x-bin", "\x00\x01"}}}
	if len(s.Params) != 2 || !reflect.DeepEqual(*s.Request.RPC, want) {
		t.Errorf("%+v", s.Request.RPC)
	}
	o = options(t, "-d", "@", "h:1")
	if string(o.data) != `{"x":1}` {
		t.Errorf("%s", o.data)
	}
}

// Messages as they are sent are one, or several after their lengths; what comes after the last whole one isn't sent.
func TestBinaryData(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	proto := write("a.proto", `syntax = "proto3"; package a; message M { string text = 1; int64 n = 2; }
		service B { rpc C(M) returns (M); rpc D(stream M) returns (M); }`)
	first, second := "\x0a\x03$ 1", "\x10\x07"
	several := "\x05" + first + "\x02" + second
	for _, c := range []struct{ call, data, want string }{
		{"a.B.C", first, `[{"text":"$$ 1"}]`},
		{"a.B.C", several, `[{"text":"$$ 1"}] [{"n":"7"}]`},
		{"a.B.D", several, `[{"text":"$$ 1"} {"n":"7"}]`},
		{"a.B.C", several + "\x7fx", `[{"text":"$$ 1"}] [{"n":"7"}]`},
		{"a.B.C", "\x1a\x01x", "error: binary data: a message holds what a.M doesn't describe"},
		{"a.B.C", "\x0b", "error: binary data: it isn't a a.M"},
	} {
		for _, from := range [][]string{{"-b"}, {"-B", write("data", c.data)}} {
			o, err := Parse(append(from, "--insecure", "--call", c.call, "--proto", proto, "--reflect-metadata",
				`{"Token": "x"}`, "-d", `{"text": "JSON"}`, "h:1"), strings.NewReader(c.data))
			if err != nil {
				t.Fatal(err)
			}
			p, err := o.Plan(t.Context())
			got := fmt.Sprintf("error: %v", err)
			if err == nil {
				step := &p.Operations[0].Steps[0]
				all := []string{fmt.Sprint(step.Request.RPC.Messages)}
				if len(step.Variants) > 0 {
					all = nil
				}
				for i := range step.Variants {
					all = append(all, fmt.Sprint(step.Variants[i].RPC.Messages))
				}
				got = strings.Join(all, " ")
				if p.Target.Options["reflect.token"] != "x" || !o.report(&record.Run{}).Options.Binary {
					t.Errorf("options %v, report %+v", p.Target.Options, o.report(&record.Run{}).Options)
				}
			}
			if got != c.want && !(strings.HasPrefix(c.want, "error") && strings.HasPrefix(got, c.want)) {
				t.Errorf("%s %q: got %s, want %s", from[0], c.data, got, c.want)
			}
		}
	}
}

// Templates without generators of their own are executed for each call, the same for the same seed.
func TestScripts(t *testing.T) {
	o := options(t, "-d", `{"n": "{{.RequestNumber}} {{.WorkerID}} {{.Timestamp}}", "s": "{{randAlpha 4 | upper}}"}`, "-m",
		`{"x-bin": "{{\"ab\" | b64enc}}"}`, "--name", "T", "--connections", "2", "h:1")
	p, err := o.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	source := &script.Source{Seed: 1, Operations: []script.Operation{{Text: p.Operations[0].Script}}}
	var seen []string
	for range 2 {
		prog, err := Language{Now: func() time.Time { return now }}.Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		if r := prog.Requests(0); len(r) != 1 || r[0].RPC.Method != "a.B/C" || len(r[0].Params) != 5 {
			t.Fatalf("%+v", r)
		}
		step := prog.Session(3).Begin(0, 7)
		var values []string
		for i := range step.Args {
			values = append(values, string(step.Args[i].B))
		}
		seen = append(seen, strings.Join(values, " "))
	}
	if seen[0] != seen[1] || !strings.HasPrefix(seen[0], "7 T:g3c1 2026-01-02T03:04:05Z ") ||
		!strings.HasSuffix(seen[0], " ab") {
		t.Errorf("%q", seen)
	}
	for _, text := range []string{"{", `{"actions": ["{{"]}`, `{"actions": ["nothing 1"], "functions": true}`} {
		source.Operations[0].Text = text
		if _, err := (Language{}).Compile(source); err == nil {
			t.Errorf("%s: compiled", text)
		}
	}
}

// Actions of a template are executed as one: they share variables, and random values are drawn once.
func TestVariablesAndConditions(t *testing.T) {
	o := options(t, "h:1")
	o.data = []byte(`{{$n := randomInt 1 1000000}}{"a": "{{if eq .RequestNumber 7}}seven{{else}}other{{end}}",
		"b": {{$n}}, "c": {{$n}}{{$n = 5}}, "d": {{$n}}, "e": "{{range 3}}{{.}},{{end}}",
		"f": "{{with .WorkerID}}{{.}}{{end}}"}`)
	p, err := o.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	prog, err := Language{Now: time.Now}.Compile(
		&script.Source{Seed: 1, Operations: []script.Operation{{Text: p.Operations[0].Script}}})
	if err != nil {
		t.Fatal(err)
	}
	for number, want := range map[uint64]string{7: "seven", 8: "other"} {
		var got []string
		for _, v := range prog.Session(0).Begin(0, number).Args {
			got = append(got, string(v.B))
		}
		if len(got) != 6 || got[0] != want || got[1] != got[2] || len(got[1]) < 2 || got[3] != "5" || got[4] != "0,1,2," ||
			got[5] != "g0c0" {
			t.Errorf("%q", got)
		}
	}
}

// ghzFlags are the flags of ghz 0.120.0 (cmd/ghz/main.go).
const ghzFlags = "async authority binary binary-file cacert call cert cname concurrency concurrency-end " +
	"concurrency-max-duration concurrency-schedule concurrency-start concurrency-step " +
	"concurrency-step-duration config connect-timeout connections count-errors cpus data data-file debug " +
	"disable-template-data disable-template-functions duration duration-stop enable-compression format " +
	"import-paths insecure keepalive key lb-strategy load-end load-max-duration load-schedule load-start " +
	"load-step load-step-duration max-duration max-recv-message-size max-send-message-size metadata " +
	"metadata-file name output proto protoset reflect-metadata rps skipFirst skipTLS stream-call-count " +
	"stream-call-duration stream-dynamic-messages stream-interval tags timeout total"

// Each flag of ghz is taken, or refused by its name.
func TestFlags(t *testing.T) {
	o, known := &Options{}, map[string]bool{"config": true}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.bind(fs, &texts{})
	fs.VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
	for _, name := range strings.Fields(ghzFlags) {
		if !known[name] {
			t.Errorf("--%s isn't known", name)
		}
	}
}

func TestConfigFiles(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"c.json": `{"call": "a.B.C", "host": "h:1", "total": 7, "timeout": "3s", "insecure": true,
			"data": [{"n": 1}, {"n": 2}], "metadata": {"k": "v"}, "import-paths": ["x"], "load-schedule": "const"}`,
		"c.toml": "call = \"a.B.C\" # the call\nhost = 'h:1'\ntotal = 7\ntimeout = \"3s\"\ninsecure = true\n" +
			"data = [{n = 1},\n  {n = 2},\n]\nimport-paths = [\"x\"]\n[metadata]\n\"k\" = \"v\"\n",
		"c.yaml": "call: a.B.C\nhost: h:1\ntotal: 7\ntimeout: 3s\ninsecure: true\ndata: [{n: 1}, {n: 2}]\n" +
			"metadata: {k: v}\nimport-paths: [x]\n",
	}
	var first *Options
	for _, name := range []string{"c.json", "c.toml", "c.yaml"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(files[name]), 0o600); err != nil {
			t.Fatal(err)
		}
		o, err := Parse([]string{"--config", path, "-c", "3", "--call=a.B.D"}, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		if o.Total != 7 || o.Concurrency != 3 || o.Call != "a.B.D" || o.Timeout != Duration(3*time.Second) ||
			string(o.data) != `[{"n":1},{"n":2}]` || o.Metadata["k"] != "v" || o.Connections != 1 || o.CStart != 1 {
			t.Errorf("%s: %+v", name, o)
		}
		if first == nil {
			first = o
		}
		if string(first.data) != string(o.data) || !reflect.DeepEqual(first.ImportPaths, o.ImportPaths) {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "c.toml")
	for line, want := range map[string]string{
		"":                                    "call required",
		"--call a.B.C":                        "host required",
		"--bad":                               "unknown long flag '--bad', try --help",
		"-Q":                                  "unknown short flag '-Q', try --help",
		"--call a.B.C -d { h":                 "error unmarshaling data '{': unexpected end of JSON input",
		"--call a.B.C -m [] h":                "error unmarshaling metadata '[]'",
		"--call a.B.C -O xml h":               "enum value must be one of summary,csv",
		"--call a.B.C -c 1 --connections 2 h": "number of connections cannot be greater than concurrency",
		"--call a.B.C --proto x.txt h":        "proto: must have .proto extension",
		"--call a.B.C --load-schedule step h": "load start cannot equal load end",
		"--call a.B.C --load-schedule x h":    `schedule much be "const", "step", or "line"`,
		"--call a.B.C --concurrency-schedule step h":       "concurrency start start cannot equal concurrency end",
		"--call a.B.C --load-schedule line --load-end 5 h": "invalid load step",
		"--call a.B.C -b --stream-dynamic-messages h":      "cannot use dynamic messages with binary data",
		"--call a.B.C -B none h":                           "no such file",
		"--call a.B.C --skipFirst 300 h":                   "you cannot skip more requests than those run",
		"--call a.B.C -n 0 h":                              "give at least one call",
		"--call a.B.C --max-send-message-size 1e3 h":       "invalid max call send message size",
		"--call a.B.C --max-recv-message-size= h":          "invalid max call recv message size",
		"--call a.B.C h i":                                 "unexpected i",
		"--config " + config:                               "no such file",
		"--config " + filepath.Join(dir, "c.ini"):          "no such file",
	} {
		if _, err := Parse(strings.Fields(line), strings.NewReader("x")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", line, err, want)
		}
	}
	for text, want := range map[string]string{
		"a = 1\nb": `line 2: "=" is missing`, "total = 'x'": "total: a string where there must be a uint", "data = 5": "unsupported",
		"timeout = 5": "isn't a time", "a = \"x": "doesn't end", "[a]\nb = 1\n[a.b]\n": "b is no table",
		"a = 1\na = 2": "a is given twice", "a = yes": "is no value", "[[a]]": "arrays of tables",
		"a = 1 b = 2": "one key a line",
		"data = []":   "must not be empty", "data = [1]": "unsupported type",
	} {
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadConfig(config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestTOML(t *testing.T) {
	text := "a.b = 1_000\nc = \"\"\"\nx\\u00e9\\\n   y\"\"\"\nd = '''\nz'''\ne = [1.5, -2, 0x10,\n# no\n true]\n[f.\"g h\"]\ni = {}\n"
	got, err := parseTOML([]byte(text))
	want := map[string]any{"a": map[string]any{"b": int64(1000)}, "c": "xéy", "d": "z",
		"e": []any{1.5, int64(-2), int64(16), true}, "f": map[string]any{"g h": map[string]any{"i": map[string]any{}}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v %v", got, err)
	}
}

func TestResults(t *testing.T) {
	for name, parse := range map[string]int{"real.json": 0, "real.summary": 1} {
		r, err := Results()[parse].Parse([]byte(strings.TrimSpace(read(t, name))))
		if err != nil || r.Find("count", "").Value != 40 || r.Find("errors", "").Value != 0.25 ||
			int(r.Find("rate", "").Value) != 4956 || r.Find("response.p(50)", "") == nil {
			t.Errorf("%s: %+v %v", name, r, err)
		}
	}
	if _, err := ParseSummary([]byte(strings.TrimSpace(read(t, "real.summary"))[:300])); err == nil {
		t.Error("a summary that was cut off is read")
	}
}

func FuzzTOML(f *testing.F) {
	f.Add("a = [1, {b = \"c\"}]\n[d]\n")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = parseTOML([]byte(text)) })
}

func FuzzTemplate(f *testing.F) {
	f.Add(`{"a": "{{randomInt 1 5}}"}`)
	f.Fuzz(func(_ *testing.T, text string) {
		if p, err := split(text, true); err == nil {
			params(p.Actions)
		}
	})
}

func FuzzResults(f *testing.F) {
	f.Add("Summary:\n  Count:\t4\nStatus code distribution:\n  [OK]   4 responses")
	f.Fuzz(func(_ *testing.T, text string) {
		_, _ = ParseSummary([]byte(text))
		_, _ = ParseJSON([]byte(text))
	})
}
