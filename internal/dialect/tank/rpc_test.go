package tank

import (
	"strings"
	"testing"
	"time"

	grpc "google.golang.org/grpc/codes"

	"brunt/internal/protocol"
)

func TestListsOfCalls(t *testing.T) {
	a, skipped, err := readCalls("calls.json", []byte("\ufeff"+`{"tag": "Hi", "call": "a.b.C.Say", "metadata": {"K": "v$"}, "payload": {"n": 1}}

{"call": "a.C/Do"}
no call
`), time.Minute, true)
	if err != nil || skipped != 1 {
		t.Fatal(err, skipped)
	}
	if len(a.shots) != 2 || a.shots[0].tag != "Hi" || a.shots[1].tag != "" {
		t.Errorf("shots %+v", a.shots)
	}
	r := a.shots[0].call.request()
	if r.RPC.Method != "a.b.C/Say" || r.RPC.Messages[0] != `{"n": 1}` || r.RPC.Metadata[0] != [2]string{"k", "v$$"} ||
		r.RPC.Deadline != time.Minute || r.Verb != protocol.GRPC {
		t.Errorf("request %+v", r.RPC)
	}
	if r := a.shots[1].call.request(); r.RPC.Method != "a.C/Do" || r.RPC.Messages[0] != "{}" {
		t.Errorf("request %+v", r.RPC)
	}
}

func TestFaultsOfListsOfCalls(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "f: no call in this list",
		"{\"call\": \"a.B.C\"}\n{\"call\": ": "f:2:1: the call ends in the middle",
		"\n{\"call\": \"a.B.C\", \"payload\": [1]}": "f:2:1: the payload isn't an object",
		`{"call": "Say"}`:        `f:1:1: call "Say" is no method; write package.Service.Method`,
		`{"call": 5}`:            "f:1:1: isn't a call in JSON: ",
		`{"call": "a.B.C"} junk`: "f:1:1: isn't a call in JSON: ",
	} {
		if _, _, err := readCalls("f", []byte(text), 0, false); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// The statuses are those of the table in Pandora's documentation ("Mapping Response Codes"); others are 500.
func TestStatusesOfCalls(t *testing.T) {
	want := []int{200, 499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500, 503, 500, 401}
	for code, status := range want {
		name := grpc.Code(code).String()
		if got := callStatus(protocol.Server, name, ""); got != status {
			t.Errorf("%s: %d, want %d", name, got, status)
		}
	}
	late := protocol.Late(&protocol.Request{Verb: protocol.GRPC})
	if got := callStatus(late.Class, late.Code, late.Text); got != lateStatus {
		t.Errorf("no answer in time: %d", got)
	}
	if got := callStatus(protocol.Connect, "refused", ""); got != 503 {
		t.Errorf("no connection: %d", got)
	}
}

func TestFaultsOfCalls(t *testing.T) {
	for text, want := range map[string]string{
		"{name: a, call: Say}":                                           `f:1:25: call a: "Say" is no method; write package.Service.Method`,
		"{name: a, call: b.C.D, payload: '{{'}":                          "f:1:9: call a: payload:1: unclosed action",
		"{name: a, call: b.C.D, preprocessors: [{type: x}]}":             `f:1:48: the preprocessor "x" isn't available; use prepare`,
		"{name: a, call: b.C.D, postprocessors: [{type: var/jsonpath}]}": `f:1:49: the postprocessor "var/jsonpath" isn't`,
		"{call: b.C.D}":     "f:1:9: a call without a name",
		"{name: a, uri: /}": `f:1:19: unknown key "uri" in a call`,
	} {
		r := &reader{file: "f"}
		root, err := parseYAML([]byte("calls: [" + text + "]"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = r.playbook(root, ".", time.Second)
		if len(r.faults) == 0 || !strings.HasPrefix(r.faults[0], want) {
			t.Errorf("%s: %q, want %s", text, r.faults, want)
		}
	}
}

func FuzzReadCalls(f *testing.F) {
	f.Add(`{"tag": "a", "call": "a.B.C", "metadata": {"k": "v"}, "payload": {"n": [1]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		a, _, err := readCalls("f", []byte(text), 0, false)
		if err == nil && len(a.shots) == 0 {
			t.Error("neither calls nor an error")
		}
	})
}
