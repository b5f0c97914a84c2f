package record

import (
	"encoding/binary"
	"errors"
	"math"

	"brunt/internal/measure"
)

// arrivalLine holds the arrivals of an operation at an address, by intended start.
type arrivalLine struct {
	Operation int `json:"op"`
	Address   int `json:"address"` // -1: given up before an address was chosen
	// Slots encodes the slots that have intended starts, in order, as variable-length integers of encoding/binary. Each
	// slot has its index minus the previous slot's index (for the first, the index itself), then twice the number of
	// good arrivals, plus one if the slot has bad or retried arrivals. In that case these follow: the numbers of bad
	// arrivals, of those that failed, that may have been applied, and that succeeded too late; the number of retried
	// arrivals; the total time of the bad ones in ns; and the time from the slot's start until the first of them was
	// noticed, in ns.
	Slots []byte `json:"slots"`
	// Own encodes how many arrivals of the slots were late only because of the generator: for each slot that has some,
	// its place in Slots minus the previous one's (for the first, the place itself), then their number.
	Own []byte `json:"own,omitempty"`
	// Last encodes when the last arrivals of the slots were due after which nothing fell due for at least eight slots: for
	// each of these slots, its place in Slots minus the previous one's (for the first, the place itself), then the time
	// from the slot's start until the last good arrival, including those in Own, and until the last bad one, each in ns
	// plus 1, or 0 if there is none.
	Last []byte `json:"last,omitempty"`
}

func arrivalLines(all []measure.ArrivalSlots) (out []arrivalLine) {
	for i := range all {
		out = append(out, arrivalLine{all[i].Operation, all[i].Address, appendSlots(nil, all[i].Slots),
			appendOwn(nil, all[i].Slots), appendLast(nil, all[i].Slots)})
	}
	return out
}

func appendSlots(to []byte, slots []measure.Slot) []byte {
	before := int64(0)
	for i := range slots {
		s := &slots[i]
		to = binary.AppendVarint(to, s.Index-before)
		before = s.Index
		if s.Bad == 0 && s.Retried == 0 {
			to = binary.AppendUvarint(to, uint64(s.Good)<<1)
			continue
		}
		to = binary.AppendUvarint(to, uint64(s.Good)<<1|1)
		for _, n := range [...]uint32{s.Bad, s.Failed, s.Unknown, s.Waited, s.Retried} {
			to = binary.AppendUvarint(to, uint64(n))
		}
		to = binary.AppendUvarint(to, uint64(s.WaitNs))
		seen := int64(0)
		if s.SeenNs != 0 {
			seen = s.SeenNs - s.Index*measure.SlotNs
		}
		to = binary.AppendVarint(to, seen)
	}
	return to
}

func appendOwn(to []byte, slots []measure.Slot) []byte {
	before := 0
	for i := range slots {
		if n := slots[i].Own; n > 0 {
			to = binary.AppendUvarint(binary.AppendUvarint(to, uint64(i-before)), uint64(n))
			before = i
		}
	}
	return to
}

func appendLast(to []byte, slots []measure.Slot) []byte {
	before := 0
	for i := range slots {
		if s := &slots[i]; s.LastGood != 0 || s.LastBad != 0 {
			to = binary.AppendUvarint(to, uint64(i-before))
			to = binary.AppendUvarint(binary.AppendUvarint(to, uint64(s.LastGood)), uint64(s.LastBad))
			before = i
		}
	}
	return to
}

var errSlots = errors.New("slots make no sense")

// decode is the inverse of arrivalLines.
func (l *arrivalLine) decode(operations, addresses int) (measure.ArrivalSlots, error) {
	out := measure.ArrivalSlots{Operation: l.Operation, Address: l.Address}
	if l.Operation < 0 || l.Operation >= operations || l.Address < measure.NoAddress || l.Address >= addresses {
		return out, errSlots
	}
	in := slotReader{rest: l.Slots}
	before := int64(0)
	for len(in.rest) > 0 {
		step := in.signed()
		s := measure.Slot{Index: before + step}
		if len(out.Slots) > 0 && step <= 0 || s.Index < 0 || s.Index > maxNs/measure.SlotNs {
			return out, errSlots
		}
		before = s.Index
		good := in.unsigned(math.MaxUint32<<1 | 1)
		s.Good = uint32(good >> 1)
		if good&1 == 1 {
			for _, n := range [...]*uint32{&s.Bad, &s.Failed, &s.Unknown, &s.Waited, &s.Retried} {
				*n = uint32(in.unsigned(math.MaxUint32))
			}
			s.WaitNs = int64(in.unsigned(math.MaxInt64))
			if seen := in.signed(); s.Bad > 0 {
				s.SeenNs = s.Index*measure.SlotNs + min(max(seen, 0), maxNs)
			}
		}
		if in.broken || uint64(s.Failed)+uint64(s.Waited) > uint64(s.Bad) || s.Unknown > s.Failed ||
			s.Bad == 0 && s.WaitNs > 0 {
			return out, errSlots
		}
		out.Slots = append(out.Slots, s)
	}
	if err := l.decodeOwn(out.Slots); err != nil {
		return out, err
	}
	return out, l.decodeLast(out.Slots)
}

// decodeOwn is the inverse of appendOwn.
func (l *arrivalLine) decodeOwn(slots []measure.Slot) error {
	in := slotReader{rest: l.Own}
	for at := uint64(0); len(in.rest) > 0; {
		at += in.unsigned(math.MaxInt32)
		n := in.unsigned(math.MaxUint32)
		if in.broken || at >= uint64(len(slots)) {
			return errSlots
		}
		slots[at].Own = uint32(n)
	}
	return nil
}

// decodeLast is the inverse of appendLast.
func (l *arrivalLine) decodeLast(slots []measure.Slot) error {
	in := slotReader{rest: l.Last}
	for at := uint64(0); len(in.rest) > 0; {
		at += in.unsigned(math.MaxInt32)
		good, bad := in.unsigned(measure.SlotNs), in.unsigned(measure.SlotNs)
		if in.broken || at >= uint64(len(slots)) {
			return errSlots
		}
		s := &slots[at]
		if good > 0 && s.Good == 0 && s.Own == 0 || bad > 0 && s.Bad == 0 {
			return errSlots
		}
		s.LastGood, s.LastBad = uint32(good), uint32(bad)
	}
	return nil
}

// slotReader reads variable-length integers. After an error it returns 0 and sets broken.
type slotReader struct {
	rest   []byte
	broken bool
}

func (r *slotReader) unsigned(most uint64) uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > most {
		r.broken, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *slotReader) signed() int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.broken, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}
