package tarantool

import (
	"io"
	"testing"

	"brunt/internal/dialect/k6/bind"
	"brunt/internal/dialect/k6/bind/bindtest"
	"brunt/internal/dialect/k6/session"
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

func reader() *results {
	return newResults(bind.NewVU(session.New(session.Options{None: true}), bindtest.NewVU()))
}

// read returns the result of an answer as JSON.
func read(r *results, x *exchange) (string, error) {
	if _, err := r.of(x); err != nil {
		return "", err
	}
	text, err := r.later(x).MarshalJSON()
	return string(text), err
}

func TestResults(t *testing.T) {
	r := reader()
	for _, c := range []struct{ body, want string }{
		{"", `{"request_id":3,"code":0,"error":"","data":[]}`},
		{"\x81\x30\x91\x92\x01\xa8cadillac", `{"request_id":3,"code":0,"error":"","data":[[1,"cadillac"]]}`},
		{"\x81\x30\x91\x82\xa1a\xc0\x02\xcb\x3f\xe0\x00\x00\x00\x00\x00\x00",
			`{"request_id":3,"code":0,"error":"","data":[{"2":0.5,"a":null}]}`},
		{"\x82\x32\x91\x81\xa4name\xa1v\x30\x91\x91\x01",
			`{"request_id":3,"code":0,"error":"","meta_data":[{"field_name":"v"}],"data":[[1]]}`},
		{"\x81\x42\x81\xa9row_count\x03", `{"request_id":3,"code":0,"error":"","sql_info":{"affected_count":3},"data":[]}`},
		{"\x81\x42\x82\x00\x05\x01\x90", `{"request_id":3,"code":0,"error":"","sql_info":{"affected_count":5},"data":[]}`},
		{"\x81\x30\x91\xd5\x01\x01\x7c", `{"request_id":3,"code":0,"error":"","data":["0.7"]}`},
	} {
		x := answered(&request{}, 3, []byte(c.body))
		if got, err := read(r, x); err != nil || got != c.want {
			t.Errorf("%q: got %s, %v, want %s", c.body, got, err, c.want)
		}
	}
	x := answered(&request{rows: tuples, form: []string{"id", "model"}, objects: true}, 0,
		[]byte("\x81\x30\x91\x93\x01\xa1m\x07"))
	if got, err := read(r, x); err != nil ||
		got != `{"request_id":0,"code":0,"error":"","data":[{"id":1,"model":"m","2":7}]}` &&
			got != `{"request_id":0,"code":0,"error":"","data":[{"2":7,"id":1,"model":"m"}]}` {
		t.Errorf("as objects: got %s, %v", got, err)
	}
}

// answered returns an exchange whose answer has this body.
func answered(r *request, tag uint64, body []byte) *exchange {
	x := newExchange(r)
	x.Tag = tag
	x.Reply.Captured = []gen.Value{{Kind: gen.Bytes, B: body}}
	return x
}

// A request whose connection is lost may have been applied, unless it changes nothing.
func TestLostRequests(t *testing.T) {
	for does, want := range map[protocol.Verb]protocol.Class{protocol.Select: protocol.Connect,
		protocol.Call: protocol.UnknownOutcome} {
		x := newExchange(&request{does: does})
		x.Lost = io.EOF
		if x.settle(); x.failure == nil || x.failure.Class != want {
			t.Errorf("%s: %v, want %s", does.Name(), x.failure, want)
		}
	}
}

// Malformed answers are errors, for any content.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{"", "\x81\x30\x91\x92\x01\xa1x",
		"\x83\x32\x91\x81\x00\xa2id\x30\x91\x91\x01\x42\x81\x00\x05", "\x81\x30\xdd\xff\xff\xff\xff", "\x81\x31\xa5wrong",
		"\x81\x30\xc7\x10\x04", "\x83200"} {
		f.Add([]byte(text))
	}
	r := reader()
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, objects := range []bool{false, true} {
			_, _ = r.of(answered(&request{rows: tuples, form: []string{"a"}, objects: objects}, 0, body))
		}
	})
}
