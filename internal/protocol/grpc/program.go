package grpc

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"brunt/internal/load/template"
	"brunt/internal/protocol"
	"brunt/internal/protocol/grpc/methods"
	"brunt/internal/protocol/socket"
)

// prepared is a compiled program. It is immutable and shared by all sessions at an address.
type prepared struct {
	options options
	calls   []call
	lists   [][]hpack.HeaderField // the headers of each call
}

// call is a compiled request.
type call struct {
	params   int
	messages [][]part
	metadata []field // those with parameters
	captures []capturing
	streams  bool // the answer may have any number of messages
	streamed bool // the request or the answer may have any number of messages
	receive  int64
	send     int // messages: those over and over
	interval time.Duration
	duration time.Duration
	paced    bool // messages are sent, or the call ends, at times of their own
	md       protoreflect.MethodDescriptor
}

// field is metadata with parameters.
type field struct {
	name   string
	text   template.Template
	binary bool
}

// options are those of a target.
type options struct {
	source     methods.Source
	authority  string
	port       string            // of the reflection service; "": that of the address
	reflection map[string]string // metadata of questions to the reflection service
	gzip       bool
	codec      bool
}

func parseOptions(t protocol.Target) (o options, refused *protocol.Error) {
	read := protocol.OptionsOf("grpc", t)
	o.source = methods.SourceOf(read.Text("proto", ""), read.Text("import", ""), read.Text("protoset", ""))
	o.authority = read.Text("authority", "")
	o.port = read.Text("reflect_port", "")
	o.reflection = read.Prefixed(methods.ReflectionPrefix)
	o.gzip = read.Choice("compression", "off", "gzip") == "gzip"
	o.codec = read.Bool("codec", true)
	return o, read.Done()
}

// asked returns the target whose reflection service describes the methods.
func (o *options) asked(t protocol.Target) protocol.Target {
	if o.port != "" {
		t.Address = net.JoinHostPort(socket.Host(t.Address), o.port)
	}
	return t
}

// holder keeps a prepared program once it has been prepared. Failures aren't kept, as a server may come up later.
type holder struct {
	mu   sync.Mutex
	made *prepared
}

// holderKey is what a prepared program depends on.
type holderKey struct{ address, options string }

// prepare compiles a program once for an address.
func prepare(ctx context.Context, t protocol.Target, p *protocol.Program) (*prepared, *protocol.Error) {
	h := p.Share(holderKey{t.Address, fmt.Sprint(t.Options, t.TLS != nil)}, func() any { return &holder{} }).(*holder)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.made != nil {
		return h.made, nil
	}
	made, refused := compile(ctx, t, p)
	if refused == nil {
		h.made = made
	}
	return made, refused
}

// check finds what can be found without the server.
func check(t protocol.Target, p *protocol.Program) (o options, refused *protocol.Error) {
	o, refused = parseOptions(t)
	if refused != nil {
		return o, refused
	}
	if t.User != "" {
		return o, protocol.Bad("gRPC has no users: send what the server asks for as metadata, such as authorization")
	}
	for i := range p.Requests {
		if r := &p.Requests[i]; r.Verb != protocol.GRPC || r.RPC == nil {
			return o, protocol.Refused(r, "%s isn't possible with gRPC; use grpc", r.Verb.Name())
		}
	}
	return o, nil
}

func compile(ctx context.Context, t protocol.Target, p *protocol.Program) (*prepared, *protocol.Error) {
	o, refused := check(t, p)
	if refused != nil {
		return nil, refused
	}
	var services []string
	for i := range p.Requests {
		if s, _ := methods.SplitMethod(p.Requests[i].RPC.Method); !slices.Contains(services, s) {
			services = append(services, s)
		}
	}
	files, refused := o.source.Find(methods.With(ctx, o.reflection), o.asked(t), o.authority, services)
	if refused != nil {
		return nil, refused
	}
	out := &prepared{options: o, calls: make([]call, len(p.Requests))}
	for i := range p.Requests {
		r := &p.Requests[i]
		md, err := methods.Method(files, r.RPC.Method)
		if err == nil {
			var fields []hpack.HeaderField
			out.calls[i], fields, err = newCall(t, o, r, md, dynamicpb.NewTypes(files))
			out.lists = append(out.lists, fields)
		}
		if err != nil {
			return nil, protocol.Refused(r, "%s", err.Error())
		}
	}
	return out, nil
}

