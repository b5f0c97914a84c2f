package measure

import "sync"

// Shared is a Recorder behind a mutex, for many goroutines with few samples each. It needs no
// Poll.
type Shared struct {
	mu    sync.Mutex
	r     *Recorder
	state func(*Recorder) // see Tell; may be nil
}

// Tell has f called each time just before what was recorded is handed over, while nobody else uses the
// Recorder, so that gauges and what fell due are of the same moment as what was recorded. It must be
// set before the first Cut.
func (s *Shared) Tell(f func(r *Recorder)) { s.state = f }

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

func (s *Shared) poll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != nil && s.r.Asked() {
		s.state(s.r)
	}
	s.r.Poll()
}
