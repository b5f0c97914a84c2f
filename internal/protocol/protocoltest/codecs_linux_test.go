package protocoltest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"brunt/internal/engine"
	"brunt/internal/engine/loop"
	"brunt/internal/engine/pool"
	"brunt/internal/load/gen"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/protocol/blocking"
	"brunt/internal/protocol/protocoltest"
	"brunt/test/testserver"
)

var servers testserver.Pool

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

// subject is a codec, a server for it, and requests that may be sent in any order and number.
type subject struct {
	name    string
	driver  protocol.CodecDriver
	target  protocol.Target
	secure  *protocol.Target // for TLS, if the server supports it
	queries []query
	// pipeline is the number of requests in flight on a connection of event loops.
	pipeline int
	whole    bool // the codec accepts no requests that are not part of its program
}

// query is a request, and a function that sends it with the vendor's or the standard client library.
type query struct {
	request protocol.Request
	args    []any                     // int64 or string
	client  func() (answer, error)    // an error fails the test
	adjust  func(r *protocol.Request) // optional; called after client
}

// answer is an answer as a client shows it.
type answer struct {
	failure string     // the code, if it failed
	rows    [][]string // values as text; for codecs without rows, one row of the captured values
	status  int
	badHash bool
	missing bool
}

func (a answer) String() string {
	if a.failure != "" {
		return a.failure
	}
	text := fmt.Sprintf("status %d, bad hash %v, missing %v", a.status, a.badHash, a.missing)
	for _, row := range a.rows {
		text += "\n" + strings.Join(row, " ")
	}
	return text
}

// text returns a value with its kind as text, independent of the client that decoded it.
func text(v any) string {
	switch x := v.(type) {
	case error:
		v = x.Error()
	case *big.Int:
		v = x.String()
	case []any, map[any]any, map[string]any:
		out, err := json.Marshal(plain(x))
		if err != nil {
			return err.Error()
		}
		return "json " + string(out)
	case gen.Value:
		switch x.Kind {
		case gen.JSON:
			return "json " + string(x.B)
		case gen.Uint:
			x.Kind = gen.Int
		}
		return protocoltest.Text(&x)
	}
	switch n := reflect.ValueOf(v); n.Kind() {
	case reflect.Int8, reflect.Int16, reflect.Int32:
		v = n.Int()
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v = int64(n.Uint())
	}
	var value gen.Value
	if !value.SetAny(v) {
		return fmt.Sprintf("%T %v", v, v)
	}
	return text(value)
}

// plain converts a value into types of JSON.
func plain(v any) any {
	switch x := v.(type) {
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = plain(x[i])
		}
		return out
	case map[any]any:
		out := map[string]any{}
		for k, element := range x {
			out[fmt.Sprint(k)] = plain(element)
		}
		return out
	}
	if f, ok := v.(float64); ok && (math.IsInf(f, 0) || math.IsNaN(f)) {
		return strings.ToLower(strings.TrimPrefix(fmt.Sprint(f), "+"))
	}
	return v
}

// sorted returns the keys of a map in order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// parameter returns a parameter with one constant value.
func parameter(v any) plan.Param {
	if n, ok := v.(int64); ok {
		return plan.Param{Value: &plan.ValueSpec{Spec: gen.Spec{Type: gen.TypeInteger, HasRange: true, IntLo: n, IntHi: n}}}
	}
	return plan.Param{Value: &plan.ValueSpec{Spec: gen.Spec{Type: gen.TypeOneOf, Values: []string{v.(string)}}}}
}

// observed is a driver that records each answer that its codecs scan.
type observed struct {
	protocol.CodecDriver
	piece int // maximum number of bytes of a read; 0 means no limit

	mu  sync.Mutex
	all map[int]map[string]uint64 // for each request, how often each answer was received
}

// Open implements protocol.CodecDriver.
func (o *observed) Open(ctx context.Context, t protocol.Target, p *protocol.Program) (c protocol.CodecConn, err error) {
	if c, err = o.CodecDriver.Open(ctx, t, p); err != nil {
		return c, err
	}
	if o.piece > 0 {
		c.Net = protocoltest.Pieces{Conn: c.Net, Most: o.piece}
	}
	watch := &watched{Codec: c.Codec, note: o.note, begun: map[uint64][]byte{}}
	tagged, _ := c.Codec.(protocol.Tagged)
	eof, _ := c.Codec.(protocol.EOFScanner)
	switch {
	case tagged != nil:
		c.Codec = &watchedTagged{watch, tagged}
	case eof != nil:
		c.Codec = struct {
			*watched
			protocol.EOFScanner
		}{watch, eof}
	default:
		c.Codec = watch
	}
	return c, nil
}

