package selftest

import (
	"strings"
	"testing"

	"brunt/internal/protocol"
	"brunt/internal/protocol/protocols"
)

// rulesUnderTest are the functions that answer requests, by protocol.
func rulesUnderTest() map[string]func() protocol.AnswerFunc {
	all := map[string]func() protocol.AnswerFunc{}
	for _, name := range Protocols() {
		all[name] = protocols.Of(name).SelfTest.Answers
	}
	return all
}

const (
	startup = "\x00\x00\x00\x08\x00\x03\x00\x00"
	execute = "B\x00\x00\x00\x04E\x00\x00\x00\x04S\x00\x00\x00\x04"
	getKey  = "*2\r\n$3\r\nGET\r\n$5\r\nkey:1\r\n"
	frame   = "ECHO567890123456789012345678901234567890123456789012345678901234"
	page    = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
)

// callPacket is a request of a type with an empty body, numbered by the bytes "12345678".
func callPacket(kind byte) string {
	return "\xce\x00\x00\x00\x0e\x82\x00" + string(rune(kind)) + "\x01\xcf12345678\x80"
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		protocol, in, want string
		left               int
	}{
		{"redis", getKey + getKey + "*1\r\n$4\r\nPI", "$3\r\nxxx\r\n$3\r\nxxx\r\n", 10},
		{"redis", "*1\r\n$4\r\nPING\r\n", "+OK\r\n", 0},
		{"redis", "*2\r\n$5\r\nhello\r\n$1\r\n2\r\n", "-ERR unknown command\r\n", 0},
		{"http", page + "GET", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 612\r\n\r\n" +
			strings.Repeat("x", 612), 3},
		{"http", "HEAD" + page[3:], "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 612\r\n\r\n", 0},
		{"pg", startup[:7], "", 7},
		{"echo", frame + frame + frame[:9], frame + frame, 9},
		{"iproto", callPacket(10) + callPacket(8)[:18],
			"\xce\x00\x00\x00\x15\x82\x00\xce\x00\x00\x00\x00\x01\xcf12345678\x81\x30\x91\x2a", 18},
		{"iproto", "\xce\x00\x00\x00\x10\x83\x05\x00\x00\x08\x01\xcf12345678\x80",
			"\xce\x00\x00\x00\x16\x82\x00\xce\x00\x00\x80\x68\x01\xcf12345678\x81\x31\xa2no", 0},
		{"iproto", callPacket(8), "\xce\x00\x00\x00\x16\x82\x00\xce\x00\x00\x80\x68\x01\xcf12345678\x81\x31\xa2no", 0},
	} {
		out, n, err := rulesUnderTest()[c.protocol]()(nil, []byte(c.in))
		if err != nil || string(out) != c.want || len(c.in)-n != c.left {
			t.Errorf("%s %q: %q, %d bytes left, %v", c.protocol, c.in, out, len(c.in)-n, err)
		}
	}
}

func TestPostgresAnswersMessages(t *testing.T) {
	answer := rulesUnderTest()["pg"]()
	if out, n, err := answer(nil, []byte(startup)); err != nil || n != len(startup) ||
		!strings.HasSuffix(string(out), "Z\x00\x00\x00\x05I") {
		t.Fatalf("greeting %q, %d, %v", out, n, err)
	}
	out, n, err := answer(nil, []byte(execute))
	want := "2\x00\x00\x00\x04" + "D\x00\x00\x00\x0e\x00\x01\x00\x00\x00\x04\x00\x00\x00\x2a" + "C\x00\x00\x00\x0dSELECT 1\x00" + "Z\x00\x00\x00\x05I"
	if err != nil || n != len(execute) || string(out) != want {
		t.Errorf("%q, %d, %v; want %q", out, n, err, want)
	}
}

func TestWhatIsNoRequestEndsTheConnection(t *testing.T) {
	for name, in := range map[string]string{
		"redis": "*x\r\n", "pg": "\xff\xff\xff\xff\x00\x00\x00\x00", "echo": strings.Repeat("x", 64),
		"iproto": "\xcd" + callPacket(10)[1:],
	} {
		if _, _, err := rulesUnderTest()[name]()(nil, []byte(in)); err == nil {
			t.Errorf("%s took %q", name, in)
		}
	}
}

// FuzzRules checks that rules consume no more than there is, and that how the bytes arrive makes no
// difference to what is answered.
func FuzzRules(f *testing.F) {
	for _, in := range []string{startup + execute, getKey + getKey, page + page, "*9999999\r\n", "*1\r\n$99999999\r\n",
		"\x00\x00\x00\x04"} {
		f.Add([]byte(in), 3)
	}
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		if len(in) > 4096 {
			return
		}
		cut = max(0, min(cut, len(in)))
		for name, start := range rulesUnderTest() {
			whole, n, err := start()(nil, in)
			if n < 0 || n > len(in) {
				t.Fatalf("%s consumed %d of %d bytes", name, n, len(in))
			}
			torn := start()
			first, a, early := torn(nil, in[:cut])
			if early != nil {
				continue
			}
			second, b, late := torn(nil, in[a:])
			if a+b != n || string(first)+string(second) != string(whole) || (late == nil) != (err == nil) {
				t.Fatalf("%s cut at %d: %q + %q, whole %q; consumed %d + %d, whole %d; %v, whole %v", name, cut, first, second,
					whole, a, b, n, late, err)
			}
		}
	})
}
