package grpc

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"brunt/internal/measure"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocoltest"
	"brunt/test/testserver/grpcserver"
)

// received is what a server has received.
type received struct {
	calls chan *counted // those that have ended
	first chan struct{} // gets a value when the first message of a call has come, if it has room
}

func (r *received) intercept(server any, s grpc.ServerStream, info *grpc.StreamServerInfo,
	handle grpc.StreamHandler) error {
	if !strings.HasPrefix(info.FullMethod, "/brunt.test.Echo/") {
		return handle(server, s)
	}
	c := &counted{ServerStream: s, of: r}
	defer func() { r.calls <- c }()
	return handle(server, c)
}

// counted is a call whose messages are counted.
type counted struct {
	grpc.ServerStream
	of   *received
	n    int
	last time.Time
}

// RecvMsg implements grpc.ServerStream.
func (c *counted) RecvMsg(m any) error {
	err := c.ServerStream.RecvMsg(m)
	if err != nil {
		return err
	}
	if c.last = time.Now(); c.n == 0 {
		select {
		case c.of.first <- struct{}{}:
		default:
		}
	}
	c.n++
	return nil
}

// The server gets as many messages as are due, and not before they are, on event loops and over blocking connections
// with TLS. However late the messages are sent, their number is the same.
func TestPacedStreams(t *testing.T) {
	r := &received{calls: make(chan *counted, 100), first: make(chan struct{})}
	intercepted := grpcserver.With(grpc.StreamInterceptor(r.intercept), grpc.MaxConcurrentStreams(3))
	server, client := grpcserver.Certificates(t)
	plain := grpcserver.Start(t, intercepted).Addr
	secure := protocol.Target{TLS: client, Address: grpcserver.Start(t, intercepted,
		grpcserver.TLS(credentials.NewTLS(server))).Addr}
	file := echoProto(t)
	const ms = time.Millisecond
	for _, c := range []struct {
		name, method             string
		send                     int
		interval, duration, over time.Duration // over: the deadline
		want                     int           // messages of each call
		lag                      uint64        // how many messages have a lag
		least                    time.Duration // until the last message
		class                    protocol.Class
	}{
		{"a count", "Gather", 4, 5 * ms, 0, 0, 4, 4, 15 * ms, protocol.OK},
		{"a count of a bidirectional stream", "Chat", 3, 5 * ms, 0, 0, 3, 3, 10 * ms, protocol.OK},
		{"a duration", "Gather", 1000, 5 * ms, 23 * ms, 0, 5, 5, 0, protocol.OK},
		{"a duration of whole intervals", "Chat", 1000, 5 * ms, 20 * ms, 0, 4, 4, 0, protocol.OK},
		{"the messages once", "Chat", 0, 5 * ms, time.Hour, 0, 2, 2, 0, protocol.OK},
		{"an interval longer than the deadline", "Gather", 3, time.Hour, 0, 30 * ms, 1, 0, 0, protocol.UnknownOutcome},
		{"an interval longer than the duration", "Gather", 3, time.Hour, 20 * ms, 0, 1, 1, 0, protocol.OK},
		{"no interval", "Gather", 3, 0, time.Hour, 0, 3, 3, 0, protocol.OK},
		{"one message", "Gather", 1, time.Hour, time.Hour, 0, 1, 0, 0, protocol.OK},
		{"a stream of the server", "Endless", 0, 0, 20 * ms, 0, 1, 0, 0, protocol.OK},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := request(c.method, 0, nil, `{"text": "a"}`, `{"text": "b"}`)
			req.RPC.Send, req.RPC.Interval, req.RPC.Duration, req.RPC.Deadline = c.send, c.interval, c.duration, c.over
			if c.method == "Endless" {
				req.RPC.Messages = nil
			}
			compare := func(calls int, kind string, began time.Time, lags uint64) {
				t.Helper()
				for range calls {
					got := <-r.calls
					if got.n != c.want {
						t.Errorf("%s: the server has received %d messages of a call, want %d", kind, got.n, c.want)
					}
					if took := got.last.Sub(began); took < c.least {
						t.Errorf("%s: all messages came within %v", kind, took)
					}
				}
				if c.class == protocol.OK && lags != uint64(calls)*c.lag {
					t.Errorf("%s: %d lags, want %d for each of %d calls", kind, lags, c.lag, calls)
				}
			}
			p := program(req)
			conn, err := New().Dial(t.Context(), secure, p)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			for range 2 { // a stream doesn't disturb the next one
				began := time.Now()
				reply := do(t, conn, &p.Requests[0])
				if reply.Class != c.class || reply.Fatal {
					t.Errorf("TLS: %+v", reply.Failure)
				}
				lags := uint64(0)
				if reply.Pacing != nil {
					lags = reply.Pacing.Lag.N
				}
				compare(1, "TLS", began, lags)
			}
			const calls = 8
			began := time.Now()
			account := made(t.Context(), nil, t, plain, file, req.RPC, 4, calls, 30*time.Second)
			total := account.Totals()
			if got := byClass(&total); got != fmt.Sprint(c.class, ": ", calls) {
				t.Errorf("event loops: %s", got)
			}
			compare(calls, "event loops", began, account.Operations[0].StreamLag.Count())
		})
	}
}

