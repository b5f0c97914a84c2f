package etcdbench

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
)

// watchLanguageName is the name of WatchLanguage in plans.
const watchLanguageName = "etcd-watch"

// Watch are the options of the commands watch, watch-latency and watch-get.
type Watch struct {
	Streams   int // streams of events: sessions that watch
	PerStream int // watches of a stream; watch-get: of all streams
	Keys      int // watch: keys that are watched
	Puts      int // puts; watch-get: events of a watch
	PutRate   int // puts a second; 0: no limit
	PrevKV    bool
}

// watchOptions returns the options of the scripts.
func (o *Options) watchOptions() map[string]string {
	w := &o.Watch
	return map[string]string{
		"command": o.Command, "streams": strconv.Itoa(w.Streams), "watches": strconv.Itoa(w.PerStream),
		"watched-keys": strconv.Itoa(w.Keys), "puts": strconv.Itoa(w.Puts), "put-rate": strconv.Itoa(w.PutRate),
		"putters": strconv.FormatUint(uint64(o.putters()), 10), "key-size": strconv.Itoa(o.KeySize),
		"val-size": strconv.Itoa(o.ValSize), "key-space-size": strconv.Itoa(o.KeySpace),
		"sequential-keys": strconv.FormatBool(o.Sequential), "prevkv": strconv.FormatBool(w.PrevKV),
	}
}

// putters returns the number of sessions that don't watch.
func (o *Options) putters() uint {
	if o.Command == "watch" {
		return o.Clients
	}
	return 1
}

func (o *Options) checkWatch() error {
	w := &o.Watch
	switch {
	case w.Streams < 1 || w.PerStream < 1 || w.Puts < 1 || w.PutRate < 0:
		return fmt.Errorf("%s needs at least one stream, one watch and one put", o.Command)
	case o.Command == "watch" && (o.KeySpace <= 0 || w.Keys < 1):
		return fmt.Errorf("expected positive --key-space-size and --watched-key-total, got (%d, %d)", o.KeySpace, w.Keys)
	case o.Command == "watch" && o.KeySize < len(binary.AppendVarint(nil, int64(o.KeySpace)-1)):
		return fmt.Errorf("--key-size %d: too few bytes for a number below %d", o.KeySize, o.KeySpace)
	case o.KeySize < 1 || o.ValSize < 0:
		return fmt.Errorf("--key-size must be above 0")
	}
	return nil
}

// Names of the operations of watch commands.
const (
	opWatch = "watch"
	opEvent = "event"
	opPut   = "put"
	opGet   = "get"
)

// watch makes the scripts of a watch command.
func (o *Options) watch(p *plan.Plan) {
	p.Scripts = plan.Scripts{Language: watchLanguageName, Options: o.watchOptions()}
	for _, name := range []string{opWatch, opEvent, opPut, opGet} {
		if name != opGet || o.Command == "watch-get" {
			p.Operations = append(p.Operations, plan.Operation{Name: name, Weight: 1, Script: name + "\n"})
		}
	}
	p.Settings.Sessions, p.Settings.Pipeline = o.Watch.Streams+int(o.putters()), 1
	p.Settings.OperationTimeout = 10 * time.Minute // the longest wait for an event
}

// WatchLanguage compiles the commands that watch. Of their sessions, the first ones open watches and wait for events;
// the others put, or get, once all watches are open. A session ends when it has done its part.
type WatchLanguage struct{}

// Name returns the language's name in plans.
func (WatchLanguage) Name() string { return watchLanguageName }

