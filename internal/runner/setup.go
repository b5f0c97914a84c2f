package runner

import (
	"context"
	"errors"
	"slices"
	"time"

	"brunt/internal/driver"
	"brunt/internal/load"
	"brunt/internal/plan"
	"brunt/internal/record"
)

// tables creates and fills the tables that are missing, and those of brunt's own that are empty.
// Tables with rows are used as they are; the record says what is known of them.
func (j *Runner) tables(ctx context.Context) (*record.Setup, error) {
	s := j.stand
	if len(s.plan.Tables) == 0 {
		return nil, nil
	}
	began := time.Now()
	if _, ok := s.driver.(driver.AdminDriver); !ok {
		return nil, &UsageError{s.noTables()}
	}
	if err := s.checkDDL(); err != nil {
		return nil, err
	}
	a, err := s.admin(ctx)
	if err != nil {
		return nil, err
	}
	j.admin = a
	j.marks = s.readMarkers(ctx, a)
	missing, err := j.missing(ctx, a)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	report, err := s.fill(ctx, missing, nil, FillOptions{Progress: j.o.Tell.Loading, keyless: slices.DeleteFunc(slices.Clone(missing), func(t *plan.Table) bool { return !slices.Contains(j.created, t.Name) })})
	if err != nil {
		return nil, err
	}
	for _, t := range missing {
		if err := s.index(ctx, a, t, !slices.Contains(j.created, t.Name)); err != nil {
			return nil, err
		}
	}
	s.markComplete(ctx, a, &j.marks, missing)
	return setupRecord(report, time.Since(began)), nil
}

// missing creates the tables that don't exist and returns those that must be filled.
func (j *Runner) missing(ctx context.Context, a driver.Admin) ([]*plan.Table, error) {
	var out []*plan.Table
	for i := range j.stand.plan.Tables {
		t := &j.stand.plan.Tables[i]
		f, err := j.stand.find(ctx, a, t, &j.marks)
		if err != nil {
			return nil, err
		}
		origin := originFilled
		switch {
		case !f.exists:
			if err := j.stand.create(ctx, a, t); err != nil {
				return nil, err
			}
			j.created = append(j.created, t.Name)
			origin = originCreated
		case f.rows == 0 && t.Rows > 0:
			if err := j.stand.mayFill(&f, &j.marks, j.o.Force); err != nil {
				return nil, err
			}
		default:
			if err := j.use(&f); err != nil {
				return nil, err
			}
			continue
		}
		if err := j.stand.markUnfinished(ctx, a, &j.marks, t, origin); err != nil {
			return nil, err
		}
		out = append(out, t)
		j.Record.Tables = append(j.Record.Tables, record.TableUse{Name: t.Name, Origin: "run", Rows: t.Rows, Seed: &j.stand.plan.Seed})
	}
	return out, nil
}

// teardown drops what the run created and closes its admin session.
func (j *Runner) teardown() error {
	a := j.admin
	if a == nil {
		return nil
	}
	j.admin = nil
	d := &dropping{stand: j.stand, admin: a, marks: j.marks}
	defer func() { d.admin.Close() }()
	if j.o.NoTeardown || len(j.created) == 0 {
		return nil
	}
	ctx := context.Background()
	dropped, err := d.drop(ctx, j.created)
	return errors.Join(err, d.forget(ctx, dropped))
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
