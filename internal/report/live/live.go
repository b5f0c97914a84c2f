// Package live serves the page of a run under way. The load never waits for it: the page's parts are made
// once an interval, however many browsers look, by a goroutine of its own, and a browser that doesn't read is dropped.
package live

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/render/page"
	"brunt/internal/report"
	"brunt/internal/timeline"
	"brunt/internal/units"
)

// Options say how the page is.
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
	wake     chan struct{} // an interval or a browser came
	quit     chan struct{}
	done     chan struct{} // the broadcaster is over

	drawing sync.Mutex // held while the page's data is made; taken before mu
	cached  *cachedData

	mu       sync.Mutex  // no interval waits for it for longer than a copy takes
	run      *record.Run // as it began; nil before
	tally    *measure.Tally
	timeline *timeline.Timeline
	final    []byte // the page of the finished run
	readers  map[*reader]struct{}
	awaited  int // browsers that will ask for the final page
	asked    chan struct{}
}

var _ measure.Sink = (*Server)(nil)

// DefaultAddress is where the page is unless the user says otherwise: on loopback, at a free port.
const DefaultAddress = "127.0.0.1:0"

// Listen opens the page's address. Any but loopback makes every request need a token, which is part of URL.
func Listen(address string, o Options) (*Server, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	s := &Server{
		o: o, listener: l, loopback: l.Addr().(*net.TCPAddr).IP.IsLoopback(), token: newToken(), wake: make(chan struct{}, 1),
		quit: make(chan struct{}), done: make(chan struct{}),
		tally: &measure.Tally{}, timeline: timeline.New(0), readers: map[*reader]struct{}{},
		asked: make(chan struct{}, mostReaders),
	}
	s.http = &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10,
	}
	go func() { _ = s.http.Serve(l) }() // its only error is that it was closed
	go s.broadcast()
	return s, nil
}

func newToken() string {
	var b [16]byte
	// crypto/rand.Read never fails: it ends the program instead.
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// URL is where the page can be opened, with its token if it needs one. Of a server at all of this machine's addresses
// it is one that others reach, if the machine has one.
func (s *Server) URL() string {
	at := *s.listener.Addr().(*net.TCPAddr)
	if at.IP.IsUnspecified() {
		// Without the list of addresses loopback is left.
		all, _ := net.InterfaceAddrs()
		at.IP = reachable(all)
	}
	url := "http://" + at.String() + "/"
	if !s.loopback {
		url += "?token=" + s.token
	}
	return url
}

// reachable is the address among a machine's that other machines can use, of the older protocol if there is one;
// otherwise that of loopback.
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

// Start tells of the run, just before its load.
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
	_ = s.timeline.Interval(iv) // neither ever fails
	_ = s.tally.Interval(iv)
	s.mu.Unlock()
	s.rouse()
	return nil
}

// rouse has the broadcaster make an event.
func (s *Server) rouse() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Hint tells of a change.
func (s *Server) Hint(h record.Hint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil && len(s.run.Hints) < mostHints {
		s.run.Hints = append(s.run.Hints, h)
	}
}

// mostHints is how many changes are drawn while a run is under way.
const mostHints = 200

// result is the run so far. s.mu is held; the result shares the timeline.
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

// snapshot is a copy of the run so far, which intervals that come while it is drawn don't change, and its end. An
// interval waits for the copy, not for the drawing.
func (s *Server) snapshot() (r *report.Result, lastNs int64, live *page.Live) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r = s.result()
	r.Timeline = s.timeline.Clone()
	return r, s.tally.LastNs(), s.liveInfo()
}

// fillFigures puts the figures so far into run. s.mu is held.
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

// mostOperations is how many operations the tables of a run under way have.
const mostOperations = 30

// message is what browsers receive of an interval.
type message struct {
	Generation int               `json:"generation"`
	From       int               `json:"from"` // the slot that Columns begin with
	Columns    *timeline.Columns `json:"columns"`
	Bands      []page.Band       `json:"bands"`
	Head       string            `json:"head"`
	Tables     string            `json:"tables"`
}

// latest is the message of the last slots, as an event of its stream.
func (s *Server) latest() ([]byte, error) {
	s.mu.Lock()
	r := s.result()
	s.fillFigures(r.Run)
	// The slot before the last may have been the last of the message before.
	m := message{Generation: s.timeline.Generation(), From: max(len(s.timeline.Slots)-2, 0)}
	m.Columns = s.timeline.Columns(m.From)
	m.Bands = report.LiveBands(r, s.o.Language)
	s.mu.Unlock()
	m.Head, m.Tables = report.LiveFragments(r.Run, s.o.Language)
	data, err := json.Marshal(&m)
	return fmt.Appendf(nil, "event: slot\ndata: %s\n\n", data), err
}

// cachedData is the whole of the page's data as of an interval.
type cachedData struct {
	lastNs int64
	json   []byte
}

// data is all that the page draws from, made at most once an interval.
func (s *Server) data() ([]byte, error) {
	s.drawing.Lock()
	defer s.drawing.Unlock()
	r, n, live := s.snapshot()
	if c := s.cached; c != nil && c.lastNs == n {
		return c.json, nil
	}
	data, err := json.Marshal(report.LiveData(r, live, s.o.Language))
	s.cached = &cachedData{n, data}
	return data, err
}

func (s *Server) liveInfo() *page.Live {
	return &page.Live{Token: s.token, Generation: s.timeline.Generation()}
}
