package runner

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"brunt/internal/judge/verify"
	"brunt/internal/load/gen"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/record"
)

// node is an address from which keys are read.
type node struct {
	target protocol.Target
	seen   record.VerifiedNode
	conns  []protocol.Conn
	gone   bool // it has not answered within the patience

	mu sync.Mutex // guards Error
}

// failed records why something couldn't be read.
func (n *node) failed(text string) {
	n.mu.Lock()
	n.seen.Error = text
	n.mu.Unlock()
}

// hangUp closes all connections.
func (b *readBack) hangUp() {
	for _, n := range b.nodes {
		for _, c := range n.conns {
			if c != nil {
				c.Close()
			}
		}
	}
}

// partition is a set of keys that are read back together.
type partition struct {
	*readBack
	all      []keyed
	starts   []int            // index in all of the first write of each key, and the length of all
	readings []verify.Reading // by key and node
	before   []verify.Reading // readings of the last pass
	homes    []int            // by key: the node that is read; −1 for all nodes
	late     []bool           // by key: the first reading was wrong
	about    []verify.Node    // by node: what is known of it
	open     []bool           // by key: reading was interrupted before the patience was over

	end   uint64                 // operations with this number or a higher one are in neither all nor begun
	begun map[int][]verify.Write // by key: writes that began while keys were read

	mu    sync.Mutex
	found map[[2]int]string // by key and node: values read that are wrong
}

// mostFound limits the wrong values that are kept.
const mostFound = 4 * record.MaxBadWrites

// partition reads keys back and adds the results.
func (b *readBack) partition(ctx context.Context, all []keyed, end uint64) {
	p := &partition{readBack: b, all: ours(all), found: map[[2]int]string{}, end: end, begun: map[int][]verify.Write{}}
	all = p.all
	for i := range all {
		if i == 0 || all[i].key != all[i-1].key {
			p.starts = append(p.starts, i)
			p.homes = append(p.homes, p.home(len(p.homes), &all[i]))
		}
	}
	keys := len(p.starts)
	p.starts = append(p.starts, len(all))
	p.readings = make([]verify.Reading, keys*len(b.nodes))
	p.before = make([]verify.Reading, keys*len(b.nodes))
	p.late, p.open = make([]bool, keys), make([]bool, keys)
	every := make([]int, keys)
	for k := range every {
		every[k] = k
	}
	p.pass(ctx, every)
	for k := range every {
		p.late[k] = !p.well(k)
	}
	again := every
	if p.live != nil { // a key that keeps changing never gives two equal readings
		again = slices.DeleteFunc(every, func(k int) bool { return !p.late[k] || p.excused(k) })
	}
	p.settle(ctx, again)
	p.describe(ctx)
	for k := range keys {
		p.conclude(ctx, k)
	}
}

// ours removes keys without a recorded write.
func ours(all []keyed) []keyed {
	out := all[:0]
	for from := 0; from < len(all); {
		to, mine := from, false
		for ; to < len(all) && all[to].key == all[from].key; to++ {
			mine = mine || !all[to].Foreign
		}
		if mine {
			out = append(out, all[from:to]...)
		}
		from = to
	}
	return out
}

// home returns the node from which a key is read, or −1 for all nodes.
func (p *partition) home(key int, w *keyed) int {
	if p.one || p.work.Operations[w.Operation].Steps[w.Step].Verify.One {
		return key % len(p.nodes)
	}
	return -1
}

// of returns the history and the readings of a key.
func (p *partition) of(key int) (verify.History, []verify.Reading) {
	all := p.all[p.starts[key]:p.starts[key+1]]
	writes := make([]verify.Write, len(all))
	for i := range all {
		writes[i] = all[i].Write
	}
	readings := p.readings[key*len(p.nodes) : (key+1)*len(p.nodes)]
	if h := p.homes[key]; h >= 0 {
		readings = readings[h : h+1]
	}
	writes = append(writes, p.begun[key]...)
	if p.live != nil && slices.ContainsFunc(writes, func(w verify.Write) bool { return w.Foreign }) {
		return verify.During(writes), readings
	}
	return verify.Of(writes), readings
}

