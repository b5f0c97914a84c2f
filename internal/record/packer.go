package record

import (
	"encoding/binary"
	"strconv"

	"brunt/internal/measure"
)

// Packer encodes the histograms of intervals in a form that is decoded several times as fast as that of
// intervals.ndjson: for a coordinator, which has the lines as well and adds up the intervals of many workers while they
// run. It isn't for files, and may change with every version.
type Packer struct {
	lines lineEncoder
	texts lineEncoder
}

// Line returns iv as its line of intervals.ndjson, including the newline. It is valid until the next call.
func (p *Packer) Line(iv *measure.Interval) ([]byte, error) { return p.texts.encode(iv) }

// AppendPacked appends the histograms of iv as Source.Lines passes them on, in the order in which iv's line has them.
func (p *Packer) AppendPacked(b []byte, iv *measure.Interval) []byte {
	p.lines.packs = true
	p.lines.lineOf(iv).histograms(func(l *histogramLine) {
		b = append(binary.AppendUvarint(b, uint64(len(l.HDR))), l.HDR...)
	})
	return b
}

// AppendBeginning appends the text with which the line of iv begins, which no other interval's line does.
func (p *Packer) AppendBeginning(b []byte, iv *measure.Interval) []byte {
	b = strconv.AppendInt(append(b, `{"index":`...), int64(iv.Index), 10)
	if iv.Intervals > 1 {
		b = strconv.AppendInt(append(b, `,"slices":`...), int64(iv.Intervals), 10)
	}
	b = strconv.AppendInt(append(b, `,"start_ns":`...), iv.StartNs, 10)
	b = strconv.AppendInt(append(b, `,"end_ns":`...), iv.EndNs, 10)
	return append(b, ',')
}

// histograms calls f with the histograms of a line in the order of its text.
func (l *intervalLine) histograms(f func(*histogramLine)) {
	each := func(h *histogramLine) {
		if h != nil {
			f(h)
		}
	}
	each(l.OwnLag)
	each(l.Turnaround)
	for i := range l.Operations {
		for _, h := range l.Operations[i].times() {
			each(*h)
		}
	}
	for i := range l.Addresses {
		each(l.Addresses[i].Service)
	}
}
