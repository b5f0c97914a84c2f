package loadtest

import (
	"errors"
	"fmt"
	"io"
	"time"

	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/report/spool"
)

// stderrPatience is how long Flush waits for standard error if another output has blocked. Usually both are the same
// terminal.
const stderrPatience = 2 * time.Second

// Outputs are the spools for the output of a run. Output must never block the run.
type Outputs struct {
	Out, Err *spool.Spool
	more     []*spool.Spool
}

// NewOutputs creates spools for standard output and standard error. The caller must call Flush at the end.
func NewOutputs(stdout, stderr io.Writer) *Outputs {
	return &Outputs{Out: spool.New(stdout, "standard output"), Err: spool.New(stderr, "standard error")}
}

// Add creates a spool for another writer.
func (o *Outputs) Add(w io.Writer, name string) *spool.Spool {
	s := spool.New(w, name)
	o.more = append(o.more, s)
	return s
}

// warnLostLines adds a warning to the record for each spool that lost lines during the load.
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

// Drain makes room on w for the final output. It returns an error if an earlier write failed.
func Drain(w io.Writer) error {
	if s, ok := w.(*spool.Spool); ok {
		if err := s.Last(); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return nil
}

// Settle waits for a limited time until what w was given is written, so that what follows on another stream comes after
// it.
func Settle(w io.Writer) {
	s, ok := w.(*spool.Spool)
	for end := time.Now().Add(stderrPatience); ok && s.Busy() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// Flush waits for a limited time until everything is written, and reports on standard error which lines were lost.
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
	// If standard error is blocked, there is nowhere left to report it.
	_, _ = o.Err.Close(patience, hard)
	return errors.Join(errs...)
}

// Say prints a final line. It waits for a limited time.
func Say(w io.Writer, text string) {
	s := spool.New(w, "")
	fmt.Fprintln(s, text)
	_, _ = s.Close(stderrPatience, nil)
}
