package http

import (
	"fmt"
	"hash/fnv"
	"strings"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocoltest"
)

var plain = protocol.Target{Address: "h:80"}

func get(path string) protocol.Request {
	return protocol.Request{Name: path, Verb: protocol.HTTP, Web: &protocol.Web{Method: "GET", Path: path}}
}

// fresh returns codecs for a program of one request.
func fresh(t testing.TB, target protocol.Target, req protocol.Request) func() protocol.Codec {
	t.Helper()
	program := &protocol.Program{Requests: []protocol.Request{req}}
	if why, ok := New().Takes(target, program); !ok {
		t.Fatal(why)
	}
	p, refused := New().prepare(target, program)
	if refused != nil {
		t.Fatal(refused)
	}
	return func() protocol.Codec { return newCodec(p) }
}

func TestScan(t *testing.T) {
	get, head := get("/"), get("/")
	head.Web = &protocol.Web{Method: "HEAD", Path: "/"}
	location := get
	location.Capture = []protocol.Capture{{Name: "header:Location"}, {Name: "header:X-N", Kind: gen.Int},
		{Name: "header:None"}}
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		name, answer, want string
		req                protocol.Request
		eof                bool
	}{
		{"length", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP",
			`class=ok code="" fatal=false status=200 in=41 left="HTTP"`, get, false},
		{"no body", "HTTP/1.1 200 OK\r\ncontent-length:0\r\n\r\n", "class=ok status=200 in=37", get, false},
		{"line feeds only", "HTTP/1.1 200 OK\ncontent-length:1\n\nx", "class=ok status=200 in=35", get, false},
		{"no reason", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "class=ok status=200", get, false},
		{"304", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\nH", `class=ok status=304 left="H"`, get, false},
		{"204", "HTTP/1.1 204 No Content\r\n\r\n", "class=ok status=204", get, false},
		{"head", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nH", `class=ok status=200 left="H"`, head, false},
		{"404", "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", `class=server code="404" fatal=false status=404`,
			get, false},
		{"503 closing", "HTTP/1.1 503 Busy\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n",
			`class=server code="503" fatal=true status=503`, get, false},
		{"close", "HTTP/1.1 200 OK\r\nConnection: x , close\r\nContent-Length: 0\r\n\r\n", "class=ok fatal=true status=200",
			get, false},
		{"1.0", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", "class=ok fatal=true status=200", get, false},
		{"1.0 kept", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na",
			"class=ok fatal=false status=200", get, false},
		{"until end", "HTTP/1.1 200 OK\r\n\r\nabc", "done=true class=ok fatal=true status=200 in=22", get, true},
		{"coded, not chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nabc", "done=true class=ok fatal=true",
			get, true},
		{"open end", "HTTP/1.1 200 OK\r\n\r\nabc", "done=false", get, false},
		{"cut short", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "done=false", get, true},
		{
			"interim", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Length: 7\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "class=ok status=200", get, false},
		{
			"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0a ; x=\"y\"\r\n0123456789\r\n0\r\n\r\nH", `class=ok fatal=false status=200 left="H"`, get, false},
		{"chunked twice coded", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n0\r\nA: b\r\nC: d\r\n\r\n",
			"done=true class=ok", get, false},
		{"same lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nab", "class=ok status=200", get,
			false},
		{
			"captures", "HTTP/1.1 302 Found\r\nLOCATION: \t/next?a=b \r\nX-N: 42\r\nLocation: /second\r\nContent-Length: 0\r\n\r\n", `status=302 captured=6:"/next?a=b" captured=2:42 captured=null`, location, false},

		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nab", "class=protocol fatal=true",
			get, false},
		{"length and coding", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			"done=true class=ok fatal=true status=200", get, false},
		{"length of words", "HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\n", "class=protocol fatal=true", get, false},
		{"negative length", "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n", "class=protocol fatal=true", get, false},
		{"endless length", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", "class=protocol fatal=true",
			get, false},
		{"no number", "HTTP/1.1 abc OK\r\n\r\n", "class=protocol fatal=true", get, false},
		{"status 099", "HTTP/1.1 099 OK\r\n\r\n", "class=protocol fatal=true", get, false},
		{"another protocol", "SSH-2.0-OpenSSH_9.2", "done=true class=protocol fatal=true", get, false},
		{"HTTP/2", "HTTP/2 200\r\n\r\n", "class=protocol fatal=true", get, false},
		{"switch", "HTTP/1.1 101 Switching\r\n\r\n", "class=protocol fatal=true", get, false},
		{"no name", "HTTP/1.1 200 OK\r\n: x\r\n\r\n", "class=protocol fatal=true", get, false},
		{"space in name", "HTTP/1.1 200 OK\r\nContent-Length : 3\r\n\r\n", "class=protocol fatal=true", get, false},
		{"folded", "HTTP/1.1 200 OK\r\nA: b\r\n c: d\r\nContent-Length: 0\r\n\r\n", "done=true class=ok fatal=false", get,
			false},
		{"folded length", "HTTP/1.1 200 OK\r\nContent-Length:\r\n 2\r\n\r\nab", "class=protocol fatal=true", get, false},
		{"folded coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip,\r\n chunked\r\n\r\n", "class=protocol fatal=true",
			get, false},
		{"folded before any", "HTTP/1.1 200 OK\r\n a: b\r\n\r\n", "class=protocol fatal=true", get, false},
		{"bad chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", "class=protocol fatal=true", get, false},
		{"huge chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
			"class=protocol fatal=true", get, false},
		{"long chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", "class=protocol fatal=true", get,
			false},
		{"odd status", "HTTP/1.1 999 What\r\nContent-Length: 0\r\nA: " + long + "\r\n\r\n",
			`class=server code="999" status=999`, get, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := protocoltest.Torn(t, fresh(t, plain, c.req), &c.req, []byte(c.answer), c.eof).String()
			for want := range strings.SplitSeq(c.want, " ") {
				if !strings.Contains(got+" ", want+" ") {
					t.Errorf("got %s; want %s", got, want)
				}
			}
		})
	}
}

