package tank

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"brunt/internal/protocol"
)

// planOf returns the plan of a configuration with a list of one path, or the faults.
func planOf(t *testing.T, load string) (*Config, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	for file, text := range map[string]string{"load.yaml": load, "list": "/a t\n", "calls": `{"call": "a.B.C"}`} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Load(&Options{Configs: []string{"load.yaml"}})
}

// Instances start when Pandora 0.5.29's schedules say, in ms.
func TestStartups(t *testing.T) {
	for startup, want := range map[string]string{
		"{type: once, times: 3}":                                           "[0 0 0]",
		"{type: const, ops: 2, duration: 2s}":                              "[0 500 1000 1500]",
		"{type: line, from: 0, to: 4, duration: 2s}":                       "[0 1000 1414 1732]",
		"{type: step, from: 1, to: 3, step: 1, duration: 1s}":              "[0 1000 1500 2000 2333 2666]",
		"{type: instance_step, from: 1, to: 3, step: 2, stepduration: 1s}": "[0 1000 1000]",
		"[{type: const, ops: 0, duration: 2s}, {type: once, times: 1}]":    "[2000]",
		"{type: composite, nested: [{type: once, times: 1}, {type: composite, nested: [{type: const, ops: 1, duration: 1s}]}, " +
			"{type: once, times: 1}]}": "[0 0 1000]",
	} {
		t.Run(startup, func(t *testing.T) {
			c, err := planOf(t, pooled("{type: unlimited, duration: 9s}", startup))
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(c.streams[0].load.startsMs); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

// Requests that are due at once stand among other steps, nested in others or not.
func TestComposedSchedules(t *testing.T) {
	c, err := planOf(t, pooled("[{type: const, ops: 2, duration: 1s}, {type: composite, nested: [{type: once, times: 3}, "+
		"{type: const, ops: 1, duration: 2s}]}]", "{type: once, times: 1}"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Plan()
	if err != nil {
		t.Fatal(err)
	}
	at, end := dueTimes(p.Load)
	if got := fmt.Sprint(at, end); got != "[0s 500ms 1s 1s 1s 1.001s 2.001s] 3.001s" {
		t.Error(got)
	}
	if err := p.Validate(); err != nil {
		t.Error(err)
	}
}

// Functions of variables are called once, before the load.
func TestFunctionsOfVariables(t *testing.T) {
	read := func(text string) (map[string]any, Faults) {
		root, err := parseYAML([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		r, all := &reader{file: "f"}, map[string]any{}
		r.source(root, ".", all)
		return all, r.faults
	}
	all, faults := read(`{type: variables, name: v, variables: {a: "randInt(5, 6)", b: {c: "randString(3, x)", d: uuid}, ` +
		`e: 7, f: plain, g: ["randInt(1, 2)"]}}`)
	v, _ := all["v"].(map[string]any)
	inner, _ := v["b"].(map[string]any)
	got := strings.TrimSpace(fmt.Sprintln(v["a"], inner["c"], v["e"], v["f"], v["g"]))
	if got != "5 xxx 7 plain [randInt(1, 2)]" ||
		len(fmt.Sprint(inner["d"])) != 36 || len(faults) > 0 {
		t.Error(all, faults)
	}
	if _, faults := read(`{type: variables, name: v, variables: {a: "randInt(x)"}}`); len(faults) != 1 ||
		faults[0] != `f:1:1: v: a: randInt: "x" is no whole number` {
		t.Error(faults)
	}
}

// Calls share connections if the gun says so, each instance has one otherwise.
func TestSharedClients(t *testing.T) {
	for startup, want := range map[string]string{"{type: once, times: 10}": "3 4",
		"{type: const, ops: 5, duration: 2s}": "10 0"} {
		for _, rps := range []string{"{type: unlimited, duration: 9s}", "{type: const, ops: 5, duration: 9s}"} {
			load := strings.NewReplacer("type: http", "type: grpc, shared-client: {enabled: true, client-number: 3}",
				"type: uri, uris: [/]", "type: grpc/json, file: calls").Replace(pooled(rps, startup))
			c, err := planOf(t, load)
			if err != nil {
				t.Fatal(err)
			}
			p, err := c.Plan()
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(rps, "const") {
				want = "3 4" // they are opened when requests need them
			}
			if got := fmt.Sprint(p.Settings.Sessions, p.Settings.Pipeline); got != want {
				t.Errorf("%s, %s: sessions and calls on each are %s, want %s", rps, startup, got, want)
			}
			if noted := strings.Contains(fmt.Sprint(c.notes), "shared-client"); noted != (want == "10 0") {
				t.Errorf("%s, %s: notes %s", rps, startup, c.notes)
			}
			if err := p.Validate(); err != nil {
				t.Error(err)
			}
		}
	}
}

// The gun connect asks its target for a tunnel to the target.
func TestGunConnect(t *testing.T) {
	for with, want := range map[string]string{"": "http://127.0.0.1:1", ", connect-ssl: true": "https://127.0.0.1:1"} {
		c, err := planOf(t, strings.Replace(pandoraWith("connect", "uri", "list"), "connect,", "connect"+with+",", 1))
		if err != nil {
			t.Fatal(err)
		}
		p, err := c.Plan()
		if err != nil || p.Target.Way.Via != want || p.Target.Addresses[0] != "127.0.0.1:1" {
			t.Errorf("%s: %+v, %v", with, p.Target, err)
		}
	}
}

// The numbers are those that the generators write (phantom's method_stream.C, Pandora's sample.go, BFG's guns.py).
func TestNetCodes(t *testing.T) {
	for _, c := range []struct {
		class                protocol.Class
		text                 string
		sent                 bool
		phantom, pandora, by int // by: BFG's
	}{
		{protocol.OK, "", true, 0, 0, 0},
		{protocol.Server, "500", true, 0, 0, 0},
		{protocol.Connect, "can't connect to h: connection refused", false, 111, 111, 1},
		{protocol.Connect, "can't connect to h: no route to host", false, 113, 113, 1},
		{protocol.Timeout, "no answer", true, 110, 110, 1},
		{protocol.UnknownOutcome, "read tcp: connection reset by peer", true, 104, 104, 1},
		{protocol.Connect, "write tcp: broken pipe", true, 32, 32, 1},
		{protocol.UnknownOutcome, "the server closed the connection before it answered", true, 71, 999, 1},
		{protocol.Protocol, "the answer isn't HTTP", true, 71, 999, 1},
		{protocol.UnknownOutcome, "", false, 104, 104, 1},
		{protocol.Client, "a bad argument", false, 999, 999, 999},
	} {
		for generator, want := range map[string]int{"phantom": c.phantom, "pandora": c.pandora, "bfg": c.by} {
			if got := netCode(generator, c.class, c.text, c.sent); got != want {
				t.Errorf("%s, %s %q: %d, want %d", generator, c.class, c.text, got, want)
			}
		}
	}
}

// The exit codes are those of Tank (common/interfaces.py).
func TestExitCodesOfAutostop(t *testing.T) {
	for name, code := range map[string]int{"time": 21, "quantile": 21, "limit": 21, "http": 22, "net": 23, "instances": 24,
		"total_time": 25, "total_http": 26, "total_net": 27, "negative_http": 28, "negative_net": 29, "http_trend": 30} {
		rule, err := parseCriterion(parsers[name].form, 10)
		if err != nil {
			t.Fatal(err)
		}
		e := &execution{cause: rule}
		if got := e.code(false); got != code || rule.source() != parsers[name].form {
			t.Errorf("%s: exit code %d, want %d", name, got, code)
		}
	}
	if len(parsers) != len(autostopCodes) {
		t.Error("a criterion has no exit code")
	}
}