// Dial opens a blocking connection.
func (o *observed) Dial(ctx context.Context, t protocol.Target, p *protocol.Program) (protocol.Conn, error) {
	c, err := o.Open(ctx, t, p)
	if err != nil {
		return nil, err
	}
	return blocking.New(c), nil
}

func (o *observed) note(request int, a answer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = map[int]map[string]uint64{}
	}
	if o.all[request] == nil {
		o.all[request] = map[string]uint64{}
	}
	o.all[request][a.String()]++
}

// watched is a codec that records its answers with their rows.
type watched struct {
	protocol.Codec
	note  func(request int, a answer)
	begun map[uint64][]byte // bytes of answers that have been consumed, by tag
	turn  uint64
}

// Scan implements protocol.Codec.
func (w *watched) Scan(buf []byte, req *protocol.Request, reply *protocol.Reply) (n int, done bool, need int) {
	n, done, need = w.Codec.Scan(buf, req, reply)
	w.begun[w.turn] = append(w.begun[w.turn], buf[:n]...)
	if !done && !reply.Fatal {
		return n, done, need
	}
	whole := w.begun[w.turn]
	delete(w.begun, w.turn)
	a := answer{status: reply.Status, badHash: reply.BadHash, missing: reply.Missing}
	rows, ok := w.Codec.(protocol.RowReader)
	switch {
	case reply.Class != protocol.OK:
		a.failure = reply.Code
	case ok:
		if failure := rows.Rows(whole, req, func(_ []string, row []gen.Value) { a.add(row) }); failure != nil {
			a.failure = failure.Text
		}
	case len(reply.Captured) > 0:
		a.add(reply.Captured)
	}
	w.note(req.ID, a)
	return n, done, need
}

func (a *answer) add(row []gen.Value) {
	line := make([]string, len(row))
	for i := range row {
		line[i] = text(row[i])
	}
	a.rows = append(a.rows, line)
}

// watchedTagged is a watched codec that is Tagged.
type watchedTagged struct {
	*watched
	protocol.Tagged
}

// Turn implements protocol.Tagged.
func (w *watchedTagged) Turn(tag uint64) {
	w.turn = tag
	w.Tagged.Turn(tag)
}

// TestCodecsAreTheirLibraries compares each codec with the client library of its protocol, value by value and failure
// by failure. The codec is driven by event loops and over blocking connections, with TLS, and with reads of single
// bytes.
func TestCodecsAreTheirLibraries(t *testing.T) {
	for _, start := range []func(t *testing.T) subject{postgresSubject, redis2Subject, redis3Subject, iprotoSubject,
		httpSubject, etcdSubject} {
		s := start(t)
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			want := make([]answer, len(s.queries))
			for i := range s.queries {
				q := &s.queries[i]
				var err error
				if want[i], err = q.client(); err != nil {
					t.Fatalf("the library, %s: %v", q.request.Name, err)
				}
				if q.adjust != nil {
					q.adjust(&q.request)
				}
			}
			t.Run("event loops", func(t *testing.T) { s.drive(t, s.target, want, 0, true) })
			t.Run("blocking", func(t *testing.T) { s.drive(t, s.target, want, 0, false) })
			t.Run("blocking, in single bytes", func(t *testing.T) { s.drive(t, s.target, want, 1, false) })
			if !s.whole {
				t.Run("blocking, added", func(t *testing.T) { s.add(t, want) })
			}
			if s.secure != nil {
				t.Run("blocking, TLS", func(t *testing.T) { s.drive(t, *s.secure, want, 0, false) })
			}
		})
	}
}

