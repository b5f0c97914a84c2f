package workload

import "brunt/internal/driver"

// WholeOperation is the Step of a Timing that is about an operation and not one of its requests.
const WholeOperation = -1

// Timing is how long an operation or one of its requests took. Times are nanoseconds on the run's
// clock.
type Timing struct {
	Operation  int
	Step       int // WholeOperation, or which request
	Index      uint64
	IntendedNs int64 // of a request: as SentNs
	SentNs     int64
	EndNs      int64
	Class      driver.Class
}

// For returns the step's request within operation number i.
func (s *Step) For(i uint64) *driver.Request {
	if s.variant == nil {
		return s.Request
	}
	return s.variants[s.variant(i)]
}
