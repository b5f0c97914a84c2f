package scale

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"

	"brunt/internal/measure"
	"brunt/internal/record"
)

// heldLines are the lines of intervals that a worker keeps in memory until the coordinator has them, because its own
// disk is full. From the first such interval on, all are held: the file may get its later lines in another form, in
// which one line stands for several intervals.
type heldLines struct {
	size int64 // of the file, when the last interval was in it; used by hold only

	mu    sync.Mutex
	on    bool
	first int      // number of the first interval that was held
	from  int      // number of lines[0]
	lines [][]byte // without those that the coordinator has
}

// Holds reports whether intervals were missing from the worker's disk when they ended, so that the coordinator's copy
// is the complete one.
func (w *Worker) Holds() bool {
	on, _ := w.held.since()
	return on
}

// since returns the number of the first interval that was held, if any was.
func (h *heldLines) since() (on bool, first int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.on, h.first
}

// hold keeps the line of an interval in memory unless the bundle has written it to disk. number is the interval's.
func (w *Worker) hold(iv *measure.Interval, number int) error {
	if !w.Holds() && w.written() {
		return nil
	}
	line, err := w.packs.packer.Line(iv)
	if err != nil {
		return err
	}
	h := &w.held
	h.mu.Lock()
	defer h.mu.Unlock()
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
	on, first := w.held.since()
	if !on {
		return w.lines.from(from, -1)
	}
	var lines []byte
	if from < first {
		lines = w.lines.from(from, first)
	}
	return w.held.add(lines, from+countLines(lines))
}

// add adds the held lines from a number on to lines, up to the size limit of a report.
func (h *heldLines) add(lines []byte, at int) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
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
	h.mu.Lock()
	defer h.mu.Unlock()
	n := min(max(have-h.from, 0), len(h.lines))
	h.lines = append(h.lines[:0], h.lines[n:]...)
	h.from += n
}
