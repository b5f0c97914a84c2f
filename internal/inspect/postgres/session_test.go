package postgres

import (
	"brunt/internal/inspect"
	"brunt/internal/inspect/inspecttest"
	"context"
	"fmt"
	"sync"
	"testing"

	"brunt/internal/record"

	"github.com/jackc/pgx/v5"
)

// until waits until the answer of a query is a number of at least n.
func (d *database) until(n int, query string) {
	d.t.Helper()
	for {
		var got int
		if err := d.conn.QueryRow(context.Background(), query).Scan(&got); err != nil {
			d.t.Fatal(err)
		}
		if got >= n {
			return
		}
	}
}

// busy executes a statement on n connections of an application. It returns when all of them are executing it. They end
// when the test removes what blocks them.
func (d *database) busy(application string, n int, sql string) (wait func()) {
	d.t.Helper()
	var done sync.WaitGroup
	for range n {
		c := d.connect(application)
		done.Add(1)
		go func() {
			defer done.Done()
			_, _ = c.Exec(context.Background(), sql) // the connection may be closed by then
		}()
	}
	d.until(n, fmt.Sprintf("select count(*) from pg_stat_activity where application_name = '%s' and state = 'active'",
		application))
	return done.Wait
}

// Sessions wait for a lock whose holder does something else.
func TestLocksHeldAcrossCallsAreFound(t *testing.T) {
	d := newDatabase(t, counting(t),
		"create table counter (id int primary key, n int); insert into counter values (1, 0), (2, 0)")
	in := d.inspected(func(i *Inspector) {
		holder := d.connect("holder")
		sure(t, holder, "begin")
		sure(t, holder, "update counter set n = n + 1 where id = 1")
		wait := d.busy("waiter", 3, "update counter set n = n + 10 where id = 1")
		d.until(3, "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()")
		inspecttest.Sample(t, i, leastSamples)
		sure(t, holder, "commit")
		wait()
	})
	inspecttest.Silent(t, in, FindHotRows)
	f := inspecttest.Expect(t, in, FindLockHeld, "update counter set n = n + 10", "update counter set n = n + 1 where",
		"idle in a transaction", "on counter")
	if f.Severity != record.Critical {
		t.Errorf("%+v", f)
	}
	if a := in.Activity; a.Samples != leastSamples || a.Waits[0].Class != "Lock" || len(a.Points) != leastSamples ||
		a.Points[0].Classes["Lock"] != 3 {
		t.Errorf("%+v", a)
	}
}

// Sessions wait for a lock whose holder works.
func TestHotRowsAreFound(t *testing.T) {
	d := newDatabase(t, counting(t), "create table counter (id int primary key, n int); insert into counter values (1, 0)")
	in := d.inspected(func(i *Inspector) {
		held := d.busy("holder", 1,
			"with changed as (update counter set n = n + 1 where id = 1 returning n) select pg_sleep(600) from changed")
		d.until(1, "select count(*) from pg_stat_activity where application_name = 'holder' and wait_event = 'PgSleep'")
		wait := d.busy("waiter", 3, "update counter set n = n + 10 where id = 1")
		d.until(3, "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()")
		inspecttest.Sample(t, i, leastSamples)
		sure(t, d.conn, "select pg_cancel_backend(pid) from pg_stat_activity where application_name = 'holder'")
		held()
		wait()
	})
	inspecttest.Silent(t, in, FindLockHeld)
	f := inspecttest.Expect(t, in, FindHotRows, "update counter set n = n + 10", "with changed as (update counter",
		"on counter")
	if f.Severity != record.Critical {
		t.Errorf("%+v", f)
	}
}

func TestRowsOfTheirOwnAreSilent(t *testing.T) {
	d := newDatabase(t, counting(t),
		"create table counter (id int primary key, n int); insert into counter values (1, 0), (2, 0)")
	in := d.inspected(func(i *Inspector) {
		for id := 1; id <= 2; id++ {
			c := d.connect("writer")
			sure(t, c, "begin")
			sure(t, c, "update counter set n = n + 1 where id = $1", id)
		}
		inspecttest.Sample(t, i, leastSamples)
	})
	inspecttest.Silent(t, in, FindHotRows)
	inspecttest.Silent(t, in, FindIdleXact)
}

