package scripts_test

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"brunt/test/testserver"
)

const root = "../../../.."

// cars starts the application in examples/cars with two routers and two storages.
func cars(t *testing.T) (routers []string) {
	t.Helper()
	program, err := os.ReadFile(filepath.Join(root, "examples/cars/cars.lua"))
	if err != nil {
		t.Fatal(err)
	}
	get := func(key, call string) string {
		return servers.Get(t, "cars "+key, func(tb testserver.TB) *testserver.Server {
			return testserver.Tarantool(tb, testserver.Lua(string(program)+"\n"+call))
		}).Addr
	}
	storages := "{'" + get("storage1", "cars_storage()") + "', '" + get("storage2", "cars_storage()") + "'}"
	return []string{get("router1", "cars_router("+storages+")"), get("router2", "cars_router("+storages+")")}
}

// Shortened versions of all examples run, and all of their checks pass.
func TestExamples(t *testing.T) {
	t.Parallel()
	pg := func(t *testing.T) string {
		s := servers.Postgres(t)
		return "pg://" + s.User + "@" + s.Addr + "/" + s.Database
	}
	maria := func(t *testing.T) string {
		s := servers.MariaDB(t)
		return "mysql://" + s.User + ":" + s.Password + "@" + s.Addr + "/" + s.Database
	}
	queue := func(t *testing.T, proto string, s *testserver.Server) []string {
		return []string{"-e", "proto=" + proto, "-e", "addr=" + s.Addr, "-e", "user=" + s.User, "-e", "password=" +
			s.Password, "-e", "database=" + s.Database,
			"-e", "config=examples/picostress.yml", "-e", "seed=12345", "-e", "vu=2", "-e", "summary_dir=" + t.TempDir()}
	}
	onCars := func(t *testing.T) []string {
		return []string{"-e", "ROUTERS=" + strings.Join(cars(t), ","), "-e", "RATE=100", "-e", "DURATION=1s"}
	}
	runs := map[string][]func(t *testing.T) []string{
		"k6/tarantool.js": {func(t *testing.T) []string { return as(tarantool(t)) }},
		"k6/datagen.js":   {func(t *testing.T) []string { return nil }},
		"k6/plan.js":      {func(t *testing.T) []string { return []string{"-e", "PLAN=" + short(t)} }},
		"k6/const_queue.js": {func(t *testing.T) []string { return queue(t, "pgwire", servers.Postgres(t)) },
			func(t *testing.T) []string { return queue(t, "iproto", tarantool(t)) }},
		"k6/brunt.js": {
			func(t *testing.T) []string { return nil },
			func(t *testing.T) []string { return []string{"-e", "TARGET=" + pg(t)} },
			func(t *testing.T) []string { return []string{"-e", "TARGET=" + maria(t)} },
		},
		"cars/scenarios.js": {onCars}, "cars/random_connection.js": {onCars}, "cars/checks.js": {onCars},
		"cars/sequential.js": {onCars},
	}
	files, _ := filepath.Glob(root + "/examples/*/*.js")
	for _, path := range files {
		name, _ := filepath.Rel(root+"/examples", path)
		if strings.HasPrefix(name, "go-") { // for programs of their own, whose tests run them
			continue
		}
		if runs[name] == nil && (strings.HasPrefix(name, "cars/") || imports.MatchString(text(t, path))) {
			t.Errorf("nobody tries %s", name)
		}
		for i, args := range runs[name] {
			t.Run(name+" "+strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				o := run(t, append(args(t), "examples/"+name)...)
				// Thresholds on times may fail on a busy machine.
				if o.code != 0 && !(o.code == 99 && strings.HasPrefix(name, "cars/")) {
					t.Errorf("exit %d", o.code)
				}
				if o.run != nil && (o.run.Total.OK == 0 && name != "k6/datagen.js" || !o.run.Complete) {
					t.Errorf("%d operations succeeded, complete %v", o.run.Total.OK, o.run.Complete)
				}
				if strings.HasPrefix(name, "cars/") && (o.run == nil || o.says("✗ is") || o.run.Total.Failed > 0) {
					t.Error("cars could not be added")
				}
			})
		}
	}
}

