// Package mongodb speaks MongoDB's wire protocol in the library tier. Each session has its own instance of
// MongoDB's client, with one connection for requests (and one by which the client monitors the server). A record
// is a document: the key is _id, and each field is binary, unless it is a captured value, which keeps its type.
//
// Options of a target:
//
//	auth_source  the database that knows the user; "admin" by default
//	w            write concern: a number, or "majority"; the server's default if not given
//	upsert       "true": inserts overwrite existing records; "false" (default): they fail
//	replica_set  "true": the address is a member of a replica set, requests go to its primary
package mongodb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/protocol"
	"brunt/internal/protocol/kv"
	"brunt/internal/protocol/socket"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	mongooptions "go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

// Driver is the protocol "mongodb". It is immutable and safe for concurrent use.
type Driver struct{}

var _ protocol.KeyValueAdmin = (*Driver)(nil)

// New returns the driver.
func New() *Driver { return &Driver{} }

// Name returns "mongodb".
func (*Driver) Name() string { return "mongodb" }

// clientOptions parses a target's options.
func clientOptions(t protocol.Target) (o *mongooptions.ClientOptions, upsert bool, refused *protocol.Error) {
	read := protocol.OptionsOf("mongodb", t)
	source, w := read.Text("auth_source", "admin"), read.Text("w", "")
	upsert = read.Bool("upsert", false)
	set := read.Bool("replica_set", false)
	if refused := read.Done(); refused != nil {
		return nil, false, refused
	}
	address, way := t.Way.Hosted(t.Address, "27017")
	o = mongooptions.Client().SetHosts([]string{address}).SetDirect(!set).SetMaxPoolSize(1).SetRetryReads(
		false).SetRetryWrites(false).
		SetConnectTimeout(t.ConnectTime()).SetServerSelectionTimeout(t.ConnectTime()).SetServerMonitoringMode(
		"poll").SetAppName("brunt")
	if t.TLS != nil {
		o.SetTLSConfig(t.TLS)
	}
	if t.User != "" {
		o.SetAuth(mongooptions.Credential{Username: t.User, Password: t.Password, AuthSource: source})
	}
	if w != "" {
		concern := &writeconcern.WriteConcern{W: w}
		if n, err := strconv.Atoi(w); err == nil {
			concern.W = n
		}
		o.SetWriteConcern(concern)
	}
	if way != nil {
		o.SetDialer(wayDialer{way})
	}
	if err := o.Validate(); err != nil {
		return nil, false, protocol.Bad("%s", protocol.Line(err.Error(), t.Password))
	}
	return o, upsert, nil
}

// wayDialer opens the client's connections.
type wayDialer struct{ way *socket.Way }

// DialContext implements options.ContextDialer.
func (d wayDialer) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	return socket.Dial(socket.With(ctx, d.way), address)
}

// open connects and authenticates within Target.ConnectTimeout.
func open(ctx context.Context, t protocol.Target) (*conn, *protocol.Error) {
	o, upsert, refused := clientOptions(t)
	if refused != nil {
		return nil, refused
	}
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	if err := socket.Reach(ctx, t.Address); err != nil {
		return nil, protocol.Unconnected(err)
	}
	client, err := mongo.Connect(o)
	if err != nil {
		return nil, protocol.Bad("%s", protocol.Line(err.Error(), t.Password))
	}
	c := &conn{client: client, database: client.Database(cmp.Or(t.Database, "test")), upsert: upsert, secret: t.Password}
	if err := client.Ping(ctx, nil); err != nil {
		c.Close()
		return nil, refusal(ctx, t, err)
	}
	return c, nil
}

// refusal returns the failure to open a session.
func refusal(ctx context.Context, t protocol.Target, err error) *protocol.Error {
	text := protocol.Line(err.Error(), t.Password)
	code := ""
	if answer, ok := errors.AsType[mongo.CommandError](err); ok {
		code = fmt.Sprint(answer.Code)
	}
	switch {
	case strings.Contains(text, "auth error") || code == "18" || code == "13":
		return protocol.ConnectError(fmt.Sprintf("can't connect to %s: %s; check user, password and option auth_source",
			t.Address, text), code, err)
	case ctx.Err() != nil || mongo.IsTimeout(err) || strings.Contains(text, "server selection"):
		return protocol.ConnectError(socket.Explain(ctx, t.Address, context.DeadlineExceeded).Error()+" ("+text+")",
			code, err)
	}
	return protocol.ConnectError(fmt.Sprintf("can't connect to %s: %s", t.Address, text), code, err)
}

