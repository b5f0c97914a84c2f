package workload

import (
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"math"

	"brunt/internal/gen"
	"brunt/internal/plan"
)

// Sequence is the parameters of a plan whose values begin after the greatest that a column holds. All
// parameters of one column move by the same number, so that ranges that have nothing in common still
// don't.
type Sequence struct {
	Table, Column string
	Said          bool // the plan says start: after
	UUID          bool // its values are UUIDs, which have no order: see Apart

	first, last int64 // of the ranges
	scattered   bool  // values come from all over the range, in no order
	shift       int64
	mask        [16]byte // of UUIDs
}

// after makes a parameter of a step follow its Sequence, if it has one.
func (c *compiler) after(s *plan.Step, k int, g gen.Generator) gen.Generator {
	table, column, ok := c.plan.Follows(s, k)
	if !ok {
		return g
	}
	v := s.Params[k].Value
	if v.Type == gen.TypeUUID {
		q := c.sequence(table, column, true)
		q.Said = q.Said || v.Start == plan.StartAfter
		return gen.Func(func(v *gen.Value, i uint64) {
			if g.Value(v, i); v.Kind == gen.UUID {
				subtle.XORBytes(v.B, v.B, q.mask[:])
			}
		})
	}
	first, last := int64(0), int64(gen.DefaultIntegerHi)
	if v.HasRange {
		first, last = v.IntLo, v.IntHi
	}
	if v.Type == gen.TypeUnsigned && last < 0 {
		if last = math.MaxInt64; first < 0 {
			return g // no server has numbers after those
		}
	}
	q := c.sequence(table, column, false)
	q.first, q.last = min(q.first, first), max(q.last, last)
	q.Said = q.Said || v.Start == plan.StartAfter
	q.scattered = q.scattered || v.Unique && c.queue == nil
	return gen.Func(func(v *gen.Value, i uint64) {
		if g.Value(v, i); v.Kind != gen.Null {
			v.I += q.shift
		}
	})
}

// sequence is that of a column.
func (c *compiler) sequence(table, column string, uuid bool) *Sequence {
	for _, q := range c.starts {
		if q.Table == table && q.Column == column && q.UUID == uuid {
			return q
		}
	}
	q := &Sequence{Table: table, Column: column, UUID: uuid, first: math.MaxInt64, last: math.MinInt64}
	c.starts = append(c.starts, q)
	return q
}

// Apart makes UUIDs others than in a run that found another number of rows beyond the plan's: each is
// turned into another one by bits that follow from rows. With none they are the plan's. It must be called
// before the workload is used.
func (q *Sequence) Apart(rows uint64) {
	q.mask = [16]byte{}
	if rows == 0 {
		return
	}
	r := gen.NewStream(rows, "rows there").At(0)
	binary.BigEndian.PutUint64(q.mask[:8], r.Uint64()&^0xF000)
	binary.BigEndian.PutUint64(q.mask[8:], r.Uint64()&^(3<<62))
}

// First is the least value of a sequence of numbers.
func (q *Sequence) First() int64 { return q.first + q.shift }

// Begin makes first the least value, as it was in a run before. It must be called before the workload is used.
func (q *Sequence) Begin(first int64) { q.shift = first - q.first }

// After moves the sequence behind greatest, the greatest value that the column holds, if it isn't there
// already. It must be called before the workload is used. Where the load is divided among machines,
// which may ask at different times, the move is a multiple of the range's length: then those that
// found the same use different numbers of one range, and those that found different things different
// ranges.
func (q *Sequence) After(greatest int64, divided bool) error {
	q.shift = 0
	if greatest < q.first {
		return nil
	}
	move := uint64(greatest) - uint64(q.first) + 1
	length := uint64(q.last) - uint64(q.first) + 1 // 0 means 2^64
	possible := move-1 < math.MaxInt64
	if divided && possible {
		if possible = length-1 < math.MaxInt64; possible {
			move = (move + length - 1) / length * length
		}
	}
	room := uint64(math.MaxInt64) - uint64(q.first)
	if divided || q.scattered {
		room = uint64(math.MaxInt64) - uint64(q.last)
	}
	if !possible || move > min(room, math.MaxInt64) {
		return fmt.Errorf(
			"the sequence %d to %d can't begin after %d, which column %s of table %s holds: it would go beyond the greatest integer; narrow its range, or say start: range", q.first, q.last, greatest, q.Column, q.Table)
	}
	q.shift = int64(move)
	return nil
}
