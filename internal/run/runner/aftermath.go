package runner

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"brunt/internal/judge/verify"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// aftermath reads writes back after each fault, while the load goes on. A reading begins when no fault is in progress,
// and ends before the next fault is injected. Writes that it has not read by then count as not checked. faultBegins and
// faultOver do nothing if aftermath is nil.
type aftermath struct {
	r      *Runner
	losses losses
	stop   context.CancelCauseFunc
	done   chan struct{}
	wake   chan struct{}

	mu         sync.Mutex
	inProgress int            // faults
	over       []record.Fault // since the last reading began
	cut        func()         // ends the current reading; nil if there is none
	readings   []*record.VerifiedFault
}

// Why a reading ends early.
var (
	errNextFault = errors.New("the next fault began")
	errLoadOver  = errors.New("the load was over")
)

// newAftermath returns nil unless the plan asks for reading back after each fault and this process injects all faults.
// It doesn't know when the faults of another machine are over.
func (r *Runner) newAftermath() *aftermath {
	if !r.eachFault || !r.system.Plan.Verifies() || r.o.Recording.None || !r.faults.All() {
		return nil
	}
	a := &aftermath{r: r, losses: losses{}, wake: make(chan struct{}, 1), done: make(chan struct{})}
	return a
}

// faultBegins ends the current reading before a fault is injected.
func (a *aftermath) faultBegins() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inProgress++
	if a.cut != nil {
		a.cut()
	}
}

// faultOver begins a reading unless another fault is in progress.
func (a *aftermath) faultOver(f *record.Fault) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inProgress--
	a.over = append(a.over, *f)
	if a.inProgress == 0 {
		select {
		case a.wake <- struct{}{}:
		default:
		}
	}
}

// start starts the goroutine that reads back after faults.
func (a *aftermath) start(ctx context.Context) {
	ctx, a.stop = context.WithCancelCause(ctx)
	go func() {
		defer close(a.done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-a.wake:
				a.read(ctx)
			}
		}
	}()
}

// end ends the current reading. All writes are read back after the load.
func (a *aftermath) end() {
	a.stop(errLoadOver)
	<-a.done
}

// found returns what was found after each fault.
func (a *aftermath) found() (out []record.VerifiedFault) {
	for _, v := range a.readings {
		out = append(out, *v)
	}
	return out
}

// read reads back once. Faults that were over before it began share what it finds.
func (a *aftermath) read(ctx context.Context) {
	ctx, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	a.mu.Lock()
	over := a.over
	if a.inProgress > 0 || len(over) == 0 {
		a.mu.Unlock()
		return
	}
	a.over, a.cut = nil, func() { cut(errNextFault) }
	a.mu.Unlock()
	last := over[len(over)-1]
	v := &record.VerifiedFault{Fault: last.Name, Number: last.Number}
	a.fill(ctx, v)
	a.mu.Lock()
	a.cut = nil
	a.mu.Unlock()
	for i := range over {
		f := &over[i]
		entry := v
		if i < len(over)-1 { // its losses are recorded in the entry of the last fault
			entry = &record.VerifiedFault{Fault: f.Name, Number: f.Number, UntilNs: v.UntilNs, DurationNs: v.DurationNs,
				Reason: v.Reason, Operations: slices.Clone(v.Operations), Nodes: slices.Clone(v.Nodes), Unrecorded: v.Unrecorded}
		}
		entry.OverNs = max(f.HealedNs, f.DoneNs)
		a.readings = append(a.readings, entry)
		a.r.bundle.VerifiedAfter(entry)
	}
}

// fill reads back the writes that have been acknowledged so far.
func (a *aftermath) fill(ctx context.Context, v *record.VerifiedFault) {
	r := a.r
	v.UntilNs = r.clock.Now()
	missing := r.bundle.FlushWrites()
	recorded, err := record.Open(record.OS{}, r.Dir)
	if err != nil {
		v.Reason = message.OfError(err)
		return
	}
	b := r.readBack(recorded)
	b.missing, b.faults, b.losses = missing, r.faults.Done(), a.losses
	b.live = &live{entry: v, cutNs: v.UntilNs, sent: r.begun.Load, others: r.o.Part.Of > 1,
		deletes: deletes(r.Workload)}
	found, _ := b.do(ctx)
	v.Operations, v.Nodes, v.Bad, v.BadMore = found.Operations, found.Nodes, found.Bad, found.BadMore
	v.Reason, v.DurationNs, v.Unrecorded = found.Reason, found.DurationNs, found.Unrecorded
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errNextFault):
		v.Reason = message.New("verify.next-fault")
	case errors.Is(cause, errLoadOver):
		v.Reason = message.New("verify.load-over")
	}
}

