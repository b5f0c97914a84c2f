package fault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/server/fault/proxy"
)

// Options configure an executor.
type Options struct {
	Plan     *plan.Plan
	Watchdog []string             // command line of a program that calls Watch on its standard input
	Now      func() int64         // the run's clock, in ns; called from Begin on
	Changed  func(*record.Fault)  // called with each fault when its state changes, concurrently; may be nil
	Warn     func(record.Warning) // called with each warning, concurrently; may be nil
	Does     Does
	Resumes  bool // Resume is called instead of Begin: what faults were done to may be gone
	// Begins, if not nil, is called before a fault is injected, which waits until it returns. Over, if not nil, is
	// called when the fault has been healed, or has been injected if there is nothing to heal. Both are called
	// concurrently for different faults. Over is only called if Begins is set.
	Begins func()
	Over   func(*record.Fault)
}

// Does selects the faults of a plan that an executor injects, where several processes send the load.
type Does int

const (
	All         Does = iota // all faults
	NetworkOnly             // network faults; a process on another machine injects the others
	OfLoad                  // network faults between this process's load and the target
	OfServers               // everything that OfLoad leaves out, for a process that sends no load
)

// Executor injects the faults of a plan on their timeline. Prepare, Begin, End and Close must be called in that
// order by one goroutine.
type Executor struct {
	o       Options
	table   []Entry
	proxies map[string]*proxy.Proxy // by address of the target or by name of the proxy
	dog     *watchdog
	cancel  context.CancelFunc
	wait    sync.WaitGroup
	startNs int64
	begunBy context.Context     // of Begin or Resume; nil before
	note    func(*record.Fault) // see Keep; may be nil
	log     string              // see Keep; may be ""

	mu       sync.Mutex
	faults   []*record.Fault
	warnings []record.Warning
	others   map[*Entry]bool // occurrences that other processes inject
}

// Prepare checks that a plan's faults can be injected, then starts its proxies and the watchdog. It doesn't touch
// the servers. Its error is meant for the user, one line per problem; everything that was started is then stopped
// again.
func Prepare(o Options) (c *Executor, err error) {
	c = &Executor{o: o, proxies: map[string]*proxy.Proxy{}, cancel: func() {}, others: map[*Entry]bool{}}
	defer func() {
		if err != nil {
			c.End()
			c.Close()
		}
	}()
	if c.table, err = Timetable(o.Plan); err != nil {
		return c, err
	}
	dog := false
	for i := range o.Plan.Faults {
		f := &o.Plan.Faults[i]
		if !c.mine(f) {
			continue
		}
		dog = dog || f.Heals() && f.Kind != plan.FaultNetwork && f.Kind != plan.FaultFlood || f.Kind == plan.FaultCommand
		if err := c.check(f); err != nil && !o.Resumes {
			return c, plan.Problems{{At: f.At, Text: fmt.Sprintf("fault %q: %v", f.Name, err)}}
		}
	}
	if dog {
		if c.dog, err = startWatchdog(o.Watchdog, c.warn); err != nil {
			return c, err
		}
	}
	return c, c.listen()
}

// Check calls found for each fault of a plan: with what it would be done to, "" if that can't be looked up, or with the
// reason why it can't be injected from this machine. It changes nothing. Its error is that of Timetable.
func Check(p *plan.Plan, found func(f *plan.Fault, to string, err error)) error {
	if _, err := Timetable(p); err != nil {
		return err
	}
	c := &Executor{o: Options{Plan: p}}
	for i := range p.Faults {
		f := &p.Faults[i]
		err := c.check(f)
		if err != nil || f.Kind == plan.FaultCommand || f.Kind == plan.FaultHTTP {
			found(f, "", err)
			continue
		}
		d, err := c.made(f, 1)
		if err != nil {
			found(f, "", err)
			continue
		}
		found(f, d.target, nil)
	}
	return nil
}

// mine reports whether this executor injects a fault, or the part of it that concerns its own proxies.
func (c *Executor) mine(f *plan.Fault) bool {
	switch c.o.Does {
	case NetworkOnly:
		return f.Kind == plan.FaultNetwork
	case OfLoad, OfServers:
		return c.o.Does == OfServers && f.Kind != plan.FaultNetwork ||
			f.Kind == plan.FaultNetwork && len(c.own(places(c.o.Plan, f))) > 0
	}
	return true
}

