package report

import (
	"os"
	"strconv"

	"golang.org/x/term"
)

// Options are how a report looks. The zero value is plain text 100 columns wide.
type Options struct {
	Width int    // columns; 80 to 140 are used, 0 means 100
	Color bool   // ANSI colours
	Path  string // the bundle's folder, if there is one
}

// OptionsFor returns what suits f: its width and, if it is a terminal and neither NO_COLOR nor
// TERM=dumb is set, colour. getenv is os.Getenv.
func OptionsFor(f *os.File, getenv func(string) string) Options {
	o := Options{Width: terminalWidth(f, getenv)}
	o.Color = term.IsTerminal(int(f.Fd())) && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
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

// style is a way to emphasize; on a terminal without colour it does nothing.
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	cyan   style = "36"
	badge  style = "1;7"
)

func (o Options) paint(s string, st style) string {
	if !o.Color || st == plain || s == "" {
		return s
	}
	return "\x1b[" + string(st) + "m" + s + "\x1b[0m"
}
