package inspect

import (
	"context"

	"brunt/internal/record"
)

// Database is a server that advice is asked of and carried out on. It is used by one goroutine.
type Database interface {
	// Exec carries out a script of statements one after the other, outside of transactions. The error
	// names the statement that failed.
	Exec(ctx context.Context, script string) error
	// Propose proposes indexes for the statements that inspections have seen, the best first. Without
	// inspections those are meant that the server has counted so far. Nothing is changed.
	Propose(ctx context.Context, seen []record.Inspection) ([]record.Proposal, error)
	// Settle ends what an attempt that was killed or interrupted has left at work on a proposal's index, drops
	// the index if it is invalid, and says whether it is there.
	Settle(ctx context.Context, p *record.Proposal) (there bool, err error)
	Close() error
}
