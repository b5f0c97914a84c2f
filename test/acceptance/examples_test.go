package acceptance_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brunt/test/testserver"
	"brunt/test/testserver/grpcserver"
)

// web is an nginx that serves what the HTTP example asks for.
func web(t *testing.T) stand {
	t.Helper()
	s := servers.Get(t, "web", func(tb testserver.TB) *testserver.Server {
		return testserver.Nginx(tb,
			testserver.Locations(
				"location / { error_page 405 =200 /index.html; try_files $uri /index.html; }\nlocation /orders { return 201; }"))
	})
	return stand{proto: "http", addr: s.Addr}
}

// redis is the shared Redis.
func redis(t *testing.T) stand {
	t.Helper()
	return stand{proto: "redis", addr: servers.Redis(t).Addr}
}

// etcd is the shared etcd.
func etcd(t *testing.T) stand {
	t.Helper()
	return stand{proto: "etcd", addr: servers.Etcd(t).Addr}
}

// Every example runs without a failure. Flags shorten the loads.
func TestExamples(t *testing.T) {
	t.Parallel()
	inside := stand{proto: "sqlite", addr: ":memory:"}
	rpc := stand{proto: "grpc", addr: grpcserver.Start(t).Addr}
	runs := map[string][][]string{
		"cars.yml": {inside.with("rate", "--rate", "200", "--duration", "1s"), postgres(t).with("queue", "--vu", "4")},
		"picostress.yml": {inside.with("queue"), postgres(t).with("queue", "--vu", "2"),
			tarantool(t).with("queue", "--vu", "2")},
		"shop.yml": {
			postgres(t).with("rate", "--rate", "200", "--duration", "2s"),
			inside.with("rate", "--rate", "100", "--duration", "1s", "--vu", "1"),
		},
		"spike.yml": {
			postgres(t).with("spike", "--base", "20", "--peak", "400", "--rise", "500ms", "--hold", "500ms", "--fall", "500ms"),
			tarantool(t).with("rate", "--rate", "100", "--duration", "1s"),
		},
		"kv-redis.yml":       {redis(t).with("rate", "--rate", "500", "--duration", "1s")},
		"tarantool-crud.yml": {tarantool(t).with("queue")},
		"etcd.yml":           {etcd(t).with("rate", "--rate", "200", "--duration", "1s")},
		"adaptive.yml":       {web(t).with("rate", "--rate", "100", "--duration", "1s")},
		"faults.yml":         {redis(t).with("rate", "--rate", "100", "--duration", "4500ms", "--allow-faults")},
		"verify.yml":         {redis(t).with("rate", "--rate", "100", "--duration", "2500ms", "--allow-faults")},
		"grpc.yml":           {rpc.with("rate", "--rate", "200", "--duration", "1s")},
		"http.yml":           {web(t).with("rate", "--rate", "200", "--duration", "1s")},
	}
	files, err := filepath.Glob("../../examples/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, path := range files {
		name := filepath.Base(path)
		if len(runs[name]) == 0 {
			if planOf(t, path) && !strings.HasPrefix(name, "failover-") { // examples/failover tries those
				t.Errorf("nobody tries %s", name)
			}
			continue
		}
		for _, args := range runs[name] {
			t.Run(name+" "+args[0], func(t *testing.T) {
				o := load(t, append(args, "-c", path, "--quiet")...)
				// The examples' own thresholds are for calmer machines.
				if o.run == nil || !judged(o.code) && o.code != 99 {
					t.Fatalf("exit %d\n%s", o.code, o.err)
				}
				if o.run.Total.Failed > 0 || o.run.Total.OK == 0 || !o.run.Aborted.IsZero() {
					t.Errorf("%d succeeded, %d failed, aborted %q\n%s", o.run.Total.OK, o.run.Total.Failed, o.run.Aborted, o.out)
				}
			})
		}
	}
}

// planOf reports whether a file is a plan, and not an example for another command.
func planOf(t *testing.T, path string) bool {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(b), "\nconfig_name:")
}
