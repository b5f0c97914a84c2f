// Package etcd speaks etcd's version 3 API: gRPC over HTTP/2. The library tier uses etcd's own client. The codec
// tier, for plain connections without users, sends the same frames with less work.
//
// A record is one key, "table:key", whose value is a JSON object of the fields, ordered by name, each in base64.
// This is go-ycsb's format, so that both tools can read each other's records. As in go-ycsb, an update writes
// only the fields that it names: all other fields are lost. Scans end at the end of the table. Batches are
// transactions. Commands (protocol.Command) are requests in etcd's own terms, on bytes.
//
// Options of a target:
//
//	serializable_reads  "true": reads are answered by the member asked, without asking the others
//	                    ("false", the default)
//	codec               "off": always use the library tier; "on" (default)
package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"brunt/internal/protocol"
	"brunt/internal/protocol/socket"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// Driver is the protocol "etcd". It is immutable and safe for concurrent use.
type Driver struct{}

var (
	_ protocol.Driver        = (*Driver)(nil)
	_ protocol.KeyValueAdmin = (*Driver)(nil)
	_ protocol.CodecDriver   = (*Driver)(nil)
)

// New returns the driver.
func New() *Driver { return &Driver{} }

// Name returns "etcd".
func (*Driver) Name() string { return "etcd" }

type options struct {
	serializable bool
	codec        bool
}

// prepare parses a program and a target's options.
func prepare(t protocol.Target, p *protocol.Program) (all requests, o options, refused *protocol.Error) {
	if all, refused = parseProgram(p); refused != nil {
		return nil, o, refused
	}
	read := protocol.OptionsOf("etcd", t)
	o = options{serializable: read.Bool("serializable_reads", false), codec: read.Bool("codec", true)}
	return all, o, read.Done()
}

// host returns an address without the scheme that etcd endpoints often have, and the TLS configuration to use.
func host(t protocol.Target) (address string, secure *tls.Config) {
	if rest, ok := strings.CutPrefix(t.Address, "https://"); ok {
		if t.TLS == nil {
			return rest, &tls.Config{MinVersion: tls.VersionTLS12}
		}
		return rest, t.TLS
	}
	return strings.TrimPrefix(t.Address, "http://"), t.TLS
}

// Dial opens a session of the library tier within Target.ConnectTimeout. An error is a *protocol.Error: of class
// Client if the protocol can't run the program, Connect if no session could be opened.
func (d *Driver) Dial(ctx context.Context, t protocol.Target, p *protocol.Program) (protocol.Conn, error) {
	requests, o, refused := prepare(t, p)
	if refused != nil {
		return nil, refused
	}
	c, refused := open(ctx, t)
	if refused != nil {
		return nil, refused
	}
	c.requests, c.options = requests, o
	return c, nil
}

// open connects and checks that the server answers.
func open(ctx context.Context, t protocol.Target) (*conn, *protocol.Error) {
	address, secure := host(t)
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	probe, err := socket.Dial(ctx, address)
	if err != nil {
		return nil, protocol.Unconnected(err)
	}
	probe.Close()
	c := &conn{secret: t.Password}
	dialOptions := []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
		nc, err := socket.Dial(socket.With(ctx, t.Way), address)
		if err != nil {
			return nil, err
		}
		return c.received.Conn(nc), nil
	})}
	if secure != nil && secure.ServerName != "" { // the library would take the endpoint's name
		dialOptions = append(dialOptions, grpc.WithAuthority(secure.ServerName))
	}
	c.client, err = clientv3.New(clientv3.Config{
		Endpoints: []string{address}, Username: t.User, Password: t.Password, TLS: secure,
		DialTimeout: t.ConnectTime(), Logger: zap.NewNop(), MaxUnaryRetries: 1, DialOptions: dialOptions,
	})
	if err == nil {
		c.kv = pb.NewKVClient(c.client.ActiveConnection())
		_, err = c.kv.Range(ctx, &pb.RangeRequest{Key: []byte("brunt"), Serializable: true, CountOnly: true},
			grpc.WaitForReady(true))
		if isPermission(err) {
			err = nil // the server answers; requests will show which keys are allowed
		}
	}
	if err == nil {
		return c, nil
	}
	c.Close()
	return nil, refusal(ctx, t, address, err)
}

// refusal returns the failure to open a session.
func refusal(ctx context.Context, t protocol.Target, address string, err error) *protocol.Error {
	f := failureOf(nil, err, t.Password)
	text := fmt.Sprintf("can't connect to %s: %s", address, f.Text)
	switch {
	case f.Code == "InvalidArgument" && t.User != "", f.Code == "Unauthenticated",
		strings.Contains(f.Text, "authentication failed"):
		text += "; check user and password"
	case f.Class == protocol.Timeout || errors.Is(ctx.Err(), context.DeadlineExceeded):
		text = socket.Explain(ctx, address, context.DeadlineExceeded).Error()
	case strings.Contains(f.Text, "tls:") || strings.Contains(f.Text, "x509:"):
		text += "; check the certificates"
	}
	return &protocol.Error{Class: protocol.Connect, Code: f.Code, Text: text, Fatal: true, Err: err}
}

// Describe asks the member for its status.
func (d *Driver) Describe(ctx context.Context, t protocol.Target) (protocol.ServerInfo, error) {
	s, _, refused := ask(ctx, t, false)
	if refused != nil {
		return protocol.ServerInfo{}, refused
	}
	return protocol.ServerInfo{Product: "etcd", Version: s.Version, Settings: map[string]string{
		"role":        role(s),
		"db_size":     fmt.Sprint(s.DbSize),
		"member_id":   fmt.Sprintf("%x", s.Header.MemberId),
		"storage":     s.StorageVersion,
		"raft_lag":    fmt.Sprint(s.RaftIndex - s.RaftAppliedIndex),
		"member_type": map[bool]string{true: "learner", false: "voter"}[s.IsLearner],
	}}, nil
}

// ask asks a member for its status and, if members is true, for the list of all members.
func ask(ctx context.Context, t protocol.Target, members bool) (s *pb.StatusResponse, list *pb.MemberListResponse,
	refused *protocol.Error) {
	c, refused := open(ctx, t)
	if refused != nil {
		return nil, nil, refused
	}
	defer c.Close()
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	at := c.client.ActiveConnection()
	s, err := pb.NewMaintenanceClient(at).Status(ctx, &pb.StatusRequest{})
	if err == nil && members {
		list, err = pb.NewClusterClient(at).MemberList(ctx, &pb.MemberListRequest{})
	}
	if err != nil {
		return nil, nil, failureOf(nil, err, t.Password)
	}
	return s, list, nil
}

func role(s *pb.StatusResponse) string {
	switch s.Leader {
	case 0:
		return "no leader"
	case s.Header.MemberId:
		return "leader"
	}
	return "follower"
}

// Prepare creates nothing. With drop, it deletes the table's keys.
func (d *Driver) Prepare(ctx context.Context, t protocol.Target, table string, _ []string, _ int, drop bool) error {
	if !drop {
		return nil
	}
	c, refused := open(ctx, t)
	if refused != nil {
		return refused
	}
	defer c.Close()
	_, err := c.kv.DeleteRange(ctx, &pb.DeleteRangeRequest{Key: []byte(table + ":"), RangeEnd: tableEnd(table)})
	if err != nil {
		f := failureOf(nil, err, t.Password)
		f.Text = fmt.Sprintf("delete the keys of table %s: %s", table, f.Text)
		return f
	}
	return nil
}
