// Package redis speaks RESP2 and RESP3, the protocol of Redis and of compatible servers (Valkey, KeyDB,
// Dragonfly), as specified at redis.io. In a cluster, it opens a connection to each node that serves slots;
// go-redis asks for the topology.
//
// Requests are commands of words. The address is host:port, or the path of a Unix socket. Options of a target:
//
//	mode           "single" (default), or "cluster": the address is any node of a cluster, commands
//	               go to the node that has their key
//	resp           "2" (default) or "3": the version of the protocol
//	max_redirects  cluster: how many redirections a command follows; 3 by default
//	read_only      "on": cluster: reads may go to replicas; "off" (default)
//
// Target.Database is the number of the database, 0 by default. A capture has no name; its Column is the number
// of an element of the answer, 0 for an answer that isn't a list.
package redis

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"

	"brunt/internal/protocol"
	"brunt/internal/protocol/blocking"
	"brunt/internal/protocol/socket"

	"github.com/redis/go-redis/v9/logging"
)

// Driver is the protocol "redis". It is immutable and safe for concurrent use.
type Driver struct{}

var (
	_ protocol.Driver      = (*Driver)(nil)
	_ protocol.CodecDriver = (*Driver)(nil)
)

// New returns the driver. It disables go-redis's logger, which writes to standard error; failures are returned as
// errors as well.
func New() *Driver {
	logging.Disable()
	return &Driver{}
}

// Name returns "redis".
func (*Driver) Name() string { return "redis" }

// Dial opens a connection within Target.ConnectTimeout. An error is a *protocol.Error: of class Client if the
// protocol can't run the program, Connect if no session could be opened.
func (d *Driver) Dial(ctx context.Context, t protocol.Target, p *protocol.Program) (protocol.Conn, error) {
	requests, o, refused := prepare(t, p)
	if refused != nil {
		return nil, refused
	}
	if o.cluster {
		return dialCluster(ctx, t, p, o, requests)
	}
	return blocking.Dial(ctx, d, t, p)
}

// Takes reports whether the codec can run the program over this target.
func (d *Driver) Takes(t protocol.Target, p *protocol.Program) (why string, ok bool) {
	_, o, refused := prepare(t, p)
	switch {
	case refused != nil:
		return refused.Text, false
	case o.readOnly:
		return "option read_only needs the library tier", false
	}
	return "", true
}

// Open connects and authenticates.
func (d *Driver) Open(ctx context.Context, t protocol.Target, p *protocol.Program) (protocol.CodecConn, error) {
	requests, o, refused := prepare(t, p)
	if refused != nil {
		return protocol.CodecConn{}, refused
	}
	c, refused := connect(ctx, t, o)
	if refused != nil {
		return protocol.CodecConn{}, refused
	}
	codec := newCodec(requests)
	codec.single = !o.cluster
	return protocol.CodecConn{Net: c, Codec: codec}, nil
}

// connect opens a connection and prepares it for requests, within Target.ConnectTimeout.
func connect(ctx context.Context, t protocol.Target, o *options) (net.Conn, *protocol.Error) {
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	c, err := socket.Secure(ctx, t.Address, t.TLS)
	if err != nil {
		return nil, protocol.Unconnected(err)
	}
	if refused := shakeHands(ctx, c, t, o); refused != nil {
		c.Close()
		if refused == errNameEnds {
			t.Named = false
			return connect(ctx, t, o)
		}
		return nil, refused
	}
	return c, nil
}

// errNameEnds is a connection that ended when the session was to get its name, as with twemproxy, which ends
// connections after commands that it doesn't pass on.
var errNameEnds = &protocol.Error{Class: protocol.Connect, Text: "the connection ended at CLIENT SETNAME"}

// setName is the command that names a session. A server may refuse it: its user lacks the right, or it is a proxy.
const setName = "CLIENT"

// handshake returns the commands that prepare a connection.
func handshake(t protocol.Target, o *options) (commands [][]string) {
	switch {
	case t.User != "":
		commands = append(commands, []string{"AUTH", t.User, t.Password})
	case t.Password != "":
		commands = append(commands, []string{"AUTH", t.Password})
	}
	if o.resp3 {
		commands = append(commands, []string{"HELLO", "3"})
	}
	if o.database != 0 {
		commands = append(commands, []string{"SELECT", t.Database})
	}
	if o.cluster && o.readOnly {
		commands = append(commands, []string{"READONLY"})
	}
	if t.Named {
		commands = append(commands, []string{setName, "SETNAME", protocol.SessionName})
	}
	return append(commands, []string{"PING"})
}

