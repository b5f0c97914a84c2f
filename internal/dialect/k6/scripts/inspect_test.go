package scripts_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"brunt/internal/record"
	"brunt/test/shell"
	"brunt/test/testserver"
)

// Servers are asked what a script did to them: those that it uses, those that are named by the flag, the output's
// settings or the environment, and the service's database. Workers leave the questions to the coordinator.
func TestScriptsAskServers(t *testing.T) {
	t.Parallel()
	redis := servers.Redis(t).Addr
	counted := testserver.Redis(t).Addr // nothing else asks it for keys
	tarantool := servers.Get(t, "asked tarantool", func(tb testserver.TB) *testserver.Server {
		return testserver.Tarantool(tb)
	})
	service := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer service.Close()
	gets := func(address string) string {
		return `import brunt from "k6/x/brunt"
const db = brunt.open("redis://` + address + `")
export const options = { iterations: 20 }
export default () => { db.query({ command: ["GET", "a"] }) }`
	}
	of := map[string]string{
		"redis":   gets(redis),
		"counted": gets(counted),
		"tarantool": `import tarantool from "k6/x/tarantool"
const db = tarantool.connect("` + tarantool.Addr + `", { user: "` + tarantool.User + `", pass: "` + tarantool.Password + `" })
export const options = { iterations: 5 }
export default () => { tarantool.call(db, "box.info", []) }`,
		"http": `import http from "k6/http"
export const options = { vus: 2, iterations: 10 }
export default () => { http.get("` + service.URL + `") }`,
	}
	for _, c := range []struct {
		name, script string
		flags, env   []string
		kind, at     string // of the inspection; "" for none
		says         string
	}{
		{"auto", "counted", []string{"--inspect", "auto"}, nil, "redis", counted, ""},
		{"auto, by the output", "redis", []string{"-o", "brunt=inspect=auto"}, nil, "redis", redis, ""},
		{"auto, by k6/x/tarantool", "tarantool", []string{"--inspect=auto"}, nil, "tarantool", tarantool.Addr, ""},
		{"the environment", "http", nil, []string{"BRUNT_INSPECT=redis=redis://" + redis}, "redis", redis, ""},
		{"a service", "http", []string{"--inspect", "auto"}, nil, "", "", "can't be inspected; name the servers"},
		{"over workers", "http", []string{"--workers", "2", "--inspect", "redis=redis://" + redis}, nil, "redis", redis, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "bundle")
			args := append([]string{"brunt", "k6", "run", "--quiet"}, c.flags...)
			cmd, output := shell.Start(t, append(c.env, "BRUNT_BUNDLE="+dir), append(args, script(t, of[c.script]))...)
			_ = cmd.Wait()
			run := shell.WholeRun(t, dir, output)
			var texts []string
			for i := range run.Warnings {
				texts = append(texts, run.Warnings[i].Text.String())
			}
			if c.kind == "" {
				if all := strings.Join(texts, "\n"); len(run.Inspections) > 0 || !strings.Contains(all, c.says) {
					t.Errorf("%d inspections; %s", len(run.Inspections), all)
				}
				return
			}
			if len(run.Inspections) != 1 {
				t.Fatalf("%d inspections; %q", len(run.Inspections), texts)
			}
			in := &run.Inspections[0]
			if !strings.HasPrefix(in.Source, c.kind+" ") || !strings.Contains(in.Source, c.at) || len(in.Windows) == 0 {
				t.Errorf("%+v", in)
			}
			if c.name == "auto" && calls(in, "get") != 20 {
				t.Errorf("%v calls of GET, want 20: %+v", calls(in, "get"), in.Windows[0].Statements)
			}
		})
	}
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"an unknown kind":    {[]string{"--inspect", "oracle=x"}, "there is no kind of server"},
		"by the output":      {[]string{"-o", "brunt=inspect=oracle=x"}, "there is no kind of server"},
		"auto and workers":   {[]string{"--workers", "2", "--inspect", "auto"}, "doesn't know which servers the script uses"},
		"nobody there":       {[]string{"--inspect", "redis=redis://:s3cret@127.0.0.1:1"}, "127.0.0.1:1"},
		"a flag, no content": {[]string{"--inspect"}, "needs an argument"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{script(t, of["http"])}, c.args...)
			if len(c.args) > 1 {
				args = append(c.args, script(t, of["http"]))
			}
			o := run(t, args...)
			if o.code == 0 || !strings.Contains(o.text, c.says) || strings.Contains(o.text, "s3cret") {
				t.Errorf("exit %d: %s", o.code, o.text)
			}
		})
	}
}

// calls returns how often the server executed a statement.
func calls(in *record.Inspection, id string) float64 {
	for _, s := range in.Windows[0].Statements {
		if s.ID == id {
			return s.Calls
		}
	}
	return 0
}
