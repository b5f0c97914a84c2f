package tools_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"brunt/internal/cli"
	"brunt/internal/judge/exitcode"
	"brunt/test/shell"
	"brunt/test/testserver"
	"brunt/test/testserver/grpcserver"
)

// recordingServer notes requests, and answers them.
type recordingServer struct {
	net.Listener
	mu       sync.Mutex
	requests []string
	answer   func(*bufio.Reader) (request, answer string, err error)
}

func recordRequests(t *testing.T, answer func(*bufio.Reader) (request, answer string, err error)) *recordingServer {
	t.Helper()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &recordingServer{Listener: at, answer: answer}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go l.serve(c)
		}
	}()
	return l
}

func (l *recordingServer) serve(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		request, answer, err := l.answer(r)
		if err != nil {
			return
		}
		l.mu.Lock()
		l.requests = append(l.requests, request)
		l.mu.Unlock()
		io.WriteString(c, answer)
	}
}

// take returns the requests since the last call.
func (l *recordingServer) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.requests
	l.requests = nil
	return all
}

// overHTTP reads a request of HTTP, to the byte.
func overHTTP(r *bufio.Reader) (request, answer string, err error) {
	var whole strings.Builder
	body := 0
	for line := ""; line != "\r\n"; {
		if line, err = r.ReadString('\n'); err != nil {
			return "", "", err
		}
		whole.WriteString(line)
		if name, value, ok := strings.Cut(line, ":"); ok && strings.EqualFold(name, "Content-Length") {
			if body, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return "", "", err
			}
		}
	}
	_, err = io.CopyN(&whole, r, int64(body))
	return whole.String(), "HTTP/1.1 204 No Content\r\n\r\n", err
}

// overRESP reads a command of Redis. It answers HMGET with as many values as there are fields, and HSET as if all were
// new.
func overRESP(r *bufio.Reader) (request, answer string, err error) {
	number := func(first byte) (n int) {
		line, e := r.ReadString('\n')
		if e != nil || line[0] != first {
			err = fmt.Errorf("%q: %w", line, io.ErrUnexpectedEOF)
			return 0
		}
		n, err = strconv.Atoi(strings.TrimSpace(line[1:]))
		return n
	}
	var words []string
	for range number('*') {
		word := make([]byte, number('$')+2)
		if err == nil {
			_, err = io.ReadFull(r, word)
		}
		words = append(words, strings.TrimSpace(string(word)))
	}
	if err != nil {
		return "", "", err
	}
	answer = "+OK\r\n"
	switch words[0] {
	case "HSET":
		answer = fmt.Sprintf(":%d\r\n", len(words)/2-1)
	case "HMGET":
		answer = fmt.Sprintf("*%d\r\n", len(words)-2) + strings.Repeat("$1\r\nx\r\n", len(words)-2)
	}
	return fmt.Sprintf("%q", words), answer, nil
}

// version is that of the processes that tests start, see shell.Main.
const version = "1.2.3"

// A conversion is a command line whose plan is compared with it.
type conversion struct {
	name    string
	line    []string
	before  func()          // restores what the load changes; may be nil
	take    func() []string // the requests since the last call
	counted string          // with which the requests of the load begin
	timed   bool            // the load's length is a time: the shorter one is the beginning of the longer one
	least   int             // requests
	beyond  string          // a part of each line of the list of what the plan doesn't have, joined by |
}

// A converted load sends the same requests as the command that it was converted from, to the byte, and lists what it
// doesn't have.
func TestConvertedPlansSendTheSame(t *testing.T) {
	redis, web := recordRequests(t, overRESP), recordRequests(t, overHTTP)
	compared := map[string]bool{"run": true, "cassandra-stress": true} // a plan itself; see the test in that folder
	compare := func(t *testing.T, all []conversion) {
		for _, c := range all {
			t.Run(c.name, c.compare)
			compared[c.line[0]], compared[c.line[0]+" "+c.line[1]], compared[c.line[0]+" "+c.name] = true, true, true
		}
	}
	compare(t, redisConversions(t, redis))
	compare(t, webConversions(t, web))
	t.Run("grpc", func(t *testing.T) { compare(t, grpcConversions(t)) })
	t.Run("etcd", func(t *testing.T) { compare(t, etcdConversions(t)) })
	t.Run("postgres", func(t *testing.T) { compare(t, postgresConversions(t)) })
	t.Run("mariadb", func(t *testing.T) { compare(t, mariadbConversions(t)) })
	for _, command := range convertible(t) {
		if !compared[command] {
			t.Errorf("%s isn't compared with its plan", command)
		}
	}
}

