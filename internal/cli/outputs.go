package cli

import (
	"errors"
	"fmt"
	"io"
	"time"

	"brunt/internal/message"
	"brunt/internal/record"
	"brunt/internal/spool"
)

// stderrPatience is how long the end waits for standard error when another outlet has blocked: both
// are mostly one terminal.
const stderrPatience = 2 * time.Second

// outputs are the spools of a run: what it tells people must never stop it.
type outputs struct {
	*streams // with spools in place of out and err
	out, err *spool.Spool
	more     []*spool.Spool
}

// outputs returns the streams with spools before them. flush must be called in the end.
func (s *streams) outputs() *outputs {
	o := &outputs{out: spool.New(s.out, "standard output"), err: spool.New(s.err, "standard error")}
	copied := *s
	copied.out, copied.err = o.out, o.err
	o.streams = &copied
	return o
}

// add puts a spool before another writer.
func (o *outputs) add(w io.Writer, name string) *spool.Spool {
	s := spool.New(w, name)
	o.more = append(o.more, s)
	return s
}

// warnLostLines makes the record say which lines were lost while the load ran.
func (o *outputs) warnLostLines(run *record.Run) {
	for _, s := range append(o.more, o.out, o.err) {
		if text := s.LostText(); !text.IsZero() {
			run.Warnings = append(run.Warnings, record.Warning{
				ID: "output-blocked", Text: text,
				Remedy: message.New("output-blocked.remedy"),
			})
		}
	}
}

// drain makes room on w for what comes at the end. Its error is that of an earlier text.
func drain(w io.Writer) error {
	if s, ok := w.(*spool.Spool); ok {
		if err := s.Last(); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return nil
}

// flush waits a bounded time until everything is written, and says what wasn't.
func (o *outputs) flush(hard <-chan struct{}) error {
	var errs []error
	patience := spool.Patience
	o.err.Last()
	for _, s := range append(o.more, o.out) {
		whole, err := s.Close(spool.Patience, hard)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.Name, err))
		}
		if !whole {
			patience = stderrPatience
		}
		if text := s.LostText(); !text.IsZero() {
			fmt.Fprintf(o.err, "brunt: note: %s\n", text)
		}
	}
	// Nobody is left to tell of what standard error didn't take.
	_, _ = o.err.Close(patience, hard)
	return errors.Join(errs...)
}

// say prints a last line, for which it waits a bounded time.
func say(w io.Writer, text string) {
	s := spool.New(w, "")
	fmt.Fprintln(s, text)
	_, _ = s.Close(stderrPatience, nil)
}
