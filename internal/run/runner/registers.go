package runner

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"brunt/internal/judge/verify"
	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// registerCheck writes and reads the plan's registers during the load, with sessions of its own.
type registerCheck struct {
	r       *Runner
	how     plan.Registers
	cancel  context.CancelFunc
	all     sync.WaitGroup
	timeout time.Duration

	mu        sync.Mutex
	registers []*register // currently contested
	next      int64       // number of the next register
	value     int64       // the last value written
	over      []*register // no longer contested
	failure   string      // the last one
}

// register is a key and the operations on it.
type register struct {
	number  int64
	ops     []verify.RegisterOp
	nodes   []int // where each of ops was sent
	begun   bool  // its first write was acknowledged; it is not read before
	pending int   // writes without an answer
}

// The limits on a register's history, which keep its check feasible. Pending writes cost the most.
const (
	mostRegisterOps = 400
	mostPending     = 4
	mostRegisters   = 10_000
)

// mostRegister limits the number of a run's first register, to numbers that every number format can represent.
const mostRegister = 1 << 52

// checkRegisters starts the sessions for the registers, if the plan has any.
func (r *Runner) checkRegisters(ctx context.Context) *registerCheck {
	p := r.system.Plan
	if p.Registers == nil {
		return nil
	}
	c := &registerCheck{r: r, how: p.Registers.WithDefaults(), timeout: p.Settings.OperationTimeout}
	c.next = rand.Int64N(mostRegister) // keys that differ from those of other runs and machines
	for range c.how.Keys {
		c.registers = append(c.registers, c.fresh())
	}
	ctx, c.cancel = context.WithCancel(ctx)
	for s := range c.how.Sessions {
		c.all.Go(func() { c.session(ctx, s) })
	}
	return c
}

// fresh returns a register that has not been used.
func (c *registerCheck) fresh() *register {
	c.next++
	return &register{number: c.next}
}

// node returns the node that a session asks; false if none is known. If the plan's operations have routes, that is a
// primary: it alone takes writes, and replicas may return older values by design.
func (c *registerCheck) node(session int) (number int, ok bool) {
	nodes := c.r.nodes
	if c.r.system.Plan.Target.Topology.Source == "" ||
		!slices.ContainsFunc(c.r.system.Plan.Operations, func(op plan.Operation) bool { return op.Routed() }) {
		return session % nodes.Len(), true
	}
	var primaries []int
	for i := range nodes.Len() {
		if nodes.Active(i) && nodes.Role(i) == protocol.Primary {
			primaries = append(primaries, i)
		}
	}
	if len(primaries) == 0 {
		return 0, false
	}
	return primaries[session%len(primaries)], true
}

// session writes and reads registers at one address at a time until ctx is done.
func (c *registerCheck) session(ctx context.Context, number int) {
	random := rand.New(rand.NewPCG(c.r.system.Plan.Seed, uint64(number)))
	pause := time.Duration(float64(time.Second) * float64(c.how.Sessions) / c.how.RatePerS)
	var conn protocol.Conn
	end := func() {
		if conn != nil {
			conn.Close()
		}
		conn = nil
	}
	defer func() { end() }()
	var reply protocol.Reply
	at := -1
	for protocol.Sleep(ctx, time.Duration((0.5+random.Float64())*float64(pause))) {
		now, ok := c.node(number)
		if !ok {
			c.failed(ctx, "no primary is known")
			continue
		}
		if now != at {
			end()
			at = now
		}
		if conn == nil {
			target := c.r.nodes.At(at)
			connecting, cancel := target.Connecting(ctx)
			made, err := c.r.system.Driver.Dial(connecting, target, &c.r.Workload.Registers)
			cancel()
			if err != nil {
				c.failed(ctx, protocol.AsError(err).Text)
				continue
			}
			conn = made
		}
		if c.operate(ctx, conn, number, at, random, &reply); reply.Fatal {
			end()
		}
	}
}

func (c *registerCheck) failed(ctx context.Context, text string) {
	if ctx.Err() == nil {
		c.mu.Lock()
		c.failure = text
		c.mu.Unlock()
	}
}

// operate performs a write or read of a register at a node.
func (c *registerCheck) operate(ctx context.Context, conn protocol.Conn, session, node int, random *rand.Rand,
	reply *protocol.Reply) {
	c.mu.Lock()
	register := c.registers[random.IntN(len(c.registers))]
	op := verify.RegisterOp{Session: session, Register: register.number, Write: !register.begun || random.IntN(2) == 0}
	if op.Write {
		c.value++
		op.Value = c.value
	}
	c.mu.Unlock()
	args := make([]gen.Value, 1, 2)
	args[0].SetInt(op.Register)
	request := &c.r.Workload.Registers.Requests[1]
	if op.Write {
		request, args = &c.r.Workload.Registers.Requests[0], args[:2]
		args[1].SetInt(op.Value)
	}
	reply.Reset(len(request.Capture))
	asking, cancel := context.WithTimeout(ctx, c.timeout)
	op.CallNs = c.r.clock.Now()
	conn.Do(asking, request, args, reply)
	op.ReturnNs = c.r.clock.Now()
	cancel()
	if reply.Class != protocol.OK {
		c.failed(ctx, reply.Class.String()+" "+reply.Code+": "+reply.Text)
	}
	c.add(register, node, &op, request, reply)
}

