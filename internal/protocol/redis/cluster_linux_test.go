package redis

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/load/schedule"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/test/testserver"

	goredis "github.com/redis/go-redis/v9"
)

// many returns a plan of commands on keys of all slots, with each kind of outcome.
func many() *plan.Plan {
	read := step("GET", "key:$1")
	read.Request.Capture = []protocol.Capture{{}}
	copied := step("SET", "copy:$1", "$2")
	copied.Params = []plan.Param{{Step: 0, Index: 0, Argument: true}, {Step: 0, Index: 0}}
	return &plan.Plan{Seed: 5, Operations: []plan.Operation{
		{Name: "set", Weight: 2, Steps: []plan.Step{step("SET", "key:$1", "$1")}},
		{Name: "miss", Weight: 1, Steps: []plan.Step{step("GET", "no:$1")}},
		{Name: "copy", Weight: 1, Steps: []plan.Step{read, copied}},
		{Name: "script", Weight: 1,
			Steps: []plan.Step{step("EVAL", "return redis.call('SET', KEYS[1], 1)", "1", "script:$1")}},
		{Name: "wrong", Weight: 1, Steps: []plan.Step{step("EVAL", "return redis.error_reply('ERR no')", "1", "{a}$1")}},
		{Name: "keyless", Weight: 1, Steps: []plan.Step{step("ECHO", "$1")}},
	}}
}

func TestTiersAgreeOnACluster(t *testing.T) {
	cluster := servers.RedisCluster(t)
	var want string
	for _, o := range []loadOptions{
		{library: true, sessions: 4}, {sessions: 4}, {sessions: 1}, {sessions: 6, loops: 2, pipeline: 8},
		{sessions: 4, pipeline: 4},
	} {
		for _, n := range cluster.Nodes {
			admin(t, n).FlushAll(t.Context())
		}
		o.plan = many()
		l := newLoad(t, cluster.Addrs()[1], o)
		l.run(t.Context(), schedule.Stage{Operations: 2000})
		shape, err := schedule.NewShape([]schedule.Segment{{DurationNs: 2e8, RateFrom: 2000, RateTo: 2000}}, 0)
		if err != nil {
			t.Fatal(err)
		}
		l.run(t.Context(), schedule.Stage{Shape: shape})
		sum, total := l.counts()
		got := fmt.Sprintf("%d done, %d errors of the server, %d failed, %d missing; %d keys", sum.Done,
			sum.Errors[protocol.Server], sum.Failed(), sum.Missing, keys(t, cluster))
		if want == "" {
			want = got
		}
		if got != want || sum.Done != 2400 || sum.Failed() != sum.Errors[protocol.Server] {
			t.Errorf("%+v: %s; the library tier: %s", o, got, want)
		}
		for i := range total.Addresses {
			if a := &total.Addresses[i]; !o.library && (a.Done < 400 || a.Retries != 0) {
				t.Errorf("%+v: address %d did %d operations with %d redirections", o, i, a.Done, a.Retries)
			}
		}
		l.fleet.Close()
	}
}

func keys(t *testing.T, c *testserver.Cluster) (n int64) {
	for _, node := range c.Nodes {
		n += admin(t, node).DBSize(t.Context()).Val()
	}
	return n
}

func admin(t *testing.T, n *testserver.Server) *goredis.Client {
	c := goredis.NewClient(&goredis.Options{Addr: n.Addr, MaxRetries: -1, ReadTimeout: time.Minute})
	t.Cleanup(func() { c.Close() })
	return c
}

// tell sends a command that must be answered by OK.
func tell(t *testing.T, n *testserver.Server, command string) {
	t.Helper()
	var words []any
	for _, w := range strings.Fields(command) {
		words = append(words, w)
	}
	if answer, err := admin(t, n).Do(t.Context(), words...).Result(); err != nil ||
		!strings.HasPrefix(fmt.Sprint(answer), "OK") && !strings.Contains(command, "BUMPEPOCH") {
		t.Fatalf("%s: %v %v", command, answer, err)
	}
}

