package report

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/term"

	"brunt/internal/report/cell"
	"brunt/internal/units"
)

// Options are how a report or progress looks. The zero value is plain English text 100 columns wide
// for what isn't a terminal.
type Options struct {
	Width    int              // columns; 80 to 140 are used, 0 means 100
	Color    bool             // ANSI colours
	Language units.Language   //
	Path     string           // the bundle's folder, if there is one
	Live     bool             // progress is drawn in place, as terminals can
	Resize   func() int       // Live: the width now, 0 if unknown; nil means Width
	Now      func() time.Time // the clock of progress; nil means time.Now
}

// OptionsFor returns what suits f: its width and, if it is a terminal that isn't TERM=dumb,
// progress in place and, without NO_COLOR, colour. getenv is os.Getenv.
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

// Look is how tables look.
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
