package session

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"

	"brunt/internal/inspect"
	"brunt/internal/inspect/process"
	"brunt/internal/inspect/servers"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// asking is what servers are asked about the run. Without Live.Inspected it does nothing.
type asking struct {
	watch *inspect.Watch // nil: nothing is asked
	auto  bool           // ask the servers that the script uses
	first sync.WaitGroup // their first questions

	mu        sync.Mutex // guards what follows
	pending   []served   // servers that the script named before the run
	ready     bool       // the run has begun
	known     map[string]bool
	processes *process.Watch // nil until a server is known
}

// served is a server that the script uses.
type served struct {
	target   plan.Target // with its credentials
	protocol string
	product  string
}

var _ measure.Sink = (*asking)(nil)

// askingBegin is how long a script waits, at most, until a server that it uses was asked for the first time.
const askingBegin = time.Second

// askingRun describes the run to inspectors: its end is the only end of a phase.
func askingRun() *record.Run { return &record.Run{Phases: []record.Phase{{Name: loadPhase}}} }

// openAsking begins the inspection of the servers that the user names.
func (s *Session) openAsking() error {
	names := s.o.Live.Inspected
	if len(names) == 0 {
		return nil
	}
	a := &s.asking
	var list []inspect.Inspector
	for _, text := range names {
		if text == servers.Auto {
			a.auto = true
			continue
		}
		i, err := servers.Parse(text)
		if err != nil {
			return errext.WithExitCodeIfNone(fmt.Errorf("inspect: %w", err), exitcodes.InvalidConfig)
		}
		list = append(list, i)
	}
	w := inspect.NewWatch(list)
	w.Tell = func(text string) { s.say("brunt: note: " + text) }
	if err := w.Start(askingRun()); err != nil {
		w.Close()
		return err
	}
	a.mu.Lock()
	a.watch, a.ready, a.known = w, true, map[string]bool{}
	pending := a.pending
	a.pending = nil
	a.mu.Unlock()
	for _, p := range pending {
		s.Serves(&p.target, p.protocol, p.product)
	}
	return nil
}

// Serves says that the script uses a target, so that --inspect auto asks its servers. protocol is the name in the
// record, and product what the server calls itself; "" if that isn't known. It returns once they were asked for the
// first time, or a second later.
func (s *Session) Serves(t *plan.Target, protocol, product string) {
	if len(s.o.Live.Inspected) == 0 {
		return
	}
	a := &s.asking
	a.mu.Lock()
	if !a.ready {
		a.pending = append(a.pending, served{*t, protocol, product})
		a.mu.Unlock()
		return
	}
	addresses, _ := t.Weighted()
	a.observe(addresses)
	var fresh []record.Target
	for _, address := range addresses {
		if key := protocol + " " + address; a.auto && !a.known[key] {
			a.known[key] = true
			fresh = append(fresh, record.Target{Address: address, Protocol: protocol, Product: product})
		}
	}
	a.mu.Unlock()
	if len(fresh) == 0 {
		return
	}
	list, err := servers.Target(t, fresh)
	if err != nil {
		a.watch.Warn(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	done := make(chan struct{})
	a.first.Go(func() {
		defer close(done)
		for _, i := range list {
			a.watch.Join(i, askingRun())
		}
	})
	late := time.NewTimer(askingBegin)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
	}
}

// observe begins to observe the processes of the first servers, if they run on this machine. a.mu is held.
func (a *asking) observe(addresses []string) {
	if a.processes == nil {
		a.processes = process.New()
		a.processes.Start(process.Find(addresses))
	}
}

// Interval implements measure.Sink.
func (a *asking) Interval(iv *measure.Interval) error {
	a.mu.Lock()
	p := a.processes
	a.mu.Unlock()
	if p != nil {
		_ = p.Interval(iv)
	}
	return a.watch.Interval(iv)
}

// asked ends the inspection and adds its results to the record.
func (s *Session) asked(run *record.Run) {
	a := &s.asking
	if a.watch == nil {
		return
	}
	a.first.Wait()
	var fsys record.FS = record.OS{}
	dir := s.bundle.Dir
	if s.o.None {
		fsys, dir = record.Nowhere{}, ""
	}
	found, warnings := a.watch.Finish(nil, fsys, dir, nil)
	run.Inspections, run.Warnings = append(run.Inspections, found...), append(run.Warnings, warnings...)
	if a.auto && len(a.known) == 0 {
		run.Warnings = append(run.Warnings, record.Notice("inspect-auto", message.Text("why", cmp.Or(
			strings.Join(protocolsOf(run), ", "), "no server")+" can't be inspected; name the servers by inspect=KIND=URL ("+
			strings.Join(servers.Names(), ", ")+")")))
	}
	if a.processes != nil {
		run.Processes = append(run.Processes, a.processes.Finish(run.ReplicaAddresses()...)...)
		process.Settle(run)
	}
}

// protocolsOf returns the protocols of a run.
func protocolsOf(run *record.Run) (all []string) {
	for i := range run.Targets {
		if p := run.Targets[i].Protocol; !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}
