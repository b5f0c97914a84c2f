// Package live serves the page of a live run. The load never waits for it: a separate goroutine builds the page's
// parts once per interval for all browsers, and a browser that doesn't read is disconnected.
package live

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"brunt/internal/base/finite"
	"brunt/internal/measure"
	"brunt/internal/measure/timeline"
	"brunt/internal/record"
	"brunt/internal/render/page"
	"brunt/internal/render/units"
	"brunt/internal/report"
)

// Options are the options of the page.
type Options struct {
	Language units.Language
	Stop     func() // ends the run cleanly; called at most once
}

// Server serves one run. It is a measure.Sink.
type Server struct {
	o        Options
	listener net.Listener
	http     *http.Server
	loopback bool
	token    string
	stop     sync.Once
	wake     chan struct{} // signals a new interval or browser
	quit     chan struct{}
	done     chan struct{} // closed when the broadcaster has ended

	drawing sync.Mutex // held while the page's data is built; locked before mu
	cached  *cachedData

	mu       sync.Mutex  // held at most for the time of a copy, so intervals hardly wait
	run      *record.Run // as it was at the start; nil before
	tally    *measure.Tally
	timeline *timeline.Timeline
	workers  []measure.Worker // as of the last interval
	final    []byte           // page of the finished run
	readers  map[*reader]struct{}
	awaited  int // browsers that will request the final page
	asked    chan struct{}
}

var _ measure.Sink = (*Server)(nil)

// DefaultAddress is the default address of the page: a free port on loopback.
const DefaultAddress = "127.0.0.1:0"

// Listen opens the page's address. Unless it is a loopback address, every request needs a token, which is part of URL.
func Listen(address string, o Options) (*Server, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	s := &Server{
		o: o, listener: l, loopback: l.Addr().(*net.TCPAddr).IP.IsLoopback(),
		token: record.NewID() + record.NewID(), wake: make(chan struct{}, 1),
		quit: make(chan struct{}), done: make(chan struct{}),
		tally: &measure.Tally{}, timeline: timeline.New(0), readers: map[*reader]struct{}{},
		asked: make(chan struct{}, mostReaders),
	}
	s.http = &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10, ErrorLog: log.New(io.Discard, "", 0),
	}
	go func() { _ = s.http.Serve(l) }() // its only error is ErrServerClosed
	go s.broadcast()
	return s, nil
}

// URL returns the URL of the page, with its token if it needs one. If the server listens on all addresses of this
// machine, the URL has one that other machines can reach, if there is one.
func (s *Server) URL() string {
	at := *s.listener.Addr().(*net.TCPAddr)
	if at.IP.IsUnspecified() {
		// Without the list of addresses, use loopback.
		all, _ := net.InterfaceAddrs()
		at.IP = reachable(all)
	}
	url := "http://" + at.String() + "/"
	if !s.loopback {
		url += "?token=" + s.token
	}
	return url
}

// reachable returns the address of a machine that other machines can use, preferably IPv4, or otherwise that of
// loopback.
func reachable(all []net.Addr) net.IP {
	var found net.IP
	for _, a := range all {
		n, ok := a.(*net.IPNet)
		if !ok || !n.IP.IsGlobalUnicast() {
			continue
		}
		if n.IP.To4() != nil {
			return n.IP
		}
		if found == nil {
			found = n.IP
		}
	}
	if found == nil {
		return net.IPv4(127, 0, 0, 1)
	}
	return found
}

// Start sets the run. It must be called just before the load.
func (s *Server) Start(run *record.Run) {
	copied := *run
	copied.Operations, copied.Targets, copied.Phases = slices.Clone(run.Operations), slices.Clone(run.Targets),
		slices.Clone(run.Phases)
	copied.Warnings, copied.Hints, copied.Events = nil, nil, nil
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run = &copied
}

// Interval implements measure.Sink. It never fails.
func (s *Server) Interval(iv *measure.Interval) error {
	s.mu.Lock()
	_ = s.timeline.Interval(iv) // never fails
	_ = s.tally.Interval(iv)
	s.workers = slices.Clone(iv.Workers)
	s.mu.Unlock()
	s.rouse()
	return nil
}

