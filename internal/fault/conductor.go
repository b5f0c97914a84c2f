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

	"brunt/internal/fault/proxy"
	"brunt/internal/message"
	"brunt/internal/plan"
	"brunt/internal/record"
)

// Options are what a conductor needs from outside.
type Options struct {
	Plan     *plan.Plan
	Watchdog []string             // command line that calls Watch on its standard input
	Now      func() int64         // the run's clock, nanoseconds; called from Begin on
	Changed  func(*record.Fault)  // receives each fault when its state changes, concurrently
	Warn     func(record.Warning) // receives each warning, concurrently
	Does     Does
	// Begins, if not nil, is called before a fault is done, which waits for it, and Over when it has been healed, or has
	// been done if there is nothing to heal. Both are called concurrently for different faults.
	Begins func()
	Over   func(*record.Fault)
}

// Does says which of a plan's faults a conductor does, where several processes send the load.
type Does int

const (
	All         Does = iota // all of them
	NetworkOnly             // those of networks; another machine's part of the load does the others
	OfLoad                  // those of the network between this process's load and the target
	OfServers               // all that OfLoad leaves out, for a process that sends no load
)

// Conductor does the faults of a plan on their timeline. Prepare, Begin, End and Close are for one goroutine, in that
// order.
type Conductor struct {
	o       Options
	table   []Entry
	proxies map[string]*proxy.Proxy // by the target's address, or by name
	dog     *watchdog
	cancel  context.CancelFunc
	wait    sync.WaitGroup
	startNs int64

	mu       sync.Mutex
	faults   []*record.Fault
	warnings []record.Warning
}

