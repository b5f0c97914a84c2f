package fault

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"

	"brunt/internal/plan"
	"brunt/internal/server/fault/proxy"
)

// action is one occurrence of a fault, ready to be injected.
type action struct {
	target    string        // what the fault is done to, as shown to users
	told      func() string // replaces target after the injection, when more is known; may be nil
	addresses []string      // the affected addresses of the target
	cure      *Cure         // for the watchdog; nil if nothing is left to heal when brunt has ended
	inject    func(context.Context) error
	heal      func(context.Context) error // nil if there is nothing to undo
	nothing   bool                        // there is nothing to do here: another process injects this fault
}

func (c *Cure) identify(id string) {
	if c != nil {
		c.ID = id
	}
}

// action prepares the number-th occurrence of a fault (from 1): it chooses what the fault is done to.
func (c *Executor) action(f *plan.Fault, number int) (*action, error) {
	d, err := c.made(f, number)
	if err != nil {
		return nil, err
	}
	d.cure.identify(occurrence(f, number))
	if d.cure != nil && d.heal == nil {
		d.heal = c.doer(d.cure, f, number, true)
	}
	if f.Affects != nil {
		d.addresses = f.Affects
	}
	return d, nil
}

func (c *Executor) made(f *plan.Fault, number int) (*action, error) {
	switch f.Kind {
	case plan.FaultProcess:
		return c.processAction(f, number)
	case plan.FaultCommand:
		d := &action{target: said([]byte(f.Command.Inject)), inject: c.doer(&Cure{Command: f.Command.Inject,
			Timeout: f.Command.Timeout}, f, number, false)}
		if f.Heals() {
			d.cure = &Cure{Command: f.Command.Heal, Timeout: f.Command.Timeout}
		}
		return d, nil
	case plan.FaultHTTP:
		d := &action{target: f.HTTP.Inject.Method + " " + f.HTTP.Inject.Origin, inject: (&Cure{HTTP: &f.HTTP.Inject,
			Timeout: f.HTTP.Timeout}).Do}
		if f.Heals() {
			d.cure = &Cure{HTTP: &f.HTTP.Heal, Timeout: f.HTTP.Timeout}
		}
		return d, nil
	case plan.FaultRequest:
		return c.requestAction(f, number), nil
	case plan.FaultNetwork:
		return c.networkAction(f, number), nil
	}
	return c.floodAction(f, number)
}

// doer returns a function that does something, of whose commands the watchdog knows.
func (c *Executor) doer(what *Cure, f *plan.Fault, number int, heals bool) func(context.Context) error {
	if c.dog == nil {
		return what.Do
	}
	tell := commands{ended: c.dog.ended, begun: func(r *running) {
		r.ID, r.Heals, r.Limit = occurrence(f, number), heals, what.limit()
		c.dog.begun(r)
	}}
	return func(ctx context.Context) error { return what.do(ctx, tell) }
}

func (c *Executor) processAction(f *plan.Fault, number int) (*action, error) {
	found, err := c.selector(f).find()
	if err != nil {
		return nil, err
	}
	var all []Process
	for _, i := range Pick(c.o.Plan, f, number, len(found)) {
		all = append(all, found[i])
	}
	d := &action{target: "process " + all[0].String()}
	if more := len(all) - 1; more > 0 {
		d.target += fmt.Sprintf(" and %d more", more)
	}
	s := killSignal()
	switch {
	case f.Process.Do == "stop":
		s, d.cure = stopSignal(), &Cure{Processes: all}
	case f.Process.Restart != "":
		d.cure = &Cure{Command: f.Process.Restart}
	}
	if f.Process.Signal != "" {
		if s, err = signalOf(f.Process.Signal); err != nil {
			return nil, err
		}
	}
	d.inject = func(context.Context) error { return signal(all, s) }
	return d, nil
}

// picked returns the addresses that the number-th occurrence of a fault is done to, out of named or, if that is
// empty, all addresses of the target.
func (c *Executor) picked(f *plan.Fault, number int, named []string) (out []string) {
	if len(named) == 0 {
		named, _ = c.o.Plan.Target.Weighted()
	}
	for _, i := range Pick(c.o.Plan, f, number, len(named)) {
		out = append(out, named[i])
	}
	return out
}

func (c *Executor) requestAction(f *plan.Fault, number int) *action {
	t := c.o.Plan.Target
	t.Addresses = c.picked(f, number, f.Request.Addresses)
	if f.Request.User != "" {
		t.User = f.Request.User
	}
	if v := f.Request.PasswordVariable; v != "" {
		t.Password = os.Getenv(v)
	}
	if f.Request.Database != "" {
		t.Database = f.Request.Database
	}
	d := &action{target: strings.Join(t.Addresses, ", "), addresses: t.Addresses,
		inject: (&Cure{Requests: &requests{t, f.Request.Inject}, Timeout: f.Request.Timeout}).Do}
	if f.Heals() {
		d.cure = &Cure{Requests: &requests{t, f.Request.Heal}, Timeout: f.Request.Timeout}
	}
	return d
}

func (c *Executor) networkAction(f *plan.Fault, number int) *action {
	at := places(c.o.Plan, f)
	if f.Network.Do != plan.NetPartition {
		at = c.picked(f, number, f.Network.Addresses)
	}
	at = c.own(at)
	rule := ruleOf(&f.Network)
	addresses, _ := c.o.Plan.Target.Weighted()
	d := &action{target: strings.Join(at, ", "), nothing: len(at) == 0}
	for _, a := range at {
		if slices.Contains(addresses, a) {
			d.addresses = append(d.addresses, a)
		}
	}
	d.inject = func(context.Context) error {
		for _, name := range at {
			c.proxies[name].Set(rule)
		}
		return nil
	}
	d.heal = func(context.Context) error {
		for _, name := range at {
			c.proxies[name].Clear(rule)
		}
		return nil
	}
	return d
}

// ruleOf translates a network fault into a rule of a proxy.
func ruleOf(f *plan.NetworkFault) *proxy.Rule {
	r := &proxy.Rule{ToServer: f.Direction != "to-client", ToClient: f.Direction != "to-server"}
	for _, text := range f.Clients {
		if p, err := netip.ParsePrefix(text); err == nil {
			r.Clients = append(r.Clients, p)
		} else if a, err := netip.ParseAddr(text); err == nil {
			r.Clients = append(r.Clients, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	switch f.Do {
	case plan.NetLatency:
		r.Delay, r.Jitter = f.Delay, f.Jitter
	case plan.NetBandwidth:
		r.BytesPerS = f.BytesPerS
	case plan.NetReset:
		r.Reset = true
	case plan.NetBlackhole, plan.NetPartition:
		r.Block = true
	case plan.NetHandshake:
		r.Handshake = f.Delay
	case plan.NetHalfOpen:
		r.HalfOpen = true
	case plan.NetRefuse:
		r.Refuse = true
	}
	return r
}
