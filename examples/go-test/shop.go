// Package shop is a small service. Its test says what load it must hold.
package shop

import (
	"fmt"
	"net/http"
	"sync"
)

// Shop sells cars. It is safe for concurrent use.
type Shop struct {
	mu   sync.Mutex
	sold map[string]int
}

// ServeHTTP sells the car that the path names.
func (s *Shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sold == nil {
		s.sold = map[string]int{}
	}
	s.sold[r.URL.Path]++
	fmt.Fprintf(w, "%d sold\n", s.sold[r.URL.Path])
}
