package http

import (
	"context"
	"net/http/httptrace"
	"time"

	"brunt/internal/protocol"
)

// tracing measures the parts of the time of a request over net/http.
type tracing struct {
	parts                      protocol.Parts
	lookup, connect, write, at time.Time // when each began; zero: it didn't
}

// follow returns a context with which net/http reports what it does.
func (w *tracing) follow(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { w.lookup = time.Now() },
		DNSDone:  func(httptrace.DNSDoneInfo) { w.parts.LookupNs = int64(time.Since(w.lookup)) },
		WroteRequest: func(httptrace.WroteRequestInfo) {
			w.at = time.Now()
			w.parts.WriteNs = int64(w.at.Sub(w.write))
		},
		GotFirstResponseByte: func() {
			now := time.Now()
			w.parts.WaitNs = int64(now.Sub(w.at))
			w.at = now
		},
	})
}

func (w *tracing) connecting(needed bool) {
	if needed {
		w.connect = time.Now()
	}
}

func (w *tracing) connected() {
	if w.write = time.Now(); !w.connect.IsZero() {
		w.parts.ConnectNs = int64(w.write.Sub(w.connect))
	}
}

// end sets the parts of a request that has ended.
func (w *tracing) end(p *protocol.Parts) {
	if w.parts.WaitNs > 0 {
		w.parts.ReadNs = int64(time.Since(w.at))
	}
	w.parts.BodyBytes = p.BodyBytes
	*p = w.parts
}
