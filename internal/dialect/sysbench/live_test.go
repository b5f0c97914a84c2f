package sysbench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"brunt/internal/dialect/command"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/verdict"
	"brunt/internal/plan/planfile"
	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/internal/run/loadtest"
)

// prepared prepares a table with so many rows by brunt.
func (s *server) prepared(t *testing.T, test string, rows int) (args []string) {
	t.Helper()
	args = slices.Concat([]string{test}, s.flags, []string{fmt.Sprint("--table-size=", rows)})
	if p := ours(t, append(args, "prepare")...); p.code != 0 {
		t.Fatalf("%+v", p)
	}
	return args
}

// TestConflictsAreRepeated: sessions that write a few rows get in each other's way, and all events are done.
func TestConflictsAreRepeated(t *testing.T) {
	for _, s := range databases(t) {
		t.Run(s.name, func(t *testing.T) {
			args := s.prepared(t, "oltp_write_only", 4)
			if s.name == "pgsql" {
				s.rows(t, "ALTER DATABASE "+s.Database+" SET deadlock_timeout = '2ms'")
				defer s.rows(t, "ALTER DATABASE "+s.Database+" RESET deadlock_timeout")
			}
			p := ours(t, append(args, "--threads=8", "--events=400", "--time=0", "--rand-type=uniform",
				"run")...)
			if p.code != 0 || !strings.Contains(p.out, "    total number of events:              400\n") {
				t.Fatalf("%+v", p)
			}
			if strings.Contains(p.out, "    ignored errors:                      0 ") {
				t.Errorf("no error was counted: %s", p.out)
			}
			if left := s.rows(t, "SELECT count(*) FROM sbtest1"); left != "4" {
				t.Errorf("%s rows are left of 4", left)
			}
		})
	}
}

// TestErrorsEndTheLoad: an error that isn't ignored ends the load, without a report and with exit code 1; so does the
// lack of a table.
func TestErrorsEndTheLoad(t *testing.T) {
	for _, s := range databases(t) {
		t.Run(s.name, func(t *testing.T) {
			args := s.prepared(t, "oltp_read_write", 100)
			if s.name == "mysql" {
				s.rows(t, "ALTER TABLE sbtest1 MODIFY k TINYINT")
				s.rows(t, "UPDATE sbtest1 SET k = 127")
			} else {
				s.rows(t, "UPDATE sbtest1 SET k = 2147483647")
			}
			bundle := filepath.Join(t.TempDir(), "bundle")
			p := called(t, "sysbench", append(args, "--bundle="+bundle, "--threads=3", "--time=60", "run")...)
			want := map[string]string{
				"mysql": "FATAL: mysql_stmt_execute() returned error 1264 (Out of range value for column 'k' at row ",
				"pgsql": "FATAL: PQexecPrepared() failed: 7 integer out of range\n",
			}[s.name]
			if p.code != 1 || !strings.Contains(p.out, want) || strings.Contains(p.out, "SQL statistics") {
				t.Errorf("code %d: %s\nwant %s", p.code, p.out, want)
			}
			if run := recordtest.Result(t, bundle); run.Verdict.Result != verdict.Fail || run.Interrupted ||
				!strings.Contains(run.Aborted.String(), "ut of range") || run.Total.Aborted == 0 {
				t.Errorf("%s, interrupted %v, stopped by %q, %d sessions gave up", run.Verdict.Result, run.Interrupted,
					run.Aborted, run.Total.Aborted)
			}
			p = ours(t, append(args, "--tables=3", "run")...)
			if p.code != 1 || !strings.Contains(p.out, "sbtest2") || strings.Contains(p.out, "Threads started") ||
				!strings.HasSuffix(p.out, "FATAL: Thread initialization failed!\n") {
				t.Errorf("without a table: %+v", p)
			}
		})
	}
}