// own returns those of the given target addresses and proxy names for which this executor has a proxy.
func (c *Executor) own(all []string) (out []string) {
	addresses, _ := c.o.Plan.Target.Weighted()
	for _, a := range all {
		ofTarget := slices.Contains(addresses, a)
		if c.o.Does == OfLoad && !ofTarget || c.o.Does == OfServers && ofTarget {
			continue
		}
		out = append(out, a)
	}
	return out
}

// All reports whether this executor injects all faults of the plan in full.
func (c *Executor) All() bool {
	return !slices.ContainsFunc(c.o.Plan.Faults, func(f plan.Fault) bool {
		return !c.mine(&f) || f.Kind == plan.FaultNetwork && len(c.own(places(c.o.Plan, &f))) < len(places(c.o.Plan, &f))
	})
}

// check returns an error if a fault can't be injected from this machine.
func (c *Executor) check(f *plan.Fault) error {
	if f.Kind == plan.FaultRequest {
		if v := f.Request.PasswordVariable; v != "" && os.Getenv(v) == "" {
			return fmt.Errorf("the environment has no %s; put the password of %s there", v, f.Request.User)
		}
	}
	if f.Kind != plan.FaultProcess {
		return nil
	}
	if f.Process.Signal != "" {
		if _, err := signalOf(f.Process.Signal); err != nil {
			return err
		}
	}
	found, err := c.selector(f).find()
	if err != nil {
		return fmt.Errorf("%w; start it before the load", err)
	}
	for _, p := range found {
		if err := allowed(p); err != nil {
			return err
		}
	}
	return nil
}

func (c *Executor) selector(f *plan.Fault) *selector {
	s := &selector{fault: &f.Process, own: []int{os.Getpid()}}
	if c.dog != nil {
		s.own = append(s.own, c.dog.pid())
	}
	return s
}

// listen starts the proxies.
func (c *Executor) listen() error {
	p := c.o.Plan
	for i, address := range p.ProxiedAddresses() {
		if c.o.Does == OfServers {
			break
		}
		x, err := proxy.Listen(proxy.Config{Listen: "127.0.0.1:0", To: address, Seed: p.Seed + uint64(i)})
		if err != nil {
			return err
		}
		c.proxies[address] = x
	}
	for i := range p.Proxies {
		if c.o.Does == OfLoad {
			break
		}
		x := &p.Proxies[i]
		made, err := proxy.Listen(proxy.Config{Listen: x.Listen, To: x.To, Seed: p.Seed + uint64(MostAddresses+i)})
		if err != nil {
			return plan.Problems{{At: x.Where.At("listen", x.At), Text: fmt.Sprintf("proxy %q: %v", x.Name, err)}}
		}
		c.proxies[x.Name] = made
	}
	return nil
}

// MostAddresses is the offset between the seeds of the target's proxies and the seeds of the plan's own proxies.
const MostAddresses = 1 << 20

// Proxied returns the address to which the load must connect in order to reach an address of the target: that of
// its proxy, or the address itself if it has none.
func (c *Executor) Proxied(address string) string {
	if x := c.proxies[address]; x != nil {
		return x.Address()
	}
	return address
}

// Unreached returns why the proxy in front of an address could not reach it the last time; nil if it could, or if the
// address has no proxy.
func (c *Executor) Unreached(address string) error {
	if x := c.proxies[address]; x != nil {
		return x.Failure()
	}
	return nil
}

// Begin starts the timeline, at the moment when the load starts. When ctx ends, all faults are healed.
func (c *Executor) Begin(ctx context.Context) {
	c.begunBy = ctx
	ctx, c.cancel = context.WithCancel(ctx)
	c.startNs = c.o.Now()
	c.keepLog()
	for i := range c.o.Plan.Faults {
		if f := &c.o.Plan.Faults[i]; c.mine(f) {
			c.wait.Go(func() { c.run(ctx, f) })
		}
	}
}

