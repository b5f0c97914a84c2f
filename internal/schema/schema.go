// Package schema makes the tables of a plan: creates and fills them, notes in the database what was made, says whether
// the rows there are the plan's, and drops what brunt created. schema/sql writes the statements, schema/fill loads
// rows.
package schema

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"brunt/internal/linefile"
	"brunt/internal/message"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/schema/fill"
	"brunt/internal/schema/sql"
	"brunt/internal/target"
)

// database is a system that holds tables.
type database struct {
	*target.System
	version string // of brunt, for the markers of tables
}

// number runs a query whose answer is one unsigned number.
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

// create creates a table without what is made faster once it is filled: its indexes and, where
// that can be, its primary key.
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
	if _, err := a.Exec(ctx, text); err != nil {
		return fmt.Errorf("create table %s: %w", t.Name, err)
	}
	return nil
}

// keys makes the primary keys of tables that were created without them.
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

// index creates the indexes of a table. Those that are there already are made again: they may be of
// another plan.
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
			// MySQL refuses to drop what isn't there; any other failure makes the next statement fail.
			_, _ = a.Exec(ctx, s.Flavor.DropIndex(ix))
		}
		if _, err := a.Exec(ctx, text); err != nil {
			return fmt.Errorf("create index %s: %w", ix.Name, err)
		}
	}
	return nil
}

// analyze makes the planner's statistics of tables that were filled, and says of which. A server that refuses
// is no reason not to use them. A table without rows is left out: the planner guesses better of one that it
// knows nothing of than of one that was empty once.
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

// checkDDL writes all statements of DDL without sending one, so that faults come before anything
// has been changed.
func (s *database) checkDDL() error {
	for i := range s.Plan.Tables {
		t := &s.Plan.Tables[i]
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

// FillOptions say how tables are filled.
type FillOptions struct {
	Checkpoint string      // file; "" means none
	Workers    int         // sessions; 0 means 4
	Verify     fill.Verify // "" means load.VerifyCount
	Progress   func(fill.Progress)
	Force      bool   // fill empty tables that brunt didn't create
	Version    string // of brunt, for the tables' markers
	// Processes is how many other processes fill the tables, by Others; 0: this one does. See FillPart.
	Processes int
	Others    func(ctx context.Context, s *fill.Shared) ([]fill.TableReport, error)

	keyless []*plan.Table // created without their primary keys
	part    fill.Part     // of FillPart
	replace bool          // rows may be there
}

// load fills tables and proves it. Those to keep hold their rows already; they are proved only, if
// more than their counts is asked for.
func (s *database) load(ctx context.Context, tables, keep []*plan.Table, o FillOptions) (fill.Report, error) {
	cfg := fill.Config{
		Driver: s.Driver.(protocol.AdminDriver), Targets: s.Targets, SQL: s.Flavor,
		Verify: o.Verify, Workers: o.Workers, Seed: s.Plan.Seed, Progress: o.Progress,
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
	if o.Verify == fill.VerifySample || o.Verify == fill.VerifyFull {
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
			return fill.Report{}, &target.UsageError{Err: fmt.Errorf("load: open the checkpoint: %w", err)}
		}
		defer c.Close()
		cfg.Checkpoint = c
	}
	return fill.Run(ctx, cfg)
}

// ddlTimeout bounds the drop of a table, which also happens after an interrupt.
const ddlTimeout = time.Minute

// CreateIndexes creates the plan's indexes on its tables, which are there already. Those of the same
// names are made again.
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

// DropIndexes drops the plan's indexes. It goes on after a failure and returns all.
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
