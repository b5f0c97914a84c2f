package spool

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Log appends to a file, and reopens it on SIGHUP, so that a log rotation program can move the file away. It is safe
// for concurrent use.
type Log struct {
	path    string
	signals chan os.Signal
	done    chan struct{}
	ended   chan struct{}

	mu   sync.Mutex
	file *os.File
}

// OpenLog opens the log. failed is called if it can't be reopened; the log then continues in the old file.
func OpenLog(path string, failed func(error)) (*Log, error) {
	l := &Log{path: path, signals: make(chan os.Signal, 1), done: make(chan struct{}), ended: make(chan struct{})}
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

func (l *Log) watch(failed func(error)) {
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

func (l *Log) reopen() error {
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

// Write implements io.Writer. A single write is never split between two files.
func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Write(b)
}

// Close closes the file and stops watching for SIGHUP.
func (l *Log) Close() error {
	signal.Stop(l.signals)
	close(l.done)
	<-l.ended
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}
