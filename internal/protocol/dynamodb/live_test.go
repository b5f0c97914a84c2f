package dynamodb

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"brunt/internal/protocol"
	"brunt/internal/protocol/protocoltest"
	"brunt/internal/protocol/socket"
	"brunt/test/testserver"
)

var servers testserver.Pool

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

func local(t *testing.T) protocol.Target {
	s := servers.Get(t, "dynamodb", func(t testserver.TB) *testserver.Server { return testserver.DynamoDB(t) })
	return protocol.Target{Address: s.Addr, User: s.User, Password: s.Password, ConnectTimeout: 20 * time.Second}
}

func prepare(t *testing.T, target protocol.Target, table string, drop bool) {
	t.Helper()
	if err := New().Prepare(protocoltest.Within(t, time.Minute), target, table, nil, 0, drop); err != nil {
		t.Fatal(err)
	}
}

func dial(t *testing.T, target protocol.Target, p *protocoltest.Records) protocol.Conn {
	t.Helper()
	c, err := New().Dial(t.Context(), target, &p.Program)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestRecords(t *testing.T) {
	a := protocoltest.Abilities{Scans: true, Unsorted: true, Batches: true}
	p := protocoltest.NewRecords("records", a)
	target := local(t)
	target.Options = map[string]string{"consistent_reads": "true", "key": "id"}
	prepare(t, target, "records", false)
	c := dial(t, target, p)
	p.Check(t, c, a)
	p.Insert(t, c, "one")
	for _, drop := range []bool{false, true} {
		prepare(t, target, "records", drop)
		if r := p.Read(t, c, "one"); r.Class != protocol.OK || r.Missing != drop {
			t.Errorf("drop %v: %+v", drop, r)
		}
	}
	other := protocoltest.NewRecords("nowhere", protocoltest.Abilities{})
	if r := other.Read(t, dial(t, target, other), "one"); r.Class != protocol.Server ||
		r.Code != "ResourceNotFoundException" || r.Fatal {
		t.Errorf("no such table: %+v", r.Failure)
	}
}

func TestLongScansAndLargeBatches(t *testing.T) {
	target := local(t)
	prepare(t, target, "long", false)
	p := &protocol.Program{Requests: []protocol.Request{
		{ID: 0, Verb: protocol.Batch, Text: "insert long", Fields: []string{"f"}, Rows: 25},
		{ID: 1, Verb: protocol.Scan, Text: "long", Fields: []string{"f"}},
	}}
	c, err := New().Dial(t.Context(), target, p)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		var args []any
		for k := range 25 {
			args = append(args, fmt.Sprint("user", i, k), strings.Repeat("x", 50_000))
		}
		var r protocol.Reply
		if c.Do(protocoltest.Within(t, time.Minute), &p.Requests[0], protocoltest.Values(args...),
			&r); r.Class != protocol.OK || r.Affected != 25 {
			t.Fatalf("%+v", r)
		}
	}
	var r protocol.Reply
	c.Do(protocoltest.Within(t, time.Minute), &p.Requests[1], protocoltest.Values("nobody", 45), &r)
	if r.Class != protocol.OK || r.Rows > 45 || r.Rows < 1 {
		t.Errorf("%+v", r)
	}
	for _, request := range []protocol.Request{
		{Verb: protocol.Batch, Text: "insert long", Fields: []string{"f"}, Rows: 26},
		{Verb: protocol.Batch, Text: "read long", Rows: 101},
		{Verb: protocol.Batch, Text: "update long", Fields: []string{"f"}, Rows: 2},
	} {
		_, err := New().Dial(t.Context(), target, &protocol.Program{Requests: []protocol.Request{request}})
		if e := protocol.AsError(err); e == nil || e.Class != protocol.Client {
			t.Errorf("%s of %d: %v", request.Text, request.Rows, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	good := local(t)
	key, nobody := good, good
	key.User = "not a key!"
	nobody.User = ""
	protocoltest.Refusals(t, New(), protocol.Target{User: "a", Password: "falsches"},
		protocoltest.Refusal{Target: key, Class: protocol.Connect, Want: "check access key"},
		protocoltest.Refusal{Target: nobody, Class: protocol.Client, Want: "no credentials"})
}

// A service may be reached at another address than the one that requests name.
func TestReplacedAddress(t *testing.T) {
	target := local(t)
	target.Way = &socket.Way{Resolve: map[string]string{"dynamodb.example:80": target.Address}}
	target.Address = "dynamodb.example:80"
	if info, err := New().Describe(t.Context(), target); err != nil || info.Product != "DynamoDB" {
		t.Errorf("got %+v, %v", info, err)
	}
}

func TestDescribe(t *testing.T) {
	info, err := New().Describe(t.Context(), local(t))
	if err != nil || info.Product != "DynamoDB" || info.Settings["region"] != "us-east-1" {
		t.Errorf("got %+v, %v", info, err)
	}
}

func TestServerDiesMidRequest(t *testing.T) {
	s := testserver.DynamoDB(t)
	target := protocol.Target{Address: s.Addr, User: s.User, Password: s.Password, ConnectTimeout: 20 * time.Second}
	prepare(t, target, "table", false)
	p := protocoltest.NewRecords("table", protocoltest.Abilities{})
	protocoltest.Dies(t, s, p, func() protocol.Conn { return dial(t, target, p) }, protocol.Connect)
}

// TestAttributesOfEachType: attributes that another program has written with types of their own have the content that
// the service shows, not none.
func TestAttributesOfEachType(t *testing.T) {
	target := local(t)
	target.Options = map[string]string{"key": "id"}
	prepare(t, target, "types", false)
	types := []struct {
		name, want string
		value      object
	}{
		{"text", "ё", object{"S": "ё"}},
		{"empty", "", object{"S": ""}},
		{"bytes", "\x00\xff", object{"B": []byte{0, 255}}},
		{"number", "12345678901234567890123456789012345678", object{"N": "12345678901234567890123456789012345678"}},
		{"boolean", "false", object{"BOOL": false}},
		{"list", `[{"N":"1"},{"S":"x"}]`, object{"L": []object{{"N": "1"}, {"S": "x"}}}},
		{"map", `{"a":{"BOOL":true}}`, object{"M": object{"a": object{"BOOL": true}}}},
		{"strings", `["a"]`, object{"SS": []string{"a"}}},
		{"numbers", `["1"]`, object{"NS": []string{"1"}}},
		{"binaries", `["AP8="]`, object{"BS": [][]byte{{0, 255}}}},
	}
	item := object{"id": object{"S": "one"}, "null": object{"NULL": true}}
	read := protocol.Request{Verb: protocol.Read, Text: "types"}
	for _, c := range types {
		item[c.name] = c.value
		read.Fields = append(read.Fields, c.name)
		read.Capture = append(read.Capture, protocol.Capture{Name: c.name})
	}
	read.Fields = append(read.Fields, "null")
	session, err := New().Dial(t.Context(), target, &protocol.Program{Requests: []protocol.Request{read}})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	var a answer
	if f := session.(*conn).call(t.Context(), "PutItem", object{"TableName": "types", "Item": item}, &a); f != nil {
		t.Fatal(f)
	}
	var r protocol.Reply
	session.Do(protocoltest.Within(t, time.Minute), &read, protocoltest.Values("one"), &r)
	if r.Class != protocol.OK {
		t.Fatalf("%+v", r.Failure)
	}
	for i, c := range types {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.ReplaceAll(string(r.Captured[i].B), " ", ""); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if _, ok := (attribute{NULL: true}).content(); ok {
		t.Error("a null has content")
	}
}

func TestWays(t *testing.T) {
	target := local(t)
	prepare(t, target, "ways", false)
	p := &protocol.Program{Requests: []protocol.Request{{Name: "read", Verb: protocol.Read, Text: "ways",
		Fields: []string{"field0"}}}}
	for _, way := range protocoltest.Ways(t, target, protocoltest.Plain) {
		t.Run(way.Name, func(t *testing.T) { way.Takes(t, New(), p, protocoltest.Values("one")...) })
	}
}
