package etcd

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
)

// watching is a session's stream of events. A goroutine receives them, so that they have the times of their arrival.
type watching struct {
	stream  pb.Watch_WatchClient
	cancel  context.CancelFunc
	created chan *pb.WatchResponse
	arrived chan struct{} // holds a token if events or err were added

	mu     sync.Mutex
	events []watchEvent
	err    error // why the stream ended
}

type watchEvent struct {
	*mvccpb.Event
	watch int64
	at    time.Time
}

// watch opens a watch. Its answer says that the server has opened it.
func (c *conn) watch(ctx context.Context, q *command, args []gen.Value, reply *protocol.Reply) error {
	out, refused := q.message(nil, args, c.revision)
	if refused != nil {
		return refused
	}
	create := &pb.WatchCreateRequest{}
	if err := proto.Unmarshal(out, create); err != nil {
		return err
	}
	if c.watching == nil {
		if err := c.openWatching(); err != nil {
			return err
		}
	}
	w := c.watching
	err := w.stream.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: create}})
	if err != nil {
		return err
	}
	select {
	case answer, open := <-w.created:
		switch {
		case !open:
			return w.failure()
		case answer.Canceled:
			return &protocol.Error{Class: protocol.Server, Code: "Canceled", Text: answer.CancelReason}
		}
		q.whole(reply, "watch", answer.WatchId)
		q.whole(reply, "revision", answer.Header.GetRevision())
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *conn) openWatching() error {
	ctx, cancel := context.WithCancel(context.Background())
	stream, err := pb.NewWatchClient(c.client.ActiveConnection()).Watch(ctx, grpc.WaitForReady(false))
	if err != nil {
		cancel()
		return err
	}
	c.watching = &watching{stream: stream, cancel: cancel, created: make(chan *pb.WatchResponse, 1),
		arrived: make(chan struct{}, 1)}
	go c.watching.receive()
	return nil
}

// receive takes what the server sends until the stream ends.
func (w *watching) receive() {
	for {
		answer, err := w.stream.Recv()
		at := time.Now()
		w.mu.Lock()
		if w.err = err; err == nil {
			for _, e := range answer.Events {
				w.events = append(w.events, watchEvent{e, answer.WatchId, at})
			}
		}
		w.mu.Unlock()
		if err == nil && answer.Created {
			w.created <- answer
		}
		select {
		case w.arrived <- struct{}{}:
		default:
		}
		if err != nil {
			close(w.created)
			return
		}
	}
}

func (w *watching) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// next waits for the next event. at is the time at which it arrived, in ns since the Unix epoch.
func (c *conn) next(ctx context.Context, q *command, reply *protocol.Reply) error {
	w := c.watching
	if w == nil {
		return protocol.Bad("next: no watch has been opened over this session; send watch first")
	}
	for {
		w.mu.Lock()
		if len(w.events) > 0 {
			e := w.events[0]
			w.events = w.events[1:]
			w.mu.Unlock()
			reply.Rows = 1
			q.whole(reply, "mod_revision", e.Kv.GetModRevision())
			q.whole(reply, "watch", e.watch)
			q.whole(reply, "at", e.at.UnixNano())
			q.text(reply, "key", e.Kv.GetKey())
			q.text(reply, "value", e.Kv.GetValue())
			return nil
		}
		err := w.err
		w.mu.Unlock()
		if err != nil {
			return err
		}
		select {
		case <-w.arrived:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
