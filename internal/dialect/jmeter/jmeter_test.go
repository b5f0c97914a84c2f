package jmeter

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"brunt/internal/dialect/command"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/verdict"
	"brunt/internal/record"
)

// around returns a test plan with elements below a thread group.
func around(elements string) string {
	return `<?xml version="1.0" encoding="UTF-8"?>
<jmeterTestPlan version="1.2" properties="5.0" jmeter="5.6.3"><hashTree>
<TestPlan testname="P" enabled="true"/><hashTree>
<ThreadGroup testname="G" enabled="true"><elementProp name="ThreadGroup.main_controller" elementType="LoopController">
<stringProp name="LoopController.loops">1</stringProp>` +
		`<boolProp name="LoopController.continue_forever">false</boolProp></elementProp>` +
		`<stringProp name="ThreadGroup.num_threads">1</stringProp>
</ThreadGroup><hashTree>
<HTTPSamplerProxy testname="h" enabled="true"><stringProp name="HTTPSampler.domain">127.0.0.1</stringProp>` +
		`</HTTPSamplerProxy><hashTree/>
` + elements + `
</hashTree></hashTree></hashTree></jmeterTestPlan>`
}

func compiled(text string, props map[string]string) (*Program, []*Fault, []string) {
	if props == nil {
		props = map[string]string{}
	}
	return compile(&input{file: "x.jmx", text: []byte(text), props: props, seed: 1, files: newFiles("testdata/plans")})
}

// TestEndlessGroups has what JMeter 5.6.3 did with a thread group of two loops.
func TestEndlessGroups(t *testing.T) {
	const property = `<boolProp name="LoopController.continue_forever">false</boolProp>`
	for replacement, want := range map[string]string{property: "1", "": "-1",
		strings.ReplaceAll(property, "false", "true"): "-1"} {
		p, faults, _ := compiled(strings.Replace(around(""), property, replacement, 1), nil)
		if len(faults) > 0 || p.groups[0].root.loops.raw != want {
			t.Errorf("%q: %v, %q loops, want %q", replacement, faults, p.groups[0].root.loops.raw, want)
		}
	}
}

