package balance

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"brunt/internal/protocol"
)

// nodesOf returns n nodes, with room for n more.
func nodesOf(n int) *protocol.Nodes {
	var targets []protocol.Target
	for i := range n {
		targets = append(targets, protocol.Target{Address: fmt.Sprintf("10.0.0.%d:5432", i+1)})
	}
	return protocol.NewNodes(targets, n)
}

func all(n *protocol.Nodes) Set {
	s := NewSet(n.Cap())
	for i := range n.Len() {
		s.Add(i)
	}
	return s
}

func newBalancer(tb testing.TB, o Options, nodes *protocol.Nodes) *Balancer {
	tb.Helper()
	b, err := NewBalancer(o, nodes)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

const keys = 20_000

// owners returns the node of each of many keys.
func owners(t *testing.T, b *Balancer, up Set) (of []int) {
	t.Helper()
	for i := range keys {
		node, ok := b.Pick(protocol.AnyRole, keyOf(i), up)
		if !ok {
			t.Fatal("no node for a key")
		}
		of = append(of, node)
	}
	return of
}

// If a node is lost, because it is down or has left, only its own keys move. The same holds when it returns.
func TestALostNodeMovesItsOwnKeysOnly(t *testing.T) {
	nodes := nodesOf(5)
	b := newBalancer(t, Options{Mode: "hash"}, nodes)
	up := all(nodes)
	before := owners(t, b, up)
	count := make([]int, 5)
	for _, node := range before {
		count[node]++
	}
	for node, n := range count {
		if share := float64(n) / keys; share < 0.15 || share > 0.25 {
			t.Errorf("node %d has %.1f %% of the keys, want about 20 %%", node, 100*share)
		}
	}
	check := func(t *testing.T, after []int) {
		moved := 0
		for i := range after {
			switch {
			case after[i] == 2:
				t.Fatalf("key %d is at the node that was lost", i)
			case before[i] == 2:
				moved++
			case before[i] != after[i]:
				t.Fatalf("key %d moved from node %d to %d", i, before[i], after[i])
			}
		}
		if moved != count[2] {
			t.Errorf("%d keys moved, want the %d of the node lost", moved, count[2])
		}
	}
	t.Run("down", func(t *testing.T) {
		up.Remove(2)
		check(t, owners(t, b, up))
		up.Add(2)
	})
	t.Run("left", func(t *testing.T) {
		var others []protocol.Node
		for i, target := range nodes.All() {
			if i != 2 {
				others = append(others, protocol.Node{Address: target.Address})
			}
		}
		nodes.Update(others, true, protocol.Target{})
		check(t, owners(t, b, up))
	})
	t.Run("returned", func(t *testing.T) {
		nodes.Update([]protocol.Node{{Address: nodes.At(2).Address}}, false, protocol.Target{})
		for i, node := range owners(t, b, up) {
			if node != before[i] {
				t.Fatalf("key %d is at node %d, and was at %d", i, node, before[i])
			}
		}
	})
}

// A key that is requested very often doesn't give its node more than the bound.
func TestLoadsAreBounded(t *testing.T) {
	const requests = 1000
	for _, bound := range []float64{1.1, 1.25, 2} {
		nodes := nodesOf(4)
		b := newBalancer(t, Options{Mode: "hash", Bound: bound}, nodes)
		most := 0
		under := make([]int, 4)
		for range requests {
			node, _ := b.Pick(protocol.AnyRole, 42, all(nodes))
			b.Begin(node)
			under[node]++
			most = max(most, under[node])
		}
		if limit := int(math.Ceil(bound * requests / 4)); most > limit {
			t.Errorf("bound %g: a node has %d of %d under way, want at most %d", bound, most, requests, limit)
		}
		for node, n := range under {
			for range n {
				b.End(node)
			}
		}
		if n := b.total.Load(); n != 0 {
			t.Errorf("bound %g: %d are under way after the last has ended", bound, n)
		}
	}
}

func TestTheLeastBusyIsChosen(t *testing.T) {
	for _, mode := range []string{"least-outstanding", "two-choices"} {
		t.Run(mode, func(t *testing.T) {
			nodes := nodesOf(3)
			b := newBalancer(t, Options{Mode: mode}, nodes)
			for range 10 {
				b.Begin(1)
			}
			for range 300 {
				node, ok := b.Pick(protocol.AnyRole, 0, all(nodes))
				if !ok || node == 1 {
					t.Fatalf("node %d of the busy one and two that are free", node)
				}
			}
			up := NewSet(nodes.Cap())
			up.Add(1)
			if node, ok := b.Pick(protocol.AnyRole, 0, up); !ok || node != 1 {
				t.Errorf("node %d, %v, although only the busy one is there", node, ok)
			}
			if _, ok := b.Pick(protocol.AnyRole, 0, NewSet(nodes.Cap())); ok {
				t.Error("a node of none")
			}
		})
	}
}

// A node that returned has half of its share after half of the time.
func TestSlowStart(t *testing.T) {
	nodes, now := nodesOf(2), int64(0)
	b := newBalancer(t, Options{Mode: "weighted", SlowStart: time.Minute, Now: func() int64 { return now }}, nodes)
	share := func() float64 {
		n := 0
		for range 10_000 {
			if node, _ := b.Pick(protocol.AnyRole, 0, all(nodes)); node == 1 {
				n++
			}
		}
		return float64(n) / 10_000
	}
	if s := share(); s != 0.5 {
		t.Errorf("before: %.3f", s)
	}
	now = int64(time.Hour)
	b.Returned(1)
	for _, c := range []struct{ passed, want float64 }{{0, 0}, {0.5, 0.25}, {1, 0.5}} {
		now = int64(time.Hour) + int64(c.passed*float64(time.Minute))
		if s := share(); math.Abs(s-c.want) > 0.02 {
			t.Errorf("after %g of its time it has %.3f of the load, want %.3f", c.passed, s, c.want)
		}
	}
}

// A node that was restarted begins slowly, although it never left the list of nodes. A session that connects again
// while others use the node doesn't make it slow.
func TestSlowStartAfterARestart(t *testing.T) {
	for name, row := range map[string]struct {
		away int // turns without the node
		all  bool
		want float64
	}{"lost by all": {1000, true, 0}, "lost by one session": {1000, false, 0.5}, "lost for a moment": {4, true, 0.5}} {
		t.Run(name, func(t *testing.T) {
			nodes, now := nodesOf(2), int64(1)
			b := newBalancer(t, Options{Mode: "weighted", SlowStart: time.Minute, Now: func() int64 { return now }}, nodes)
			without := Set{1}
			for range row.away {
				b.Pick(protocol.AnyRole, 0, without)
				if !row.all {
					b.Pick(protocol.AnyRole, 0, all(nodes))
					b.Pick(protocol.AnyRole, 0, all(nodes))
				}
			}
			n := 0
			for range 1000 {
				if node, _ := b.Pick(protocol.AnyRole, 0, all(nodes)); node == 1 {
					n++
				}
			}
			if got := float64(n) / 1000; math.Abs(got-row.want) > 0.02 {
				t.Errorf("it has %.3f of the load, want %.3f", got, row.want)
			}
		})
	}
}

func TestTheNearestIsChosen(t *testing.T) {
	nodes := nodesOf(3)
	up := all(nodes)
	t.Run("by connect time", func(t *testing.T) {
		b := newBalancer(t, Options{Mode: "nearest", Window: time.Millisecond}, nodes)
		b.Connected(0, 5e6)
		b.Connected(1, 1e6)
		b.Connected(2, 1.5e6)
		got := map[int]int{}
		for range 100 {
			node, _ := b.Pick(protocol.AnyRole, 0, up)
			got[node]++
		}
		if got[0] != 0 || got[1] != 50 || got[2] != 50 {
			t.Errorf("%v, want the nearer two in turn", got)
		}
	})
	t.Run("by zone", func(t *testing.T) {
		b := newBalancer(t, Options{Mode: "nearest", Zone: "a", Zones: map[string]string{
			nodes.At(0).Address: "b", nodes.At(1).Address: "b", nodes.At(2).Address: "a"}}, nodes)
		if node, _ := b.Pick(protocol.AnyRole, 0, up); node != 2 {
			t.Errorf("node %d isn't in the zone", node)
		}
		up.Remove(2)
		if node, ok := b.Pick(protocol.AnyRole, 0, up); !ok || node == 2 {
			t.Errorf("node %d, %v, while that of the zone is down", node, ok)
		}
	})
}

// Requests for a bucket go to its node. They go to the other nodes in turn if that node is down or isn't known.
func TestBucketsHaveTheirNodes(t *testing.T) {
	nodes := nodesOf(3)
	b, up := newBalancer(t, Options{Mode: "bucket"}, nodes), all(nodes)
	spread := func(bucket uint64) (of [3]int, known, right bool) {
		for range 30 {
			node, ok := b.Pick(protocol.AnyRole, bucket, up)
			if !ok {
				t.Fatal("no node")
			}
			known, right = b.Placed(bucket, node)
			of[node]++
		}
		return of, known, right
	}
	check := func(t *testing.T, bucket uint64, want [3]int, wantKnown, wantRight bool) {
		t.Helper()
		got, known, right := spread(bucket)
		if got != want {
			t.Errorf("bucket %d: %v, want %v", bucket, got, want)
		}
		if known != wantKnown || known && right != wantRight {
			t.Errorf("bucket %d: known %v, right %v", bucket, known, right)
		}
	}
	t.Run("nobody was asked yet", func(t *testing.T) { check(t, 1, [3]int{10, 10, 10}, false, false) })
	b.SetBuckets([]int32{0, 3, 1, 0})
	t.Run("known", func(t *testing.T) {
		check(t, 1, [3]int{0, 0, 30}, true, true)
		check(t, 2, [3]int{30, 0, 0}, true, true)
	})
	t.Run("unknown", func(t *testing.T) { check(t, 3, [3]int{10, 10, 10}, false, false) })
	t.Run("beyond the last", func(t *testing.T) { check(t, 4, [3]int{10, 10, 10}, false, false) })
	t.Run("its node is down", func(t *testing.T) {
		up.Remove(2)
		defer up.Add(2)
		got, known, right := spread(1)
		if got[2] > 0 || got[0] == 0 || got[1] == 0 || !known || right {
			t.Errorf("%v, known %v, right %v", got, known, right)
		}
	})
	t.Run("moved", func(t *testing.T) {
		b.SetBuckets([]int32{0, 2, 1, 3})
		check(t, 1, [3]int{0, 30, 0}, true, true)
	})
}

func TestBalancerRefusals(t *testing.T) {
	for _, c := range []struct {
		o   Options
		say string
	}{
		{Options{Mode: "fastest"}, "unknown mode"},
		{Options{Mode: "hash", Bound: 0.9}, "above 1"},
		{Options{Mode: "weighted", SlowStart: 1}, "clock"},
		{Options{Mode: "weighted", Weights: []int{1, 0}}, "weight 0 of address 2"},
	} {
		_, err := NewBalancer(c.o, nodesOf(2))
		if err == nil || !strings.Contains(err.Error(), c.say) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v, want a line with %q", c.o, err, c.say)
		}
	}
}

