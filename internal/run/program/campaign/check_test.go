package campaign

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"brunt/internal/plan"
	"brunt/test/testserver"

	"github.com/jackc/pgx/v5"
)

// TestRightsAreAskedForFirst runs campaigns whose database user lacks rights. Nothing is begun.
func TestRightsAreAskedForFirst(t *testing.T) {
	pg := testserver.Postgres(t, testserver.Settings("shared_preload_libraries = 'pg_stat_statements'"))
	ctx := context.Background()
	client, err := pgx.Connect(ctx, fmt.Sprintf("postgres://brunt@%s/postgres", pg.Addr))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(ctx)
	execute := func(sql string) {
		t.Helper()
		if _, err := client.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	execute("create table goods (id int); create role guest login; create role reader login in role pg_read_all_stats; " +
		"create role owner login in role pg_read_all_stats, brunt")
	campaign := func(user, steps string) error {
		t.Helper()
		file := files(t, fmt.Sprintf("plan: plan.yml\ninspect: pg=postgres://%s@%s/postgres\nsteps: [%s]\n", user, pg.Addr,
			steps), "127.0.0.1:1")
		p, err := parse(file)
		if err != nil {
			t.Fatal(err)
		}
		o := options(t.TempDir())
		o.Reach = func(context.Context, *plan.Plan) error { return errors.New("all is there but the target") }
		c, err := Begin(p, o)
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(c.Run(ctx), c.Close())
		if n := len(c.journal.Entries()); n != 1 {
			t.Errorf("%s: %d lines in the journal: something was begun", user, n)
		}
		return err
	}
	const advised = "{search: {}}, {analyse: {}}, {fix: {advisor: true}}"
	for _, c := range []struct{ name, before, user, steps, want string }{
		{"no extension", "", "owner", advised, "the advisor can't work: "},
		{"an analysis goes without", "", "guest", "{analyse: {at: 1}}", "all is there but"},
		{"no statistics", "create extension pg_stat_statements", "guest", advised, "GRANT pg_read_all_stats TO guest"},
		{"no tables", "", "reader", advised, "user reader owns none of the tables"},
		{"owner", "", "owner", advised, "all is there but"},
		{"nobody", "", "nobody", advised, "nobody"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.before != "" {
				execute(c.before)
			}
			if err := campaign(c.user, c.steps); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
