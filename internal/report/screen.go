package report

import (
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"brunt/internal/render/cell"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
)

// The timing of progress lines.
const (
	quietFor   = 2 * time.Second  // shorter work prints no progress
	plainEvery = 10 * time.Second // between lines without a terminal
	drawEvery  = 200 * time.Millisecond
)

// screen prints progress lines: one line that is redrawn on a terminal, or a line from time to time elsewhere. It is
// safe for concurrent use. Write errors are ignored, because progress must not end a run.
type screen struct {
	w io.Writer
	o Options

	mu    sync.Mutex
	drawn bool
}

// field is a part of a progress line.
type field struct {
	text string
	mark cell.Mark
}

// say returns a text in the reader's language, with arguments formatted by package units.
func (s *screen) say(english string, args ...any) string {
	for i, a := range args {
		if text, ok := a.(string); ok {
			args[i] = s.o.Language.Figure(text)
		}
	}
	return message.Label(s.o.Language, english, args...)
}

// every returns the time between lines.
func (s *screen) every() time.Duration {
	if s.o.Live {
		return drawEvery
	}
	return plainEvery
}

// draw replaces the previous line. Fields that don't fit are left out, the last ones first. A terminal that hasn't
// accepted the previous line gets none, because the line would be outdated when it appears.
func (s *screen) draw(fields []field) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w, ok := s.w.(interface{ Busy() bool }); ok && s.o.Live && w.Busy() {
		return
	}
	if !s.o.Live {
		_, _ = io.WriteString(s.w, s.join(fields, 0)+"\n")
		return
	}
	columns := s.o.columns()
	if s.o.Resize != nil {
		if w := s.o.Resize(); w > 0 {
			columns = w
		}
	}
	_, _ = io.WriteString(s.w, "\r"+s.join(fields, columns-1)+"\x1b[K")
	s.drawn = true
}

// join joins fields in at most n columns; 0 means no limit.
func (s *screen) join(fields []field, n int) string {
	var b strings.Builder
	used := 0
	for i, f := range fields {
		if f.text == "" {
			continue
		}
		w := cell.Width(f.text)
		if i > 0 && used > 0 {
			w += 2
		}
		if n > 0 && used+w > n {
			if used == 0 {
				b.WriteString(s.o.paint(cell.Cut(f.text, n), f.mark))
			}
			break
		}
		if used > 0 {
			b.WriteString("  ")
		}
		b.WriteString(s.o.paint(f.text, f.mark))
		used += w
	}
	return b.String()
}

// note prints a permanent line above the progress line.
func (s *screen) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	_, _ = io.WriteString(s.w, text+"\n")
}

// clear removes the progress line.
func (s *screen) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
}

func (s *screen) erase() {
	if s.drawn {
		_, _ = io.WriteString(s.w, "\r\x1b[K")
		s.drawn = false
	}
}

// Options describe how a report or progress looks. The zero value means plain English text, 100 columns wide, without a
// terminal.
type Options struct {
	Width    int  // columns; 80 to 140 are used, 0 means 100
	Color    bool // ANSI colours
	Language units.Language
	Path     string           // folder of the bundle, if there is one
	Live     bool             // redraw progress in place, for terminals
	Resize   func() int       // with Live: the current width, 0 if unknown; nil means Width
	Now      func() time.Time // the clock of progress; nil means time.Now
}

// OptionsFor returns options for f: its width and, if it is a terminal that isn't TERM=dumb, progress in place and,
// without NO_COLOR, colour. getenv is os.Getenv.
func OptionsFor(f *os.File, getenv func(string) string) Options {
	o := Options{Width: terminalWidth(f, getenv)}
	o.Live = term.IsTerminal(int(f.Fd())) && getenv("TERM") != "dumb"
	o.Color = o.Live && getenv("NO_COLOR") == ""
	o.Resize = func() int { return terminalWidth(f, getenv) }
	return o
}

func terminalWidth(f *os.File, getenv func(string) string) int {
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		return w
	}
	if w, err := strconv.Atoi(getenv("COLUMNS")); err == nil && w > 0 {
		return w
	}
	return 0
}

func (o Options) columns() int {
	if o.Width == 0 {
		return 100
	}
	return min(max(o.Width, 80), 140)
}

// Look returns the look of tables.
func (o Options) Look() cell.Look {
	return cell.Look{Columns: o.columns(), Color: o.Color, Language: o.Language}
}

// paint emphasizes s; on a terminal without colour it does nothing.
func (o Options) paint(s string, m cell.Mark) string { return o.Look().Paint(s, m) }

// badge paints s in the inverse of a mark's colour.
func (o Options) badge(s string, m cell.Mark) string {
	const inverse = "\x1b[1;7m"
	if !o.Color {
		return s
	}
	return inverse + o.paint(s, m) + "\x1b[0m"
}
