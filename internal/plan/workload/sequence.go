package workload

import (
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"math"

	"brunt/internal/load/gen"
	"brunt/internal/plan"
)

// Sequence is a set of parameters whose values must begin after the greatest value in a column. All parameters of a
// column are shifted by the same number, so that disjoint ranges stay disjoint.
type Sequence struct {
	Table, Column string
	Said          bool // the plan contains start: after
	UUID          bool // the values are UUIDs, which have no order: see Apart

	first, last int64 // of the union of the ranges
	scattered   bool  // values are spread over the range, in no order
	shift       int64
	mask        [16]byte // mask for UUIDs
}

// after makes a parameter of a step part of its Sequence, if it has one.
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
			return g // there are no greater numbers
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

// sequence returns the Sequence of a column, and creates it if necessary.
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

// Apart makes the UUIDs differ from those of a run that found another number of rows beyond the plan's: it XORs each
// with a mask that depends on rows. With rows 0 the UUIDs are the plan's. It must be called before the workload is
// used.
func (q *Sequence) Apart(rows uint64) {
	q.mask = [16]byte{}
	if rows == 0 {
		return
	}
	r := gen.NewStream(rows, "rows there").At(0)
	binary.BigEndian.PutUint64(q.mask[:8], r.Uint64()&^0xF000)
	binary.BigEndian.PutUint64(q.mask[8:], r.Uint64()&^(3<<62))
}

// First returns the least value of a sequence of numbers.
func (q *Sequence) First() int64 { return q.first + q.shift }

// Begin makes first the least value, as in an earlier run. It must be called before the workload is used.
func (q *Sequence) Begin(first int64) { q.shift = first - q.first }

// After shifts the sequence behind greatest, the greatest value in the column, unless it begins there already. It must
// be called before the workload is used. If the load is divided among machines, they may query the column at different
// times. The shift is then a multiple of the range's length: machines with the same result use different numbers of one
// range, and machines with different results use different ranges. It returns an error if the values would exceed the
// greatest integer.
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