// add adds an operation to the history unless its result is of no use.
func (c *registerCheck) add(
	register *register, node int, op *verify.RegisterOp, request *protocol.Request, reply *protocol.Reply,
) {
	state := stateOf(request, reply)
	switch {
	case op.Write && reply.Effect(request) == protocol.NotApplied:
		return
	case op.Write && reply.Class != protocol.OK:
		op.ReturnNs = verify.Pending
	case op.Write:
	case state == verify.Absent:
		op.Value = verify.None
	case state == verify.Present && !readInto(&op.Value, reply.Captured):
		op.Value = verify.None + 1 // a value that was not written
	case state != verify.Present:
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	register.ops, register.nodes = append(register.ops, *op), append(register.nodes, node)
	if op.ReturnNs == verify.Pending {
		register.pending++
	} else if op.Write {
		register.begun = true
	}
	at := slices.Index(c.registers, register)
	if at < 0 || len(register.ops) < mostRegisterOps && register.pending < mostPending {
		return
	}
	if len(c.over) < mostRegisters {
		c.over = append(c.over, register)
	}
	c.registers[at] = c.fresh()
}

// readInto reads a value as a whole number.
func readInto(to *int64, captured []gen.Value) bool {
	if len(captured) != 1 {
		return false
	}
	v := &captured[0]
	if v.Kind == gen.Int || v.Kind == gen.Uint {
		*to = v.I
		return true
	}
	n, err := strconv.ParseInt(string(verify.AppendText(nil, captured)), 10, 64)
	*to = n
	return err == nil
}

// registerTime is the time limit for the check of all registers, registerLimit that for one register.
const (
	registerTime  = time.Minute
	registerLimit = 5 * time.Second
)

// end ends the sessions.
func (c *registerCheck) end() {
	c.cancel()
	c.all.Wait()
}

// check checks the histories after the sessions have ended.
func (c *registerCheck) check(ctx context.Context) *record.Registers {
	out := &record.Registers{Failure: c.failure}
	until, reads := time.Now().Add(registerTime), 0
	for _, r := range append(c.over, c.registers...) {
		if len(r.ops) == 0 {
			continue
		}
		for i := range r.ops {
			if !r.ops[i].Write {
				reads++
			}
		}
		out.Registers++
		out.Operations += uint64(len(r.ops))
		out.Pending += uint64(r.pending)
		left := min(time.Until(until), registerLimit)
		if left <= 0 || ctx.Err() != nil {
			out.Undecided++
			continue
		}
		switch verify.Linear(r.ops, left) {
		case verify.Linearizable:
			out.Linearizable++
		case verify.Undecided:
			out.Undecided++
		case verify.Violated:
			if out.Violated++; out.Counterexample == nil {
				out.Counterexample = c.example(r, verify.Counterexample(r.ops, 2*registerLimit))
			}
		}
	}
	if reads == 0 {
		out.Undecided, out.Linearizable = out.Registers, 0 // writes alone prove nothing
	}
	switch {
	case out.Linearizable+out.Violated > 0:
	case reads > 0:
		out.Reason = message.New("registers.slow")
	case c.failure != "":
		out.Reason = message.Literal(c.failure)
	default:
		out.Reason = message.New("registers.none")
	}
	return out
}

// mostExample limits the operations of a counterexample that are kept.
const mostExample = 100

func (c *registerCheck) example(r *register, ops []verify.RegisterOp) (out []record.RegisterOp) {
	for _, op := range ops[:min(len(ops), mostExample)] {
		at := slices.IndexFunc(r.ops, func(o verify.RegisterOp) bool {
			return o.Session == op.Session && o.CallNs == op.CallNs
		})
		kept := record.RegisterOp{Session: op.Session, Register: op.Register, Write: op.Write, CallNs: op.CallNs,
			Address: c.r.unproxied(c.r.nodes.At(r.nodes[max(at, 0)]).Address)}
		if op.Value != verify.None {
			value := op.Value
			kept.Value = &value
		}
		if op.ReturnNs != verify.Pending {
			end := op.ReturnNs
			kept.ReturnNs = &end
		}
		out = append(out, kept)
	}
	return out
}
