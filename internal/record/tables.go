package record

// TableUse is one of the plan's tables as the run found or made it.
type TableUse struct {
	Name string `json:"name"`
	// Origin is "run" if this run filled it, "brunt" if an earlier command did, "" if nobody
	// knows.
	Origin string  `json:"origin,omitempty"`
	Rows   uint64  `json:"rows"`           // that it held before the load
	Seed   *uint64 `json:"seed,omitempty"` // of its rows; absent if nobody knows
	// Differs says why the rows aren't those that the plan's references are made for; "" if they
	// are, or nobody knows.
	Differs string `json:"differs,omitempty"`
}

// Sequence is where the keys that a run inserted began.
type Sequence struct {
	Table    string `json:"table"`
	Column   string `json:"column"`
	Greatest *int64 `json:"greatest,omitempty"` // that the column held before the load; absent if nothing
	First    int64  `json:"first"`              // of the run's values
	// Rows is what a table held beyond the plan's rows; absent for numbers. UUIDs differ from those of runs
	// that found another number.
	Rows *uint64 `json:"rows,omitempty"`
}
