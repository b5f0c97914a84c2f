package record

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"path/filepath"
	"slices"
	"sync"

	"brunt/internal/base/linefile"
	"brunt/internal/protocol"
	"brunt/internal/render/message"
)

// Write is the outcome of a write that is to be read back. Times are on the run's clock.
type Write struct {
	Index     uint64
	Operation int // index into Run.Operations
	Address   int // index into Run.Targets
	SentNs    int64
	EndNs     int64
	Effect    protocol.Effect
}

// writesLine is a line of WritesFile: all or some of the writes that ended in an interval.
type writesLine struct {
	N    int    `json:"n"`
	Lost uint64 `json:"lost,omitempty"` // writes before these that were dropped because the disk was full
	CRC  uint32 `json:"crc"`            // CRC-32 (IEEE) of Data
	// Data has five varints for each write (of encoding/binary; only the last is unsigned): the index and the time of
	// sending, both as differences from the previous write; the duration; the operation; and 4 × address + effect.
	Data []byte `json:"data"`
}

const (
	maxWritesData   = 1 << 20  // bytes of one line's data
	maxWritesBytes  = 16 << 20 // bytes that may wait in memory while the disk is full
	leastWriteBytes = 5        // least bytes of one write
)

// writesLog collects the writes between two intervals.
type writesLog struct {
	mu   sync.Mutex
	data []byte
	n    int
	last Write
	full []sealedLine // lines of this interval
	lost uint64       // writes dropped since the last line

	fileMu  sync.Mutex
	log     *linefile.Log // nil before the first line
	waiting []sealedLine  // lines that log has not written yet, without their text
	unkept  uint64        // number of dropped writes
}

// sealedLine is an encoded line.
type sealedLine struct {
	text   []byte
	bytes  int
	writes uint64
	lost   uint64
}

// add adds a write. It allocates memory only to grow its buffer.
func (l *writesLog) add(w Write) {
	l.mu.Lock()
	l.data = appendWrite(l.data, &l.last, &w)
	l.last = w
	if l.n++; len(l.data) >= maxWritesData {
		l.seal()
	}
	l.mu.Unlock()
}

func appendWrite(dst []byte, last, w *Write) []byte {
	dst = binary.AppendVarint(dst, int64(w.Index-last.Index))
	dst = binary.AppendVarint(dst, w.SentNs-last.SentNs)
	dst = binary.AppendVarint(dst, w.EndNs-w.SentNs)
	dst = binary.AppendVarint(dst, int64(w.Operation))
	return binary.AppendUvarint(dst, uint64(w.Address)<<2|uint64(w.Effect))
}

// seal turns the collected writes into a line.
func (l *writesLog) seal() {
	if l.n == 0 {
		return
	}
	line, err := json.Marshal(writesLine{l.n, l.lost, crc32.ChecksumIEEE(l.data), l.data})
	if err == nil {
		l.full = append(l.full, sealedLine{append(line, '\n'), len(line) + 1, uint64(l.n), l.lost})
		l.lost = 0
	}
	l.data, l.n, l.last = l.data[:0], 0, Write{}
}

// take returns the lines since the last call.
func (l *writesLog) take() []sealedLine {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seal()
	out := l.full
	l.full = nil
	return out
}

// Wrote records a write. FlushWrites appends it to WritesFile after the next interval. It is safe for concurrent use
// and does no I/O.
func (b *Bundle) Wrote(w Write) { b.writes.add(w) }

// FlushWrites writes the writes recorded by Wrote. It returns the number of writes that are not on disk: lines wait in
// memory while the disk is full, and writes for which there is no room are dropped. It is safe for concurrent use.
func (b *Bundle) FlushWrites() (missing uint64) {
	b.writes.fileMu.Lock()
	defer b.writes.fileMu.Unlock()
	if err := b.flushWrites(); err != nil {
		b.warn(writeWarning(b.Dir, fmt.Errorf("%s: %w", WritesFile, err)))
	}
	missing = b.writes.unkept
	for _, line := range b.writes.waiting {
		missing += line.writes
	}
	return missing
}

func (b *Bundle) flushWrites() error {
	l := &b.writes
	lines := l.take()
	if l.log == nil && len(lines) > 0 {
		file, err := b.fsys.Create(filepath.Join(b.Dir, WritesFile))
		if err != nil {
			for _, line := range lines {
				l.giveUp(&line)
			}
			return err
		}
		l.log = linefile.NewLog(file, maxWritesBytes)
	}
	if l.log == nil {
		return nil
	}
	for _, line := range lines {
		if !l.log.Room(line.bytes) {
			l.giveUp(&line)
			continue
		}
		l.log.Add(line.text)
		line.text = nil
		l.waiting = append(l.waiting, line)
	}
	err := l.log.Flush()
	bytes := 0
	for i := range l.waiting {
		bytes += l.waiting[i].bytes
	}
	for len(l.waiting) > 0 && bytes > l.log.Waiting() {
		bytes -= l.waiting[0].bytes
		l.waiting = l.waiting[1:]
	}
	return err
}