// A load that is cut off in the midst of streams counts them as unfinished.
func TestPacedStreamsAreCutOff(t *testing.T) {
	r := &received{calls: make(chan *counted, 100), first: make(chan struct{}, 1)}
	s := grpcserver.Start(t, grpcserver.With(grpc.StreamInterceptor(r.intercept)))
	ctx, cut := context.WithCancel(t.Context())
	go func() {
		<-r.first
		cut()
	}()
	call := &protocol.RPC{Method: "brunt.test.Echo/Chat", Messages: []string{"{}"}, Send: 1000, Interval: time.Hour}
	total := made(ctx, ctx.Done(), t, s.Addr, echoProto(t), call, 2, 0, time.Hour).Totals()
	if total.Done != 0 || total.Unfinished == 0 {
		t.Errorf("%+v", total)
	}
	req := request("Chat", 0, nil, "{}")
	req.RPC.Send, req.RPC.Interval = 1000, time.Hour
	p := program(req)
	r = &received{calls: make(chan *counted, 100), first: make(chan struct{}, 1)}
	s = grpcserver.Start(t, grpcserver.With(grpc.StreamInterceptor(r.intercept)))
	conn := protocoltest.Take(t, New(), protocol.Target{Address: s.Addr}, p, 1000)
	over := make(chan struct{})
	go func() {
		<-r.first
		close(over)
	}()
	var reply protocol.Reply
	conn.Do(until{t.Context(), over}, &p.Requests[0], nil, &reply)
	if reply.Class != protocol.UnknownOutcome || !strings.Contains(reply.Text, "no answer within the operation's timeout") {
		t.Errorf("blocking: %+v", reply.Failure)
	}
}

// What a server does in the midst of a stream ends it, or doesn't, and the next stream over the connection is as any.
func TestServersInTheMidstOfPacedStreams(t *testing.T) {
	const messages, good, lost = 3, "ok", "unknown-outcome"
	for name, c := range map[string]struct {
		want string
		do   func(f *http2.Framer, stream uint32, n int)
	}{
		"it ends the stream": {good, func(f *http2.Framer, stream uint32, n int) {
			if n == 2 {
				wholly(f, stream)
			}
		}},
		"it resets the stream": {lost, func(f *http2.Framer, stream uint32, n int) {
			if n == 2 {
				f.WriteRSTStream(stream, http2.ErrCodeInternal)
			}
		}},
		"it leaves after the stream": {good, func(f *http2.Framer, stream uint32, n int) {
			if n == 2 {
				f.WriteGoAway(stream, http2.ErrCodeNo, nil)
			}
			if n == messages {
				wholly(f, stream)
			}
		}},
		"it fails the stream": {"server", func(f *http2.Framer, stream uint32, n int) {
			if n == 2 {
				heads("", ":status", "200", "grpc-status", "8")(f, nil, stream)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := request("Chat", 0, nil, "{}")
			req.RPC.Send, req.RPC.Interval = messages, time.Millisecond
			p, file := program(req), echoProto(t)
			type stream struct {
				of *http2.Framer
				id uint32
			}
			var counts sync.Map // of messages, by stream
			u := &unruly{frame: func(f *http2.Framer, frame http2.Frame) {
				if d, ok := frame.(*http2.DataFrame); ok {
					n, _ := counts.LoadOrStore(stream{f, d.StreamID}, new(int))
					*n.(*int)++
					c.do(f, d.StreamID, *n.(*int))
				}
			}}
			to := protocol.Target{Address: u.serve(t), Options: map[string]string{"proto": file}}
			var total measure.Counts
			for range 3 {
				conn, err := New().Dial(t.Context(), to, p)
				if err != nil {
					t.Fatal(err)
				}
				for range 2 {
					if reply := do(t, conn, &p.Requests[0]); reply.Class != protocol.OK {
						total.Errors[reply.Class]++
					}
					total.Done++
					if conn.(protocol.Perishable).Ended() {
						break
					}
				}
				conn.Close()
			}
			if got := byClass(&total); !strings.HasPrefix(got, c.want+": ") || total.Done < 3 {
				t.Errorf("blocking: %s", got)
			}
			const calls = 8
			total = made(t.Context(), nil, t, to.Address, file, req.RPC, 2, calls, 30*time.Second).Totals()
			if got := byClass(&total); got != fmt.Sprint(c.want, ": ", calls) {
				t.Errorf("event loops: %s", got)
			}
		})
	}
}
