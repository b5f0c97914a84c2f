package etcd

import (
	"bytes"
	"encoding/binary"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/kv"

	"golang.org/x/net/http2"
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

// headers holds the encoded headers of requests. Once a method has been called, its headers are in the server's
// dynamic table and take only a few bytes, which are always the same.
type headers struct {
	authority string
	encoded   bytes.Buffer
	encoder   *hpack.Encoder
	version   int // version of the server's dynamic table, incremented when we change it
	methods   [methods]struct {
		sent    bool
		block   []byte
		version int
	}
}

func newHeaders(authority string) *headers {
	h := &headers{authority: authority}
	h.encoder = hpack.NewEncoder(&h.encoded)
	return h
}

// smallestTable is the least size of a dynamic table that holds all our headers, in bytes.
const smallestTable = 2048

// limit applies the server's limit for the size of its dynamic table.
func (h *headers) limit(size uint32) {
	if size < smallestTable {
		size = 0
	}
	h.encoder.SetMaxDynamicTableSizeLimit(size)
	h.version++
	for i := range h.methods {
		h.methods[i].sent = false
	}
}

// block returns the encoded headers of a call to m.
func (h *headers) block(m method) []byte {
	p := &h.methods[m]
	if p.sent && p.block != nil && p.version == h.version {
		return p.block
	}
	h.encoded.Reset()
	for _, f := range [...]hpack.HeaderField{
		{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"}, {Name: ":path", Value: m.path()},
		{Name: ":authority", Value: h.authority}, {Name: "content-type", Value: "application/grpc"},
		{Name: "user-agent", Value: "brunt"}, {Name: "te", Value: "trailers"},
	} {
		h.encoder.WriteField(f) // writing to a bytes.Buffer can't fail
	}
	if !p.sent {
		p.sent = true
		h.version++
		return h.encoded.Bytes()
	}
	p.block, p.version = bytes.Clone(h.encoded.Bytes()), h.version
	return p.block
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

// messageHead is the size of gRPC's prefix of a message: the compression flag and the length.
const messageHead = 5

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
	if window := min(c.connectionWindow, c.streamWindow); int64(len(body)) > window {
		return dst, protocol.Bad("a request of %d bytes doesn't fit into the server's window of %d; use option codec=off",
			len(body), window)
	}
	c.connectionWindow -= int64(len(body))
	c.out.b = append(dst, c.control.b...)
	c.control.b = c.control.b[:0]
	if c.unacknowledged > largestWindow/2 {
		c.out.WriteWindowUpdate(0, uint32(c.unacknowledged))
		c.unacknowledged = 0
	}
	c.begin()
	c.out.WriteHeaders(http2.HeadersFrameParam{StreamID: c.sent, BlockFragment: c.headers.block(t.method),
		EndHeaders: true})
	for len(body) > c.frameLimit {
		c.out.WriteData(c.sent, false, body[:c.frameLimit])
		body = body[c.frameLimit:]
	}
	c.out.WriteData(c.sent, true, body)
	dst, c.out.b = c.out.b, nil
	return dst, nil
}

// message builds a request's message with its prefix. It is valid until the next call.
func (c *codec) message(r *request, t *recordTemplate, args []gen.Value) ([]byte, *protocol.Error) {
	b := append(c.body[:0], 0, 0, 0, 0, 0)
	if r.command != nil {
		b, refused := r.command.message(b, args, c.revision)
		binary.BigEndian.PutUint32(b[1:], uint32(len(b)-messageHead))
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
	binary.BigEndian.PutUint32(b[1:], uint32(len(b)-messageHead))
	c.body = b
	return b, nil
}
