// Package schema manages the tables of a plan. It creates and fills them, records in the database what it created,
// checks whether existing rows are the plan's, and drops the tables that brunt created. Package schema/sql writes the
// statements, and schema/fill loads the rows.
package schema

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"brunt/internal/base/linefile"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/render/message"
	"brunt/internal/server/schema/fill"
	"brunt/internal/server/schema/sql"
	"brunt/internal/server/target"
)

// database is a system under test that has tables.
type database struct {
	*target.System
	version string // version of brunt, for the markers of tables
}

// number runs a query that returns a single unsigned number. A null or a missing value is an error.
func number(ctx context.Context, a protocol.Admin, query string) (uint64, error) {
	var n uint64
	err := a.Query(ctx, query, func(values []*string) error {
		if len(values) == 0 || values[0] == nil {
			return errors.New("the answer to " + query + " holds no value")
		}
		var err error
		n, err = strconv.ParseUint(*values[0], 10, 64)
		return err
	})
	return n, err
}

// create creates a table without its indexes, which are faster to build once the table is full. If the flavor supports
// it, the primary key is left out for the same reason.
func (s *database) create(ctx context.Context, a protocol.Admin, t *plan.Table) error {
	write := s.Flavor.CreateTable
	if s.Flavor.KeyLast() {
		write = s.Flavor.CreateTableWithoutKey
	}
	text, notices, err := write(t, s.Plan.Tables)
	if err != nil {
		return &target.UsageError{Err: err}
	}
	s.Notices = sql.Merge(s.Notices, notices...)
	if err := s.createSchema(ctx, a, t); err != nil {
		return fmt.Errorf("create the schema of table %s: %w", t.Name, err)
	}
	if _, err := a.Exec(ctx, text); err != nil {
		return fmt.Errorf("create table %s: %w", t.Name, err)
	}
	return nil
}

// createSchema creates the schema that a table's name begins with, if it is missing. It remains when the table is
// dropped.
func (s *database) createSchema(ctx context.Context, a protocol.Admin, t *plan.Table) error {
	question := s.Flavor.HasSchema(t)
	if question == "" {
		return nil
	}
	if n, err := number(ctx, a, question); err != nil || n > 0 {
		return err
	}
	_, err := a.Exec(ctx, s.Flavor.CreateSchema(t))
	return err
}

// keys creates the primary keys of tables that were created without them.
func (s *database) keys(ctx context.Context, tables []*plan.Table) error {
	if len(tables) == 0 || !s.Flavor.KeyLast() {
		return nil
	}
	a, err := s.Admin(ctx)
	if err != nil {
		return err
	}
	defer a.Close()
	for _, t := range tables {
		text := s.Flavor.AddKey(t)
		if text == "" {
			continue
		}
		if _, err := a.Exec(ctx, text); err != nil {
			return fmt.Errorf("primary key of table %s: %w", t.Name, err)
		}
	}
	return nil
}

// index creates the indexes of a table. If the table existed before, its indexes are dropped and created again, because
// they may belong to another plan.
func (s *database) index(ctx context.Context, a protocol.Admin, t *plan.Table, existed bool) error {
	for i := range s.Plan.Indexes {
		ix := &s.Plan.Indexes[i]
		if ix.Table != t.Name {
			continue
		}
		text, notices, err := s.Flavor.CreateIndex(ix, t)
		if err != nil {
			return &target.UsageError{Err: err}
		}
		s.Notices = sql.Merge(s.Notices, notices...)
		if existed {
			// MySQL returns an error if the index doesn't exist. Any other failure makes the next statement fail too.
			_, _ = a.Exec(ctx, s.Flavor.DropIndex(ix))
		}
		if _, err := a.Exec(ctx, text); err != nil {
			return fmt.Errorf("create index %s: %w", ix.Name, err)
		}
	}
	return nil
}

// analyze updates the planner's statistics of tables that were filled, and returns the names of these tables. If the
// server refuses, the table gets a notice, because it can be used all the same. Tables without rows are left out: the
// planner estimates an unknown table better than one that was empty when it was analyzed.
func (s *database) analyze(ctx context.Context, a protocol.Admin, tables []*plan.Table) (analyzed []string, err error) {
	for _, t := range tables {
		text := s.Flavor.Analyze(t.Name)
		if text == "" || t.Rows == 0 {
			continue
		}
		switch _, refused := a.Exec(ctx, text); {
		case ctx.Err() != nil:
			return analyzed, ctx.Err()
		case refused != nil:
			s.Notices = append(s.Notices,
				sql.Notice{ID: "sql-analyze", Text: message.New("sql-analyze", message.Text("table", t.Name),
					message.Text("error", refused.Error()))})
		default:
			analyzed = append(analyzed, t.Name)
		}
	}
	return analyzed, nil
}

