package tools_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"

	"brunt/internal/record/recordtest"
	"brunt/test/shell"
	"brunt/test/testserver/grpcserver"
)

// tanked is a server that keeps its requests, and fails those below /bad.
type tanked struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string
}

func newTanked(t *testing.T) *tanked {
	s := &tanked{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.requests = append(s.requests, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+r.Host+" "+string(body)))
		s.mu.Unlock()
		if strings.HasPrefix(r.URL.Path, "/eof") {
			panic(http.ErrAbortHandler)
		}
		if strings.HasPrefix(r.URL.Path, "/bad") {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = io.WriteString(w, `{"token": "abc", "items": [7, 8]}`)
	}))
	t.Cleanup(s.Close)
	return s
}

// tank runs a configuration.
func (s *tanked) tank(t *testing.T, config string, args ...string) (o shell.Outcome, phout []string) {
	t.Helper()
	path, artifacts := s.config(t, config)
	o = shell.Run(t, "brunt tank", append([]string{"-c", path}, args...)...)
	text, err := os.ReadFile(filepath.Join(artifacts, "phout.log"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		phout = append(phout, strings.TrimSuffix(line, "\n"))
	}
	return o, phout
}

// config writes a configuration, in which ADDRESS is that of the server. It returns its path and the folder of
// artifacts.
func (s *tanked) config(t *testing.T, text string) (path, artifacts string) {
	t.Helper()
	folder := t.TempDir()
	path = filepath.Join(folder, "load.yaml")
	shell.Put(t, path, strings.ReplaceAll(text, "ADDRESS", s.Listener.Addr().String())+
		"core: {artifacts_base_dir: "+folder+", artifacts_dir: out}\n")
	return path, filepath.Join(folder, "out")
}

// column returns one column of a phout.
func column(t *testing.T, phout []string, n int) string {
	t.Helper()
	var all []string
	for _, line := range phout {
		words := strings.Split(line, "\t")
		if len(words) != 12 {
			t.Fatalf("%q has %d columns", line, len(words))
		}
		all = append(all, words[n])
	}
	return strings.Join(all, " ")
}

func TestTankSendsItsList(t *testing.T) {
	s := newTanked(t)
	o, phout := s.tank(t, `
phantom:
  enabled: true
  address: ADDRESS
  load_profile: {load_type: instances, schedule: "const(1, 1s)"}
  uris: [/a, /bad/x, /c]
  headers: ["[Host: shop]", "[Connection: keep-alive]"]
  autocases: 1
  enum_ammo: true
  loop: 2
`, "--threshold", "errors < 50%")
	if o.Code != 0 || !strings.Contains(o.Out, "Requests: 6\n") {
		t.Errorf("exit %d: %s%s", o.Code, o.Out, o.Err)
	}
	if got, want := strings.Join(s.requests, ", "), "GET /a shop, GET /bad/x shop, GET /c shop, GET /a shop, "+
		"GET /bad/x shop, GET /c shop"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := column(t, phout, 1); got != "_a#0 _bad#1 _c#2 _a#3 _bad#4 _c#5" {
		t.Errorf("tags %s", got)
	}
	if got := column(t, phout, 11); got != "200 500 200 200 500 200" {
		t.Errorf("codes %s", got)
	}
}

func TestTankStopsByItself(t *testing.T) {
	s := newTanked(t)
	o, _ := s.tank(t, `
phantom:
  enabled: true
  address: ADDRESS
  load_profile: {load_type: rps, schedule: "const(20, 10m)"}
  uris: [/bad]
autostop: {autostop: ["http(5xx, 50%, 1s)"]}
`)
	if o.Code != 22 || !strings.Contains(o.Out, "Autostop: 5xx codes count higher than 50.0% for 1s") {
		t.Errorf("exit %d: %s%s", o.Code, o.Out, o.Err)
	}
	if want := "the run stopped itself: autostop http(5xx, 50%, 1s)"; !strings.Contains(o.Err, want) ||
		strings.Contains(o.Err, "interrupted") {
		t.Errorf("want %s: %s", want, o.Err)
	}
}

// scenariosOnce is a load.yaml that plays scenarios of a file, n of them by one instance.
func scenariosOnce(file string, n int) string {
	return fmt.Sprintf(`
pandora:
  enabled: true
  config_content:
    pools:
      - gun: {type: http/scenario, target: ADDRESS}
        ammo: {type: http/scenario, file: %s}
        rps: {type: once, times: %d}
        startup: {type: once, times: 1}
`, file, n)
}

func TestTankPlaysScenarios(t *testing.T) {
	s := newTanked(t)
	scenarios := shell.File(t, "scenarios.yaml", `
requests:
  - name: auth
    method: POST
    uri: /auth
    body: '{{.source.v.user}}'
    postprocessors:
      - {type: var/jsonpath, mapping: {token: $.token, items: $.items}}
  - name: order
    uri: /order/{{.request.auth.postprocessor.token}}/{{.request.order.preprocessor.item}}
    preprocessor: {mapping: {item: "request.auth.postprocessor.items[next]"}}
  - {name: check, uri: /bad, postprocessors: [{type: assert/response, status_code: 200}]}
  - {name: never, uri: /never}
variable_sources: [{type: variables, name: v, variables: {user: me}}]
scenarios:
  - {name: s, requests: [auth, "order(2)", check, never]}
`)
	o, phout := s.tank(t, scenariosOnce(scenarios, 2), "--threshold", "errors <= 100%")
	if got, want := strings.Join(s.requests, ", "), "POST /auth 127.0.0.1 me, GET /order/abc/7 127.0.0.1, "+
		"GET /order/abc/8 127.0.0.1, GET /bad 127.0.0.1, POST /auth 127.0.0.1 me, GET /order/abc/7 127.0.0.1, "+
		"GET /order/abc/8 127.0.0.1, GET /bad 127.0.0.1"; got != want {
		t.Errorf("got %s, want %s; exit %d", got, want, o.Code)
	}
	one := "s.auth s.order s.order s.check|__EMPTY__"
	if got := column(t, phout, 1); got != one+" "+one {
		t.Errorf("tags %s", got)
	}
	if got := column(t, phout, 10); got != "0 0 0 999 0 0 0 999" {
		t.Errorf("net codes %s", got)
	}
	s.requests = nil
	s.playsAsPandora(t)
}

// playsAsPandora plays scenarios that end in each way. What is sent, and the phout, are those of Pandora 0.5.29.
func (s *tanked) playsAsPandora(t *testing.T) {
	scenarios := shell.File(t, "scenarios.yaml", `
variable_sources: [{type: variables, name: v, variables: {user: me, num: 7}}]
requests:
  - name: one
    method: POST
    uri: /json?x={{.source.v.num}}
    headers: {Host: my.host}
    body: '{{.source.v.user}}{{if eq .source.v.num 7}}!{{else}}?{{end}}'
    postprocessors: [{type: var/jsonpath, mapping: {all: '$.items[*]', one: '$.items[?(@==8)]', t: $.token}}]
  - name: two
    method: GET
    uri: '/two/{{range $i, $e := .request.one.postprocessor.all}}{{if $i}},{{end}}{{$e}}{{else}}none{{end}}'
  - {name: spaces, method: GET, uri: "/a b/é?q={{len .request.one.postprocessor.one}}|x"}
  - {name: whole, method: GET, uri: "http://abs.example:99/p#frag"}
  - {name: template, method: GET, uri: "/{{index .request.one.postprocessor.all 9}}"}
  - {name: gone, method: POST, uri: /eof}
  - {name: nopath, method: GET, uri: /json, postprocessors: [{type: var/jsonpath, mapping: {x: $.none}}]}
scenarios:
  - {name: s, requests: [one, two, spaces, whole]}
  - {name: t, requests: [one, template, one]}
  - {name: u, requests: [one, gone, one]}
  - {name: w, requests: [one, nopath, one]}
`)
	_, phout := s.tank(t, scenariosOnce(scenarios, 4), "--threshold", "errors <= 100%")
	const one = "POST /json?x=7 127.0.0.1 me!, "
	if got, want := strings.Join(s.requests, ", "), one+"GET /two/7,8 127.0.0.1, "+
		"GET /a%20b/%C3%A9?q=1|x 127.0.0.1, GET /p abs.example:99, "+one+one+"POST /eof 127.0.0.1, "+one+
		"GET /json 127.0.0.1"; got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	if got := column(t, phout, 1); got != "s.one s.two s.spaces s.whole t.one t.template|__EMPTY__ u.one "+
		"u.gone|__EMPTY__ w.one w.nopath|__EMPTY__" {
		t.Errorf("tags %s", got)
	}
	if got := column(t, phout, 10) + " / " + column(t, phout, 11); got !=
		"0 0 0 0 0 999 0 999 0 999 / 200 200 200 200 200 0 200 0 200 0" {
		t.Errorf("codes %s", got)
	}
}

// Parts of multi send at once, each its own list at its own rate to its own address.
func TestTankSendsStreamsTogether(t *testing.T) {
	s, other := newTanked(t), newTanked(t)
	o, phout := s.tank(t, `
phantom:
  enabled: true
  address: ADDRESS
  load_profile: {load_type: rps, schedule: "const(20, 0.5s)"}
  uris: [/a, /b]
  headers: ["[Host: shop]", "[Connection: keep-alive]"]
  autocases: 1
  enum_ammo: true
  multi:
    - {uris: [/c], load_profile: {load_type: rps, schedule: "const(4, 0.5s)"}}
    - {uris: [/a], address: "`+other.Listener.Addr().String()+`", enum_ammo: false}
`)
	if !strings.Contains(o.Out, "Requests: 22\n") {
		t.Errorf("exit %d: %s%s", o.Code, o.Out, o.Err)
	}
	counts := map[string]int{}
	for _, r := range s.requests {
		counts[r]++
	}
	if got := fmt.Sprint(counts); got != "map[GET /a shop:5 GET /b shop:5 GET /c shop:2]" || len(other.requests) != 10 {
		t.Errorf("the first server received %s, the other %d requests", got, len(other.requests))
	}
	tags := strings.Fields(column(t, phout, 1))
	slices.Sort(tags)
	if got := strings.Join(slices.Compact(tags), " "); got != "_a _a#0 _a#2 _a#4 _a#6 _a#8 _b#1 _b#3 _b#5 _b#7 _b#9 _c#0 _c#1" {
		t.Errorf("tags %s", got)
	}
}

// Workers share the schedule, and autostop judges all of them together.
func TestTankOnWorkers(t *testing.T) {
	s := newTanked(t)
	path, artifacts := s.config(t, `
phantom:
  enabled: true
  address: ADDRESS
  load_profile: {load_type: rps, schedule: "const(40, 10m)"}
  uris: [/good, /bad]
  autocases: 1
autostop: {autostop: ["http(5xx, 60%, 1s)", "http(5xx, 90%, 1s, _good)", "http(5xx, 90%, 1s, _bad)"]}
`)
	bundle := filepath.Join(t.TempDir(), "bundle")
	cmd, output := shell.Start(t, nil, "brunt", "tank", "-c", path, "--workers", "2", "--bundle", bundle)
	_ = cmd.Wait() // the code says it
	said := shell.Said(t, output)
	if code := cmd.ProcessState.ExitCode(); code != 22 || !strings.Contains(said, "_good\n") ||
		!strings.Contains(said, "Autostop: 5xx codes count higher than 90.0% for 1s for tag _bad") {
		t.Errorf("exit %d", code)
	}
	if text, err := os.ReadFile(filepath.Join(artifacts, "autostop_report.txt")); err != nil ||
		string(text) != "http(5xx, 90%, 1s, _bad)" {
		t.Errorf("the report of autostop is %q, %v", text, err)
	}
	if run := recordtest.Result(t, bundle); run.Interrupted || !strings.Contains(run.Aborted.String(), "90%, 1s, _bad") {
		t.Errorf("interrupted %v, stopped by %q", run.Interrupted, run.Aborted)
	}
	if _, err := os.Stat(filepath.Join(artifacts, "phout.log")); err == nil {
		t.Error("there is a phout, whose requests aren't known")
	}
}

// echo starts a server of gRPC that describes its methods to those who send the metadata "token" with the value "x".
// kinds returns the values of the metadata "kind" that it has received.
func echo(t *testing.T) (address string, kinds func() []string) {
	t.Helper()
	var mu sync.Mutex
	var all []string
	seen := grpcserver.Seen(func(md metadata.MD) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, md.Get("kind")...)
	})
	server := grpcserver.Start(t, grpcserver.Reflection("v1"), grpcserver.Guarded("token", "x"), seen)
	return server.Addr, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// Calls of gRPC have their statuses as those of HTTP, and no error numbers. Metadata for reflection goes nowhere else.
