package redis

import (
	"fmt"
	"strings"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

func TestEncode(t *testing.T) {
	args := []gen.Value{{Kind: gen.String, B: []byte("a\r\nb")}, {Kind: gen.Int, I: -12}, {Kind: gen.Null},
		{Kind: gen.Bytes, B: []byte{0}}}
	kinds := []gen.Kind{gen.String, gen.Int, gen.Int, gen.Bytes}
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"PING"}, "*1\r\n$4\r\nPING\r\n"},
		{[]string{"SET", "k:$2", "$1"}, "*3\r\n$3\r\nSET\r\n$5\r\nk:-12\r\n$4\r\na\r\nb\r\n"},
		{[]string{"SET", "$2", "x"}, "*3\r\n$3\r\nSET\r\n$3\r\n-12\r\n$1\r\nx\r\n"},
		{[]string{"SET", "$$2", "$3"}, "*3\r\n$3\r\nSET\r\n$2\r\n$2\r\n$0\r\n\r\n"},
		{[]string{"SET", "k:$2:x", "$2-$2"}, "*3\r\n$3\r\nSET\r\n$7\r\nk:-12:x\r\n$7\r\n-12--12\r\n"},
		{[]string{"SET", "", "$4"}, "*3\r\n$3\r\nSET\r\n$0\r\n\r\n$1\r\n\x00\r\n"},
	} {
		req := command(c.words...)
		req.Params = kinds
		got, refused := fresh(t, req)().Encode([]byte(">"), &req, args)
		if refused != nil || string(got) != ">"+c.want {
			t.Errorf("%q: got %q, %v; want %q", c.words, got, refused, c.want)
		}
	}
	for _, size := range []int{0, 1, 7, 8, 9, shortValue, shortValue + 1, 97, 98, 99, 997, 998, 99_998} {
		value := strings.Repeat("v", size)
		req := command("GET", "k:$1", "x")
		req.Params = kinds[:1]
		got, refused := fresh(t, req)().Encode([]byte(">"), &req, []gen.Value{{Kind: gen.String, B: []byte(value)}})
		if want := fmt.Sprintf(">*3\r\n$3\r\nGET\r\n$%d\r\nk:%s\r\n$1\r\nx\r\n", size+2, value); refused != nil ||
			string(got) != want {
			t.Errorf("a word of %d bytes: got %.60q, %v", size+2, got, refused)
		}
	}
	req := command("GET", "$1")
	req.Params = kinds[:1]
	if _, refused := fresh(t, req)().Encode(nil, &req, nil); refused == nil || refused.Class != protocol.Client {
		t.Errorf("no arguments: got %v", refused)
	}
}

func TestPrepareRefuses(t *testing.T) {
	get := command("GET", "k")
	for _, c := range []struct {
		req    protocol.Request
		target protocol.Target
		want   string
	}{
		{protocol.Request{Verb: protocol.SQL, Text: "SELECT 1"}, protocol.Target{}, "commands of words"},
		{protocol.Request{Verb: protocol.Command}, protocol.Target{}, "commands of words"},
		{command("GET", "$1"), protocol.Target{}, "$1 names no parameter"},
		{command("subscribe", "x"), protocol.Target{}, "SUBSCRIBE has no single answer"},
		{command("CLIENT", "reply", "off"), protocol.Target{}, "CLIENT REPLY"},
		{capturing(get, protocol.Capture{Name: "x"}), protocol.Target{}, "have no names"},
		{capturing(get, protocol.Capture{Column: -1}), protocol.Target{}, "element's number"},
		{capturing(get, protocol.Capture{}, protocol.Capture{}), protocol.Target{}, "captured twice"},
		{get, protocol.Target{Database: "x"}, `"x" isn't a number`},
		{get, protocol.Target{Database: "1", Options: map[string]string{"mode": "cluster"}}, "only the database 0"},
		{get, protocol.Target{Options: map[string]string{"mode": "ring"}}, `"ring" isn't possible`},
		{get, protocol.Target{Options: map[string]string{"resp": "4"}}, `"4" isn't possible`},
		{get, protocol.Target{Options: map[string]string{"max_redirects": "-1"}}, `"-1" isn't possible`},
		{get, protocol.Target{Options: map[string]string{"pool": "1"}}, `unknown option "pool"`},
	} {
		_, _, refused := prepare(c.target, &protocol.Program{Requests: []protocol.Request{c.req}})
		if refused == nil || refused.Class != protocol.Client || !strings.Contains(refused.Text, c.want) {
			t.Errorf("want %q; got %v", c.want, refused)
		}
	}
}

// The values are from the specification: 0x31C3 for "123456789", and its examples of hash tags. Slots of single words
// were read from Redis 7.0.15 with CLUSTER KEYSLOT.
func TestSlot(t *testing.T) {
	table := makeTable()
	if got := table.crc([]byte("123456789")); got != 0x31C3 {
		t.Errorf("crc16: got %#x", got)
	}
	for key, want := range map[string]uint16{"": 0, "foo": 12182, "bar": 5061, "{user1000}.following": 3443} {
		if got := Slot([]byte(key)); got != want {
			t.Errorf("%q: got %d, want %d", key, got, want)
		}
	}
	for _, same := range [][2]string{{"{user1000}.following", "user1000"}, {"foo{bar}{zap}", "bar"},
		{"foo{{bar}}zap", "{bar"}} {
		if Slot([]byte(same[0])) != Slot([]byte(same[1])) {
			t.Errorf("%q and %q differ", same[0], same[1])
		}
	}
	if whole := "foo{}{bar}"; Slot([]byte(whole)) != table.crc([]byte(whole))%Slots {
		t.Errorf("%q: an empty tag counts", whole)
	}
}

func TestParseRedirect(t *testing.T) {
	for text, want := range map[string]Redirect{
		"MOVED 3999 127.0.0.1:6381": {Slot: 3999, Address: "127.0.0.1:6381"},
		"ASK 0 [::1]:6381":          {Ask: true, Address: "[::1]:6381"},
		"MOVED 16383 :6381":         {Slot: 16383, Address: ":6381"},
	} {
		if got, ok := ParseRedirect(text); !ok || got != want {
			t.Errorf("%q: got %+v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "MOVED", "MOVED 16384 a:1", "MOVED x a:1", "MOVED 1 a", "MOVED 1 a:99999",
		"ERR 1 a:1", "MOVED 1 a:1 b"} {
		if got, ok := ParseRedirect(text); ok {
			t.Errorf("%q: got %+v", text, got)
		}
	}
}
