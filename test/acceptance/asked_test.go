package acceptance_test

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brunt/internal/judge/exitcode"
	"brunt/internal/record"
	"brunt/test/shell"
	"brunt/test/testserver"
	"brunt/test/testserver/grpcserver"
)

// asked returns the sources of a run's inspections.
func asked(run *record.Run) (all []string) {
	if run == nil {
		return nil
	}
	for i := range run.Inspections {
		all = append(all, run.Inspections[i].Source)
	}
	return all
}

// --inspect auto finds the kind and the address of the server that a load goes to, and binds what the server counted
// to the load's operations: with the flag, in a plan, and in a campaign.
func TestAutoAsksTheServersOfTheLoad(t *testing.T) {
	t.Parallel()
	const rate = "sessions: 2\nload: [{constant: {rate: 50, duration: 500ms}}]\n"
	maria := servers.Get(t, "mariadb", func(tb testserver.TB) *testserver.Server {
		return testserver.MariaDB(tb, testserver.Settings("performance-schema=ON"))
	})
	pg, cache, members := postgres(t), redis(t), etcd(t)
	for _, c := range []struct {
		kind    string
		at      stand
		queries string
		bound   bool // statements of the server are known, and belong to the operation
	}{
		{"pg", pg, "{name: one, sql: select 1 + 1}", false},
		{"mysql", of("mysql", maria), "{name: one, sql: select 1 + 1, simple: true}", true},
		{"tarantool", tarantool(t), "{name: one, sql: 'SELECT 1'}", false},
		{"redis", cache, "{name: one, command: [GET, a]}", true},
		{"etcd", members, "{name: one, command: [get, a]}", true},
	} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			plan := shell.File(t, "plan.yml", "queries: ["+c.queries+"]\n"+rate)
			o := load(t, c.at.with("run", plan, "--inspect", "auto", "--quiet")...)
			in := inspected(t, o.run, c.kind, c.at.addr)
			if c.at.password != "" && strings.Contains(fmt.Sprintf("%+v", in), c.at.password) {
				t.Errorf("the password is in the record: %+v", in)
			}
			bound := false
			for _, s := range in.Windows[0].Statements {
				bound = bound || len(s.Operations) == 1 && s.Operations[0] == "one" && s.Calls > 0
			}
			if bound != c.bound && c.bound {
				t.Errorf("statements %+v, want one of the operation", in.Windows[0].Statements)
			}
		})
	}
	plan := "target: {protocol: redis, addresses: ['" + cache.addr + "']}\nqueries: [{name: one, command: [GET, a]}]\n" + rate
	t.Run("in a plan", func(t *testing.T) {
		path := shell.File(t, "plan.yml", plan+"inspect: auto\n")
		inspected(t, load(t, "run", path, "--quiet").run, "redis", cache.addr)
	})
	t.Run("in a campaign", func(t *testing.T) {
		dir := t.TempDir()
		shell.Put(t, dir+"/plan.yml", strings.Replace(plan, "GET, a]", "GET, a], rate: 40", 1))
		shell.Put(t, dir+"/campaign.yml", "plan: plan.yml\ninspect: auto\nsteps:\n  - analyse: {at: 1, warm_up: 0, duration: 2s}\n")
		o := brunt(t, "campaign", "run", dir+"/campaign.yml", "--anyway", "--quiet", "--bundle", dir+"/out")
		if o.code != exitcode.Pass && o.code != exitcode.Invalid {
			t.Fatalf("exit %d: %s", o.code, o.err)
		}
		inspected(t, readRun(t, dir+"/out/01-analyse/run"), "redis", cache.addr)
	})
	t.Run("in a matrix", func(t *testing.T) {
		dir := t.TempDir()
		shell.Put(t, dir+"/plan.yml", strings.Replace(plan, "GET, a]", "GET, a], rate: 40", 1))
		o := brunt(t, "matrix", dir+"/plan.yml", "--set", "A=1,2", "--reconfigure", "true", "--warm-up", "0", "--duration",
			"2s", "--repetitions", "1", "--inspect", "auto", "--anyway", "--quiet", "--bundle", dir+"/out")
		runs, err := filepath.Glob(dir + "/out/01-matrix/*/run.json")
		if err != nil || len(runs) != 2 {
			t.Fatalf("runs %q, exit %d: %s", runs, o.code, o.err)
		}
		inspected(t, readRun(t, filepath.Dir(runs[0])), "redis", cache.addr)
	})
	t.Run("a service", func(t *testing.T) {
		service := shell.NewService(t)
		o := load(t, "http", service.URL, "--requests", "5", "--inspect", "auto")
		if len(asked(o.run)) > 0 || !strings.Contains(o.err, "can't be inspected; name the servers behind it") {
			t.Errorf("asked %v; %s", asked(o.run), o.err)
		}
	})
}

