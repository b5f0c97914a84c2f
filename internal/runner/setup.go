package runner

import (
	"context"
	"errors"
	"time"

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
	var err error
	if j.admin, err = s.admin(ctx); err != nil {
		return nil, err
	}
	u := &schemaUp{stand: s, admin: j.admin, o: FillOptions{Progress: j.o.Tell.Loading, Force: j.o.Force}, use: j.use}
	u.filling = func(t *plan.Table) {
		j.Record.Tables = append(j.Record.Tables, record.TableUse{Name: t.Name, Origin: "run", Rows: t.Rows, Seed: &s.plan.Seed})
	}
	err = u.run(ctx)
	j.marks = u.marks
	for _, t := range u.o.keyless {
		j.created = append(j.created, t.Name)
	}
	if err != nil || len(u.fill) == 0 {
		return nil, err
	}
	setup := &record.Setup{DurationNs: int64(time.Since(began))}
	for _, c := range u.changes {
		setup.Tables = append(setup.Tables, record.Table{
			Name: c.Name, Rows: c.Load.Rows, RowsPerS: c.Load.RatePerS, Checksum: c.Load.Checksum, ElapsedNs: int64(c.Load.Elapsed),
		})
	}
	return setup, nil
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