func TestTankSendsCalls(t *testing.T) {
	address, kinds := echo(t)
	list := shell.List(t, `{"tag": "say", "call": "brunt.test.Echo.Say", "metadata": {"Kind": "a"}, "payload": {"text": "a$"}}`,
		`{"tag": "gone", "call": "brunt.test.Echo.End", "payload": {"code": 5, "text": "gone"}}`,
		`{"tag": "denied", "call": "brunt.test.Echo.End", "payload": {"code": 16}}`)
	s := newTanked(t)
	o, phout := s.tank(t, `
pandora:
  enabled: true
  config_content:
    pools:
      - gun: {type: grpc, target: "`+address+`", timeout: 5s, reflect_metadata: {Token: x}}
        ammo: {type: grpc/json, file: `+list+`, passes: 2}
        rps: {type: unlimited, duration: 10m}
        startup: {type: once, times: 1}
`, "--threshold", "errors <= 100%")
	if o.Code != 0 {
		t.Errorf("exit %d", o.Code)
	}
	if got := column(t, phout, 1); got != "say gone denied say gone denied" {
		t.Errorf("tags %s", got)
	}
	if got := column(t, phout, 11) + " net " + column(t, phout, 10); got != "200 404 401 200 404 401 net 0 0 0 0 0 0" {
		t.Errorf("codes %s", got)
	}
	if got := strings.Join(kinds(), " "); got != "a a" {
		t.Errorf("calls with the metadata kind %s, want a a", got)
	}
	path, _ := s.config(t, `
pandora:
  enabled: true
  config_content:
    pools:
      - gun: {type: grpc, target: "`+address+`", reflect_metadata: {Token: x}, shared-client: {enabled: true}}
        ammo: {type: grpc/json, file: `+shell.List(t, `{"call": "brunt.test.Echo.List"}`)+`}
        rps: {type: const, ops: 10, duration: 1s}
        startup: {type: once, times: 5}
`)
	if o := shell.Run(t, "brunt tank", "-c", path); o.Code != 104 ||
		!strings.Contains(o.Err, "brunt.test.Echo/List streams messages") {
		t.Errorf("exit %d: %s", o.Code, o.Err)
	}
}

