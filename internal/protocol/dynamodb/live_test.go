package dynamodb

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"brunt/internal/load/gen"
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

// TestValuesOfEachType: attributes that another program has written with types of their own have the content that the
// service shows, not none; captured and written to another item, they are the same to the service.
func TestValuesOfEachType(t *testing.T) {
	target := local(t)
	target.Options = map[string]string{"key": "id"}
	prepare(t, target, "types", false)
	types := []struct {
		name, want string
		value      object
	}{
		{"text", "ё", object{"S": "ё"}},
		{"empty", "", object{"S": ""}},
		{"no bytes", "", object{"B": []byte{}}},
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
	insert := protocol.Request{ID: 1, Verb: protocol.Insert, Text: "types"}
	update := protocol.Request{ID: 2, Verb: protocol.Update, Text: "types"}
	for _, c := range types {
		item[c.name] = c.value
		read.Fields = append(read.Fields, c.name)
		read.Capture = append(read.Capture, protocol.Capture{Name: c.name})
	}
	read.Fields, read.Capture = append(read.Fields, "null"), append(read.Capture, protocol.Capture{Name: "null"})
	insert.Fields, update.Fields = read.Fields, read.Fields
	program := &protocol.Program{Requests: []protocol.Request{read, insert, update}}
	session, err := New().Dial(t.Context(), target, program)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	var a answer
	if f := session.(*conn).call(t.Context(), "PutItem", object{"TableName": "types", "Item": item}, &a); f != nil {
		t.Fatal(f)
	}
	do := func(request *protocol.Request, args []gen.Value) (shown []gen.Value, r protocol.Reply) {
		r.Each = func(_ []string, row []gen.Value) { shown = row[1:] }
		if session.Do(protocoltest.Within(t, time.Minute), request, args, &r); r.Class != protocol.OK {
			t.Fatalf("%s: %+v", request.Verb.Name(), r.Failure)
		}
		return shown, r
	}
	shown, r := do(&read, protocoltest.Values("one"))
	want := stored(t, session, "one")
	do(&insert, append(protocoltest.Values("inserted"), r.Captured...))
	do(&insert, protocoltest.Values(append([]any{"updated"}, make([]any, len(read.Fields))...)...))
	do(&update, append(protocoltest.Values("updated"), r.Captured...))
	inserted, updated := stored(t, session, "inserted"), stored(t, session, "updated")
	for i, c := range types {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.ReplaceAll(string(shown[i].B), " ", ""); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if inserted[c.name] != want[c.name] || updated[c.name] != want[c.name] {
				t.Errorf("sent back: %s and %s, want %s", inserted[c.name], updated[c.name], want[c.name])
			}
		})
	}
	if r.Captured[len(types)].Kind != gen.Null || inserted["null"] != want["null"] || updated["null"] != want["null"] {
		t.Errorf("a null is captured as %+v, sent back as %s and %s", r.Captured[len(types)], inserted["null"],
			updated["null"])
	}
	if _, ok := (attribute{NULL: true}).content(); ok {
		t.Error("a null has content")
	}
}

// stored returns an item's attributes as the service encodes them.
func stored(t *testing.T, session protocol.Conn, key string) map[string]string {
	t.Helper()
	var a answer
	f := session.(*conn).call(protocoltest.Within(t, time.Minute), "GetItem",
		object{"TableName": "types", "Key": object{"id": object{"S": key}}}, &a)
	if f != nil {
		t.Fatal(f)
	}
	all := map[string]string{}
	for name, value := range a.Item {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(text)
	}
	return all
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
