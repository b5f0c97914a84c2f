package record

// OtherOperations is the name under which a script's operations beyond the limit of distinguished ones are counted.
const OtherOperations = "other"

// Iterations counts the iterations of a k6 script.
type Iterations struct {
	Done    uint64 `json:"done" merge:"sum"`
	Dropped uint64 `json:"dropped" merge:"sum"` // because all VUs were busy
	Threw   uint64 `json:"threw" merge:"sum"`   // those of Done that ended with an exception
}

// Aggregate describes how the value of a k6 threshold was computed.
type Aggregate struct {
	How    string  `json:"how"`    // k6's name of it: "count", "rate", "avg", "p(95)" …
	Holds  string  `json:"holds"`  // passes if Value compares so to Limit: "<", "<=", ">", ">=", "==", "===" or "!="
	Values float64 `json:"values"` // number of values; a counter's sum
}
