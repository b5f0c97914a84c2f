package campaign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brunt/internal/inspect"
	"brunt/internal/inspect/servers"
	"brunt/test/testserver"
)

// experiments writes a campaign with one experiment on a server, and its plan.
func experiments(t *testing.T, server, set, plan string) (file string) {
	t.Helper()
	file = files(t, fmt.Sprintf("campaign: try\nplan: plan.yml\ninspect: %q\nsteps:\n  - experiment: {at: 1, warm_up: 0, "+
		"repetitions: 3, set: {%s}}\n  - document: {lang: [en, ru]}\n", server, set), "")
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), "plan.yml"), []byte(plan), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// valueOf returns the value of a server's setting.
func valueOf(t *testing.T, server, name string) string {
	t.Helper()
	s, err := servers.Settings(t.Context(), server)
	var now []inspect.Setting
	if err == nil {
		defer s.Close()
		now, err = s.Read(t.Context(), []string{name})
	}
	if err != nil {
		t.Fatal(err)
	}
	return now[0].Value
}

// TestExperiments tries settings of the real servers: the load is measured with and without them, they are restored,
// and the document says what was found.
func TestExperiments(t *testing.T) {
	testserver.SkipQuick(t)
	for _, row := range []struct {
		kind            string
		start           func(t *testing.T) (server, plan string)
		set, name, want string // the setting, and its value before
		tried           string
	}{
		{"pg", func(t *testing.T) (string, string) {
			s := testserver.Postgres(t)
			return fmt.Sprintf("pg=postgres://%s@%s/postgres", s.User, s.Addr), fmt.Sprintf(
				"target: {protocol: pg, addresses: [%q], user: %q, database: postgres}\n"+
					"queries: [{name: one, sql: select 1, rate: 400}]\n", s.Addr, s.User)
		}, "work_mem: 9MB", "work_mem", "4MB", "9MB"},
		{"mysql", func(t *testing.T) (string, string) {
			s := testserver.MariaDB(t)
			t.Setenv(password, s.Password)
			return fmt.Sprintf("mysql=mysql://%s:%s@%s/%s", s.User, s.Password, s.Addr, s.Database), fmt.Sprintf(
				"target: {protocol: mysql, addresses: [%q], user: %q, database: %q}\n"+
					"queries: [{name: one, sql: select 1, rate: 400}]\n", s.Addr, s.User, s.Database)
		}, "innodb_flush_log_at_trx_commit: 2", "innodb_flush_log_at_trx_commit", "0", "2"},
		{"tarantool", func(t *testing.T) (string, string) {
			s := testserver.Tarantool(t, testserver.Lua("box.schema.user.grant('guest', 'execute', 'universe')"))
			return "tarantool=tarantool://" + s.Addr, fmt.Sprintf("target: {protocol: iproto, addresses: [%q], user: guest}\n"+
				"queries: [{name: one, sql: select 1, rate: 400}]\n", s.Addr)
		}, "net_msg_max: 100", "net_msg_max", "4096", "100"},
	} {
		t.Run(row.kind, func(t *testing.T) {
			server, plan := row.start(t)
			dir := filepath.Join(t.TempDir(), "campaign")
			p, err := parse(experiments(t, server, row.set, "config_name: one\n"+plan))
			if err != nil {
				t.Fatal(err)
			}
			c, err := Begin(p, options(dir))
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(c.Run(context.Background()), c.Close()); err != nil {
				t.Fatal(err)
			}
			x := c.results[0].Experiment
			if x == nil || x.Order != "ABBAAB" || len(x.Settings) != 1 || x.Settings[0].Before != row.want ||
				x.Settings[0].Tried != row.tried || x.Kept || x.Change == nil || x.Why.IsZero() {
				t.Errorf("%+v", x)
			}
			if now := valueOf(t, server, row.name); now != row.want {
				t.Errorf("left: %s", now)
			}
			for name, want := range map[string]string{"report-en.md": "restored", "report-ru.md": "возвращ"} {
				text, err := os.ReadFile(filepath.Join(dir, name))
				text = bytes.ReplaceAll(text, []byte(`\_`), []byte("_"))
				if err != nil || !bytes.Contains(text, []byte(row.name+" = "+row.tried)) || !bytes.Contains(text, []byte(want)) {
					t.Errorf("%s: %v: %s", name, err, text)
				}
			}
		})
	}
}

