package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"brunt/internal/record"
)

const (
	// spoolTexts is how many reports may wait for a writer that doesn't take them.
	spoolTexts = 4096
	// spoolPiece is how much is written at once, in bytes, up to the end of a line.
	spoolPiece = 4096
	// spoolPatience is how long the end of a run waits for a writer that takes nothing.
	spoolPatience = 10 * time.Second
	// hardPatience is the same after a second interrupt: what is taken at once is still written.
	hardPatience = 200 * time.Millisecond
)

// spool stands before a writer for people, which may block for ever: a terminal held with Ctrl-S, a
// pipe that nobody reads. Write never waits. What can't be written yet is queued in order, and what
// the queue has no room for is counted. It is safe for concurrent use.
type spool struct {
	w    io.Writer
	name string           // of what it writes to
	most int              // texts in the queue
	gap  func(int) string // the line that stands for so many lost ones in their place; may be nil

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

func newSpool(w io.Writer, name string) *spool {
	s := &spool{w: w, name: name, most: spoolTexts, ended: make(chan struct{})}
	s.filled.L = &s.mu
	go s.pump()
	return s
}

// Write implements io.Writer. Its error is that of an earlier text, told once.
func (s *spool) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.untold()
	if len(s.queue) >= s.most || s.closing {
		s.missing += lineCount(b)
		s.lost += lineCount(b)
		return len(b), err
	}
	if s.missing > 0 && s.gap != nil {
		s.queue = append(s.queue, []byte(s.gap(s.missing)))
	}
	s.missing = 0
	s.queue = append(s.queue, bytes.Clone(b))
	s.filled.Signal()
	return len(b), err
}

// Busy reports whether something is still to be written: a progress line had better wait for the
// next one.
func (s *spool) Busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue) > 0 || len(s.writing) > 0
}

// last makes room for what comes at the end of a run, whatever waits, and returns the error that
// hasn't been told.
func (s *spool) last() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = int(^uint(0) >> 1)
	return s.untold()
}

// Lost is how many lines will never be written.
func (s *spool) Lost() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// pump writes what is queued until Close.
func (s *spool) pump() {
	defer close(s.ended)
	for {
		piece, ok := s.next()
		if !ok {
			return
		}
		_, err := s.w.Write(piece)
		s.wrote(piece, err)
	}
}

// next waits for a text and returns the next piece of it: whole lines, so that no rotation of a log
// splits one.
func (s *spool) next() (piece []byte, ok bool) {
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
	if len(s.writing) <= spoolPiece {
		return s.writing, true
	}
	end := bytes.LastIndexByte(s.writing[:spoolPiece], '\n') + 1
	if end == 0 {
		end = bytes.IndexByte(s.writing, '\n') + 1
	}
	if end == 0 {
		end = len(s.writing)
	}
	return s.writing[:end], true
}

func (s *spool) wrote(piece []byte, err error) {
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
func (s *spool) Close(patience time.Duration, hard <-chan struct{}) (whole bool, err error) {
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
			return true, s.last()
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
func (s *spool) abandon() error {
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
func (s *spool) untold() error {
	err := s.err
	s.err = nil
	return err
}

// lostText says how many lines are missing; "" if none.
func (s *spool) lostText() string {
	n := s.Lost()
	if n == 0 {
		return ""
	}
	lines := "lines were"
	if n == 1 {
		lines = "line was"
	}
	return fmt.Sprintf("%d report %s not printed: %s didn't take them", n, lines, s.name)
}

// lineCount counts lines, one without an end included.
func lineCount(b []byte) int {
	n := bytes.Count(b, []byte{'\n'})
	if len(b) > 0 && b[len(b)-1] != '\n' {
		n++
	}
	return n
}

// stderrPatience is how long the end waits for standard error when another outlet has blocked: both
// are mostly one terminal.
const stderrPatience = 2 * time.Second

// outlets are the spools of a run: what it tells people must never stop it.
type outlets struct {
	*streams // with spools in place of out and err
	out, err *spool
	more     []*spool
}

// outlets returns the streams with spools before them. settle must be called in the end.
func (s *streams) outlets() *outlets {
	o := &outlets{out: newSpool(s.out, "standard output"), err: newSpool(s.err, "standard error")}
	copied := *s
	copied.out, copied.err = o.out, o.err
	o.streams = &copied
	return o
}

// add puts a spool before another writer.
func (o *outlets) add(w io.Writer, name string) *spool {
	s := newSpool(w, name)
	o.more = append(o.more, s)
	return s
}

// confess makes the record say which lines were lost while the load ran.
func (o *outlets) confess(run *record.Run) {
	for _, s := range append(o.more, o.out, o.err) {
		if text := s.lostText(); text != "" {
			run.Warnings = append(run.Warnings, record.Warning{
				ID: "output-blocked", Text: text,
				Remedy: "read the lines as they come; the record has every interval",
			})
		}
	}
}

// drain makes room on w for what comes at the end. Its error is that of an earlier text.
func drain(w io.Writer) error {
	if s, ok := w.(*spool); ok {
		if err := s.last(); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// settle waits a bounded time until everything is written, and says what wasn't.
func (o *outlets) settle(hard <-chan struct{}) error {
	var errs []error
	patience := spoolPatience
	o.err.last()
	for _, s := range append(o.more, o.out) {
		whole, err := s.Close(spoolPatience, hard)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
		}
		if !whole {
			patience = stderrPatience
		}
		if text := s.lostText(); text != "" {
			fmt.Fprintf(o.err, "brunt: note: %s\n", text)
		}
	}
	// Nobody is left to tell of what standard error didn't take.
	_, _ = o.err.Close(patience, hard)
	return errors.Join(errs...)
}

// say prints a last line, for which it waits a bounded time.
func say(w io.Writer, text string) {
	s := newSpool(w, "")
	fmt.Fprintln(s, text)
	_, _ = s.Close(stderrPatience, nil)
}