// Prepare makes sure that a plan's faults can be done, and starts its proxies and the watchdog. It touches nothing
// else. An error is for the user, a line each, and leaves nothing behind.
func Prepare(o Options) (c *Conductor, err error) {
	c = &Conductor{o: o, proxies: map[string]*proxy.Proxy{}, cancel: func() {}}
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
		dog = dog || f.Heals() && f.Kind != plan.FaultNetwork && f.Kind != plan.FaultFlood
		if err := c.check(f); err != nil {
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

// mine reports whether this conductor does a fault, or the part of it that is done to its own proxies.
func (c *Conductor) mine(f *plan.Fault) bool {
	switch c.o.Does {
	case NetworkOnly:
		return f.Kind == plan.FaultNetwork
	case OfLoad, OfServers:
		return c.o.Does == OfServers && f.Kind != plan.FaultNetwork ||
			f.Kind == plan.FaultNetwork && len(c.own(places(c.o.Plan, f))) > 0
	}
	return true
}

// own are those of some addresses and names of proxies that this conductor has a proxy for.
func (c *Conductor) own(all []string) (out []string) {
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

// All reports whether this conductor does all faults of the plan.
func (c *Conductor) All() bool {
	return !slices.ContainsFunc(c.o.Plan.Faults, func(f plan.Fault) bool {
		return !c.mine(&f) || f.Kind == plan.FaultNetwork && len(c.own(places(c.o.Plan, &f))) < len(places(c.o.Plan, &f))
	})
}

// check reports what is wrong with a fault on this machine.
func (c *Conductor) check(f *plan.Fault) error {
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

func (c *Conductor) selector(f *plan.Fault) *selector {
	s := &selector{fault: &f.Process, own: []int{os.Getpid()}}
	if c.dog != nil {
		s.own = append(s.own, c.dog.pid())
	}
	return s
}

// listen starts the proxies.
func (c *Conductor) listen() error {
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

// MostAddresses keeps the seeds of proxies in front of the target apart from those of others.
const MostAddresses = 1 << 20

// Proxied is where the load must connect to reach an address of the target.
func (c *Conductor) Proxied(address string) string {
	if x := c.proxies[address]; x != nil {
		return x.Address()
	}
	return address
}

// Begin starts the timeline: the load begins now. Everything is healed when ctx ends.
func (c *Conductor) Begin(ctx context.Context) {
	ctx, c.cancel = context.WithCancel(ctx)
	c.startNs = c.o.Now()
	for i := range c.o.Plan.Faults {
		if f := &c.o.Plan.Faults[i]; c.mine(f) {
			c.wait.Go(func() { c.run(ctx, f) })
		}
	}
}

// End heals what isn't healed yet and waits for it. It returns the faults in the order in which they began, and
// warnings.
func (c *Conductor) End() ([]record.Fault, []record.Warning) {
	c.cancel()
	c.wait.Wait()
	if c.dog != nil {
		c.dog.close()
	}
	all := c.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	return all, c.warnings
}

// Done returns the faults that have been done so far, in the order in which they began. It is safe for concurrent use.
func (c *Conductor) Done() (out []record.Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.faults {
		out = append(out, *f)
	}
	slices.SortStableFunc(out, func(a, b record.Fault) int { return cmp.Compare(a.BeginNs, b.BeginNs) })
	return out
}

// Close ends the proxies.
func (c *Conductor) Close() {
	for _, x := range c.proxies {
		_ = x.Close()
	}
}

func (c *Conductor) warn(w record.Warning) {
	c.mu.Lock()
	c.warnings = append(c.warnings, w)
	c.mu.Unlock()
	if c.o.Warn != nil {
		c.o.Warn(w)
	}
}

// run does a fault as often as it comes.
func (c *Conductor) run(ctx context.Context, f *plan.Fault) {
	for _, e := range c.table {
		if e.Fault != f {
			continue
		}
		if !c.until(ctx, c.startNs+int64(e.At)) {
			return
		}
		c.once(ctx, f, &e.Instant)
	}
}

// until waits for a time on the run's clock, and reports whether ctx is still alive then.
func (c *Conductor) until(ctx context.Context, ns int64) bool {
	timer := time.NewTimer(time.Duration(ns - c.o.Now()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// once does a fault and heals it.
func (c *Conductor) once(ctx context.Context, f *plan.Fault, at *Instant) {
	r := &record.Fault{Name: f.Name, Number: at.Number, Kind: string(f.Kind), Do: doing(f),
		PlannedNs: c.startNs + int64(at.At)}
	d, err := c.deed(f, at.Number)
	if err == nil && d.nothing {
		return
	}
	if err == nil {
		d.cure.identify(fmt.Sprintf("%s %d", f.Name, at.Number))
		r.Target, r.Addresses = d.target, d.addresses
		if c.dog != nil && d.cure != nil {
			c.dog.add(d.cure)
		}
		if c.o.Begins != nil {
			c.o.Begins()
			defer c.over(r)
		}
		r.BeginNs = c.o.Now()
		c.changed(r)
		err = d.inject(ctx)
		r.DoneNs = c.o.Now()
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
	case err != nil: // some of it may have been done
	case at.Until == 0:
		<-ctx.Done()
	default:
		c.until(ctx, c.startNs+int64(at.Until))
	}
	c.heal(f, d, r)
}

// over says that a fault is over.
func (c *Conductor) over(r *record.Fault) {
	if c.o.Over != nil {
		c.o.Over(r)
	}
}

func (c *Conductor) changed(r *record.Fault) {
	if c.o.Changed != nil {
		c.o.Changed(r)
	}
}

// Attempts at healing, and the pause before a further one.
const (
	healAttempts = 3
	healPause    = 300 * time.Millisecond
)

// heal undoes a fault. The watchdog isn't told that it is done unless it is, so that it tries again in the end.
func (c *Conductor) heal(f *plan.Fault, d *deed, r *record.Fault) {
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
	if err != nil && r.Error == "" {
		c.warn(record.NewWarning("fault-not-healed", message.Text("fault", f.Name), message.Count("n", r.Number),
			message.Text("error", r.HealError)))
	}
	c.changed(r)
}

// doing is what exactly a fault does, for the record.
func doing(f *plan.Fault) string {
	switch f.Kind {
	case plan.FaultProcess:
		return f.Process.Do
	case plan.FaultNetwork:
		return f.Network.Do
	}
	return ""
}
