package scale

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"syscall"
	"time"
)

// endpoint is where workers reach their coordinator.
type endpoint struct {
	listener net.Listener
	server   *http.Server
}

// newEndpoint returns an endpoint with handlers by their patterns. It answers only after serve is called.
func newEndpoint(l net.Listener, config *tls.Config, handlers map[string]http.HandlerFunc) endpoint {
	mux := http.NewServeMux()
	for pattern, f := range handlers {
		mux.HandleFunc(pattern, f)
	}
	only1 := &http.Protocols{}
	only1.SetHTTP1(true)
	return endpoint{listener: l, server: &http.Server{
		Handler: mux, TLSConfig: config, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 5 * time.Minute,
		ErrorLog:  log.New(io.Discard, "", 0), // TLS rejects clients that don't belong to this run and tells them
		Protocols: only1,
	}}
}

// Port returns the TCP port that workers connect to.
func (e *endpoint) Port() int { return e.listener.Addr().(*net.TCPAddr).Port }

// serve answers requests in a goroutine of its own.
func (e *endpoint) serve() {
	go func() { _ = e.server.ServeTLS(e.listener, "", "") }() // its only error is that it was closed
}

// lastAnswers is the time that close gives to requests in progress.
const lastAnswers = 2 * time.Second

// close answers the requests in progress and stops serving.
func (e *endpoint) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), lastAnswers)
	defer cancel()
	err := e.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = e.server.Close()
	}
	_ = e.listener.Close() // the server closes it too, but later if it has only just begun to serve
	return err
}

// CanListen returns the error that Listen would return now for an address; nil if the address can be used.
func CanListen(address string) error {
	l, err := listen(address, otherPort)
	if err != nil {
		return err
	}
	return l.Close()
}

// otherPort is what to do if the port of a new coordinator is in use.
const otherPort = "name another with --listen"

func listen(address, taken string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("the coordinator can't listen at %s: the port is in use; %s", address, taken)
	}
	if err != nil {
		return nil, fmt.Errorf("the coordinator can't listen at %s: %w; name an address of this machine with --listen",
			address, err)
	}
	return l, nil
}