// well reports whether all addresses have the expected value.
func (p *partition) well(key int) bool {
	h, readings := p.of(key)
	return h.Judge(readings, nil).Fate == verify.OK && !slices.ContainsFunc(readings, func(r verify.Reading) bool {
		return r.State == verify.Unread
	})
}

// agree reports whether the last two readings of a key are the same.
func (p *partition) agree(key int) bool {
	n := len(p.nodes)
	return slices.Equal(p.readings[key*n:(key+1)*n], p.before[key*n:(key+1)*n])
}

// betweenReadings is the pause before keys are read once more.
const betweenReadings = 100 * time.Millisecond

// mostBetweenReadings is the longest pause during the load. Pauses double, to keep the servers free for the load.
const mostBetweenReadings = time.Second

// settle reads keys until two readings agree and are as expected, or the patience is over.
func (p *partition) settle(ctx context.Context, keys []int) {
	until := time.Now().Add(p.how.Patience)
	for pause := betweenReadings; len(keys) > 0; {
		copy(p.before, p.readings)
		p.pass(ctx, keys)
		keys = slices.DeleteFunc(slices.Clone(keys), func(k int) bool {
			return p.well(k) && (p.live != nil || p.agree(k)) || p.excused(k)
		})
		if len(keys) == 0 || time.Now().After(until) || !protocol.Sleep(ctx, pause) {
			break
		}
		if p.live != nil {
			pause = min(2*pause, mostBetweenReadings)
		}
		for _, k := range keys { // if one address is enough, another one may answer
			if h := p.homes[k]; h >= 0 && p.readings[k*len(p.nodes)+h].State == verify.Unread {
				p.homes[k] = (h + 1) % len(p.nodes)
			}
		}
	}
	if ctx.Err() != nil {
		for _, k := range keys {
			p.open[k] = true
		}
	}
	for _, n := range p.nodes {
		n.gone = n.gone || n.seen.Error != "" && !slices.ContainsFunc(n.conns, func(c protocol.Conn) bool { return c != nil })
	}
}

// pass reads keys once from each address.
func (p *partition) pass(ctx context.Context, keys []int) {
	var all sync.WaitGroup
	for number, n := range p.nodes {
		if n.conns == nil {
			n.conns = make([]protocol.Conn, p.how.Connections)
		}
		next := &atomic.Int64{}
		for c := range min(len(n.conns), len(keys)) {
			all.Go(func() { p.ask(ctx, number, &n.conns[c], keys, next) })
		}
	}
	all.Wait()
	p.extend()
}

// mostReadFailures is how many readings over a connection may fail in a row before its other keys wait for the next
// pass. Otherwise an address that hangs would cost a timeout for each key.
const mostReadFailures = 3

// ask reads keys from an address over a connection until none is left or the address doesn't answer.
func (p *partition) ask(ctx context.Context, number int, conn *protocol.Conn, keys []int, next *atomic.Int64) {
	n := p.nodes[number]
	w := &writer{work: p.work}
	reply := protocol.Reply{}
	failures := 0 // in a row
	for ctx.Err() == nil {
		i := int(next.Add(1)) - 1
		if i >= len(keys) {
			return
		}
		k := keys[i]
		at := &p.readings[k*len(p.nodes)+number]
		if h := p.homes[k]; h >= 0 && h != number {
			continue
		}
		if p.keeps(k, at) {
			continue
		}
		*at = verify.Reading{}
		if failures == mostReadFailures {
			continue
		}
		if *conn == nil && !p.dial(ctx, n, conn) {
			failures = mostReadFailures
			continue
		}
		*at = p.read(ctx, n, conn, w, p.asked(k), &reply)
		if failures++; at.State != verify.Unread {
			failures = 0
			p.keep(k, number, *at, w.buf)
		}
	}
}