// imports matches scripts that import brunt's modules.
var imports = regexp.MustCompile(`"k6/x/`)

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// short returns the plan of the examples, shortened.
func short(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cars.yml")
	plan := strings.Replace(text(t, root+"/examples/cars.yml"), "duration: 10s", "duration: 1s", 1)
	if err := os.WriteFile(path, []byte(plan), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The script of the article sends the queue of brunt queue, each request once, and the summary says so.
func TestConstQueueSendsTheQueue(t *testing.T) {
	t.Parallel()
	s, dir := testserver.Postgres(t), t.TempDir()
	o := run(t, "-e", "proto=pg", "-e", "addr="+s.Addr, "-e", "user="+s.User, "-e", "database="+s.Database, "-e",
		"config=examples/picostress.yml",
		"-e", "seed=7", "-e", "vu=3", "-e", "summary_dir="+dir, "-e", "schema=docs/plan.schema.json",
		"examples/k6/const_queue.js")
	summary := text(t, filepath.Join(dir, "summary_7.json"))
	for _, want := range []string{`"configName": "QUEUE"`, `"picodataVersion": "PostgreSQL 15`, `"total": 5000`,
		`"failed": 0`, `"seed": "7"`} {
		if !strings.Contains(summary, want) {
			t.Errorf("the summary lacks %s:\n%s", want, summary)
		}
	}
	if o.code != 0 || o.run == nil || o.run.Total.OK != 5000 || !o.says("configName: QUEUE") {
		t.Errorf("exit %d, %+v", o.code, o.run)
	}
	if o := run(t, "-e", "proto=pg", "-e", "addr="+s.Addr, "-e", "config=examples/k6/const_queue.js",
		"examples/k6/const_queue.js"); o.code == 0 || !o.says("const_queue.js:") {
		t.Errorf("a configuration that is none: exit %d", o.code)
	}
	if o := run(t, "examples/k6/const_queue.js"); o.code != 107 || !o.says("Please define protocol") {
		t.Errorf("no protocol: exit %d", o.code)
	}
}

// The application starts with one command, and ends with all its processes.
func TestCarsStart(t *testing.T) {
	t.Parallel()
	first, second := freeAddress(t), freeAddress(t)
	cmd := exec.CommandContext(t.Context(), root+"/examples/cars/start", first, second)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.Contains(line, "routers at "+first) {
		t.Errorf("it says %q, %v", line, err)
	}
	// setup() waits for the routers, which begin to listen when they are ready.
	o := run(t, script(t, `
		import { check, sleep } from "k6";
		import tarantool from "k6/x/tarantool";
		const conns = ["`+first+`", "`+second+`"].map((a) => tarantool.connect(a));
		export const options = { iterations: 50, thresholds: { checks: ["rate == 1"] } };
		export function setup() {
			conns.forEach((conn) => {
				for (let i = 0; ; i++) {
					try { return tarantool.call(conn, "api_car_get", ["none"]) } catch (e) { if (i > 600) throw e; sleep(0.1) }
				}
			})
		}
		export default function () {
			const id = "car" + __ITER;
			check(tarantool.call(conns[__ITER % 2], "api_car_add", [{ car_id: id, model: "volga" }]), { added: (r) => r.data[0][0] === "Ok" });
			check(tarantool.call(conns[(__ITER + 1) % 2], "api_car_get", [id]), { "found by the other router": (r) => r.data[0][0].model === "volga" });
			check(tarantool.call(conns[0], "api_car_add", [{ car_id: id, model: "volga" }]), { "refused twice": (r) => r.data[0][0] === "Error occured" });
		}`))
	if o.code != 0 {
		t.Errorf("exit %d", o.code)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	for _, address := range []string{first, second} {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			t.Errorf("%s still listens", address)
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
