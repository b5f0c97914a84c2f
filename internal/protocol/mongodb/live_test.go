package mongodb

import (
	"math"
	"os"
	"testing"
	"time"

	"brunt/internal/protocol"
	"brunt/internal/protocol/protocoltest"
	"brunt/test/testserver"

	"go.mongodb.org/mongo-driver/v2/bson"
)

var servers testserver.Pool

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

func ferret(t *testing.T) protocol.Target {
	s := servers.Get(t, "ferretdb", func(t testserver.TB) *testserver.Server { return testserver.FerretDB(t) })
	return protocol.Target{Address: s.Addr, Database: s.Database}
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
	a := protocoltest.Abilities{Scans: true, Batches: true, Tells: true}
	p := protocoltest.NewRecords("records", a)
	target := ferret(t)
	target.Options = map[string]string{"upsert": "true", "w": "1"}
	update := protocol.Request{ID: len(p.Program.Requests), Verb: protocol.Batch, Text: "update records",
		Fields: []string{"field1"}, Rows: 2}
	p.Program.Requests = append(p.Program.Requests, update)
	c := dial(t, target, p)
	p.Check(t, c, a)
	p.Insert(t, c, "one")
	if r := p.Do(t, c, update.ID, "one", "x", "two", "y"); r.Class != protocol.OK || !r.Missing || r.Affected != 1 {
		t.Errorf("update one of two: %+v", r)
	}
	target.Options = nil
	c = dial(t, target, p)
	if r := p.Insert(t, c, "one"); r.Class != protocol.Server || r.Code != "11000" || r.Fatal {
		t.Errorf("insert again: %+v", r)
	}
	for i, drop := range []bool{false, true} {
		if err := New().Prepare(t.Context(), target, "records", nil, 0, drop); err != nil {
			t.Fatal(err)
		}
		if r := p.Read(t, c, "one"); r.Missing != drop {
			t.Errorf("%d: %+v", i, r)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestRefusals(t *testing.T) {
	good := ferret(t)
	user, option := good, good
	user.User, user.Password, option.Options = "alice", "falsches", map[string]string{"x": "y"}
	protocoltest.Refusals(t, New(), protocol.Target{},
		protocoltest.Refusal{Target: user, Class: protocol.Connect, Want: "check user, password"},
		protocoltest.Refusal{Target: option, Class: protocol.Client, Want: "auth_source"})
}

func TestServerDiesMidRequest(t *testing.T) {
	s := testserver.FerretDB(t)
	target := protocol.Target{Address: s.Addr, Database: s.Database, ConnectTimeout: 5 * time.Second}
	p := protocoltest.NewRecords("t", protocoltest.Abilities{})
	protocoltest.Dies(t, s, p, func() protocol.Conn { return dial(t, target, p) }, protocol.Connect)
}

func TestDescribe(t *testing.T) {
	info, err := New().Describe(t.Context(), ferret(t))
	if err != nil || info.Product != "FerretDB" || info.Version == "" || info.Settings["mongodb_version"] == "" {
		t.Errorf("got %+v, %v", info, err)
	}
}

// TestFieldsOfEachType: fields that another program has written with types of their own have the content that the
// shell shows, not none.
func TestFieldsOfEachType(t *testing.T) {
	decimal, err := bson.ParseDecimal128("12345678901234567890123456789012.34")
	if err != nil {
		t.Fatal(err)
	}
	id, err := bson.ObjectIDFromHex("65e04a1f2b3c4d5e6f708192")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		value any
		want  string
	}{
		{"text", "ё", "ё"},
		{"bytes", bson.Binary{Data: []byte{0, 255}}, "\x00\xff"},
		{"int", int32(-7), "-7"},
		{"long", int64(9_007_199_254_740_993), "9007199254740993"},
		{"double", 0.1, "0.1"},
		{"decimal", decimal, "12345678901234567890123456789012.34"},
		{"bool", true, "true"},
		{"date", bson.DateTime(1_709_210_096_789), "2024-02-29T12:34:56.789Z"},
		{"object id", id, "65e04a1f2b3c4d5e6f708192"},
		{"document", bson.D{{Key: "a", Value: int32(1)}}, `{"a": {"$numberInt":"1"}}`},
		{"array", bson.A{"x"}, `["x"]`},
		{"other bytes", bson.Binary{Subtype: 4, Data: []byte("0123456789abcdef")}, "0123456789abcdef"},
		{"infinity", math.Inf(-1), "-Inf"},
		{"no number", math.NaN(), "NaN"},
		{"decimal infinity", bson.NewDecimal128(0x7800000000000000, 0), "Infinity"},
		{"timestamp", bson.Timestamp{T: 7, I: 2}, `{"$timestamp":{"t":7,"i":2}}`},
		{"regular expression", bson.Regex{Pattern: "^a", Options: "i"}, `{"$regularExpression":{"pattern":"^a","options":"i"}}`},
		{"code", bson.JavaScript("f()"), `{"$code":"f()"}`},
		{"symbol", bson.Symbol("s"), `{"$symbol":"s"}`},
		{"least", bson.MinKey{}, `{"$minKey":1}`},
		{"greatest", bson.MaxKey{}, `{"$maxKey":1}`},
		{"null", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			document, err := bson.Marshal(bson.D{{Key: "f", Value: c.value}})
			if err != nil {
				t.Fatal(err)
			}
			got, ok := content(bson.Raw(document).Lookup("f"))
			if string(got) != c.want || ok != (c.value != nil) {
				t.Errorf("got %q, %v, want %q", got, ok, c.want)
			}
		})
	}
	if got, ok := content(bson.Raw{5, 0, 0, 0, 0}.Lookup("f")); ok {
		t.Errorf("an absent field is %q", got)
	}
}

func TestWays(t *testing.T) {
	p := &protocol.Program{Requests: []protocol.Request{{Name: "read", Verb: protocol.Read, Text: "ways",
		Fields: []string{"field0"}}}}
	for _, way := range protocoltest.Ways(t, ferret(t), protocoltest.Plain) {
		t.Run(way.Name, func(t *testing.T) { way.Takes(t, New(), p, protocoltest.Values("one")...) })
	}
}