// keeps reports whether a key need not be read again at an address. While the load goes on, one reading that fits is
// enough, to keep the servers free for the load.
func (p *partition) keeps(key int, have *verify.Reading) bool {
	if p.live == nil || have.State == verify.Unread {
		return false
	}
	h, _ := p.of(key)
	m, _ := h.Match(*have)
	return m == verify.Fits
}

// asked returns the write whose request is used to read a key: one that names a capture, if there is any.
func (p *partition) asked(key int) *keyed {
	all := p.all[p.starts[key]:p.starts[key+1]]
	if i := slices.IndexFunc(all, func(w keyed) bool { return !w.Absent }); i >= 0 {
		return &all[i]
	}
	return &all[0]
}

// dial connects to an address, unless the address is gone.
func (p *partition) dial(ctx context.Context, n *node, conn *protocol.Conn) bool {
	if n.gone {
		return false
	}
	connecting, cancel := context.WithTimeout(ctx, min(n.target.ConnectTime(), p.how.Patience))
	defer cancel()
	c, err := p.driver.Dial(connecting, n.target, &p.work.Reads)
	if err != nil {
		n.failed(protocol.AsError(err).Text)
		return false
	}
	*conn = c
	return true
}

// read reads the key of a write. w.buf then contains the value as text.
func (p *partition) read(ctx context.Context, n *node, conn *protocol.Conn, w *writer, of *keyed,
	reply *protocol.Reply) verify.Reading {
	var args []gen.Value
	request := &p.work.Reads.Requests[0]
	w.of(of.Index, func(step int, v *workload.Verify) {
		if step != of.Step {
			return
		}
		request = &p.work.Reads.Requests[v.Read]
		for _, k := range v.Key {
			args = append(args, w.state.Args[step][k])
		}
	})
	reply.Reset(len(request.Capture))
	asking, cancel := context.WithTimeout(ctx, min(p.timeout, p.how.Patience))
	defer cancel()
	(*conn).Do(asking, request, args, reply)
	if reply.Fatal {
		(*conn).Close()
		*conn = nil
	}
	state := stateOf(request, reply)
	if state == verify.Unread {
		n.failed(reply.Class.String() + " " + reply.Code + ": " + reply.Text)
		return verify.Reading{}
	}
	if ctx.Err() != nil { // during a load, the next fault begins
		return verify.Reading{}
	}
	if w.buf = w.buf[:0]; state != verify.Present {
		return verify.Reading{State: state}
	}
	w.buf = verify.AppendText(w.buf, reply.Captured)
	return verify.Reading{State: state, Value: verify.Hash(w.buf)}
}

// stateOf returns the state of a key according to an answer.
func stateOf(r *protocol.Request, reply *protocol.Reply) verify.State {
	rows := r.Verb == protocol.SQL || r.Verb == protocol.Select
	switch {
	case r.Verb == protocol.HTTP && (reply.Status == 404 || reply.Status == 410):
		return verify.Absent
	case reply.Class != protocol.OK:
		return verify.Unread
	case reply.Missing, rows && reply.Rows == 0:
		return verify.Absent
	case rows && reply.Rows > 1:
		return verify.Several
	case rows || len(reply.Captured) == 0:
		return verify.Present
	}
	for i := range reply.Captured {
		if reply.Captured[i].Kind != gen.Null {
			return verify.Present
		}
	}
	return verify.Absent
}

// keep stores the value of a key if it is wrong.
func (p *partition) keep(key, number int, r verify.Reading, text []byte) {
	h, _ := p.of(key)
	if m, _ := h.Match(r); m == verify.Fits || r.State != verify.Present {
		return
	}
	p.mu.Lock()
	if len(p.found) < mostFound {
		p.found[[2]int{key, number}] = string(text)
	}
	p.mu.Unlock()
}

