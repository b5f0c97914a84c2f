package scale

import (
	"bytes"
	"encoding/binary"
	"sync"

	"brunt/internal/measure"
)

// Histograms are most of a line of intervals.ndjson, and expensive to decode there. So a worker sends those of its last
// intervals a second time, packed (record.Packer), and the live view decodes these. Where they are missing, because the
// line was sent late or waits for long, the live view decodes the line.

// mostPacks is how many intervals a worker keeps packed until the coordinator has them.
const mostPacks = 4

// mostPacked bounds the packed histograms that wait at the coordinator, bytes: those of 4 000 workers' intervals, or a
// few intervals of 1 000 workers.
const mostPacked = 128 << 20

// pack is an interval that a worker has packed.
type pack struct {
	number    uint64 // counts the worker's intervals
	beginning []byte // of the interval's line
	data      []byte
}

// pack keeps the histograms of an interval until its line is sent.
func (w *Worker) pack(iv *measure.Interval) {
	p := pack{beginning: w.packer.AppendBeginning(nil, iv), data: w.packer.AppendPacked(nil, iv)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.packed++
	p.number = w.packed
	if len(w.packs) == mostPacks {
		w.packs = append(w.packs[:0], w.packs[1:]...)
	}
	w.packs = append(w.packs, p)
}

// packsOf returns the packed histograms of some lines, in the form of Report.Packed, and the number of the last pack
// among them.
func (w *Worker) packsOf(lines []byte) (packed []byte, last uint64) {
	w.mu.Lock()
	packs := append([]pack(nil), w.packs...)
	w.mu.Unlock()
	i := 0
	for line := range bytes.Lines(lines) {
		for k, p := range packs {
			if bytes.HasPrefix(line, p.beginning) {
				packed = appendPacked(packed, i, p.data)
				last, packs = p.number, packs[k+1:]
				break
			}
		}
		i++
	}
	return packed, last
}

// forget drops the packs that the coordinator has got.
func (w *Worker) forget(last uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.packs) > 0 && w.packs[0].number <= last {
		w.packs = append(w.packs[:0], w.packs[1:]...)
	}
}

// appendPacked appends the packed histograms of a report's line number i.
func appendPacked(b []byte, i int, data []byte) []byte {
	b = binary.AppendUvarint(b, uint64(i))
	return append(binary.AppendUvarint(b, uint64(len(data))), data...)
}

// eachPacked calls f with what appendPacked has appended, until something isn't in order.
func eachPacked(b []byte, lines int, f func(i int, data []byte)) {
	for next := uint64(0); len(b) > 0; {
		i, n := binary.Uvarint(b)
		if n <= 0 || i < next || i >= uint64(lines) {
			return
		}
		b = b[n:]
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return
		}
		f(int(i), b[n:n+int(size)])
		b, next = b[n+int(size):], i+1
	}
}

// waiting are the packed histograms of a line that the live view hasn't read yet.
type waiting struct {
	line int // number in the worker's intervals
	data *bytes.Buffer
}

// packedBuffers are buffers for them.
var packedBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// received returns copies of the packed histograms of a report's lines.
func received(said *Report, lines int) (all []waiting) {
	eachPacked(said.Packed, lines, func(i int, data []byte) {
		b := packedBuffers.Get().(*bytes.Buffer)
		b.Reset()
		b.Write(data)
		all = append(all, waiting{said.From + i, b})
	})
	return all
}

// hold keeps packed histograms for the live view as far as there is room. c.mu is held.
func (c *Coordinator) hold(m *member, all []waiting) {
	for _, p := range all {
		if m.over || c.packedB+p.data.Len() > mostPacked {
			packedBuffers.Put(p.data)
			continue
		}
		c.packedB += p.data.Len()
		m.packed = append(m.packed, p)
	}
}

// next is what is held for a line of a worker; nil if that is nothing. What is held for earlier lines is released. The
// caller must release what it gets. c.mu is held.
func (c *Coordinator) next(m *member, line int) *bytes.Buffer {
	for len(m.packed) > 0 && m.packed[0].line <= line {
		p := m.packed[0]
		m.packed = append(m.packed[:0], m.packed[1:]...)
		c.packedB -= p.data.Len()
		if p.line == line {
			return p.data
		}
		packedBuffers.Put(p.data)
	}
	return nil
}

// release drops what is held for a worker whose lines aren't read any more.
func (c *Coordinator) release(m *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(m.packed) > 0 {
		if b := c.next(m, m.packed[0].line); b != nil {
			packedBuffers.Put(b)
		}
	}
}