// shakeHands runs the handshake one command at a time, so that it reads no bytes of later answers.
func shakeHands(ctx context.Context, c net.Conn, t protocol.Target, o *options) *protocol.Error {
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	for _, words := range handshake(t, o) {
		reply, err := ask(c, words)
		if err != nil && words[0] == setName && ctx.Err() == nil {
			return errNameEnds
		}
		if err != nil {
			return protocol.Unconnected(socket.Explain(ctx, t.Address, err))
		}
		if reply.Class != protocol.OK && words[0] != setName {
			return refusal(t, words[0], &reply.Failure)
		}
	}
	if !stop() {
		return protocol.Unconnected(socket.Explain(ctx, t.Address, context.DeadlineExceeded))
	}
	return nil
}

// ask sends one command and reads its answer with a separate codec.
func ask(c net.Conn, words []string) (reply protocol.Reply, err error) {
	if _, err := c.Write(appendCommand(nil, words)); err != nil {
		return reply, err
	}
	codec := newCodec(make([]request, 1))
	var buf []byte
	piece := make([]byte, 4<<10)
	for {
		n, err := c.Read(piece)
		if err != nil {
			return reply, err
		}
		buf = append(buf, piece[:n]...)
		used, done, _ := codec.Scan(buf, &protocol.Request{}, &reply)
		if done {
			return reply, nil
		}
		buf = buf[used:]
	}
}

// refusal returns the failure for a handshake command that the server refused.
func refusal(t protocol.Target, command string, f *protocol.Failure) *protocol.Error {
	text := "can't connect to " + t.Address + ": " + f.Text
	switch {
	case f.Code == "NOAUTH":
		text += "; give a password"
	case f.Code == "WRONGPASS" || command == "AUTH":
		text += "; check user and password"
	case command == "SELECT":
		text += "; check the database's number"
	case command == "HELLO":
		text += "; use option resp=2"
	}
	return &protocol.Error{Class: protocol.Connect, Code: f.Code, Text: protocol.Line(text, t.Password), Fatal: true}
}

// Describe runs INFO.
func (d *Driver) Describe(ctx context.Context, t protocol.Target) (protocol.ServerInfo, error) {
	all, err := information(ctx, d, t)
	if err != nil {
		return protocol.ServerInfo{}, err
	}
	return infoOf(all), nil
}

// information returns INFO's "name:value" lines.
func information(ctx context.Context, d protocol.Driver, t protocol.Target) (map[string]string, error) {
	program := protocol.Program{Requests: []protocol.Request{{Verb: protocol.Command, Words: []string{"INFO"},
		Capture: []protocol.Capture{{}}}}}
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	c, err := d.Dial(ctx, t, &program)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var reply protocol.Reply
	c.Do(ctx, &program.Requests[0], nil, &reply)
	if reply.Class != protocol.OK {
		return nil, &protocol.Error{Class: reply.Class, Code: reply.Code, Text: "INFO: " + reply.Text}
	}
	all := make(map[string]string)
	for line := range strings.Lines(string(reply.Captured[0].B)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			all[name] = value
		}
	}
	return all, nil
}

// limits returns the limit of connections, which INFO has since Redis 6.2.
func limits(ctx context.Context, d protocol.Driver, t protocol.Target) ([]protocol.SessionLimit, error) {
	all, err := information(ctx, d, t)
	if err != nil {
		return nil, err
	}
	most, err := strconv.Atoi(all["maxclients"])
	if err != nil {
		return nil, nil
	}
	taken, _ := strconv.Atoi(all["connected_clients"])
	return []protocol.SessionLimit{{Name: "maxclients", Most: most, Taken: max(taken-1, 0)}}, nil
}

// infoOf selects what describes the server.
func infoOf(all map[string]string) protocol.ServerInfo {
	info := protocol.ServerInfo{Product: "Redis", Version: all["redis_version"], Settings: make(map[string]string)}
	switch {
	case all["dragonfly_version"] != "":
		info.Product, info.Version = "Dragonfly", strings.TrimPrefix(all["dragonfly_version"], "df-v")
	case all["valkey_version"] != "":
		info.Product, info.Version = "Valkey", all["valkey_version"]
	}
	for _, name := range []string{"redis_mode", "maxmemory", "maxmemory_policy", "aof_enabled", "io_threads_active",
		"role", "connected_slaves"} {
		if v := all[name]; v != "" {
			info.Settings[name] = v
		}
	}
	return info
}
