package redis

import (
	"strings"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocoltest"
)

func command(words ...string) protocol.Request {
	return protocol.Request{Name: words[0], Verb: protocol.Command, Words: words}
}

// fresh returns codecs for a program of one request.
func fresh(t testing.TB, req protocol.Request) func() protocol.Codec {
	t.Helper()
	requests, _, refused := prepare(protocol.Target{}, &protocol.Program{Requests: []protocol.Request{req}})
	if refused != nil {
		t.Fatal(refused)
	}
	return func() protocol.Codec { return newCodec(requests) }
}

func capturing(req protocol.Request, captures ...protocol.Capture) protocol.Request {
	req.Capture = captures
	return req
}

func TestScan(t *testing.T) {
	get, all := command("GET", "k"), command("hgetall", "k")
	three := capturing(get, protocol.Capture{Column: 0}, protocol.Capture{Column: 1}, protocol.Capture{Column: 5})
	asInt := capturing(get, protocol.Capture{Kind: gen.Int})
	for _, c := range []struct {
		name, answer, want string
		req                protocol.Request
	}{
		{"status", "+OK\r\n+", `class=ok rows=1 in=5 left="+"`, get},
		{"bulk", "$3\r\nabc\r\n", "class=ok rows=1 missing=false in=9", get},
		{"bulk with a line break", "$4\r\na\r\nb\r\n", "done=true class=ok", get},
		{"empty bulk", "$0\r\n\r\n", "done=true rows=1 missing=false", get},
		{"null bulk", "$-1\r\n", "done=true class=ok rows=0 missing=true", get},
		{"null list", "*-1\r\n", "done=true class=ok rows=0 missing=true", get},
		{"null", "_\r\n", "done=true class=ok rows=0 missing=true", get},
		{"integer", ":42\r\n", "done=true rows=1 affected=42", get},
		{"negative", ":-1\r\n", "done=true rows=1 affected=-1", get},
		{"smallest", ":-9223372036854775808\r\n", "affected=-9223372036854775808", get},
		{"list", "*2\r\n$1\r\na\r\n$-1\r\n:", `done=true class=ok rows=2 missing=false left=":"`, get},
		{"empty list", "*0\r\n", "done=true class=ok rows=0 missing=true", get},
		{"empty hash", "*0\r\n", "done=true class=ok rows=0 missing=true", all},
		{"empty map", "%0\r\n", "done=true class=ok rows=0 missing=true", all},
		{"nested", "*2\r\n*2\r\n:1\r\n*0\r\n~1\r\n$1\r\nx\r\n", "done=true class=ok rows=2", get},
		{"map", "%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n#t\r\n", "done=true class=ok rows=2", all},
		{"set", "~2\r\n,1.5\r\n,inf\r\n", "done=true class=ok rows=2", get},
		{"big number", "(-123456789012345678901234567890\r\n", "done=true class=ok rows=1", get},
		{"bool", "#f\r\n", "done=true class=ok rows=1", get},
		{"verbatim", "=7\r\ntxt:abc\r\n", `done=true captured=6:"abc"`, capturing(get, protocol.Capture{})},
		{"push first", ">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n:5\r\n", "done=true class=ok rows=1 affected=5", get},
		{"only a push", ">1\r\n+x\r\n", "done=false", get},
		{"empty push", ">0\r\n:5\r\n", "done=true affected=5", get},
		{"error in a push", ">2\r\n+x\r\n-ERR no\r\n:5\r\n", "done=true class=ok affected=5", get},
		{"attribute", "|1\r\n+ttl\r\n:10\r\n$1\r\nv\r\n", "done=true class=ok rows=1 affected=0", get},
		{"attribute within", "*2\r\n:1\r\n|1\r\n+a\r\n+b\r\n:2\r\n", "done=true class=ok rows=2", get},
		{"captures", "*3\r\n$1\r\na\r\n:7\r\n$1\r\nc\r\n", `captured=6:"a" captured=2:7 captured=null`, three},
		{"captures behind an attribute", "|1\r\n+a\r\n+b\r\n*2\r\n|1\r\n+c\r\n:0\r\n+x\r\n,2.5\r\n",
			`captured=6:"x" captured=4:2.5 captured=null`, three},
		{"capture of a null", "*2\r\n$-1\r\n*1\r\n:1\r\n", `captured=null captured=null captured=null`, three},
		{"capture as a number", "$2\r\n42\r\n", `captured=2:42`, asInt},
		{"capture that is no number", "$2\r\nxx\r\n", `done=true class=ok captured=null`, asInt},

		{"error", "-ERR unknown command\r\n", `class=server code="ERR" fatal=false rows=0`, get},
		{"wrong type", "-WRONGTYPE Operation against\r\n", `class=server code="WRONGTYPE"`, get},
		{"moved", "-MOVED 3999 127.0.0.1:6381\r\n", `class=retryable code="MOVED" fatal=false`, get},
		{"ask", "-ASK 3999 127.0.0.1:6381\r\n", `class=retryable code="ASK"`, get},
		{"loading", "-LOADING Redis is\r\n", `class=retryable code="LOADING"`, get},
		{"no code", "-oh no\r\n", `class=server code=""`, get},
		{"bulk error", "!11\r\nBUSY a\r\nb c\r\n", `class=retryable code="BUSY"`, get},
		{"error within", "*2\r\n+OK\r\n-ERR no\r\n", `done=true class=server code="ERR" rows=2`, get},

		{"unknown kind", "x\r\n", "done=true class=protocol fatal=true", get},
		{"another protocol", "HTTP/1.1 400 Bad Request\r\n", "class=protocol fatal=true", get},
		{"line feed only", "+OK\n", "class=protocol fatal=true", get},
		{"no length", "$\r\n", "class=protocol fatal=true", get},
		{"length of words", "$abc\r\n", "class=protocol fatal=true", get},
		{"negative length", "$-2\r\n", "class=protocol fatal=true", get},
		{"negative count", "*-2\r\n", "class=protocol fatal=true", get},
		{"null map", "%-1\r\n", "class=protocol fatal=true", get},
		{"huge count", "*9223372036854775807\r\n", "class=protocol fatal=true", get},
		{"huge length", "$99999999999999999999\r\n", "class=protocol fatal=true", get},
		{"streamed", "$?\r\n", "class=protocol fatal=true", get},
		{"longer than said", "$1\r\nabc\r\n", "class=protocol fatal=true", get},
		{"break torn off", "$1\r\na\rb", "class=protocol fatal=true", get},
		{"bad integer", ":1x\r\n", "class=protocol fatal=true", get},
		{"overflow", ":9223372036854775808\r\n", "class=protocol fatal=true", get},
		{"bad bool", "#x\r\n", "class=protocol fatal=true", get},
		{"bad double", ",x\r\n", "class=protocol fatal=true", get},
		{"bad null", "_x\r\n", "class=protocol fatal=true", get},
		{"bad big number", "(-\r\n", "class=protocol fatal=true", get},
		{"short verbatim", "=3\r\nabc\r\n", "class=protocol fatal=true", get},
		{"push within", "*1\r\n>1\r\n:1\r\n", "class=protocol fatal=true", get},
		{"too deep", strings.Repeat("*1\r\n", maxDepth+1), "class=protocol fatal=true", get},
		{"deep", strings.Repeat("*1\r\n", maxDepth) + ":1\r\n", "done=true class=ok rows=1", get},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := protocoltest.Torn(t, fresh(t, c.req), &c.req, []byte(c.answer), false).String()
			for want := range strings.SplitSeq(c.want, " ") {
				if !strings.Contains(got+" ", want+" ") {
					t.Errorf("got %s; want %s", got, want)
				}
			}
		})
	}
}

