package session

import (
	"errors"
	"io"
	"sync"
)

// resources are what modules have opened, and what they want to be called for when the load is over.
type resources struct {
	mu       sync.Mutex // guards what follows
	all      map[string]*thing
	ends     []func() error
	settling []func() // see BeforeSettled
}

// thing is a shared resource. The first caller opens it, while others wait.
type thing struct {
	mu     sync.Mutex
	closer io.Closer
}

// Shared returns the resource with the key, and opens it if necessary. An error isn't stored: the next call tries
// again. The resource is closed after the run.
func (r *resources) Shared(key string, open func() (io.Closer, error)) (io.Closer, error) {
	r.mu.Lock()
	if r.all == nil {
		r.all = map[string]*thing{}
	}
	t := r.all[key]
	if t == nil {
		t = &thing{}
		r.all[key] = t
	}
	r.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closer != nil {
		return t.closer, nil
	}
	c, err := open()
	if err == nil {
		t.closer = c
	}
	return c, err
}

// BeforeSettled registers f to be called once after the load, before the last interval is cut; f may record further
// calls. All registered functions run at the same time.
func (r *resources) BeforeSettled(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settling = append(r.settling, f)
}

// settle calls the functions registered by BeforeSettled.
func (r *resources) settle() {
	r.mu.Lock()
	all := r.settling
	r.settling = nil
	r.mu.Unlock()
	var calls sync.WaitGroup
	for _, f := range all {
		calls.Go(f)
	}
	calls.Wait()
}

// AtEnd registers f to be called once after the run, teardown included. Functions run in reverse order.
func (r *resources) AtEnd(f func() error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ends = append(r.ends, f)
}

// close closes the shared resources, and calls the functions registered by AtEnd. After Abort, scripts may still be in
// a call: their resources are then left open until the process ends.
func (r *resources) close(aborted func() bool) (err error) {
	r.mu.Lock()
	ends := r.ends
	r.ends = nil
	r.mu.Unlock()
	for i := len(ends) - 1; i >= 0; i-- {
		err = errors.Join(err, ends[i]())
	}
	if aborted() {
		return err
	}
	r.mu.Lock()
	all := r.all
	r.all = nil
	r.mu.Unlock()
	for _, t := range all {
		t.mu.Lock()
		if t.closer != nil {
			err = errors.Join(err, t.closer.Close())
		}
		t.mu.Unlock()
	}
	return err
}
