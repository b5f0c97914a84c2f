package runner

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"time"

	"brunt/internal/judge/verify"
	"brunt/internal/load/schedule"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/server/target"
)

// rememberWrites makes the record store the writes that will be read back, with their results.
func (r *Runner) rememberWrites() {
	if !r.system.Plan.Verifies() || r.o.Recording.None {
		return
	}
	r.Workload.Wrote = func(w workload.Written) {
		r.bundle.Wrote(record.Write{
			Index: w.Index, Operation: w.Operation, Address: w.Address, SentNs: w.SentNs, EndNs: w.EndNs, Effect: w.Effect,
		})
	}
	r.Workload.Begins = func(index uint64) {
		for {
			have := r.begun.Load()
			if index < have || r.begun.CompareAndSwap(have, index+1) {
				return
			}
		}
	}
	r.aftermath = r.newAftermath()
}

// verifyWrites reads back the load's writes.
func (r *Runner) verifyWrites(ctx context.Context) {
	if !r.system.Plan.Verifies() {
		return
	}
	if r.o.Recording.None {
		r.verified = &record.Verified{Reason: message.New("verify.no-record")}
		return
	}
	missing := r.bundle.FlushWrites()
	recorded, err := record.Open(record.OS{}, r.Dir)
	if err != nil {
		r.verified = &record.Verified{Reason: message.OfError(err)}
		return
	}
	b := r.readBack(recorded)
	b.whole, b.missing, b.faults, b.sent = true, missing, r.injected, r.begun.Load()
	if r.aftermath != nil {
		b.losses = r.aftermath.losses
	}
	r.verified, r.lost = b.do(ctx)
	if r.aftermath != nil {
		r.verified.AfterFaults = r.aftermath.found()
	}
}

// readBack returns a readBack for the run's writes, with the current addresses.
func (r *Runner) readBack(recorded *record.Recorded) *readBack {
	b := &readBack{
		work: r.Workload, recorded: recorded, part: r.o.Part, how: r.system.Plan.Verify.WithDefaults(),
		driver: r.system.Driver, timeout: r.system.Plan.Settings.OperationTimeout,
		one: r.system.Plan.Target.Options["mode"] == "cluster", name: r.unproxied, losses: losses{},
	}
	for i := range r.nodes.Len() {
		b.addresses = append(b.addresses, r.unproxied(r.nodes.At(i).Address))
		if r.nodes.Active(i) {
			b.nodes = append(b.nodes, &node{target: r.nodes.At(i)})
		}
	}
	return b
}

// ReadBack reads back the writes of a bundle's run from the servers of the bundle's plan. The run may have been killed.
// An error is a *target.UsageError or a *target.UnreachableError.
func ReadBack(ctx context.Context, recorded *record.Recorded, p *plan.Plan) (*record.Verified, error) {
	s, err := target.Find(ctx, p, target.Patience{})
	if err != nil {
		return nil, err
	}
	w, err := s.Workload()
	if err != nil {
		return nil, err
	}
	run := recorded.Run
	startAgain(w.Sequences, run)
	b := &readBack{
		work: w, recorded: recorded, how: s.Plan.Verify.WithDefaults(), driver: s.Driver,
		timeout: s.Plan.Settings.OperationTimeout, whole: run.Complete, one: s.Plan.Target.Options["mode"] == "cluster",
		name: func(address string) string { return address }, faults: run.Faults, losses: losses{},
	}
	for i := range run.Targets {
		b.addresses = append(b.addresses, run.Targets[i].Address)
	}
	var earlier []record.VerifiedFault
	if run.Verified != nil {
		b.missing, b.sent, earlier = run.Verified.Unrecorded, run.Verified.SentEnd, run.Verified.AfterFaults
	} else if earlier, err = recorded.VerifiedAfter(); err != nil {
		return nil, err
	}
	b.losses.add(w, earlier)
	if run.Verified != nil { // what was lost then doesn't become stale because an address has returned with it
		b.losses.add(w, []record.VerifiedFault{{Bad: run.Verified.Bad}})
	}
	if run.Stride > 1 {
		b.part = schedule.Part{Of: run.Stride, Takes: []uint64{run.Offset}}
	}
	for _, t := range s.Targets {
		b.nodes = append(b.nodes, &node{target: t})
	}
	v, _ := b.do(ctx)
	blame(v, run.Failover)
	v.AfterFaults = earlier
	return v, nil
}

