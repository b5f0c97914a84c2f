package cli

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"brunt/internal/driver"
	"brunt/internal/measure"
	"brunt/internal/record"
)

// rotatingLog appends to a file and opens it anew at SIGHUP, so that whoever rotates logs may have
// moved it away. It is safe for concurrent use.
type rotatingLog struct {
	path    string
	signals chan os.Signal
	done    chan struct{}
	ended   chan struct{}

	mu   sync.Mutex
	file *os.File
}

// openLog opens the log. failed is told when it can't be opened anew; writing then goes on into
// the file that was open.
func openLog(path string, failed func(error)) (*rotatingLog, error) {
	l := &rotatingLog{path: path, signals: make(chan os.Signal, 1), done: make(chan struct{}), ended: make(chan struct{})}
	f, err := appendTo(path)
	if err != nil {
		return nil, err
	}
	l.file = f
	signal.Notify(l.signals, syscall.SIGHUP)
	go l.watch(failed)
	return l, nil
}

func appendTo(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	return f, nil
}

func (l *rotatingLog) watch(failed func(error)) {
	defer close(l.ended)
	for {
		select {
		case <-l.signals:
			if err := l.reopen(); err != nil {
				failed(err)
			}
		case <-l.done:
			return
		}
	}
}

func (l *rotatingLog) reopen() error {
	f, err := appendTo(l.path)
	if err != nil {
		return err
	}
	l.mu.Lock()
	old := l.file
	l.file = f
	l.mu.Unlock()
	return old.Close()
}

// Write implements io.Writer. A line is never split between two files.
func (l *rotatingLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Write(b)
}

// Close ends the log.
func (l *rotatingLog) Close() error {
	signal.Stop(l.signals)
	close(l.done)
	<-l.ended
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}

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