// inTransaction opens an idle transaction and waits until it has been idle for 5 s by the server's clock.
func (d *database) inTransaction(application string) {
	d.t.Helper()
	sure(d.t, d.connect(application), "begin")
	mine := fmt.Sprintf(" from pg_stat_activity where application_name = '%s' and state = 'idle in transaction'",
		application)
	sure(d.t, d.conn, "select pg_sleep_until(state_change + interval '5 s')"+mine)
	d.until(1, "select count(*)"+mine+" and clock_timestamp() - state_change >= interval '5 s'")
}

// A forgotten transaction is found. Neither a connection that is idle outside of a transaction for the same time nor a
// transaction that has just begun is reported.
func TestForgottenTransactionIsFound(t *testing.T) {
	d := newDatabase(t, counting(t))
	in := d.inspected(func(i *Inspector) {
		sure(t, d.connect("rested"), "select 1")
		d.inTransaction("forgetful")
		sure(t, d.connect("quick"), "begin")
		inspecttest.Sample(t, i, 1)
	})
	inspecttest.Expect(t, in, FindIdleXact, "forgetful", "held a transaction open", "idle_in_transaction_session_timeout")
	if n := len(found(in, FindIdleXact)); n != 1 {
		t.Errorf("%d of them: %+v", n, in.Findings)
	}
	if n := len(in.Activity.Clients); n != 4 {
		t.Errorf("%d applications: %+v", n, in.Activity.Clients)
	}
}

func TestIdleConnectionsAreFound(t *testing.T) {
	d := newDatabase(t, counting(t))
	in := d.inspected(func(i *Inspector) {
		for range idlePool + 1 {
			d.connect("lazy")
		}
		inspecttest.Sample(t, i, leastSamples)
	})
	inspecttest.Expect(t, in, FindConnections, "lazy", "21 connections", " 0 work")
}

func TestFullServerIsFound(t *testing.T) {
	d := newDatabase(t, counting(t))
	in := d.inspected(func(i *Inspector) {
		limit := 0
		if err := d.conn.QueryRow(context.Background(),
			"select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int - (select count(*) from pg_stat_activity where backend_type = 'client backend')::int").Scan(&limit); err != nil {
			t.Fatal(err)
		}
		var all []*pgx.Conn
		for range limit {
			all = append(all, d.connect("many"))
		}
		inspecttest.Sample(t, i, leastSamples)
		for _, c := range all {
			c.Close(context.Background())
		}
	})
	if f := inspecttest.Expect(t, in, FindConnections, "max_connections"); f.Severity != record.Critical {
		t.Errorf("%+v", f)
	}
}

func TestCrowdIsFound(t *testing.T) {
	cores := inspect.CoresOf("127.0.0.1")
	d := newDatabase(t, counting(t))
	in := d.inspected(func(i *Inspector) {
		holder := d.connect("ender")
		wait := d.busy("cruncher", perCore*cores+2, "select count(*) from generate_series(1, 2000000000)")
		inspecttest.Sample(t, i, 4*leastSamples) // those before all have begun must not matter
		sure(t, holder, "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'cruncher'")
		wait()
	})
	inspecttest.Expect(t, in, FindConnections, "wanted to compute", "active sessions")
	inspecttest.Silent(t, in, FindPoolTooSmall)
}

func TestSmallPoolIsFound(t *testing.T) {
	d := newDatabase(t, counting(t))
	in := d.inspected(func(i *Inspector) {
		wait := d.busy("shop", 1, "select pg_sleep(600)")
		inspecttest.Sample(t, i, leastSamples)
		sure(t, d.conn, "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'shop'")
		wait()
	})
	inspecttest.Expect(t, in, FindPoolTooSmall, "shop", "all of its 1 connections")
	inspecttest.Silent(t, in, FindConnections)
}

func TestPoolWithFreeConnectionsIsSilent(t *testing.T) {
	d := newDatabase(t, counting(t))
	in := d.inspected(func(i *Inspector) {
		d.connect("shop")
		wait := d.busy("shop", 1, "select pg_sleep(600)")
		inspecttest.Sample(t, i, leastSamples)
		sure(t, d.conn, "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'shop'")
		wait()
	})
	inspecttest.Silent(t, in, FindPoolTooSmall)
	inspecttest.Silent(t, in, FindConnections)
	for _, p := range in.Activity.Clients {
		if p.Application == "shop" && (p.Max != 2 || p.ActiveMean != 1 || p.AllActive != 0) {
			t.Errorf("%+v", p)
		}
	}
}
