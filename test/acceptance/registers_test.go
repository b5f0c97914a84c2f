package acceptance_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"brunt/test/shell"
)

// staleShelf is a service that stores texts by path, and sometimes returns the previous text.
type staleShelf struct {
	mu    sync.Mutex
	texts map[string][]string
	reads int
}

func (s *staleShelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.texts[r.URL.Path]
	switch {
	case r.Method == http.MethodPut:
		s.texts[r.URL.Path] = append(all, string(body))
	case len(all) == 0:
		w.WriteHeader(http.StatusNotFound)
	default:
		back := 1
		if s.reads++; s.reads%10 == 0 && len(all) > 2 {
			back = 3
		}
		_, _ = io.WriteString(w, all[len(all)-back])
	}
}

const registersPlan = `
sessions: 1
load: [{constant: {rate: 20, duration: 1500ms}}]
`

// A store that returns old values is detected, with a short counterexample, and correct stores are reported as
// linearizable.
func TestRegisters(t *testing.T) {
	t.Parallel()
	stale := httptest.NewServer(&staleShelf{texts: map[string][]string{}})
	t.Cleanup(stale.Close)
	const web = `
registers:
  write: {http: {method: PUT, path: /registers/$1, body: $2}}
  read: {http: /registers/$1, capture: [body]}
  rate: 500
queries: [{name: get, http: {method: PUT, path: /ping}}]
`
	const commands = `
registers:
  write: {command: [SET, "register:$1", $2]}
  read: {command: [GET, "register:$1"], capture: [0]}
  keys: 1
  rate: 500
queries: [{name: ping, command: [PING]}]
`
	const sql = `
prepare: [{sql: "create table registers (id bigint primary key, value bigint)"}]
registers:
  write: {sql: "insert into registers values ($1, $2) on conflict (id) do update set value = excluded.value"}
  read: {sql: select value from registers where id = $1, capture: [value]}
  rate: 300
queries: [{name: one, sql: select 1}]
`
	for name, row := range map[string]struct {
		plan     string
		where    stand
		violated bool
	}{
		"redis":           {commands, redis(t), false},
		"postgres":        {sql, postgres(t), false},
		"http that works": {web, service(t), false},
		"stale reads":     {web, stand{proto: "http", addr: stale.Listener.Addr().String()}, true},
	} {
		t.Run(name, func(t *testing.T) {
			o := load(t, row.where.with("run", shell.File(t, "plan.yml", registersPlan+row.plan), "--quiet")...)
			if o.run == nil || o.run.Registers == nil {
				t.Fatalf("exit %d\n%s", o.code, o.err)
			}
			r := o.run.Registers
			if r.Operations < 50 || r.Registers == 0 || r.Linearizable+r.Violated+r.Undecided != r.Registers {
				t.Errorf("it checked %+v", r)
			}
			if !row.violated {
				if r.Violated > 0 || r.Linearizable == 0 || !judged(o.code) {
					t.Errorf("exit %d: %+v", o.code, r)
				}
				return
			}
			if o.code != 99 || r.Violated == 0 || len(r.Counterexample) == 0 || len(r.Counterexample) > 8 {
				t.Errorf("exit %d: %+v", o.code, r)
			}
			for _, text := range []string{"NOT LINEARIZABLE", "not linearizable: no order"} {
				if !strings.Contains(o.out, text) {
					t.Errorf("it doesn't say %q:\n%s", text, o.out)
				}
			}
		})
	}
}

// If nothing is known about the registers, the result is not a success.
func TestRegistersOfWhichNothingIsKnown(t *testing.T) {
	t.Parallel()
	o := load(t, redis(t).with("run", shell.File(t, "plan.yml", registersPlan+`
registers:
  write: {command: [RPUSHX, "nowhere:$1", $2]}
  read: {command: [LRANGE, "nowhere:$1"], capture: [0]}
queries: [{name: ping, command: [PING]}]
`), "--quiet")...)
	if o.run == nil || o.run.Registers == nil {
		t.Fatalf("exit %d\n%s", o.code, o.err)
	}
	if why := strings.Join(o.run.Verdict.Texts(), "\n"); o.code != 98 ||
		!strings.Contains(why, "nothing is known of the registers: server ERR") {
		t.Errorf("exit %d: %s\n%+v", o.code, why, o.run.Registers)
	}
}
