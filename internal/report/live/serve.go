package live

import (
	"bytes"
	"context"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
	"time"

	"brunt/internal/report"
)

// The limits for browsers.
const (
	mostReaders  = 256                    // browsers at once
	queued       = 4                      // events that may wait for a browser; a slower browser is dropped
	writeTimeout = 10 * time.Second       // for an event
	pause        = 200 * time.Millisecond // between events
	lastAsked    = 2 * time.Second        // how long the server stays open for pages to load the finished run
)

// reader is a browser that follows the run.
type reader struct {
	events chan []byte
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page)
	mux.HandleFunc("GET /data", s.sendData)
	mux.HandleFunc("GET /events", s.follow)
	mux.HandleFunc("POST /stop", s.stopped)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cache-Control", "no-store")
		if !s.allowed(r) {
			http.Error(w, "this page needs its token; open the address that brunt printed", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// allowed reports whether a request may be answered: it has the token, or arrives over loopback with a loopback host
// name. The latter prevents DNS rebinding, in which another site's name leads here.
func (s *Server) allowed(r *http.Request) bool {
	if !s.loopback {
		return s.hasToken(r.URL.Query().Get("token"))
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (s *Server) hasToken(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) == 1
}

// page serves the current page of the run, or the report of a run that has ended.
func (s *Server) page(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	final := s.final
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if final != nil {
		_, _ = w.Write(final)
		select {
		case s.asked <- struct{}{}:
		default:
		}
		return
	}
	var b bytes.Buffer
	r, _, live := s.snapshot()
	err := report.HTML(&b, &report.Sheet{Results: []report.Result{*r}, Live: live}, report.Options{Language: s.o.Language})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	// Write errors mean that the browser has gone.
	_, _ = w.Write(b.Bytes())
}

func (s *Server) sendData(w http.ResponseWriter, _ *http.Request) {
	data, err := s.data()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data)
}

// stopped ends the run. The token, which only the page has, prevents other sites' pages from doing this.
func (s *Server) stopped(w http.ResponseWriter, r *http.Request) {
	if !s.hasToken(r.Header.Get("X-Brunt-Token")) {
		http.Error(w, "stopping needs the page's token", http.StatusForbidden)
		return
	}
	s.stop.Do(s.o.Stop)
	w.WriteHeader(http.StatusAccepted)
}

// follow sends events until the browser disconnects or doesn't read, or the run ends.
func (s *Server) follow(w http.ResponseWriter, r *http.Request) {
	me := &reader{events: make(chan []byte, queued)}
	s.mu.Lock()
	full := len(s.readers) >= mostReaders
	if over := s.final != nil; over {
		me.events <- endEvent
		close(me.events)
	} else if !full {
		s.readers[me] = struct{}{}
	}
	s.mu.Unlock()
	if full {
		http.Error(w, "too many browsers follow this run", http.StatusServiceUnavailable)
		return
	}
	defer s.drop(me)
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	// The request is read completely, so a read deadline must not end the stream.
	if control.SetReadDeadline(time.Time{}) != nil {
		return
	}
	w.WriteHeader(http.StatusOK)
	send := func(event []byte) error {
		if err := control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
			return err
		}
		if _, err := w.Write(event); err != nil {
			return err
		}
		return control.Flush()
	}
	if send([]byte("retry: 2000\n\n")) != nil {
		return
	}
	s.rouse() // don't wait for the next interval
	for {
		select {
		case event, more := <-me.events:
			if !more || send(event) != nil {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}

// endEvent signals the end of the run.
var endEvent = []byte("event: end\ndata: {}\n\n")

// drop removes a browser.
func (s *Server) drop(r *reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.readers[r]; there {
		delete(s.readers, r)
		close(r.events)
	}
}

// tell queues an event for all browsers, and drops those whose queue is full.
func (s *Server) tell(event []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.readers {
		select {
		case r.events <- event:
		default:
			delete(s.readers, r)
			close(r.events)
		}
	}
}

// broadcast creates an event for each interval while there are browsers.
func (s *Server) broadcast() {
	defer close(s.done)
	for {
		select {
		case <-s.wake:
		case <-s.quit:
			return
		}
		s.mu.Lock()
		none := len(s.readers) == 0
		s.mu.Unlock()
		if none {
			continue
		}
		if event, err := s.latest(); err == nil {
			s.tell(event)
		}
		// If many browsers connect at once, one event is enough for all.
		select {
		case <-time.After(pause):
		case <-s.quit:
			return
		}
	}
}

// Finish replaces the page by that of the finished run, also in browsers that show it.
func (s *Server) Finish(r *report.Result) error {
	var b bytes.Buffer
	r.Timeline = s.timeline
	if err := report.HTML(&b, &report.Sheet{Results: []report.Result{*r}},
		report.Options{Language: s.o.Language}); err != nil {
		return err
	}
	s.mu.Lock()
	s.final = b.Bytes()
	s.awaited = len(s.readers)
	for len(s.asked) > 0 {
		<-s.asked
	}
	s.mu.Unlock()
	s.tell(endEvent)
	s.dropAll()
	return nil
}

// dropAll ends all streams after they have sent their queues.
func (s *Server) dropAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.readers {
		delete(s.readers, r)
		close(r.events)
	}
}

// Close ends the server. If the run has finished, browsers have two seconds to load its page.
func (s *Server) Close() error {
	deadline := time.After(lastAsked)
	for range s.awaited {
		select {
		case <-s.asked:
			continue
		case <-deadline:
		}
		break
	}
	close(s.quit)
	<-s.done
	s.dropAll()
	ctx, cancel := context.WithTimeout(context.Background(), lastAsked/2)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		return s.http.Close()
	}
	return nil
}