// convertible returns the commands that send one load, which a plan describes.
func convertible(t *testing.T) (commands []string) {
	t.Helper()
	refused := shell.Run(t, "brunt", "convert", "version")
	_, list, _ := strings.Cut(refused.Err, "convert one of these: ")
	for command := range strings.SplitSeq(strings.TrimSpace(list), ", ") {
		commands = append(commands, strings.TrimPrefix(command, "brunt "))
	}
	if len(commands) < 20 {
		t.Fatalf("the commands with plans are %q: %s", commands, refused.Err)
	}
	return commands
}

// compare runs the command, and the plan that it is converted to.
func (c *conversion) compare(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	sent := func(args ...string) []string {
		if c.before != nil {
			c.before()
		}
		c.take()
		var out, stderr bytes.Buffer
		code := cli.Main(version, append([]string{"brunt"}, args...), strings.NewReader(""), &out, &stderr)
		if code != 0 && code != exitcode.Invalid && code != exitcode.Threshold { // late, on a busy machine
			t.Fatalf("%q: %d: %s%s", args, code, stderr.String(), out.String())
		}
		return slices.DeleteFunc(c.take(), func(r string) bool { return !strings.HasPrefix(r, c.counted) })
	}
	before := sent(c.line...)
	var plan, stderr bytes.Buffer
	if code := cli.Main(version, append([]string{"brunt", "convert"}, c.line...), nil, &plan, &stderr); code != 0 {
		t.Fatalf("%d: %s", code, stderr.String())
	}
	file := filepath.Join(dir, "plan.yml")
	shell.Put(t, file, plan.String())
	for _, r := range c.take() {
		if c.counted != "" && strings.HasPrefix(r, c.counted) {
			t.Errorf("converting sent %q", r)
		}
	}
	c.compareBeyond(t, plan.String())
	after := sent("run", file, "--quiet", "--no-record")
	if c.timed {
		n := min(len(before), len(after))
		before, after = before[:n], after[:n]
	}
	if len(before) >= c.least && slices.Equal(before, after) {
		return
	}
	t.Errorf("the command sent %d, its plan %d; want at least %d", len(before), len(after), c.least)
	for i := range min(len(before), len(after)) {
		if before[i] != after[i] {
			t.Errorf("request %d of the command is\n%.1000q\nof its plan\n%.1000q", i, before[i], after[i])
			break
		}
	}
	t.Logf("%s", plan.String())
}

// compareBeyond compares the list of what the plan doesn't have.
func (c *conversion) compareBeyond(t *testing.T, plan string) {
	var listed []string
	for line := range strings.Lines(plan) {
		text, ok := strings.CutPrefix(line, "# - ")
		if ok && !strings.HasSuffix(text, "a flag of the run, not of the load\n") {
			listed = append(listed, strings.TrimSpace(text))
		}
	}
	var want []string
	if c.beyond != "" {
		want = strings.Split(c.beyond, "|")
	}
	same := len(want) == len(listed)
	for i := range min(len(want), len(listed)) {
		same = same && strings.Contains(listed[i], want[i])
	}
	if !same {
		t.Errorf("the plan lists as missing %q, want %q", listed, want)
	}
}

