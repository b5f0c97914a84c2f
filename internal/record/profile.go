package record

// Profile is what took the processor time of a service during the load.
type Profile struct {
	// Source is as given by the user, without secrets: "profile:http://127.0.0.1:6060", "profile:pid:4711".
	Source   string `json:"source"`
	LengthNs int64  `json:"duration_ns"`
	// OnCPU is the number of cores used: by the samples of a Go program, by the kernel for a JVM.
	OnCPU     float64        `json:"on_cpu"`
	Functions []FunctionTime `json:"functions,omitempty"` // the greatest first, at most 30
}

// FunctionTime is the share of the processor time that a function has.
type FunctionTime struct {
	Name string  `json:"name"`
	Own  float64 `json:"own"`   // without the functions that it calls
	With float64 `json:"total"` // with them
}
