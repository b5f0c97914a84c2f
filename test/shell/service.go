package shell

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Service is an HTTP server that records the requests that it receives, without those of method HEAD, by which brunt
// asks what the server is. It answers "ok". The paths /bad and /gone get other statuses, /moved is a redirect to
// /elsewhere, and /cut ends the connection without an answer. The fields are to be read when the load has ended.
type Service struct {
	*httptest.Server
	mu       sync.Mutex
	Hosts    map[string]int // how many requests had each header Host
	IDs      map[string]int // how many had each header Sc-Req-Id
	Requests []string       // method, target, header X-A and body, separated by spaces
	Opened   int            // connections
}

// NewService starts a service that the end of the test closes.
func NewService(t *testing.T) *Service {
	s := &Service{Hosts: map[string]int{}, IDs: map[string]int{}}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.answer))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.mu.Lock()
			s.Opened++
			s.mu.Unlock()
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// answer implements http.HandlerFunc.
func (s *Service) answer(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if r.Method == http.MethodHead {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Hosts[r.Host]++
	s.IDs[r.Header.Get("Sc-Req-Id")]++
	s.Requests = append(s.Requests, fmt.Sprintf("%s %s %s %s", r.Method, r.RequestURI, r.Header.Get("X-A"), body))
	switch r.URL.Path {
	case "/bad":
		w.WriteHeader(503)
	case "/gone":
		w.WriteHeader(410)
	case "/cut":
		panic(http.ErrAbortHandler)
	case "/moved":
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}
	io.WriteString(w, "ok")
}

// Count returns how often the service has received a request, written as in Requests.
func (s *Service) Count(request string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.Requests {
		if r == request {
			n++
		}
	}
	return n
}

// Answering starts a server that answers with a status after a delay, and returns its address.
func Answering(t *testing.T, status int, after time.Duration) (address string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(after)
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}
