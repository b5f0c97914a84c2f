package mongodb

import (
	"math"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocoltest"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// typed is a value of a type of BSON, with the content that MongoDB's shell shows.
type typed struct {
	name  string
	value any
	want  string
	alien bool // FerretDB doesn't store it
}

// types has a value of each type of BSON.
func types(t *testing.T) []typed {
	t.Helper()
	decimal, err := bson.ParseDecimal128("12345678901234567890123456789012.34")
	if err != nil {
		t.Fatal(err)
	}
	id, err := bson.ObjectIDFromHex("65e04a1f2b3c4d5e6f708192")
	if err != nil {
		t.Fatal(err)
	}
	return []typed{
		{"text", "ё", "ё", false},
		{"empty text", "", "", false},
		{"text with NUL", "a\x00b", "a\x00b", false},
		{"bytes", bson.Binary{Data: []byte{0, 255}}, "\x00\xff", false},
		{"no bytes", bson.Binary{Data: []byte{}}, "", false},
		{"int", int32(math.MinInt32), "-2147483648", false},
		{"long", int64(math.MinInt64), "-9223372036854775808", false},
		{"small long", int64(7), "7", false},
		{"double", 0.1, "0.1", false},
		{"whole double", 3.0, "3", false},
		{"infinity", math.Inf(-1), "-Inf", true},
		{"no number", math.NaN(), "NaN", true},
		{"decimal", decimal, "12345678901234567890123456789012.34", true},
		{"decimal infinity", bson.NewDecimal128(0x7800000000000000, 0), "Infinity", true},
		{"bool", true, "true", false},
		{"date", bson.DateTime(1_709_210_096_789), "2024-02-29T12:34:56.789Z", false},
		{"date before 1970", bson.DateTime(-1), "1969-12-31T23:59:59.999Z", false},
		{"object id", id, "65e04a1f2b3c4d5e6f708192", false},
		{"document", bson.D{{Key: "a", Value: int32(1)}}, `{"a": {"$numberInt":"1"}}`, false},
		{"array", bson.A{"x"}, `["x"]`, false},
		{"UUID", bson.Binary{Subtype: 4, Data: []byte("0123456789abcdef")}, "0123456789abcdef", false},
		{"old UUID", bson.Binary{Subtype: 3, Data: []byte("0123456789abcdef")}, "0123456789abcdef", false},
		{"own bytes", bson.Binary{Subtype: 0x80, Data: []byte("x")}, "x", false},
		{"timestamp", bson.Timestamp{T: 7, I: 2}, `{"$timestamp":{"t":7,"i":2}}`, false},
		{"regular expression", bson.Regex{Pattern: "^a", Options: "i"},
			`{"$regularExpression":{"pattern":"^a","options":"i"}}`, false},
		{"code", bson.JavaScript("f()"), `{"$code":"f()"}`, true},
		{"code with scope", bson.CodeWithScope{Code: "f()", Scope: bson.D{{Key: "x", Value: int32(1)}}},
			`{"$code":f(),"$scope":{"x": {"$numberInt":"1"}}}`, true},
		{"symbol", bson.Symbol("s"), `{"$symbol":"s"}`, true},
		{"pointer", bson.DBPointer{DB: "d", Pointer: id},
			`{"$dbPointer":{"$ref":"d","$id":{"$oid":"` + id.Hex() + `"}}}`, true},
		{"undefined", bson.Undefined{}, "", true},
		{"least", bson.MinKey{}, `{"$minKey":1}`, true},
		{"greatest", bson.MaxKey{}, `{"$maxKey":1}`, true},
		{"null", nil, "", false},
	}
}

// TestFieldsOfEachType: fields that another program has written with types of their own have the content that the
// shell shows, not none; captured and written again, they are the same bytes of BSON.
func TestFieldsOfEachType(t *testing.T) {
	for _, c := range types(t) {
		t.Run(c.name, func(t *testing.T) {
			document, err := bson.Marshal(bson.D{{Key: "f", Value: c.value}})
			if err != nil {
				t.Fatal(err)
			}
			field := bson.Raw(document).Lookup("f")
			got, ok := content(field)
			if string(got) != c.want || ok != (c.value != nil && c.name != "undefined") {
				t.Errorf("got %q, %v, want %q", got, ok, c.want)
			}
			var v gen.Value
			if !pack(&v, field) && c.value != nil {
				v.Kind, v.B = gen.String, got // as the captured bytes are
			}
			back, err := bson.Marshal(bson.D{{Key: "f", Value: fieldOf(&v)}})
			if err != nil || string(back) != string(document) {
				t.Errorf("sent back as %x, %v, want %x", back, err, document)
			}
		})
	}
	if got, ok := content(bson.Raw{5, 0, 0, 0, 0}.Lookup("f")); ok {
		t.Errorf("an absent field is %q", got)
	}
}

// TestValuesOfEachType: MongoDB's own client writes a value of each type; brunt reads and captures it, and writes it as
// a field of another document; the client finds the same one there. The same for the documents' keys.
func TestValuesOfEachType(t *testing.T) {
	target := ferret(t)
	client, err := mongo.Connect(options.Client().SetHosts([]string{target.Address}).SetDirect(true))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Disconnect(t.Context())
	table := client.Database(target.Database).Collection("types")
	captures := []protocol.Capture{{Name: "f"}, {Name: "_id"}, {Name: "f", Kind: gen.Bytes}}
	p := &protocol.Program{Requests: []protocol.Request{
		{ID: 0, Verb: protocol.Scan, Text: "types", Capture: captures},
		{ID: 1, Verb: protocol.Insert, Text: "types", Fields: []string{"f"}},
		{ID: 2, Verb: protocol.Update, Text: "types", Fields: []string{"f"}},
		{ID: 3, Verb: protocol.Read, Text: "types", Fields: []string{"f"}},
	}}
	c, err := New().Dial(t.Context(), target, p)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	shown := ""
	do := func(t *testing.T, request int, args ...gen.Value) *protocol.Reply {
		t.Helper()
		r := protocol.Reply{Each: func(_ []string, row []gen.Value) { shown = string(row[1].B) }}
		c.Do(protocoltest.Within(t, 20*time.Second), &p.Requests[request], args, &r)
		if r.Class != protocol.OK {
			t.Fatalf("%+v", r.Failure)
		}
		return &r
	}
	text := func(s string) gen.Value { return gen.Value{Kind: gen.String, B: []byte(s)} }
	field := func(t *testing.T, key any) bson.RawValue {
		t.Helper()
		found, err := table.FindOne(t.Context(), bson.D{{Key: "_id", Value: key}}).Raw()
		if err != nil {
			t.Fatal(err)
		}
		return found.Lookup("f")
	}
	for _, v := range types(t) {
		if v.alien {
			continue
		}
		t.Run(v.name, func(t *testing.T) {
			document := bson.D{{Key: "_id", Value: v.name}, {Key: "f", Value: v.value}}
			if _, err := table.InsertOne(t.Context(), document); err != nil {
				t.Fatal(err)
			}
			want := field(t, v.name)
			shown = ""
			r := do(t, 0, text(v.name), gen.Value{Kind: gen.Int, I: 1})
			captured := r.Captured[0].Clone()
			if shown != v.want || string(r.Captured[2].B) != v.want {
				t.Errorf("shown as %q, captured as bytes %q, want %q", shown, r.Captured[2].B, v.want)
			}
			back := "back of " + v.name
			do(t, 1, text(back), captured)
			if got := field(t, back); !got.Equal(want) {
				t.Errorf("inserted as %v, want %v", got, want)
			}
			do(t, 2, text(back), text(""))
			if got := field(t, back); got.Type != bson.TypeBinary {
				t.Errorf("an empty text is %v", got)
			}
			do(t, 2, text(back), captured)
			if got := field(t, back); !got.Equal(want) {
				t.Errorf("updated to %v, want %v", got, want)
			}
		})
	}
	id, other := bson.NewObjectID(), int64(5)
	if _, err := table.InsertMany(t.Context(), []any{bson.D{{Key: "_id", Value: "~ key"}, {Key: "f", Value: id}},
		bson.D{{Key: "_id", Value: id}, {Key: "f", Value: other}}, bson.D{{Key: "_id", Value: other}}}); err != nil {
		t.Fatal(err)
	}
	key := do(t, 0, text("~ key"), gen.Value{Kind: gen.Int, I: 1}).Captured[0].Clone()
	if r := do(t, 3, key); r.Missing {
		t.Error("no document has the key that was captured")
	}
	if r := do(t, 2, key, text("new")); r.Missing {
		t.Error("no document has the key that is updated")
	}
}
