//go:build !nok6

package session

import (
	"errors"
	"io"
	"sync"
)

// shared is what all VUs have together, by key.
type shared struct {
	mu  sync.Mutex
	all map[string]*thing
}

// thing is opened by whoever asks first, while others wait for it.
type thing struct {
	mu     sync.Mutex
	closer io.Closer
}

// Shared returns what is open under key, or opens it. An error is not kept: the next call tries again.
// What is open is closed after the run.
func (s *Session) Shared(key string, open func() (io.Closer, error)) (io.Closer, error) {
	s.shared.mu.Lock()
	if s.shared.all == nil {
		s.shared.all = map[string]*thing{}
	}
	t := s.shared.all[key]
	if t == nil {
		t = &thing{}
		s.shared.all[key] = t
	}
	s.shared.mu.Unlock()
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

// close closes what is open, and calls what AtEnd was given.
func (s *Session) close() (err error) {
	s.mu.Lock()
	ends := s.ends
	s.ends = nil
	s.mu.Unlock()
	for i := len(ends) - 1; i >= 0; i-- {
		err = errors.Join(err, ends[i]())
	}
	s.shared.mu.Lock()
	all := s.shared.all
	s.shared.all = nil
	s.shared.mu.Unlock()
	for _, t := range all {
		t.mu.Lock()
		if t.closer != nil {
			err = errors.Join(err, t.closer.Close())
		}
		t.mu.Unlock()
	}
	return err
}
