package redis

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/gen"
	"brunt/internal/protocol"
	"brunt/internal/socket"
	"brunt/internal/template"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// library is what a session needs of go-redis: one sticky connection, or a cluster client.
type library interface {
	Process(ctx context.Context, cmd goredis.Cmder) error
	Close() error
}

// conn is a session of the library tier.
type conn struct {
	redis    library
	owner    io.Closer // closed after redis
	requests []request
	secret   string
	received socket.Meter
	words    []any
	text     []byte
}

// openLibrary opens a session and makes sure that the server answers.
func openLibrary(ctx context.Context, t protocol.Target, o *options, requests []request) (*conn, *protocol.Error) {
	c := &conn{requests: requests, secret: t.Password}
	dialer := goredis.NewDialer(&goredis.Options{DialTimeout: t.ConnectTime(), TLSConfig: t.TLS})
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		nc, err := dialer(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return c.received.Conn(nc), nil
	}
	common := libraryOptions(t, o)
	common.Dialer = dial
	if o.cluster {
		c.redis = goredis.NewClusterClient(common.Cluster())
	} else {
		single := common.Simple()
		single.Network = socket.Network(t.Address)
		client := goredis.NewClient(single)
		c.redis, c.owner = client.Conn(), client
	}
	if err := c.redis.Process(ctx, goredis.NewCmd(ctx, "PING")); err != nil {
		c.Close()
		var answer goredis.Error
		if errors.As(err, &answer) {
			f := serverFailure([]byte(answer.Error()))
			return nil, refusal(t, commandOf(&f), &f)
		}
		return nil, protocol.Unconnected(socket.Explain(ctx, t.Address, err))
	}
	return c, nil
}

