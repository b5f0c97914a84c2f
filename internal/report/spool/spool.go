// Package spool queues texts for writers that may block, so that a run never waits for the reader of its output.
package spool

import (
	"bytes"
	"cmp"
	"io"
	"sync"
	"time"

	"brunt/internal/render/message"
)

const (
	// mostTexts is the most texts that may wait in the queue.
	mostTexts = 4096
	// pieceBytes is how much is written at once, in bytes. It is adjusted to the end of a line.
	pieceBytes = 4096
	// Patience is how long the end of a run waits for a writer that makes no progress.
	Patience = 10 * time.Second
	// hardPatience replaces Patience after a second interrupt: it lets a writer that isn't blocked finish.
	hardPatience = 200 * time.Millisecond
)

// Spool buffers texts for a writer that may block forever, such as a terminal held with Ctrl-S or a pipe that nobody
// reads. Write never blocks: it queues the text. If the queue is full, the text is dropped and its lines are counted.
// It is safe for concurrent use.
type Spool struct {
	W    io.Writer        // the writer behind the queue
	Name string           // name of W in messages
	Gap  func(int) string // returns the line that is written in place of that many lost lines; may be nil
	most int              // texts that the queue may hold

	mu       sync.Mutex
	filled   sync.Cond // signals that a text was queued, or that closing was set
	queue    [][]byte
	writing  []byte // what remains of the text being written
	missing  int    // lines lost since the last text queued
	lost     int    // lines that were not written and never will be
	progress uint64 // pieces written
	err      error  // first error of writing that no caller has received yet
	closing  bool
	ended    chan struct{}
}

// New returns a spool before a writer, and starts its goroutine. Close ends it.
func New(w io.Writer, name string) *Spool {
	s := &Spool{W: w, Name: name, most: mostTexts, ended: make(chan struct{})}
	s.filled.L = &s.mu
	go s.pump()
	return s
}

// Write implements io.Writer. The error is one of writing an earlier text; each error is returned once.
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

// Busy reports whether something is still to be written. Callers then skip a progress line.
func (s *Spool) Busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue) > 0 || len(s.writing) > 0
}

// Wait waits until everything is written, so that what another stream shows next comes after it on a terminal. It waits
// no longer than patience.
func (s *Spool) Wait(patience time.Duration) {
	for end := time.Now().Add(patience); s.Busy() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// Last removes the limit of the queue, so that the texts at the end of a run aren't dropped. It returns the error that
// no caller has received yet.
func (s *Spool) Last() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = int(^uint(0) >> 1)
	return s.untold()
}

// Lost returns how many lines were not written and never will be.
func (s *Spool) Lost() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// pump writes the queued texts until Close.
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

// next waits for a text and returns the next piece of it. A piece consists of whole lines, so that a log rotation
// doesn't split one. ok is false when the spool is closed and the queue is empty.
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
		s.err = cmp.Or(s.err, err)
	}
}

// Close writes what is queued. It gives up if the writer makes no progress for the duration of patience, or for
// hardPatience once hard is closed; the lines that remain then count as lost. whole reports whether everything was
// written. The error is one of writing that no caller has received yet. Further calls have no effect.
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

// abandon counts the lines that remain as lost.
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

// untold returns the error that no caller has received yet, and clears it. mu is held.
func (s *Spool) untold() error {
	err := s.err
	s.err = nil
	return err
}

// LostText returns a message about the lost lines, the zero message if there are none.
func (s *Spool) LostText() (text message.Message) {
	if n := s.Lost(); n > 0 {
		text = message.New("output-blocked", message.Count("n", n), message.Text("outlet", s.Name))
	}
	return text
}

// lineCount counts lines, including a last one without a line end.
func lineCount(b []byte) int {
	n := bytes.Count(b, []byte{'\n'})
	if len(b) > 0 && b[len(b)-1] != '\n' {
		n++
	}
	return n
}
