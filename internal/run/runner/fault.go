package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"brunt/internal/engine"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol/protocols"
	"brunt/internal/record"
	"brunt/internal/render/units"
	"brunt/internal/server/fault"
	"brunt/internal/server/target"
)

// Faults says whether and how a plan's faults are executed.
type Faults struct {
	Allowed  bool     // the user has allowed them; otherwise plans with faults are refused
	Watchdog []string // command line that calls fault.Watch on its standard input
	// Does selects the faults that this process injects if several processes send the load. The zero value means all
	// faults, or, for a part of a load other than the first, network faults.
	Does fault.Does
	// Resumes says that ResumeFaults is called instead of BeginFaults.
	Resumes bool
}

// prepareFaults starts what the plan's faults need. It returns the plan with the addresses to which the load connects:
// the proxies' addresses if there are proxies. An error is a *target.UsageError.
func (r *Runner) prepareFaults(p *plan.Plan) (*plan.Plan, error) {
	if len(p.Faults) == 0 && len(p.Proxies) == 0 {
		return p, nil
	}
	if !r.o.Faults.Allowed {
		return p, &target.UsageError{Err: fmt.Errorf(
			"plan %q disturbs servers by %s; add --allow-faults if that is meant", p.Name,
			units.Plural(len(p.Faults), "fault", "faults"))}
	}
	p, err := completed(p)
	if err == nil {
		err = proxiable(p)
	}
	if err == nil {
		err = p.Validate().Err()
	}
	if err != nil {
		return p, &target.UsageError{Err: err}
	}
	does := r.o.Faults.Does
	if does == fault.All && r.o.Part.Of > 1 && !slices.Contains(r.o.Part.Takes, 0) {
		does = fault.NetworkOnly
	}
	made, err := fault.Prepare(fault.Options{
		Plan: p, Watchdog: r.o.Faults.Watchdog, Now: func() int64 { return r.clock.Now() },
		Changed: func(f *record.Fault) { r.bundle.Fault(f) },
		Begins:  func() { r.aftermath.faultBegins() },
		Over:    func(f *record.Fault) { r.aftermath.faultOver(f) },
		Warn:    r.o.Hooks.Notice,
		Does:    does,
		Resumes: r.o.Faults.Resumes,
	})
	if err != nil {
		return p, &target.UsageError{Err: err}
	}
	r.faults = made
	if does == fault.OfServers {
		return p, nil // no load connects here
	}
	r.eachFault = p.Verify.After == plan.AfterEachFault
	return r.proxied(p), nil
}

// CheckFaults calls found for each fault of a plan that must be injected from this machine, with what it would be done
// to, "" if that can't be looked up, or the reason why it can't be injected. An error is a *target.UsageError.
func CheckFaults(p *plan.Plan, found func(f *plan.Fault, to string, err error)) error {
	if len(p.Faults) == 0 {
		return nil
	}
	p, err := completed(p)
	if err == nil {
		err = proxiable(p)
	}
	if err == nil {
		err = fault.Check(p, found)
	}
	if err != nil {
		return &target.UsageError{Err: err}
	}
	return nil
}

// BeginFaults injects the plan's faults while other processes send the load, which begins now. epoch is the time at
// which the run's clock is 0. It does nothing for plans without faults.
func (r *Runner) BeginFaults(ctx context.Context, epoch time.Time) {
	if r.faults != nil {
		r.clock = engine.NewClock(epoch)
		r.faults.Begin(ctx)
	}
}

// KeepFaults makes a process that resumes the load after this one was killed know what has happened to faults: note is
// called with each change, concurrently, and log is the file of the watchdog's log. See fault.Executor.Keep.
func (r *Runner) KeepFaults(log string, note func(*record.Fault)) {
	if r.faults != nil {
		r.faults.Keep(log, note)
	}
}

// Resumed returns a runner for the faults and the Leader of a load that other processes send, of whose coordinator the
// process was killed. It has no tables and no sessions. Errors are those of Open.
func Resumed(p *plan.Plan, o Options) (*Runner, error) {
	r := &Runner{o: o, system: &target.System{Plan: p}, Record: &record.Run{}, suspect: make(chan struct{}, 1)}
	var err error
	if r.Workload, err = workload.Compile(p); err != nil {
		return nil, &target.UsageError{Err: err}
	}
	r.bundle, err = record.Place{None: true}.Create(p.Name, time.Now(), record.Options{Warn: o.Hooks.Notice})
	if err != nil {
		return nil, err
	}
	if _, err = r.prepareFaults(p); err != nil {
		r.endFaults()
		return nil, err
	}
	return r, nil
}

// ResumeFaults is BeginFaults in a process that resumes the load. See
// fault.Executor.Resume.
func (r *Runner) ResumeFaults(ctx context.Context, past *fault.Past) {
	if r.faults != nil {
		r.clock = engine.NewClock(past.Epoch)
		r.faults.Resume(ctx, past)
	}
}

// EndFaults undoes the faults that are still in effect, and returns all faults of the run, with warnings.
func (r *Runner) EndFaults() ([]record.Fault, []record.Warning) {
	if r.faults == nil {
		return nil, nil
	}
	return r.faults.End()
}