// Calls of scenarios have variables from files, and from answers. Only an assertion ends a scenario.
func TestTankPlaysCalls(t *testing.T) {
	address, kinds := echo(t)
	scenarios := shell.File(t, "scenarios.hcl", `
variable_source "v" "variables" {
  variables = { word = "hello", size = "7" }
}
call "say" {
  call = "brunt.test.Echo.Say"
  tag  = "one"
  preprocessor "prepare" {
    mapping = { n = "source.v.size" }
  }
  payload = "{\"text\": \"{{.source.v.word}}\", \"number\": {{.request.say.preprocessor.n}}, \"list\": [4, 5]}"
}
call "again" {
  call     = "brunt.test.Echo.Say"
  tag      = "two"
  metadata = { Kind = "k-{{.request.say.postprocessor.text}}-{{.request.say.postprocessor.number}}" }
  preprocessor "prepare" {
    mapping = { item = "request.say.postprocessor.list[last]" }
  }
  payload = "{\"text\": \"{{.request.again.preprocessor.item}}\"}"
  postprocessor "assert/response" {
    payload     = ["text:\"5\""]
    status_code = 200
  }
}
call "loop" {
  call     = "brunt.test.Echo.Say"
  tag      = "loop"
  metadata = { Kind = "{{if .request.again.postprocessor.text}}yes{{else}}no{{end}}" }
  payload  = <<EOF
{"list": [{{range $i, $e := .request.say.postprocessor.list}}{{if $i}}, {{end}}{{$e}}{{end}}],
 {{with .source.v}}"inner": {"text": "{{.word}} \"}"}{{end}}, "tags": {"{{randString 3 "a"}}": "b"}, "color": "BLUE"}
EOF
  postprocessor "assert/response" {
    payload = ["list:4 list:5 tags:<key:\"aaa\" value:\"b\"> color:BLUE inner:<text:\"hello \\\"}\">"]
  }
}
call "unfit" {
  call    = "brunt.test.Echo.Say"
  tag     = "unfit"
  payload = "{ {{if true}}\"number\"{{end}}: \"{{.source.v.word}}\"}"
}
call "gone" {
  call    = "brunt.test.Echo.End"
  tag     = "three"
  payload = "{\"code\": 5}"
}
call "check" {
  call    = "brunt.test.Echo.End"
  tag     = "four"
  payload = "{\"code\": 16}"
  postprocessor "assert/response" { status_code = 200 }
}
scenario "s" {
  requests = ["say", "again", "loop", "gone(2)", "check", "say"]
}
scenario "t" {
  requests = ["unfit", "say"]
}
`)
	s := newTanked(t)
	o, phout := s.tank(t, `
pandora:
  enabled: true
  config_content:
    pools:
      - gun: {type: grpc/scenario, target: "`+address+`", reflect_metadata: {token: x}}
        ammo: {type: grpc/scenario, file: `+scenarios+`}
        rps: {type: once, times: 4}
        startup: {type: once, times: 1}
`, "--threshold", "errors <= 100%")
	one := "s.one s.two s.loop s.three s.three s.four t.unfit"
	if got := column(t, phout, 1); got != one+" "+one {
		t.Errorf("exit %d, tags %s", o.Code, got)
	}
	if got := column(t, phout, 11); got != "200 200 200 404 404 401 400 200 200 200 404 404 401 400" {
		t.Errorf("codes %s", got)
	}
	if got := strings.Join(kinds(), " "); got != "k-hello-7 yes k-hello-7 yes" {
		t.Errorf("metadata %s", got)
	}
}

