package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"brunt/internal/base/sqltext"
	"brunt/internal/inspect"
	"brunt/internal/record"

	"github.com/jackc/pgx/v5/pgconn"
)

// Database is the inspect.Database for PostgreSQL.
type Database struct {
	// Build permits trying out indexes by building them in transactions that are rolled back, where HypoPG isn't
	// installed. This blocks all writes to their tables in the meantime.
	Build bool

	config *pgconn.Config
}

var _ inspect.Database = (*Database)(nil)

// Open parses a connection string and checks that the database can be reached. Its errors are one line, without
// secrets.
func Open(ctx context.Context, dsn string) (*Database, error) {
	config, err := parseDSN(dsn)
	if err != nil {
		return nil, err
	}
	s, err := connect(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", nameOf(config), err)
	}
	s.close()
	return &Database{config: config}, nil
}

// Exec implements inspect.Database.
func (d *Database) Exec(ctx context.Context, script string, from inspect.Progress) error {
	s, err := connect(ctx, d.config)
	if err != nil {
		return err
	}
	defer s.close()
	for _, setting := range []string{"default_transaction_read_only = off", "statement_timeout = 0", "lock_timeout = 0"} {
		if _, err := s.plain(ctx, "set "+setting); err != nil {
			return err
		}
	}
	tell := from.Tell
	if tell == nil {
		tell = func(int, bool) error { return nil }
	}
	for i, statement := range statementsOf(script) {
		if i < from.Done {
			if w := sqltext.FirstWord(statement); w == "SET" || w == "RESET" {
				if _, err := s.plain(ctx, statement); err != nil {
					return fmt.Errorf("%s: %w", inspect.Headline(statement), err)
				}
			}
			continue
		}
		if err := tell(i, false); err != nil {
			return err
		}
		_, err := s.plain(ctx, statement)
		if err != nil && from.Begun && i == from.Done {
			err = s.doneBefore(ctx, statement, err)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", inspect.Headline(statement), err)
		}
		if err := tell(i, true); err != nil {
			return err
		}
	}
	return nil
}

// doneBefore is called with the error of a statement that an earlier attempt may have executed. It returns nil if
// the error confirms that: if the object to be created exists, or the object to be dropped doesn't.
func (s *session) doneBefore(ctx context.Context, statement string, failure error) error {
	var e *serverError
	if !errors.As(failure, &e) {
		return failure
	}
	switch sqltext.FirstWord(statement) {
	case "CREATE", "ALTER", "DROP":
	default:
		return failure
	}
	switch e.code {
	// table or index, object, column, function, schema, database
	case "42P07", "42710", "42701", "42723", "42P06", "42P04":
	case "42P01", "42704", "42703", "42883", "3F000", "3D000": // these don't exist
	default:
		return failure
	}
	invalid, err := s.text(ctx, "select string_agg(indexrelid::regclass::text, ', ') from pg_index where not indisvalid")
	if err == nil && invalid != "" {
		err = fmt.Errorf("its building was cut off, and left an invalid index (%s); drop it by hand, and go on", invalid)
	}
	return err
}

// Settle implements inspect.Database. A server continues to build or drop an index after its client has
// disconnected.
func (d *Database) Settle(ctx context.Context, p *record.Proposal) (there bool, err error) {
	s, err := connect(ctx, d.config)
	if err != nil {
		return false, err
	}
	defer s.close()
	// The server only keeps the beginning of long statements.
	var own []string
	for _, statement := range append(statementsOf(p.DDL), statementsOf(p.Drop)...) {
		own = append(own, "left("+sqltext.QuoteText(statement)+", length(query))")
	}
	left := "application_name = '" + applicationName +
		"' and datname = current_database() and pid <> pg_backend_pid() and state = 'active' and query <> '' and query in (" +
		strings.Join(own, ", ") + ")"
	for ended := ""; ended != "0"; {
		if ended, err = s.text(ctx,
			"select count(pg_terminate_backend(pid)) from pg_stat_activity where "+left); err != nil {
			return false, err
		}
		if ended != "0" { // its work is undone when the session has disappeared
			if _, err = s.text(ctx, "select pg_sleep(0.02)"); err != nil {
				return false, err
			}
		}
	}
	found, valid := 0, 0
	drops := statementsOf(p.Drop)
	for _, drop := range drops {
		is, err := s.text(ctx, "select indisvalid from pg_index where indexrelid = to_regclass("+
			sqltext.QuoteText(strings.TrimPrefix(drop, dropIndex))+")")
		if err != nil {
			return false, err
		}
		found, valid = found+oneIf(is != ""), valid+oneIf(is == "t")
	}
	if valid == len(drops) || found == 0 {
		return valid > 0, nil
	}
	return false, d.Exec(ctx, p.Drop, inspect.Progress{})
}

