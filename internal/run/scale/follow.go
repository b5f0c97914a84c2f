package scale

import (
	"brunt/internal/measure"
	"brunt/internal/record"
)

// Follow calls f with the merged intervals of all workers, as they end. It returns when each worker's load is over or
// the worker is lost. run is the result of record.Merge for the parts that Bundles returns.
func (c *Coordinator) Follow(run *record.Run, parts []*record.Recorded, f func(*measure.Interval) error) error {
	v := view{c}
	sources, now := make([]record.Source, len(parts)), make([]measure.Worker, len(parts))
	for i, p := range parts {
		sources[i] = record.Source{Run: p.Run, Lines: v.intervals(c.members[i]), Seen: seen(&now[i])}
	}
	return record.Align(run, sources, func(iv *measure.Interval) error {
		v.workers(now)
		iv.Workers = now
		return f(record.Filled(iv))
	})
}

// view reads the intervals of all workers as they arrive.
type view struct{ *Coordinator }

// seen returns a function that takes a worker's figures from its intervals.
func seen(w *measure.Worker) func(*measure.Interval) {
	return func(iv *measure.Interval) {
		w.LagMaxNs = 0
		var done uint64
		for i := range iv.Operations {
			o := &iv.Operations[i]
			done += o.Done
			if o.Lag != nil {
				w.LagMaxNs = max(w.LagMaxNs, o.Lag.Max())
			}
		}
		w.Done += done
		w.DonePerS = record.PerSecond(done, iv.EndNs-iv.StartNs)
	}
}

// workers sets the names of workers, and which are lost.
func (v view) workers(all []measure.Worker) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range all {
		m, w := v.members[i], &all[i]
		if w.Name, w.Lost = m.name(), m.lost || m.given; w.Lost {
			w.DonePerS, w.LagMaxNs = 0, 0
		}
	}
}

// intervals returns a function that passes on the lines of a worker's intervals as they arrive. Lines that the live
// view has not read yet are in the received file, not in memory, even if other workers are late.
func (v view) intervals(m *member) func(func(line, packed []byte) error) error {
	return func(f func(line, packed []byte) error) error {
		in := &m.inbox
		defer in.release()
		for at, number := int64(0), 0; ; {
			end, err := v.await(in, at, f)
			if err != nil || end == at {
				return err
			}
			size, lines, err := in.pass(at, end, number, f)
			if err != nil {
				return err
			}
			at, number = at+size, number+lines
		}
	}
}

// await waits until an inbox has more than its first at bytes, and returns how many it has; at if there will be no
// more. While all workers wait for phases, it gets these, or calls f without a line.
func (v view) await(in *inbox, at int64, f func(line, packed []byte) error) (end int64, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for {
		live, over := in.live()
		if live != at || over {
			return live, nil
		}
		all, passed := v.asked()
		if !all || !passed && at == 0 {
			v.cond.Wait()
			continue
		}
		v.mu.Unlock()
		if passed {
			v.nextPhases()
		} else { // a worker may have cut its last interval in two
			err = f(nil, nil)
		}
		v.mu.Lock()
		if err != nil {
			return at, err
		}
	}
}

// asked reports whether all workers wait for phases that Options.Next has not returned yet, so that no interval arrives
// before it does, and whether the live view has read all of their intervals. v.mu must be held.
func (v view) asked() (all, passed bool) {
	if v.o.Next == nil || v.stop {
		return false, false
	}
	passed = true
	given := v.course.given()
	for _, m := range v.members {
		if _, over := m.inbox.live(); over {
			continue
		}
		if m.asked <= given {
			return false, false
		}
		all, passed = true, passed && !m.inbox.behind()
	}
	return all, passed
}

// nextPhases gets the phases that all workers ask for from Options.Next.
func (v view) nextPhases() {
	v.course.give(v.o.Next())
	v.mu.Lock()
	defer v.mu.Unlock()
	v.cond.Broadcast()
}
