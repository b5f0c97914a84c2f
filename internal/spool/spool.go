// Package spool keeps a run from waiting for the reader of what it prints: texts queue before writers that may block.
package spool

import (
	"bytes"
	"io"
	"sync"
	"time"

	"brunt/internal/message"
)

const (
	// mostTexts is how many reports may wait for a writer that doesn't take them.
	mostTexts = 4096
	// pieceBytes is how much is written at once, in bytes, up to the end of a line.
	pieceBytes = 4096
	// Patience is how long the end of a run waits for a writer that takes nothing.
	Patience = 10 * time.Second
	// hardPatience is the same after a second interrupt: what is taken at once is still written.
	hardPatience = 200 * time.Millisecond
)

// Spool stands before a writer for people, which may block for ever: a terminal held with Ctrl-S, a
// pipe that nobody reads. Write never waits. What can't be written yet is queued in order, and what
// the queue has no room for is counted. It is safe for concurrent use.
type Spool struct {
	W    io.Writer        // what it writes to
	Name string           // of W
	Gap  func(int) string // the line that stands for so many lost ones in their place; may be nil
	most int              // texts in the queue

	mu       sync.Mutex
	filled   sync.Cond // the queue has got a text, or no more will come
	queue    [][]byte
	writing  []byte // what is left of the text being written
	missing  int    // lines lost since the last text queued
	lost     int    // lines that were not and will not be written
	progress uint64 // pieces written
	err      error  // of writing, not yet told
	closing  bool
	ended    chan struct{}
}

// New puts a spool before a writer. Close ends it.
func New(w io.Writer, name string) *Spool {
	s := &Spool{W: w, Name: name, most: mostTexts, ended: make(chan struct{})}
	s.filled.L = &s.mu
	go s.pump()
	return s
}

// Write implements io.Writer. Its error is that of an earlier text, told once.
func (s *Spool) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.untold()
	if len(s.queue) >= s.most || s.closing {
		s.missing += lineCount(b)
		s.lost += lineCount(b)
		return len(b), err
	}
	if s.missing > 0 && s.Gap != nil {
		s.queue = append(s.queue, []byte(s.Gap(s.missing)))
	}
	s.missing = 0
	s.queue = append(s.queue, bytes.Clone(b))
	s.filled.Signal()
	return len(b), err
}

// Busy reports whether something is still to be written: a progress line had better wait for the
// next one.
func (s *Spool) Busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue) > 0 || len(s.writing) > 0
}

// Last makes room for what comes at the end of a run, whatever waits, and returns the error that
// hasn't been told.
func (s *Spool) Last() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = int(^uint(0) >> 1)
	return s.untold()
}

// Lost is how many lines will never be written.
func (s *Spool) Lost() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// pump writes what is queued until Close.
func (s *Spool) pump() {
	defer close(s.ended)
	for {
		piece, ok := s.next()
		if !ok {
			return
		}
		_, err := s.W.Write(piece)
		s.wrote(piece, err)
	}
}

// next waits for a text and returns the next piece of it: whole lines, so that no rotation of a log
// splits one.
func (s *Spool) next() (piece []byte, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.writing) == 0 {
		if len(s.queue) > 0 {
			s.writing, s.queue[0] = s.queue[0], nil
			s.queue = s.queue[1:]
			continue
		}
		if s.closing {
			return nil, false
		}
		s.filled.Wait()
	}
	if len(s.writing) <= pieceBytes {
		return s.writing, true
	}
	end := bytes.LastIndexByte(s.writing[:pieceBytes], '\n') + 1
	if end == 0 {
		end = bytes.IndexByte(s.writing, '\n') + 1
	}
	if end == 0 {
		end = len(s.writing)
	}
	return s.writing[:end], true
}

func (s *Spool) wrote(piece []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing = s.writing[len(piece):]
	s.progress++
	if err != nil {
		s.lost += lineCount(piece)
		if s.err == nil {
			s.err = err
		}
	}
}

// Close writes what is queued. It gives up when the writer has taken nothing for so long, sooner once
// hard is closed; what was left then counts as lost. whole says that nothing was left. The error is one of
// writing that hasn't been told. Further calls change nothing.
func (s *Spool) Close(patience time.Duration, hard <-chan struct{}) (whole bool, err error) {
	s.mu.Lock()
	s.closing = true
	seen := s.progress
	s.filled.Signal()
	s.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case <-s.ended:
			return true, s.Last()
		case <-hard:
			hard, patience = nil, min(patience, hardPatience)
			timer.Reset(patience)
			continue
		case <-timer.C:
			s.mu.Lock()
			moved := s.progress != seen
			seen = s.progress
			s.mu.Unlock()
			if moved {
				timer.Reset(patience)
				continue
			}
		}
		return false, s.abandon()
	}
}

// abandon counts what was not written.
func (s *Spool) abandon() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost += lineCount(s.writing)
	for _, text := range s.queue {
		s.lost += lineCount(text)
	}
	s.queue = nil
	return s.untold()
}

// untold returns the error that hasn't been told, once. mu is held.
func (s *Spool) untold() error {
	err := s.err
	s.err = nil
	return err
}

// LostText says how many lines are missing, if any.
func (s *Spool) LostText() (text message.Message) {
	if n := s.Lost(); n > 0 {
		text = message.New("output-blocked", message.Count("n", n), message.Text("outlet", s.Name))
	}
	return text
}

// lineCount counts lines, one without an end included.
func lineCount(b []byte) int {
	n := bytes.Count(b, []byte{'\n'})
	if len(b) > 0 && b[len(b)-1] != '\n' {
		n++
	}
	return n
}
