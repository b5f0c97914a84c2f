package http

import (
	"context"
	"net/http/httptrace"
	"sync"
	"time"

	"brunt/internal/protocol"
)

// tracing measures the parts of the time of a request over net/http, which calls it from several goroutines, also after
// the request has ended.
type tracing struct {
	connect, write time.Time // when each began; zero: it didn't

	mu           sync.Mutex
	lookup       time.Time // when it began
	lookupNs     int64
	wrote, first time.Time // when the request was written, and when its answer began; zero: not yet
}

// follow returns a context with which net/http reports what it does.
func (w *tracing) follow(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart:             func(httptrace.DNSStartInfo) { w.note(&w.lookup) },
		DNSDone:              func(httptrace.DNSDoneInfo) { w.lookedUp() },
		WroteRequest:         func(httptrace.WroteRequestInfo) { w.note(&w.wrote) },
		GotFirstResponseByte: func() { w.note(&w.first) },
	})
}

// note sets a time to now.
func (w *tracing) note(at *time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*at = time.Now()
}

func (w *tracing) lookedUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lookupNs = int64(time.Since(w.lookup))
}

func (w *tracing) connecting(needed bool) {
	if needed {
		w.connect = time.Now()
	}
}

// connected begins an attempt to send the request.
func (w *tracing) connected() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.write, w.wrote, w.first = time.Now(), time.Time{}, time.Time{}
}

// end sets the parts of a request that has ended. A server may answer before it has read the whole request: the
// request then counts as written when the answer begins.
func (w *tracing) end(p *protocol.Parts) {
	w.mu.Lock()
	defer w.mu.Unlock()
	parts := protocol.Parts{LookupNs: w.lookupNs, BodyBytes: p.BodyBytes}
	if !w.connect.IsZero() && !w.write.IsZero() {
		parts.ConnectNs = int64(w.write.Sub(w.connect))
	}
	wrote := w.wrote
	if !w.first.IsZero() && (wrote.IsZero() || wrote.After(w.first)) {
		wrote = w.first
	}
	if !wrote.IsZero() {
		parts.WriteNs = int64(wrote.Sub(w.write))
	}
	if !w.first.IsZero() {
		parts.WaitNs, parts.ReadNs = int64(w.first.Sub(wrote)), int64(time.Since(w.first))
	}
	*p = parts
}
