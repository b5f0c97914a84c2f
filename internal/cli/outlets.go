package cli

import (
	"errors"
	"fmt"
	"io"
	"time"

	"brunt/internal/record"
)

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

// summary makes room on w for what comes at the end. Its error is that of an earlier text.
func summary(w io.Writer) error {
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