// TestForcedShutdownGivesUp: events that wait for a lock are given up, reported, and told by exit code 2.
func TestForcedShutdownGivesUp(t *testing.T) {
	s := databases(t)[1]
	args := s.prepared(t, "oltp_update_index", 10)
	s.rows(t, "BEGIN")
	s.rows(t, "SELECT id FROM sbtest1 FOR UPDATE")
	defer s.rows(t, "ROLLBACK")
	p := ours(t, append(args, "--threads=2", "--time=1", "--forced-shutdown=0", "run")...)
	if p.code != 2 || !strings.Contains(p.out, "FATAL: The --max-time limit has expired, forcing shutdown...\n") ||
		!strings.Contains(p.out, "Number of unfinished transactions on forced shutdown: 2\n") {
		t.Errorf("%+v", p)
	}
}

// TestRecord: the run leaves a record, in which no password stands.
func TestRecord(t *testing.T) {
	s := databases(t)[0]
	args := s.prepared(t, "oltp_point_select", 50)
	dir := filepath.Join(t.TempDir(), "bundle")
	p := called(t, "", append(args, "--bundle="+dir, "--events=30", "--threads=2", "--rate=1000", "run")...)
	if p.code != 0 && p.code != 98 {
		t.Fatalf("%+v", p)
	}
	b, err := record.Open(record.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if run := b.Run; run.Total.Done != 30 || run.Operations[0].Name != "oltp_point_select" ||
		run.Extra["dialect"] != "sysbench" {
		t.Errorf("%+v", b.Run.Total)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err == nil && strings.Contains(string(text), s.Password) {
			t.Errorf("%s has the password", f.Name())
		}
	}
}

// TestBulkInsert: with --events, each session's rows are numbered from 1, and there are as many as were asked for.
func TestBulkInsert(t *testing.T) {
	for _, s := range databases(t) {
		t.Run(s.name, func(t *testing.T) {
			args := slices.Concat([]string{"bulk_insert"}, s.flags, []string{"--threads=2"})
			for _, command := range [][]string{{"prepare"}, {"--events=40001", "run"}} {
				if p := ours(t, append(args, command...)...); p.code != 0 {
					t.Fatalf("%+v", p)
				}
			}
			got := s.rows(t, "SELECT sum(n) FROM (SELECT count(*) AS n FROM sbtest1 UNION ALL SELECT count(*) FROM sbtest2) x")
			if got != "40001" {
				t.Errorf("%s rows", got)
			}
			if p := ours(t, append(args, "cleanup")...); p.code != 0 || s.tables(t) != "" {
				t.Errorf("%+v", p)
			}
		})
	}
}

// TestPrewarm reads the tables, and refuses PostgreSQL, as sysbench does.
func TestPrewarm(t *testing.T) {
	both := databases(t)
	args := both[0].prepared(t, "oltp_read_only", 30)
	a, b := ours(t, append(args, "prewarm")...), theirs(t, append(args, "prewarm")...)
	if a.code != 0 || masked(a.out) != masked(b.out) {
		t.Errorf("%+v, sysbench: %+v", a, b)
	}
	if p := ours(t, slices.Concat([]string{"oltp_read_only"}, both[1].flags, []string{"prewarm"})...); p.code != 1 ||
		!strings.Contains(p.out, "prewarm is currently MySQL only") {
		t.Errorf("%+v", p)
	}
}

// door lets connections through to a server, and counts them.
type door struct {
	net.Listener
	opened atomic.Int64
}

func newDoor(t *testing.T, to string) *door {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	d := &door{Listener: l}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			d.opened.Add(1)
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			pass := func(to, from net.Conn) {
				_, _ = io.Copy(to, from) // until one of them ends
				to.Close()
				from.Close()
			}
			go pass(in, out)
			go pass(out, in)
		}
	}()
	return d
}