// drive sends each request several times, mixed with the others, in one way of driving. It compares all answers and the
// recorded counts.
func (s *subject) drive(t *testing.T, target protocol.Target, want []answer, piece int, loops bool) {
	times := 12
	if piece > 0 {
		times = 4
	}
	operations := uint64(times * len(s.queries))
	w, answers, total := s.load(t, target, piece, loops, 3, operations)
	picked := make([]uint64, len(s.queries))
	for k := range operations {
		picked[w.Pick(k)]++
	}
	for i, o := range total.Operations {
		s.compare(t, &s.queries[i].request, answers[i], want[i].String(), picked[i])
		failed := uint64(0)
		for _, n := range o.Errors {
			failed += n
		}
		if o.Done != picked[i] || (failed != 0) != (want[i].failure != "") || failed != 0 && failed != o.Done {
			t.Errorf("%s: recorded %d done and %d failed of %d, answered %s", s.queries[i].request.Name, o.Done, failed,
				picked[i], want[i])
		}
	}
}

// load sends operations by a number of sessions. It returns, for each request, how often each answer was received.
func (s *subject) load(t *testing.T, target protocol.Target, piece int, loops bool, sessions int, operations uint64) (
	w *workload.Workload, answers map[int]map[string]uint64, total *measure.Account) {
	t.Helper()
	p := &plan.Plan{Seed: 7}
	for i, q := range s.queries {
		step := plan.Step{Request: q.request}
		for _, v := range q.args {
			step.Params = append(step.Params, parameter(v))
		}
		p.Operations = append(p.Operations, plan.Operation{Name: fmt.Sprint("query ", i), Weight: 1,
			Steps: []plan.Step{step}})
	}
	w, err := workload.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	if why, ok := s.driver.Takes(target, &w.Program); !ok {
		t.Fatalf("the codec doesn't take the program: %s", why)
	}
	driver := &observed{CodecDriver: s.driver, piece: piece}
	cfg := engine.FleetConfig{
		Workload: w, Driver: driver, Sessions: sessions, OperationTimeout: 30 * time.Second,
		Clock: engine.NewClock(time.Now()), Collector: measure.NewCollector(len(w.Operations), 1),
		Where:   engine.Where{Targets: []protocol.Target{target}},
		Dialing: engine.Dialing{ConnectTimeout: 10 * time.Second}, ForLoops: engine.ForLoops{Pipeline: 1},
	}
	var fleet engine.Fleet
	if loops {
		cfg.Pipeline = s.pipeline
		fleet, err = loop.NewFleet(cfg, driver)
	} else {
		fleet, err = pool.NewPool(cfg)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer fleet.Close()
	if err := fleet.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := fleet.Run(t.Context(), nil,
		schedule.Stage{Operations: operations, StartNs: cfg.Clock.Now()}); err != nil {
		t.Fatal(err)
	}
	cfg.Collector.Cut(cfg.Clock.Now(), measure.Meta{})
	return w, driver.all, cfg.Collector.Total()
}

// add sends requests that aren't part of the connection's program.
func (s *subject) add(t *testing.T, want []answer) {
	c, err := s.driver.Dial(t.Context(), s.target, &protocol.Program{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	added := 0
	for i, q := range s.queries {
		q.request.ID = added
		if err := c.(protocol.AdHoc).Add(t.Context(), &q.request); err != nil {
			if want[i].failure == "" {
				t.Errorf("%s: %v", q.request.Name, err)
			}
			continue
		}
		added++
		args := make([]gen.Value, len(q.args))
		for k, v := range q.args {
			args[k].SetAny(v)
		}
		var a answer
		reply := protocol.Reply{Each: func(_ []string, row []gen.Value) { a.add(row) }}
		c.Do(protocoltest.Within(t, 30*time.Second), &q.request, args, &reply)
		if a.missing = reply.Missing; reply.Class != protocol.OK {
			a.failure = reply.Code
		}
		s.compare(t, &q.request, map[string]uint64{a.String(): 1}, want[i].String(), 1)
	}
}

// compare reports answers to a request that differ from the library's, or in number.
func (s *subject) compare(t *testing.T, r *protocol.Request, got map[string]uint64, want string, times uint64) {
	t.Helper()
	for a, n := range got {
		if a != want {
			at := 0
			for at < min(len(a), len(want)) && a[at] == want[at] {
				at++
			}
			t.Errorf("%s, %d times: %d bytes alike, then\ncodec   %.200s\nlibrary %.200s", r.Name, n, at, a[at:], want[at:])
		}
	}
	if got[want] != times {
		t.Errorf("%s: %d answers as the library's, want %d", r.Name, got[want], times)
	}
}