func TestScanBoundsHeaders(t *testing.T) {
	req := get("/")
	for name, answer := range map[string]string{
		"one line":   "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", maxHead),
		"many lines": "HTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", maxHead/6+1),
		"interim":    strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", maxHead/25+1),
		"trailer": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" +
			strings.Repeat("A: b\r\n", maxHead/6+1),
		"chunk size":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("0", maxChunkLine+1),
		"chunk's end":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na" + strings.Repeat("x", maxChunkLine+1),
		"endless status": "HTTP/1.1 200 " + strings.Repeat("x", maxHead),
	} {
		got := protocoltest.Scan(fresh(t, plain, req)(), &req, []byte(answer), nil, false)
		if !got.Done || got.Reply.Class != protocol.Protocol || !got.Reply.Fatal {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestScanHashesEveryNth(t *testing.T) {
	sum := fnv.New64a()
	sum.Write([]byte("abcdef"))
	req := get("/")
	req.Web.Hash, req.Web.HashEvery = sum.Sum64(), 2
	c := fresh(t, plain, req)()
	wrong := "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabcdeX"
	right := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n4\r\ncdef\r\n0\r\n\r\n"
	for i, step := range []struct {
		answer string
		bad    bool
	}{{right, false}, {wrong, false}, {wrong, true}, {wrong, false}, {right, false}} {
		got := protocoltest.Scan(c, &req, []byte(step.answer), []int{41, 42}, false)
		if got.Reply.Class != protocol.OK || got.Reply.BadHash != step.bad {
			t.Errorf("answer %d: got %v, want bad %v", i, got, step.bad)
		}
	}
}

func TestGoodStatuses(t *testing.T) {
	req := get("/")
	target := plain
	target.Options = map[string]string{"good": "200-299, 404"}
	for status, want := range map[int]protocol.Class{200: protocol.OK, 299: protocol.OK, 301: protocol.Server,
		404: protocol.OK, 500: protocol.Server} {
		answer := fmt.Sprintf("HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n", status)
		if got := protocoltest.Scan(fresh(t, target, req)(), &req, []byte(answer), nil, false); got.Reply.Class != want {
			t.Errorf("%d: got %v, want %v", status, got, want)
		}
	}
}

func TestCodecAllocatesNothing(t *testing.T) {
	req := get("/a/$1?b=$2")
	req.Web.Method, req.Web.Body = "POST", []byte(`{"a":"$1"}`)
	req.Web.Header = [][2]string{{"X-Id", "$2"}}
	req.Params = []gen.Kind{gen.String, gen.Int}
	req.Capture = []protocol.Capture{{Name: "header:Location"}}
	c := fresh(t, plain, req)()
	args := []gen.Value{{Kind: gen.String, B: []byte("ü/ö")}, {Kind: gen.Int, I: 7}}
	answer := []byte(
		"HTTP/1.1 201 Created\r\nServer: x\r\nLocation: /a/1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
	var reply protocol.Reply
	var out []byte
	n := testing.AllocsPerRun(100, func() {
		reply.Reset(1)
		out, _ = c.Encode(out[:0], &req, args)
		if _, done, _ := c.Scan(answer, &req, &reply); !done || reply.Class != protocol.OK {
			t.Fatal(reply)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzScan(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"), uint16(20), false)
	f.Add(
		[]byte(
			"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n0\r\nA: b\r\n\r\n"),
		uint16(70), false)
	f.Add([]byte("HTTP/1.0 500 No\r\nLocation: a\r\n\r\nabc"), uint16(3), true)
	bare := get("/")
	bare.Web.HashEvery = 1
	capturing := bare
	capturing.Capture = []protocol.Capture{{Name: "header:Location"}}
	makeBare, makeCapturing := fresh(f, plain, bare), fresh(f, plain, capturing)
	f.Fuzz(func(t *testing.T, answer []byte, cut uint16, eof bool) {
		req, build := bare, makeBare
		if cut%2 == 1 {
			req, build = capturing, makeCapturing
		}
		whole := protocoltest.Scan(build(), &req, answer, nil, eof)
		if len(whole.Left) > len(answer) {
			t.Fatal("consumed less than nothing")
		}
		if len(answer) == 0 {
			return
		}
		at := int(cut) % len(answer)
		if torn := protocoltest.Scan(build(), &req, answer, []int{at}, eof); torn.String() != whole.String() {
			t.Fatalf("cut at %d:\n got %v\nwant %v", at, torn, whole)
		}
	})
}

func BenchmarkScan(b *testing.B) {
	req := get("/")
	c := fresh(b, plain, req)()
	answer := []byte(
		"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Fri, 21 Nov 2025 20:00:00 GMT\r\nContent-Type: text/html\r\n" +
			"Content-Length: 612\r\nLast-Modified: Fri, 21 Nov 2025 20:00:00 GMT\r\nConnection: keep-alive\r\nETag: \"6920c5d0-264\"\r\n" +
			"Accept-Ranges: bytes\r\n\r\n" + strings.Repeat("x", 612))
	var reply protocol.Reply
	for b.Loop() {
		reply.Reset(0)
		if _, done, _ := c.Scan(answer, &req, &reply); !done {
			b.Fatal("not done")
		}
	}
}