// startAgain sets sequences to the values with which they began in a run.
func startAgain(all []*workload.Sequence, run *record.Run) {
	for _, q := range all {
		for _, had := range run.Sequences {
			if had.Table != q.Table || had.Column != q.Column {
				continue
			}
			switch {
			case q.UUID && had.Rows != nil:
				q.Apart(*had.Rows)
			case !q.UUID && had.Rows == nil:
				q.Begin(had.First)
			}
		}
	}
}

// mostWrites limits the writes that are kept in memory.
const mostWrites = 1 << 18

// keyed is a write by its key.
type keyed struct {
	key uint64 // hash of the key
	verify.Write
}

// writer recomputes writes.
type writer struct {
	work  *workload.Workload
	state workload.State
	buf   []byte
}

// of calls f with every verified step of an operation, after its arguments have been computed.
func (w *writer) of(index uint64, f func(step int, v *workload.Verify)) {
	op := w.work.Pick(index)
	if o := &w.work.Operations[op]; o.Verifies() {
		for s := range o.Steps {
			w.work.Args(&w.state, op, s, index)
			if v := o.Steps[s].Verify; v != nil {
				f(s, v)
			}
		}
	}
}

// written calls f with every verified write of an operation. foreign means that the write's result isn't known.
func (w *writer) written(r *record.Write, foreign bool, f func(k *keyed)) {
	w.of(r.Index, func(step int, v *workload.Verify) {
		f(&keyed{verify.Hash(w.key(step, v)), verify.Write{
			Index: r.Index, Operation: w.work.Pick(r.Index), Step: step, Address: r.Address,
			SentNs: r.SentNs, EndNs: r.EndNs, Effect: r.Effect, Value: verify.Hash(w.value(step, v)), Absent: v.Absent,
			Foreign: foreign,
		}})
	})
}

// keyHead is the length of the prefix of a key's text.
const keyHead = 4

// key returns the identity of a key. The text for people follows after keyHead bytes. It is valid until the next call.
func (w *writer) key(step int, v *workload.Verify) []byte {
	w.buf = binary.BigEndian.AppendUint32(w.buf[:0], uint32(v.Group))
	return w.text(step, v.Key)
}

// value returns the value that a read of the write must return, as key does.
func (w *writer) value(step int, v *workload.Verify) []byte {
	w.buf = w.buf[:0]
	return w.text(step, v.Expect)
}

// text appends arguments of a step to buf.
func (w *writer) text(step int, params []int) []byte {
	args := w.state.Args[step]
	for i, k := range params {
		if i > 0 {
			w.buf = append(w.buf, ", "...)
		}
		w.buf = verify.AppendText(w.buf, args[k:k+1])
	}
	return w.buf
}

// readBack reads writes back.
type readBack struct {
	work     *workload.Workload
	recorded *record.Recorded
	part     schedule.Part
	how      plan.Verification
	driver   protocol.Driver
	timeout  time.Duration
	whole    bool // the run ended normally, so every write that was sent is recorded
	one      bool // each address has its own keys, and forwards requests for others
	nodes    []*node
	name     func(address string) string // name of the server behind an address
	faults   []record.Fault

	addresses []string // of the record's targets
	missing   uint64   // writes that are not on disk
	sent      uint64   // operations with this number or a higher one were not sent; 0 if unknown
	losses    losses   // found by earlier readings
	live      *live    // nil after the load

	v         *record.Verified
	began     time.Time
	lost      []int64
	ackedNs   map[int]int64 // by address of the record: when the latest write that it acknowledged was sent
	divisions verify.Divisions
}

// mostLost limits the lost writes that are attributed to incidents.
const mostLost = 1 << 20

// do reads back the writes. It returns the results, and when each lost write was acknowledged.
func (b *readBack) do(ctx context.Context) (*record.Verified, []int64) {
	b.v, b.began, b.ackedNs = &record.Verified{}, time.Now(), map[int]int64{}
	b.v.Operations = make([]record.VerifiedOperation, len(b.work.Operations))
	for i := range b.work.Operations {
		b.v.Operations[i].Name = b.work.Operations[i].Name
	}
	for _, n := range b.nodes {
		n.seen.Address = b.name(n.target.Address)
	}
	limited, cancel := context.WithTimeout(ctx, b.how.Limit)
	defer cancel()
	defer b.hangUp()
	if s, err := b.survey(); err != nil {
		b.v.Reason = message.OfError(err)
	} else {
		b.partitions(limited, s)
	}
	switch {
	case !b.v.Reason.IsZero():
	case ctx.Err() != nil:
		b.v.Reason = message.New("verify.interrupted")
	case limited.Err() != nil:
		b.v.Reason = message.New("verify.limit", message.Span("limit", b.how.Limit))
	}
	b.keepOldest()
	b.recordDivisions()
	if b.live == nil {
		b.v.LostMeanwhile = uint64(len(b.losses))
		for _, l := range b.losses {
			b.lost = append(b.lost, l.endNs)
		}
	}
	b.v.DurationNs = int64(time.Since(b.began))
	b.v.Operations = slices.DeleteFunc(b.v.Operations, func(o record.VerifiedOperation) bool {
		return o.Acknowledged+o.Failed+o.Unknown == 0
	})
	for _, n := range b.nodes {
		b.v.Nodes = append(b.v.Nodes, n.seen)
	}
	return b.v, b.lost
}