// End heals the faults that haven't been healed and waits until that is done. It returns all injected faults, in
// the order in which they began, and the warnings.
func (c *Executor) End() ([]record.Fault, []record.Warning) {
	c.cancel()
	c.wait.Wait()
	c.tooLate()
	if c.dog != nil {
		c.dog.close()
	}
	all := c.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	return all, c.warnings
}

// tooLate records the first occurrence of each fault whose time hadn't come when the load ended, unless the load was
// interrupted. Of a fault that is repeated until the end of a load of unknown length, only one is expected at all.
func (c *Executor) tooLate() {
	if c.begunBy == nil || c.begunBy.Err() != nil {
		return
	}
	known, told := length(c.o.Plan) > 0, map[*plan.Fault]bool{}
	for i := range c.table {
		e := &c.table[i]
		expected := e.Number == 1 || e.Fault.Times > 0 || known
		if !expected || told[e.Fault] || !c.mine(e.Fault) || c.others[e] || c.begun(e.Fault, e.Number) {
			continue
		}
		told[e.Fault] = true
		c.missed(e, 0, "the load ended before its time")
	}
}

// Done returns the faults injected so far, in the order in which they began. It is safe for concurrent use.
func (c *Executor) Done() (out []record.Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.faults {
		out = append(out, *f)
	}
	slices.SortStableFunc(out, func(a, b record.Fault) int { return cmp.Compare(a.BeginNs, b.BeginNs) })
	return out
}

// Close closes the proxies.
func (c *Executor) Close() {
	for _, x := range c.proxies {
		_ = x.Close()
	}
}

func (c *Executor) warn(w record.Warning) {
	c.mu.Lock()
	c.warnings = append(c.warnings, w)
	c.mu.Unlock()
	if c.o.Warn != nil {
		c.o.Warn(w)
	}
}

// run injects all occurrences of a fault, one after the other.
func (c *Executor) run(ctx context.Context, f *plan.Fault) {
	for i := range c.table {
		e := &c.table[i]
		if e.Fault != f || c.begun(f, e.Number) {
			continue
		}
		if !c.until(ctx, c.startNs+int64(e.At)) {
			return
		}
		c.once(ctx, e)
	}
}

// planned returns the record of an occurrence that hasn't begun.
func (c *Executor) planned(e *Entry) *record.Fault {
	return &record.Fault{Name: e.Fault.Name, Number: e.Number, Kind: string(e.Fault.Kind), Do: doing(e.Fault),
		PlannedNs: c.startNs + int64(e.At), Must: e.Fault.Must}
}

// until waits until a time on the run's clock. It returns false if ctx has ended by then.
func (c *Executor) until(ctx context.Context, ns int64) bool {
	return protocol.Sleep(ctx, time.Duration(ns-c.o.Now())) && ctx.Err() == nil
}

// once injects one occurrence of a fault and heals it.
func (c *Executor) once(ctx context.Context, e *Entry) {
	f, at := e.Fault, &e.Instant
	r := c.planned(e)
	d, err := c.action(f, at.Number)
	if err == nil && d.nothing {
		c.mu.Lock()
		c.others[e] = true
		c.mu.Unlock()
		return
	}
	if err == nil {
		r.Target, r.Addresses = d.target, d.addresses
		if c.dog != nil && d.cure != nil {
			r.Undo = d.cure.byHand()
			c.dog.add(d.cure, c.due(at, injecting(f)))
		}
		if c.o.Begins != nil {
			c.o.Begins()
			defer c.over(r)
		}
		r.BeginNs = c.o.Now()
		c.changed(r)
		err = d.inject(ctx)
		r.DoneNs = c.o.Now()
		if c.dog != nil && d.cure != nil {
			c.dog.due(d.cure.ID, c.due(at, 0))
		}
		if d.told != nil {
			r.Target = d.told()
		}
	} else {
		r.BeginNs = c.o.Now()
		r.DoneNs = r.BeginNs
	}
	if err != nil {
		r.Error = said([]byte(err.Error()))
		c.warn(record.NewWarning("fault-failed", message.Text("fault", f.Name), message.Count("n", at.Number),
			message.Text("error", r.Error)))
	}
	c.mu.Lock()
	c.faults = append(c.faults, r)
	c.mu.Unlock()
	c.changed(r)
	if d == nil || d.heal == nil {
		return
	}
	switch {
	case err != nil: // part of the fault may have been injected
	case at.Until == 0:
		<-ctx.Done()
	default:
		c.until(ctx, c.startNs+int64(at.Until))
	}
	c.heal(f, d, r)
}

