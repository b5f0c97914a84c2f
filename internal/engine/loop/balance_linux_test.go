package loop_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"brunt/internal/engine"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/protocol/balance"
	"brunt/internal/protocol/echo"
)

// balancedFleet is a fleet over several echo servers whose nodes may change.
type balancedFleet struct {
	t       *testing.T
	fleet   engine.Fleet
	servers []*echo.Server
	nodes   *protocol.Nodes
	cfg     engine.FleetConfig
	failed  atomic.Int64
	late    atomic.Int64 // failed operations that timed out
	next    uint64

	holding atomic.Bool   // the first server withholds its answers
	held    chan struct{} // receives a value for each withheld answer
	release chan struct{} // closed to send the withheld answers
}

// newBalancedFleet connects a fleet to the first members of the servers. The others may join later.
func newBalancedFleet(t *testing.T, codec bool, servers, members int, p *plan.Plan, o *balance.Options,
	change func(*engine.FleetConfig)) *balancedFleet {
	t.Helper()
	h := &balancedFleet{t: t, held: make(chan struct{}, 1000), release: make(chan struct{})}
	var targets []protocol.Target
	for i := range servers {
		s := listen(t, echo.Config{Answer: func(echo.Frame) bool {
			if i == 0 && h.holding.Load() {
				h.held <- struct{}{}
				<-h.release
			}
			return true
		}})
		h.servers = append(h.servers, s)
		targets = append(targets, protocol.Target{Address: s.Address()})
	}
	w, err := workload.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	h.nodes = protocol.NewNodes(targets[:members], servers-members)
	h.cfg = engine.FleetConfig{
		Workload: w, Driver: echo.Driver{}, Sessions: 4, OperationTimeout: 10 * time.Second,
		Collector: measure.NewCollector(len(w.Operations), servers), Clock: engine.NewClock(time.Now()),
		OnError: func(e engine.ErrorEvent) {
			if e.Operation >= 0 {
				h.failed.Add(1)
				if e.Failure.Class == protocol.Timeout {
					h.late.Add(1)
				}
			}
		}, Where: engine.Where{Nodes: h.nodes}, Dialing: engine.Dialing{ConnectTimeout: 5 * time.Second},
		ForLoops: engine.ForLoops{Pipeline: 1},
	}
	if o != nil {
		if h.cfg.RequestsBy, err = balance.NewBalancer(*o, h.nodes); err != nil {
			t.Fatal(err)
		}
	}
	if change != nil {
		change(&h.cfg)
	}
	h.fleet = connect(t, &h.cfg, echo.Driver{}, codec)
	return h
}

// run executes a number of operations and returns how many of them each server received.
func (h *balancedFleet) run(operations uint64) (counts []uint64) {
	h.t.Helper()
	before := h.requests()
	next, err := h.fleet.Run(context.Background(), nil,
		schedule.Stage{First: h.next, Operations: operations, StartNs: h.cfg.Clock.Now()})
	if err != nil {
		h.t.Fatal(err)
	}
	h.next = next
	for i, n := range h.requests() {
		counts = append(counts, n-before[i])
	}
	return counts
}

func (h *balancedFleet) requests() (all []uint64) {
	for _, s := range h.servers {
		all = append(all, s.Requests())
	}
	return all
}

