package record

import (
	"fmt"

	"brunt/internal/message"
)

// Proposal is an index that pays by the planner's costs, next to those proposed before it.
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
	// Names are those by which statements may touch the table: its own first, then those of views, functions and
	// other tables that lead to it.
	Names    []string `json:"names,omitempty"`
	Touching []string `json:"touching,omitempty"` // Statement.ID of those whose plans touch the table
}

// How an index was costed.
const (
	ProofHypothetical = "hypothetical" // by HypoPG
	ProofBuilt        = "built"        // by building it in a transaction that was rolled back
)

// Effect is what an index changes for a statement.
type Effect struct {
	Statement string  `json:"statement"` // Statement.ID
	Text      string  `json:"text"`
	Calls     float64 `json:"calls"`
	Before    float64 `json:"cost_before"` // of one call, in the planner's units
	After     float64 `json:"cost_after"`
}

// Proof is a proposal and what came of it.
type Proof struct {
	Proposal
	Built  bool            `json:"built"`
	Kept   bool            `json:"kept"`
	Why    message.Message `json:"why"`
	Order  string          `json:"order,omitempty"`  // of the runs without it (A) and with it (B), such as "ABBA"
	Change *ProofChange    `json:"change,omitempty"` // of what decides; nil if the runs couldn't be compared
	// Response is the change of the mean response time of all operations, in which each counts as often as it is
	// done. It decides, and is the same as Change, where there is no ServerTime.
	Response *ProofChange `json:"response,omitempty"`
	Worse    []string     `json:"worse,omitempty"` // operations that are slower for sure
}

// ProofChange is what an index changes, as a share, with its 95 % interval over the runs.
type ProofChange struct {
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// What decides whether an index stays.
const (
	// ServerTime is the server's execution time of one call of the statements that the index concerns, each
	// counted as often as it was called in all the runs together.
	ServerTime = "server.time"
	// ResponseTime is the mean response time, for servers that count no statements.
	ResponseTime = "response.avg"
)

// String is the change with its interval, in percent.
func (c *ProofChange) String() string {
	return fmt.Sprintf("%.1f %%, between %.1f and %.1f %%", 100*c.Value, 100*c.Low, 100*c.High)
}
