package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"brunt/internal/linefile"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/schema/fill"
	"brunt/internal/schema/sql"
)

// admin opens a session for set-up at the first address that gives one.
func (s *stand) admin(ctx context.Context) (protocol.Admin, error) {
	d, ok := s.driver.(protocol.AdminDriver)
	if !ok {
		return nil, &UsageError{fmt.Errorf("protocol %s can't create tables; run the plan with --no-setup", s.driver.Name())}
	}
	var a protocol.Admin
	err := s.anywhere(func(t protocol.Target) (err error) {
		a, err = d.Admin(ctx, t)
		return err
	})
	if err != nil {
		return nil, &UnreachableError{err}
	}
	return a, nil
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
func (s *stand) create(ctx context.Context, a protocol.Admin, t *plan.Table) error {
	write := s.flavor.CreateTable
	if s.flavor.KeyLast() {
		write = s.flavor.CreateTableWithoutKey
	}
	text, notices, err := write(t, s.plan.Tables)
	if err != nil {
		return &UsageError{err}
	}
	s.notices = sql.Merge(s.notices, notices...)
	if _, err := a.Exec(ctx, text); err != nil {
		return fmt.Errorf("create table %s: %w", t.Name, err)
	}
	return nil
}

// keys makes the primary keys of tables that were created without them.
func (s *stand) keys(ctx context.Context, tables []*plan.Table) error {
	if len(tables) == 0 || !s.flavor.KeyLast() {
		return nil
	}
	a, err := s.admin(ctx)
	if err != nil {
		return err
	}
	defer a.Close()
	for _, t := range tables {
		text := s.flavor.AddKey(t)
		if text == "" {
			continue
		}
		if _, err := a.Exec(ctx, text); err != nil {
			return fmt.Errorf("primary key of table %s: %w", t.Name, err)
		}
	}
	return nil
}

// index creates the indexes of a table. Those that are there already are made anew: they may be of
// another plan.
func (s *stand) index(ctx context.Context, a protocol.Admin, t *plan.Table, existed bool) error {
	for i := range s.plan.Indexes {
		ix := &s.plan.Indexes[i]
		if ix.Table != t.Name {
			continue
		}
		text, notices, err := s.flavor.CreateIndex(ix, t)
		if err != nil {
			return &UsageError{err}
		}
		s.notices = sql.Merge(s.notices, notices...)
		if existed {
			// MySQL refuses to drop what isn't there; any other failure makes the next statement fail.
			_, _ = a.Exec(ctx, s.flavor.DropIndex(ix))
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
func (s *stand) analyze(ctx context.Context, a protocol.Admin, tables []*plan.Table) (analyzed []string, err error) {
	for _, t := range tables {
		text := s.flavor.Analyze(t.Name)
		if text == "" || t.Rows == 0 {
			continue
		}
		switch _, refused := a.Exec(ctx, text); {
		case ctx.Err() != nil:
			return analyzed, ctx.Err()
		case refused != nil:
			s.notices = append(s.notices, sql.Notice{ID: "sql-analyze", Text: fmt.Sprintf("table %s has no statistics, so plans of its statements may be bad: %s", t.Name, refused.Error())})
		default:
			analyzed = append(analyzed, t.Name)
		}
	}
	return analyzed, nil
}

// checkDDL writes all statements of DDL without sending one, so that faults come before anything
// has been changed.
func (s *stand) checkDDL() error {
	for i := range s.plan.Tables {
		t := &s.plan.Tables[i]
		if _, _, err := s.flavor.CreateTable(t, s.plan.Tables); err != nil {
			return &UsageError{err}
		}
	}
	for i := range s.plan.Indexes {
		ix := &s.plan.Indexes[i]
		if _, _, err := s.flavor.CreateIndex(ix, s.table(ix.Table)); err != nil {
			return &UsageError{err}
		}
	}
	return nil
}

func (s *stand) table(name string) *plan.Table {
	if i := slices.IndexFunc(s.plan.Tables, func(t plan.Table) bool { return t.Name == name }); i >= 0 {
		return &s.plan.Tables[i]
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

	keyless []*plan.Table // created without their primary keys
}

// fill loads tables and proves it. Those to keep hold their rows already; they are proved only, if
// more than their counts is asked for.
func (s *stand) fill(ctx context.Context, tables, keep []*plan.Table, o FillOptions) (fill.Report, error) {
	cfg := fill.Config{
		Driver: s.driver.(protocol.AdminDriver), Targets: s.targets, SQL: s.flavor,
		Verify: o.Verify, Workers: o.Workers, Seed: s.plan.Seed, Progress: o.Progress,
		Loaded: func(ctx context.Context) error { return s.keys(ctx, o.keyless) },
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
			return fill.Report{}, &UsageError{fmt.Errorf("load: open the checkpoint: %w", err)}
		}
		defer c.Close()
		cfg.Checkpoint = c
	}
	return fill.Run(ctx, cfg)
}

// ddlTimeout bounds the drop of a table, which also happens after an interrupt.
const ddlTimeout = time.Minute

// CreateIndexes creates the plan's indexes on its tables, which are there already. Those of the same
// names are made anew.
func CreateIndexes(ctx context.Context, p *plan.Plan) error {
	s, a, err := openSchema(ctx, p, "")
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
	s, a, err := openSchema(ctx, p, "")
	if err != nil {
		return err
	}
	defer a.Close()
	var all error
	for i := range p.Indexes {
		ix := &p.Indexes[i]
		if _, err := a.Exec(ctx, s.flavor.DropIndex(ix)); err != nil {
			all = errors.Join(all, fmt.Errorf("drop index %s: %w", ix.Name, err))
		}
	}
	return all
}