// Compile reads the options.
func (WatchLanguage) Compile(s *script.Source) (script.Program, error) {
	p := &watchProgram{command: s.Options["command"]}
	whole := map[string]*int{"streams": &p.Streams, "watches": &p.PerStream, "watched-keys": &p.Keys, "puts": &p.Puts,
		"put-rate": &p.PutRate, "putters": &p.putters, "key-size": &p.keySize, "val-size": &p.valSize,
		"key-space-size": &p.keySpace}
	for name, to := range whole {
		n, err := strconv.Atoi(s.Options[name])
		if err != nil {
			return nil, fmt.Errorf("option %s of scripts is %q: give a whole number", name, s.Options[name])
		}
		*to = n
	}
	p.PrevKV, p.sequential = s.Options["prevkv"] == "true", s.Options["sequential-keys"] == "true"
	o := Options{Command: p.command, Watch: p.Watch, KeySpace: p.keySpace, KeySize: p.keySize, ValSize: p.valSize}
	if err := o.checkWatch(); err != nil {
		return nil, err
	}
	p.operations = map[string]int{}
	for i, op := range s.Operations {
		p.operations[strings.TrimSpace(op.Text)] = i
	}
	for _, name := range []string{opWatch, opEvent, opPut} {
		if _, ok := p.operations[name]; !ok {
			return nil, fmt.Errorf("no operation has the script %s", name)
		}
	}
	if sessions := p.Streams + p.putters; s.Sessions != sessions {
		return nil, fmt.Errorf("%d streams and %d other clients need as many sessions, %d instead of %d", p.Streams,
			p.putters, sessions, s.Sessions)
	}
	p.prepare(s.Seed)
	return p, nil
}

// watchProgram is a compiled command, with what its sessions share.
type watchProgram struct {
	Watch
	command           string
	putters           int
	keySize, valSize  int
	keySpace          int
	sequential        bool
	operations        map[string]int
	keys              [][]byte // watched keys
	value             []byte
	open, finished    atomic.Int64 // watches that are open; streams that have all their events
	revision          atomic.Int64 // watch-get: of the first put
	mu                sync.Mutex
	putTimes          []int64 // watch-latency: ends of puts, ns since the Unix epoch; 0: not yet
	arrivals          []arrival
	received          *measure.Histogram // from arrival to receipt, ns
	making, receiving span
}

// arrival is that of the n-th event of a watch, ns since the Unix epoch.
type arrival struct {
	n  int
	at int64
}

// span is a period.
type span struct{ from, to time.Time }

func (s *span) extend(at time.Time) {
	if s.from.IsZero() {
		s.from = at
	}
	s.to = at
}

func (p *watchProgram) prepare(seed uint64) {
	p.received = measure.NewHistogram()
	stream := gen.NewStream(seed, watchLanguageName)
	bytes := func(name string, n int) []byte {
		r, b := stream.Sub(name).At(0), make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint64() >> 56)
		}
		return b
	}
	switch p.command {
	case "watch":
		p.value = []byte("data")
		r := stream.Sub("keys").At(0)
		for i := range p.Keys {
			key, number := make([]byte, p.keySize), uint64(i%p.keySpace)
			if !p.sequential {
				number = r.Uint64n(uint64(p.keySpace))
			}
			binary.PutVarint(key, int64(number))
			p.keys = append(p.keys, key)
		}
	case "watch-latency":
		p.keys, p.value = [][]byte{bytes("key", p.keySize)}, bytes("value", p.valSize)
		p.putTimes = make([]int64, p.Puts)
	default:
		p.keys = [][]byte{[]byte("watchkey")}
	}
}

// The requests.
const (
	reqWatch = iota
	reqNext
	reqPut
	reqGet
)

// Requests returns the requests that an operation may send: all, so that they have the same numbers everywhere.
func (p *watchProgram) Requests(int) []protocol.Request {
	command := func(kinds []gen.Kind, words ...string) protocol.Request {
		return protocol.Request{Verb: protocol.Command, Words: words, Params: kinds}
	}
	watch := command([]gen.Kind{gen.Bytes, gen.Int}, "watch", "$1", "--rev=$2")
	if p.PrevKV {
		watch.Words = append(watch.Words, "--prev-kv")
	}
	next := command(nil, "next")
	next.Capture = []protocol.Capture{{Name: "at", Kind: gen.Int}, {Name: "watch", Kind: gen.Int}}
	put := command([]gen.Kind{gen.Bytes, gen.Bytes}, "put", "$1", "$2")
	put.Capture = []protocol.Capture{{Name: "revision", Kind: gen.Int}}
	return []protocol.Request{watch, next, put, command(nil, "get", "abc", "--consistency=s")}
}

