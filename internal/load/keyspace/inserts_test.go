package keyspace

import (
	"sync"
	"testing"

	"brunt/internal/load/gen"
)

func TestInsertsAreNumberedWithoutGaps(t *testing.T) {
	stream := gen.NewStream(5, "mix")
	is := func(i uint64) bool { return stream.Uint64n(i, 10) == 0 }
	s := NewInserts(1000, 1)
	s.Follow(is)
	want := int64(1000)
	for i := range uint64(5000) {
		if is(i) {
			if got := s.Number(i); got != want {
				t.Fatalf("operation %d inserts %d, want %d", i, got, want)
			}
			want++
		}
	}
	late := NewInserts(1000, 1)
	late.Follow(is)
	if a, b := late.Number(4999), s.Number(4999); a != b {
		t.Errorf("asked first for the last: %d, in order: %d", a, b)
	}
}

func TestBatchesInsertAdjoiningRecords(t *testing.T) {
	s := NewInserts(100, 4)
	s.Follow(func(i uint64) bool { return i%2 == 1 })
	for row := range uint64(4) {
		if got, want := s.Number(3*4+row), int64(104+row); got != want {
			t.Errorf("row %d of operation 3 is record %d, want %d", row, got, want)
		}
	}
}

func TestLastWaitsForGaps(t *testing.T) {
	s := NewInserts(10, 1)
	s.Acknowledge(1, true)
	if s.Last() != 9 || !s.Missing(10) {
		t.Errorf("last is %d although record 10 isn't there", s.Last())
	}
	s.Acknowledge(0, false)
	if s.Last() != 11 {
		t.Errorf("last is %d, want 11", s.Last())
	}
	if !s.Missing(10) || s.Missing(11) || !s.Missing(12) {
		t.Error("record 10 failed, 11 is there, 12 isn't yet")
	}
	strict := NewInserts(10, 1)
	strict.Strict = true
	strict.Acknowledge(0, false)
	strict.Acknowledge(1, true)
	if strict.Last() != 9 {
		t.Errorf("strict: last is %d, want 9", strict.Last())
	}
}

// TestReadsFindWhatIsThere runs each choice that follows inserts concurrently with inserts.
func TestReadsFindWhatIsThere(t *testing.T) {
	for _, d := range []string{"zipfian", "latest", "exponential"} {
		c := choice(d)
		c.Inserting, c.NewKeys = true, 2000
		inserts := NewInserts(1000, 1)
		choose, follows, err := NewChooser(c, gen.NewStream(2), inserts)
		if err != nil || !follows {
			t.Fatal(d, follows, err)
		}
		fresh := 0
		for i := range uint64(1000) {
			inserts.Acknowledge(i, i%3 != 0)
			for k := range uint64(20) {
				n := choose(i*20 + k)
				if n < 0 || n > inserts.Last() || n >= 1000 && (n-1000)%3 == 0 {
					t.Fatalf("%s: record %d isn't there; the last is %d", d, n, inserts.Last())
				}
				if n >= 1000 {
					fresh++
				}
			}
		}
		if fresh == 0 {
			t.Errorf("%s never chose a record of the run", d)
		}
	}
}

func TestMemoKeepsADraw(t *testing.T) {
	var mu sync.Mutex
	calls := int64(0)
	m := NewMemo(func(uint64) int64 { mu.Lock(); defer mu.Unlock(); calls++; return calls })
	before := m.Number(5)
	if again := m.Number(5); again != before {
		t.Errorf("one operation drew the records %d and %d", before, again)
	}
	m.Forget(5)
	if m.Number(5) == before {
		t.Error("a forgotten draw came back")
	}
}

// If all inserts fail during an outage, each record costs one bit.
func TestFailedInsertsTakeLittleMemory(t *testing.T) {
	const failed = 1 << 20
	s := NewInserts(1000, 1)
	for i := range uint64(failed) {
		s.Acknowledge(i, false)
	}
	if pages := len(s.failed); pages > failed>>pageBits+1 {
		t.Errorf("%d pages for %d records in a row", pages, failed)
	}
	if s.Last() != 1000+failed-1 || s.holes.Load() != failed {
		t.Errorf("last %d, %d holes", s.Last(), s.holes.Load())
	}
	for _, n := range []int64{1000, 4095, 4096, 1000 + failed - 1} {
		if !s.Missing(n) {
			t.Errorf("record %d isn't missing", n)
		}
	}
	if s.failed.has(999) || s.failed.has(1000+failed) {
		t.Error("records that weren't inserted count as failed")
	}
}

// Records of other processes count as inserted once this process' records before them are.
func TestInsertsOfASharedLoad(t *testing.T) {
	s := NewInserts(1000, 2)
	s.Follow(func(i uint64) bool { return i%4 < 2 })          // 10, 11, 14→not, 12, 13 …
	s.Share(10, func(i uint64) bool { return (i-10)%2 == 0 }) // even ones
	inserts := []uint64{12, 13, 16, 17, 20, 21}               // from 10 on
	before := s.Number(12*2) - 1                              // the position of 8 and 9 comes first
	s.last.Store(before)
	for _, c := range []struct {
		over   uint64
		ok     bool
		passed int // number of inserts
	}{{16, true, 0}, {12, true, 3}, {20, false, 5}} {
		s.Acknowledge(c.over, c.ok)
		if got, want := s.Last(), before+int64(2*c.passed); got != want {
			t.Errorf("after %d: last %d, want %d (%d of %v)", c.over, got, want, c.passed, inserts)
		}
	}
	if n := s.Number(20 * 2); !s.Missing(n) {
		t.Errorf("record %d isn't missing, and its insert failed", n)
	}
	if n := s.Number(13 * 2); s.Missing(n) {
		t.Errorf("record %d of another process is missing", n)
	}
}