// newCall compiles a request. fields are the headers that don't depend on parameters.
func newCall(t protocol.Target, o options, r *protocol.Request, md protoreflect.MethodDescriptor,
	types *dynamicpb.Types) (c call, fields []hpack.HeaderField, err error) {
	q := r.RPC
	c = call{params: len(r.Params), receive: int64(q.Receive), md: md, streams: md.IsStreamingServer(),
		streamed: md.IsStreamingServer() || md.IsStreamingClient()}
	if q.Unary && c.streamed {
		return c, nil, fmt.Errorf("%s streams messages; only methods with one message each way can be called here", q.Method)
	}
	texts := q.Messages
	if !md.IsStreamingClient() {
		if len(texts) > 1 {
			return c, nil, fmt.Errorf("%s takes one message, and there are %d", q.Method, len(texts))
		}
		if len(texts) == 0 {
			texts = []string{"{}"}
		}
	}
	if err := c.pace(q, len(texts)); err != nil {
		return c, nil, err
	}
	with := &compiler{params: c.params, types: types}
	for _, text := range texts {
		parts, err := with.message(md.Input(), text)
		if err != nil {
			return c, nil, err
		}
		c.messages = append(c.messages, parts)
	}
	for _, k := range r.Capture {
		if k.Name == "" {
			return c, nil, fmt.Errorf("a capture of a column by its number; name a field of %s", md.Output().FullName())
		}
		path, err := capturePath(md.Output(), k.Name, k.Kind)
		if err != nil {
			return c, nil, err
		}
		c.captures = append(c.captures, path)
	}
	scheme, authority := "http", socket.WithoutZone(t.Address)
	if t.TLS != nil {
		scheme = "https"
	}
	if socket.Network(t.Address) == "unix" {
		authority = "localhost"
	}
	if o.authority != "" {
		authority = o.authority
	}
	fields = []hpack.HeaderField{
		{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: scheme},
		{Name: ":path", Value: "/" + string(md.Parent().FullName()) + "/" + string(md.Name())},
		{Name: ":authority", Value: authority}, {Name: "content-type", Value: "application/grpc"},
		{Name: "user-agent", Value: "brunt"}, {Name: "te", Value: "trailers"},
	}
	if q.Deadline > 0 {
		fields = append(fields, hpack.HeaderField{Name: "grpc-timeout", Value: timeout(q.Deadline)})
	}
	if o.gzip {
		fields = append(fields, hpack.HeaderField{Name: "grpc-encoding", Value: "gzip"},
			hpack.HeaderField{Name: "grpc-accept-encoding", Value: "gzip"})
	}
	for _, m := range q.Metadata {
		text, err := template.Parse(m[1], c.params)
		if err != nil {
			return c, nil, fmt.Errorf("metadata %s: %w", m[0], err)
		}
		binary := strings.HasSuffix(m[0], "-bin")
		value, fixed := text.Fixed()
		switch {
		case !fixed:
			c.metadata = append(c.metadata, field{m[0], text, binary})
			continue
		case binary:
			value = []byte(base64.RawStdEncoding.EncodeToString(value))
		}
		fields = append(fields, hpack.HeaderField{Name: m[0], Value: string(value)})
	}
	return c, fields, nil
}

// pace sets how many of the messages are sent, and when. md is known.
func (c *call) pace(q *protocol.RPC, messages int) error {
	toServer := c.md.IsStreamingClient()
	switch {
	case !toServer && (q.Interval > 0 || q.Send > 0):
		return fmt.Errorf("%s takes one message: interval and send are for methods that stream to the server", q.Method)
	case !c.streamed && q.Duration > 0:
		return fmt.Errorf("%s doesn't stream: duration is for methods that do", q.Method)
	case q.Send > 0 && messages == 0:
		return fmt.Errorf("%s: send %d, and there are no messages", q.Method, q.Send)
	case q.Send > mostAtOnce && q.Interval == 0:
		return fmt.Errorf("%s: send %d without an interval; at most %d messages are sent at once", q.Method, q.Send, mostAtOnce)
	}
	c.send, c.interval, c.duration = messages, q.Interval, q.Duration
	if q.Send > 0 {
		c.send = q.Send
	}
	c.paced = toServer && c.send > 1 && (c.interval > 0 || c.duration > 0) || !toServer && c.duration > 0
	return nil
}

// mostAtOnce is the greatest number of messages that are sent at once.
const mostAtOnce = 100_000

// timeout writes a duration as grpc-timeout does: at most eight digits and a unit.
func timeout(d time.Duration) string {
	const most = 99_999_999
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Nanosecond, "n"}, {time.Microsecond, "u"}, {time.Millisecond, "m"}, {time.Second, "S"}, {time.Minute, "M"}} {
		if n := (d + u.unit - 1) / u.unit; n <= most {
			return strconv.FormatInt(int64(n), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(d/time.Hour), 10) + "H"
}