// Session returns the state of a session.
func (p *watchProgram) Session(number int) script.Session {
	s := &watchSession{p: p, number: number, watches: p.PerStream}
	if s.watcher = number < p.Streams; !s.watcher {
		return s
	}
	if p.command == "watch-get" { // PerStream is of all streams
		s.watches = p.PerStream / p.Streams
		if number < p.PerStream%p.Streams {
			s.watches++
		}
	}
	for k := range s.watches {
		s.events += p.eventsOf(p.keyOf(number, k))
	}
	s.arrived = make([]int, s.watches)
	return s
}

// keyOf returns the key of a session's watch.
func (p *watchProgram) keyOf(session, watch int) []byte {
	return p.keys[(session*p.PerStream+watch)%len(p.keys)]
}

// eventsOf returns how many events a watch of a key gets.
func (p *watchProgram) eventsOf(key []byte) (n int64) {
	for i := range min(p.Puts, len(p.keys)) {
		if string(p.keys[i]) == string(key) {
			n += int64((p.Puts - i + len(p.keys) - 1) / len(p.keys))
		}
	}
	return n
}

// watchSession is a session that watches, or one that puts or gets.
type watchSession struct {
	p        *watchProgram
	number   int
	watcher  bool
	watches  int   // to open
	events   int64 // to receive
	opened   int
	received int64
	puts     int
	sent     int
	gaveUp   bool
	began    time.Time // when all watches were open
	args     [2]gen.Value
	arrived  []int // watch-latency: events of each watch so far
}

// Choose says what comes next.
func (s *watchSession) Choose(uint64) int {
	name := opPut
	switch {
	case s.watcher && s.opened < s.watches:
		name = opWatch
	case s.watcher:
		name = opEvent
	case s.p.command == "watch-get" && s.puts == s.p.Puts:
		name = opGet
	}
	return s.p.operations[name]
}

// Begin begins the operation that Choose chose.
func (s *watchSession) Begin(int, uint64) script.Step { return s.Again() }

// poll is how often sessions look whether others are ready.
const poll = time.Millisecond

// Again begins the operation.
func (s *watchSession) Again() script.Step {
	p := s.p
	switch {
	case s.watcher && s.opened < s.watches:
		if p.command == "watch-get" && p.revision.Load() == 0 {
			return script.Step{Move: script.Pause, Pause: poll}
		}
		if s.opened == 0 {
			p.mark(&p.making)
		}
		s.set(p.keyOf(s.number, s.opened))
		s.args[1].SetInt(p.revision.Load())
		return s.send(reqWatch, 2)
	case s.watcher:
		return s.send(reqNext, 0)
	case p.command == "watch-get" && s.puts < p.Puts:
		s.set(p.keys[0])
		s.args[1].Kind, s.args[1].B = gen.Bytes, strconv.AppendInt(s.args[1].B[:0], int64(s.puts), 10)
		return s.send(reqPut, 2)
	case p.command == "watch-get":
		return s.get()
	}
	return s.put()
}

// get gets until all streams have their events.
func (s *watchSession) get() script.Step {
	switch {
	case s.p.finished.Load() == int64(s.p.Streams):
		return script.Step{Quit: true}
	case s.p.open.Load() == 0:
		return script.Step{Move: script.Pause, Pause: poll}
	}
	return s.send(reqGet, 0)
}

// put puts the next of the session's values, when it is due.
func (s *watchSession) put() script.Step {
	p, total := s.p, int64(s.p.Streams*s.p.PerStream)
	number := s.puts*p.putters + s.number - p.Streams
	switch {
	case number >= p.Puts:
		return script.Step{Quit: true}
	case p.open.Load() < total:
		return script.Step{Move: script.Pause, Pause: poll}
	case s.began.IsZero():
		s.began = time.Now()
		p.mark(&p.receiving)
	}
	if wait := s.early(number); wait > 0 { // the session's first put
		return script.Step{Move: script.Pause, Pause: wait}
	}
	s.set(p.keys[number%len(p.keys)])
	s.args[1].Kind, s.args[1].B = gen.Bytes, append(s.args[1].B[:0], p.value...)
	return s.send(reqPut, 2)
}