// until runs operations until their counts by server satisfy ok.
func (h *balancedFleet) until(what string, ok func(counts []uint64) bool) {
	h.t.Helper()
	var counts []uint64
	for range 200 {
		if counts = h.run(400); ok(counts) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	h.t.Fatalf("%s: never; the last 400 operations went to %v", what, counts)
}

func TestRequestsAreSpread(t *testing.T) {
	for _, mode := range balance.Modes() {
		t.Run(mode, func(t *testing.T) {
			onBothTiers(t, func(t *testing.T, codec bool) {
				p := single()
				p.Operations[0].Steps[0].Params[0].Name = "id"
				if mode == "hash" {
					p.Target.Balance = plan.Balance{Mode: mode, Per: "request", Hash: "id"}
				}
				h := newBalancedFleet(t, codec, 3, 3, p,
					&balance.Options{Mode: mode, Window: time.Minute, Weights: weightsOf(mode)},
					nil)
				counts := h.run(3000)
				if sum := counts[0] + counts[1] + counts[2]; sum != 3000 {
					t.Errorf("%d requests reached the servers, want 3000", sum)
				}
				if mode == "weighted" && !slices.Equal(counts, []uint64{1800, 600, 600}) {
					t.Errorf("weights 3, 1, 1 gave %v", counts)
				}
				if mode == "round-robin" && !slices.Equal(counts, []uint64{1000, 1000, 1000}) {
					t.Errorf("in turn: %v", counts)
				}
				if slices.Min(counts) < 500 {
					t.Errorf("an address had next to nothing: %v", counts)
				}
				if h.failed.Load() > 0 {
					t.Errorf("%d failed", h.failed.Load())
				}
			})
		})
	}
}

func weightsOf(mode string) []int {
	if mode == "weighted" {
		return []int{3, 1, 1}
	}
	return nil
}

// The death of a node fails only the requests in flight there, and the node is used again when it is back.
func TestOthersServeForANodeThatDied(t *testing.T) {
	onBothTiers(t, func(t *testing.T, codec bool) {
		h := newBalancedFleet(t, codec, 3, 3, single(), &balance.Options{}, nil)
		h.run(300)
		h.servers[1].Kill()
		h.until("the others have everything", func(c []uint64) bool { return c[1] == 0 && c[0]+c[2] == 400 })
		before := h.failed.Load()
		if before > 4 {
			t.Errorf("%d operations failed of 4 sessions", before)
		}
		if c := h.run(400); c[0]+c[2] != 400 || h.failed.Load() != before {
			t.Errorf("while the node is down: %v, %d failed", c, h.failed.Load()-before)
		}
		if err := h.servers[1].Return(); err != nil {
			t.Fatal(err)
		}
		h.until("it is used again", func(c []uint64) bool { return c[1] > 100 })
	})
}

func nodesOf(servers ...*echo.Server) (all []protocol.Node) {
	for _, s := range servers {
		all = append(all, protocol.Node{Address: s.Address()})
	}
	return all
}

// Nodes that join get their share of requests, and nodes that leave get no more requests, without a failure.
func TestNodesJoinAndLeave(t *testing.T) {
	for _, per := range []string{"session", "request"} {
		t.Run("per "+per, func(t *testing.T) {
			onBothTiers(t, func(t *testing.T, codec bool) {
				var o *balance.Options
				if per == "request" {
					o = &balance.Options{}
				}
				h := newBalancedFleet(t, codec, 3, 2, single(), o, nil)
				if c := h.run(400); c[2] != 0 {
					t.Fatalf("a node that isn't there got %v", c)
				}
				changes := h.nodes.Update(nodesOf(h.servers...), true, protocol.Target{})
				if want := fmt.Sprint(changes); len(changes) != 1 || changes[0].What != protocol.Joined ||
					changes[0].Number != 2 {
					t.Fatalf("changes: %s", want)
				}
				h.until("it has its share", func(c []uint64) bool { return c[2] > 50 && c[0] > 50 && c[1] > 50 })
				h.nodes.Update(nodesOf(h.servers[1], h.servers[2]), true, protocol.Target{})
				h.until("the other two share", func(c []uint64) bool { return c[0] == 0 && c[1] > 50 && c[2] > 50 })
				if c := h.run(400); c[0] != 0 {
					t.Errorf("a node that has left got %v", c)
				}
				h.nodes.Update(nodesOf(h.servers...), true, protocol.Target{})
				h.until("it is back", func(c []uint64) bool { return c[0] > 50 })
				if h.failed.Load() > 0 {
					t.Errorf("%d failed", h.failed.Load())
				}
			})
		})
	}
}

// Sessions at a node that leaves are closed at once if the configuration asks for it.
func TestLeavingIsDropped(t *testing.T) {
	for _, per := range []string{"session", "request"} {
		t.Run("per "+per, func(t *testing.T) {
			onBothTiers(t, func(t *testing.T, codec bool) {
				var o *balance.Options
				if per == "request" {
					o = &balance.Options{}
				}
				h := newBalancedFleet(t, codec, 2, 2, single(), o, func(c *engine.FleetConfig) { c.DropLeaving = true })
				h.run(100)
				defer close(h.release)
				h.holding.Store(true)
				ended := make(chan []uint64)
				go func() { ended <- h.run(400) }()
				<-h.held
				h.nodes.Update(nodesOf(h.servers[1]), true, protocol.Target{})
				<-ended
				if n := h.failed.Load(); n < 1 || n > 4 {
					t.Errorf("%d failed, want those under way of 4 sessions", n)
				}
				if n := h.late.Load(); n > 0 {
					t.Errorf("%d waited for their timeout", n)
				}
			})
		})
	}
}

// Operations for a role go to the nodes that have it, also after it moves.
func TestOperationsFollowRoles(t *testing.T) {
	onBothTiers(t, func(t *testing.T, codec bool) {
		p := single()
		p.Operations[0].Route = "primary"
		h := newBalancedFleet(t, codec, 3, 3, p, &balance.Options{}, nil)
		role := func(primary int) {
			var all []protocol.Node
			for i, s := range h.servers {
				n := protocol.Node{Address: s.Address(), Role: protocol.Replica}
				if i == primary {
					n.Role = protocol.Primary
				}
				all = append(all, n)
			}
			h.nodes.Update(all, true, protocol.Target{})
		}
		role(1)
		if c := h.run(300); !slices.Equal(c, []uint64{0, 300, 0}) {
			t.Errorf("writes went to %v", c)
		}
		role(2)
		if c := h.run(300); !slices.Equal(c, []uint64{0, 0, 300}) {
			t.Errorf("after the change writes went to %v", c)
		}
		role(-1)
		if c := h.run(3); !slices.Equal(c, []uint64{0, 0, 0}) || h.failed.Load() != 3 {
			t.Errorf("without a primary writes went to %v, %d failed", c, h.failed.Load())
		}
	})
}