// conclude adds the result for a key.
func (p *partition) conclude(ctx context.Context, key int) {
	h, readings := p.of(key)
	j := h.Judge(readings, p.nodesOf(key))
	first := p.starts[key]
	all := p.all[first:p.starts[key+1]]
	if p.open[key] && !p.well(key) || p.excused(key) {
		p.leave(key)
		return
	}
	known := false // an earlier reading has found it lost
	if p.late[key] && j.Fate == verify.OK {
		p.v.LateNs = max(p.v.LateNs, int64(time.Since(p.began)))
	}
	for i := range all {
		w := &all[i]
		if w.Foreign {
			continue
		}
		o := &p.v.Operations[w.Operation]
		switch w.Effect {
		case protocol.NotApplied:
			o.Failed++
		case protocol.Unsure:
			o.Unknown++
			switch h.Resolve(i, readings) {
			case verify.Applied:
				o.UnknownApplied++
			case verify.NotApplied:
				o.UnknownNotApplied++
			}
		default:
			o.Acknowledged++
			f := h.Fate(i, &j)
			p.count(ctx, o, f)
			known = p.trace(w, f) && i == h.About(readings) || known
			if p.late[key] && (f == verify.OK || f == verify.Overwritten) {
				o.Late++
			}
			if f == verify.Lost && len(p.lost) < mostLost {
				p.lost = append(p.lost, w.EndNs)
			}
		}
	}
	about := h.About(readings)
	if about >= 0 && about < len(all) && p.homes[key] < 0 && p.live == nil {
		p.divisions.Add(&h, about, p.nodeAt(all[about].Address), readings)
	}
	if about >= 0 && all[about].Effect == protocol.NotApplied {
		p.v.Operations[all[about].Operation].FailedThere++
	}
	if about >= 0 && j.Fate != verify.OK && j.Fate != verify.NeverRead && !(known && p.live != nil) {
		p.bad(key, &all[about], &j)
	}
	p.perNode(key, &h)
}

// leave counts the writes of a key about which the readings allow no conclusion.
func (p *partition) leave(key int) {
	for i := p.starts[key]; i < p.starts[key+1]; i++ {
		w := &p.all[i]
		if w.Foreign {
			continue
		}
		p.v.Operations[w.Operation].CountUnread(w.Effect)
	}
}

// count counts an acknowledged write.
func (p *partition) count(ctx context.Context, o *record.VerifiedOperation, f verify.Fate) {
	switch f {
	case verify.OK:
		o.OK++
	case verify.Overwritten:
		o.Overwritten++
	case verify.Lost:
		o.Lost++
	case verify.Duplicated:
		o.Duplicated++
	case verify.Stale:
		o.Stale++
	case verify.Resurrected:
		o.Resurrected++
	case verify.Unknown:
		o.Unexpected++
	case verify.NeverRead:
		if ctx.Err() != nil {
			o.NotChecked++
		} else {
			o.NeverRead++
		}
	}
}

// perNode counts the state of a key at each address.
func (p *partition) perNode(key int, h *verify.History) {
	for i, n := range p.nodes {
		if home := p.homes[key]; home >= 0 && home != i {
			continue
		}
		n.seen.Keys++
		switch m, _ := h.Match(p.readings[key*len(p.nodes)+i]); m {
		case verify.Unasked:
			n.seen.Unread++
		case verify.Fits:
			n.seen.OK++
		case verify.Missing:
			n.seen.Missing++
		case verify.Old, verify.Back:
			n.seen.Old++
		case verify.Unexpected:
			n.seen.Unexpected++
		case verify.Duplicate:
			n.seen.Duplicated++
		}
	}
}

