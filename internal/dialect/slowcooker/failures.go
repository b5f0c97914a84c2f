package slowcooker

import (
	"fmt"
	"io"
	"sync"

	"brunt/internal/measure"
	"brunt/internal/protocol"
)

// failuresEach is how many failures are printed for each slice of the record.
const failuresEach = 5

// FailureLines prints requests that got no answer, as slow_cooker does. It limits their number: a service that is down
// for days would otherwise fill a disk. It is safe for concurrent use.
type FailureLines struct {
	W io.Writer

	mu    sync.Mutex
	count int // in this slice
}

var _ measure.Sink = (*FailureLines)(nil)

// Failed handles a failed request with its error class and message.
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