// giveUp counts the writes of a line that is dropped.
func (l *writesLog) giveUp(line *sealedLine) {
	l.unkept += line.writes
	l.mu.Lock()
	l.lost += line.lost + line.writes
	l.mu.Unlock()
}

// closeWrites closes WritesFile if it is open.
func (b *Bundle) closeWrites() error {
	b.writes.fileMu.Lock()
	defer b.writes.fileMu.Unlock()
	if b.writes.log == nil {
		return nil
	}
	return b.writes.log.Close()
}

// WritesDamage is the part of WritesFile that can't be read.
type WritesDamage struct {
	Lines int    // number of damaged lines
	Lost  uint64 // writes dropped because the disk was full
}

// Writes calls f with every write of WritesFile until f fails. It skips damaged lines, and an incomplete last line,
// which a killed run may leave.
func (r *Recorded) Writes(f func(w *Write) error) (d WritesDamage, err error) {
	err = r.lines(WritesFile, func(line []byte) (func() error, error) {
		var l writesLine
		err := json.Unmarshal(line, &l)
		if err == nil && crc32.ChecksumIEEE(l.Data) != l.CRC {
			err = errors.New("its checksum is wrong")
		}
		all, n := []Write(nil), 0
		if err == nil {
			all, err = decodeWrites(l.Data, l.N)
			n = len(all)
		}
		if err != nil {
			d.Lines++
			return nil, err
		}
		d.Lost += l.Lost
		return func() error {
			for i := range n {
				if err := f(&all[i]); err != nil {
					return err
				}
			}
			return nil
		}, nil
	})
	return d, err
}

// decodeWrites decodes the data of a line with n writes.
func decodeWrites(data []byte, n int) ([]Write, error) {
	if n < 0 || n > len(data)/leastWriteBytes {
		return nil, fmt.Errorf("%d writes in %d bytes", n, len(data))
	}
	out, last := make([]Write, n), Write{}
	for i := range out {
		var fields [4]int64
		for k := range fields {
			v, size := binary.Varint(data)
			if size <= 0 {
				return nil, errors.New("a write is cut off")
			}
			fields[k], data = v, data[size:]
		}
		if fields[3] < 0 || fields[3] > math.MaxInt32 {
			return nil, errors.New("a write has no operation")
		}
		where, size := binary.Uvarint(data)
		if size <= 0 || where>>2 > math.MaxInt32 {
			return nil, errors.New("a write has no address")
		}
		data = data[size:]
		w := Write{Index: last.Index + uint64(fields[0]), SentNs: last.SentNs + fields[1], Address: int(where >> 2),
			Effect: protocol.Effect(where & 3), Operation: int(fields[3])}
		w.EndNs = w.SentNs + fields[2]
		out[i], last = w, w
	}
	if len(data) > 0 {
		return nil, fmt.Errorf("%d bytes behind the last write", len(data))
	}
	return out, nil
}

// VerifiedAfter appends the result of reading back after a fault to VerifiedFile and syncs the file. It is safe for
// concurrent use, and warns once if it fails.
func (b *Bundle) VerifiedAfter(v *VerifiedFault) { b.event(&b.verified, v) }

// VerifiedAfter returns the results of reading back after each fault from VerifiedFile.
func (r *Recorded) VerifiedAfter() (all []VerifiedFault, err error) {
	err = r.lines(VerifiedFile, func(line []byte) (func() error, error) {
		v := VerifiedFault{}
		err := json.Unmarshal(line, &v)
		return func() error {
			all = append(all, v)
			return nil
		}, err
	})
	return all, err
}

// unverified counts the writes of a run that ended before they were read back; it returns nil if there are none.
func (r *Recorded) unverified() (*Verified, error) {
	v := &Verified{Reason: message.New("verify.killed")}
	for i := range r.Run.Operations {
		v.Operations = append(v.Operations, VerifiedOperation{Name: r.Run.Operations[i].Name})
	}
	found := false
	damage, err := r.Writes(func(w *Write) error {
		if w.Operation >= len(v.Operations) {
			return nil
		}
		found = true
		v.Operations[w.Operation].CountUnread(w.Effect)
		return nil
	})
	if err != nil || !found {
		return nil, err
	}
	v.Unrecorded = damage.Lost
	if v.AfterFaults, err = r.VerifiedAfter(); err != nil {
		return nil, err
	}
	for i := range v.AfterFaults {
		v.LostMeanwhile += v.AfterFaults[i].NewLost
	}
	v.Operations = slices.DeleteFunc(v.Operations, func(o VerifiedOperation) bool {
		return o.Acknowledged+o.Failed+o.Unknown == 0
	})
	return v, nil
}