// statementsOf splits a script into its statements.
func statementsOf(script string) (out []string) {
	var b strings.Builder
	flush := func() {
		if text := strings.TrimSpace(b.String()); sqltext.FirstWord(text) != "" {
			out = append(out, text)
		}
		b.Reset()
	}
	for _, t := range sqltext.Split(script) {
		if t.IsSign(";") {
			flush()
			continue
		}
		b.WriteString(t.Text)
	}
	flush()
	return out
}

// Propose implements inspect.Database.
func (d *Database) Propose(ctx context.Context, seen []record.Inspection) ([]record.Proposal, error) {
	// Use a separate connection and close it afterwards: plans that were made with hypothetical indexes must not
	// remain.
	s, err := connect(ctx, d.config)
	if err != nil {
		return nil, err
	}
	defer s.close()
	a := &advisor{session: s}
	if a.catalog, err = s.readCatalog(ctx, func(string, error) {}); err != nil {
		return nil, err
	}
	list, plans := statementsSeen(seen)
	if list == nil {
		if list, err = s.countedSoFar(ctx); err != nil {
			return nil, err
		}
	}
	if a.distinct, err = s.distinct(ctx); err != nil {
		return nil, err
	}
	if a.relations, err = s.readRelations(ctx); err != nil {
		return nil, err
	}
	explained := 0
	for _, one := range list {
		c := &costed{Statement: one, text: one.Text}
		if p := plans[one.ID]; p != nil {
			c.text = p.Text
		}
		if explainable(c.text) && explained < mostAdvised {
			if err := a.explain(ctx, c, plans[one.ID]); err != nil {
				return nil, err
			}
		}
		explained += oneIf(c.root != nil)
		a.statements = append(a.statements, c)
	}
	if explained == 0 {
		return nil, inspect.NoneExplained(seen, nil)
	}
	if a.trial, err = d.trial(ctx, s); err != nil {
		return nil, err
	}
	defer a.trial.end(ctx)
	return a.propose(ctx)
}

// explain estimates the cost of a statement and finds its candidates. A statement that can't be explained, for
// example because its tables are gone or the user has no access, stays without a plan. Statements with LIKE are
// explained with the pattern that the load sends, since the beginning of the pattern decides whether an index can
// serve it. So are statements with LIMIT, since the number of rows decides whether an index with their order pays.
func (a *advisor) explain(ctx context.Context, c *costed, plan *record.QueryPlan) error {
	e, err := a.session.costed(ctx, c.text, nil)
	if err == nil && plan != nil && len(plan.Arguments) > 0 &&
		(plan.Source == record.ArgumentsWorkload && likeParameter(e.Root) || limited(c.text)) {
		c.arguments = plan.Arguments
		e, err = a.session.costed(ctx, c.text, c.arguments)
	}
	if err != nil {
		if ctx.Err() != nil || a.session.conn.IsClosed() {
			return err
		}
		return nil
	}
	c.root, c.cost = e.Root, e.Root.Cost
	c.candidates = candidates(c.root, &a.catalog,
		func(table, column string) float64 { return a.distinct[unquoted(table)+"."+column] })
	return nil
}

// limited reports whether a statement has LIMIT or OFFSET with a parameter. For an unknown one, the planner expects a
// tenth of the rows, for which an index with the order of the rows seldom pays.
func limited(text string) bool { return len(placesOf(text)) > 0 }

