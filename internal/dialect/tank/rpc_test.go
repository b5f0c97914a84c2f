package tank

import (
	"strings"
	"testing"
	"time"

	grpc "google.golang.org/grpc/codes"

	"brunt/internal/protocol"
)

func TestListsOfCalls(t *testing.T) {
	a, err := readCalls("calls.json", []byte(`{"tag": "Hi", "call": "a.b.C.Say", "metadata": {"K": "v$"}, "payload": {"n": 1}}

{"call": "a.C/Do"}
`), time.Minute)
	if err != nil {
		t.Fatal(err)
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
		if _, err := readCalls("f", []byte(text), 0); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// The statuses are those of the table in Pandora's documentation ("Mapping Response Codes"); others are 500.
func TestStatusesOfCalls(t *testing.T) {
	want := map[grpc.Code]int{grpc.OK: 200, grpc.Canceled: 499, grpc.Unknown: 500, grpc.InvalidArgument: 400,
		grpc.DeadlineExceeded: 504, grpc.NotFound: 404, grpc.AlreadyExists: 409, grpc.PermissionDenied: 403,
		grpc.ResourceExhausted: 429, grpc.FailedPrecondition: 400, grpc.Aborted: 409, grpc.OutOfRange: 400,
		grpc.Unimplemented: 501, grpc.Internal: 500, grpc.Unavailable: 503, grpc.DataLoss: 500,
		grpc.Unauthenticated: 401}
	for code, status := range want {
		if got := callStatus(protocol.Server, code.String()); got != status {
			t.Errorf("%s: %d, want %d", code, got, status)
		}
	}
	if got := callStatus(protocol.Connect, "refused"); got != 503 {
		t.Errorf("no connection: %d", got)
	}
}

func FuzzReadCalls(f *testing.F) {
	f.Add(`{"tag": "a", "call": "a.B.C", "metadata": {"k": "v"}, "payload": {"n": [1]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		a, err := readCalls("f", []byte(text), 0)
		if err == nil && len(a.shots) == 0 {
			t.Error("neither calls nor an error")
		}
	})
}