// What a plan doesn't have is listed.
func TestConvertedPlansSayWhatTheyLack(t *testing.T) {
	script := shell.File(t, "script.lua", "function done() io.write('over') end\n")
	empty := shell.File(t, "empty.lua", "")
	tank := shell.File(t, "load.yaml", "phantom:\n  enabled: true\n  address: 127.0.0.1:1\n  uris: [/]\n  instances: 1\n"+
		"  load_profile: {load_type: rps, schedule: 'const(1, 1s)'}\n")
	jmx := shell.File(t, "plan.jmx", fmt.Sprintf(randomJMX, 1))
	tearDown := shell.File(t, "teardown.jmx", strings.NewReplacer(`<TestPlan testname="t"/>`,
		`<TestPlan testname="t"><boolProp name="TestPlan.tearDown_on_shutdown">true</boolProp></TestPlan>`,
		"<ThreadGroup ", "<PostThreadGroup ", "</ThreadGroup>", "</PostThreadGroup>").Replace(fmt.Sprintf(randomJMX, 1)))
	targets := shell.File(t, "targets", "GET http://127.0.0.1:1/\n")
	const url, run = "http://127.0.0.1:1/", ": a flag of the run, not of the load"
	ofTool := []string{"--bundle", "b", "--export", "influx=http://me:s3cret@127.0.0.1/x", "--watch", "pid:1", "--inspect",
		"auto", "--metrics-addr", "127.0.0.1:1"}
	const listed = "--bundle=b" + run + "|--metrics-addr=127.0.0.1:1" + run + "|--export=influx=http://***@127.0.0.1/x" + run +
		"|--watch=pid:1" + run + "|--inspect=auto" + run
	for _, c := range []struct {
		line []string
		want string
	}{
		{append([]string{"ab", "-c", "2", "-n", "2", "--workers", "2", "--hlog", "h", url}, ofTool...),
			"--hlog=h" + run + "|--workers=2" + run + "|" + listed},
		{append([]string{"pgbench", "-n", "-S", "--exit-on-abort", "--ui", ":1", "bench"}, ofTool...),
			listed + "|--ui=:1" + run + "|--exit-on-abort: |" +
				"\n# Times of a day and more stand for no limit.\nconfig_name: "},
		{append([]string{"sysbench", "oltp_insert", "--wait", "3s", "run"}, ofTool...), listed + "|--wait=3s" + run},
		{append([]string{"jmeter", "-n", "-t", jmx}, ofTool...), listed},
		{append([]string{"cook", "-quiet", url}, ofTool...), listed},
		{append([]string{"cassandra-stress", "write", "n=1", "no-warmup", "-rate", "threads=1"}, ofTool...), listed},
		{[]string{"ab", "-g", "times.tsv", "-e", "times.csv", url}, "-e: the times in times.csv|-g: the times in times.tsv"},
		{[]string{"hey", "-o", "csv", url}, "while its service is down|-o: what it prints"},
		{[]string{"wrk", "-s", script, url}, "done of " + script},
		{[]string{"wrk", "-s", empty, url}, "wrk's report"}, // as wrk without a script
		{[]string{"vegeta", "attack", "-targets", targets, "-prometheus-addr", ":1"}, "--metrics-addr=:1" + run},
		{[]string{"tank", "-c", tank, "--manual-start", "--scheduled-start", "x"},
			"--manual-start: |--scheduled-start isn't followed"},
		{[]string{"jmeter", "-n", "-t", tearDown, "-e", "-o", "."}, "-e -o: the page|tearDown groups after an interrupt"},
		{[]string{"etcd-benchmark", "put", "--rate", "9", "--latency", "service", "--report-perfdash"},
			"--latency=service: |--report-perfdash: "},
		{[]string{"tpcb", "run", "--no-check", "--proto", "sqlite", "-a", "none.db"}, "the report in TPC-B's terms"},
	} {
		t.Run(strings.Join(c.line[:2], " "), func(t *testing.T) {
			o := shell.Run(t, "brunt", append([]string{"convert"}, c.line...)...)
			for part := range strings.SplitSeq(c.want, "|") {
				if !strings.Contains(o.Out, "\n# - ") || !strings.Contains(o.Out, part) {
					t.Errorf("%q isn't listed for %q: %d\n%.1500s%s", part, c.line, o.Code, o.Out, o.Err)
				}
			}
			if strings.Contains(o.Out, "the conditions of consistency") {
				t.Errorf("conditions that the command doesn't check are listed: %s", o.Out)
			}
		})
	}
}

