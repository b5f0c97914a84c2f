package loop_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"brunt/internal/engine"
	"brunt/internal/load/gen"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/protocol/iproto"
	"brunt/internal/protocol/postgres"
	"brunt/test/testserver"
)

// changer changes a schema every 20 ms.
type changer struct {
	t         *testing.T
	driver    protocol.AdminDriver
	target    protocol.Target
	statement string // with a verb for a number
	changes   int    // number of changes so far
	running   sync.WaitGroup
	stop      context.CancelFunc
}

// begin starts the changes and returns after the first one.
func (c *changer) begin() {
	var ctx context.Context
	ctx, c.stop = context.WithCancel(c.t.Context())
	admin, err := c.driver.Admin(ctx, c.target)
	if err != nil {
		c.t.Fatal(err)
	}
	change := func() {
		c.changes++
		if _, err := admin.Exec(c.t.Context(), fmt.Sprintf(c.statement, c.changes)); err != nil {
			c.t.Error(err)
			c.stop()
		}
	}
	change()
	c.running.Go(func() {
		defer admin.Close()
		for {
			select {
			case <-time.After(20 * time.Millisecond):
				change()
			case <-ctx.Done():
				return
			}
		}
	})
}

func (c *changer) end() {
	c.stop()
	c.running.Wait()
}

// A column of a table changes during a load that reads all columns. No plain request fails, and within transactions,
// which the server aborts, the next attempt succeeds.
func TestTablesChangeUnderLoad(t *testing.T) {
	s := servers.Postgres(t)
	target := protocol.Target{Address: s.Addr, User: s.User, Password: s.Password, Database: s.Database}
	ask(
		t, s, "DROP TABLE IF EXISTS changing; CREATE TABLE changing (id int PRIMARY KEY, n int, note varchar(1)); INSERT INTO changing SELECT g, g FROM generate_series(0, 9) g RETURNING id")
	read := statement("SELECT * FROM changing WHERE id = $1", between(0, 9))
	read.Request.Capture = []protocol.Capture{{Name: "n", Kind: gen.Int}}
	p := &plan.Plan{Seed: 5, Operations: []plan.Operation{
		{Name: "read", Weight: 3, Steps: []plan.Step{statement("SELECT * FROM changing WHERE id = $1", between(0, 9))}},
		{Name: "capture", Weight: 3, Steps: []plan.Step{read, statement("SELECT $1::int", plan.Param{Step: 0, Index: 0})}},
		{Name: "transaction", Weight: 1, Transaction: true,
			Steps: []plan.Step{read, statement("UPDATE changing SET n = $1 WHERE id = $2",
				plan.Param{Step: 0, Index: 0}, plan.Param{Step: 0, Index: 0, Argument: true})}},
	}}
	c := &changer{t: t, driver: postgres.New(), target: target,
		statement: "ALTER TABLE changing ALTER COLUMN note TYPE varchar(%d)"}
	onTiers(t, postgres.New(), p, target, engine.FleetConfig{
		Sessions: 3, OperationTimeout: 30 * time.Second, Retrying: engine.Retrying{Retries: 50},
	},
		schedule.Stage{Operations: 3000}, c.begin,
		func(t *testing.T, total *measure.Account) {
			c.end()
			for i := range total.Operations {
				o := &total.Operations[i]
				if o.Failed() > 0 || o.Missing > 0 || o.Done == 0 {
					t.Errorf("%s: %d of %d failed, %v, %d found nothing; %d attempts", p.Operations[i].Name, o.Failed(), o.Done,
						o.Errors, o.Missing, o.Attempts)
				}
			}
			t.Logf("the column was changed %d times so far, %d attempts at %d transactions", c.changes,
				total.Operations[2].Attempts, total.Operations[2].Done)
		})
}

// Plain statements survive such a change without retries.
func TestOneChangeNeedsNoRetries(t *testing.T) {
	s := servers.Postgres(t)
	target := protocol.Target{Address: s.Addr, User: s.User, Password: s.Password, Database: s.Database}
	ask(
		t, s, "DROP TABLE IF EXISTS once; CREATE TABLE once (id int PRIMARY KEY, n int); INSERT INTO once SELECT g, g FROM generate_series(0, 9) g RETURNING id")
	p := &plan.Plan{Seed: 5, Operations: []plan.Operation{
		{Name: "read", Weight: 1, Steps: []plan.Step{statement("SELECT * FROM once WHERE id = $1", between(0, 19))}},
	}}
	column := 0
	change := func() {
		column++
		ask(t, s, fmt.Sprintf("ALTER TABLE once ADD COLUMN c%d int; SELECT 1", column))
	}
	onTiers(t, postgres.New(), p, target, engine.FleetConfig{
		Sessions: 2, OperationTimeout: 30 * time.Second, ForLoops: engine.ForLoops{Pipeline: 4},
	},
		schedule.Stage{Operations: 400}, change,
		func(t *testing.T, total *measure.Account) {
			if o := &total.Operations[0]; o.Failed() > 0 || o.Done != 400 || o.Missing < 100 || o.Missing > 300 {
				t.Errorf("%d of %d failed, %v, %d found nothing (about half should)", o.Failed(), o.Done, o.Errors, o.Missing)
			}
		})
}

// Any change of Tarantool's schema invalidates all prepared statements. They are prepared again without retries, and no
// request fails.
func TestTarantoolsStatementsArePreparedAgain(t *testing.T) {
	s := testserver.Tarantool(t)
	target := protocol.Target{Address: s.Addr, User: s.User, Password: s.Password}
	admin, err := iproto.New().Admin(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	for _, text := range []string{"CREATE TABLE lasting (id INTEGER PRIMARY KEY, n INTEGER)",
		"INSERT INTO lasting VALUES (0, 0), (1, 0), (2, 0), (3, 0)"} {
		if _, err := admin.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	read := statement("SELECT id, n FROM lasting WHERE id = ?", between(0, 3))
	read.Request.Capture = []protocol.Capture{{Name: "ID", Kind: gen.Int}}
	p := &plan.Plan{Seed: 5, Operations: []plan.Operation{
		{Name: "read", Weight: 2,
			Steps: []plan.Step{read, statement("SELECT n FROM lasting WHERE id = ?", plan.Param{Step: 0, Index: 0})}},
		{Name: "update", Weight: 1,
			Steps: []plan.Step{statement("UPDATE lasting SET n = n + 1 WHERE id = ?", between(0, 3))}},
	}}
	c := &changer{t: t, driver: iproto.New(), target: target, statement: "CREATE TABLE other%d (id INTEGER PRIMARY KEY)"}
	var updates uint64
	onTiers(t, iproto.New(), p, target, engine.FleetConfig{Sessions: 3, OperationTimeout: 30 * time.Second},
		schedule.Stage{Operations: 3000}, c.begin,
		func(t *testing.T, total *measure.Account) {
			c.end()
			for i := range total.Operations {
				o := &total.Operations[i]
				if o.Failed() > 0 || o.Missing > 0 || o.Done == 0 {
					t.Errorf("%s: %d of %d failed, %v, %d found nothing", p.Operations[i].Name, o.Failed(), o.Done, o.Errors,
						o.Missing)
				}
			}
			updates += total.Operations[1].Done
			t.Logf("%d changes so far", c.changes)
		})
	err = admin.Query(t.Context(), "SELECT CAST(SUM(n) AS TEXT) FROM lasting", func(row []*string) error {
		if *row[0] != fmt.Sprint(updates) {
			t.Errorf("the table counts %s updates, %d were counted", *row[0], updates)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
