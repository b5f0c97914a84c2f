package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"brunt/internal/driver"
	"brunt/internal/load"
	"brunt/internal/plan"
	"brunt/internal/record"
)

// setup creates and fills the tables that are missing or empty. Tables with the plan's number of
// rows are used as they are.
func (j *job) setup(ctx context.Context) (*record.Setup, error) {
	s := j.stand
	if len(s.plan.Tables) == 0 {
		return nil, nil
	}
	began := time.Now()
	if err := s.checkDDL(); err != nil {
		return nil, err
	}
	a, err := s.admin(ctx)
	if err != nil {
		return nil, err
	}
	j.admin = a
	missing, err := j.missing(ctx, a)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	report, err := s.fill(ctx, missing, FillOptions{Progress: j.o.Loading, keyless: j.keyless(missing)})
	if err != nil {
		return nil, err
	}
	for _, t := range missing {
		if err := s.index(ctx, a, t, !slices.Contains(j.created, t.Name)); err != nil {
			return nil, err
		}
	}
	return setupRecord(report, time.Since(began)), nil
}

// missing creates the tables that don't exist and returns those that must be filled.
func (j *job) missing(ctx context.Context, a driver.Admin) ([]*plan.Table, error) {
	var out []*plan.Table
	for i := range j.stand.plan.Tables {
		t := &j.stand.plan.Tables[i]
		st, err := j.stand.tableState(ctx, a, t)
		switch {
		case err != nil:
			return nil, fmt.Errorf("table %s: %w", t.Name, err)
		case !st.exists:
			if err := j.stand.create(ctx, a, t); err != nil {
				return nil, err
			}
			j.created = append(j.created, t.Name)
			out = append(out, t)
		case st.rows == 0 && t.Rows > 0:
			out = append(out, t)
		case st.rows != t.Rows:
			j.warn(record.Warning{
				ID:     "table-rows",
				Text:   fmt.Sprintf("table %s holds %d rows, the plan says %d: used as it is", t.Name, st.rows, t.Rows),
				Remedy: "brunt schema down, then brunt schema up, if it must hold just the plan's rows",
			})
		}
	}
	return out, nil
}

// keyless is those of the tables that this run created.
func (j *job) keyless(tables []*plan.Table) []*plan.Table {
	var out []*plan.Table
	for _, t := range tables {
		if slices.Contains(j.created, t.Name) {
			out = append(out, t)
		}
	}
	return out
}

// teardown drops what the run created and closes its admin session.
func (j *job) teardown() error {
	if j.admin == nil {
		return nil
	}
	defer j.admin.Close()
	if j.o.NoTeardown || len(j.created) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), ddlTimeout)
	defer cancel()
	_, err := j.stand.drop(ctx, j.admin, j.created)
	return err
}

func setupRecord(r load.Report, took time.Duration) *record.Setup {
	out := &record.Setup{DurationNs: int64(took)}
	for _, t := range r.Tables {
		out.Tables = append(out.Tables, record.Table{
			Name: t.Name, Rows: t.Rows, RowsPerS: t.RatePerS, Checksum: t.Checksum, ElapsedNs: int64(t.Elapsed),
		})
	}
	return out
}

// TableChange is what SchemaUp or SchemaDown did to a table.
type TableChange struct {
	Name   string
	Action string // "created", "filled", "resumed", "complete" (nothing to do), "dropped", "absent"
	Load   *load.TableReport
}

