package cassandrastress

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// rooms is a profile with partitions of 8 to 24 rows that have four regular columns.
const rooms = `keyspace: k
table: t
table_definition: CREATE TABLE t (p int, c text, d int, z int, y int, x int, w int, PRIMARY KEY (p, c, d))
columnspec:
  - {name: p, population: UNIFORM(1..1B)}
  - {name: c, cluster: FIXED(8), population: UNIFORM(1..1B)}
  - {name: d, cluster: UNIFORM(1..3), population: UNIFORM(1..1B)}
queries:
  partition: {cql: "SELECT * FROM t WHERE p = ?"}
`

// perRow is the number of arguments of a row: z, y, x, w, p, c, d.
const perRow = 7

// insertedRows returns the rows of an insert, as partition and text.
func insertedRows(s *session, index uint64) (rows [][2]string) {
	for a := s.Begin(0, index).Args; len(a) > 0; a = a[perRow:] {
		rows = append(rows, [2]string{fmt.Sprint(a[4].I), fmt.Sprintf("%q %d", a[5].B, a[6].I)})
	}
	return rows
}

// Visits of a partition write each of its rows once and in order, and no more partitions than revisit says are begun at
// a time. An insert is the same whenever and by whichever session it is sent.
func TestVisits(t *testing.T) {
	options := func() map[string]string {
		return map[string]string{"population": "seq=1..1000", "visits": "UNIFORM(2..6)", "revisit": "UNIFORM(1..5)"}
	}
	whole := map[string][]string{}
	plain := compiled(t, rooms, map[string]string{"population": "seq=1..1000"}, "insert").Session(0).(*session)
	for i := range uint64(1000) {
		for _, r := range insertedRows(plain, i) {
			whole[r[0]] = append(whole[r[0]], r[1])
		}
	}
	p := compiled(t, rooms, options(), "insert")
	s := p.Session(0).(*session)
	got, numbers := map[string][]string{}, map[string]int{}
	var all [][][2]string
	complete, most := 0, 0
	for i := range uint64(2000) {
		rows := insertedRows(s, i)
		all = append(all, rows)
		if len(rows) == 0 {
			t.Fatalf("insert %d writes nothing", i)
		}
		id := rows[0][0]
		numbers[id]++
		for _, r := range rows {
			got[r[0]] = append(got[r[0]], r[1])
		}
		if want := whole[id]; !slices.Equal(got[id], want[:min(len(got[id]), len(want))]) {
			t.Fatalf("insert %d: partition %s has %q, want %q", i, id, got[id], want)
		}
		if len(got[id]) == len(whole[id]) {
			complete++
			if n := numbers[id]; n < 2 || n > 6 {
				t.Errorf("partition %s has %d inserts", id, n)
			}
		}
		most = max(most, len(got)-complete)
	}
	if complete < 400 || most != 5 {
		t.Errorf("%d partitions are complete, and at most %d were begun at a time", complete, most)
	}
	other := compiled(t, rooms, options(), "insert")
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(2000) {
		if rows := insertedRows(other.Session(i%3).(*session), uint64(i)); !slices.Equal(rows, all[i]) {
			t.Fatalf("insert %d differs in another order", i)
		}
	}
}

// A partition that is drawn while it isn't complete is gone on with, and one with fewer rows than visits has one insert
// for each of them.
func TestFewRowsAndPartitions(t *testing.T) {
	p := compiled(t, rooms, map[string]string{"population": "dist=FIXED(7)", "visits": "FIXED(100)",
		"select": "FIXED(1)/1000"}, "insert")
	s := p.Session(0).(*session)
	first := insertedRows(s, 0)
	seen := map[[2]string]bool{}
	for i := uint64(0); ; i++ {
		rows := insertedRows(s, i)
		if len(rows) != 1 {
			t.Fatalf("insert %d writes %q", i, rows)
		}
		if seen[rows[0]] {
			if i < 8 || i > 24 || rows[0] != first[0] {
				t.Errorf("the partition begins again with insert %d: %q", i, rows)
			}
			return
		}
		seen[rows[0]] = true
	}
}

// The places of a line are those of a list from which what is removed is taken out.
func TestLine(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var l line
	var want []*unfinished
	for i := range 5000 {
		if k := r.IntN(len(want) + 1); k < len(want) && i%1000 > 300 {
			u := l.at(k)
			if u != want[k] {
				t.Fatalf("step %d: place %d of %d differs", i, k, len(want))
			}
			l.remove(u)
			want = slices.Delete(want, k, k+1)
		} else {
			u := &unfinished{seed: int64(i)}
			l.add(u)
			want = append(want, u)
		}
		if l.size != len(want) {
			t.Fatalf("step %d: %d, want %d", i, l.size, len(want))
		}
	}
}

