package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"brunt/internal/plan/planfile"
	"brunt/internal/server/target"
	"brunt/test/testserver"
)

var servers testserver.Pool

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

// examine examines a plan on a server.
func examine(t *testing.T, head, rest string) []Finding {
	t.Helper()
	p, err := planfile.Read("x.yml", []byte(head+rest))
	if err != nil {
		t.Fatal(err)
	}
	if p.Target.Protocol == "mysql" {
		p.Target.Password = "brunt-test"
	}
	all, err := Examine(context.Background(), p, "--sessions")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// of is the finding about a subject whose text has an id.
func of(all []Finding, subject, id string) *Finding {
	for i := range all {
		if f := &all[i]; (subject == "" || f.Subject == subject) && (id == "" || f.Text.ID == id) {
			return f
		}
	}
	return nil
}

const cars = `
tables_schema:
  - {name: car, row_count: 10, columns: [{name: id, type: Integer, range: [1, 10], unique: true}], primary_keys: [id]}
queries:
  - {name: read, sql: "select id from car where id = $1", params: [{type: Integer, range: [1, 10]}]}
  - {name: add, sql: "insert into car values ($1)", params: [{type: Integer, range: [11, 1000]}]}
  - {name: typo, sql: "select idd from car where id = $1", params: [{type: Integer, range: [1, 10]}]}
  - {name: refused, sql: "select 1 from nowhere"}
transactions:
  - name: both
    statements:
      - {sql: "insert into car values ($1)", params: [{type: Integer, range: [11, 1000]}]}
      - {sql: "delete from car"}
load: [{constant: {rate: 10, duration: 1s}}]
`

func TestPostgres(t *testing.T) {
	s := servers.Postgres(t)
	s.Psql(t, "create role limited login")
	s.Psql(t, "create table kept (id int)")
	head := func(user string) string {
		return `target: {protocol: pg, addresses: ["` + s.Addr + `"], user: ` + user + ", database: postgres}"
	}
	t.Run("statements", func(t *testing.T) {
		all := examine(t, head("brunt"), cars)
		for subject, level := range map[string]Level{
			s.Addr: Fine, "car": Fine, "read": Fine, "add": Fine, "both": Fine, "typo": Problem, "refused": Problem,
			"file descriptors": Fine,
		} {
			if f := of(all, subject, ""); f == nil || f.Level != level {
				t.Errorf("%s: %+v, want level %s", subject, f, level)
			}
		}
		if f := of(all, "typo", ""); f == nil || !strings.Contains(f.Text.String(), "idd") || f.Remedy.IsZero() {
			t.Errorf("the typo: %+v", f)
		}
		if Worst(all) != Problem {
			t.Errorf("the worst is %s", Worst(all))
		}
		if left := s.Psql(t, "select count(*) from pg_tables where tablename = 'car'"); strings.TrimSpace(left) != "0" {
			t.Errorf("the table was left behind: %s", left)
		}
		for _, id := range []string{"doctor.clock", "doctor.sessions"} {
			if f := of(all, s.Addr, id); f == nil || f.Level != Fine {
				t.Errorf("%s: %+v", id, f)
			}
		}
	})
	t.Run("no right to create", func(t *testing.T) {
		f := of(examine(t, head("limited"), cars), "car", "")
		if f == nil || f.Level != Problem || !strings.Contains(f.Text.String(), "permission denied") {
			t.Errorf("%+v", f)
		}
	})
	t.Run("no right to read", func(t *testing.T) {
		all := examine(t, head("limited"), "\nqueries: [{name: q, sql: select id from kept, weight: 1}]\n"+
			"load: [{closed: {duration: 1s}}]")
		if f := of(all, "q", ""); f == nil || f.Level != Problem || !strings.Contains(f.Text.String(), "permission denied") {
			t.Errorf("%+v", f)
		}
	})
	t.Run("too many sessions", func(t *testing.T) {
		all := examine(t, head("brunt"), "\nsessions: 5000"+cars)
		f := of(all, s.Addr, "doctor.sessions-over")
		if f == nil || f.Level != Problem || !strings.Contains(f.Remedy.String(), "max_connections") {
			t.Errorf("%+v", f)
		}
	})
	t.Run("too many sessions of the role", func(t *testing.T) {
		s.Psql(t, "create role few login connection limit 2")
		f := of(examine(t, head("few"), "\nsessions: 5\nqueries: [{name: q, sql: select 1, weight: 1}]\n"+
			"load: [{closed: {duration: 1s}}]"), s.Addr, "doctor.sessions-over")
		if f == nil || f.Level != Problem || !strings.Contains(f.Text.String(), "role few") {
			t.Errorf("%+v", f)
		}
	})
	t.Run("another address lacks the table", func(t *testing.T) {
		other := testserver.Postgres(t)
		all := examine(t, strings.Replace(head("brunt"), `"]`, `", "`+other.Addr+`"]`, 1),
			"\nqueries: [{name: q, sql: select id from kept, weight: 1}]\nload: [{closed: {duration: 1s}}]")
		if f := of(all, "q", "doctor.works"); f == nil || f.Level != Fine {
			t.Errorf("%+v", f)
		}
		if f := of(all, "q", "doctor.fails-at"); f == nil || f.Level != Problem ||
			!strings.Contains(f.Text.String(), other.Addr) {
			t.Errorf("%+v", f)
		}
	})
	t.Run("nobody of that name", func(t *testing.T) {
		all := examine(t, head("nobody"), cars)
		if f := of(all, s.Addr, ""); f == nil || f.Level != Unreachable || f.Remedy.ID != "doctor.refused.remedy" {
			t.Errorf("%+v", f)
		}
	})
	t.Run("one of two is down", func(t *testing.T) {
		down := testserver.Address(t)
		all := examine(t, strings.Replace(head("brunt"), `["`, `["`+down+`", "`, 1), cars)
		if f := of(all, down, ""); f == nil || f.Level != Unreachable {
			t.Errorf("%+v", f)
		}
		if f := of(all, "read", ""); f == nil || f.Level != Fine {
			t.Errorf("the other one wasn't used: %+v", f)
		}
	})
}

// Limits of connections are compared with the sessions on every protocol that has some.
func TestTooManySessions(t *testing.T) {
	for name, target := range map[string]func(t *testing.T) (head, setting string){
		"Redis": func(t *testing.T) (string, string) {
			s := testserver.Redis(t, testserver.Settings("maxclients 20"))
			return `target: {protocol: redis, addresses: ["` + s.Addr + `"]}`, "maxclients"
		},
		"MariaDB": func(t *testing.T) (string, string) {
			s := testserver.MariaDB(t, testserver.Settings("max_connections=20"))
			return `target: {protocol: mysql, addresses: ["` + s.Addr + `"], user: brunt, database: test}`,
				"max_connections"
		},
		"an account of MariaDB": func(t *testing.T) (string, string) {
			s := testserver.MariaDB(t, testserver.Settings("max_user_connections=10"))
			return `target: {protocol: mysql, addresses: ["` + s.Addr + `"], user: brunt, database: test}`,
				"max_user_connections"
		},
	} {
		t.Run(name, func(t *testing.T) {
			head, setting := target(t)
			query := `command: [get, a]`
			if strings.Contains(head, "mysql") {
				query = `sql: select 1`
			}
			all := examine(t, head, "\nsessions: 30\nqueries: [{name: q, "+query+", weight: 1}]\n"+
				"load: [{closed: {duration: 1s}}]")
			if f := of(all, "", "doctor.sessions-over"); f == nil || !strings.Contains(f.Remedy.String(), setting) {
				t.Errorf("%+v", all)
			}
		})
	}
}

// What a fault names must be there, and brunt must be allowed to disturb it.
func TestFaults(t *testing.T) {
	s := servers.Redis(t)
	dir := t.TempDir()
	own := filepath.Join(dir, "own.pid")
	gone := filepath.Join(dir, "gone.pid")
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	}()
	if err := os.WriteFile(own, []byte(strconv.Itoa(child.Process.Pid)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := examine(t, `target: {protocol: redis, addresses: ["`+s.Addr+`"]}`, `
queries: [{name: look, command: [get, doctor], weight: 1}]
load: [{closed: {duration: 10s}}]
faults:
  - {name: there, at: 1s, for: 1s, process: {do: stop, pid_file: "`+own+`"}}
  - {name: no file, at: 3s, for: 1s, process: {do: stop, pid_file: "`+gone+`"}}
  - {name: no process, at: 5s, for: 1s, process: {do: stop, match: "no such process runs here"}}
  - {name: by hand, at: 7s, command: {inject: "exit 3"}}`)
	for subject, level := range map[string]Level{
		"there": Fine, "no file": Problem, "no process": Problem, "by hand": Note,
	} {
		if f := of(all, subject, ""); f == nil || f.Level != level {
			t.Errorf("%s: %+v, want level %s", subject, f, level)
		}
	}
	if f := of(all, "there", ""); f != nil && !strings.Contains(f.Text.String(), "(sleep)") {
		t.Errorf("%+v", f)
	}
}

// Where nothing can be undone, only reads are tried, and the findings name the rest.
func TestNothingIsSentThatCannotBeUndone(t *testing.T) {
	s := servers.Redis(t)
	all := examine(t, `target: {protocol: redis, addresses: ["`+s.Addr+`"]}`, `
queries:
  - {name: add, command: [set, doctor, 1], weight: 1}
  - {name: look, command: [get, doctor], weight: 1}
  - {name: typo, command: [get, doctor, twice], weight: 1}
load: [{closed: {duration: 1s}}]`)
	for subject, want := range map[string]struct {
		level Level
		id    string
	}{
		"add": {Note, "doctor.writes"}, "look": {Fine, "doctor.reads"}, "typo": {Problem, ""},
		s.Addr: {Fine, "doctor.answers"},
	} {
		if f := of(all, subject, want.id); f == nil || f.Level != want.level {
			t.Errorf("%s: %+v, want level %s, %s", subject, f, want.level, want.id)
		}
	}
	client := goredis.NewClient(&goredis.Options{Addr: s.Addr})
	defer client.Close()
	if n, err := client.Exists(t.Context(), "doctor").Result(); n != 0 || err != nil {
		t.Errorf("the write was sent: %d, %v", n, err)
	}
}

// A plan of Tarantool's without tables or SQL has no transaction either.
func TestTarantoolWithoutTables(t *testing.T) {
	s := testserver.Tarantool(t)
	all := examine(t, `target: {protocol: iproto, addresses: ["`+s.Addr+`"], user: guest}`, `
queries: [{name: sum, eval: "return 1", weight: 1}]
load: [{closed: {duration: 1s}}]`)
	if f := of(all, "sum", ""); f == nil || f.Level != Note || Worst(all) != Note {
		t.Errorf("%+v", all)
	}
	// What isn't tried is compiled as a run would: this one refuses transactions.
	all = examine(t, `target: {protocol: iproto, addresses: ["`+s.Addr+`"], user: guest}`, `
transactions: [{name: two, weight: 1, atomic: true, statements: [{eval: "return 1"}, {eval: "return 2"}]}]
load: [{closed: {duration: 1s}}]`)
	if Worst(all) != Problem || !strings.Contains(fmt.Sprint(all), "no transactions") {
		t.Errorf("a transaction: %+v", all)
	}
}

// The map of buckets is asked for as a run would: versions of Picodata without _pico_bucket are named.
func TestMapsOfBuckets(t *testing.T) {
	s := testserver.Tarantool(t)
	for source, level := range map[string]Level{"picodata": Problem, "{ranges: [{from: 1, to: 10, address: '" + s.Addr + "'}]}": Fine} {
		all := examine(t, `target: {protocol: iproto, addresses: ["`+s.Addr+`"], user: guest, balance: {mode: bucket,
  by: [id], buckets: 10, hash_function: murmur3, map: `+source+`}}`, `
queries: [{name: touch, call: touch, params: [{name: id, type: Unsigned, range: [1, 10]}]}]
load: [{closed: {duration: 1s}}]`)
		f := of(all, "balance", "")
		if f == nil || f.Level != level ||
			level == Problem && !strings.Contains(f.Text.String(), "25.5 has nothing of this name, 25.6") {
			t.Errorf("%s: %+v", source, all)
		}
	}
}

// A statement that needs a value from a row isn't refused because the tables hold no rows yet.
func TestCapturesBeforeTheTablesHoldRows(t *testing.T) {
	s := servers.Postgres(t)
	all := examine(t, `target: {protocol: pg, addresses: ["`+s.Addr+`"], user: brunt, database: postgres}`, `
tables_schema:
  - {name: stock, row_count: 10, primary_keys: [id], columns: [
      {name: id, type: Integer, range: [1, 10], unique: true}, {name: price, type: Integer, range: [1, 9]}]}
  - {name: sale, row_count: 0, primary_keys: [id], columns: [
      {name: id, type: Integer, range: [1, 10], unique: true},
      {name: price, type: Integer, range: [1, 9], is_nullable: false}]}
transactions:
  - name: sell
    weight: 1
    statements:
      - {name: price, sql: "select price from stock where id = $1", params: [{type: Integer, range: [1, 10]}],
         capture: [price]}
      - {name: book, sql: "insert into sale values ($1, $2)",
         params: [{type: Integer, range: [1, 1000000]}, {from: price.price}]}
load: [{closed: {duration: 1s}}]`)
	if f := of(all, "sell", "doctor.needs-rows"); f == nil || f.Level != Note || Worst(all) != Note {
		t.Errorf("%+v", all)
	}
}

func TestPlansThatCannotBeCompiled(t *testing.T) {
	p, err := planfile.Read("x.yml", []byte("target: {protocol: sqlite, addresses: [\":memory:\"]}"+cars))
	if err != nil {
		t.Fatal(err)
	}
	p.Target.Protocol = "smoke"
	var u *target.UsageError
	if _, err := Examine(context.Background(), p, ""); !errors.As(err, &u) {
		t.Errorf("an unknown protocol: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p.Target.Protocol = "sqlite"
	if _, err := Examine(ctx, p, ""); err == nil {
		t.Error("it was interrupted and says nothing")
	}
}
