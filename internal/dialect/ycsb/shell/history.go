package shell

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// mostLines is how many commands a history keeps.
const mostLines = 500

// history is a list of commands, the latest last. It is what term.Terminal asks for.
type history struct {
	file  string
	lines []string
}

// openHistory reads a history; a file that can't be read gives an empty one.
func openHistory(file string) *history {
	h := &history{file: file}
	if file == "" {
		return h
	}
	if data, err := os.ReadFile(file); err == nil {
		for _, line := range strings.Split(string(data), "\n") {
			h.Add(line)
		}
	}
	return h
}

// Add appends a command, unless it is empty or repeats the last.
func (h *history) Add(line string) {
	line = strings.TrimSpace(line)
	if line == "" || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return
	}
	h.lines = append(h.lines, line)
	if len(h.lines) > mostLines {
		h.lines = h.lines[1:]
	}
}

// Len is how many commands there are.
func (h *history) Len() int { return len(h.lines) }

// At is a command, 0 being the latest.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }

// save writes the history where only its owner can read it.
func (h *history) save() error {
	if h.file == "" {
		return nil
	}
	err := os.WriteFile(h.file, []byte(strings.Join(h.lines, "\n")+"\n"), 0o600)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}