// grace is how much later than planned a fault may be healed before the watchdog does it.
const grace = time.Second

// due returns when the watchdog heals a fault by itself: when its time has been over for long enough that this process
// must have been stopped, or have no time. more is how long the injection may still take. It returns zero for a fault
// whose end isn't known.
func (c *Executor) due(at *Instant, more time.Duration) time.Time {
	if at.Until == 0 {
		return time.Time{}
	}
	left := max(time.Duration(c.startNs+int64(at.Until)-c.o.Now()), 0)
	return time.Now().Add(left + more + grace)
}

// injecting returns how long it may take to inject a fault.
func injecting(f *plan.Fault) time.Duration {
	switch f.Kind {
	case plan.FaultCommand:
		return (&Cure{Timeout: f.Command.Timeout}).limit()
	case plan.FaultHTTP:
		return (&Cure{Timeout: f.HTTP.Timeout}).limit()
	case plan.FaultRequest:
		return (&Cure{Timeout: f.Request.Timeout}).limit()
	}
	return 0
}

// over calls the hook Over.
func (c *Executor) over(r *record.Fault) {
	if c.o.Over != nil {
		c.o.Over(r)
	}
}

func (c *Executor) changed(r *record.Fault) {
	if c.note != nil {
		c.note(r)
	}
	if c.o.Changed != nil {
		c.o.Changed(r)
	}
}

// The number of attempts at healing a fault, and the pause between them.
const (
	healAttempts = 3
	healPause    = 300 * time.Millisecond
)

// heal undoes a fault. The watchdog keeps a cure that has failed, so that it tries again at the end.
func (c *Executor) heal(f *plan.Fault, d *action, r *record.Fault) {
	if c.healedLate(f, d, r) {
		return
	}
	healBegin := c.o.Now()
	var err error
	for n := range healAttempts {
		if n > 0 {
			time.Sleep(healPause)
		}
		if err = d.heal(context.Background()); err == nil || errors.Is(err, errEnded) {
			break
		}
	}
	now := c.o.Now()
	c.mu.Lock()
	if r.HealBeginNs, r.HealedNs = healBegin, now; err != nil {
		r.HealedNs, r.HealError = 0, said([]byte(err.Error()))
	}
	c.mu.Unlock()
	if c.dog != nil && d.cure != nil && (err == nil || errors.Is(err, errEnded)) {
		c.dog.done(d.cure.ID)
	}
	if err != nil {
		c.warn(record.NewWarning("fault-not-healed", message.Text("fault", f.Name), message.Count("n", r.Number),
			message.Text("error", r.HealError)))
	}
	c.changed(r)
}

// healedLate claims the cure of a fault, and reports whether the watchdog has done it: this process was stopped, or had
// no time, when it was due.
func (c *Executor) healedLate(f *plan.Fault, d *action, r *record.Fault) bool {
	if c.dog == nil || d.cure == nil {
		return false
	}
	h := c.dog.claim(d.cure)
	if h == nil {
		return false
	}
	onClock := func(unixNs int64) int64 { return max(c.o.Now()-(time.Now().UnixNano()-unixNs), r.BeginNs, 1) }
	c.mu.Lock()
	r.HealBeginNs, r.HealedNs, r.HealedBy = onClock(h.BeginNs), onClock(h.DoneNs), record.HealedByWatchdog
	c.mu.Unlock()
	c.dog.done(d.cure.ID)
	c.warn(record.Notice("fault-healed-by-watchdog", message.Text("fault", f.Name), message.Count("n", r.Number)))
	c.changed(r)
	return true
}

// doing returns the action of a fault's kind, for the record; "" for kinds that have only one.
func doing(f *plan.Fault) string {
	switch f.Kind {
	case plan.FaultProcess:
		return f.Process.Do
	case plan.FaultNetwork:
		return f.Network.Do
	}
	return ""
}