// rouse makes the broadcaster send an event.
func (s *Server) rouse() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Hint adds a change.
func (s *Server) Hint(h record.Hint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil && len(s.run.Hints) < mostHints {
		s.run.Hints = append(s.run.Hints, h)
	}
}

// mostHints limits the changes that are drawn during a run.
const mostHints = 200

// result returns the run so far. s.mu must be held. The result shares the timeline.
func (s *Server) result() *report.Result {
	run := record.Run{}
	if s.run != nil {
		run = *s.run
	}
	run.Hints, run.Operations = slices.Clone(run.Hints), slices.Clone(run.Operations)
	for _, e := range s.timeline.Events {
		run.Events = append(run.Events, record.Event(e))
	}
	return &report.Result{Run: &run, Timeline: s.timeline}
}

// snapshot returns a copy of the run so far, and its end. Intervals that arrive while it is drawn don't change it, so
// an interval waits for the copy but not for the drawing.
func (s *Server) snapshot() (r *report.Result, lastNs int64, live *page.Live) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r = s.result()
	r.Timeline = s.timeline.Clone()
	return r, s.tally.LastNs(), s.liveInfo()
}

// fillFigures sets the figures so far in run. s.mu must be held.
func (s *Server) fillFigures(run *record.Run) {
	sums := s.tally.Total()
	all := sums.All()
	run.DurationNs = sums.LoadNs
	run.Total.Name = "all"
	run.Total.FillSoFar(&all, sums.LoadNs)
	if sums.OpenNs > 0 {
		run.Total.Offered, run.Total.OfferedPerS = sums.Offered, float64(sums.Offered)/(float64(sums.OpenNs)/1e9)
	}
	for i := range run.Operations[:min(len(run.Operations), len(sums.Operations), mostOperations)] {
		run.Operations[i].FillSoFar(&sums.Operations[i], sums.LoadNs)
	}
	run.Operations = run.Operations[:min(len(run.Operations), mostOperations)]
}

// mostOperations limits the operations in the tables of a live run.
const mostOperations = 30

// message is the data of an interval that browsers receive.
type message struct {
	Generation int               `json:"generation"`
	From       int               `json:"from"` // the first slot of Columns
	Columns    *timeline.Columns `json:"columns"`
	Bands      []page.Band       `json:"bands"`
	Head       string            `json:"head"`
	Tables     string            `json:"tables"`
}

// latest returns the message of the last slots, as an event of the stream.
func (s *Server) latest() ([]byte, error) {
	s.mu.Lock()
	r := s.result()
	s.fillFigures(r.Run)
	// The slot before the last may have been incomplete in the previous message.
	m := message{Generation: s.timeline.Generation(), From: max(len(s.timeline.Slots)-2, 0)}
	m.Columns = s.timeline.Columns(m.From)
	m.Bands = report.LiveBands(r, s.o.Language)
	workers := s.workers
	s.mu.Unlock()
	m.Head, m.Tables = report.LiveFragments(r.Run, workers, s.o.Language)
	data, err := finite.Marshal(&m)
	return fmt.Appendf(nil, "event: slot\ndata: %s\n\n", data), err
}

// cachedData is all data of the page as of an interval.
type cachedData struct {
	lastNs int64
	json   []byte
}

// data returns all data of the page. It is built at most once per interval.
func (s *Server) data() ([]byte, error) {
	s.drawing.Lock()
	defer s.drawing.Unlock()
	r, n, live := s.snapshot()
	if c := s.cached; c != nil && c.lastNs == n {
		return c.json, nil
	}
	data, err := finite.Marshal(report.LiveData(r, live, s.o.Language))
	s.cached = &cachedData{n, data}
	return data, err
}

func (s *Server) liveInfo() *page.Live {
	return &page.Live{Token: s.token, Generation: s.timeline.Generation()}
}
