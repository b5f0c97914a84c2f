package acceptance_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"brunt/internal/protocol"
	"brunt/test/shell"
)

// A request whose connection ends before the answer may have changed something only if its method does: with every tool
// for HTTP, over both tiers.
func TestRequestsWithoutAnswersOfTools(t *testing.T) {
	t.Parallel()
	ends := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler)
	})
	plain, secure := httptest.NewServer(ends), httptest.NewTLSServer(ends)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	host, port, err := net.SplitHostPort(plain.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"GET", "POST"} {
		fill := func(text string) string {
			return strings.NewReplacer("METHOD", method, "HOST", host, "PORT", port, "SECURE", secure.URL, "URL", plain.URL).
				Replace(text)
		}
		file := func(name, text string) string { return shell.File(t, name, fill(text)) }
		lua := file("script.lua", `wrk.method = "METHOD"`)
		script := file("script.js", `import http from "k6/http";
			export const options = { iterations: 5, insecureSkipTLSVerify: true };
			export default function () { http.request("METHOD", __ENV.TO + "/", null) }`)
		tank := func(gun, ammo, list string) string {
			return "tank -c " + file("load.yaml", fmt.Sprintf(unansweredTank, gun, ammo, list)) +
				" -o core.artifacts_base_dir=" + t.TempDir()
		}
		for name, line := range map[string]string{
			"http":          "http -X METHOD -n 5 --rate 100 URL/",
			"http over TLS": "http -k -X METHOD -n 5 --rate 100 SECURE/",
			"hey":           "hey -m METHOD -n 5 -c 1 URL/",
			"wrk":           "wrk -t1 -c1 -d1s -s " + lua + " URL/",
			"wrk over TLS":  "wrk -t1 -c1 -d1s -s " + lua + " SECURE/",
			"jmeter":        "jmeter -n -t " + file("plan.jmx", strings.ReplaceAll(unansweredJMeter, "SCHEME", "http")),
			"tank":          tank("http", "http/json", file("list.json", `{"host": "h", "method": "METHOD", "uri": "/"}`)),
			"tank, a scenario": tank("http/scenario", "http/scenario", file("play.yaml", "requests: [{name: one, "+
				"method: METHOD, uri: /}]\nscenarios: [{name: all, requests: [one]}]\n")),
			"k6":          "k6 run -e TO=URL " + script,
			"k6 over TLS": "k6 run -e TO=SECURE " + script,
		} {
			t.Run(method+"/"+name, func(t *testing.T) {
				o, args := outcome{}, strings.Fields(fill(line))
				if args[0] == "k6" { // it ends the process, so it has one of its own
					dir := filepath.Join(t.TempDir(), "bundle")
					o = spawnWith(t, t.TempDir(), []string{"BRUNT_BUNDLE=" + dir}, args...).wait()
					o.run = readRun(t, dir)
				} else {
					o = load(t, args...)
				}
				if o.run == nil {
					t.Fatalf("no record: %s%s", o.out, o.err)
				}
				lost, unknown := o.run.Total.Errors[protocol.Connect], o.run.Total.Errors[protocol.UnknownOutcome]
				if method == "GET" && (lost == 0 || unknown > 0) || method == "POST" && unknown == 0 ||
					o.run.Total.OK > 0 {
					t.Errorf("connect %d, unknown outcome %d, of %+v", lost, unknown, o.run.Total.Counts)
				}
			})
		}
	}
}

const unansweredJMeter = `<?xml version="1.0" encoding="UTF-8"?>
<jmeterTestPlan version="1.2" properties="5.0" jmeter="5.6.3"><hashTree>
<TestPlan testname="P" enabled="true"/><hashTree>
<ThreadGroup testname="G" enabled="true"><elementProp name="ThreadGroup.main_controller" elementType="LoopController">
  <boolProp name="LoopController.continue_forever">false</boolProp>
<stringProp name="LoopController.loops">5</stringProp></elementProp>
<stringProp name="ThreadGroup.num_threads">1</stringProp></ThreadGroup><hashTree>
<HTTPSamplerProxy testname="h" enabled="true"><stringProp name="HTTPSampler.domain">HOST</stringProp>
<stringProp name="HTTPSampler.port">PORT</stringProp><stringProp name="HTTPSampler.path">/</stringProp>
<stringProp name="HTTPSampler.method">METHOD</stringProp></HTTPSamplerProxy><hashTree/>
</hashTree></hashTree></hashTree></jmeterTestPlan>`

const unansweredTank = `pandora:
  enabled: true
  config_content:
    pools:
      - gun: {type: %s, target: "HOST:PORT"}
        ammo: {type: %s, file: %s}
        rps: {type: const, ops: 20, duration: 500ms}
        startup: {type: once, times: 1}
`
