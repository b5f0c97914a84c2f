package scale

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"brunt/internal/record"
)

// inbox receives the bundle of one worker, and passes its intervals on to the live view.
type inbox struct {
	budget  *atomic.Int64 // bytes of packed histograms that wait in all inboxes
	writing sync.Mutex    // held while the file of intervals is written

	mu       sync.Mutex
	home     string    // folder of the bundle
	moved    bool      // home is a temporary folder, since the disk of the other one is full
	told     bool      // the user knows that
	lines    int       // number of intervals that have been received
	readable int64     // bytes of the received intervals that the live view may read
	passed   int64     // bytes of these that the live view has read
	over     bool      // the live view expects no more intervals
	packed   []waiting // packed histograms for the live view, in the order of their lines

	buffer []byte // of the live view
}

func (in *inbox) open(folder string, budget *atomic.Int64) {
	in.home, in.budget = folder, budget
}

// folder returns the folder of the worker's bundle.
func (in *inbox) folder() string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.home
}

// leaves returns where the bundle has been moved to, once; "" if it hasn't.
func (in *inbox) leaves() string {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.moved || in.told {
		return ""
	}
	in.told = true
	return in.home
}

// file returns the file of the received intervals.
func (in *inbox) file() string { return filepath.Join(in.folder(), record.IntervalsFile) }

// move moves the bundle to a temporary folder if err says that its disk is full and the folder is on another disk, and
// reports whether it has. The caller must hold in.writing.
func (in *inbox) move(err error) bool {
	if in.moved || !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return false
	}
	dir, err := os.MkdirTemp("", "brunt-worker-")
	if err != nil {
		return false
	}
	if sameDisk(dir, in.folder()) || os.CopyFS(dir, os.DirFS(in.folder())) != nil {
		_ = os.RemoveAll(dir)
		return false
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.home, in.moved = dir, true
	return true
}

// have returns the number of intervals that have been received.
func (in *inbox) have() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.lines
}

// live returns how many bytes the live view may read, and whether there will be no more.
func (in *inbox) live() (bytes int64, over bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.readable, in.over
}

// behind reports whether the live view has not read all that it may read.
func (in *inbox) behind() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.passed != in.readable
}

// close makes the live view expect no more intervals.
func (in *inbox) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.over = true
}

// receive appends the lines of a report, unless another report has already done so.
func (in *inbox) receive(said *Report) error {
	if len(said.Lines) == 0 || said.From != in.have() {
		return nil
	}
	in.writing.Lock()
	defer in.writing.Unlock()
	if said.From != in.have() {
		return nil
	}
	size, err := in.append(said.Lines)
	if err != nil && in.move(err) {
		size, err = in.append(said.Lines)
	}
	if err != nil {
		return err
	}
	lines := countLines(said.Lines)
	packed := received(said, lines)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.lines += lines
	in.hold(packed)
	if !in.over {
		in.readable = size
	}
	return nil
}

// append appends lines to the file, and returns its size.
func (in *inbox) append(lines []byte) (size int64, err error) {
	file, err := os.OpenFile(in.file(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return 0, err
	}
	before, err := file.Seek(0, io.SeekEnd)
	if err == nil {
		if _, err = file.Write(lines); err != nil {
			err = errors.Join(err, file.Truncate(before)) // an incomplete line would spoil the next one
		}
	}
	return before + int64(len(lines)), errors.Join(err, file.Close())
}

// replace replaces the received intervals by the worker's complete file, and counts its lines. Lines that are still
// sent aren't appended.
func (in *inbox) replace(from, to string) error {
	in.writing.Lock()
	defer in.writing.Unlock()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.Rename(from, to)
	}
	if err != nil {
		return err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.lines = countLines(text)
	if !in.over {
		in.readable = int64(bytes.LastIndexByte(text, '\n') + 1)
	}
	return nil
}

// reread makes the live view read all received intervals again, from the first. It removes an incomplete last line,
// which the worker sends again.
func (in *inbox) reread() error {
	file := in.file()
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(text, '\n') + 1
	if whole < len(text) {
		if err := os.Truncate(file, int64(whole)); err != nil {
			return err
		}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.lines, in.readable = countLines(text[:whole]), int64(whole)
	return nil
}

// chunk is how many bytes of a worker's intervals the live view reads at a time; a longer line is read whole.
const chunk = 64 << 10

// pass passes on lines of the file from the offset from, and not beyond to; number is the number of the first. It
// returns their size and number.
func (in *inbox) pass(from, to int64, number int, f func(line, packed []byte) error) (size int64, lines int,
	err error) {
	text, err := wholeLines(in.file(), from, to, in.buffer)
	if err != nil {
		return 0, 0, err
	}
	in.buffer = text
	for line := range bytes.Lines(text) {
		in.mu.Lock()
		in.passed += int64(len(line))
		held := in.next(number + lines)
		in.mu.Unlock()
		lines++
		if err := pass(line, held, f); err != nil {
			return 0, 0, err
		}
	}
	return int64(len(text)), lines, nil
}

// pass calls f with a line and its packed histograms, if held isn't nil, and then releases held.
func pass(line []byte, held *bytes.Buffer, f func(line, packed []byte) error) error {
	if held == nil {
		return f(line, nil)
	}
	defer packedBuffers.Put(held)
	return f(line, held.Bytes())
}

// wholeLines reads whole lines of a file from the offset from, and not beyond to: up to chunk bytes, or one line if
// that is longer. There must be a whole line between the offsets. The result uses the memory of buffer.
func wholeLines(path string, from, to int64, buffer []byte) ([]byte, error) {
	if to < from {
		return nil, fmt.Errorf("%s has become shorter during the load", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	for size := min(to-from, chunk); ; size = min(to-from, 2*size) {
		buffer = slices.Grow(buffer[:0], int(size))[:size]
		if _, err := file.ReadAt(buffer, from); err != nil {
			return nil, err
		}
		if whole := bytes.LastIndexByte(buffer, '\n') + 1; whole > 0 || size == to-from {
			return buffer[:whole], nil
		}
	}
}

// hold keeps packed histograms for the live view, up to mostPacked in all inboxes. The caller holds in.mu.
func (in *inbox) hold(all []waiting) {
	for _, p := range all {
		n := int64(p.data.Len())
		if in.budget.Add(n) <= mostPacked && !in.over {
			in.packed = append(in.packed, p)
			continue
		}
		in.budget.Add(-n)
		packedBuffers.Put(p.data)
	}
}

// next returns the packed histograms of a line, or nil if there are none, and releases those of earlier lines. The
// caller must release the result, and holds in.mu.
func (in *inbox) next(line int) *bytes.Buffer {
	for len(in.packed) > 0 && in.packed[0].line <= line {
		p := in.packed[0]
		in.packed = append(in.packed[:0], in.packed[1:]...)
		in.budget.Add(-int64(p.data.Len()))
		if p.line == line {
			return p.data
		}
		packedBuffers.Put(p.data)
	}
	return nil
}

// release drops the packed histograms when the lines are no longer read.
func (in *inbox) release() {
	in.mu.Lock()
	defer in.mu.Unlock()
	for len(in.packed) > 0 {
		if b := in.next(in.packed[0].line); b != nil {
			packedBuffers.Put(b)
		}
	}
}

// countLines returns the number of complete lines in data.
func countLines(data []byte) int { return bytes.Count(data, []byte("\n")) }
