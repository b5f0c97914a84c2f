package etcd

import (
	"context"
	"errors"
	"strings"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/kv"
	"brunt/internal/protocol/socket"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// conn is a session of the library tier: a client with one connection. It bypasses the client's retries, which
// would hide failures.
type conn struct {
	client   *clientv3.Client
	kv       pb.KVClient
	options  options
	requests requests
	revision int64     // in the last answer to a command
	watching *watching // nil: no watch was opened
	secret   string
	received socket.Meter
	scratch  []byte
}

var _ protocol.AdHoc = (*conn)(nil)

// Do executes one request.
func (c *conn) Do(ctx context.Context, req *protocol.Request, args []gen.Value, reply *protocol.Reply) {
	reply.Reset(len(req.Capture))
	q := &c.requests[req.ID]
	if refused := q.check(args); refused != nil {
		reply.Fail(refused)
		return
	}
	r := &q.Request
	before := c.received.Received()
	var err error
	switch {
	case q.command != nil && q.command.method == methodWatch:
		err = c.watch(ctx, q.command, args, reply)
	case q.command != nil && q.command.method == methodNext:
		err = c.next(ctx, q.command, reply)
	case q.command != nil:
		err = c.execute(ctx, q.command, args, reply)
	case r.Rows > 1 || req.Verb == protocol.Batch:
		err = c.batch(ctx, r, args, reply)
	case r.Verb == protocol.Read || r.Verb == protocol.Scan:
		err = c.read(ctx, r, args, reply)
	case r.Verb == protocol.Delete:
		var answer *pb.DeleteRangeResponse
		if answer, err = c.kv.DeleteRange(ctx, c.deletion(r, args)); err == nil {
			reply.Affected, reply.Missing = answer.Deleted, answer.Deleted == 0
		}
	default:
		var answer *pb.PutResponse
		if answer, err = c.kv.Put(ctx, c.putting(r, args)); err == nil {
			reply.Affected, reply.Missing = 1, answer.PrevKv != nil
		}
	}
	reply.BytesIn = c.received.Received() - before
	if err != nil {
		reply.Fail(failureOf(req, err, c.secret))
	}
}

func (c *conn) read(ctx context.Context, r *kv.Request, args []gen.Value, reply *protocol.Reply) error {
	req, refused := c.ranging(r, args)
	if refused != nil {
		return refused
	}
	answer, err := c.kv.Range(ctx, req)
	if err != nil {
		return err
	}
	return c.take(r, answer.Kvs, reply)
}

// take adds records to the reply.
func (c *conn) take(r *kv.Request, records []*mvccpb.KeyValue, reply *protocol.Reply) error {
	reply.Missing = reply.Missing || len(records) == 0 && r.Verb == protocol.Read
	for _, found := range records {
		d := document{text: found.Value}
		record := kv.Record{Key: found.Key[min(len(r.Table)+1, len(found.Key)):]}
		if r.Wants(reply) {
			record.Field, record.Names = d.field, d.names
		}
		if r.Take(reply, record); d.fault != nil {
			return d.fault
		}
	}
	return nil
}

func (c *conn) ranging(r *kv.Request, args []gen.Value) (*pb.RangeRequest, *protocol.Error) {
	req := &pb.RangeRequest{Key: appendKey(nil, r.Table, &args[0]), Serializable: c.options.serializable}
	if r.Verb == protocol.Scan {
		n, refused := kv.Count(args)
		if refused != nil {
			return nil, refused
		}
		req.RangeEnd, req.Limit = tableEnd(r.Table), int64(n)
	}
	return req, nil
}

func (c *conn) putting(r *kv.Request, args []gen.Value) *pb.PutRequest {
	req := &pb.PutRequest{Key: appendKey(nil, r.Table, &args[0]), PrevKv: r.Creates}
	req.Value, c.scratch = appendValue(nil, fieldPrefixes(r.Fields), args[1:], c.scratch)
	return req
}

func (c *conn) deletion(r *kv.Request, args []gen.Value) *pb.DeleteRangeRequest {
	return &pb.DeleteRangeRequest{Key: appendKey(nil, r.Table, &args[0])}
}

// batch executes all rows in one transaction.
func (c *conn) batch(ctx context.Context, r *kv.Request, args []gen.Value, reply *protocol.Reply) error {
	txn := &pb.TxnRequest{}
	written := make(map[string]*pb.RequestOp_RequestPut) // a transaction may write a key only once: the last row wins
	for row := range r.Rows {
		a := args[row*r.PerRow:][:r.PerRow]
		op := &pb.RequestOp{}
		switch r.Verb {
		case protocol.Read:
			req, _ := c.ranging(r, a)
			op.Request = &pb.RequestOp_RequestRange{RequestRange: req}
		case protocol.Delete:
			op.Request = &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: c.deletion(r, a)}
		default:
			put := c.putting(r, a)
			if earlier := written[string(put.Key)]; earlier != nil {
				earlier.RequestPut = put
				continue
			}
			only := &pb.RequestOp_RequestPut{RequestPut: put}
			written[string(put.Key)], op.Request = only, only
		}
		txn.Success = append(txn.Success, op)
	}
	answer, err := c.kv.Txn(ctx, txn)
	if err != nil {
		return err
	}
	for _, one := range answer.Responses {
		switch {
		case r.Verb == protocol.Read:
			if err := c.take(r, one.GetResponseRange().GetKvs(), reply); err != nil {
				return err
			}
		case r.Verb == protocol.Delete:
			n := one.GetResponseDeleteRange().GetDeleted()
			reply.Affected += n
			reply.Missing = reply.Missing || n == 0
		default:
			reply.Missing = reply.Missing || one.GetResponsePut().GetPrevKv() != nil
		}
	}
	if r.Verb == protocol.Insert || r.Verb == protocol.Update {
		reply.Affected = int64(r.Rows)
	}
	return nil
}

