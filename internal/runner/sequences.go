package runner

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/schema/sql"
	"brunt/internal/workload"
)

const warnSequence = "sequence-start"

// startSequences lets the keys that the plan inserts begin after those that the tables hold. Where
// that can't be asked it is an error if the plan says so, and else a warning.
func (r *Runner) startSequences(ctx context.Context) error {
	if len(r.Workload.Sequences) == 0 {
		return nil
	}
	var remarks []string
	for _, q := range r.Workload.Sequences {
		remark, err := r.startSequence(ctx, q)
		var wrong *UsageError
		switch {
		case err == nil:
			remarks = append(remarks, remark)
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &wrong):
			return err
		default:
			err = fmt.Errorf("where the keys of table %s begin: what is in its %s couldn't be asked for: %w", q.Table, q.Column, err)
			if q.Said {
				return &UsageError{err}
			}
			r.warn(record.Warning{ID: warnSequence, Text: err.Error(), Remedy: "they begin at the start of their range; start: range says that it shall be so"})
		}
	}
	if len(remarks) == 0 {
		return nil
	}
	return r.bundle.Remark(r.o.Recording.Plan, remarks...)
}

// startSequence lets one sequence begin after what there is, and says so.
func (r *Runner) startSequence(ctx context.Context, q *workload.Sequence) (remark string, err error) {
	kept := record.Sequence{Table: q.Table, Column: q.Column}
	if q.UUID {
		more, err := r.rowsBeyondPlan(ctx, q.Table)
		if err != nil {
			return "", err
		}
		q.Apart(more)
		kept.Rows = &more
		remark = fmt.Sprintf("This run's UUIDs for %q of table %q are those of a table with %d rows beyond the plan's. A repetition asks anew.", q.Column, q.Table, more)
	} else {
		if kept.Greatest, err = r.ask(ctx, func(f sql.Flavor) string { return f.Greatest(q.Table, q.Column) }); err != nil {
			return "", err
		}
		held := "no row"
		if kept.Greatest != nil {
			if err := q.After(*kept.Greatest, r.o.Part.Of > 1); err != nil {
				return "", &UsageError{err}
			}
			held = strconv.FormatInt(*kept.Greatest, 10)
		}
		kept.First = q.First()
		remark = fmt.Sprintf("This run's sequence for %q of table %q began with %d: the greatest there was %s. A repetition asks anew.", q.Column, q.Table, q.First(), held)
	}
	r.Record.Sequences = append(r.Record.Sequences, kept)
	return remark, nil
}

// rowsBeyondPlan is how many rows more than the plan's a table holds.
func (r *Runner) rowsBeyondPlan(ctx context.Context, table string) (uint64, error) {
	var planned uint64
	if t := r.stand.table(table); t != nil {
		planned = t.Rows
	}
	for _, t := range r.Record.Tables {
		if t.Name == table {
			return t.Rows - min(planned, t.Rows), nil
		}
	}
	rows, err := r.ask(ctx, func(f sql.Flavor) string { return f.CountRows(table) })
	if err != nil || rows == nil {
		return 0, err
	}
	return uint64(*rows) - min(planned, uint64(*rows)), nil
}

// ask puts a question whose answer is one number, nil if it is null.
func (r *Runner) ask(ctx context.Context, question func(sql.Flavor) string) (*int64, error) {
	a := r.admin
	if a == nil {
		if _, ok := r.stand.driver.(protocol.AdminDriver); !ok {
			return nil, fmt.Errorf("protocol %s has no such query", r.stand.driver.Name())
		}
		opened, err := r.stand.admin(ctx)
		if err != nil {
			return nil, err
		}
		defer opened.Close()
		a = opened
	}
	flavor, err := r.stand.flavorOf()
	if err != nil {
		return nil, err
	}
	var answer *int64
	err = a.Query(ctx, question(flavor), func(values []*string) error {
		if len(values) == 0 || values[0] == nil {
			return nil
		}
		n, err := strconv.ParseInt(*values[0], 10, 64)
		answer = &n
		return err
	})
	return answer, err
}
