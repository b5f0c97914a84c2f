package record

// OtherOperations is the name of what a script did beyond the most operations that are distinguished.
const OtherOperations = "other"

// Iterations are those of a script of k6.
type Iterations struct {
	Done    uint64 `json:"done" merge:"sum"`
	Dropped uint64 `json:"dropped" merge:"sum"` // because all VUs were busy
	Threw   uint64 `json:"threw" merge:"sum"`   // of Done, those that ended with an exception
}

// Aggregate is how a threshold of k6 comes to its value.
type Aggregate struct {
	How    string  `json:"how"`    // k6's word for it: "count", "rate", "avg", "p(95)" …
	Holds  string  `json:"holds"`  // if Value is so to Limit: "<", "<=", ">", ">=", "==", "===" or "!="
	Values float64 `json:"values"` // how many it is of; a counter's sum
}