// likeParameter reports whether a plan contains LIKE, or an operator of inverted indexes, with a parameter.
func likeParameter(root *node) (found bool) {
	root.walk(func(n *node, _ int) {
		for _, c := range n.conditions() {
			found = found || c.param > 0 && (c.operator == "~~" || c.operator == "~~*" ||
				slices.Contains(invertedOperators, c.operator))
		}
	})
	return found
}

// trial returns the method by which indexes can be tried on this server.
func (d *Database) trial(ctx context.Context, s *session) (trial, error) {
	schema, err := s.text(ctx,
		"select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'hypopg'")
	switch {
	case err != nil:
		return nil, err
	case schema != "":
		return &hypothetical{s, sqltext.Quote(schema), d.Build}, nil
	case d.Build:
		return newBuilt(ctx, s)
	}
	return nil, errors.New(
		"HypoPG isn't there to try indexes with; install it (Debian: postgresql-15-hypopg) and run CREATE EXTENSION hypopg in this database, or let indexes be built in transactions that are rolled back: --build (nobody can write to their tables meanwhile)")
}

// statementsSeen returns the statements of the inspections and, by statement ID, their plans, whose texts contain
// constants. The list is nil if there are no inspections.
func statementsSeen(seen []record.Inspection) (list []record.Statement, plans map[string]*record.QueryPlan) {
	plans = map[string]*record.QueryPlan{}
	for i := range seen {
		if len(seen[i].Windows) > 0 {
			list = append(list, seen[i].Windows[0].Statements...)
		}
		for k := range seen[i].Plans {
			if p := &seen[i].Plans[k]; p.Statement != "" && p.Failed == "" {
				plans[p.Statement] = p
			}
		}
	}
	return list, plans
}

// countedSoFar returns the statements that the server has counted since its statistics were reset.
func (s *session) countedSoFar(ctx context.Context) ([]record.Statement, error) {
	x, err := s.findStatements(ctx)
	if err != nil {
		return nil, err
	}
	if x.schema == "" {
		return nil, fmt.Errorf("%s; %s", x.missing.Text, x.missing.Remedy)
	}
	all, _, err := s.readStatements(ctx, x.schema)
	if err != nil {
		return nil, err
	}
	texts, err := s.statementTexts(ctx, x.schema)
	if err != nil {
		return nil, err
	}
	return statements(all, texts), nil
}

// distinct returns the planner's estimate of the number of distinct values of columns, by schema.table.column.
func (s *session) distinct(ctx context.Context) (map[string]float64, error) {
	r, err := s.query(ctx, `select p.schemaname || '.' || p.tablename || '.' || p.attname as name,
		case when p.n_distinct < 0 then -p.n_distinct * greatest(c.reltuples, 1) else p.n_distinct end as n
		from pg_stats p join pg_namespace s on s.nspname = p.schemaname join pg_class c on c.relname = p.tablename and c.relnamespace = s.oid
		where p.schemaname not in ('pg_catalog', 'information_schema')`)
	if err != nil {
		return nil, err
	}
	out := make(map[string]float64, len(r.rows))
	for i := range r.rows {
		out[r.at(i, "name")] = r.number(i, "n")
	}
	return out, nil
}

// costed returns a statement's plan for the given arguments in SQL, or for unknown arguments if there are none. It
// prepares the statement each time: a prepared statement would keep its plan even though hypothetical indexes
// change.
func (s *session) costed(ctx context.Context, text string, arguments []string) (*explained, error) {
	types, _, err := s.prepare(ctx, "brunt_costed", text)
	if err != nil {
		return nil, err
	}
	defer func() { _, _ = s.plain(ctx, "deallocate brunt_costed") }()
	if len(arguments) == len(types) && len(types) > 0 {
		return s.explainOnce(ctx, "brunt_costed", "force_custom_plan", false, "", arguments)
	}
	return s.explainOnce(ctx, "brunt_costed", "force_generic_plan", false, "", literals(make([]*string, len(types))))
}
