package cassandrastress

import (
	"fmt"
	"math"
	"sync"

	"brunt/internal/load/gen"
)

// visit is a part of a partition that one insert writes.
type visit struct {
	seed     int64  // number of the partition
	from, to int64  // its rows, from included and to excluded
	number   uint64 // of the partition, in the order in which partitions are begun
	first    bool
}

// visits spreads the rows of partitions over several inserts (class SeedManager of cassandra-stress's sources). An
// insert draws a place among the partitions that are begun and not complete, in the order in which they were begun. It
// goes on with the partition at that place; if there is none, it begins another. Which rows an insert writes follows
// from its number alone: the draws of all inserts before it are repeated in their order. It is safe for concurrent use.
type visits struct {
	p       *program
	count   *Distribution // inserts of a partition
	revisit *Distribution // of places, mirrored
	draws   gen.Stream    // of each insert
	counts  gen.Stream    // of each partition: its inserts

	mu     sync.Mutex
	next   uint64  // number of the next insert
	begun  uint64  // partitions
	recent []visit // of the inserts before next, by their number
	flight line
	bySeed map[int64]*unfinished
}

// mostAhead is how far the number of an insert may be behind the greatest one.
const mostAhead = 1 << 16

// unfinished is a partition that is begun and not complete.
type unfinished struct {
	seed           int64
	number         uint64
	rows           int64
	inserts, begun int64
	place          int
}

// newVisits returns the visits that options describe; nil if each partition is written by one insert.
func (p *program) newVisits(count, revisit *Distribution) (*visits, error) {
	switch {
	case count.Min < 1:
		return nil, fmt.Errorf("option visits of scripts: a partition has at least one insert")
	case revisit.Max-revisit.Min >= math.MaxInt32:
		return nil, fmt.Errorf("option revisit of scripts: at most 2147483647 partitions are written at a time")
	case count.Max == 1 || len(p.table.Key(ClusteringKey)) == 0:
		return nil, nil
	}
	mirrored := *revisit
	mirrored.Inverted = !mirrored.Inverted
	return &visits{p: p, count: count, revisit: &mirrored, draws: p.stream.Sub("revisit"), counts: p.stream.Sub("visits"),
		recent: make([]visit, mostAhead), bySeed: map[int64]*unfinished{}}, nil
}

// at returns what the insert with a number writes.
func (v *visits) at(number uint64) visit {
	v.mu.Lock()
	defer v.mu.Unlock()
	for v.next <= number {
		v.recent[v.next%mostAhead] = v.step()
		v.next++
	}
	return v.recent[number%mostAhead]
}

// step draws what the next insert writes.
func (v *visits) step() visit {
	r := v.draws.At(v.next)
	var u *unfinished
	if k := v.revisit.Draw(&r, v.next) - v.revisit.Min; k < int64(v.flight.size) {
		u = v.flight.at(int(k))
	} else {
		seed := v.p.population.Draw(&r, v.begun)
		if u = v.bySeed[seed]; u == nil {
			u = v.begin(seed)
		}
	}
	out := visit{seed: u.seed, number: u.number, first: u.begun == 0, from: share(u.rows, u.begun, u.inserts)}
	u.begun++
	out.to = share(u.rows, u.begun, u.inserts)
	if u.begun == u.inserts && u.inserts > 1 {
		v.flight.remove(u)
		delete(v.bySeed, u.seed)
	}
	return out
}

// share returns how many of n rows the first k of m inserts write.
func share(n, k, m int64) int64 { return n/m*k + n%m*k/m }

// begin begins a partition. It has no more inserts than rows.
func (v *visits) begin(seed int64) *unfinished {
	u := &unfinished{seed: seed, number: v.begun}
	v.begun++
	var w row
	v.p.partition(&w, seed)
	v.p.rows(&w, 0, nil, func(*row) { u.rows++ })
	r := v.counts.At(uint64(seed))
	if u.inserts = min(v.count.Draw(&r, uint64(seed)), u.rows); u.inserts > 1 {
		v.flight.add(u)
		v.bySeed[seed] = u
	}
	return u
}

// line is partitions in the order in which they were added. Each can be found by its place among those that are left,
// and be removed, in the logarithm of their number (a Fenwick tree of how many are left).
type line struct {
	all  []*unfinished // nil: removed
	sums []int         // sums[i] counts those of all[i+1-lowest bit of i+1 : i+1]
	size int
}

func lowestBit(i int) int { return i & -i }

// add adds a partition at the end.
func (l *line) add(u *unfinished) {
	if len(l.all) > 64 && len(l.all) > 2*l.size {
		left := l.all
		*l = line{}
		for _, one := range left {
			if one != nil {
				l.add(one)
			}
		}
	}
	u.place = len(l.all)
	l.all = append(l.all, u)
	l.size++
	end, sum := len(l.all), 1
	for i := end - 1; i > end-lowestBit(end); i -= lowestBit(i) {
		sum += l.sums[i-1]
	}
	l.sums = append(l.sums, sum)
}

// at returns the k-th partition that is left, from 0.
func (l *line) at(k int) *unfinished {
	step, at := 1, 0
	for step*2 <= len(l.sums) {
		step *= 2
	}
	for ; step > 0; step /= 2 {
		if at+step <= len(l.sums) && l.sums[at+step-1] <= k {
			at += step
			k -= l.sums[at-1]
		}
	}
	return l.all[at]
}

// remove removes a partition.
func (l *line) remove(u *unfinished) {
	l.all[u.place] = nil
	l.size--
	for i := u.place + 1; i <= len(l.sums); i += lowestBit(i) {
		l.sums[i-1]--
	}
}

// written knows which partitions of a sequence are written. It is safe for concurrent use.
type written struct {
	mu    sync.Mutex
	below uint64          // all partitions with a lower number are
	above map[uint64]bool // some others that are
}

// add adds the numbers of partitions.
func (w *written) add(numbers []uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range numbers {
		if n >= w.below {
			w.above[n] = true
		}
	}
	for w.above[w.below] {
		delete(w.above, w.below)
		w.below++
	}
}

// back returns the number of the partition that is some before the last one: of those that are written, or the first.
func (w *written) back(by int64) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch n := uint64(max(by, 1)); {
	case w.below == 0:
		return 0
	case n > w.below:
		return n % w.below
	default:
		return w.below - n
	}
}
