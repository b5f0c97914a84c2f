package etcd

import (
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/http2"
	"brunt/internal/protocol/http2/rpc"
	"brunt/internal/protocol/kv"

	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/encoding/protowire"
)

// method is one of etcd's remote procedures.
type method int

const (
	methodRange method = iota
	methodPut
	methodDelete
	methodTxn
	methodCompact
	methodLeaseGrant
	methodLeaseRevoke
	methodLeaseKeepAlive // a stream, of which we use one message each way
	methodLock
	methodUnlock
	methodStatus
	methodHashKV
	methodWatch // of the library tier
	methodNext  // waits for an event of a watch
	methods
)

func (m method) path() string {
	return [...]string{
		methodRange: "/etcdserverpb.KV/Range", methodPut: "/etcdserverpb.KV/Put",
		methodDelete: "/etcdserverpb.KV/DeleteRange", methodTxn: "/etcdserverpb.KV/Txn",
		methodCompact: "/etcdserverpb.KV/Compact", methodLeaseGrant: "/etcdserverpb.Lease/LeaseGrant",
		methodLeaseRevoke: "/etcdserverpb.Lease/LeaseRevoke", methodLeaseKeepAlive: "/etcdserverpb.Lease/LeaseKeepAlive",
		methodLock: "/v3lockpb.Lock/Lock", methodUnlock: "/v3lockpb.Lock/Unlock",
		methodStatus: "/etcdserverpb.Maintenance/Status", methodHashKV: "/etcdserverpb.Maintenance/HashKV",
		methodWatch: "/etcdserverpb.Watch/Watch", methodNext: "",
	}[m]
}

func methodOf(verb protocol.Verb) method {
	switch verb {
	case protocol.Insert, protocol.Update:
		return methodPut
	case protocol.Delete:
		return methodDelete
	}
	return methodRange
}

// newHeaders returns the headers of calls, by method.
func newHeaders(authority string) *http2.Headers {
	lists := make([][]hpack.HeaderField, methods)
	for m := range lists[:methodWatch] {
		lists[m] = []hpack.HeaderField{
			{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"}, {Name: ":path", Value: method(m).path()},
			{Name: ":authority", Value: authority}, {Name: "content-type", Value: "application/grpc"},
			{Name: "user-agent", Value: "brunt"}, {Name: "te", Value: "trailers"},
		}
	}
	return http2.NewHeaders(lists)
}

// recordTemplate holds the constant parts of a request.
type recordTemplate struct {
	method method
	prefix []byte // prefix of the key: the table and a colon
	tail   []byte // end of the message
	fields []fieldPrefix
}

func newTemplate(q *request, o options) recordTemplate {
	if q.command != nil {
		return recordTemplate{method: q.command.method}
	}
	r := &q.Request
	t := recordTemplate{method: methodOf(r.Verb), prefix: []byte(r.Table + ":"), fields: fieldPrefixes(r.Fields)}
	if r.Verb == protocol.Scan {
		t.tail = protowire.AppendTag(t.tail, 2, protowire.BytesType)
		t.tail = protowire.AppendBytes(t.tail, tableEnd(r.Table))
	}
	if t.method == methodRange && o.serializable {
		t.tail = protowire.AppendTag(t.tail, 7, protowire.VarintType)
		t.tail = protowire.AppendVarint(t.tail, 1)
	}
	if r.Creates { // prev_kv: the answer has the record that was there before
		t.tail = protowire.AppendTag(t.tail, 4, protowire.VarintType)
		t.tail = protowire.AppendVarint(t.tail, 1)
	}
	return t
}

// Encode appends a call: a HEADERS frame, and the message in DATA frames.
func (c *codec) Encode(dst []byte, req *protocol.Request, args []gen.Value) ([]byte, *protocol.Error) {
	r, t := &c.requests[req.ID], &c.templates[req.ID]
	if refused := r.check(args); refused != nil {
		return dst, refused
	}
	body, refused := c.message(r, t, args)
	if refused != nil {
		return dst, refused
	}
	if window := c.Window(); int64(len(body)) > window {
		return dst, protocol.Bad("a request of %d bytes doesn't fit into the server's window of %d; use option codec=off",
			len(body), window)
	}
	return c.Append(dst, int(t.method), nil, body), nil
}

// message builds a request's message with its prefix. It is valid until the next call.
func (c *codec) message(r *request, t *recordTemplate, args []gen.Value) ([]byte, *protocol.Error) {
	b := append(c.body[:0], 0, 0, 0, 0, 0)
	if r.command != nil {
		b, refused := r.command.message(b, args, c.revision)
		rpc.Seal(b, 0, false)
		c.body = b
		return b, refused
	}
	c.scratch = append(c.scratch[:0], t.prefix...)
	c.scratch = kv.AppendText(c.scratch, &args[0])
	b = protowire.AppendTag(b, 1, protowire.BytesType)
	b = protowire.AppendBytes(b, c.scratch)
	switch {
	case t.method == methodPut:
		c.value, c.scratch = appendValue(c.value[:0], t.fields, args[1:], c.scratch)
		b = protowire.AppendTag(b, 2, protowire.BytesType)
		b = protowire.AppendBytes(b, c.value)
	case r.Verb == protocol.Scan:
		n, refused := kv.Count(args)
		if refused != nil {
			return nil, refused
		}
		b = protowire.AppendTag(b, 3, protowire.VarintType)
		b = protowire.AppendVarint(b, uint64(n))
	}
	b = append(b, t.tail...)
	rpc.Seal(b, 0, false)
	c.body = b
	return b, nil
}