// TestReconnect counts the connections of a load in which each serves ten events.
func TestReconnect(t *testing.T) {
	for _, s := range databases(t) {
		t.Run(s.name, func(t *testing.T) {
			d := newDoor(t, s.Addr)
			port := fmt.Sprintf("--%s-port=%d", s.name, d.Addr().(*net.TCPAddr).Port)
			args := append(s.prepared(t, "oltp_point_select", 100), "--sysbench-version=1.1", port)
			count := func(args ...string) int64 {
				before := d.opened.Load()
				p := ours(t, append(args, "--threads=2", "--events=200", "--time=0", "run")...)
				if p.code != 0 || !strings.Contains(p.out, "reconnects:                          0 ") ||
					!strings.Contains(p.out, "total number of events:              200") {
					t.Fatalf("%+v", p)
				}
				return d.opened.Load() - before
			}
			without, with := count(args...), count(append(args, "--reconnect=10")...)
			// Both threads together send 200 events. Each counts for itself, and the last event may end a connection.
			if more := with - without; more < 18 || more > 20 {
				t.Errorf("%d connections more by --reconnect=10 than the %d without it", more, without)
			}
			// Sessions that connect again and again as asked aren't missing.
			p := called(t, "", append(args, "--reconnect=1", "--threads=2", "--events=100", "--time=0", "run")...)
			if strings.Contains(p.err, "were connected on average") {
				t.Errorf("%+v", p)
			}
		})
	}
}

// TestExample runs the example's plan on the server of the tests, for a second.
func TestExample(t *testing.T) {
	s := databases(t)[1]
	s.prepared(t, "oltp_read_write", 100)
	text, err := os.ReadFile("../../../examples/sysbench/mix.yml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := planfile.Read("mix.yml", text)
	if err != nil {
		t.Fatal(err)
	}
	p.Target.Addresses, p.Target.User, p.Target.Database = []string{s.Addr}, s.User, s.Database
	p.Scripts.Options = map[string]string{"tables": "1", "table-size": "100"}
	p.Load[0].Duration = time.Second
	p.Settings.Awake = "off"
	var out, errs bytes.Buffer
	l := &loadtest.Test{Plan: p, Record: loadtest.Record{None: true}, Quiet: true, Hooks: (&loadtest.Report{}).Hooks,
		Process: (&command.Env{Version: "1", Args: []string{"brunt"}}).Process()}
	err = l.Perform(&out, &errs)
	if code := exitcode.Of(err); code != 0 && code != exitcode.Invalid && code != exitcode.Threshold {
		t.Fatalf("%v\n%s%s", err, out.String(), errs.String())
	}
	for _, name := range []string{"point select", "read and write"} {
		if !strings.Contains(out.String(), "─ "+name+" ") {
			t.Errorf("the report says nothing of %s:\n%s", name, out.String())
		}
	}
}

// firstRows ends a context when rows are inserted.
type firstRows struct{ end context.CancelFunc }

func (w firstRows) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("Inserting")) {
		w.end()
	}
	return len(b), nil
}

// A prepare that was killed leaves a table, which the next one refuses as sysbench's does; cleanup makes room for it.
func TestKilledPrepare(t *testing.T) {
	for _, s := range databases(t) {
		t.Run(s.name, func(t *testing.T) {
			line := func(command string) []string {
				return append(slices.Clone(s.flags), "oltp_insert", "--table-size=50000", command)
			}
			settings, err := Parse(line("prepare"), Version10, greeting(Version10, "1"), io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			ctx, kill := context.WithCancel(t.Context())
			defer kill()
			if err := settings.Administer(ctx, firstRows{kill}); err == nil {
				t.Fatal("it wasn't killed")
			}
			mine, original := ours(t, line("prepare")...), theirs(t, line("prepare")...)
			if mine.code != 1 || original.code != 1 || !strings.Contains(mine.out+mine.err, "already exists") {
				t.Errorf("the second prepare: %+v, sysbench's %+v", mine, original)
			}
			if a := ours(t, line("cleanup")...); a.code != 0 {
				t.Errorf("%+v", a)
			}
			if a := ours(t, line("prepare")...); a.code != 0 {
				t.Errorf("%+v", a)
			}
			if n := s.rows(t, "SELECT COUNT(*) FROM sbtest1"); n != "50000" {
				t.Errorf("%s rows", n)
			}
			s.rows(t, "DROP TABLE sbtest1")
		})
	}
}
