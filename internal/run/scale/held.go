package scale

import (
	"bytes"
	"os"
	"path/filepath"

	"brunt/internal/measure"
	"brunt/internal/record"
)

// heldLines are the lines of intervals that a worker keeps in memory until the coordinator has them, because its own
// disk is full. From the first such interval on, all are held: the file may get its later lines in another form, in
// which one line stands for several intervals.
type heldLines struct {
	on    bool
	first int      // number of the first interval that was held
	from  int      // number of lines[0]
	lines [][]byte // without those that the coordinator has
	size  int64    // of the file, when the last interval was in it
}

// Holds reports whether intervals were missing from the worker's disk when they ended, so that the coordinator's copy
// is the complete one.
func (w *Worker) Holds() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.held.on
}

// hold keeps the line of an interval in memory unless the bundle has written it to disk. number is the interval's.
func (w *Worker) hold(iv *measure.Interval, number int) error {
	if !w.Holds() && w.written() {
		return nil
	}
	line, err := w.packer.Line(iv)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	h := &w.held
	if !h.on {
		h.on, h.first, h.from = true, number, number
	}
	h.lines = append(h.lines, bytes.Clone(line))
	return nil
}

// written reports whether the file of intervals has grown by whole lines since the last call.
func (w *Worker) written() bool {
	file, err := os.Open(filepath.Join(w.Dir, record.IntervalsFile))
	if err != nil {
		return os.IsNotExist(err) // there is no bundle
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() <= w.held.size {
		return false
	}
	w.held.size = info.Size()
	last := []byte{0}
	_, err = file.ReadAt(last, info.Size()-1)
	return err == nil && last[0] == '\n'
}

// linesFrom returns the lines of intervals from a number on, up to the size limit of a report: those on disk, and then
// those in memory.
func (w *Worker) linesFrom(from int) []byte {
	w.mu.Lock()
	on, first := w.held.on, w.held.first
	w.mu.Unlock()
	if !on {
		return w.lines.from(from, -1)
	}
	var lines []byte
	if from < first {
		lines = w.lines.from(from, first)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	h := &w.held
	at := from + countLines(lines)
	if at < h.from { // the file lacks them
		return lines
	}
	for i := at - h.from; i < len(h.lines) && len(lines) < mostLines; i++ {
		lines = append(lines, h.lines[i]...)
	}
	return lines
}

// drop forgets lines that the coordinator has: those before a number.
func (h *heldLines) drop(have int) {
	n := min(max(have-h.from, 0), len(h.lines))
	h.lines = append(h.lines[:0], h.lines[n:]...)
	h.from += n
}
