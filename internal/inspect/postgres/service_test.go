package postgres

import (
	"testing"

	"brunt/internal/inspect"
	"brunt/internal/inspect/inspecttest"
	"brunt/internal/record"
)

// A statement of one row is slow because of what its trigger, or a function that it calls, does.
func TestHiddenScansAreFound(t *testing.T) {
	d := newDatabase(t, counting(t), books, "alter table book add primary key (id)", "create index on book (price)",
		"create table audit as select g as id, md5(g::text) as author from generate_series(1, 20000) g",
		`create function note() returns trigger language plpgsql as $$ begin
			perform count(*) from audit where author = new.author; return new; end $$`,
		`create function known(who text) returns bigint stable language plpgsql as $$ begin
			return (select count(*) from audit where author = who); end $$`,
		"create trigger noted after update on book for each row execute function note()", "vacuum analyze")
	in := d.inspected(func(i *Inspector) {
		d.repeat(5, "update book set name = $1 where id = $2", "x", 77)(i)
		d.repeat(5, "select known(author) from book where id = $1", 77)(i)
	})
	list := found(in, FindHidden)
	if len(list) != 2 {
		t.Fatalf("%+v", in.Findings)
	}
	for _, f := range list {
		t.Log(f.Subject, f.Evidence)
	}
	inspecttest.Expect(t, in, FindHidden, "audit, which that names, was read in full", "pg_stat_statements.track")
}

func TestPlainTriggersAreSilent(t *testing.T) {
	d := newDatabase(t, counting(t), books, "alter table book add primary key (id)",
		"create function note() returns trigger language plpgsql as $$ begin return new; end $$",
		"create trigger noted after update on book for each row execute function note()", "vacuum analyze")
	inspecttest.Silent(t, d.inspected(d.repeat(5, "update book set name = $1 where id = $2", "x", 77)), FindHidden)
}

// The same long statement in several sessions at once, in some of the samples, is a stampede. One that always runs
// several times is just slow.
func TestStampedeIsFound(t *testing.T) {
	d := newDatabase(t, counting(t))
	for _, bursts := range []bool{true, false} {
		in := d.inspected(func(i *Inspector) {
			wait := d.busy("shop", 4, "select pg_sleep(600)")
			d.until(4,
				"select count(*) from pg_stat_activity where application_name = 'shop' and query_start < clock_timestamp() - interval '200 ms' and state = 'active'")
			inspecttest.Sample(t, i, 4)
			if !bursts {
				inspecttest.Sample(t, i, 2*leastSamples)
			}
			sure(t, d.conn, "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'shop'")
			wait()
			// The server closes a connection before it forgets the session.
			d.until(1, "select (count(*) = 0)::int from pg_stat_activity where application_name = 'shop'")
			inspecttest.Sample(t, i, leastSamples)
		})
		if bursts {
			inspecttest.Expect(t, in, FindStampede, "up to 4 sessions", "pg_sleep", "singleflight")
		} else {
			inspecttest.Silent(t, in, FindStampede)
		}
	}
}

// A connection that is idle in a transaction isn't free. A pool of two that is used to four fifths makes requests wait.
func TestPoolsInUse(t *testing.T) {
	for name, c := range map[string]struct {
		p    record.ClientPool
		full bool
	}{
		"at work and in transactions": {record.ClientPool{Mean: 2, ActiveMean: 0.85, InXact: 0.78, AllBusy: 0.68}, true},
		"half used":                   {record.ClientPool{Mean: 2, ActiveMean: 0.6, InXact: 0.4, AllBusy: 0.3}, false},
		"always at work":              {record.ClientPool{Mean: 1, ActiveMean: 1, AllActive: 1, AllBusy: 1}, true},
		"one, used often": {record.ClientPool{Mean: 1, ActiveMean: 0.85, AllActive: 0.85, AllBusy: 0.85},
			false},
	} {
		if fullyUsed(&c.p) != c.full {
			t.Errorf("%s: full %v", name, !c.full)
		}
	}
	file := caseFile{inspection: &record.Inspection{Activity: record.ServerActivity{Samples: 100,
		Clients: []record.ClientPool{{Application: "shop", Mean: 2, Max: 2, ActiveMean: 0.85, InXact: 0.78,
			AllBusy: 0.68}}}}}
	smallPools(&file)
	if len(file.findings) != 1 || file.findings[0].Evidence.String() !=
		"of its 2 connections, 0.85 were at work and 0.78 idle in a transaction on average, and in 68.0 % of the samples none was free: requests wait for one" {
		t.Errorf("%+v", file.findings)
	}
}

// An operation that waits for something else than the database is named. What all operations wait for, and the time
// that unknown statements may take, don't count.
func TestWaitingOutsideIsFound(t *testing.T) {
	ms := func(x float64) float64 { return 1e6 * x }
	statements := []record.Statement{
		{ID: "a", Operations: []string{"pay"}, Calls: 100, TotalNs: 100 * ms(2)},
		{ID: "b", Operations: []string{"list"}, Calls: 100, TotalNs: 100 * ms(80)},
	}
	judged := func(waitMs float64, more ...record.Statement) []record.Finding {
		c := caseFile{inspection: &record.Inspection{}, load: &record.ServerWindow{Statements: append(statements, more...)},
			operations: []inspect.Operation{{Name: "pay", Measured: 100, MeanNs: ms(122 + waitMs)},
				{Name: "list", Measured: 100, MeanNs: ms(81 + waitMs)}}}
		outside(&c)
		return c.findings
	}
	for _, waitMs := range []float64{0, 50} { // for a connection
		if f := judged(waitMs); len(f) != 1 || f[0].Subject != "pay" {
			t.Errorf("waiting %g ms: %+v", waitMs, f)
		}
	}
	if f := judged(0, record.Statement{ID: "c", Calls: 100, TotalNs: 100 * ms(110)}); len(f) != 0 {
		t.Errorf("the statement may be its own: %+v", f)
	}
	if f := judged(200); len(f) != 0 {
		t.Errorf("all wait: %+v", f)
	}
}

// Repeated statements rank by what they do to the response: each waits for a connection if none is free.
func TestRepeatedStatementsRankByEffect(t *testing.T) {
	r := repeated{Statement: record.Statement{ID: "n", Text: "select agent", Share: 0.004, MeanNs: 0.1e6}, calls: 1100,
		each:      11,
		operation: "tickets"}
	for _, c := range []struct {
		busy     float64
		severity string
	}{{0.95, record.Critical}, {0.1, record.Serious}} {
		file := caseFile{repeated: []repeated{r}, load: &record.ServerWindow{},
			operations: []inspect.Operation{{Name: "tickets", Measured: 100, MeanNs: 60e6}},
			inspection: &record.Inspection{Activity: record.ServerActivity{Clients: []record.ClientPool{
				{Application: "desk", Mean: 2, AllBusy: c.busy}}}}}
		repeatedStatements(&file)
		if f := file.findings; len(f) != 1 || f[0].Severity != c.severity || !(f[0].Effect > 0.05) {
			t.Errorf("busy %g: %+v", c.busy, f)
		}
	}
}
