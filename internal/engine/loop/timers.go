package loop

import "math"

const never = int64(math.MaxInt64)

// timers is a binary heap of requests by the time at which they continue. It has room for all requests from the start,
// and grows if there are sessions among them whose requests are sent in parts (session.pacing).
type timers struct{ heap []*request }

func newTimers(flights int) timers { return timers{make([]*request, 0, flights)} }

// next returns when the first is due, or never.
func (t *timers) next() int64 {
	if len(t.heap) == 0 {
		return never
	}
	return t.heap[0].wakeAt
}

func (t *timers) add(f *request, at int64) {
	f.wakeAt = at
	t.heap = append(t.heap, f)
	f.heapPos = len(t.heap)
	t.up(len(t.heap) - 1)
}

// pop removes and returns the first request if it is due at now.
func (t *timers) pop(now int64) *request {
	if len(t.heap) == 0 || t.heap[0].wakeAt > now {
		return nil
	}
	f := t.heap[0]
	t.remove(f)
	return f
}

// remove removes f if it is present.
func (t *timers) remove(f *request) {
	if f.heapPos == 0 {
		return
	}
	i, last := f.heapPos-1, len(t.heap)-1
	f.heapPos = 0
	moved := t.heap[last]
	t.heap[last] = nil
	t.heap = t.heap[:last]
	if i == last {
		return
	}
	t.heap[i] = moved
	moved.heapPos = i + 1
	t.up(i)
	t.down(moved.heapPos - 1)
}

func (t *timers) swap(i, j int) {
	h := t.heap
	h[i], h[j] = h[j], h[i]
	h[i].heapPos, h[j].heapPos = i+1, j+1
}

func (t *timers) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if t.heap[parent].wakeAt <= t.heap[i].wakeAt {
			return
		}
		t.swap(i, parent)
		i = parent
	}
}

func (t *timers) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(t.heap) {
			return
		}
		if child+1 < len(t.heap) && t.heap[child+1].wakeAt < t.heap[child].wakeAt {
			child++
		}
		if t.heap[i].wakeAt <= t.heap[child].wakeAt {
			return
		}
		t.swap(i, child)
		i = child
	}
}

// deadlines is the list of operations in progress in the order of their beginning. All have the same timeout, so they
// also expire in this order.
type deadlines struct {
	first, last *request
	timeout     int64
}

// next returns when the first expires, or never.
func (d *deadlines) next() int64 {
	if d.first == nil {
		return never
	}
	return d.first.began + d.timeout
}

func (d *deadlines) add(f *request) {
	f.timed = true
	f.earlier, f.later = d.last, nil
	if d.last != nil {
		d.last.later = f
	} else {
		d.first = f
	}
	d.last = f
}

// remove removes f if it is present.
func (d *deadlines) remove(f *request) {
	if !f.timed {
		return
	}
	f.timed = false
	if f.earlier != nil {
		f.earlier.later = f.later
	} else {
		d.first = f.later
	}
	if f.later != nil {
		f.later.earlier = f.earlier
	} else {
		d.last = f.earlier
	}
	f.earlier, f.later = nil, nil
}
