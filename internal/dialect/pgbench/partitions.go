package pgbench

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// partition is a table of accounts that isn't partitioned itself, and the rows that belong into it: those from first to
// before end, and of these, if modulus isn't 0, those whose hash is remainder modulo modulus.
type partition struct {
	table              string
	first, end         uint64
	modulus, remainder uint64
	owners             []byte // by hash: the remainder of each row
}

// accountsQuery asks for the tables into which the rows of pgbench_accounts are put, with their bounds. The first
// column says that pgbench_accounts is partitioned, the second that its partitions can be emptied one by one: that
// isn't so if foreign keys refer to them.
const accountsQuery = `select c.relkind = 'p',
	pg_get_partkeydef(c.oid) in ('RANGE (aid)', 'HASH (aid)') and
		not exists (select from pg_constraint f where f.contype = 'f' and f.confrelid = c.oid),
	case when p.relkind = 'r' then quote_ident(n.nspname) || '.' || quote_ident(p.relname) end,
	pg_get_expr(p.relpartbound, p.oid)
	from pg_class c left join pg_inherits i on i.inhparent = c.oid left join pg_class p on p.oid = i.inhrelid
	left join pg_namespace n on n.oid = p.relnamespace where c.oid = to_regclass('pgbench_accounts') order by p.oid`

// accountsTables reports whether the server's pgbench_accounts is partitioned, and how its rows are spread over
// partitions that can be emptied and loaded one by one; nil if they can't. Servers that don't say have what the options
// have made.
func (i *initializer) accountsTables(ctx context.Context) (partitioned bool, all []partition) {
	rows := accounts * uint64(i.o.Scale)
	apart := true
	err := i.db.Query(ctx, accountsQuery, func(v []*string) error {
		partitioned = v[0] != nil && *v[0] == "t"
		if v[1] == nil || *v[1] != "t" || v[2] == nil || v[3] == nil {
			apart = false
			return nil
		}
		p, ok := newPartition(*v[2], *v[3], rows)
		apart = apart && ok
		all = append(all, p)
		return nil
	})
	if err != nil {
		return i.o.PartitionMethod != "", nil
	}
	if !partitioned || !apart || !covers(all, rows) {
		all = nil
	}
	return partitioned, all
}

var (
	rangeBound = lazyregexp.New(`^FOR VALUES FROM \((MINVALUE|'?-?\d+'?)\) TO \((MAXVALUE|'?-?\d+'?)\)$`)
	hashBound  = lazyregexp.New(`^FOR VALUES WITH \(modulus (\d+), remainder (\d+)\)$`)
)

// newPartition returns the partition with a bound as the server writes it. Row k has the key k+1.
func newPartition(table, bound string, rows uint64) (p partition, ok bool) {
	p = partition{table: table, end: rows}
	if m := hashBound().FindStringSubmatch(bound); m != nil {
		p.modulus, _ = strconv.ParseUint(m[1], 10, 32)
		p.remainder, _ = strconv.ParseUint(m[2], 10, 32)
		return p, p.modulus > 0
	}
	m := rangeBound().FindStringSubmatch(bound)
	if m == nil {
		return p, false
	}
	row := func(text string, open uint64) uint64 {
		var key int64
		if n, err := fmt.Sscanf(text, "%d", &key); n != 1 || err != nil {
			if n, err = fmt.Sscanf(text, "'%d'", &key); n != 1 || err != nil {
				return open
			}
		}
		return min(uint64(max(key, 1)-1), rows)
	}
	p.first, p.end = row(m[1], 0), row(m[2], rows)
	return p, p.first <= p.end
}

// mostHashed is the greatest number of rows, one byte each, whose partitions by hash are kept in memory.
const mostHashed = 1 << 27

// covers reports whether each row has its partition, and finds out which one if that is by hash. Partitions don't
// overlap.
func covers(all []partition, rows uint64) bool {
	sum, modulus := uint64(0), uint64(len(all))
	for _, p := range all {
		if p.modulus != 0 && p.modulus != modulus {
			return false
		}
		sum += p.end - p.first
	}
	if modulus == 0 || all[0].modulus == 0 {
		return sum == rows
	}
	if modulus > 1<<8 || rows > mostHashed {
		return false
	}
	owners := make([]byte, rows)
	for row := range owners {
		owners[row] = byte(hashOf(int64(row)+1) % modulus)
	}
	for k := range all {
		all[k].owners = owners
	}
	return true
}

// piece is the number of rows among which those of a partition by hash are chosen at a time.
const piece = 1 << 20

// chunks calls load with the partition's rows of the whole table.
func (p *partition) chunks(whole *protocol.Chunk, load func(*protocol.Chunk) error) error {
	chunk := *whole
	chunk.Table, chunk.First, chunk.Rows, chunk.Frozen = p.table, p.first, p.end-p.first, true
	if p.owners == nil {
		return load(&chunk)
	}
	var rows []uint64
	for from := 0; from < len(p.owners); from += piece {
		rows = rows[:0]
		owners := p.owners[from:min(from+piece, len(p.owners))]
		for at := 0; ; at++ {
			n := bytes.IndexByte(owners[at:], byte(p.remainder))
			if n < 0 {
				break
			}
			at += n
			rows = append(rows, uint64(from+at))
		}
		chunk.First, chunk.Rows = 0, uint64(len(rows))
		chunk.Row = func(v []gen.Value, k uint64) { whole.Row(v, rows[k]) }
		if err := load(&chunk); err != nil {
			return err
		}
	}
	return nil
}

// hashOf returns the hash of an integer by which PostgreSQL assigns rows to partitions: Bob Jenkins's hash with the
// seed for partitions (hash_bytes_uint32_extended and hash_combine64 in PostgreSQL's sources). Integers of 32 and 64
// bits have the same hash.
func hashOf(key int64) uint64 {
	const seed = 0x7A5B22367996DCFD
	word := uint32(key)
	if high := uint32(key >> 32); key >= 0 {
		word ^= high
	} else {
		word ^= ^high
	}
	rot := bits.RotateLeft32
	a := uint32(0x9e3779b9 + 4 + 3923095)
	b, c := a, a
	a += seed >> 32
	b += seed & math.MaxUint32
	for _, by := range [2][3]int{{4, 6, 8}, {16, 19, 4}} {
		a -= c
		a ^= rot(c, by[0])
		c += b
		b -= a
		b ^= rot(a, by[1])
		a += c
		c -= b
		c ^= rot(b, by[2])
		b += a
	}
	a += word
	c ^= b
	c -= rot(b, 14)
	a ^= c
	a -= rot(c, 11)
	b ^= a
	b -= rot(a, 25)
	c ^= b
	c -= rot(b, 16)
	a ^= c
	a -= rot(c, 4)
	b ^= a
	b -= rot(a, 14)
	c ^= b
	c -= rot(b, 24)
	return (uint64(b)<<32 | uint64(c)) + 0x49a0f4dd15e5a8e3
}