func TestPickAllocatesNothing(t *testing.T) {
	for _, mode := range Modes() {
		nodes := nodesOf(6)
		b, up := newBalancer(t, Options{Mode: mode}, nodes), all(nodes)
		if n := testing.AllocsPerRun(100, func() {
			node, _ := b.Pick(protocol.AnyRole, 7, up)
			b.Begin(node)
			b.End(node)
		}); n != 0 {
			t.Errorf("%s: %g allocations", mode, n)
		}
	}
}

// Sessions of a node that left move to the others, and a node that joined gets its share. No other session moves.
func TestHomes(t *testing.T) {
	for _, mode := range []string{"round-robin", "least-outstanding", "hash"} {
		t.Run(mode, func(t *testing.T) {
			nodes := nodesOf(2)
			var by *Balancer
			if mode != "round-robin" {
				by = newBalancer(t, Options{Mode: mode}, nodes)
			}
			h := NewHomes(90, RoundRobin(2), by, nodes)
			nodes.OnChange(h.Move)
			count := func() (of []int) {
				of = make([]int, 3)
				for i := range 90 {
					of[h.Of(i)]++
				}
				return of
			}
			nodes.Update([]protocol.Node{{Address: "10.0.0.3:5432"}}, false, protocol.Target{})
			if c := count(); c[2] < 15 || c[2] > 45 {
				t.Errorf("the node that joined has %d sessions of 90", c[2])
			}
			before := make([]int, 90)
			for i := range before {
				before[i] = h.Of(i)
			}
			nodes.Update([]protocol.Node{{Address: nodes.At(1).Address}, {Address: nodes.At(2).Address}}, true,
				protocol.Target{})
			if c := count(); c[0] != 0 {
				t.Errorf("the node that left has %d sessions", c[0])
			}
			for i := range before {
				if mode == "round-robin" && before[i] != 0 && h.Of(i) != before[i] {
					t.Errorf("session %d moved from %d to %d", i, before[i], h.Of(i))
				}
			}
		})
	}
}

func BenchmarkPick(b *testing.B) {
	for _, mode := range Modes() {
		b.Run(mode, func(b *testing.B) {
			nodes := nodesOf(6)
			l, up := newBalancer(b, Options{Mode: mode}, nodes), all(nodes)
			owner := make([]int32, 3001)
			for i := range owner {
				owner[i] = int32(i%6) + 1
			}
			l.SetBuckets(owner)
			b.ReportAllocs()
			for i := range b.N {
				key := keyOf(i)
				if mode == "bucket" {
					key = key%3000 + 1
				}
				node, _ := l.Pick(protocol.AnyRole, key, up)
				l.Begin(node)
				l.End(node)
			}
		})
	}
}