// Dial opens a session. An error is a *protocol.Error: of class Client if the protocol can't run the program,
// Connect if no session could be opened.
func (d *Driver) Dial(ctx context.Context, t protocol.Target, p *protocol.Program) (protocol.Conn, error) {
	requests, refused := kv.Program(p)
	if refused != nil {
		return nil, refused
	}
	c, refused := open(ctx, t)
	if refused != nil {
		return nil, refused
	}
	c.Requests = requests
	return c, nil
}

// Describe returns the server's version and storage engine.
func (d *Driver) Describe(ctx context.Context, t protocol.Target) (protocol.ServerInfo, error) {
	c, refused := open(ctx, t)
	if refused != nil {
		return protocol.ServerInfo{}, refused
	}
	defer c.Close()
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	info := protocol.ServerInfo{Product: "MongoDB", Settings: map[string]string{}}
	build, err := c.client.Database("admin").RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Raw()
	if err != nil {
		return info, failure(ctx, nil, err, t.Password)
	}
	info.Version, _ = build.Lookup("version").StringValueOK()
	for _, path := range [][]string{{"ferretdb", "version"}, {"ferretdbVersion"}} {
		if v, ok := build.Lookup(path...).StringValueOK(); ok {
			info.Product, info.Settings["mongodb_version"] = "FerretDB", info.Version
			info.Version = strings.TrimPrefix(v, "v")
			break
		}
	}
	if status, err := c.client.Database("admin").RunCommand(ctx,
		bson.D{{Key: "serverStatus", Value: 1}}).Raw(); err == nil {
		if engine, ok := status.Lookup("storageEngine", "name").StringValueOK(); ok {
			info.Settings["storage_engine"] = engine
		}
	}
	return info, nil
}

// Prepare creates nothing. With drop, it drops the collection.
func (d *Driver) Prepare(ctx context.Context, t protocol.Target, table string, _ []string, _ int, drop bool) error {
	if !drop {
		return nil
	}
	c, refused := open(ctx, t)
	if refused != nil {
		return refused
	}
	defer c.Close()
	if err := c.database.Collection(table).Drop(ctx); err != nil {
		return failure(ctx, nil, err, t.Password)
	}
	return nil
}

// failure classifies an error that the library returned. req is nil if the request isn't part of a program.
func failure(ctx context.Context, req *protocol.Request, err error, secret string) *protocol.Error {
	if own, ok := errors.AsType[*protocol.Error](err); ok {
		return own
	}
	e := &protocol.Error{Class: protocol.Server, Text: protocol.Line(err.Error(), secret), Err: err}
	var answer mongo.ServerError
	switch {
	case strings.Contains(e.Text, "server selection error"):
		e.Class, e.Fatal = protocol.Connect, true
	case strings.Contains(e.Text, "not sent to server"):
		return protocol.Late(nil)
	case errors.Is(err, context.Canceled), protocol.IsLate(ctx, err), mongo.IsNetworkError(err):
		return protocol.Unanswered(ctx, req, err, secret)
	case errors.As(err, &answer):
		if codes := answer.ErrorCodes(); len(codes) > 0 {
			e.Code = fmt.Sprint(codes[0])
		}
		if e.Class = classOf(answer); e.Class == protocol.Timeout {
			e.Class = protocol.Late(req).Class
		}
	default:
		e.Class, e.Fatal = protocol.Client, true
	}
	return e
}

// classOf returns the class of an error by its codes (MongoDB's error_codes.yml).
func classOf(answer mongo.ServerError) protocol.Class {
	passing := []int{112, 91, 189, 10107, 11600, 11602, 13435, 13436} // conflict, not primary, shutting down
	switch {
	case slices.ContainsFunc(passing, answer.HasErrorCode), answer.HasErrorLabel("TransientTransactionError"):
		return protocol.Retryable
	case answer.HasErrorCode(50): // maxTimeMSExpired
		return protocol.Timeout
	}
	return protocol.Server
}
