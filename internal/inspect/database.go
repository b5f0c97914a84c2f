package inspect

import (
	"context"
	"errors"
	"fmt"

	"brunt/internal/record"
)

// Progress describes how much of a script has already been executed. The zero value means that nothing has.
type Progress struct {
	Done  int  // statements that have been executed; SET and RESET among them are executed again
	Begun bool // the next statement was started by a process that was killed; it is no error if it was completed
	// Tell, if not nil, is called with the index of each statement before and after its execution. If it returns an
	// error, the script ends.
	Tell func(statement int, done bool) error
}

// Database is a server that proposes indexes and executes statements. Only one goroutine may use it.
type Database interface {
	// Exec executes the statements of a script in order, outside of transactions, starting where from says. Its
	// error names the statement that failed.
	Exec(ctx context.Context, script string, from Progress) error
	// Propose proposes indexes for the statements in the given inspections, best first. Without inspections it uses
	// the statements that the server has counted so far. It doesn't change anything.
	Propose(ctx context.Context, seen []record.Inspection) ([]record.Proposal, error)
	// Settle cleans up after an attempt that was killed or interrupted: it ends statements that are still building
	// or dropping a proposal's index, and drops the index if it is invalid. It reports whether the index exists.
	Settle(ctx context.Context, p *record.Proposal) (there bool, err error)
}

// NoneExplained returns an error that says why no statement of inspections is known that could be explained, and what
// to do about it. failed is the error of the server that was asked to explain one; it may be nil.
func NoneExplained(seen []record.Inspection, failed error) error {
	if failed != nil {
		return fmt.Errorf("no statement could be explained: %w", failed)
	}
	for i := range seen {
		for _, m := range seen[i].Missing {
			if !m.Remedy.IsZero() {
				return fmt.Errorf("no statement is known that could be explained, since %s; %s", m.Text, m.Remedy)
			}
		}
		for _, p := range seen[i].Plans {
			if p.Failed != "" {
				return fmt.Errorf("no statement could be explained: %s", p.Failed)
			}
		}
	}
	return errors.New("no statement is known that could be explained; run a load of SQL statements with --inspect first")
}
