package runner

import (
	"context"
	"fmt"
	"strconv"

	"brunt/internal/driver"
	"brunt/internal/record"
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
		greatest, err := r.greatest(ctx, q)
		if err != nil {
			if err := ctx.Err(); err != nil {
				return err
			}
			err = fmt.Errorf("where the keys of table %s begin: the greatest %s couldn't be asked for: %w", q.Table, q.Column, err)
			if q.Said {
				return &UsageError{err}
			}
			r.warn(record.Warning{ID: warnSequence, Text: err.Error(), Remedy: "they begin at the start of their range; start: range says that it shall be so"})
			continue
		}
		held := "no row"
		if greatest != nil {
			if err := q.After(*greatest, r.o.Stride > 1); err != nil {
				return &UsageError{err}
			}
			held = strconv.FormatInt(*greatest, 10)
		}
		r.Record.Sequences = append(r.Record.Sequences, record.Sequence{Table: q.Table, Column: q.Column, Greatest: greatest, First: q.First()})
		remarks = append(remarks, fmt.Sprintf("This run's sequence for %q of table %q began with %d: the greatest there was %s. A repetition asks anew.", q.Column, q.Table, q.First(), held))
	}
	if len(remarks) == 0 {
		return nil
	}
	return r.bundle.Remark(r.o.Recording.Plan, remarks...)
}

// greatest asks for the greatest value of a sequence's column, nil if there is none.
func (r *Runner) greatest(ctx context.Context, q *workload.Sequence) (*int64, error) {
	a := r.admin
	if a == nil {
		if _, ok := r.stand.driver.(driver.AdminDriver); !ok {
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
	var greatest *int64
	err = a.Query(ctx, flavor.Greatest(q.Table, q.Column), func(values []*string) error {
		if len(values) == 0 || values[0] == nil {
			return nil
		}
		n, err := strconv.ParseInt(*values[0], 10, 64)
		greatest = &n
		return err
	})
	return greatest, err
}