func redisConversions(t *testing.T, redis *recordingServer) []conversion {
	host, port, _ := net.SplitHostPort(redis.Addr().String())
	ycsb := func(command string, more ...string) []string {
		return append([]string{"ycsb", command, "redis", "-p", "redis.addr=" + redis.Addr().String(), "-p", "randomseed=7",
			"--quiet"}, more...)
	}
	const beyond = "YCSB's lines and results"
	return []conversion{
		{name: "ycsb run", line: ycsb("run", "--workload", "a", "-p", "operationcount=300", "-p", "recordcount=1000"),
			take: redis.take, counted: `["H`, least: 300, beyond: beyond},
		{name: "YCSB's own line", line: []string{"ycsb", "-t", "-db", "site.ycsb.db.RedisClient", "-P",
			shell.File(t, "workload", "recordcount=1000\noperationcount=300\nworkload=site.ycsb.workloads.CoreWorkload\n"),
			"-p", "redis.host=" + host, "-p", "redis.port=" + port, "-p", "randomseed=7", "-threads", "1", "--quiet"},
			take: redis.take, counted: `["H`, least: 300, beyond: beyond},
		{name: "ycsb load", line: ycsb("load", "--workload", "a", "-p", "recordcount=300", "-p", "load.pipeline=1"),
			take: redis.take, counted: `["H`, least: 300, beyond: beyond + "|the property resume"},
	}
}

// webConversions are those of tools for HTTP. Each has one connection, so that the order of requests is one.
func webConversions(t *testing.T, web *recordingServer) []conversion {
	host := web.Addr().String()
	url := "http://" + host + "/"
	file := func(name, text string) string { return shell.File(t, name, text) }
	lua := file("script.lua", `
local n = 0
request = function()
  n = n + 1
  return wrk.format("POST", "/" .. n % 7, {["X-N"] = n}, "r" .. math.random(1000))
end
`)
	list := file("list", "GET "+url+"a\n\nPOST "+url+"b\nX-A: 1\n")
	phantom := file("load.yaml", "phantom:\n  enabled: true\n  address: "+host+"\n  uris: [/a, /b, /d]\n  headers: ['[Host: shop]']\n"+
		"  instances: 1\n  load_profile: {load_type: rps, schedule: 'const(120, 0.5s)'}\n"+
		"core: {artifacts_base_dir: "+t.TempDir()+"}\n")
	pandora := file("pandora.yaml", `
pandora:
  enabled: true
  config_content:
    pools:
      - gun: {type: http/scenario, target: `+host+`}
        ammo: {type: http/scenario, file: `+file("scenarios.yaml", `
requests:
  - {name: one, method: POST, uri: "/{{.source.v.user}}", body: '{{randInt 1 1000}} {{randString 5 "abc"}}'}
  - {name: two, uri: /two}
variable_sources: [{type: variables, name: v, variables: {user: me}}]
scenarios: [{name: s, requests: [one, "two(2)"]}]
`)+`}
        rps: {type: once, times: 30}
        startup: {type: once, times: 1}
core: {artifacts_base_dir: `+t.TempDir()+`}
`)
	instances := file("instances.yaml", "phantom:\n  enabled: true\n  address: "+host+"\n"+
		"  uris: [/a, /b, /d]\n  ammo_limit: 70\n  load_profile: {load_type: instances, schedule: 'const(1, 1m)'}\n"+
		"core: {artifacts_base_dir: "+t.TempDir()+"}\n")
	jmx := file("plan.jmx", fmt.Sprintf(randomJMX, web.Addr().(*net.TCPAddr).Port))
	of := func(name, beyond string, line ...string) conversion {
		return conversion{name: name, line: line, take: web.take, counted: "", least: 60, beyond: beyond}
	}
	timed := func(c conversion) conversion { // a busy machine sends few
		c.timed, c.least = true, 5
		return c
	}
	const startDown = "the start of a load while its service is down|"
	return []conversion{
		of("cook", "slow_cooker's lines", "cook", "-qps", "200", "-concurrency", "1", "-totalRequests", "60", "-data", "x",
			"-method", "POST", "-quiet", url+"a"),
		of("hey", startDown+"hey's report", "hey", "-n", "60", "-c", "1", "-m", "POST", "-d", "x", "--no-record", url+"a"),
		of("ab", "ab's report", "ab", "-n", "60", "-c", "1", "--no-record", url+"a"),
		of("http", "", "http", "-n", "60", "-c", "1", "--quiet", url+"a", url+"b"),
		timed(of("wrk", "wrk's report", "wrk", "-c", "1", "-t", "1", "-d", "1s", "-s", lua, "--no-record", url)),
		timed(of("wrk2", "wrk2's report", "wrk2", "-c", "1", "-t", "1", "-d", "1s", "-R", "200", "-s", lua, "--no-record",
			url)),
		of("vegeta attack", startDown+"a result for each request", "vegeta", "attack", "-targets", list, "-rate", "60",
			"-duration", "1s", "-connections", "1", "-workers", "1", "-max-workers", "1", "-output", "answers"),
		timed(of("tank", startDown+"Tank's", "tank", "-c", phantom, "--no-record")),
		of("tank instances", startDown+"Tank's", "tank", "-c", instances, "--no-record"),
		of("tank pandora", startDown+"Tank's", "tank", "-c", pandora, "--no-record"),
		of("jmeter", "JMeter's", "jmeter", "-n", "-t", jmx, "--seed", "5", "--no-record"),
	}
}