// libraryOptions are those of a client with one connection that doesn't try again, or sleep, by itself. go-redis
// follows its own number of redirections where it is told 0.
func libraryOptions(t protocol.Target, o *options) *goredis.UniversalOptions {
	return &goredis.UniversalOptions{
		Addrs: []string{t.Address}, Username: t.User, Password: t.Password, DB: o.database, Protocol: o.protocol(), TLSConfig: t.TLS,
		MaxRedirects: cmp.Or(o.maxRedirects, -1), ReadOnly: o.readOnly, PoolSize: 1,
		MaxRetries: -1, DialerRetries: 1, MinRetryBackoff: -1, MaxRetryBackoff: -1,
		DialTimeout: t.ConnectTime(), ReadTimeout: -1, WriteTimeout: -1, ContextTimeoutEnabled: true,
		DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// commandOf guesses which command of the handshake an error answers; go-redis doesn't say.
func commandOf(f *protocol.Failure) string {
	switch {
	case strings.Contains(f.Text, "AUTH"):
		return "AUTH"
	case strings.Contains(f.Text, "DB index"):
		return "SELECT"
	}
	return ""
}

// Do sends one command and waits for its answer.
func (c *conn) Do(ctx context.Context, req *protocol.Request, args []gen.Value, reply *protocol.Reply) {
	reply.Reset(len(req.Capture))
	r := &c.requests[req.ID]
	if refused := protocol.Arguments(args, r.params); refused != nil {
		reply.Fail(refused)
		return
	}
	c.words = c.words[:0]
	for i := range r.words {
		c.text, _ = r.words[i].Append(c.text[:0], args, nil)
		c.words = append(c.words, string(c.text))
	}
	before := c.received.Received()
	cmd := goredis.NewCmd(ctx, c.words...)
	err := c.redis.Process(ctx, cmd)
	reply.BytesIn = c.received.Received() - before
	var answer goredis.Error
	switch {
	case err == nil:
		read(r, cmd.Val(), reply)
		if reply.Each != nil && reply.Class == protocol.OK {
			give(cmd.Val(), reply.Each)
		}
	case errors.Is(err, goredis.Nil):
		reply.Missing = true
	case errors.As(err, &answer):
		reply.Failure = serverFailure([]byte(answer.Error()))
	default:
		reply.Fail(c.failure(ctx, req, err))
	}
}

// failure classifies what went wrong on an open connection. The connection is done for.
func (c *conn) failure(ctx context.Context, req *protocol.Request, err error) *protocol.Error {
	e := protocol.Unanswered(ctx, req, err, c.secret)
	text := protocol.Line(err.Error(), c.secret)
	var dial *net.OpError
	switch {
	case protocol.IsLate(ctx, err):
	case errors.As(err, &dial) && dial.Op == "dial":
		e.Class, e.Text = protocol.Connect, text
	case strings.HasPrefix(text, "redis: can't parse"), strings.HasPrefix(text, "redis: invalid"):
		e.Class, e.Text = protocol.Protocol, "the answer isn't RESP: "+text
	}
	return e
}

// read fills a reply from an answer as go-redis gives it.
func read(r *request, answer any, reply *protocol.Reply) {
	list, _ := answer.([]any)
	nils := int64(0)
	switch v := answer.(type) {
	case []any:
		reply.Rows = int64(len(v))
		for _, element := range v {
			if element == nil {
				nils++
			}
		}
	case map[any]any:
		reply.Rows = int64(len(v))
	default:
		reply.Rows = 1
		list = []any{answer}
	}
	if n, ok := answer.(int64); ok {
		reply.Affected = n
	}
	if e := firstError(answer); e != nil {
		reply.Failure = serverFailure([]byte(e.Error()))
	}
	reply.Missing = reply.Class == protocol.OK && r.missing.missed(reply, nils)
	for i, k := range r.captures {
		if k.element < len(list) {
			set(&reply.Captured[i], k.kind, list[k.element])
		}
	}
}

// firstError finds an error among the elements of an answer, as EXEC has them.
func firstError(answer any) error {
	switch v := answer.(type) {
	case error:
		if !errors.Is(v, goredis.Nil) {
			return v
		}
	case []any:
		for _, e := range v {
			if err := firstError(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// set gives v an element as go-redis gives it.
func set(v *gen.Value, kind gen.Kind, element any) {
	switch x := element.(type) {
	case string:
		template.SetText(v, kind, []byte(x))
	case int64:
		setSimple(v, kind, ':', strconv.AppendInt(nil, x, 10))
	case float64:
		setSimple(v, kind, ',', strconv.AppendFloat(nil, x, 'g', -1, 64))
	case bool:
		setSimple(v, kind, '#', strconv.AppendBool(nil, x)[:1])
	case fmt.Stringer: // a big number
		setSimple(v, kind, '(', []byte(x.String()))
	}
}

var _ protocol.AdHoc = (*conn)(nil)

// give passes an answer to Reply.Each: a row of one column for each element of a list, of two for each
// pair of a map, and one row for everything else.
func give(answer any, each func(columns []string, row []gen.Value)) {
	var pair [2]gen.Value
	switch v := answer.(type) {
	case []any:
		for _, element := range v {
			whole(&pair[0], element)
			each([]string{"value"}, pair[:1])
		}
	case map[any]any:
		byName := make(map[string]any, len(v))
		for key, element := range v {
			byName[fmt.Sprint(key)] = element
		}
		for _, key := range slices.Sorted(maps.Keys(byName)) {
			pair[0].SetString(key)
			whole(&pair[1], byName[key])
			each([]string{"key", "value"}, pair[:])
		}
	default:
		whole(&pair[0], v)
		each([]string{"value"}, pair[:1])
	}
}

// whole sets v to an element of an answer as it is; a list or map within becomes JSON.
func whole(v *gen.Value, element any) {
	switch x := element.(type) {
	case error:
		v.SetString(x.Error())
	case []any, map[any]any:
		v.Kind, v.B = gen.JSON, append(v.B[:0], appendJSON(x)...)
	default:
		if !v.SetAny(x) {
			v.SetString(fmt.Sprint(x))
		}
	}
}

func appendJSON(x any) []byte {
	text, err := json.Marshal(plain(x))
	if err != nil {
		return []byte("null")
	}
	return text
}

// plain is x in forms that JSON has.
func plain(x any) any {
	switch x := x.(type) {
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = plain(x[i])
		}
		return out
	case map[any]any:
		out := make(map[string]any, len(x))
		for key, v := range x {
			out[fmt.Sprint(key)] = plain(v)
		}
		return out
	case error:
		return x.Error()
	case fmt.Stringer:
		return x.String()
	}
	return x
}

// Add makes a command ready that isn't part of the session's program.
func (c *conn) Add(_ context.Context, req *protocol.Request) error {
	r, err := prepareOne(req)
	if err != nil {
		return protocol.Refused(req, "%v", err)
	}
	c.requests = protocol.Put(slices.Clone(c.requests), req.ID, r) // sessions share their program's
	return nil
}

// Close ends the session.
func (c *conn) Close() error {
	err := c.redis.Close()
	if c.owner != nil {
		err = errors.Join(err, c.owner.Close())
	}
	if errors.Is(err, goredis.ErrClosed) {
		return nil
	}
	return err
}
