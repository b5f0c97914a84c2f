package cli

import (
	"fmt"
	"io"
	"sync"

	"brunt/internal/driver"
	"brunt/internal/measure"
	"brunt/internal/record"
)

// failuresEach is how many failures are told of in a slice of the record.
const failuresEach = 5

// failureLines tell of requests that got no answer, as slow_cooker does, but not of all of them: a
// service that is down for days would fill a disk with them. They are safe for concurrent use.
type failureLines struct {
	w io.Writer

	mu    sync.Mutex
	count int // in this slice
}

var _ measure.Sink = (*failureLines)(nil)

func (f *failureLines) failed(e record.ErrorSample) {
	if e.Class == driver.Server.String() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count++; f.count <= failuresEach {
		fmt.Fprintf(f.w, "%s: %s\n", e.Class, e.Text)
	}
}

// Interval implements measure.Sink.
func (f *failureLines) Interval(*measure.Interval) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if more := f.count - failuresEach; more > 0 {
		fmt.Fprintf(f.w, "and %d more failures\n", more)
	}
	f.count = 0
	return nil
}