// lost is a driver that sends everything to the first address.
type lost struct{ *Driver }

type lostRouter struct{ *router }

func (d lost) Router(nodes *protocol.Nodes, p *protocol.Program) protocol.Router {
	r := d.Driver.Router(nodes, p).(*router)
	for i := range r.slots {
		r.slots[i].Store(1)
	}
	for i := range r.serves {
		r.serves[i].Store(true)
	}
	return lostRouter{r}
}

func (lostRouter) Refresh(context.Context) error { return nil }

func TestEachSlotIsLearnedFromOneRedirection(t *testing.T) {
	cluster := servers.RedisCluster(t)
	const n = 3000
	p := &plan.Plan{Seed: 9,
		Operations: []plan.Operation{{Name: "set", Weight: 1, Steps: []plan.Step{step("SET", "key:$1", "$1")}}}}
	l := newLoad(t, cluster.Addrs()[0], loadOptions{plan: p, protocol: lost{New()}, sessions: 1})
	l.run(t.Context(), schedule.Stage{Operations: n})
	elsewhere := map[uint16]bool{}
	var st workload.State
	for i := range uint64(n) {
		arg := l.workload.Args(&st, 0, 0, i)[0].I
		// The first node has the first third of the slots.
		if slot := Slot([]byte("key:" + strconv.FormatInt(arg, 10))); int(slot) >= Slots/3 {
			elsewhere[slot] = true
		}
	}
	sum, total := l.counts()
	if sum.OK() != n || sum.Retries != uint64(len(elsewhere)) || len(elsewhere) < 1000 {
		t.Errorf("%d of %d succeeded with %d redirections, want %d; %v", sum.OK(), n, sum.Retries, len(elsewhere),
			l.failures())
	}
	if sum.Misdirected != uint64(len(elsewhere)) {
		t.Errorf("%d of %d operations were misdirected, want %d", sum.Misdirected, n, len(elsewhere))
	}
	for i := range total.Addresses {
		if total.Addresses[i].Done < n/4 {
			t.Errorf("address %d did %d operations", i, total.Addresses[i].Done)
		}
	}
}