// survey describes a run's writes before they are read back.
type survey struct {
	writes uint64 // recorded
	seen   bitmap // recorded operations
	end    uint64 // operations with this number or a higher one were not sent
	blind  bool   // unrecorded operations may have been sent
}

// bitmap is a set of numbers.
type bitmap []uint64

func (m bitmap) has(i uint64) bool { return i>>6 < uint64(len(m)) && m[i>>6]&(1<<(i&63)) != 0 }

func (m *bitmap) add(i uint64) {
	if need := int(i>>6) + 1; need > len(*m) {
		*m = append(*m, make([]uint64, need-len(*m))...)
	}
	(*m)[i>>6] |= 1 << (i & 63)
}

// mostIndex is the greatest plausible number of an operation, counted from the load's first.
const mostIndex = 1 << 32

// known reports whether the load can have an operation of that number.
func (b *readBack) known(i uint64) bool {
	first := b.work.Plan.First
	return i >= first && i-first < mostIndex && (b.work.Total == 0 || i < b.work.Total)
}

// survey reads the recorded operations.
func (b *readBack) survey() (*survey, error) {
	s, first := &survey{}, b.work.Plan.First
	damage, err := b.recorded.Writes(func(w *record.Write) error {
		if !b.known(w.Index) || b.live.later(w) {
			return nil
		}
		s.writes++
		s.end = max(s.end, w.Index+1)
		s.seen.add(w.Index - first)
		if w.Effect == protocol.Applied || w.Effect == protocol.AppliedAgain {
			b.ackedNs[w.Address] = max(b.ackedNs[w.Address], w.SentNs)
		}
		return nil
	})
	b.v.Unrecorded = max(damage.Lost, b.missing)
	s.blind = !b.whole || damage.Lines > 0 || b.v.Unrecorded > 0
	switch {
	case b.live != nil:
		s.end = b.live.sent()
	case s.blind && b.sent > 0:
		s.end, b.v.SentEnd = b.sent, b.sent
	case !b.whole:
		s.end += 1000 + s.writes/2 // operations after the last interval
		if total := b.work.Total; total > 0 {
			s.end = min(s.end, total)
		}
	}
	return s, err
}

// partitions reads back the keys in partitions that fit into memory.
func (b *readBack) partitions(ctx context.Context, s *survey) {
	n := s.writes/mostWrites + 1
	for p := range n {
		all, err := b.gather(s, p, n)
		if err != nil {
			b.v.Reason = message.OfError(err)
			return
		}
		b.partition(ctx, all, s.end)
	}
}

// gather returns the writes of the keys of a partition, sorted by key and time.
func (b *readBack) gather(s *survey, p, of uint64) (out []keyed, err error) {
	w := &writer{work: b.work}
	add := func(r *record.Write, foreign bool) {
		w.written(r, foreign, func(k *keyed) {
			if k.key%of == p {
				out = append(out, *k)
			}
		})
	}
	first := b.work.Plan.First
	_, err = b.recorded.Writes(func(r *record.Write) error {
		if b.known(r.Index) && !b.live.later(r) {
			add(r, false)
		}
		return nil
	})
	if s.blind || b.part.Of > 1 {
		for i := first; i < s.end; i++ {
			if mine := b.mine(i); !s.seen.has(i-first) && (s.blind || !mine) {
				add(&record.Write{Index: i}, true)
			}
		}
	}
	slices.SortFunc(out, func(x, y keyed) int {
		return cmp.Or(cmp.Compare(x.key, y.key), cmp.Compare(x.SentNs, y.SentNs), cmp.Compare(x.Index, y.Index))
	})
	return out, err
}

// mine reports whether an operation belongs to this machine's part.
func (b *readBack) mine(i uint64) bool {
	return b.part.Has(i - b.work.Plan.First)
}
