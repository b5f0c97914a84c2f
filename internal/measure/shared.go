package measure

import "sync"

// Shared is a Recorder behind a mutex, for many goroutines with few samples each. It needs no
// Poll.
type Shared struct {
	mu sync.Mutex
	r  *Recorder
}

// Record adds a finished operation.
func (s *Shared) Record(sample *Sample) {
	s.mu.Lock()
	s.r.Record(sample)
	s.mu.Unlock()
}

// Do calls f with the Recorder while nobody else uses it. f must not keep it.
func (s *Shared) Do(f func(r *Recorder)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.r)
}

// Close hands everything over for good. Nothing must be recorded afterwards.
func (s *Shared) Close() { s.Do((*Recorder).Close) }

func (s *Shared) poll() { s.Do((*Recorder).Poll) }
