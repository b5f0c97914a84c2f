package postgres

import (
	"context"

	"brunt/internal/render/message"
)

// Lacks returns what prevents statements from being counted (a library that isn't loaded, or missing rights of the
// user) and what prevents indexes from being built. Each is the zero value if nothing does.
func (d *Database) Lacks(ctx context.Context) (counts, builds message.Message, err error) {
	s, err := connect(ctx, d.config)
	if err != nil {
		return counts, builds, err
	}
	defer s.close()
	statements, err := s.findStatements(ctx)
	if err != nil {
		return counts, builds, err
	}
	reads, err := s.text(ctx, "select pg_has_role(current_user, 'pg_read_all_stats', 'usage')")
	if err != nil {
		return counts, builds, err
	}
	switch {
	case statements.schema == "":
		counts = message.Sentences(statements.missing.Text, statements.missing.Remedy)
	case reads != "t":
		counts = message.New("lacks.statistics", message.Text("user", d.config.User))
	}
	owned, err := s.text(ctx, `select count(*) = 0 or bool_or(pg_has_role(current_user, relowner, 'usage'))
		from pg_class where relkind in ('r', 'p') and relnamespace not in
		(select oid from pg_namespace where nspname like 'pg\_%' or nspname = 'information_schema')`)
	if err == nil && owned != "t" {
		builds = message.New("lacks.ownership", message.Text("user", d.config.User))
	}
	return counts, builds, err
}