// randomJMX sends 60 requests that depend on a counter and on the seed, to a port.
const randomJMX = `<jmeterTestPlan version="1.2"><hashTree>
<TestPlan testname="t"/><hashTree>
<ThreadGroup testname="g">
  <elementProp name="ThreadGroup.main_controller" elementType="LoopController">
    <boolProp name="LoopController.continue_forever">false</boolProp>
    <stringProp name="LoopController.loops">60</stringProp>
  </elementProp>
  <stringProp name="ThreadGroup.num_threads">1</stringProp>
</ThreadGroup><hashTree>
<HTTPSamplerProxy testname="one">
  <stringProp name="HTTPSampler.domain">127.0.0.1</stringProp><stringProp name="HTTPSampler.port">%d</stringProp>
  <stringProp name="HTTPSampler.path">/${__counter(FALSE)}/${__Random(1,1000)}/${__RandomString(5,abc)}</stringProp>
  <stringProp name="HTTPSampler.method">GET</stringProp>
</HTTPSamplerProxy><hashTree/>
</hashTree></hashTree></hashTree></jmeterTestPlan>
`

// grpcConversions are those of tools for gRPC.
func grpcConversions(t *testing.T) []conversion {
	tap := testserver.NewTap(t, grpcserver.Start(t).Addr)
	take := func() []string { return http2Requests(t, tap.Take()) }
	return []conversion{
		{name: "ghz", line: []string{"ghz", "--insecure", "--call", "brunt.test.Echo/Say", "-d",
			`{"text": "{{.RequestNumber}} {{randomString 4}}", "number": "{{randomInt 1 100}}"}`, "-n", "60", "-c", "1",
			"--seed", "3", "--no-record", tap.Addr},
			take: take, counted: ":path: /brunt.test.Echo/", least: 60, beyond: "ghz"},
		{name: "ghz, a schedule of workers", line: []string{"ghz", "--insecure", "--call", "brunt.test.Echo/Say", "-d",
			`{"text": "a"}`, "-n", "60", "--concurrency-schedule", "step", "--concurrency-start", "1", "--concurrency-step",
			"1", "--concurrency-end", "2", "--concurrency-step-duration", "1m", "--no-record", tap.Addr},
			take: take, counted: ":path: /brunt.test.Echo/", least: 60, beyond: "ghz"},
		{name: "grpc", line: []string{"grpc", tap.Addr, "brunt.test.Echo/Say", "-d", `{"text": "a"} {"text": "b"}`, "-n",
			"60", "-c", "1", "--quiet", "--no-record"},
			take: take, counted: ":path: /brunt.test.Echo/", least: 60},
	}
}