// live holds the settings of reading back while the load goes on.
type live struct {
	entry   *record.VerifiedFault
	cutNs   int64         // only writes that had ended by then are read back
	sent    func() uint64 // operations with this number or a higher one have not been sent
	others  bool          // other machines send operations, too
	deletes map[int]bool  // groups of keys that operations delete
}

// later reports whether a write had not ended when reading began.
func (d *live) later(w *record.Write) bool { return d != nil && w.EndNs > d.cutNs }

// deletes returns the groups of keys that operations delete.
func deletes(w *workload.Workload) map[int]bool {
	out := map[int]bool{}
	for i := range w.Operations {
		for s := range w.Operations[i].Steps {
			if v := w.Operations[i].Steps[s].Verify; v != nil && v.Absent {
				out[v.Group] = true
			}
		}
	}
	return out
}

// extend adds the writes that were sent since the keys were first read, because readings may show their values. Their
// results aren't known.
func (p *partition) extend() {
	if p.live == nil {
		return
	}
	w := &writer{work: p.work}
	for end := p.live.sent(); p.end < end; p.end++ {
		w.written(&record.Write{Index: p.end}, true, func(k *keyed) {
			if number, ok := p.number(k.key); ok {
				p.begun[number] = append(p.begun[number], k.Write)
			}
		})
	}
}

// number returns the index of the key with this hash.
func (p *partition) number(key uint64) (int, bool) {
	return slices.BinarySearchFunc(p.starts[:len(p.starts)-1], key, func(start int, key uint64) int {
		return cmp.Compare(p.all[start].key, key)
	})
}

// excused reports whether the readings of a key may show another machine's write. During the load it isn't known which
// operations other machines have sent.
func (p *partition) excused(key int) bool {
	if p.live == nil || !p.live.others {
		return false
	}
	w := &p.all[p.starts[key]]
	deleted := p.live.deletes[p.work.Operations[w.Operation].Steps[w.Step].Verify.Group]
	h, readings := p.of(key)
	return slices.ContainsFunc(readings, func(r verify.Reading) bool {
		m, _ := h.Match(r)
		return m == verify.Unexpected || m == verify.Missing && deleted
	})
}

// losses are the writes that readings during the load found lost.
type losses map[loss]lostWrite

// loss identifies a write.
type loss struct{ index, key uint64 }

type lostWrite struct {
	entry *record.VerifiedFault // the entry of the reading that found it first
	endNs int64
}

// trace tracks lost writes from one reading to the next. It reports whether an earlier reading found w lost.
func (p *partition) trace(w *keyed, f verify.Fate) (known bool) {
	id := loss{w.Index, w.key}
	was, known := p.losses[id]
	switch {
	case f == verify.Lost && p.live == nil: // the last reading reports it
		delete(p.losses, id)
	case f == verify.Lost && !known:
		p.live.entry.NewLost++
		if len(p.losses) < mostLost {
			p.losses[id] = lostWrite{p.live.entry, w.EndNs}
		}
	case known && f == verify.OK: // it was not lost; no address showed it
		was.entry.Returned++
		for i := range was.entry.Bad {
			if bad := &was.entry.Bad[i]; bad.Index == w.Index && bad.Fate == verify.Lost.String() {
				bad.Fate = verify.Stale.String()
			}
		}
		delete(p.losses, id)
	}
	return known
}

// add adds the lost writes that the readings of a finished run found.
func (l losses) add(work *workload.Workload, all []record.VerifiedFault) {
	w := &writer{work: work}
	for i := range all {
		for k := range all[i].Bad {
			bad := &all[i].Bad[k]
			if bad.Fate != verify.Lost.String() {
				continue
			}
			w.written(&record.Write{Index: bad.Index, EndNs: bad.EndNs, Effect: protocol.Applied}, false, func(k *keyed) {
				l[loss{k.Index, k.key}] = lostWrite{&all[i], bad.EndNs}
			})
		}
	}
}