// Lists of Pandora's are sent as the examples say, each to a real server.
func TestTanksExamplesOfLists(t *testing.T) {
	t.Chdir("../../..")
	s := newTanked(t)
	grpc, reflection := grpcserver.Start(t), grpcserver.Start(t, grpcserver.Reflection("v1"))
	_, reflectPort, _ := net.SplitHostPort(reflection.Addr)
	for _, c := range []struct {
		name        string
		tags, codes string // of the first three requests, sorted
		count       int
		sent        string // a request that the server has seen
	}{
		{"raw", "add list main", "200 200 200", 12, `POST /cars shop.example {"car_id": "21", "model": "zil"}`},
		{"json", "add list list", "200 200 200", 10, `POST /cars shop.example {"car_id": "22", "model": "gaz"}`},
		{"grpc", "gone say say", "200 200 404", 12, ""},
	} {
		text, err := os.ReadFile("examples/tank/" + c.name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		config := strings.NewReplacer("127.0.0.1:8080", "ADDRESS", "startup:", "discard_overflow: false\n        startup:",
			"127.0.0.1:50051, ",
			grpc.Addr+", shared-client: {enabled: true, client-number: 2}, reflect_port: "+reflectPort+", ").Replace(string(text))
		o, phout := s.tank(t, config, "--quiet", "--threshold", "errors < 50%")
		if o.Code != 0 && o.Code != 98 || len(phout) != c.count { // 98: a busy machine sends late
			t.Errorf("%s: exit %d, %d requests\n%s%s", c.name, o.Code, len(phout), o.Out, o.Err)
			continue
		}
		first := func(n int) string {
			words := strings.Fields(column(t, phout[:3], n))
			slices.Sort(words)
			return strings.Join(words, " ")
		}
		if first(1) != c.tags || first(11) != c.codes {
			t.Errorf("%s: tags %s, codes %s", c.name, first(1), first(11))
		}
		if c.sent != "" && !slices.Contains(s.requests, c.sent) {
			t.Errorf("%s: no %s among %q", c.name, c.sent, s.requests)
		}
	}
	if slices.ContainsFunc(s.requests, func(r string) bool { return strings.Contains(r, "/cars/22") }) {
		t.Error("a request with another tag was sent")
	}
}

// One instance can't keep to the schedule: the rest is sent late, until the schedule's total is reached, also after
// the timeout of a request.
func TestTankSendsWhatIsLate(t *testing.T) {
	var sent atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		time.Sleep(5 * time.Millisecond) // what an answer takes
		sent.Add(1)
	}))
	t.Cleanup(server.Close)
	s := &tanked{Server: server}
	o, phout := s.tank(t, `
phantom:
  enabled: true
  address: ADDRESS
  timeout: 1s
  load_profile: {load_type: rps, schedule: "const(3000, 0.1s)"}
  instances: 1
  uris: [/a]
`, "--threshold", "errors <= 100%")
	if sent.Load() != 300 || len(phout) != 300 || !strings.Contains(o.Out, "Requests: 300\n") {
		t.Errorf("%d of 300 requests were sent, %d are in the phout\n%s", sent.Load(), len(phout), o.Out)
	}
	// Pandora drops what is late, and writes that in the phout.
	sent.Store(0)
	o, phout = s.tank(t, `
pandora:
  enabled: true
  config_content:
    pools:
      - gun: {type: http, target: ADDRESS}
        ammo: {type: http, decoder: uri, uris: [/a]}
        rps: {type: const, ops: 3000, duration: 0.1s}
        startup: {type: once, times: 1}
`, "--threshold", "errors <= 100%")
	discarded := strings.Count(" "+column(t, phout, 1), " discarded")
	if discarded == 0 || len(phout) != 300 || int(sent.Load()) != 300-discarded ||
		strings.Count(" "+column(t, phout, 10)+" ", " 777") != discarded {
		t.Errorf("%d requests were sent, %d of %d lines of the phout are discarded\n%s", sent.Load(), discarded, len(phout),
			o.Out)
	}
}