// http2Requests returns what clients have sent over HTTP/2: each stream's header fields and data.
func http2Requests(t *testing.T, clients [][]byte) (requests []string) {
	t.Helper()
	for _, sent := range clients {
		sent = bytes.TrimPrefix(sent, []byte(http2.ClientPreface))
		framer := http2.NewFramer(io.Discard, bytes.NewReader(sent))
		framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		streams := map[uint32]int{} // places in requests
		for {
			frame, err := framer.ReadFrame()
			if err != nil {
				break
			}
			switch f := frame.(type) {
			case *http2.MetaHeadersFrame:
				var text strings.Builder
				fmt.Fprintf(&text, ":path: %s\n", f.PseudoValue("path"))
				for _, field := range f.Fields {
					if field.Name != "grpc-timeout" { // what is left of a time
						fmt.Fprintf(&text, "%s: %s\n", field.Name, field.Value)
					}
				}
				streams[f.StreamID] = len(requests)
				requests = append(requests, text.String())
			case *http2.DataFrame:
				requests[streams[f.StreamID]] += fmt.Sprintf("%q", f.Data())
			}
		}
	}
	return requests
}

// etcdConversions are those of etcd's benchmark. Transactions and watches name revisions, so that each of their loads
// has a new server. The other loads share one.
func etcdConversions(t *testing.T) (all []conversion) {
	tap := testserver.NewTap(t, "")
	shared := testserver.Etcd(t).Addr
	namesRevisions := []string{"txn-put", "txn-mixed", "stm", "watch", "watch-get", "watch-latency"}
	take := func() []string { // watches and puts have connections of their own, so that their order is any
		all := http2Requests(t, tap.Take())
		slices.SortStableFunc(all, func(a, b string) int {
			first, _, _ := strings.Cut(a, "\n")
			second, _, _ := strings.Cut(b, "\n")
			return strings.Compare(first, second)
		})
		return all
	}
	for _, command := range []string{
		"put --total 100 --key-space-size 50 --val-size 20",
		"put --total 60 --sequential-keys --rate 1000 --compact-interval 1h",
		"range a b --total 100 --consistency s",
		"txn-put --total 60 --txn-ops 3 --key-space-size 30",
		"txn-mixed a --total 60",
		"stm --total 60 --keys 5 --keys-per-txn 3 --isolation r",
		"lease-keepalive --total 60",
		"watch --streams 1 --watch-per-stream 1 --put-total 60",
		"watch-get --streams 1 --watchers 60 --events 1",
		"watch-latency --streams 1 --watchers-per-stream 1 --put-total 60 --put-rate 0",
	} {
		words := strings.Fields(command)
		before := func() { tap.To(shared) }
		if slices.Contains(namesRevisions, words[0]) {
			before = func() { tap.To(testserver.Etcd(t).Addr) }
		}
		c := conversion{name: words[0], before: before, take: take,
			line: append([]string{"etcd-benchmark", "--endpoints", tap.Addr, "--clients", "1", "--seed", "3", "--no-record",
				"--quiet"}, words...),
			counted: ":path: /etcdserverpb.", least: 60, beyond: "benchmark's report"}
		if words[0] == "watch-get" { // it reads for as long as events come
			c.counted, c.least = ":path: /etcdserverpb.Watch/", 1
		}
		if strings.Contains(command, "compact") {
			c.beyond += "|--compact-interval"
		}
		all = append(all, c)
	}
	return all
}

