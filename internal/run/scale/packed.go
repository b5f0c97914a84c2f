package scale

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"

	"brunt/internal/measure"
	"brunt/internal/record"
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

// packs are the packed histograms of the intervals that the coordinator doesn't have.
type packs struct {
	packer record.Packer // used by add, which one goroutine calls

	mu    sync.Mutex
	all   []pack
	count uint64 // number of intervals packed so far
}

// add keeps the packed histograms of an interval until its line is sent. It returns the interval's number, from 0.
func (k *packs) add(iv *measure.Interval) (number int) {
	p := pack{beginning: k.packer.AppendBeginning(nil, iv), data: k.packer.AppendPacked(nil, iv)}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.count++
	p.number = k.count
	if len(k.all) == mostPacks {
		k.all = append(k.all[:0], k.all[1:]...)
	}
	k.all = append(k.all, p)
	return int(p.number) - 1
}

// of returns the packed histograms of some lines, in the form of Report.Packed, and the number of the last of
// their packs.
func (k *packs) of(lines []byte) (packed []byte, last uint64) {
	k.mu.Lock()
	packs := slices.Clone(k.all)
	k.mu.Unlock()
	i := 0
	for line := range bytes.Lines(lines) {
		for at, p := range packs {
			if bytes.HasPrefix(line, p.beginning) {
				packed = appendPacked(packed, i, p.data)
				last, packs = p.number, packs[at+1:]
				break
			}
		}
		i++
	}
	return packed, last
}

// forget drops the packs that the coordinator has received.
func (k *packs) forget(last uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.all) > 0 && k.all[0].number <= last {
		k.all = append(k.all[:0], k.all[1:]...)
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
