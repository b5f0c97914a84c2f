package http

import (
	"testing"

	"brunt/internal/protocol"
)

func TestSessionsShareWhatIsReady(t *testing.T) {
	d := New()
	p := &protocol.Program{Requests: []protocol.Request{{Verb: protocol.HTTP,
		Web: &protocol.Web{Method: "GET", Path: "/"}}}}
	get := func(t2 protocol.Target) *prepared {
		t.Helper()
		r, refused := d.ready(t2, p)
		if refused != nil {
			t.Fatal(refused)
		}
		return r
	}
	a := protocol.Target{Address: "a:80"}
	first := get(a)
	if get(a) != first || &first.encoded()[0] != &newCodec(first).encoded[0] {
		t.Error("a program is made ready twice")
	}
	for _, other := range []protocol.Target{
		{Address: "b:80"}, {Address: "a:80", User: "u"}, {Address: "a:80", Options: map[string]string{"noreuse": "on"}},
	} {
		if get(other) == first {
			t.Errorf("%+v shares what is another's", other)
		}
	}
	if _, refused := d.ready(protocol.Target{Address: "a:80", Options: map[string]string{"nonsense": "1"}},
		p); refused == nil {
		t.Error("a wrong option passes")
	}
}