// postgresConversions are those of tools that send to PostgreSQL. Loads work on a copy of one database. It is copied
// again for each load whose requests depend on rows that loads change.
func postgresConversions(t *testing.T) []conversion {
	s := testserver.Postgres(t)
	tap := testserver.NewTap(t, s.Addr)
	host, port, _ := net.SplitHostPort(s.Addr)
	_, tapped, _ := net.SplitHostPort(tap.Addr)
	s.Psql(t, "CREATE DATABASE original")
	s.Psql(t, "CREATE DATABASE bench") // its tables are large, and not copied
	url := "postgres://brunt@" + s.Addr + "/original"
	for _, line := range [][]string{
		{"pgbench", "-i", "-q", "-h", host, "-p", port, "-U", "brunt", "bench"},
		{"tpcb", "load", "--branches", "1", "--shrink", "100", "--quiet", "-a", url},
		{"tpcc", "load", "--warehouses", "1", "--shrink", "100", "--quiet", "-a", url},
		{"sysbench", "oltp_read_write", "--db-driver=pgsql", "--pgsql-host=" + host, "--pgsql-port=" + port,
			"--pgsql-user=brunt", "--pgsql-db=original", "--table-size=1000", "prepare"},
	} {
		if o := shell.Run(t, "brunt", line...); o.Code != 0 {
			t.Fatalf("%q: %d", line, o.Code)
		}
	}
	s.Psql(t, "CREATE DATABASE copy TEMPLATE original")
	before := func() { tap.Take() }
	copied := func(c conversion) conversion {
		c.before = func() {
			tap.Take()
			s.Psql(t, "DROP DATABASE copy")
			s.Psql(t, "CREATE DATABASE copy TEMPLATE original")
		}
		return c
	}
	take := func() []string { return most(tap.Take(), postgresMessages) }
	url = "postgres://brunt@" + tap.Addr + "/copy"
	of := func(name, beyond string, line ...string) conversion {
		return conversion{name: name, line: line, before: before, take: take, least: 60, beyond: beyond}
	}
	pgbench := func(more ...string) []string {
		return append([]string{"pgbench", "-h", host, "-p", tapped, "-U", "brunt", "--random-seed=9", "-n"}, more...)
	}
	sysbench := func(more ...string) []string {
		return append([]string{"sysbench", "--db-driver=pgsql", "--pgsql-host=" + host, "--pgsql-port=" + tapped,
			"--pgsql-user=brunt", "--pgsql-db=copy", "--table-size=1000", "--rand-seed=7"}, more...)
	}
	const ofPgbench, ofSysbench = "pgbench's report", "sysbench's lines"
	const ofTPC = "database's constants|the report|the conditions"
	own := shell.File(t, "own.sql", `\set a random_zipfian(1, 1000, 1.2)
BEGIN;
SELECT :a + 1 AS b \gset
\if :b > 3
SELECT :b::int * 2;
\else
SELECT 'few';
\endif
END;
`)
	picostress, err := filepath.Abs("../../../examples/picostress.yml")
	if err != nil {
		t.Fatal(err)
	}
	all := []conversion{
		of("pgbench own scripts", ofPgbench, pgbench("-t", "60", "-f", own+"@2", "-b", "select-only",
			"bench")...),
		of("pgbench extended", ofPgbench, pgbench("-t", "60", "-M", "extended", "-f", own, "bench")...),
		of("pgbench prepared", ofPgbench, pgbench("-t", "60", "-M", "prepared", "bench")...),
		of("pgbench rate", ofPgbench, pgbench("-t", "60", "-R", "500", "-S", "bench")...),
		of("tpcb run", ofTPC, "tpcb", "run", "--rate", "200", "--duration", "300ms", "--sessions", "1", "--seed", "4",
			"--late", "queue", "--quiet", "--no-record", "-a", url),
		copied(of("tpcc run", ofTPC, "tpcc", "run", "--rate", "100", "--duration", "300ms", "--terminals", "1", "--seed",
			"4", "--late", "queue", "--mix", "20,20,20,20,20", "--quiet", "--no-record", "-a", url)),
	}
	for _, closed := range []conversion{
		of("tpcb, closed", ofTPC, "tpcb", "run", "--duration", "400ms", "--sessions", "1", "--seed", "4", "--quiet",
			"--no-record", "-a", url),
		copied(of("tpcc, a deck without think times", ofTPC, "tpcc", "run", "--no-think", "--duration", "400ms",
			"--terminals", "1", "--seed", "4", "--quiet", "--no-record", "-a", url)),
	} {
		closed.timed = true
		all = append(all, closed)
	}
	for kind, more := range map[string][]string{"queue": nil, "rate": {"--rate", "200", "--duration", "300ms"},
		"spike": {"--base", "20", "--peak", "300", "--rise", "200ms", "--hold", "200ms", "--fall", "200ms"}} {
		line := []string{kind, "-c", picostress, "--proto", "pg", "-a", tap.Addr, "-u", "brunt", "--database", "copy", "--vu",
			"1", "--quiet", "--no-record"}
		all = append(all, copied(of(kind, "", append(line, more...)...)))
	}
	for _, test := range []string{"oltp_read_write", "bulk_insert", "select_random_points", "select_random_ranges"} {
		c := of("sysbench "+test, ofSysbench, sysbench(test, "--events=60", "--threads=1", "run")...)
		if test == "bulk_insert" {
			c = copied(c)
		}
		all = append(all, c)
	}
	return append(all, of("sysbench --rate", ofSysbench+"|the end of the load once 131072 events wait|--forced-shutdown", sysbench("oltp_read_only", "--events=60",
		"--threads=1", "--rate=300", "--forced-shutdown=9", "run")...))
}