// While a slot moves from one node to another key by key, no operation fails.
func TestSlotMigratesUnderLoad(t *testing.T) {
	cluster := testserver.RedisCluster(t)
	const slotKeys = 40
	tagged := step("SET", "{m}:$1", "$1")
	tagged.Params[0].Value.IntHi = slotKeys - 1
	p := &plan.Plan{Seed: 3, Operations: []plan.Operation{
		{Name: "tagged", Weight: 2, Steps: []plan.Step{tagged}},
		{Name: "other", Weight: 1, Steps: []plan.Step{step("SET", "other:$1", "$1")}},
	}}
	slot := int(Slot([]byte("m")))
	from := cluster.Nodes[slot*3/Slots]
	for _, o := range []loadOptions{{library: true, sessions: 4}, {sessions: 4}, {sessions: 2, pipeline: 8}} {
		to := cluster.Nodes[0]
		if to == from {
			to = cluster.Nodes[1]
		}
		o.plan = p
		l := newLoad(t, cluster.Addrs()[2], o)
		l.run(t.Context(), schedule.Stage{Operations: 500})
		for _, n := range cluster.Nodes {
			tell(t, n, "CONFIG RESETSTAT")
		}
		stop := l.background()
		ids := map[*testserver.Server]string{}
		for _, n := range cluster.Nodes {
			ids[n] = admin(t, n).ClusterMyID(t.Context()).Val()
		}
		tell(t, to, fmt.Sprintf("CLUSTER SETSLOT %d IMPORTING %s", slot, ids[from]))
		tell(t, from, fmt.Sprintf("CLUSTER SETSLOT %d MIGRATING %s", slot, ids[to]))
		for i := range slotKeys {
			if i == slotKeys/2 {
				l.after("half of the keys have moved", 500, either)
			}
			if err := admin(t, from).Migrate(t.Context(), to.Host, strconv.Itoa(to.Port), fmt.Sprintf("{m}:%d", i), 0,
				time.Minute).Err(); err != nil {
				t.Fatalf("key %d doesn't move: %v", i, err)
			}
		}
		l.after("all keys have moved", 500, either)
		for _, n := range []*testserver.Server{to, from, cluster.Nodes[0], cluster.Nodes[1], cluster.Nodes[2]} {
			tell(t, n, fmt.Sprintf("CLUSTER SETSLOT %d NODE %s", slot, ids[to]))
		}
		l.after("the slot has moved", 500, either)
		stop()
		if failed := l.failures(); len(failed) != 0 {
			t.Errorf("%+v: %d failures, the first: %+v", o, len(failed), failed[0])
		}
		asks, moves := errorStat(t, from, "ASK"), errorStat(t, from, "MOVED")
		sum, _ := l.counts()
		if asks < 20 || moves == 0 {
			t.Errorf("%+v: the server sent %d ASK and %d MOVED", o, asks, moves)
		}
		if !o.library && sum.Retries != uint64(asks+moves) {
			t.Errorf("%+v: %d retries recorded for %d ASK and %d MOVED", o, sum.Retries, asks, moves)
		}
		if n := sum.Misdirected; n < 20 || n > uint64(asks+moves) {
			t.Errorf("%+v: %d operations misdirected with %d ASK and %d MOVED", o, n, asks, moves)
		}
		l.run(t.Context(), schedule.Stage{Operations: 500})
		if after, _ := l.counts(); !o.library && after.Misdirected != sum.Misdirected {
			t.Errorf("%+v: %d further operations misdirected after the slot was known to have moved", o,
				after.Misdirected-sum.Misdirected)
		}
		if again := errorStat(t, from, "MOVED"); !o.library && again != moves {
			t.Errorf("%+v: %d further MOVED after the slot was known to have moved", o, again-moves)
		}
		l.fleet.Close()
		from = to
	}
}

// errorStat returns how many errors of a kind a server has returned.
func errorStat(t *testing.T, n *testserver.Server, kind string) (count int) {
	t.Helper()
	for line := range strings.Lines(admin(t, n).Info(t.Context(), "errorstats").Val()) {
		fmt.Sscanf(line, "errorstat_"+kind+":count=%d", &count)
	}
	return count
}

func spreadPlan() *plan.Plan {
	return &plan.Plan{Seed: 3,
		Operations: []plan.Operation{{Name: "set", Weight: 1, Steps: []plan.Step{step("SET", "key:$1", "$1")}}}}
}

// A node that dies fails only its own requests, and receives requests again when it returns.
func TestDeadNodeCostsItsRequestsOnly(t *testing.T) {
	cluster := testserver.RedisCluster(t)
	for _, n := range cluster.Nodes {
		tell(t, n, "CONFIG SET cluster-require-full-coverage no")
		tell(t, n, "CONFIG SET cluster-node-timeout 2000") // after which a node counts as dead
	}
	l := newLoad(t, cluster.Addrs()[0], loadOptions{plan: spreadPlan(), sessions: 4})
	stop := l.background()
	l.after("all nodes are there", 300, succeeds)
	if failed := l.failures(); len(failed) > 0 {
		t.Errorf("before the death: %+v", failed[0])
	}
	cluster.Nodes[2].Kill()
	l.after("it has died", 1, func(ok bool) bool { return !ok })
	l.after("the others go on", 300, either)
	before, _ := l.counts()
	cluster.Nodes[2].Restart()
	tell(t, cluster.Nodes[2], "CONFIG SET cluster-require-full-coverage no")
	_, total := l.counts()
	for tries := 0; total.Addresses[2].Up < 4 && tries < 1000; tries++ {
		l.after("it returns", 200, either)
		_, total = l.counts()
	}
	l.after("it has returned", 1000, succeeds)
	stop()
	_, total = l.counts()
	for i := range total.Addresses {
		if a := &total.Addresses[i]; i != 2 && (a.Failed() > 0 || a.Reconnects > 0) {
			t.Errorf("address %d failed %d times and lost %d connections", i, a.Failed(), a.Reconnects)
		} else if i == 2 && (a.Failed() == 0 || a.Reconnects != 4 || a.Up != 4) {
			t.Errorf("the dead node failed %d times, %d connections of 4 returned, %d are there", a.Failed(), a.Reconnects, a.Up)
		}
	}
	if before.OK() < 400 {
		t.Errorf("%d operations succeeded until the return", before.OK())
	}
}