// Rows are sorted by their values, level by level, or shuffled anew each time.
func TestContents(t *testing.T) {
	rows := func(contents string, index uint64) (out []string) {
		p := compiled(t, rooms, map[string]string{"population": "seq=1..1", "contents": contents}, "insert")
		for a := p.Session(0).Begin(0, index).Args; len(a) > 0; a = a[perRow:] {
			out = append(out, fmt.Sprintf("%x %012d", a[5].B, a[6].I))
		}
		return out
	}
	usual := rows("", 0)
	sorted := slices.Sorted(slices.Values(usual))
	if slices.Equal(usual, sorted) || !slices.Equal(rows("", 1), usual) {
		t.Fatalf("the usual order is %q", usual)
	}
	if got := rows("sorted", 0); !slices.Equal(got, sorted) {
		t.Errorf("sorted: %q", got)
	}
	first, second := rows("shuffled", 0), rows("shuffled", 1)
	if slices.Equal(first, second) || !slices.Equal(slices.Sorted(slices.Values(first)), sorted) ||
		!slices.Equal(slices.Sorted(slices.Values(second)), sorted) {
		t.Errorf("shuffled: %q and %q", first, second)
	}
}

// Of the regular columns, the first ones by name have values.
func TestRowPopulation(t *testing.T) {
	p := compiled(t, rooms, map[string]string{"population": "seq=1..100", "row-population-ratio": "UNIFORM(1..3)/4"},
		"insert")
	s := p.Session(0)
	empty := map[string]int{}
	for i := range uint64(300) {
		for a := s.Begin(0, i).Args; len(a) > 0; a = a[perRow:] {
			var names string
			for j, name := range []string{"z", "y", "x", "w", "p", "c", "d"} {
				if a[j].Kind == gen.Null {
					names += name
				}
			}
			empty[names]++
		}
	}
	if names := slices.Sorted(maps.Keys(empty)); !slices.Equal(names, []string{"z", "zy", "zyx"}) {
		t.Errorf("empty are %v", empty)
	}
}

// A sequence that isn't begun again is written once, and its last insert has the partitions that are left.
func TestSequenceWrittenOnce(t *testing.T) {
	p := compiled(t, rooms, map[string]string{"population": "seq=1..5", "partitions": "FIXED(2)", "wrap": "no"}, "insert")
	s := p.Session(0).(*session)
	counts := map[string]bool{}
	for i, want := range []int64{2, 2, 1} {
		for _, r := range insertedRows(s, uint64(i)) {
			counts[r[0]] = true
		}
		if s.partitions != want {
			t.Errorf("insert %d has %d partitions, want %d", i, s.partitions, want)
		}
	}
	if len(counts) != 5 {
		t.Errorf("partitions %v", counts)
	}
}

// Reads look back at partitions that are written: answers count, not requests.
func TestLookback(t *testing.T) {
	p := compiled(t, rooms, map[string]string{"population": "seq=1..1000", "lookback": "UNIFORM(1..3)"}, "insert",
		"partition")
	writer, late, reader := p.Session(0).(*session), p.Session(1).(*session), p.Session(2).(*session)
	var written []string
	read := func(index uint64) string { return fmt.Sprint(reader.Begin(1, index).Args[0].I) }
	for i := range uint64(20) {
		written = append(written, insertedRows(writer, i)[0][0])
		writer.Answered(&protocol.Reply{})
	}
	for i := range uint64(100) {
		if at := slices.Index(written, read(i)); at < 17 {
			t.Errorf("read of partition %d of %d", at, len(written))
		}
	}
	// One that isn't answered holds back those after it, until its session goes on.
	insertedRows(late, 20)
	for i := uint64(21); i < 25; i++ {
		insertedRows(writer, i)
		writer.Answered(&protocol.Reply{})
	}
	for i := range uint64(100) {
		if at := slices.Index(written, read(i)); at < 17 {
			t.Errorf("read of partition %d of %d, before the next one is written", at, len(written))
		}
	}
	insertedRows(late, 25)
	for i := range uint64(100) {
		if at := slices.Index(written, read(i)); at >= 17 {
			t.Errorf("read of partition %d, which is further back", at)
		}
	}
}
