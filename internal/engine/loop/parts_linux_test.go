package loop

import (
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"brunt/internal/engine"
	"brunt/internal/measure"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
)

func TestTimersComeInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 200
	flights := make([]request, n)
	timers := newTimers(n)
	in := map[*request]bool{}
	for range 20_000 {
		f := &flights[r.IntN(n)]
		switch {
		case !in[f]:
			timers.add(f, r.Int64N(1000))
			in[f] = true
		case r.IntN(3) == 0:
			timers.remove(f)
			delete(in, f)
		default:
			first := timers.pop(never - 1)
			if first == nil || !in[first] {
				t.Fatal("popped what isn't in")
			}
			delete(in, first)
			for other := range in {
				if other.wakeAt < first.wakeAt {
					t.Fatalf("popped %d before %d", first.wakeAt, other.wakeAt)
				}
			}
		}
		if len(timers.heap) != len(in) {
			t.Fatalf("%d timers, want %d", len(timers.heap), len(in))
		}
	}
	if timers.pop(-1) != nil {
		t.Error("popped what isn't due")
	}
}

func TestDeadlinesKeepTheirOrder(t *testing.T) {
	d := deadlines{timeout: 10}
	flights := make([]request, 5)
	for i := range flights {
		flights[i].began = int64(i)
		d.add(&flights[i])
	}
	for _, i := range []int{2, 0, 0, 4} {
		d.remove(&flights[i])
	}
	var got []int64
	for d.next() != never {
		got = append(got, d.next())
		d.remove(d.first)
	}
	if len(got) != 2 || got[0] != 11 || got[1] != 13 || d.last != nil {
		t.Errorf("expire at %v, want 11 and 13", got)
	}
}

func TestEveryLoopHasSessionsOfEveryAddress(t *testing.T) {
	for addresses := 1; addresses <= 6; addresses++ {
		for loops := 1; loops <= 6; loops++ {
			cfg := engine.FleetConfig{
				Sessions: addresses * loops * 2, Workload: &workload.Workload{},
				Where: engine.Where{Targets: make([]protocol.Target, addresses)},
			}
			count := map[[2]int]int{}
			perLoop := map[int]int{}
			cfg.Nodes = protocol.NewNodes(cfg.Targets, 0)
			route := cfg.NewRoute()
			for id, loop := range spread(&cfg, &route, loops) {
				count[[2]int{loop, route.Home(id)}]++
				perLoop[loop]++
			}
			if len(count) != addresses*loops {
				t.Errorf("%d addresses, %d loops: %d of the pairs have a session", addresses, loops, len(count))
			}
			for loop := range loops {
				if perLoop[loop] != cfg.Sessions/loops {
					t.Errorf("%d addresses, %d loops: loop %d has %d of %d sessions", addresses, loops, loop, perLoop[loop],
						cfg.Sessions)
				}
			}
		}
	}
}

// uneven assigns nine sessions to the last address and the others to the first one.
func uneven(session int) int {
	if session < 9 {
		return 2
	}
	return 0
}

// Sessions are assigned to the addresses that the policy chooses, and loops get equal numbers of sessions.
func TestSessionsFollowThePolicy(t *testing.T) {
	cfg := engine.FleetConfig{
		Sessions: 12, Workload: &workload.Workload{},
		Where: engine.Where{Targets: make([]protocol.Target, 3), Balance: uneven},
	}
	cfg.Nodes = protocol.NewNodes(cfg.Targets, 0)
	route := cfg.NewRoute()
	perLoop := map[int]int{}
	last := map[int]int{}
	for id, loop := range spread(&cfg, &route, 3) {
		perLoop[loop]++
		if route.Home(id) == 0 {
			last[loop]++
		}
	}
	for loop := range 3 {
		if perLoop[loop] != 4 || last[loop] != 1 {
			t.Errorf("loop %d has %d sessions, %d of the last address", loop, perLoop[loop], last[loop])
		}
	}
}

func TestFewestLoops(t *testing.T) {
	for _, c := range []struct {
		config engine.FleetConfig
		cores  int
		want   int
	}{
		{engine.FleetConfig{Sessions: 16}, 8, 1},
		{engine.FleetConfig{Sessions: 16, ForLoops: engine.ForLoops{PeakPerS: 50_000}}, 8, 1},
		{engine.FleetConfig{Sessions: 16, ForLoops: engine.ForLoops{PeakPerS: 120_000}}, 8, 3},
		{engine.FleetConfig{Sessions: 16, ForLoops: engine.ForLoops{PeakPerS: 1e6}}, 8, 7},
		{engine.FleetConfig{Sessions: 2500}, 8, 3},
		{engine.FleetConfig{Sessions: 2500}, 1, 1},
		{engine.FleetConfig{Sessions: 2, ForLoops: engine.ForLoops{Loops: 5}}, 8, 2},
		{engine.FleetConfig{Sessions: 20, ForLoops: engine.ForLoops{Loops: 5}}, 2, 5},
	} {
		if got := loopCount(&c.config, c.cores); got != c.want {
			t.Errorf("%d sessions, %d loops asked for, %d cores: %d loops, want %d", c.config.Sessions, c.config.Loops, c.cores,
				got, c.want)
		}
	}
}

func TestRetryingEveryFailureIsRefused(t *testing.T) {
	if _, err := NewFleet(engine.FleetConfig{
		Workload: &workload.Workload{}, Collector: measure.NewCollector(1, 1),
		Where: engine.Where{Targets: make([]protocol.Target, 1)}, Retrying: engine.Retrying{RetryErrors: true, Retries: 1},
	}, nil); err == nil || !strings.Contains(err.Error(), "needs the library tier") {
		t.Errorf("every failure is retried: %v", err)
	}
}

func TestKernelTellsWhenItReceived(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	near, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	fd, err := detach(near)
	if err != nil {
		t.Fatal(err)
	}
	stampSocket(fd, true)
	clock := engine.NewClock(time.Now())
	k := kernelTime{clock: clock}
	k.calibrate()
	var sent, woke, stamp int64
	// The kernel begins to put timestamps on packets a while after it is asked to.
	for try := 0; stamp == 0; try++ {
		sent = clock.Now()
		if _, err := far.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Millisecond)
		woke = clock.Now()
		var r receiver
		var buf [8]byte
		n, at, errno := r.read(fd, buf[:], true)
		if n != 1 || errno != 0 || try == 100 {
			t.Fatalf("read %d bytes, error %v, timestamp %d", n, errno, at)
		}
		stamp = at
	}
	if at := k.run(stamp, sent, clock.Now()); at < sent || at >= woke {
		t.Errorf("received at %d, want a time from %d on and before %d", at, sent, woke)
	}
	if at := k.run(1, 10, 20); at != 10 {
		t.Errorf("an impossible timestamp gives %d, want the least possible 10", at)
	}
	if at := k.run(0, 10, 20); at != 20 {
		t.Errorf("no timestamp gives %d, want now, 20", at)
	}
}