// If another node takes over the slots of a dead node, the fleet notices it without help.
func TestTakeover(t *testing.T) {
	cluster := testserver.RedisCluster(t)
	for _, n := range cluster.Nodes {
		tell(t, n, "CONFIG SET cluster-require-full-coverage no")
		tell(t, n, "CONFIG SET cluster-node-timeout 2000") // after which a node counts as dead
	}
	l := newLoad(t, cluster.Addrs()[0], loadOptions{plan: spreadPlan(), sessions: 4})
	stop := l.background()
	l.after("all nodes are there", 300, succeeds)
	cluster.Nodes[2].Kill()
	l.after("it has died", 1, func(ok bool) bool { return !ok })
	slots := fmt.Sprintf("%d %d", 2*Slots/3, Slots-1)
	for _, n := range cluster.Nodes[:2] {
		tell(t, n, "CLUSTER DELSLOTSRANGE "+slots)
	}
	tell(t, cluster.Nodes[0], "CLUSTER ADDSLOTSRANGE "+slots)
	tell(t, cluster.Nodes[0], "CLUSTER BUMPEPOCH")
	l.after("its slots were taken over", 1000, succeeds)
	stop()
	if _, total := l.counts(); total.Addresses[0].Done <= total.Addresses[1].Done {
		t.Errorf("the node with two thirds of the slots did %d operations, the other one %d", total.Addresses[0].Done,
			total.Addresses[1].Done)
	}
}

func TestClusterRequestsAllocateNothing(t *testing.T) {
	const n = 50_000
	for _, o := range []loadOptions{{sessions: 8}, {sessions: 8, pipeline: 8}} {
		o.plan = spreadPlan()
		l := newLoad(t, servers.RedisCluster(t).Addrs()[0], o)
		l.run(t.Context(), schedule.Stage{Operations: 10_000})
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		l.run(t.Context(), schedule.Stage{Operations: n})
		runtime.ReadMemStats(&after)
		if sum, _ := l.counts(); sum.OK() != n+10_000 {
			t.Fatalf("%d of %d succeeded", sum.OK(), n+10_000)
		}
		if mallocs := after.Mallocs - before.Mallocs; mallocs > n/100 {
			t.Errorf("pipeline %d: %d allocations during %d requests", o.pipeline, mallocs, n)
		}
		l.fleet.Close()
	}
}

func TestRoutingAllocatesNothing(t *testing.T) {
	set := command("SET", "key:$1:$2", "$1")
	set.Params = []gen.Kind{gen.Int, gen.String}
	targets := []protocol.Target{{Address: "a:1", Options: map[string]string{"mode": "cluster"}}}
	p := program(set, command("GET", "{x}fixed"), command("PING"))
	p.Requests[1].ID, p.Requests[2].ID = 1, 2
	r := New().Router(protocol.NewNodes(targets, 0), p).(*router)
	r.slots[Slot([]byte("key:7:abc"))].Store(1)
	r.slots[Slot([]byte("x"))].Store(1)
	args := []gen.Value{{Kind: gen.Int, I: 7}, text("abc")}
	if n := testing.AllocsPerRun(100, func() {
		a, ok := r.Route(&p.Requests[0], args)
		b, fixed := r.Route(&p.Requests[1], nil)
		_, keyless := r.Route(&p.Requests[2], nil)
		if !ok || !fixed || keyless || a != 0 || b != 0 {
			t.Fatal("routed wrongly")
		}
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}
