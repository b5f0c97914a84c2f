package inspect

import (
	"context"

	"brunt/internal/record"
)

// Progress is how far a script of statements was carried out, and who hears of more. The zero value is a script of
// which nothing was done, and nobody is told.
type Progress struct {
	Done  int  // statements that are done; those of them that set the session's settings are carried out again
	Begun bool // the next one was begun by a process that was killed: that it is done already is no error
	// Tell is called for each statement, with its number from 0, before it is carried out and when it is done. An error
	// ends the script.
	Tell func(statement int, done bool) error
}

// Database is a server that advice is asked of and carried out on. It is used by one goroutine.
type Database interface {
	// Exec carries out a script of statements one after the other, outside of transactions, from where its
	// progress says. The error names the statement that failed.
	Exec(ctx context.Context, script string, from Progress) error
	// Propose proposes indexes for the statements that inspections have seen, the best first. Without
	// inspections those are meant that the server has counted so far. Nothing is changed.
	Propose(ctx context.Context, seen []record.Inspection) ([]record.Proposal, error)
	// Settle ends what an attempt that was killed or interrupted has left at work on a proposal's index, drops
	// the index if it is invalid, and says whether it is there.
	Settle(ctx context.Context, p *record.Proposal) (there bool, err error)
	Close() error
}
