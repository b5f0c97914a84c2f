package loadtest

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

// Outputs are the spools of a run: what it tells people must never stop it.
type Outputs struct {
	Out, Err *spool.Spool
	more     []*spool.Spool
}

// NewOutputs puts spools before standard output and standard error. Flush must be called in the end.
func NewOutputs(stdout, stderr io.Writer) *Outputs {
	return &Outputs{Out: spool.New(stdout, "standard output"), Err: spool.New(stderr, "standard error")}
}

// Add puts a spool before another writer.
func (o *Outputs) Add(w io.Writer, name string) *spool.Spool {
	s := spool.New(w, name)
	o.more = append(o.more, s)
	return s
}

// warnLostLines makes the record say which lines were lost while the load ran.
func (o *Outputs) warnLostLines(run *record.Run) {
	for _, s := range append(o.more, o.Out, o.Err) {
		if text := s.LostText(); !text.IsZero() {
			run.Warnings = append(run.Warnings, record.Warning{
				ID: "output-blocked", Text: text,
				Remedy: message.New("output-blocked.remedy"),
			})
		}
	}
}

// Drain makes room on w for what comes at the end. Its error is that of an earlier text.
func Drain(w io.Writer) error {
	if s, ok := w.(*spool.Spool); ok {
		if err := s.Last(); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return nil
}

// Flush waits a bounded time until everything is written, and says what wasn't.
func (o *Outputs) Flush(hard <-chan struct{}) error {
	var errs []error
	patience := spool.Patience
	o.Err.Last()
	for _, s := range append(o.more, o.Out) {
		whole, err := s.Close(spool.Patience, hard)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.Name, err))
		}
		if !whole {
			patience = stderrPatience
		}
		if text := s.LostText(); !text.IsZero() {
			fmt.Fprintf(o.Err, "brunt: note: %s\n", text)
		}
	}
	// Nobody is left to tell of what standard error didn't take.
	_, _ = o.Err.Close(patience, hard)
	return errors.Join(errs...)
}

// Say prints a last line, for which it waits a bounded time.
func Say(w io.Writer, text string) {
	s := spool.New(w, "")
	fmt.Fprintln(s, text)
	_, _ = s.Close(stderrPatience, nil)
}