// raw is a message that is already encoded.
type raw []byte

// rawCodec passes encoded messages to gRPC.
type rawCodec struct{}

// Marshal returns the message.
func (rawCodec) Marshal(v any) ([]byte, error) { return *v.(*raw), nil }

// Unmarshal copies the message.
func (rawCodec) Unmarshal(data []byte, v any) error {
	*v.(*raw) = append((*v.(*raw))[:0], data...)
	return nil
}

// Name returns the content type that etcd knows.
func (rawCodec) Name() string { return "proto" }

// execute calls etcd with a command.
func (c *conn) execute(ctx context.Context, q *command, args []gen.Value, reply *protocol.Reply) error {
	out, refused := q.message(nil, args, c.revision)
	if refused != nil {
		return refused
	}
	in := raw{}
	err := c.call(ctx, q.method, raw(out), &in)
	if err != nil {
		if s, ok := status.FromError(err); ok && q.accepts(s.Message()) {
			return nil
		}
		return err
	}
	revision, violation := q.read(in, reply)
	c.revision = max(c.revision, revision)
	if violation != "" {
		return violation.Failure("the answer isn't etcd's: ")
	}
	return nil
}

// call sends one message and receives one.
func (c *conn) call(ctx context.Context, m method, out raw, in *raw) error {
	at := c.client.ActiveConnection()
	if m != methodLeaseKeepAlive {
		return at.Invoke(ctx, m.path(), &out, in, grpc.ForceCodec(rawCodec{}))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := at.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, m.path(),
		grpc.ForceCodec(rawCodec{}))
	if err != nil {
		return err
	}
	if err := stream.SendMsg(&out); err != nil {
		return err
	}
	return stream.RecvMsg(in)
}

// Add prepares a request that isn't part of the program; see protocol.AdHoc.
func (c *conn) Add(_ context.Context, req *protocol.Request) error {
	r, refused := parseRequest(req)
	if refused != nil {
		return protocol.Refused(req, "%s", refused.Text)
	}
	c.requests = protocol.Put(c.requests, req.ID, r)
	return nil
}

// Close ends the session; it is safe to call twice.
func (c *conn) Close() error {
	client := c.client
	c.client = nil
	if c.watching != nil {
		c.watching.cancel()
	}
	if client == nil {
		return nil
	}
	return client.Close()
}

// failureOf classifies an error that the library returned. req is nil if the request isn't part of a program.
func failureOf(req *protocol.Request, err error, secret string) *protocol.Error {
	if own, ok := errors.AsType[*protocol.Error](err); ok {
		return own
	}
	code, text := codes.Unknown, err.Error()
	var known rpctypes.EtcdError
	if errors.As(err, &known) {
		code = known.Code()
	} else if s, ok := status.FromError(err); ok {
		code, text = s.Code(), s.Message()
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		code = codes.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		code = codes.Canceled
	}
	f := statusFailure(req, code, protocol.Line(text, secret))
	f.Err = err
	return f
}

// statusFailure classifies a gRPC status. The texts of etcd's own statuses begin with "etcdserver:", "mvcc:" or
// "auth:"; other statuses come from a broken transport.
func statusFailure(req *protocol.Request, code codes.Code, text string) *protocol.Error {
	e := &protocol.Error{Class: protocol.Server, Code: code.String(), Text: text}
	ofServer := strings.HasPrefix(text, "etcdserver:") || strings.HasPrefix(text, "mvcc:") ||
		strings.HasPrefix(text, "auth:")
	switch code {
	case codes.DeadlineExceeded:
		return protocol.Late(req)
	case codes.Canceled:
		e.Class, e.Code, e.Fatal = protocol.UnknownOutcome, "", true
	case codes.Unavailable:
		switch {
		case strings.Contains(text, "timed out"):
			e.Class = protocol.Late(req).Class
		case ofServer:
			e.Class = protocol.Retryable
		case strings.Contains(text, "while dialing"), strings.Contains(text, "connection refused"):
			e.Class, e.Code, e.Fatal = protocol.Connect, "", true
		default:
			e.Class, e.Code, e.Fatal = protocol.UnknownOutcome, "", true
			e.Text = "the connection broke before the answer came: " + text
		}
	case codes.Aborted:
		e.Class = protocol.Retryable
	case codes.ResourceExhausted:
		if strings.Contains(text, "too many requests") {
			e.Class = protocol.Retryable
		}
	}
	return e
}

func isPermission(err error) bool {
	return err != nil && status.Code(err) == codes.PermissionDenied
}