// inspected returns the run's inspection, which must be that of a kind of server at an address.
func inspected(t *testing.T, run *record.Run, kind, address string) *record.Inspection {
	t.Helper()
	all := asked(run)
	if len(all) != 1 || !strings.HasPrefix(all[0], kind+" ") || !strings.Contains(all[0], address) {
		t.Fatalf("asked %q, want %s %s", all, kind, address)
	}
	if in := &run.Inspections[0]; len(in.Windows) > 0 && in.Product != "" {
		return in
	}
	t.Fatalf("nothing was said: %+v", run.Inspections[0])
	return nil
}

// Every command that sends a load asks servers what they did.
func TestEveryLoadAsks(t *testing.T) {
	t.Parallel()
	pg, cache, members, service := postgres(t), redis(t), etcd(t), shell.NewService(t)
	url := "http://" + strings.TrimPrefix(service.URL, "http://")
	behind := "redis=redis://" + cache.addr // a service's database
	list := shell.File(t, "targets", "GET "+url+"/\n")
	workload := shell.File(t, "workload", "recordcount=10\noperationcount=20\nworkload=core\nreadproportion=1\n")
	plan := shell.File(t, "plan.yml", "queries: [{name: one, command: [GET, a], count: 20}]\n")
	tank := shell.File(t, "load.yaml", "core: {artifacts_base_dir: "+t.TempDir()+"}\nphantom:\n  enabled: true\n  address: "+strings.TrimPrefix(service.URL, "http://")+"\n  uris: [/]\n"+
		"  load_profile: {load_type: rps, schedule: 'const(10, 1s)'}\n")
	host, port, _ := net.SplitHostPort(strings.TrimPrefix(service.URL, "http://"))
	rpc, echo := grpcserver.Start(t).Addr, shell.File(t, "echo.proto", grpcserver.EchoProto)
	dsn := fmt.Sprintf("postgres://%s:%s@%s/%s", pg.user, pg.password, pg.addr, pg.database)
	const out = "the bundle"
	auto := []string{"--inspect", "auto"}
	for name, args := range map[string][]string{
		"http": {"http", url, "--requests", "5", "--inspect", behind, "--bundle", out},
		"wrk":  {"wrk", "--bundle", out, "-t1", "-c1", "-d1s", "--inspect", behind, url},
		"ab":   {"ab", "--bundle", out, "--inspect", behind, "-n", "5", "-c", "1", url + "/"},
		"hey":  {"hey", "--bundle", out, "--inspect", behind, "-n", "5", "-c", "1", url},
		"vegeta": {"vegeta", "attack", "--bundle", out, "--inspect", behind, "-duration", "1s", "-rate", "5", "-targets",
			list},
		"cook": {"cook", "-bundle", out, "-qps", "20", "-interval", "200ms", "-totalRequests", "5", "-inspect", behind,
			url},
		"tank": {"tank", "--bundle", out, "-c", tank, "--inspect", behind},
		"wrk2": {"wrk2", "--bundle", out, "-R", "20", "-t1", "-c1", "-d1s", "--inspect", behind, url},
		"jmeter": {"jmeter", "--bundle", out, "-n", "-t", "../../internal/dialect/jmeter/testdata/plans/01-get.jmx",
			"-Jhost=" + host, "-Jport=" + port, "--inspect", behind},
		"grpc": {"grpc", rpc, "brunt.test.Echo/Say", "--proto", echo, "--requests", "5", "--inspect", behind, "--bundle",
			out},
		"ghz": {"ghz", "--bundle", out, "--insecure", "--proto", echo, "--call", "brunt.test.Echo/Say", "-n", "5", "-c",
			"1", "-d", "{}", "--inspect", behind, rpc},
		"spike": append(cache.with("spike", "--bundle", out, "-c", plan, "--base", "20", "--peak", "40", "--rise", "200ms",
			"--hold", "200ms", "--fall", "200ms"), auto...),
		"queue": append(cache.with("queue", "--bundle", out, "-c", plan), auto...),
		"rate":  append(cache.with("rate", "--bundle", out, "-c", plan, "--rate", "20", "--duration", "500ms"), auto...),
		"ycsb": append([]string{"ycsb", "run", "redis", "--bundle", out, "-P", workload, "-p", "redis.addr=" + cache.addr,
			"-p", "threadcount=1"}, auto...),
		"etcd-benchmark": append([]string{"etcd-benchmark", "put", "--bundle", out, "--endpoints", members.addr, "--total",
			"20"}, auto...),
		"pgbench": {"pgbench", "--bundle", out, "-n", "-t", "5", "-f", shell.File(t, "script", "select 1;\n"),
			"--inspect", "pg=" + dsn, dsn},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir() + "/bundle"
			args[slices.Index(args, out)] = dir
			o := brunt(t, args...)
			run := readRun(t, dir)
			if len(asked(run)) != 1 || len(run.Inspections[0].Windows) == 0 {
				t.Errorf("asked %v: exit %d\n%s%s", asked(run), o.code, o.out, o.err)
			}
		})
	}
}
