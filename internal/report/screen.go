package report

import (
	"io"
	"strings"
	"sync"
	"time"
)

// What progress lines keep to.
const (
	quietFor   = 2 * time.Second  // shorter work prints no progress
	plainEvery = 10 * time.Second // between lines where there is no terminal
	drawEvery  = 200 * time.Millisecond
)

// screen is where progress lines go: one line drawn again and again on a terminal, a line now and
// then elsewhere. It is safe for concurrent use. Errors of writing are ignored: progress must
// not end a run.
type screen struct {
	w io.Writer
	o Options

	mu    sync.Mutex
	drawn bool
}

// every is how long to wait between lines.
func (s *screen) every() time.Duration {
	if s.o.Live {
		return drawEvery
	}
	return plainEvery
}

// draw shows a line in place of the one before. fields that don't fit are left out, the last
// ones first. A terminal that hasn't taken the line before gets none: it would be old when it came.
func (s *screen) draw(fields []cell) {
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

// join puts fields beside each other in at most n columns; 0 means any number.
func (s *screen) join(fields []cell, n int) string {
	var b strings.Builder
	used := 0
	for i, f := range fields {
		if f.text == "" {
			continue
		}
		w := displayWidth(f.text)
		if i > 0 && used > 0 {
			w += 2
		}
		if n > 0 && used+w > n {
			if used == 0 {
				b.WriteString(s.o.paint(cut(f.text, n), f.style))
			}
			break
		}
		if used > 0 {
			b.WriteString("  ")
		}
		b.WriteString(s.o.paint(f.text, f.style))
		used += w
	}
	return b.String()
}

// note prints a line that stays, above the progress line.
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
