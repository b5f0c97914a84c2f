// Package tarantool inspects a Tarantool (2.6 and later): the counters of box.stat, box.slab and box.info, the lag of
// its loop, the plans of SQL statements, and if asked for a sampled profile of its Lua functions. It calls only
// functions for statistics, which a user may be granted one by one, and evaluates programs only for the profile.
//
// The functions are those of "box.stat", "box.slab" and "box.info" in Tarantool's manual (reference, built-in modules).
// Their fields differ between versions; those that are missing are left out.
package tarantool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"brunt/internal/base/secret"
	"brunt/internal/inspect"
	"brunt/internal/inspect/process"
	"brunt/internal/protocol"
	"brunt/internal/protocol/iproto"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/server/connection"
)

// Form returns how URLs of servers are written.
func Form() connection.Form { return connection.Form{Plain: "tarantool", Port: "3301"} }

// Inspector is the inspect.Inspector for a Tarantool.
type Inspector struct {
	target   protocol.Target
	session  *iproto.Session
	version  string
	queries  int
	calls    float64 // calls sent, which the server's counters contain
	denied   []string
	failed   map[string]bool // functions that the server doesn't have or the user may not call
	readings inspect.Readings
	activity *inspect.Activity
	seen     sightings
	looked   time.Duration // when replicas and vinyl were looked at, on the load's clock
	wanted   bool          // the profile
	profile  *profile
	vinyl    vinylReads // before the load
	missing  []record.Warning
	pid      int     // of the process, if it runs on this machine; 0 if not
	cpuNs    float64 // of the tx thread, at the beginning
	queuedNs float64 // that it waited for a core until then
}

var (
	_ inspect.Inspector = (*Inspector)(nil)
	_ inspect.Profiler  = (*Inspector)(nil)
)

// ProfileFunctions implements inspect.Profiler. It needs the right to evaluate programs, and there is one profiler per
// process.
func (i *Inspector) ProfileFunctions() { i.wanted = true }

// New parses a URL, tarantool://user:password@host:3301, and returns the inspector of that instance. Its errors are
// one line, without secrets.
func New(url string) (*Inspector, error) {
	t, err := Form().Parse(url)
	if err == nil {
		err = connection.Only(t[0])
	}
	if err != nil {
		return nil, err
	}
	return &Inspector{target: t[0], activity: inspect.NewActivity(), failed: map[string]bool{},
		readings: inspect.Readings{Gauges: gauge}}, nil
}

// gauge tells which figures aren't counters. Those of box.stat.vinyl are described at "box.stat.vinyl" in Tarantool's
// manual: sizes on the disk and in memory, bounds of the regulator, and what is under way.
func gauge(kind, figure string) bool {
	if kind == kindGauge || strings.HasSuffix(figure, ".rps") || strings.HasSuffix(figure, ".current") {
		return true
	}
	switch figure {
	case "scheduler.compaction_queue", "scheduler.tasks_inprogress", "tx.statements", "tx.transactions", "tx.gap_locks",
		"tx.read_views":
		return true
	}
	return slices.ContainsFunc([]string{"memory.", "disk.", "regulator."}, func(group string) bool {
		return strings.HasPrefix(figure, group)
	})
}

// Name implements inspect.Inspector.
func (i *Inspector) Name() string { return "tarantool " + i.target.Address }

// Begin implements inspect.Inspector.
func (i *Inspector) Begin(ctx context.Context) error {
	if err := i.again(ctx); err != nil {
		return err
	}
	i.version = i.session.Version()
	if is, _, err := i.session.Picodata(ctx); err == nil && is {
		return errors.New("this is Picodata: write picodata= and the addresses of its HTTP servers instead")
	}
	i.vinyl = i.vinylStats(ctx)
	if err := i.Snapshot(ctx); err != nil {
		return err
	}
	if len(i.denied) > 0 {
		i.miss(record.NewWarning("inspect-tarantool-rights", message.Text("functions", strings.Join(i.denied, ", ")),
			message.Text("user", userOf(i.target)), message.Text("grant", grant(i.denied, userOf(i.target)))))
	}
	if found := process.Find([]string{i.target.Address}); len(found) > 0 {
		i.pid = found[0].PID
		i.cpuNs, i.queuedNs = process.Scheduled(i.pid, false)
	}
	if i.wanted {
		i.startProfile(ctx)
	}
	return nil
}