// A plan that an example becomes sends the same requests as the example.
func TestTanksExamplesAsPlans(t *testing.T) {
	t.Chdir("../../..")
	t.Setenv("BRUNT_SECRET_SECRET_COOKIE", "session=7") // which plans don't hold
	for _, name := range []string{"load", "uripost", "phantom", "raw", "json", "cars"} {
		text, err := os.ReadFile("examples/tank/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		var sent [2]string
		for i := range sent {
			s := newTanked(t)
			path, _ := s.config(t, strings.NewReplacer("127.0.0.1:8080", "ADDRESS", " 2s", " 0.2s", " 1s", " 0.2s",
				"startup:", "discard_overflow: false\n        startup:").Replace(string(text)))
			program, args := "brunt tank", []string{"--quiet", "-c", path}
			if i > 0 {
				plan := shell.Run(t, "brunt", "convert", "tank", "-c", path).Out
				program, args = "brunt run", []string{"--quiet", shell.File(t, "plan.yml", plan)}
			}
			if o := shell.Run(t, program, append(args, "--seed", "7")...); o.Code == 104 {
				t.Errorf("%v\n%s%s", args, o.Out, o.Err)
			}
			slices.Sort(s.requests)
			sent[i] = strings.Join(s.requests, "\n")
		}
		if sent[0] != sent[1] || sent[0] == "" {
			t.Errorf("%s: the example sent\n%s\nand its plan\n%s", name, sent[0], sent[1])
		}
	}
}

// The examples can be read, and scenarios are the same in each of their forms.
func TestTanksExamples(t *testing.T) {
	t.Chdir("../../..")
	plans := map[string]string{}
	for _, name := range []string{"load", "uripost", "phantom", "cars", "cars-json", "cars-hcl", "raw", "json", "grpc"} {
		o := shell.Run(t, "brunt", "convert", "tank", "-c", "examples/tank/"+name+".yaml")
		if o.Code != 0 {
			t.Fatalf("%s: exit %d\n%s", name, o.Code, o.Err)
		}
		plans[name] = o.Out[strings.Index(o.Out, "\nconfig_name"):]
	}
	if plans["cars-json"] != plans["cars"] || plans["cars-hcl"] != plans["cars"] {
		t.Errorf("the scenarios differ:\n%s\n%s\n%s", plans["cars"], plans["cars-json"], plans["cars-hcl"])
	}
	for name, parts := range map[string][]string{
		"uripost": {"POST /cars HTTP/1.0", `\"model\": \"tesla\"}`},
		"phantom": {"GET / HTTP/1.1", "POST /cars HTTP/1.1", `\"model\": \"volga\"}`},
	} {
		for _, part := range parts {
			if !strings.Contains(plans[name], part) {
				t.Errorf("%s has no %s:\n%s", name, part, plans[name])
			}
		}
	}
}