func TestScanBoundsLines(t *testing.T) {
	req := command("GET", "k")
	for _, answer := range []string{"+" + strings.Repeat("x", maxLine), "-" + strings.Repeat("x", maxLine) + "\r\n",
		"$" + strings.Repeat("0", maxLine+1)} {
		got := protocoltest.Scan(fresh(t, req)(), &req, []byte(answer), nil, false)
		if got.Reply.Class != protocol.Protocol || !got.Reply.Fatal {
			t.Errorf("%.10q…: got %v", answer, got)
		}
	}
}

func TestScanPassesBigBulksOver(t *testing.T) {
	req := command("GET", "k")
	c := fresh(t, req)()
	var reply protocol.Reply
	reply.Reset(0)
	const size = 100 << 20
	piece := make([]byte, 64<<10)
	if n, done, _ := c.Scan([]byte("$104857600\r\n"), &req, &reply); n != 12 || done {
		t.Fatalf("head: %d, %v", n, done)
	}
	for range size / len(piece) {
		if n, done, _ := c.Scan(piece, &req, &reply); n != len(piece) || done {
			t.Fatalf("content: %d, %v", n, done)
		}
	}
	if n, done, _ := c.Scan([]byte("\r\n+"), &req, &reply); n != 2 || !done || reply.BytesIn != size+14 {
		t.Errorf("end: %d, %v, %+v", n, done, reply)
	}
}