// SchemaUp creates the plan's tables and indexes and fills them. A table that is there already
// and complete is left alone; one that an interrupted SchemaUp left unfinished is completed from
// its checkpoint; one with other rows is a *UsageError.
func SchemaUp(ctx context.Context, p *plan.Plan, o FillOptions) ([]TableChange, []record.Warning, error) {
	s, a, err := openSchema(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	defer a.Close()
	if err := s.checkDDL(); err != nil {
		return nil, nil, err
	}
	if o.Checkpoint != "" {
		if err := os.MkdirAll(filepath.Dir(o.Checkpoint), 0o755); err != nil {
			return nil, nil, &UsageError{fmt.Errorf("checkpoint: %w", err)}
		}
	}
	// The checkpoint goes when the indexes are there, so its presence means unfinished work.
	_, err = os.Stat(o.Checkpoint)
	unfinished := o.Checkpoint != "" && err == nil
	var changes []TableChange
	var fill []*plan.Table
	for i := range p.Tables {
		t := &p.Tables[i]
		st, err := s.tableState(ctx, a, t)
		if err != nil {
			return changes, nil, fmt.Errorf("table %s: %w", t.Name, err)
		}
		change := TableChange{Name: t.Name}
		switch {
		case !st.exists && unfinished:
			return changes, nil, &UsageError{fmt.Errorf("%s says that table %s was being loaded, but it doesn't exist; remove the file to load anew", o.Checkpoint, t.Name)}
		case !st.exists:
			if err := s.create(ctx, a, t); err != nil {
				return changes, nil, err
			}
			change.Action = "created"
			o.keyless = append(o.keyless, t)
		case unfinished:
			// Rows that are loaded again are found by the key.
			if err := s.keys(ctx, []*plan.Table{t}); err != nil {
				return changes, nil, err
			}
			change.Action = "resumed"
		case st.rows == t.Rows && t.Rows > 0:
			changes = append(changes, TableChange{Name: t.Name, Action: "complete"})
			continue
		case st.rows > 0:
			return changes, nil, &UsageError{fmt.Errorf("table %s holds %d rows, the plan says %d; drop it with brunt schema down", t.Name, st.rows, t.Rows)}
		default:
			change.Action = "filled"
		}
		changes = append(changes, change)
		fill = append(fill, t)
	}
	report, err := s.fill(ctx, fill, o)
	attach(changes, report)
	if err != nil {
		return changes, nil, err
	}
	for i := range fill {
		created := changeOf(changes, fill[i].Name).Action == "created"
		if err := s.index(ctx, a, fill[i], !created); err != nil {
			return changes, nil, err
		}
	}
	if o.Checkpoint != "" {
		if err := os.Remove(o.Checkpoint); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return changes, nil, err
		}
	}
	return changes, noticeWarnings(s), nil
}

func changeOf(changes []TableChange, table string) *TableChange {
	for i := range changes {
		if changes[i].Name == table {
			return &changes[i]
		}
	}
	return nil
}

func attach(changes []TableChange, report load.Report) {
	for i := range report.Tables {
		if c := changeOf(changes, report.Tables[i].Name); c != nil {
			c.Load = &report.Tables[i]
		}
	}
}

func noticeWarnings(s *stand) []record.Warning {
	var out []record.Warning
	for _, n := range s.notices {
		out = append(out, record.Warning{ID: n.ID, Text: n.Text})
	}
	return out
}

// SchemaDown drops the plan's tables.
func SchemaDown(ctx context.Context, p *plan.Plan) ([]TableChange, error) {
	s, a, err := openSchema(ctx, p)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	var names []string
	for i := range p.Tables {
		names = append(names, p.Tables[i].Name)
	}
	dropped, err := s.drop(ctx, a, names)
	var changes []TableChange
	for _, n := range names {
		action := "absent"
		if slices.Contains(dropped, n) {
			action = "dropped"
		}
		changes = append(changes, TableChange{Name: n, Action: action})
	}
	return changes, err
}

func openSchema(ctx context.Context, p *plan.Plan) (*stand, driver.Admin, error) {
	p.Settings = p.Settings.WithDefaults()
	if len(p.Tables) == 0 {
		return nil, nil, &UsageError{fmt.Errorf("plan %s has no tables; there is nothing to create", p.Name)}
	}
	s, err := newStand(ctx, p, patience{})
	if err != nil {
		return nil, nil, err
	}
	a, err := s.admin(ctx)
	if err != nil {
		return nil, nil, err
	}
	return s, a, nil
}
