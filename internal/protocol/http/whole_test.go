package http

import (
	"strings"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

func TestRequestLength(t *testing.T) {
	for text, want := range map[string]int{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET":                27,
		"POST /x HTTP/1.0\r\ncontent-length: 3\r\n\r\nabcdef": 42,
	} {
		if n, err := RequestLength([]byte(text)); n != want || err != nil {
			t.Errorf("%q: %d, %v; want %d", text, n, err, want)
		}
	}
	for text, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: a\r\n":                   "incomplete",
		"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc": "incomplete",
		"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\nabc": "isn't a number",
		"GET /\r\n\r\n": "isn't the first line",
		"POST / HTTP/1.1\r\nTransfer-Encoding: x\r\n\r\n0\r\n": "Transfer-Encoding",
	} {
		if _, err := RequestLength([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Requests that are sent as one are answered one after the other; captures hold what all answers said.
func TestWholeRequests(t *testing.T) {
	req := protocol.Request{Name: "x", Verb: protocol.HTTP, Params: []gen.Kind{gen.String},
		Web:     &protocol.Web{Method: "GET", Path: "/", Body: []byte("$1"), Raw: true},
		Capture: []protocol.Capture{{Name: "head", Kind: gen.String}, {Name: "body", Kind: gen.String}}}
	var arg [1]gen.Value
	arg[0].SetString("HEAD /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n")
	c := fresh(t, plain, req)()
	out, refused := c.Encode(nil, &req, arg[:])
	if refused != nil || string(out) != string(arg[0].B) {
		t.Fatal(string(out), refused)
	}
	answers := "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" +
		"HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"
	for size := 1; size <= len(answers); size++ {
		var reply protocol.Reply
		reply.Reset(2)
		buf, done := []byte(nil), false
		for rest := answers; !done && rest != ""; {
			n := min(size, len(rest))
			buf, rest = append(buf, rest[:n]...), rest[n:]
			used := 0
			used, done, _ = c.Scan(buf, &req, &reply)
			buf = buf[used:]
		}
		if !done || reply.Status != 404 || reply.Code != "404" || int(reply.BytesIn) != len(answers) ||
			string(reply.Captured[0].B) != "Content-Length: 5\n\nTransfer-Encoding: chunked\n\n" ||
			string(reply.Captured[1].B) != "abc" || reply.Parts.BodyBytes != 3 {
			t.Fatalf("in pieces of %d: %v %+v", size, done, reply)
		}
		if size < len(answers) {
			if _, refused := c.Encode(nil, &req, arg[:]); refused != nil {
				t.Fatal(refused)
			}
		}
	}
	arg[0].SetString("GET / HTTP/1.1\r\n")
	if _, refused := c.Encode(nil, &req, arg[:]); refused == nil || !strings.Contains(refused.Text, "incomplete") {
		t.Error(refused)
	}
}

func TestListOfAnswers(t *testing.T) {
	req := protocol.Request{Name: "x", Verb: protocol.HTTP,
		Web: &protocol.Web{Method: "GET", Path: "/", Raw: true,
			Body: []byte("GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n")},
		Capture: []protocol.Capture{{Name: "head"}, {Name: "body"}, {Name: "answers"}}}
	c := fresh(t, plain, req)()
	if _, refused := c.Encode(nil, &req, nil); refused != nil {
		t.Fatal(refused)
	}
	var reply protocol.Reply
	reply.Reset(3)
	answer := "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nyz"
	if _, done, _ := c.Scan([]byte(answer), &req, &reply); !done || string(reply.Captured[2].B) != "200 19 1\n500 38 3\n" {
		t.Errorf("%v %q", done, reply.Captured[2].B)
	}
}

// The codec measures how long an answer is waited for and read, on event loops too.
func TestPartsOfTheTime(t *testing.T) {
	for option, measured := range map[string]bool{"on": true, "off": false} {
		req := get("/")
		c := fresh(t, protocol.Target{Address: "h:80", Options: map[string]string{"parts": option}}, req)()
		if _, refused := c.Encode(nil, &req, nil); refused != nil {
			t.Fatal(refused)
		}
		var reply protocol.Reply
		for _, piece := range []string{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n", "x"} {
			c.Scan([]byte(piece), &req, &reply)
		}
		p := &reply.Parts
		if reply.Status != 200 || measured != (p.WaitNs > 0 && p.ReadNs > 0) || p.ConnectNs != 0 || p.BodyBytes != 1 {
			t.Errorf("parts %s: %+v", option, p)
		}
	}
}