func TestFaults(t *testing.T) {
	script := func(text string) string {
		return around(`<JSR223PreProcessor testname="s"><stringProp name="scriptLanguage">groovy</stringProp>` +
			`<stringProp name="script">` + text + `</stringProp></JSR223PreProcessor><hashTree/>`)
	}
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "x.jmx: the file is empty"},
		{"not a plan", "<html></html>", "x.jmx:1: this isn't a test plan of JMeter: it begins with <html>"},
		{"cut off", around("")[:564], "x.jmx:7: the file ends in the middle: <HTTPSamplerProxy> of line 7 isn't closed"},
		{"newer", `<jmeterTestPlan version="1.2" properties="5.0" jmeter="6.0"><hashTree/></jmeterTestPlan>`,
			"x.jmx:1: the plan was saved by JMeter 6.0"},
		{"fragment",
			`<jmeterTestPlan version="1.2"><hashTree><TestFragmentController testname="f"/><hashTree/></hashTree>` +
				`</jmeterTestPlan>`, "x.jmx:1: the file is a test fragment"},
		{"beanshell", around(`<BeanShellSampler testname="b" enabled="true"/><hashTree/>`),
			`x.jmx:8: BeanShellSampler "b": runs BeanShell`},
		{"plugin", around(`<kg.apc.jmeter.timers.Shaper testname="p"/><hashTree/>`),
			`x.jmx:8: kg.apc.jmeter.timers.Shaper "p": ` +
				"it is of a plugin, which isn't known"},
		{"function",
			around(`<ConstantTimer testname="t"><stringProp name="ConstantTimer.delay">${__BeanShell(1)}</stringProp>` +
				`</ConstantTimer><hashTree/>`),
			`x.jmx:8: ConstantTimer "t": ConstantTimer.delay: the function __BeanShell runs BeanShell`},
		{"method", script("def x = 1\nvars.collect()"), "the script, line 2: the method collect() isn't translated"},
		{"class", script("new Socket()"), "the script, line 1: new Socket isn't translated"},
		{"closure", script("[1].each { println it }"), "the script, line 1:"},
		{"unknown name", script("foo = bar + 1"), `the script, line 1: the name "bar" is unknown`},
		{"proxy", strings.Replace(around(""), `</HTTPSamplerProxy>`, `<stringProp name="HTTPSampler.proxyHost">p</stringProp>`+
			`<stringProp name="HTTPSampler.proxyScheme">https</stringProp></HTTPSamplerProxy>`, 1),
			`x.jmx:7: HTTPSampler "h": the proxy's scheme https isn't available`},
		{"regex",
			around(`<RegexExtractor testname="r"><stringProp name="RegexExtractor.regex">(</stringProp></RegexExtractor>` +
				`<hashTree/>`), `RegexExtractor "r": "(" isn't a regular expression`},
		{"disabled",
			around(`<GenericController testname="c" enabled="false"/><hashTree><BeanShellSampler testname="b"/><hashTree/>` +
				`</hashTree>`), ""},
		{"csv",
			around(`<CSVDataSet testname="c"><stringProp name="filename">nowhere.csv</stringProp></CSVDataSet><hashTree/>`),
			"the file nowhere.csv: no such file or directory"},
		{"module",
			around(`<ModuleController testname="m"><collectionProp name="ModuleController.node_path"><stringProp name="1">` +
				`Root</stringProp><stringProp name="2">P</stringProp><stringProp name="3">x</stringProp></collectionProp>` +
				`</ModuleController><hashTree/>`), `there is no "x" below "P"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, faults, _ := compiled(c.text, nil)
			switch {
			case c.want == "" && len(faults) > 0:
				t.Errorf("got %v", faults[0])
			case c.want != "" && (len(faults) == 0 || !strings.Contains(faults[0].Error(), c.want)):
				t.Errorf("got %v, want %s", faults, c.want)
			}
		})
	}
}

// TestAllFaults: a plan's faults are listed together, before anything is sent, with exit code 104.
func TestAllFaults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jmx")
	text := around(`<BeanShellSampler testname="b"/><hashTree/>` + "\n" + `<JUnitSampler testname="j"/><hashTree/>`)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := run(t, "-n", "-t", path)
	if err == nil || !strings.Contains(err.Error(), ":8: BeanShell") || !strings.Contains(err.Error(), ":9: JUnit") {
		t.Errorf("got %v", err)
	}
	if got := exitcode.Of(err); got != exitUsage {
		t.Errorf("exit code %d in JMeter's place", got)
	}
	s := &command.Env{Version: "test", Out: io.Discard, Err: io.Discard}
	if got := exitcode.Of(execute(s, []string{"-n", "-t", path})); got != exitcode.BadPlan {
		t.Errorf("exit code %d", got)
	}
}

func testThread(vars map[string]string) *thread {
	p := newProgram(&input{file: "x.jmx", props: map[string]string{"known": "yes"}, seed: 1,
		files: newFiles("testdata/plans")})
	p.now = func() time.Time { return time.Date(2024, 2, 28, 13, 5, 9, 7e6, time.UTC) }
	t := &thread{program: p, group: &group{name: "G", number: 1}, number: 2, vars: map[string]string{},
		own:    map[any]any{},
		random: newRandom(1, 1)}
	for k, v := range vars {
		t.vars[k] = v
	}
	return t
}

func TestFunctions(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                                "plain",
		"${x}":                                 "1",
		"${unset}":                             "${unset}",
		`a\,b`:                                 `a\,b`,
		`${x}\,b`:                              "1,b",
		`\${x}`:                                `\${x}`,
		"${__P(known)}":                        "yes",
		"${__P(unknown)}":                      "1",
		"${__P(unknown,)}":                     "",
		"${__property(unknown)}":               "unknown",
		"${__property(unknown,,d)}":            "d",
		"${__V(n${x})}":                        "one",
		"${__eval(a${x})}":                     "a1",
		"${__time()}":                          "1709125509007",
		"${__time(/1000)}":                     "1709125509",
		"${__time(yyyy-MM-dd'T'HH:mm:ss.SSS)}": "2024-02-28T13:05:09.007",
		"${__time(EEE d MMM yy h a)}":          "Wed 28 Feb 24 1 PM",
		"${__time(YMD)}":                       "20240228",
		"${__timeShift(dd/MM/yyyy,28/02/2024,P1DT2H,,)}": "29/02/2024",
		"${__threadNum}":                      "3",
		"${__threadGroupName}":                "G",
		"${__Random(7,7)}":                    "7",
		"${__intSum(1,2,x)}":                  "3",
		"${__urlencode(a b/ж)}":               "a+b%2F%D0%B6",
		"${__escapeXml(<a&'\">)}":             "&lt;a&amp;&apos;&quot;&gt;",
		`${__groovy(vars.get("n1") + "!")}`:   "one!",
		`${__groovy(["a"\,"b"].size() * 2)}`:  "4",
		`${__jexl3("${x}" == "1" && 2 > 1)}`:  "true",
		`${__jexl3(${x} == 2 || "a" eq "b")}`: "false",
		"${__digest(MD5,abc)}":                "900150983cd24fb0d6963f7d28e17f72",
		"${__char(0x41)}${__changeCase(b,,)}": "AB",
		"${__CSVRead(users.csv,0)}":           "ann",
	} {
		t.Run(text, func(t *testing.T) {
			x, err := parseText(text)
			if err != nil {
				t.Fatal(err)
			}
			if got := x.eval(testThread(map[string]string{"x": "1", "n1": "one"})); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestScripts(t *testing.T) {
	for src, want := range map[string]string{
		`1 + 2 * 3`: "7",
		`7 / 2`:     "3.5",
		`"a" + 1`:   "a1",
		`def s = 0; for (int i = 0; i < 4; i++) { s += i }; s`: "6",
		`def m = [a: 1, b: [2, 3]]; m.b[1]`:                    "3",
		`String s = "abc"; s.substring(1).toUpperCase()`:       "BC",
		`"x${1 + 1}y"`: "x2y",
		`if (5 > 3 && !false) { return "yes" } else { return "no" }`: "yes",
		`null ?: "d"`:             "d",
		`"a,b".split(",").length`: "2",
		`new groovy.json.JsonSlurper().parseText('{"a":[1,{"b":"c"}]}').a[1].b`: "c",
		`new Date().format("yyyy")`:             "2024",
		`Integer.parseInt("12") % 5`:            "2",
		`"abc" ==~ /*no*/ "a.c"`:                "true",
		`vars.put("z", "1"); vars.get("z") as_`: "",
	} {
		t.Run(src, func(t *testing.T) {
			c, err := compileCode(src, groovy)
			if want == "" {
				if err == nil {
					t.Error("it is translated")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var threads sync.WaitGroup // share what is compiled
			for range 4 {
				threads.Go(func() {
					v, err := c.runCode(testThread(nil), nil, nil, nil)
					if err != nil || show(v) != want {
						t.Errorf("got %v (%v), want %s", v, err, want)
					}
				})
			}
			threads.Wait()
		})
	}
}

// A sample fails by its first assertion that failed, and not by one that holds and has a message as well.
func TestFailuresOfSamples(t *testing.T) {
	holds := assertResult{name: "holds", message: "as it should be"}
	for want, r := range map[string]*result{
		"500 broken":     {code: "500", message: "broken", failure: holds.message, asserts: []assertResult{holds}},
		"assertion no a": {code: "200", asserts: []assertResult{holds, {failed: true, message: "no a"}}},
	} {
		if f := (&thread{}).ends(r).Failure; f.Code+" "+f.Text != want {
			t.Errorf("got %s %s, want %s", f.Code, f.Text, want)
		}
	}
}

// A thread that stops because of a failed sample has given up, which fails the run whatever its rules say. One that
// stops because the plan says so hasn't.
func TestThreadsThatGiveUp(t *testing.T) {
	site := newSite(t)
	requests := requestTo(site.Server, "good", "/hello") + requestTo(site.Server, "bad", "/status/500")
	const stop = `<TestAction testname="stop"><intProp name="ActionProcessor.action">0</intProp></TestAction><hashTree/>`
	const result = `<ResultAction testname="r"><intProp name="OnError.action">1</intProp></ResultAction><hashTree/>`
	for name, c := range map[string]struct{ onError, elements, want string }{
		"they go on":           {"continue", requests, verdict.Pass},
		"the group stops them": {"stopthread", requests, verdict.Fail},
		"… the test":           {"stoptest", requests, verdict.Fail},
		"an element does":      {"continue", requests + result, verdict.Fail},
		"the plan does":        {"continue", requests + stop, verdict.Pass},
	} {
		dir := t.TempDir()
		plan, bundle := filepath.Join(dir, "plan.jmx"), filepath.Join(dir, "run")
		text := strings.Replace(alone(c.elements), "</ThreadGroup>",
			`<stringProp name="ThreadGroup.on_sample_error">`+c.onError+`</stringProp></ThreadGroup>`, 1)
		if err := os.WriteFile(plan, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := &command.Env{Program: "jmeter", Version: "test", Out: io.Discard, Err: io.Discard}
		err := execute(s, []string{"-n", "-t", plan, "--bundle", bundle, "--threshold", "errors < 60%"})
		b, opened := record.Open(record.OS{}, bundle)
		if opened != nil {
			t.Fatalf("%s: %v, %v", name, err, opened)
		}
		if v := b.Run.Verdict; v.Result != c.want {
			t.Errorf("%s: %s because %q, want %s", name, v.Result, v.Reasons, c.want)
		}
	}
}

func TestJSONPath(t *testing.T) {
	const doc = `{"a":{"b":[{"id":1,"n":"x"},{"id":2,"n":"y"},{"id":3}]},"t":"v","n":1.50,"z":null}`
	for path, want := range map[string]string{
		"$.t": "v", "$.n": "1.50", "$['a'].b[0].id": "1", "$.a.b[-1].id": "3", "$.a.b[*].id": "1,2,3", "$..n": "1.50,x,y",
		"$.a.b[?(@.id > 1)].id": "2,3", "$.a.b[?(@.n == 'x' || @.id == 3)].id": "1,3", "$.a.b[?(@.n =~ /X/i)].id": "1",
		"$.a.b[0:2].n": "x,y", "$.a.b.length()": "3", "$.a.b[0]": `{"id":1,"n":"x"}`, "$.z": "", "$.none": "",
		"$.a.b[?(@.n)].n": "x,y", "$.a.b[0,2].id": "1,3",
	} {
		t.Run(path, func(t *testing.T) {
			got, err := evalJSONPath(path, doc)
			if err != nil || strings.Join(got, ",") != want {
				t.Errorf("got %q (%v), want %q", got, err, want)
			}
		})
	}
}

// TestTimersAddUp: all timers in scope run before each sampler.
func TestTimersAddUp(t *testing.T) {
	timer := func(ms int, enabled bool) string {
		return fmt.Sprintf(`<ConstantTimer testname="t" enabled="%t"><stringProp name="ConstantTimer.delay">%d`+
			`</stringProp></ConstantTimer><hashTree/>`, enabled, ms)
	}
	sampler := func(name, below string) string {
		return `<HTTPSamplerProxy testname="` + name + `"><stringProp name="HTTPSampler.domain">127.0.0.1</stringProp>` +
			`</HTTPSamplerProxy><hashTree>` + below + `</hashTree>`
	}
	p, faults, _ := compiled(around(timer(100, true)+timer(7, false)+sampler("a", timer(20, true))+
		`<GenericController testname="c"/><hashTree>`+sampler("b", "")+timer(3, true)+`</hashTree>`), nil)
	if len(faults) > 0 {
		t.Fatal(faults[0])
	}
	want := map[string]time.Duration{"h": 100 * time.Millisecond, "a": 120 * time.Millisecond,
		"b": 103 * time.Millisecond}
	for _, s := range p.samplers {
		th := testThread(nil)
		th.leaf = &leaf{s: s}
		if got := th.time(); got != want[s.name.raw] {
			t.Errorf("%s: got %s, want %s", s.name.raw, got, want[s.name.raw])
		}
	}
}

// TestConstantThroughput: the timer counts samples a minute, and shares them by its mode.
func TestConstantThroughput(t *testing.T) {
	for mode, want := range map[throughputMode]time.Duration{thisThread: 100, allThreads: 400, allThreadsOfGroup: 200,
		allShared: 100, groupShared: 100} {
		d := &throughputTimer{rate: text{raw: "600"}, mode: mode, last: map[*group]time.Time{}}
		th := testThread(nil)
		th.program.active, th.program.actives[th.group] = 4, 2
		d.wait(th, nil)
		if got, _ := d.wait(th, nil); got != want*time.Millisecond {
			t.Errorf("mode %d: got %s, want %d ms", mode, got, want)
		}
	}
}

// TestPoisson: mean and variance of a Poisson distribution are its parameter.
func TestPoisson(t *testing.T) {
	for _, lambda := range []float64{3, 300} {
		r := newRandom(1, 2)
		const n = 20_000
		var sum, squares float64
		for range n {
			v := poisson(r, lambda)
			sum, squares = sum+v, squares+v*v
		}
		mean := sum / n
		if variance := squares/n - mean*mean; math.Abs(mean-lambda) > 0.03*lambda ||
			math.Abs(variance-lambda) > 0.06*lambda {
			t.Errorf("λ %g: mean %g, variance %g", lambda, mean, variance)
		}
	}
}

func TestOptions(t *testing.T) {
	for line, want := range map[string]string{
		"-n -t a.jmx -l b.jtl -Ja=1 -J b=2 -Gc=3": "",
		"-t a.jmx":               "add -n",
		"-n":                     "name a test plan",
		"-n -t a.jmx -g b.jtl":   "brunt report --html",
		"-n -t a.jmx -r":         "--workers",
		"-n -t a.jmx -H proxy":   "both -H HOST and -P PORT",
		"-n -t":                  "needs a value",
		"-n -t a.jmx --logfil x": "did you mean --logfile?",
		"a.jmx":                  "given by -t",
	} {
		o, err := ParseOptions(strings.Fields(line))
		switch {
		case want == "" && (err != nil || o.Props["a"] != "1" || o.Props["b"] != "2" || o.Props["c"] != "3"):
			t.Errorf("%s: %v %v", line, o, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want %s", line, err, want)
		}
	}
}

func TestParseResult(t *testing.T) {
	text := columns + "\n1000,20,a,200,OK,t 1-1,text,true,,1,1,1,2,http://x/,20,0,0\n" +
		"1020,40,a,500,no,t 1-1,text,false,\"a, b\",1,1,1,2,http://x/,20,0,0\n" +
		"1000,60,tx,200,,t 1-1,,true,,1,1,1,1,null,20,0,0\n"
	if !isResult([]byte(text), nil) {
		t.Error("it isn't recognized")
	}
	r, err := ParseResult([]byte(text))
	if err != nil || r.Sessions != 2 {
		t.Errorf("%v %v", r, err)
	}
	if _, err := ParseResult([]byte(columns + "\n1000,2")); err == nil {
		t.Error("a file that was cut off is read")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(around(""))
	for _, name := range []string{"06-regex", "09-controllers", "18-groovy", "20-pages"} {
		if b, err := os.ReadFile("testdata/plans/" + name + ".jmx"); err == nil {
			f.Add(string(b))
		}
	}
	f.Fuzz(func(_ *testing.T, s string) { compiled(s, nil) })
}

func FuzzText(f *testing.F) {
	f.Add("${a}${__P(x,${__V(y)})}\\,")
	f.Fuzz(func(_ *testing.T, s string) { _, _ = parseText(s) })
}

func FuzzScript(f *testing.F) {
	f.Add("def x = [1, 2]; for (y in x) { vars.put('a', \"${y}\") }")
	f.Fuzz(func(_ *testing.T, s string) {
		if c, err := compileCode(s, groovy); err == nil && !strings.Contains(s, "while") && !strings.Contains(s, "for") {
			_, _ = c.runCode(testThread(nil), nil, nil, nil)
		}
	})
}

func FuzzPaths(f *testing.F) {
	f.Add("$..a[?(@.b == 'c')]", `{"a":[{"b":"c"}]}`)
	f.Fuzz(func(_ *testing.T, path, doc string) {
		_, _ = evalJSONPath(path, doc)
		_, _ = evalXPath(path, doc, false, true)
	})
}

// FuzzPlace holds the URLs that a thread makes of its last place against those that are parsed.
func FuzzPlace(f *testing.F) {
	f.Add("http", "example.org", "8080", "/books?author=a%20b", "/books/1")
	f.Add("https", "example.org", "443", "/a%2Fb", "/?")
	f.Add("http", "user@example.org/under", "", "/a//b?x?y", "/a#b")
	f.Fuzz(func(t *testing.T, protocol, host, port, first, second string) {
		var kept place
		for _, path := range []string{"/" + first, "/" + second, "/" + first} {
			want, wrong := new(place).join(protocol, host, port, path)
			got, err := kept.join(protocol, host, port, path)
			if fmt.Sprint(err) != fmt.Sprint(wrong) || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s, %s, %s, %s: %v, %v; parsed it is %v, %v", protocol, host, port, path, got, err, want, wrong)
			}
		}
	})
}
