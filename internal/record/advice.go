package record

import (
	"fmt"

	"brunt/internal/render/message"
)

// Proposal is an index that lowers the planner's total cost, given that the indexes proposed before it exist; or
// settings to be tried (ProofSetting), whose DDL and Drop are the values that are set and those that are restored.
type Proposal struct {
	DDL     string   `json:"ddl"` // statement that builds the index without blocking writers
	Drop    string   `json:"drop"`
	Name    string   `json:"name"`
	Table   string   `json:"table"`
	Columns []string `json:"columns"`
	Where   string   `json:"where,omitempty"` // predicate of a partial index
	SizeB   float64  `json:"size_bytes"`
	Proof   string   `json:"proof"`          // how the index was costed: ProofHypothetical or ProofBuilt
	Gains   []Effect `json:"gains"`          // statements that get cheaper, the greatest gain first
	Pays    []Effect `json:"pays,omitempty"` // statements that have to maintain the index
	Saves   float64  `json:"saves"`          // share of the planner's costs of all statements that the index saves
	// Names are the names by which statements may refer to the table: its own name first, then the names of views,
	// functions and other tables that lead to it.
	Names    []string `json:"names,omitempty"`
	Touching []string `json:"touching,omitempty"` // Statement.ID of the statements whose plans touch the table
}

// How an index was costed.
const (
	ProofHypothetical = "hypothetical" // by HypoPG
	ProofBuilt        = "built"        // by building it in a transaction that was rolled back
	ProofEstimated    = "estimated"    // from the number of rows that the planner expects
	ProofSetting      = "setting"      // it isn't an index, and wasn't costed
)

// Effect is how an index changes the cost of one statement.
type Effect struct {
	Statement string  `json:"statement"` // Statement.ID
	Text      string  `json:"text"`
	Calls     float64 `json:"calls"`
	Before    float64 `json:"cost_before"` // cost of one call, in the planner's units
	After     float64 `json:"cost_after"`
}

// Proof is a proposal and the result of testing it.
type Proof struct {
	Proposal
	Built  bool            `json:"built"`
	Kept   bool            `json:"kept"`
	Why    message.Message `json:"why"`
	Order  string          `json:"order,omitempty"`  // order of runs without (A) and with the index (B), such as "ABBA"
	Change *ProofChange    `json:"change,omitempty"` // of the deciding metric; nil if the runs couldn't be compared
	// Response is the change of the mean response time of all operations, weighted by how often each was done. Without
	// ServerTime it is the deciding metric and equals Change.
	Response *ProofChange `json:"response,omitempty"`
	// Others is the change of the server's time for the other statements that use the table, which the index must not
	// slow down; nil if there are none.
	Others *ProofChange `json:"others,omitempty"`
	// Statements are the statements whose plans the index changes, as measured.
	Statements []ProofStatement `json:"statements,omitempty"`
	Worse      []string         `json:"worse,omitempty"` // operations that are significantly slower
	// Advised says that settings pay. They are always restored: Kept is false.
	Advised  bool           `json:"advised,omitempty"`
	Settings []TriedSetting `json:"settings,omitempty"` // that were tried
}

// TriedSetting is a setting that was tried, with its values as the server writes them.
type TriedSetting struct {
	Name   string `json:"name"`
	Before string `json:"before"`
	Tried  string `json:"tried"`
}

// ProofStatement is the server's own time for one call of a statement without an index and with it.
type ProofStatement struct {
	Statement string       `json:"statement"` // Statement.ID
	Text      string       `json:"text"`
	BeforeNs  float64      `json:"before_ns"`
	AfterNs   float64      `json:"after_ns"`
	Change    *ProofChange `json:"change,omitempty"` // nil if it can't be computed
}

// ProofChange is the relative change that an index causes, with its 95 % confidence interval over the runs. Value, Low
// and High are fractions.
type ProofChange struct {
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// The metrics that decide whether an index is kept.
const (
	// ServerTime is the server's execution time of one call of the statements whose plans the index changes, weighted by
	// how often each was called in all runs together.
	ServerTime = "server.time"
	// ResponseTime is the mean response time. It is used for servers that keep no statement statistics.
	ResponseTime = "response.avg"
)

// String returns the change and its interval in percent.
func (c *ProofChange) String() string {
	return fmt.Sprintf("%.1f %%, between %.1f and %.1f %%", 100*c.Value, 100*c.Low, 100*c.High)
}
