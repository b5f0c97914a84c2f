package slowcooker

import (
	"fmt"
	"io"
	"sync"

	"brunt/internal/measure"
	"brunt/internal/protocol"
)

// failuresEach is how many failures are listed in a slice of the record.
const failuresEach = 5

// FailureLines tell of requests that got no answer, as slow_cooker does, but not of all of them: a
// service that is down for days would fill a disk with them. They are safe for concurrent use.
type FailureLines struct {
	W io.Writer

	mu    sync.Mutex
	count int // in this slice
}

var _ measure.Sink = (*FailureLines)(nil)

// Failed takes a request that failed: its class and what was said.
func (f *FailureLines) Failed(class, text string) {
	if class == protocol.Server.String() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count++; f.count <= failuresEach {
		fmt.Fprintf(f.W, "%s: %s\n", class, text)
	}
}

// Interval implements measure.Sink.
func (f *FailureLines) Interval(*measure.Interval) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if more := f.count - failuresEach; more > 0 {
		fmt.Fprintf(f.W, "and %d more failures\n", more)
	}
	f.count = 0
	return nil
}
