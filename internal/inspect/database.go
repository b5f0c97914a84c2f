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
	Propose(ctx context.Context, seen []record.Inspection) ([]Proposal, error)
	// Settle ends what an attempt that was killed or interrupted has left at work on a proposal's index, drops
	// the index if it is invalid, and says whether it is there.
	Settle(ctx context.Context, p *Proposal) (there bool, err error)
	Close() error
}

// Proposal is an index that pays by the planner's costs, beside those proposed before it.
type Proposal struct {
	DDL     string   `json:"ddl"` // builds it without locking out writers
	Drop    string   `json:"drop"`
	Name    string   `json:"name"`
	Table   string   `json:"table"`
	Columns []string `json:"columns"`
	Where   string   `json:"where,omitempty"` // of a partial index
	SizeB   float64  `json:"size_bytes"`
	Proof   string   `json:"proof"`          // how it was costed: ProofHypothetical or ProofBuilt
	Gains   []Effect `json:"gains"`          // statements that get cheaper, the greatest gain first
	Pays    []Effect `json:"pays,omitempty"` // statements that have to write to it
	Saves   float64  `json:"saves"`          // of the planner's costs of all statements, a share
}

// How an index was costed.
const (
	ProofHypothetical = "hypothetical" // by HypoPG
	ProofBuilt        = "built"        // by building it in a transaction that was rolled back
)

// Effect is what an index changes for a statement.
type Effect struct {
	Statement string  `json:"statement"` // record.Statement.ID
	Text      string  `json:"text"`
	Calls     float64 `json:"calls"`
	Before    float64 `json:"cost_before"` // of one call, in the planner's units
	After     float64 `json:"cost_after"`
}
