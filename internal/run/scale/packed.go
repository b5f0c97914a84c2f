package scale

import (
	"bytes"
	"encoding/binary"
	"sync"

	"brunt/internal/measure"
)

// Histograms are most of a line of intervals.ndjson and expensive to decode. So a worker sends the histograms of its
// last intervals a second time, packed (record.Packer), and the live view decodes these. If they are missing, because
// the line was sent late or has waited long, the live view decodes the line.

// mostPacks is the number of intervals whose packed histograms a worker keeps until the coordinator has them.
const mostPacks = 4

// mostPacked limits the size in bytes of the packed histograms that wait at the coordinator. It is enough for one
// interval of 4 000 workers, or for several of 1 000 workers.
const mostPacked = 128 << 20

// pack is an interval with packed histograms.
type pack struct {
	number    uint64 // number of the interval at this worker
	beginning []byte // beginning of the interval's line
	data      []byte
}

// pack keeps the packed histograms of an interval until its line is sent. It returns the interval's number, from 0.
func (w *Worker) pack(iv *measure.Interval) (number int) {
	p := pack{beginning: w.packer.AppendBeginning(nil, iv), data: w.packer.AppendPacked(nil, iv)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.packed++
	p.number = w.packed
	if len(w.packs) == mostPacks {
		w.packs = append(w.packs[:0], w.packs[1:]...)
	}
	w.packs = append(w.packs, p)
	return int(p.number) - 1
}

// packsOf returns the packed histograms of some lines, in the form of Report.Packed, and the number of the last of
// their packs.
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

// forget drops the packs that the coordinator has received.
func (w *Worker) forget(last uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.packs) > 0 && w.packs[0].number <= last {
		w.packs = append(w.packs[:0], w.packs[1:]...)
	}
}

// appendPacked appends the packed histograms of line number i of a report.
func appendPacked(b []byte, i int, data []byte) []byte {
	b = binary.AppendUvarint(b, uint64(i))
	return append(binary.AppendUvarint(b, uint64(len(data))), data...)
}

// eachPacked calls f with the data of each appendPacked, until it finds invalid data.
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

// waiting is the packed histograms of a line that the live view hasn't read yet.
type waiting struct {
	line int // number among the worker's intervals
	data *bytes.Buffer
}

// packedBuffers are buffers for packed histograms.
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

// hold keeps packed histograms for the live view, up to mostPacked. The caller holds c.mu.
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

// next returns the packed histograms of a worker's line, or nil if there are none, and releases those of earlier lines.
// The caller must release the result, and holds c.mu.
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

// release drops the packed histograms of a worker whose lines are no longer read.
func (c *Coordinator) release(m *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(m.packed) > 0 {
		if b := c.next(m, m.packed[0].line); b != nil {
			packedBuffers.Put(b)
		}
	}
}
