package grpc

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"

	"brunt/internal/engine"
	"brunt/internal/engine/loop"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocoltest"
	"brunt/test/testserver/grpcserver"
)

// leaver is a server that answers calls with an empty message and says GOAWAY with each n-th, which it doesn't answer,
// nor what comes after it on the connection.
type leaver struct {
	every int

	mu          sync.Mutex
	connections int
	answered    int
}

func (l *leaver) serve(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			nc, err := listener.Accept()
			if err != nil {
				return
			}
			go l.converse(nc)
		}
	}()
	return listener.Addr().String()
}

func (l *leaver) converse(nc net.Conn) {
	defer nc.Close()
	if _, err := io.ReadFull(nc, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	l.mu.Lock()
	l.connections++
	l.mu.Unlock()
	f := http2.NewFramer(nc, nc)
	f.WriteSettings()
	head, trails := block(":status", "200"), block("grpc-status", "0")
	last, count, leaving := uint32(0), 0, false
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		if s, ok := frame.(*http2.SettingsFrame); ok && !s.IsAck() {
			f.WriteSettingsAck()
		}
		d, ok := frame.(*http2.DataFrame)
		if !ok || !d.StreamEnded() || leaving {
			continue
		}
		if count++; count == l.every {
			leaving = true
			f.WriteGoAway(last, http2.ErrCodeNo, nil)
			continue
		}
		last = d.StreamID
		l.mu.Lock()
		l.answered++
		l.mu.Unlock()
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: last, BlockFragment: head, EndHeaders: true})
		f.WriteData(last, false, make([]byte, 5))
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: last, BlockFragment: trails, EndHeaders: true, EndStream: true})
	}
}

// say makes calls on event loops, all of which must succeed.
func say(t *testing.T, address, file string, pipeline int, operations uint64) {
	t.Helper()
	total, _ := called(t.Context(), t, address, file, "Say", pipeline, operations, 30*time.Second)
	if total.Done != operations || total.Errors != (measure.ByClass{}) {
		t.Errorf("%d in flight: %d done, failed %v", pipeline, total.Done, total.Errors)
	}
}

// called makes calls to a method on event loops until ctx is done or operations were made, if that isn't 0. It returns
// the sums, and how often sessions connected again.
func called(ctx context.Context, t *testing.T, address, file, method string, pipeline int, operations uint64,
	timeout time.Duration) (total measure.Counts, reconnects uint64) {
	t.Helper()
	account := made(ctx, nil, t, address, file, &protocol.RPC{Method: "brunt.test.Echo/" + method}, pipeline, operations,
		timeout)
	return account.Totals(), account.Addresses[0].Reconnects
}

// made is called with any call, and returns all that was measured. What is in flight when hard is closed is cut off.
func made(ctx context.Context, hard <-chan struct{}, t *testing.T, address, file string, call *protocol.RPC,
	pipeline int, operations uint64, timeout time.Duration) *measure.Account {
	t.Helper()
	w, err := workload.Compile(&plan.Plan{Operations: []plan.Operation{{Name: "say", Weight: 1, Steps: []plan.Step{{
		Request: protocol.Request{Verb: protocol.GRPC, RPC: call}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	collector := measure.NewCollector(len(w.Operations), 1)
	d := New()
	cfg := engine.FleetConfig{
		Workload: w, Driver: d, Sessions: 2, OperationTimeout: timeout, Clock: engine.NewClock(time.Now()),
		Collector: collector,
		Where: engine.Where{Targets: []protocol.Target{{Address: address,
			Options: map[string]string{"proto": file}}}},
		Dialing:  engine.Dialing{ConnectTimeout: 10 * time.Second},
		ForLoops: engine.ForLoops{Pipeline: pipeline},
	}
	fleet, err := loop.NewFleet(cfg, d)
	if err != nil {
		t.Fatal(err)
	}
	defer fleet.Close()
	if err := fleet.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := fleet.Run(ctx, hard, schedule.Stage{Operations: operations,
		StartNs: cfg.Clock.Now()}); err != nil {
		t.Fatal(err)
	}
	collector.Cut(cfg.Clock.Now(), measure.Meta{})
	return collector.Total()
}

// echoProto returns the path of a file with the definition of Echo.
func echoProto(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "echo.proto")
	if err := os.WriteFile(file, []byte(grpcserver.EchoProto), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Calls beyond the number of streams that the server takes wait for room.
func TestMoreCallsThanTheServerTakesStreams(t *testing.T) {
	s := grpcserver.Start(t, grpcserver.With(grpc.MaxConcurrentStreams(3)))
	say(t, s.Addr, echoProto(t), 50, 500)
}

// Every call is answered although the server leaves with each hundredth, on event loops with several in flight.
func TestGoAwayWithEachHundredthCall(t *testing.T) {
	l := &leaver{every: 100}
	address := l.serve(t)
	file := echoProto(t)
	const operations = 1000
	for _, pipeline := range []int{1, 20} {
		say(t, address, file, pipeline, operations)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.answered != 2*operations || l.connections < 2*operations/100 {
		t.Errorf("%d answered over %d connections", l.answered, l.connections)
	}
}

// A request larger than the server's windows is sent as they grow.
func TestARequestLargerThanTheWindow(t *testing.T) {
	s := grpcserver.Start(t)
	p := program(request("Say", 1, []string{"text"}, `{"text": "$1"}`))
	text := strings.Repeat("x", 3<<20)
	c := protocoltest.Take(t, New(), protocol.Target{Address: s.Addr}, p, 64<<10)
	for range 3 {
		if r := do(t, c, &p.Requests[0], protocoltest.Values(text)...); r.Class != protocol.OK ||
			len(r.Captured[0].B) != len(text) {
			t.Errorf("%+v", r.Failure)
		}
	}
}

// A call whose answer is late is cancelled, and the other calls of the connection go on.
func TestALateCallEndsAlone(t *testing.T) {
	ctx, enough := context.WithTimeout(t.Context(), 30*time.Second)
	defer enough()
	var calls atomic.Int64
	s := grpcserver.Start(t, grpcserver.With(grpc.StreamInterceptor(func(server any, call grpc.ServerStream,
		_ *grpc.StreamServerInfo, answer grpc.StreamHandler) error {
		if calls.Add(1) == 1 {
			<-call.Context().Done()
			enough()
			return call.Context().Err()
		}
		select { // not as many as the machine can
		case <-call.Context().Done():
		case <-time.After(5 * time.Millisecond):
		}
		return answer(server, call)
	})))
	total, reconnects := called(ctx, t, s.Addr, echoProto(t), "Say", 4, 0, 2*time.Second)
	var failed uint64
	for _, n := range total.Errors {
		failed += n
	}
	if failed != 1 || reconnects != 0 || total.Done < 10 {
		t.Errorf("%d of %d calls failed, %v, and sessions connected again %d times", failed, total.Done, total.Errors,
			reconnects)
	}
}
