package runner

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"brunt/internal/measure"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// betweenRoles is the time between two looks at the nodes' roles.
const betweenRoles = time.Second

// primaries watches that the nodes of a cluster don't take writes side by side. Systems whose nodes do so by design
// have several primaries from the beginning: it is a split brain if there are more of them than there were.
type primaries struct {
	designed map[string]bool // nodes that were primaries when they first answered
	known    map[string]bool // nodes that have answered
	now      []string        // the primaries of a split brain; nil while there is none
	firstNs  int64           // when the first split brain was seen; 0 if there was none
	all      []string        // the primaries of all of them
}

// see takes the roles of the nodes that have answered, by address. It returns the text of an event if a split brain has
// begun, changed or ended.
func (p *primaries) see(atNs int64, roles map[string]protocol.Role) (event string) {
	if p.known == nil {
		p.known, p.designed = map[string]bool{}, map[string]bool{}
	}
	var primary []string
	for address, role := range roles {
		if !p.known[address] {
			p.known[address], p.designed[address] = true, role == protocol.Primary
		}
		if role == protocol.Primary {
			primary = append(primary, address)
		}
	}
	slices.Sort(primary)
	designed := 0
	for _, is := range p.designed {
		if is {
			designed++
		}
	}
	if len(primary) <= max(designed, 1) {
		if p.now == nil {
			return ""
		}
		p.now = nil
		if len(primary) == 0 {
			return "no node takes writes now"
		}
		return "only " + strings.Join(primary, " and ") + " takes writes now"
	}
	if slices.Equal(primary, p.now) {
		return ""
	}
	if p.firstNs == 0 {
		p.firstNs = max(atNs, 1)
	}
	for _, a := range primary {
		if !slices.Contains(p.all, a) {
			p.all = append(p.all, a)
		}
	}
	p.now = primary
	return strings.Join(primary, " and ") + " both take writes"
}

// warning returns the warning that there was a split brain; the zero value if there was none.
func (p *primaries) warning() record.Warning {
	if p.firstNs == 0 {
		return record.Warning{}
	}
	return record.NewWarning("split-brain", message.Text("nodes", strings.Join(p.all, ", ")),
		message.Span("at", time.Duration(p.firstNs).Round(time.Millisecond)))
}

// watchPrimaries looks at the nodes' roles while the load lasts, if the plan is about what happens to a cluster and its
// nodes can be asked. Nodes that don't answer have no role for that time.
func (r *Runner) watchPrimaries(ctx context.Context) (stop func()) {
	reader, ok := r.system.Driver.(protocol.RoleReader)
	p := r.system.Plan
	asked := p.Verifies() || r.Record.Failover != nil || r.faults != nil
	if !ok || !asked || r.buckets != nil || p.Target.Options["mode"] == "cluster" || r.nodes.Len() < 2 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	var seen primaries
	done.Go(func() {
		for ctx.Err() == nil {
			if event := seen.see(r.clock.Now(), r.askRoles(ctx, reader)); event != "" {
				r.collector.Note(measure.Event{AtNs: r.clock.Now(), Kind: EventSplitBrain, Text: event})
			}
			protocol.Sleep(ctx, betweenRoles)
		}
	})
	return func() {
		cancel()
		done.Wait()
		if w := seen.warning(); w.ID != "" {
			r.warn(w)
		}
	}
}

// askRoles returns the roles of the nodes that answer, by the addresses that users know.
func (r *Runner) askRoles(ctx context.Context, reader protocol.RoleReader) map[string]protocol.Role {
	ctx, cancel := context.WithTimeout(ctx, askRoleWithin)
	defer cancel()
	var mu sync.Mutex
	var all sync.WaitGroup
	roles := map[string]protocol.Role{}
	for i := range r.nodes.Len() {
		if !r.nodes.Active(i) {
			continue
		}
		t := r.nodes.At(i)
		all.Go(func() {
			role, err := reader.Role(ctx, t)
			if err != nil || ctx.Err() != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			roles[r.unproxied(t.Address)] = role
		})
	}
	all.Wait()
	return roles
}
