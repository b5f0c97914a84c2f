package wire_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"brunt/internal/driver"
	"brunt/internal/driver/postgres"
	"brunt/internal/gen"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/schedule"
	"brunt/internal/testserver"
	"brunt/internal/tier"
)

// A table's columns change under a load that reads all of them: no request fails for that, and inside
// transactions, which the server ends, the next attempt succeeds.
func TestTablesChangeUnderLoad(t *testing.T) {
	s := testserver.Postgres(t)
	target := driver.Target{Address: s.Addr, User: s.User, Password: s.Password, Database: s.Database}
	ask(t, s, "CREATE TABLE changing (id int PRIMARY KEY, n int); INSERT INTO changing SELECT g, g FROM generate_series(0, 9) g RETURNING id")
	read := statement("SELECT * FROM changing WHERE id = $1", between(0, 9))
	read.Request.Capture = []driver.Capture{{Name: "n", Kind: gen.Int}}
	p := &plan.Plan{Seed: 5, Operations: []plan.Operation{
		{Name: "read", Weight: 3, Steps: []plan.Step{statement("SELECT * FROM changing WHERE id = $1", between(0, 9))}},
		{Name: "capture", Weight: 3, Steps: []plan.Step{read, statement("SELECT $1::int", plan.Param{Step: 0, Index: 0})}},
		{Name: "transaction", Weight: 1, Transaction: true, Steps: []plan.Step{read, statement("UPDATE changing SET n = $1 WHERE id = $2",
			plan.Param{Step: 0, Index: 0}, plan.Param{Step: 0, Index: 0, Argument: true})}},
	}}
	var changes sync.WaitGroup
	var stop context.CancelFunc
	column := 0
	begin := func() {
		var ctx context.Context
		ctx, stop = context.WithCancel(t.Context())
		changes.Go(func() {
			admin, err := postgres.New().Admin(t.Context(), target)
			if err != nil {
				t.Error(err)
				return
			}
			defer admin.Close()
			for ctx.Err() == nil {
				column++
				if _, err := admin.Exec(t.Context(), fmt.Sprintf("ALTER TABLE changing ADD COLUMN c%d int", column)); err != nil {
					t.Error(err)
					return
				}
				select {
				case <-time.After(20 * time.Millisecond):
				case <-ctx.Done():
				}
			}
		})
	}
	onTiers(t, p, target, tier.Config{Sessions: 3, OperationTimeout: 30 * time.Second, Retries: 50}, schedule.Stage{Operations: 3000}, begin,
		func(t *testing.T, total *measure.Account) {
			stop()
			changes.Wait()
			for i := range total.Operations {
				o := &total.Operations[i]
				if o.Failed() > 0 || o.Missing > 0 || o.Done == 0 {
					t.Errorf("%s: %d of %d failed, %v, %d found nothing; %d attempts", p.Operations[i].Name, o.Failed(), o.Done, o.Errors, o.Missing, o.Attempts)
				}
			}
			t.Logf("%d columns were added so far, %d attempts at %d transactions", column, total.Operations[2].Attempts, total.Operations[2].Done)
			if column < 2 {
				t.Errorf("%d columns were added: nothing was shown", column)
			}
		})
}

// Without retries, plain statements go on all the same.
func TestOneChangeNeedsNoRetries(t *testing.T) {
	s := testserver.Postgres(t)
	target := driver.Target{Address: s.Addr, User: s.User, Password: s.Password, Database: s.Database}
	ask(t, s, "CREATE TABLE once (id int PRIMARY KEY, n int); INSERT INTO once SELECT g, g FROM generate_series(0, 9) g RETURNING id")
	p := &plan.Plan{Seed: 5, Operations: []plan.Operation{
		{Name: "read", Weight: 1, Steps: []plan.Step{statement("SELECT * FROM once WHERE id = $1", between(0, 19))}},
	}}
	column := 0
	change := func() {
		column++
		ask(t, s, fmt.Sprintf("ALTER TABLE once ADD COLUMN c%d int; SELECT 1", column))
	}
	onTiers(t, p, target, tier.Config{Sessions: 2, OperationTimeout: 30 * time.Second, Pipeline: 4}, schedule.Stage{Operations: 400}, change,
		func(t *testing.T, total *measure.Account) {
			if o := &total.Operations[0]; o.Failed() > 0 || o.Done != 400 || o.Missing < 100 || o.Missing > 300 {
				t.Errorf("%d of %d failed, %v, %d found nothing (about half should)", o.Failed(), o.Done, o.Errors, o.Missing)
			}
		})
}
