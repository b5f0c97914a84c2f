package fill

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"brunt/internal/load/gen"
)

// The largest numbers of rows that one query of CheckFull reads, by a range of keys and by a list of keys.
const (
	blockRows  = 5000
	listedRows = 500
)

// block is a range of rows that one query reads back.
type block struct {
	first, rows uint64
	sum         uint64 // sum of rowHash over the rows
	lo, hi      gen.Value
	ordered     bool // lo and hi are integers of one kind
}

// checkFull reads all rows of a table back and compares them. If the generated values of the first key column are
// integers and the blocks' ranges don't overlap, as with counted keys, it reads blocks by ranges of keys. Otherwise it
// reads lists of keys if the server limits the size of answers, and else the whole table with one query.
func (j *job) checkFull(ctx context.Context, table int) error {
	t := &j.c.Tables[table]
	most := j.c.SQL.MostRows(len(t.Columns))
	size := uint64(blockRows)
	if most > 0 {
		size = min(size, most)
	}
	blocks, err := j.makeBlocks(ctx, t, size)
	if err != nil {
		return err
	}
	names := t.columnNames()
	switch {
	case disjoint(blocks):
		err = j.compareBlocks(ctx, t, blocks, func(b *block) string {
			return j.c.SQL.SelectByKey(t.Name, names, t.Keys[0], &b.lo, &b.hi)
		})
	case most > 0 && t.Unique != "":
		if blocks, err = j.makeBlocks(ctx, t, min(most, listedRows)); err != nil {
			return err
		}
		err = j.compareBlocks(ctx, t, blocks, func(b *block) string {
			return j.c.SQL.SelectIn(t.Name, names, t.Unique, b.keys(t, t.column(t.Unique)))
		})
	default:
		whole := block{rows: t.Rows}
		for i := range blocks {
			whole.sum += blocks[i].sum
		}
		err = j.compareBlocks(ctx, t, []block{whole}, func(*block) string { return j.c.SQL.SelectAll(t.Name, names) })
	}
	if err == nil {
		j.tables[table].Compared += t.Rows
	}
	return err
}

// makeBlocks divides a table into blocks of up to size rows, and generates the rows for their checksums.
func (j *job) makeBlocks(ctx context.Context, t *Table, size uint64) ([]block, error) {
	blocks := make([]block, (t.Rows+size-1)/size)
	workers := min(j.c.Workers, len(blocks))
	err := parallel(ctx, workers, func(ctx context.Context, worker int) error {
		hash, values := newRowHash(t.Columns), make([]gen.Value, len(t.Columns))
		for i := worker; i < len(blocks); i += workers {
			if err := ctx.Err(); err != nil {
				return err
			}
			b := &blocks[i]
			b.first = uint64(i) * size
			b.rows = min(size, t.Rows-b.first)
			b.make(t, hash, values)
		}
		return nil
	})
	return blocks, err
}

// compareBlocks reads the blocks back with the statements that text returns for them.
func (j *job) compareBlocks(ctx context.Context, t *Table, blocks []block, text func(*block) string) error {
	workers := min(j.c.Workers, len(blocks))
	return parallel(ctx, workers, func(ctx context.Context, worker int) error {
		s := j.newSession(worker)
		defer s.close()
		hash := newRowHash(t.Columns)
		for i := worker; i < len(blocks); i += workers {
			b, statement := &blocks[i], text(&blocks[i])
			if err := j.c.settle(ctx, func() error { return b.compare(ctx, s, t, hash, statement) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// keys returns the generated values of a column for the rows of the block.
func (b *block) keys(t *Table, column int) []gen.Value {
	keys, values := make([]gen.Value, b.rows), make([]gen.Value, len(t.Columns))
	for i := range keys {
		t.Row(values, b.first+uint64(i))
		keys[i] = values[column].Clone()
	}
	return keys
}

// make generates the rows of the block and sets its checksum and its range of keys.
func (b *block) make(t *Table, hash *rowHash, values []gen.Value) {
	key := -1
	if len(t.Keys) > 0 {
		key = t.column(t.Keys[0])
	}
	b.ordered = key >= 0
	for row := b.first; row < b.first+b.rows; row++ {
		t.Row(values, row)
		b.sum += hash.generated(values)
		if !b.ordered {
			continue
		}
		v := &values[key]
		at, ok := order(v)
		if lo, _ := order(&b.lo); row == b.first || at < lo {
			b.lo = v.Clone()
		}
		if hi, _ := order(&b.hi); row == b.first || at > hi {
			b.hi = v.Clone()
		}
		b.ordered = ok
	}
}

// order returns an integer as an int64. ok is false for values of other kinds and for unsigned integers above the
// signed range.
func order(v *gen.Value) (at int64, ok bool) {
	return v.I, v.Kind == gen.Int || v.Kind == gen.Uint && uint64(v.I) <= math.MaxInt64
}

// disjoint reports whether the key ranges of all blocks are known and don't overlap.
func disjoint(blocks []block) bool {
	for i := range blocks {
		if !blocks[i].ordered {
			return false
		}
	}
	sorted := make([]*block, len(blocks))
	for i := range blocks {
		sorted[i] = &blocks[i]
	}
	slices.SortFunc(sorted, func(a, b *block) int { return cmp.Compare(a.lo.I, b.lo.I) })
	for i := 1; i < len(sorted); i++ {
		if sorted[i].lo.I <= sorted[i-1].hi.I {
			return false
		}
	}
	return true
}

func (b *block) compare(ctx context.Context, s *session, t *Table, hash *rowHash, statement string) error {
	var rows, sum uint64
	err := s.query(ctx, t, statement, func() { rows, sum = 0, 0 }, func(values []*string) error {
		rows++
		sum += hash.read(values)
		return nil
	})
	switch {
	case err != nil:
		return err
	case rows != b.rows:
		return &MismatchError{t.Name, fmt.Sprintf("%d rows read back of rows %d to %d", rows, b.first, b.first+b.rows-1)}
	case sum != b.sum:
		return &MismatchError{t.Name, fmt.Sprintf("rows %d to %d are not as generated: checksum %016x, want %016x", b.first,
			b.first+b.rows-1, sum, b.sum)}
	}
	return nil
}
