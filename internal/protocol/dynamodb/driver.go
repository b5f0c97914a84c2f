// Package dynamodb speaks DynamoDB's JSON protocol (API version 2012-08-10), signed by the AWS SDK's signer. A
// record is an item: a text key and a binary attribute for each field. Each session has one connection, and
// requests are never retried automatically.
//
// A target's user is the access key, its password the secret key. DynamoDB has no scans in key order: a scan
// returns the record itself, then others in the order of the hashes of their keys. Batches have at most 100
// reads or 25 inserts or deletes.
//
// Options of a target:
//
//	region            "us-east-1" by default
//	key               name of the key's attribute; "_key" by default
//	consistent_reads  "true": strongly consistent reads; "false" (default)
//	rc_units          read capacity of a table that Prepare creates; 10 by default
//	wc_units          write capacity of such a table; 10 by default
package dynamodb

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"brunt/internal/protocol"
	"brunt/internal/protocol/kv"
	"brunt/internal/protocol/socket"

	"github.com/aws/aws-sdk-go-v2/aws"
	signer "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Driver is the protocol "dynamodb". It is immutable and safe for concurrent use.
type Driver struct{ now func() time.Time }

var _ protocol.KeyValueAdmin = (*Driver)(nil)

// New returns the driver. Its requests are signed with the system's time.
func New() *Driver { return &Driver{time.Now} }

// Name returns "dynamodb".
func (*Driver) Name() string { return "dynamodb" }

type options struct {
	region, key                 string
	consistent                  bool
	readCapacity, writeCapacity int64
}

func parseOptions(t protocol.Target) (options, *protocol.Error) {
	read := protocol.OptionsOf("dynamodb", t)
	o := options{
		region: read.Text("region", "us-east-1"), key: read.Text("key", "_key"),
		consistent:   read.Bool("consistent_reads", false),
		readCapacity: read.Int("rc_units", 10, 1, 1<<31), writeCapacity: read.Int("wc_units", 10, 1, 1<<31),
	}
	if refused := read.Done(); refused != nil {
		return o, refused
	}
	if t.User == "" || t.Password == "" {
		return o, protocol.Bad(
			"no credentials: give the access key as user and the secret key as password (DynamoDB Local takes any)")
	}
	return o, nil
}

// open connects and checks that the service answers and accepts the credentials.
func (d *Driver) open(ctx context.Context, t protocol.Target) (*conn, *protocol.Error) {
	o, refused := parseOptions(t)
	if refused != nil {
		return nil, refused
	}
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	if err := socket.Reach(ctx, t.Address); err != nil {
		return nil, protocol.Unconnected(err)
	}
	address, way := t.Way.Hosted(t.Address, "8000")
	c := &conn{
		options: o, secret: t.Password, now: d.now, signer: signer.NewSigner(), url: "http://" + address + "/",
		credentials: aws.Credentials{AccessKeyID: t.User, SecretAccessKey: t.Password},
		client: &http.Client{Transport: &http.Transport{
			MaxConnsPerHost: 1, MaxIdleConnsPerHost: 1, DisableCompression: true, TLSClientConfig: t.TLS,
			DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
				return socket.Dial(socket.With(ctx, way), address)
			},
		}},
	}
	if t.TLS != nil {
		c.url = "https://" + address + "/"
	}
	if f := c.call(ctx, "ListTables", object{"Limit": 1}, &answer{}); f != nil {
		c.Close()
		text := fmt.Sprintf("can't connect to %s: %s", t.Address, f.Text)
		switch {
		case f.Class == protocol.Timeout:
			text = socket.Explain(ctx, t.Address, context.DeadlineExceeded).Error()
		case socket.Closed(f), strings.HasSuffix(f.Text, "server closed idle connection"): // net/http exports no such error
			text = socket.Explain(ctx, t.Address, io.EOF).Error()
		case f.Class == protocol.Server:
			text += "; check access key, secret key and region"
		}
		return nil, protocol.ConnectError(text, f.Code, f)
	}
	return c, nil
}

