package schema

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/server/schema/sql"
	"brunt/internal/server/target"
)

const warnSequence = "sequence-start"

// StartSequences sets the first key of each sequence after the greatest key that its table has. It returns one line of
// text for each sequence. If a table can't be queried, this is an error if the plan sets the sequence explicitly, and a
// warning otherwise. apart means that other machines insert into the same tables.
func (t *Tables) StartSequences(ctx context.Context, all []*workload.Sequence, apart bool) (remarks []string,
	err error) {
	for _, q := range all {
		remark, err := t.startSequence(ctx, q, apart)
		var wrong *target.UsageError
		switch {
		case err == nil:
			remarks = append(remarks, remark)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(err, &wrong):
			return nil, err
		default:
			w := record.NewWarning(warnSequence, message.Text("table", q.Table), message.Text("column", q.Column),
				message.Text("error", err.Error()))
			if q.Said {
				return nil, &target.UsageError{Err: &message.Error{Message: w.Text}}
			}
			t.o.Warn(w)
		}
	}
	return remarks, nil
}

// startSequence sets the start of one sequence, and describes it. A sequence of UUIDs is derived from the number of
// rows that the table has beyond the plan's.
func (t *Tables) startSequence(ctx context.Context, q *workload.Sequence, apart bool) (remark string, err error) {
	kept := record.Sequence{Table: q.Table, Column: q.Column}
	if q.UUID {
		more, err := t.rowsBeyondPlan(ctx, q.Table)
		if err != nil {
			return "", err
		}
		q.Apart(more)
		kept.Rows = &more
		remark = fmt.Sprintf(
			"This run's UUIDs for %q of table %q are those of a table with %d rows beyond the plan's. A repetition asks again.",
			q.Column, q.Table, more)
	} else {
		if kept.Greatest, err = t.ask(ctx, func(f sql.Flavor) string { return f.Greatest(q.Table, q.Column) }); err != nil {
			return "", err
		}
		held := "no row"
		if kept.Greatest != nil {
			if err := q.After(*kept.Greatest, apart); err != nil {
				return "", &target.UsageError{Err: err}
			}
			held = strconv.FormatInt(*kept.Greatest, 10)
		}
		kept.First = q.First()
		remark = fmt.Sprintf(
			"This run's sequence for %q of table %q began with %d: the greatest there was %s. A repetition asks again.", q.Column,
			q.Table, q.First(), held)
	}
	t.run.Sequences = append(t.run.Sequences, kept)
	return remark, nil
}

// rowsBeyondPlan returns how many more rows a table has than the plan gives it.
func (t *Tables) rowsBeyondPlan(ctx context.Context, table string) (uint64, error) {
	var planned uint64
	if t := t.Table(table); t != nil {
		planned = t.Rows
	}
	for _, t := range t.run.Tables {
		if t.Name == table {
			return t.Rows - min(planned, t.Rows), nil
		}
	}
	rows, err := t.ask(ctx, func(f sql.Flavor) string { return f.CountRows(table) })
	if err != nil || rows == nil {
		return 0, err
	}
	return uint64(*rows) - min(planned, uint64(*rows)), nil
}

// ask runs a query that returns a single number. It returns nil if the value is null.
func (t *Tables) ask(ctx context.Context, question func(sql.Flavor) string) (*int64, error) {
	a := t.admin
	if a == nil {
		if _, ok := t.Driver.(protocol.AdminDriver); !ok {
			return nil, fmt.Errorf("protocol %s has no such query", t.Driver.Name())
		}
		opened, err := t.Admin(ctx)
		if err != nil {
			return nil, err
		}
		defer opened.Close()
		a = opened
	}
	flavor, err := t.FlavorOf()
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
