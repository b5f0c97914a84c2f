package acceptance_test

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brunt/test/shell"
)

// planted is the secret that must not appear anywhere.
const planted = "Pl4nted"

// No command prints a secret that it was given or writes it into a file of the bundle, whether the service can be
// reached or not.
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "bad") {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer service.Close()
	host := strings.TrimPrefix(service.URL, "http://")
	list := shell.File(t, "urls", "GET http://user:"+planted+"@"+host+"/a?api_key="+planted+"\n\n"+
		"GET "+service.URL+"/bad?token="+planted+"\n")
	targets := shell.File(t, "targets.json",
		`{"method":"POST","url":"`+service.URL+`/t?access_token=`+planted+
			`","header":{"Authorization":["Bearer `+planted+`"]}}`+"\n")
	plan := shell.File(t, "plan.yml",
		"target: {protocol: http, addresses: ['"+host+"']}\nqueries: [{name: one, http: {path: '/x?password="+planted+"', headers: {X-Api-Key: "+planted+"}}, count: 5}]\n")
	workload := shell.File(t, "workload", "recordcount=10\noperationcount=10\nworkload=core\nreadproportion=1\n")
	one := shell.File(t, "one.yml", "queries: [{name: one, sql: select 1, count: 5}]\n")
	pg := postgres(t)
	hidden := []string{planted, pg.password}
	for name, args := range map[string][]string{
		"http": {"http", "http://user:" + planted + "@" + host + "/?token=" + planted, "-H",
			"Authorization: Bearer " + planted, "--secret-data", planted, "--requests", "5"},
		"http, failing": {"http", service.URL + "/bad?secret=" + planted, "-H", "Cookie: session=" + planted,
			"--requests", "5"},
		"http, nobody there": {"http", "http://user:" + planted + "@127.0.0.1:1/?token=" + planted, "--requests", "5"},
		"http, a list":       {"http", list, "--requests", "6"},
		"http, targets":      {"http", targets, "--requests", "5"},
		"cook": {"cook", "-qps", "20", "-interval", "200ms", "-totalRequests", "5", "-header",
			"Authorization: Bearer " + planted, "-secret-data", planted, "http://user:" + planted + "@" + host + "/?token=" +
				planted},
		"cook, nobody there": {"cook", "-qps", "20", "-interval", "200ms", "-totalRequests", "5",
			"http://127.0.0.1:1/?token=" + planted},
		"run": {"run", plan},
		"rate, wrong address": {"rate", "-c", plan, "-a", "user:" + planted + "@127.0.0.1:1", "--rate", "10",
			"--duration", "1s"},
		"queue":          pg.with("queue", "-c", one),
		"queue, refused": {"queue", "-c", one, "--proto", "pg", "-a", pg.addr, "-u", "nobody", "-p", planted},
		"ycsb": {"ycsb", "run", "redis", "-P", workload, "-p", "redis.addr=127.0.0.1:1", "-p",
			"redis.password=" + planted, "-p", "threadcount=1"},
		"a flag that isn't": {"http", service.URL, "--password", planted, "--bogus=" + planted},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "bundle")
			flag := "--bundle"
			if args[0] == "cook" {
				args = append([]string{"cook", "-bundle", dir}, args[1:]...)
			} else {
				args = append(args, flag, dir)
			}
			for _, output := range []string{"", "json"} {
				if output != "" {
					args = []string{"report", dir, "--output", output}
				}
				o := brunt(t, args...)
				for _, what := range hidden {
					if line := lineWith(o.out+o.err, what); line != "" {
						t.Errorf("printed by %s: %s", args[0], line)
					}
				}
			}
			err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return nil
				}
				b, err := os.ReadFile(path)
				for _, what := range hidden {
					if line := lineWith(string(b), what); line != "" {
						t.Errorf("kept in %s: %s", filepath.Base(path), line)
					}
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

func lineWith(text, what string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, what) {
			return line
		}
	}
	return ""
}