// most returns what the client has sent that has sent the most messages: the session of a load, besides those that fill
// tables and ask the server what it is.
func most(clients [][]byte, split func(sent []byte) []string) (messages []string) {
	for _, sent := range clients {
		if all := split(sent); len(all) > len(messages) {
			messages = all
		}
	}
	return messages
}

// postgresMessages returns the messages that a client has sent to PostgreSQL: a letter and its content, without the
// times of transactions. What a session says of itself when it begins comes in any order, and is left out.
func postgresMessages(sent []byte) (messages []string) {
	letter := ""
	for len(sent) > 4 {
		n := min(int(binary.BigEndian.Uint32(sent)), len(sent))
		if letter != "" {
			messages = append(messages, fmt.Sprintf("%s %q", letter, withoutTimes(sent[4:n])))
		}
		if sent = sent[n:]; len(sent) > 0 {
			letter, sent = string(sent[:1]), sent[1:]
		}
	}
	return messages
}

// withoutTimes sets the times of these years to zero: arguments of eight bytes, microseconds since 2000.
func withoutTimes(message []byte) []byte {
	message = bytes.Clone(message)
	for at := 0; ; {
		i := bytes.Index(message[at:], []byte("\x00\x00\x00\x08\x00\x03"))
		if i < 0 {
			return message
		}
		at += i + 6
		clear(message[at:min(at+6, len(message))])
	}
}

// mariadbConversions are those of sysbench with its other driver.
func mariadbConversions(t *testing.T) (all []conversion) {
	s := testserver.MariaDB(t)
	tap := testserver.NewTap(t, s.Addr)
	host, port, _ := net.SplitHostPort(tap.Addr)
	sysbench := func(more ...string) []string {
		return append([]string{"sysbench", "--mysql-host=" + host, "--mysql-port=" + port, "--mysql-user=" + s.User,
			"--mysql-password=" + s.Password, "--mysql-db=" + s.Database, "--table-size=500", "--rand-seed=7",
			"--threads=1"}, more...)
	}
	// The loads insert the rows that they delete, and what they send doesn't depend on answers: they share the tables.
	if o := shell.Run(t, "brunt", sysbench("oltp_read_write", "prepare")...); o.Code != 0 {
		t.Fatalf("prepare: %d", o.Code)
	}
	t.Setenv("BRUNT_PASSWORD", s.Password)
	for _, test := range []string{"oltp_read_write", "oltp_write_only", "oltp_read_write --db-ps-mode=disable"} {
		all = append(all, conversion{name: test, line: sysbench(append(strings.Fields(test), "--events=60", "run")...),
			before: func() { tap.Take() }, take: func() []string { return most(tap.Take(), mysqlPackets) }, least: 60,
			beyond: "sysbench's lines|secrets are not written"})
	}
	return all
}

// mysqlPackets returns the commands that a client has sent to a MySQL after it has signed in. Statements have the
// numbers of their first use instead of the server's, which count statements of all connections.
func mysqlPackets(sent []byte) (packets []string) {
	const execute, closes = 0x17, 0x19
	ids := map[string]int{}
	for len(sent) >= 4 {
		n := min(4+int(sent[0])+int(sent[1])<<8+int(sent[2])<<16, len(sent))
		begins, packet := sent[3] == 0, sent[4:n]
		sent = sent[n:]
		switch {
		case !begins:
		case len(packet) > 4 && (packet[0] == execute || packet[0] == closes):
			id := string(packet[1:5])
			if ids[id] == 0 {
				ids[id] = len(ids) + 1
			}
			packets = append(packets, fmt.Sprintf("%d %d %q", packet[0], ids[id], packet[5:]))
		default:
			packets = append(packets, fmt.Sprintf("%q", packet))
		}
	}
	return packets
}