// bad adds a write that was lost or is wrong.
func (p *partition) bad(key int, w *keyed, j *verify.Judgement) {
	number := j.Node
	if h := p.homes[key]; h >= 0 {
		number = h
	}
	out := record.BadWrite{
		Fate: j.Fate.String(), Operation: p.v.Operations[w.Operation].Name, Index: w.Index, SentNs: w.SentNs,
		EndNs: w.EndNs, Found: p.found[[2]int{key, number}],
	}
	if w.Address < len(p.addresses) {
		out.Address = p.addresses[w.Address]
	}
	if j.Fate != verify.Lost || p.somewhere(key) {
		out.Where = p.nodes[number].seen.Address
	}
	again := &writer{work: p.work}
	again.of(w.Index, func(step int, v *workload.Verify) {
		if step == w.Step {
			out.Key = string(again.key(step, v)[keyHead:])
			out.Wrote = string(again.value(step, v))
		}
	})
	if f := faultAt(p.faults, w.SentNs, w.EndNs); f != nil {
		out.Fault, out.Number, out.AheadNs = f.Name, f.Number, max(f.BeginNs-w.EndNs, 0)
	}
	p.v.Bad = append(p.v.Bad, out)
	if len(p.v.Bad) == 2*record.MaxBadWrites {
		p.keepOldest()
	}
}

// keepOldest sorts the bad writes by time, and keeps the first ones.
func (b *readBack) keepOldest() {
	slices.SortFunc(b.v.Bad, func(x, y record.BadWrite) int {
		return cmp.Or(cmp.Compare(x.EndNs, y.EndNs), cmp.Compare(x.Index, y.Index), cmp.Compare(x.Key, y.Key))
	})
	if more := len(b.v.Bad) - record.MaxBadWrites; more > 0 {
		b.v.Bad, b.v.BadMore = b.v.Bad[:record.MaxBadWrites], b.v.BadMore+uint64(more)
	}
}

// faultAt returns the fault that was in progress at a time, or else the next one, or else the last one that nothing
// undid. A fault that needs no healing is over when it has been done. Where there is an account of outages, blame knows
// better.
func faultAt(all []record.Fault, from, to int64) *record.Fault {
	var next, last *record.Fault
	for i := range all {
		f := &all[i]
		if f.BeginNs == 0 {
			continue
		}
		over, open := cmp.Or(f.HealedNs, f.DoneNs), f.HealedNs == 0 && f.HealBeginNs > 0
		switch {
		case f.BeginNs > to:
			if next == nil || f.BeginNs < next.BeginNs {
				next = f
			}
		case over >= from || open:
			return f
		case f.HealedNs == 0:
			last = f
		}
	}
	return cmp.Or(next, last)
}

// blame attributes bad writes to faults as fillLosses attributes lost ones to incidents, so that both name the same.
func blame(v *record.Verified, f *record.Failover) {
	if v == nil || f == nil || len(f.Incidents) == 0 {
		return
	}
	for i := range v.Bad {
		w := &v.Bad[i]
		w.Fault, w.Number, w.AheadNs = "", 0, 0
		for k := range f.Incidents {
			if in := &f.Incidents[k]; in.EndNs >= w.EndNs {
				w.Fault, w.Number = in.Fault, in.Number
				if in.Fault != "" {
					w.AheadNs = max(in.BeginNs-w.EndNs, 0)
				}
				break
			}
		}
	}
}

// fillLosses attributes lost writes to the incidents of the account of outages: each to the first incident that had not
// ended when the write was acknowledged.
func fillLosses(run *record.Run, lost []int64) {
	if run.Failover == nil || run.Verified == nil || run.Verified.Sum().Acknowledged == 0 {
		return
	}
	slices.Sort(lost)
	for i := range run.Failover.Incidents {
		in := &run.Failover.Incidents[i]
		n, _ := slices.BinarySearch(lost, in.EndNs+1)
		count := uint64(n)
		in.LostWrites = &count
		if n > 0 {
			oldest := in.BeginNs - lost[0]
			in.OldestLostNs = &oldest
		}
		lost = lost[n:]
	}
}