// Dial opens a session. An error is a *protocol.Error: of class Client if the protocol can't run the program,
// Connect if no session could be opened.
func (d *Driver) Dial(ctx context.Context, t protocol.Target, p *protocol.Program) (protocol.Conn, error) {
	requests, refused := kv.Program(p)
	if refused != nil {
		return nil, refused
	}
	for i := range requests {
		if refused := admit(&p.Requests[i], &requests[i]); refused != nil {
			return nil, refused
		}
	}
	c, refused := d.open(ctx, t)
	if refused != nil {
		return nil, refused
	}
	c.Requests = requests
	return c, nil
}

// admit refuses what DynamoDB's batches can't do.
func admit(req *protocol.Request, r *kv.Request) *protocol.Error {
	switch {
	case req.Verb == protocol.Batch && r.Verb == protocol.Update:
		return protocol.Refused(req, "DynamoDB has no batches of updates")
	case r.Verb == protocol.Read && r.Rows > 100, r.Verb != protocol.Read && r.Rows > 25:
		return protocol.Refused(req, "DynamoDB's batches are of at most 100 reads or 25 writes")
	case r.Creates && r.Rows > 1:
		return protocol.Refused(req, "DynamoDB doesn't say whether the records of a batch were there; remove creates, or "+
			"insert them one by one")
	}
	return nil
}

// Describe returns the product and the options used. The service doesn't reveal its version.
func (d *Driver) Describe(ctx context.Context, t protocol.Target) (protocol.ServerInfo, error) {
	c, refused := d.open(ctx, t)
	if refused != nil {
		return protocol.ServerInfo{}, refused
	}
	defer c.Close()
	return protocol.ServerInfo{Product: "DynamoDB", Settings: map[string]string{"region": c.options.region,
		"consistent_reads": fmt.Sprint(c.options.consistent)}}, nil
}

// waitEvery is the interval between checks of a table that is being created or deleted.
const waitEvery = 100 * time.Millisecond

// Prepare creates the table and waits until it is ready. With drop, it deletes an existing table first.
func (d *Driver) Prepare(ctx context.Context, t protocol.Target, table string, _ []string, _ int, drop bool) error {
	c, refused := d.open(ctx, t)
	if refused != nil {
		return refused
	}
	defer c.Close()
	name := object{"TableName": table}
	if drop {
		if f := c.call(ctx, "DeleteTable", name, &answer{}); f != nil && f.Code != "ResourceNotFoundException" {
			return f
		}
		if f := c.wait(ctx, name, ""); f != nil {
			return f
		}
	}
	f := c.call(ctx, "CreateTable", object{
		"TableName":            table,
		"AttributeDefinitions": []object{{"AttributeName": c.options.key, "AttributeType": "S"}},
		"KeySchema":            []object{{"AttributeName": c.options.key, "KeyType": "HASH"}},
		"ProvisionedThroughput": object{"ReadCapacityUnits": c.options.readCapacity,
			"WriteCapacityUnits": c.options.writeCapacity},
	}, &answer{})
	if f != nil && f.Code != "ResourceInUseException" {
		return f
	}
	if f := c.wait(ctx, name, "ACTIVE"); f != nil {
		return f
	}
	return nil
}

// wait waits until a table has the given status; "" means that it doesn't exist.
func (c *conn) wait(ctx context.Context, name object, status string) *protocol.Error {
	tick := time.NewTicker(waitEvery)
	defer tick.Stop()
	for {
		var a answer
		f := c.call(ctx, "DescribeTable", name, &a)
		gone := f != nil && f.Code == "ResourceNotFoundException"
		switch {
		case gone && status == "", f == nil && a.Table.TableStatus == status:
			return nil
		case f != nil && !gone:
			return f
		}
		select {
		case <-ctx.Done():
			return &protocol.Error{Class: protocol.Timeout, Text: "the table isn't ready yet", Err: ctx.Err()}
		case <-tick.C:
		}
	}
}