func TestCapturesAreBounded(t *testing.T) {
	req := capturing(command("GET", "k"), protocol.Capture{})
	answer := []byte("$1048577\r\n" + strings.Repeat("x", maxCaptured+1) + "\r\n:1")
	got := protocoltest.Scan(fresh(t, req)(), &req, answer, nil, false)
	if got.Reply.Class != protocol.Client || got.Reply.Fatal || string(got.Left) != ":1" {
		t.Errorf("got %.200v", got)
	}
}

func TestCodecAllocatesNothing(t *testing.T) {
	req := capturing(command("HSET", "user:$1", "n", "$2", "$3"), protocol.Capture{Column: 1})
	req.Params = []gen.Kind{gen.Int, gen.String, gen.Float}
	c := fresh(t, req)()
	args := []gen.Value{{Kind: gen.Int, I: 5}, {Kind: gen.String, B: []byte("abc")}, {Kind: gen.Float, F: 2.5}}
	answer := []byte("*3\r\n$5\r\nhello\r\n$5\r\nworld\r\n%1\r\n+a\r\n,1.5\r\n")
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
	for _, seed := range []string{"$3\r\nabc\r\n", "*2\r\n:1\r\n$-1\r\n", "%1\r\n+a\r\n~1\r\n#t\r\n",
		"|1\r\n+a\r\n:1\r\n-MOVED 1 a:1\r\n", ">1\r\n+a\r\n=5\r\ntxt:x\r\n", "!5\r\nERR x\r\n", ",1\r\n(12\r\n"} {
		f.Add([]byte(seed), uint16(5))
	}
	req := capturing(command("GET", "k"), protocol.Capture{Column: 1}, protocol.Capture{Column: 0, Kind: gen.Int})
	build := fresh(f, req)
	f.Fuzz(func(t *testing.T, answer []byte, cut uint16) {
		if len(answer) == 0 {
			return
		}
		whole := protocoltest.Scan(build(), &req, answer, nil, false)
		at := int(cut) % len(answer)
		if torn := protocoltest.Scan(build(), &req, answer, []int{at}, false); torn.String() != whole.String() {
			t.Fatalf("cut at %d:\n got %v\nwant %v", at, torn, whole)
		}
	})
}

func BenchmarkScan(b *testing.B) {
	req := command("GET", "k")
	c := fresh(b, req)()
	answer := []byte("$100\r\n" + strings.Repeat("x", 100) + "\r\n")
	var reply protocol.Reply
	for b.Loop() {
		reply.Reset(0)
		if _, done, _ := c.Scan(answer, &req, &reply); !done {
			b.Fatal("not done")
		}
	}
}

// A redirection from a server that isn't said to be a cluster says what to set. In a cluster it is followed.
func TestRedirectionsOfASingleServerNameTheCluster(t *testing.T) {
	for _, single := range []bool{true, false} {
		c := newCodec(nil)
		c.single = single
		var reply protocol.Reply
		c.fail([]byte("MOVED 3999 127.0.0.1:6381"), &reply)
		if hinted := strings.Contains(reply.Failure.Text, "mode to cluster"); hinted != single || reply.Code != "MOVED" {
			t.Errorf("single %v: %q", single, reply.Failure.Text)
		}
	}
}