// early returns how long it is until put number is due.
func (s *watchSession) early(number int) time.Duration {
	if s.p.PutRate == 0 || s.began.IsZero() {
		return 0
	}
	due := s.began.Add(time.Duration(float64(number) / float64(s.p.PutRate) * float64(time.Second)))
	return max(0, time.Until(due))
}

// Rest returns the time until the session's next put is due.
func (s *watchSession) Rest() time.Duration {
	return s.early(s.puts*s.p.putters + s.number - s.p.Streams)
}

func (s *watchSession) set(key []byte) {
	s.args[0].Kind, s.args[0].B = gen.Bytes, append(s.args[0].B[:0], key...)
}

func (s *watchSession) send(request, args int) script.Step {
	s.sent = request
	return script.Step{Move: script.Send, Request: request, Args: s.args[:args], Last: true}
}

// Resume continues after a pause.
func (s *watchSession) Resume() script.Step { return s.Again() }

// Answered counts an answer. A failure of a watch, a put or an event ends the session, since others would wait forever.
func (s *watchSession) Answered(r *protocol.Reply) script.Step {
	p, at := s.p, time.Now()
	if r.Class != protocol.OK {
		if s.watcher {
			p.finished.Add(1)
		}
		p.open.Add(int64(s.watches - s.opened))
		s.gaveUp = s.sent != reqGet
		return script.Step{Failure: r.Failure, Quit: s.gaveUp}
	}
	switch s.sent {
	case reqWatch:
		s.opened++
		p.open.Add(1)
		p.mark(&p.making)
	case reqNext:
		s.received++
		p.receive(s, r.Captured[0].I, int(r.Captured[1].I), at)
	case reqPut:
		if p.putTimes != nil {
			p.mu.Lock()
			p.putTimes[s.puts*p.putters+s.number-p.Streams] = at.UnixNano()
			p.mu.Unlock()
		}
		if s.puts == 0 && p.command == "watch-get" {
			p.revision.Store(r.Captured[0].I)
		}
		s.puts++
	}
	return script.Step{Quit: s.done()}
}

// Aborted implements script.Aborter.
func (s *watchSession) Aborted() bool { return s.gaveUp }

// done reports whether the session has done its part, after an operation. So no operation is begun in vain, as long as
// a session has anything to do at all.
func (s *watchSession) done() bool {
	switch {
	case s.watcher && s.opened == s.watches && s.received == s.events:
		s.p.finished.Add(1)
		return true
	case s.watcher:
		return false
	case s.p.command == "watch-get":
		return s.sent == reqGet && s.p.finished.Load() == int64(s.p.Streams)
	}
	return s.puts*s.p.putters+s.number-s.p.Streams >= s.p.Puts
}

// mark extends a period to now.
func (p *watchProgram) mark(s *span) {
	p.mu.Lock()
	s.extend(time.Now())
	p.mu.Unlock()
}

// receive counts an event of a session's watch that arrived at a time, ns since the Unix epoch.
func (p *watchProgram) receive(s *watchSession, arrived int64, watch int, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.receiving.extend(at)
	p.received.Record(at.UnixNano() - arrived)
	if p.putTimes != nil && watch >= 0 && watch < len(s.arrived) {
		p.arrivals = append(p.arrivals, arrival{s.arrived[watch], arrived})
		s.arrived[watch]++
	}
}

// latencies returns the times from the end of each put to the arrival of its event at each watch; 0 if the event came
// before the put's answer.
func (p *watchProgram) latencies() *measure.Histogram {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := measure.NewHistogram()
	for _, a := range p.arrivals {
		if a.n < len(p.putTimes) && p.putTimes[a.n] > 0 {
			h.Record(max(0, a.at-p.putTimes[a.n]))
		}
	}
	return h
}
