// Package export sends a run's intervals to other systems: while the load runs, to a scraper of its Prometheus
// endpoint and to InfluxDB, Prometheus (remote write) and OpenTelemetry collectors; afterwards, to files. The load
// never waits for a destination: an interval is copied in compact form, and other goroutines do the rest.
package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/expfmt"

	"brunt/internal/measure"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// Options configure an Exporter.
type Options struct {
	MetricsAddr  string              // host:port of the Prometheus endpoint; "" for none
	Destinations []string            // each is "influx=URL", "prometheus=URL" or "otlp=URL"
	Getenv       func(string) string // source of secrets; nil means os.Getenv
	BufferBytes  int                 // limit per destination for intervals that wait to be sent; 0 means 32 MiB
}

// Exporter is a measure.Sink that exports intervals.
type Exporter struct {
	ladders  *ladders
	listener net.Listener
	server   *http.Server
	pushers  []*pusher

	mu    sync.Mutex // guards the fields up to last; only held briefly
	names names
	sums  point
	last  *point
	all   *measure.Histogram // scratch space of Interval
}

var _ measure.Sink = (*Exporter)(nil)

// New parses the destinations and opens the endpoint, so that mistakes are reported before the load starts. It
// doesn't contact the destinations. Errors contain no secrets.
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
	e.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: time.Minute,
		ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = e.server.Serve(e.listener) }()
	return e, nil
}

// parse returns the destination that kind=URL describes.
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
		d = newRemote(u, getenv, l)
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

// Addr returns the host:port at which the endpoint listens, or "" if there is none.
func (e *Exporter) Addr() string {
	if e.listener == nil {
		return ""
	}
	return e.listener.Addr().String()
}

// Start sets the names of the run's operations and addresses and starts sending. It must be called once, before the
// first Interval.
func (e *Exporter) Start(run *record.Run) {
	n := e.rename(run)
	for _, p := range e.pushers {
		p.start(n)
	}
}

// Rename updates the names when operations or addresses have been added since Start. It must be called before the
// first Interval that contains them.
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

// Interval implements measure.Sink. It copies the interval, in time proportional to the number of operations and
// addresses, and never fails.
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

// metrics answers a scrape. The answer contains native histograms if the scraper accepts protobuf.
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
			return // the scraper has disconnected
		}
	}
}

// Close sends the remaining intervals, then closes the endpoint and ends all goroutines. It spends at most 5 s on
// sending and stops when hurry is closed, which may be nil. It returns a warning for each destination that has
// missed intervals. It may be called more than once.
func (e *Exporter) Close(hurry <-chan struct{}) []record.Warning {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	ctx, cancel = protocol.Until(ctx, hurry)
	defer cancel()
	var wait sync.WaitGroup
	for _, p := range e.pushers {
		if p.names.Load() == nil {
			continue // Start was never called
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

// why returns the reason for lost intervals, as a message.
func (t *transfer) why() message.Message {
	switch t.reason {
	case "":
		return message.New("export-lost.slow")
	case noAnswer:
		return message.New("export-lost.no-answer")
	}
	return message.Literal(t.reason)
}