// starved reports whether the tx thread, which is the main one, waited for a core for much longer than it ran: then the
// loop is late because of other processes.
func (i *Inspector) starved() bool {
	if i.pid == 0 {
		return false
	}
	cpu, queued := process.Scheduled(i.pid, false)
	return queued-i.queuedNs > starvedTimes*max(cpu-i.cpuNs, 0)
}

func userOf(t protocol.Target) string {
	if t.User == "" {
		return "guest"
	}
	return t.User
}

// grant returns the program that grants a user the right to call functions.
func grant(functions []string, user string) string {
	return fmt.Sprintf("for _, f in ipairs{'%s'} do box.schema.func.create(f, {if_not_exists = true}) "+
		"box.schema.user.grant('%s', 'execute', 'function', f, {if_not_exists = true}) end",
		strings.Join(functions, "', '"), user)
}

// again connects if there is no connection.
func (i *Inspector) again(ctx context.Context) error {
	if i.session != nil && !i.session.Broken() {
		return nil
	}
	i.Close()
	s, err := iproto.OpenSession(ctx, i.target)
	if err != nil {
		i.session = nil
		return errors.New(secret.Text(secret.Redact(err.Text, []string{i.target.Password})))
	}
	i.session = s
	return nil
}

// Snapshot implements inspect.Inspector.
func (i *Inspector) Snapshot(ctx context.Context) error {
	if err := i.again(ctx); err != nil {
		return err
	}
	r, err := i.reading(ctx)
	if err == nil {
		i.readings.Add(r)
	}
	return err
}

// Mark implements inspect.Inspector.
func (i *Inspector) Mark(phase inspect.Phase) { i.readings.Mark(phase) }

// Sample implements inspect.Inspector.
func (i *Inspector) Sample(ctx context.Context, at time.Duration) error {
	if err := i.again(ctx); err != nil {
		return err
	}
	return i.sample(ctx, at)
}

// End implements inspect.Inspector.
func (i *Inspector) End(ctx context.Context, last inspect.Phase, load inspect.Load) (*record.Inspection, error) {
	out := &record.Inspection{Source: i.Name(), Product: "Tarantool", Version: i.version}
	err := i.Snapshot(ctx)
	i.Mark(last)
	if out.Windows = i.readings.Windows(load.Operations, inspect.Normal); len(out.Windows) == 0 {
		return nil, err
	}
	if i.readings.Reset() {
		i.miss(record.Notice("inspect-began-anew"))
	}
	out.Activity = i.activity.Record(func(string) bool { return false })
	out.Activity.Clients = nil // samples see requests, not connections
	out.RoundTripNs = i.seen.tripNs
	c := &caseFile{seen: &i.seen, inspection: out, load: &out.Windows[0], operations: load.Operations,
		starved: i.starved()}
	if err == nil {
		c.settings = i.settings(ctx)
		c.vinyl, c.vinylBefore = i.vinylStats(ctx), i.vinyl
	}
	if err == nil && !load.Brief {
		c.plans, err = i.explainAll(ctx, load.Operations)
	}
	if i.profile != nil {
		c.profile = i.endProfile(ctx)
	}
	c.judge()
	out.Missing, out.Cost.Queries = i.missing, i.queries
	return out, err
}

// Close implements inspect.Inspector.
func (i *Inspector) Close() {
	if i.session != nil {
		i.session.Close()
	}
}

// miss adds a notice about missing information.
func (i *Inspector) miss(w record.Warning) { inspect.Miss(&i.missing, w) }

// call calls a function without arguments. The result is nil if the server doesn't have it or the user may not call it.
func (i *Inspector) call(ctx context.Context, function string) (map[string]any, error) {
	if i.failed[function] {
		return nil, nil
	}
	i.queries++
	i.calls++
	values, err := i.session.Call(ctx, function)
	switch {
	case err == nil:
	case i.session.Broken():
		return nil, err
	default:
		i.failed[function] = true
		if strings.Contains(err.Text, "denied") || strings.Contains(err.Text, "is not defined") {
			i.denied = append(i.denied, function)
		}
		return nil, nil
	}
	if len(values) == 0 {
		return nil, nil
	}
	m, _ := values[0].(map[string]any)
	return m, nil
}