// completed returns a copy of a plan in which all addresses have ports, including those in its faults.
func completed(p *plan.Plan) (*plan.Plan, error) {
	out := *p
	targets, err := target.Targets(p)
	if err != nil {
		return nil, err
	}
	written, weights := p.Target.Weighted()
	full := map[string]string{}
	out.Target.Addresses = make([]string, len(targets))
	for i := range targets {
		out.Target.Addresses[i] = targets[i].Address
		if i < len(written) {
			full[written[i]] = targets[i].Address
		}
		if weights != nil {
			out.Target.Addresses[i] += fmt.Sprintf("*%d", weights[i])
		}
	}
	complete := func(all []string) (out []string) {
		for _, a := range all {
			if to, ok := full[a]; ok {
				a = to
			}
			out = append(out, a)
		}
		return out
	}
	out.Faults = slices.Clone(p.Faults)
	for i := range out.Faults {
		f := &out.Faults[i]
		f.Affects, f.Request.Addresses = complete(f.Affects), complete(f.Request.Addresses)
		f.Network.Addresses, f.Flood.Addresses = complete(f.Network.Addresses), complete(f.Flood.Addresses)
		between := make([][]string, len(f.Network.Between))
		for k := range between {
			between[k] = complete(f.Network.Between[k])
		}
		f.Network.Between = between
	}
	return &out, nil
}

// proxiable returns an error with the reason if no proxies can be put in front of the target.
func proxiable(p *plan.Plan) error {
	behind := p.ProxiedAddresses()
	if len(behind) == 0 {
		return nil
	}
	if protocols.Of(p.Target.Protocol).Embedded {
		return fmt.Errorf("protocol %s has no network to do faults to", p.Target.Protocol)
	}
	if p.Target.Options["mode"] == "cluster" {
		return errors.New("network faults can't be done to a cluster whose nodes name their own addresses " +
			"(mode=cluster); use process, command or http faults")
	}
	hosts := map[string]bool{}
	for _, a := range behind {
		host, _, err := net.SplitHostPort(a)
		if err != nil || strings.Contains(a, "/") {
			return fmt.Errorf("network faults need addresses of the form host:port, and %s isn't one", a)
		}
		hosts[host] = true
	}
	if t := &p.Target.TLS; t.Enabled && !t.InsecureSkipVerify && t.ServerName == "" && len(hosts) > 1 {
		return errors.New("network faults on several hosts with TLS: give the name that all certificates have, in " +
			"tls: {server_name: …}")
	}
	return nil
}

// proxied returns a copy of the plan in which the proxies' addresses replace the target's.
func (r *Runner) proxied(p *plan.Plan) *plan.Plan {
	behind := p.ProxiedAddresses()
	if len(behind) == 0 {
		return p
	}
	out := *p
	out.Target.Addresses = nil
	written, weights := p.Target.Weighted()
	for i, a := range written {
		to := r.faults.Proxied(a)
		if weights != nil {
			to += fmt.Sprintf("*%d", weights[i])
		}
		out.Target.Addresses = append(out.Target.Addresses, to)
	}
	if t := &out.Target.TLS; t.Enabled && t.ServerName == "" {
		t.ServerName, _, _ = net.SplitHostPort(behind[0])
	}
	out.Where = slices.Clone(p.Where)
	out.Target.Options = maps.Clone(p.Target.Options)
	// The faults have been checked. They name addresses that the plan no longer contains.
	out.Faults, out.Proxies, out.Verify.After = nil, nil, ""
	r.behind = map[string]string{}
	for _, a := range written {
		r.behind[r.faults.Proxied(a)] = a
	}
	return &out
}

// unproxied returns the target's address behind the address of a connection.
func (r *Runner) unproxied(address string) string {
	if a, ok := r.behind[address]; ok {
		return a
	}
	return address
}

// unveiled replaces the addresses of brunt's own proxies in a text by those of the servers behind them.
func (r *Runner) unveiled(text string) string {
	for proxied, address := range r.behind {
		if proxied != address {
			text = strings.ReplaceAll(text, proxied, address)
		}
	}
	return text
}

// unveil makes an error that occurred before the load name servers instead of brunt's own proxies, which users don't
// know. If a proxy could not reach its server, this is the cause: to the client, the proxy ended the connection.
func (r *Runner) unveil(err error) error {
	if err == nil || len(r.behind) == 0 {
		return err
	}
	var down *target.UnreachableError
	if errors.As(err, &down) {
		for _, address := range slices.Sorted(maps.Values(r.behind)) {
			if why := r.faults.Unreached(address); why != nil {
				return &target.UnreachableError{Err: fmt.Errorf("can't connect to %s: %w", address, why)}
			}
		}
	}
	if text := r.unveiled(err.Error()); text != err.Error() {
		return &unveiledError{text, err}
	}
	return err
}

// unveiledError is an error whose text names servers instead of proxies.
type unveiledError struct {
	text string
	err  error
}

func (e *unveiledError) Error() string { return e.text }
func (e *unveiledError) Unwrap() error { return e.err }

// healFaults ends the faults and keeps them for the record.
func (r *Runner) healFaults() {
	faults, warnings := r.faults.End()
	r.injected = faults
	r.Record.Warnings = append(r.Record.Warnings, warnings...)
}

// endFaults undoes the remaining faults and ends the proxies. Further calls do nothing.
func (r *Runner) endFaults() {
	if r.faults != nil {
		r.faults.End()
		r.faults.Close()
	}
}
