package kv

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

func text(s string) gen.Value { return gen.Value{Kind: gen.String, B: []byte(s)} }

func TestParse(t *testing.T) {
	for _, c := range []struct {
		req  protocol.Request
		want string // part of the error
	}{
		{protocol.Request{Verb: protocol.Read, Text: "t"}, ""},
		{protocol.Request{Verb: protocol.Insert, Text: "t", Fields: []string{"a"}, Params: make([]gen.Kind, 2)}, ""},
		{protocol.Request{Verb: protocol.Batch, Text: "insert t", Fields: []string{"a"}, Rows: 3,
			Params: make([]gen.Kind, 6)}, ""},
		{protocol.Request{Verb: protocol.Insert, Text: "t", Fields: []string{"a"}, Params: make([]gen.Kind, 3)},
			"3 parameters where there must be 2"},
		{protocol.Request{Verb: protocol.Insert, Text: "t"}, "no fields"},
		{protocol.Request{Verb: protocol.Read}, "no table"},
		{protocol.Request{Verb: protocol.SQL, Text: "SELECT 1"}, "takes read"},
		{protocol.Request{Verb: protocol.Batch, Text: "scan t", Rows: 2}, "a batch is"},
		{protocol.Request{Verb: protocol.Batch, Text: "insert t", Fields: []string{"a"}}, "a batch is"},
		{protocol.Request{Verb: protocol.Delete, Text: "t", Capture: []protocol.Capture{{Name: "a"}}}, "only reads"},
		{protocol.Request{Verb: protocol.Read, Text: "t", Fields: []string{"b"}, Capture: []protocol.Capture{{Name: "a"}}},
			"isn't among"},
	} {
		_, err := Program(&protocol.Program{Requests: []protocol.Request{c.req}})
		if c.want == "" && err != nil || c.want != "" &&
			(err == nil || err.Class != protocol.Client || !strings.Contains(err.Text, c.want)) {
			t.Errorf("%+v: got %v; want %q", c.req, err, c.want)
		}
	}
}

func TestRecords(t *testing.T) {
	long := strings.Repeat("x", 300)
	r := AppendRecord([]byte("before"), []string{"a", "b"}, []gen.Value{text(long), {Kind: gen.Int, I: -7}})
	r = bytes.TrimPrefix(r, []byte("before"))
	merged, err := MergeRecord(nil, r, []string{"c", "a"}, []gen.Value{text(""), text("new")})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		record      []byte
		field, want string
		ok          bool
	}{
		{r, "a", long, true}, {r, "b", "-7", true}, {r, "c", "", false},
		{merged, "a", "new", true}, {merged, "b", "-7", true}, {merged, "c", "", true},
	} {
		got, ok, err := Field(c.record, c.field)
		if err != nil || ok != c.ok || string(got) != c.want {
			t.Errorf("%s: got %q, %v, %v; want %q", c.field, got, ok, err, c.want)
		}
	}
	if n, err := Verify(merged); n != 3 || err != nil {
		t.Errorf("%d fields, %v", n, err)
	}
	if _, err := Verify(merged[:len(merged)-1]); err == nil {
		t.Error("a cut record is taken for a whole one")
	}
}

func FuzzRecord(f *testing.F) {
	f.Add(AppendRecord(nil, []string{"a"}, []gen.Value{text("b")}), "a")
	f.Fuzz(func(t *testing.T, record []byte, field string) {
		n, bad := Verify(record)
		value, ok, err := Field(record, field)
		if bad == nil && err != nil || ok && n == 0 && bad == nil || len(value) > len(record) {
			t.Errorf("%d fields, %v; field %q: %q, %v, %v", n, bad, field, value, ok, err)
		}
		if merged, err := MergeRecord(nil, record, []string{field}, []gen.Value{text("v")}); err == nil {
			if got, ok, err := Field(merged, field); !ok || err != nil || string(got) != "v" {
				t.Errorf("merged: %q, %v, %v", got, ok, err)
			}
		}
	})
}

type closer struct {
	Store
	closed *int
}

func (c closer) Close() error { *c.closed++; return nil }

func TestSharedStoresCloseWithTheirLastUser(t *testing.T) {
	var s Shared
	opened, closed := 0, 0
	open := func() (Store, error) { opened++; return closer{closed: &closed}, nil }
	target := protocol.Target{Address: "a", Options: map[string]string{"x": "1"}}
	_, leave1, err1 := s.Get(target, open)
	_, leave2, err2 := s.Get(target, open)
	if err1 != nil || err2 != nil || opened != 1 {
		t.Fatalf("%v, %v, opened %d times", err1, err2, opened)
	}
	if _, _, err := s.Get(protocol.Target{Address: "a"}, open); err == nil {
		t.Error("other options are no error")
	}
	if leave1(); closed != 0 {
		t.Error("closed while in use")
	}
	if leave2(); closed != 1 {
		t.Error("not closed")
	}
	if _, _, err := s.Get(target, func() (Store, error) { return nil, errors.New("no") }); err == nil {
		t.Error("a failure to open is no error")
	}
	if _, leave, err := s.Get(target, open); err != nil || opened != 2 || leave() != nil {
		t.Errorf("%v, opened %d times", err, opened)
	}
}

func TestOptions(t *testing.T) {
	read := func(options map[string]string) (string, *protocol.Error) {
		o := protocol.OptionsOf("p", protocol.Target{Options: options})
		_ = o.Int("n", 3, 0, 9)
		b, d, w := o.Bool("b", true), o.Duration("d", time.Second), o.Choice("w", "one", "two")
		return w + " " + d.String() + map[bool]string{true: " yes", false: " no"}[b], o.Done()
	}
	for _, c := range []struct {
		options    map[string]string
		want, fail string
	}{
		{nil, "one 1s yes", ""},
		{map[string]string{"b": "OFF", "d": "250ms", "w": "Two"}, "two 250ms no", ""},
		{map[string]string{"d": "2"}, "one 2s yes", ""},
		{map[string]string{"n": "10"}, "", "from 0 to 9"},
		{map[string]string{"b": "maybe"}, "", "true or false"},
		{map[string]string{"w": "three"}, "", "one, two"},
		{map[string]string{"x": "1"}, "", "there are n, b, d, w"},
	} {
		got, err := read(c.options)
		if c.fail == "" && (err != nil || got != c.want) || c.fail != "" &&
			(err == nil || !strings.Contains(err.Text, c.fail)) {
			t.Errorf("%v: got %q, %v", c.options, got, err)
		}
	}
}
