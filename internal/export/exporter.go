// Package export sends a run's intervals elsewhere while it runs: to a program that scrapes a Prometheus
// endpoint, and to InfluxDB, Prometheus (remote write) and OpenTelemetry collectors. The load
// never waits for any of them: an interval is copied in compact form, and everything else happens
// in other goroutines.
package export

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/expfmt"

	"brunt/internal/measure"
	"brunt/internal/message"
	"brunt/internal/record"
)

// Options say where intervals go.
type Options struct {
	MetricsAddr  string              // host:port of the endpoint for Prometheus; "" for none
	Destinations []string            // "influx=URL", "prometheus=URL", "otlp=URL"
	Getenv       func(string) string // for secrets; os.Getenv if nil
	BufferBytes  int                 // for intervals that wait for a destination; 0 means 32 MiB
}

// Exporter is a measure.Sink that passes intervals on.
type Exporter struct {
	ladders  *ladders
	listener net.Listener
	server   *http.Server
	pushers  []*pusher

	mu    sync.Mutex // guards what is below, for short times
	names names
	sums  point
	last  *point
	all   *measure.Histogram // Interval's own
}

var _ measure.Sink = (*Exporter)(nil)

// New checks the destinations and opens the endpoint, so that mistakes show before any load.
// Errors hold no secrets.
func New(o Options) (*Exporter, error) {
	e := &Exporter{ladders: newLadders(), all: measure.NewHistogram()}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	for _, text := range o.Destinations {
		to, err := parse(text, o.Getenv, e.ladders)
		if err != nil {
			return nil, err
		}
		p := newPusher(to, &http.Client{})
		if o.BufferBytes > 0 {
			p.bound = o.BufferBytes
		}
		e.pushers = append(e.pushers, p)
	}
	if o.MetricsAddr == "" {
		return e, nil
	}
	var err error
	if e.listener, err = net.Listen("tcp", o.MetricsAddr); err != nil {
		return nil, fmt.Errorf("metrics can't be served at %s: %w; choose another host:port", o.MetricsAddr, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/metrics", e.metrics)
	e.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: time.Minute}
	go func() { _ = e.server.Serve(e.listener) }()
	return e, nil
}

// parse makes a destination of kind=URL.
func parse(text string, getenv func(string) string, l *ladders) (destination, error) {
	const form = "use influx=URL, prometheus=URL or otlp=URL"
	kind, address, ok := strings.Cut(text, "=")
	if !ok || strings.ContainsAny(kind, ":/@") {
		return nil, errors.New("the destination has no kind; " + form)
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%s= needs an http or https address, such as http://127.0.0.1:8086", kind)
	}
	var d destination
	switch kind {
	case "influx", "influxdb":
		d, err = newInflux(u, getenv)
	case "prometheus":
		d, err = newRemote(u, getenv, l)
	case "otlp":
		d, err = newOTLP(u, getenv, l)
	default:
		return nil, fmt.Errorf("%q is no kind of destination; %s", kind, form)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", kind, u.Host, err)
	}
	return d, nil
}

// Addr is where the endpoint listens, "" if there is none.
func (e *Exporter) Addr() string {
	if e.listener == nil {
		return ""
	}
	return e.listener.Addr().String()
}

// Start tells what the run's operations and addresses are called and begins to send. It must be
// called once, before the first Interval.
func (e *Exporter) Start(run *record.Run) {
	n := e.rename(run)
	for _, p := range e.pushers {
		p.start(n)
	}
}

// Rename tells of operations and addresses that have come since Start, before the first Interval that has
// them.
func (e *Exporter) Rename(run *record.Run) {
	n := e.rename(run)
	for _, p := range e.pushers {
		p.names.Store(n)
	}
}

func (e *Exporter) rename(run *record.Run) *names {
	n := namesOf(run)
	e.mu.Lock()
	e.names = n
	e.sums.grow(len(n.operations), len(n.addresses))
	e.mu.Unlock()
	return &n
}

// Interval implements measure.Sink. It copies what is needed of the interval, in time that grows
// only with the number of operations and addresses, and never fails.
func (e *Exporter) Interval(iv *measure.Interval) error {
	p := newPoint(iv, e.ladders, e.all)
	e.mu.Lock()
	e.sums.add(p)
	e.last = p
	e.mu.Unlock()
	for _, to := range e.pushers {
		to.add(p)
	}
	return nil
}

// metrics answers a scrape, with native histograms if the scraper takes protobuf.
func (e *Exporter) metrics(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	s, last, n := &point{}, e.last, e.names
	s.add(&e.sums)
	e.mu.Unlock()
	var transfers []transfer
	for _, p := range e.pushers {
		transfers = append(transfers, p.transfer())
	}
	format := expfmt.Negotiate(r.Header)
	w.Header().Set("Content-Type", string(format))
	encoder := expfmt.NewEncoder(w, format)
	for _, f := range append(build(e.ladders, &n, s, last, transfers), slowCooker(e.ladders, &s.slow)...) {
		if err := encoder.Encode(f); err != nil {
			return // the scraper has gone
		}
	}
}

// Close sends what waits, for at most 5 s and not after hurry is closed (it may be nil), and ends
// everything. It returns a warning for each destination that has missed intervals. It may be
// called again.
func (e *Exporter) Close(hurry <-chan struct{}) []record.Warning {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	go func() {
		select {
		case <-hurry:
			cancel()
		case <-ctx.Done():
		}
	}()
	var wait sync.WaitGroup
	for _, p := range e.pushers {
		if p.names.Load() == nil {
			continue // it never started
		}
		wait.Go(func() { p.finish(ctx) })
	}
	wait.Wait()
	if e.server != nil {
		_ = e.server.Close()
	}
	var out []record.Warning
	for _, p := range e.pushers {
		if t := p.transfer(); t.lost > 0 {
			out = append(out, record.NewWarning("export-lost", message.Count("lost", t.lost),
				message.Count("all", t.lost+t.sent),
				message.Text("destination", t.name), message.Nested("why", t.why())))
		}
	}
	return out
}

// why says why intervals were lost.
func (t *transfer) why() message.Message {
	switch t.reason {
	case "":
		return message.New("export-lost.slow")
	case noAnswer:
		return message.New("export-lost.no-answer")
	}
	return message.Literal(t.reason)
}