// checkDDL writes all DDL statements without sending any, so that errors in the plan are found before anything changes.
func (s *database) checkDDL() error {
	for i := range s.Plan.Tables {
		t := &s.Plan.Tables[i]
		if strings.EqualFold(t.Name, sql.MarkerTable) {
			return &target.UsageError{Err: fmt.Errorf("table %s: brunt keeps a table of this name itself; "+
				"give the plan's another one", t.Name)}
		}
		if _, _, err := s.Flavor.CreateTable(t, s.Plan.Tables); err != nil {
			return &target.UsageError{Err: err}
		}
	}
	for i := range s.Plan.Indexes {
		ix := &s.Plan.Indexes[i]
		if _, _, err := s.Flavor.CreateIndex(ix, s.Table(ix.Table)); err != nil {
			return &target.UsageError{Err: err}
		}
	}
	return nil
}

// FillOptions are the options of Up.
type FillOptions struct {
	Checkpoint string     // path of the file; "" means none
	Workers    int        // number of database sessions; 0 means 4
	Check      fill.Check // "" means fill.CheckCount
	Progress   func(fill.Progress)
	Waits      func(message.Message) // called while a statement waits for the server
	Force      bool                  // also fill empty tables that brunt didn't create
	Version    string                // version of brunt, for the markers of tables
	// Processes is the number of other processes that fill the tables with FillPart. Others starts them. 0 means that
	// this process fills the tables.
	Processes int
	Others    func(ctx context.Context, s *fill.Shared) ([]fill.TableReport, error)

	keyless []*plan.Table // created without their primary keys
	part    fill.Part     // set by FillPart
	replace bool          // rows may exist already and are replaced
}

// load fills tables and checks them. The tables in keep have their rows already. They are only checked, and only if
// o.Check asks for more than a count.
func (s *database) load(ctx context.Context, tables, keep []*plan.Table, o FillOptions) (fill.Report, error) {
	cfg := fill.Config{
		Driver: s.Waiting.Driver(s.Driver.(protocol.AdminDriver)), Targets: s.Targets, SQL: s.Flavor,
		Check: o.Check, Workers: o.Workers, Seed: s.Plan.Seed, Progress: o.Progress,
		Loaded: func(ctx context.Context) error { return s.keys(ctx, o.keyless) },
		Part:   o.part, Replace: o.replace,
	}
	if o.Processes > 0 {
		cfg.Part, cfg.Others = fill.Part{Of: o.Processes}, o.Others
	}
	for _, t := range tables {
		lt, err := s.loadTable(t)
		if err != nil {
			return fill.Report{}, err
		}
		cfg.Tables = append(cfg.Tables, lt)
	}
	cfg.Plan = fingerprint(cfg.Tables)
	if o.Check == fill.CheckSample || o.Check == fill.CheckFull {
		for _, t := range keep {
			lt, err := s.loadTable(t)
			if err != nil {
				return fill.Report{}, err
			}
			lt.Filled = true
			cfg.Tables = append(cfg.Tables, lt)
		}
	}
	if o.Checkpoint != "" && len(tables) > 0 {
		c, err := linefile.Open(o.Checkpoint)
		if err != nil {
			return fill.Report{}, &target.UsageError{Err: fmt.Errorf("fill: open the checkpoint: %w", err)}
		}
		defer c.Close()
		cfg.Checkpoint = c
	}
	report, err := fill.Run(ctx, cfg)
	if _, ok := errors.AsType[*fill.CheckpointError](err); ok {
		err = &target.UsageError{Err: err}
	}
	return report, err
}

// ddlTimeout is the default timeout of dropping a table, which also happens after an interrupt.
const ddlTimeout = time.Minute

// CreateIndexes creates the plan's indexes on its tables, which must exist. Existing indexes with the same names are
// dropped first.
func CreateIndexes(ctx context.Context, p *plan.Plan) error {
	s, a, err := open(ctx, p, "")
	if err != nil {
		return err
	}
	defer a.Close()
	for i := range p.Tables {
		if err := s.index(ctx, a, &p.Tables[i], true); err != nil {
			return err
		}
	}
	return nil
}

// DropIndexes drops the plan's indexes. It continues after a failure and returns all errors joined.
func DropIndexes(ctx context.Context, p *plan.Plan) error {
	s, a, err := open(ctx, p, "")
	if err != nil {
		return err
	}
	defer a.Close()
	var all error
	for i := range p.Indexes {
		ix := &p.Indexes[i]
		if _, err := a.Exec(ctx, s.Flavor.DropIndex(ix)); err != nil {
			all = errors.Join(all, fmt.Errorf("drop index %s: %w", ix.Name, err))
		}
	}
	return all
}