const keys = `config_name: keys
target: {protocol: redis, addresses: [%q], user: %q}
queries:
  - {name: set, command: [SET, "key:$1", "$1"], params: [{type: Integer, range: [1, 100]}], rate: 200}
  - {name: get, command: [GET, "key:$1"], params: [{type: Integer, range: [1, 100]}], rate: 200}
`

// TestAKilledExperimentIsRestored kills a campaign while a setting is tried. The setting is restored without it, and
// the campaign goes on when it is resumed. A higher maxmemory pays, since writes were refused; a lower one doesn't.
func TestAKilledExperimentIsRestored(t *testing.T) {
	testserver.SkipQuick(t)
	s := testserver.Redis(t)
	t.Setenv(password, s.Password)
	server := fmt.Sprintf("redis=redis://%s:%s@%s", s.User, s.Password, s.Addr)
	set := func(value string) {
		t.Helper()
		tuner, err := servers.Settings(t.Context(), server)
		if err == nil {
			defer tuner.Close()
			err = tuner.Set(t.Context(), []inspect.Setting{{Name: "maxmemory", Value: value}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		before, tried, why string
		advised            bool
	}{{"100000", "0", "fewer requests fail", true}, {"0", "100000", "more requests fail", false}} {
		set(row.before)
		file := experiments(t, server, "maxmemory: "+row.tried, fmt.Sprintf(keys, s.Addr, s.User))
		dir := filepath.Join(t.TempDir(), "campaign")
		killWhen(t, file, dir, func() bool {
			_, err := os.Stat(filepath.Join(dir, "01-experiment", "setting-1-02-B", "run.json"))
			return err == nil && valueOf(t, server, "maxmemory") == row.tried
		})
		for deadline := time.Now().Add(time.Minute); valueOf(t, server, "maxmemory") != row.before; {
			if time.Now().After(deadline) {
				t.Fatal("the setting isn't restored after the kill")
			}
			time.Sleep(5 * time.Millisecond)
		}
		c, err := Resume(dir, readPlan, options(dir))
		if err != nil {
			t.Fatal(err)
		}
		c.least = 300 * time.Millisecond
		if err := errors.Join(c.Run(context.Background()), c.Close()); err != nil {
			t.Fatal(err)
		}
		x := c.results[0].Experiment
		if x.Advised != row.advised || !strings.HasPrefix(x.Why.String(), row.why) || x.Settings[0].Before != row.before {
			t.Errorf("%s: %+v", x.Why, x)
		}
		if now := valueOf(t, server, "maxmemory"); now != row.before {
			t.Errorf("left: %s", now)
		}
	}
}

// What can't be tried is said before the first load.
func TestExperimentsThatCannotBe(t *testing.T) {
	plan := fmt.Sprintf(keys, "127.0.0.1:1", "")
	for _, row := range []struct{ server, set, want string }{
		{"auto", "appendfsync: always", "settings can be changed where inspect is KIND=URL"},
		{"etcd=http://127.0.0.1:1", "x: 1", "the kind is one of pg, mysql, tarantool, redis"},
		{"redis=redis://127.0.0.1:1", "requirepass: x", "requirepass is a secret"},
		{"pg=postgres://127.0.0.1:1/x", "primary_conninfo: x", "primary_conninfo is a secret"},
		{"tarantool=tarantool://127.0.0.1:1", "replication: x", "replication is a secret"},
		{"mysql=mysql://127.0.0.1:1", "expire_logs_days: 1", "delete data because of expire_logs_days"},
		{"redis=redis://127.0.0.1:1", "'a*': x", `"a*" is no name of a setting`},
		{"redis=redis://127.0.0.1:1", "maxmemory: 1", "campaign.yml:5:"},
	} {
		p, err := parse(experiments(t, row.server, row.set, plan))
		if err == nil {
			var c *Campaign
			if c, err = Begin(p, options(t.TempDir())); err == nil {
				err = errors.Join(c.Run(context.Background()), c.Close())
			}
		}
		if err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s %s: %v, want %s", row.server, row.set, err, row.want)
		}
	}
}
