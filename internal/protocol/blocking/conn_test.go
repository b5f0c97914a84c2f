package blocking_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/blocking"
)

// told returns a reply as one line.
func told(r *protocol.Reply) string {
	s := fmt.Sprintf("%v %q", r.Class, r.Text)
	if r.Fatal {
		s += " fatal"
	}
	return s
}

// singly splits a text into bytes.
func singly(text string) []string { return strings.Split(text, "") }

func TestAnswers(t *testing.T) {
	long := strings.Repeat("x", 300_000)
	for _, c := range []struct {
		name   string
		answer []string
		want   string
		next   bool // the connection accepts further requests
	}{
		{"whole", []string{"2:=a,"}, `ok ""`, true},
		{"one byte at a time", singly("12:=one\ntwo\nsix,"), `ok ""`, true},
		{"a notice before", []string{"6:*hello,2:=a,"}, `ok ""`, true},
		{"a notice before, one byte at a time", singly("6:*hello,2:=a,"), `ok ""`, true},
		{"long", []string{netstring("=" + long)}, `ok ""`, true},
		{"an error", []string{"5:Eoops,"}, `server "oops"`, true},
		{"an error that ends the connection", []string{"5:Foops,"}, `server "oops" fatal`, false},
		{"garbage", []string{"HTTP/1.1 400 Bad Request"}, `protocol "no netstring" fatal`, false},
		{"the end of the connection ends it", []string{"$all of it", hangUp}, `ok "" fatal`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := 0
			conn := open(t, server(t, func(string) []string {
				if asked++; asked == 2 {
					return []string{"2:=b,"}
				}
				return c.answer
			}), "x")
			req := &requests("x")[0]
			req.Capture = []protocol.Capture{{}}
			var reply protocol.Reply
			conn.Do(t.Context(), req, nil, &reply)
			if got := told(&reply); got != c.want {
				t.Fatalf("got %s, want %s", got, c.want)
			}
			conn.Do(t.Context(), req, nil, &reply)
			if c.next && (reply.Class != protocol.OK || string(reply.Captured[0].B) != "b") {
				t.Errorf("the next request: %s, %q", told(&reply), reply.Captured[0].B)
			}
			if !c.next && told(&reply) != `connect "the connection is closed" fatal` {
				t.Errorf("the next request: %s", told(&reply))
			}
		})
	}
}

func TestConnectionsThatBreak(t *testing.T) {
	for _, c := range []struct{ name, answer, want string }{
		{"before the answer", "",
			`unknown-outcome "the connection broke before the answer came: the server closed it" fatal`},
		{"in the midst of it", "100:=ab",
			`unknown-outcome "the connection broke before the answer came: the server closed it" fatal`},
	} {
		t.Run(c.name, func(t *testing.T) {
			near, far := net.Pipe()
			go func() {
				far.Read(make([]byte, 100))
				if c.answer != "" {
					far.Write([]byte(c.answer))
				}
				far.Close()
			}()
			conn := open(t, near, "x")
			var reply protocol.Reply
			conn.Do(t.Context(), &requests("x")[0], nil, &reply)
			if got := told(&reply); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// The server answers only part of the request, or nothing, and keeps the connection open.
func TestTimeIsOver(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		verb         protocol.Verb
		want         string
	}{
		{"no answer", "", protocol.Read, `timeout "no answer within the operation's timeout" fatal`},
		{"half an answer", "100:=half", protocol.Read, `timeout "no answer within the operation's timeout" fatal`},
		{"it may have written", "", protocol.Call,
			`unknown-outcome "no answer within the operation's timeout; it may have been applied" fatal`},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := make(chan struct{}, 1)
			near := server(t, func(string) []string {
				asked <- struct{}{}
				return []string{c.answer}
			})
			cancelled := make(chan struct{})
			conn := blocking.New(protocol.CodecConn{
				Net: near, Codec: &toy{texts: []string{"x"}}, Cancel: func(context.Context) { close(cancelled) },
			})
			req := &requests("x")[0]
			req.Verb = c.verb
			var reply protocol.Reply
			conn.Do(within(t, 50*time.Millisecond), req, nil, &reply)
			if got := told(&reply); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			<-asked
			<-cancelled // the server was asked to stop
		})
	}
}

// listening notes the deadlines of reads.
type listening struct {
	net.Conn
	limited, unlimited int
}

func (c *listening) SetReadDeadline(at time.Time) error {
	if at.IsZero() {
		c.unlimited++
	} else {
		c.limited++
	}
	return c.Conn.SetReadDeadline(at)
}

// The limit of a server's silence begins anew with each part of an answer, and ends with the answer.
func TestSilence(t *testing.T) {
	here, there := net.Pipe()
	t.Cleanup(func() { there.Close() })
	go func() {
		request := make([]byte, 100)
		for range 2 {
			if _, err := there.Read(request); err != nil {
				return
			}
			for _, part := range singly("2:=a,") {
				_, _ = there.Write([]byte(part))
			}
		}
		_, _ = there.Read(request) // no answer
	}()
	heard := &listening{Conn: here}
	conn := blocking.New(protocol.CodecConn{Net: heard, Codec: &toy{texts: []string{"x"}}})
	t.Cleanup(func() { conn.Close() })
	var reply protocol.Reply
	conn.LimitSilence(time.Hour)
	conn.Do(t.Context(), &requests("x")[0], nil, &reply)
	if reply.Class != protocol.OK || heard.limited != 5 || heard.unlimited != 1 {
		t.Errorf("%s: %d limits of 5 parts, ended %d times", told(&reply), heard.limited, heard.unlimited)
	}
	conn.LimitSilence(0)
	conn.Do(t.Context(), &requests("x")[0], nil, &reply)
	if reply.Class != protocol.OK || heard.limited != 5 {
		t.Errorf("%s: %d limits although there is none", told(&reply), heard.limited-5)
	}
	conn.LimitSilence(time.Millisecond)
	conn.Do(t.Context(), &requests("x")[0], nil, &reply)
	if !protocol.Overdue(reply.Class, reply.Text) || !reply.Fatal {
		t.Errorf("a silent server: %s", told(&reply))
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	conn := open(t, server(t, func(string) []string {
		cancel()
		return []string{""}
	}), "x")
	var reply protocol.Reply
	conn.Do(ctx, &requests("x")[0], nil, &reply)
	if got, want := told(&reply), `unknown-outcome "the operation was interrupted" fatal`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A request whose context ended before it was sent does not affect the connection.
func TestOverBeforeItIsSent(t *testing.T) {
	conn := open(t, server(t, func(string) []string { return []string{"2:=a,"} }), "x", "unsendable")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	all := requests("x", "unsendable")
	for _, c := range []struct {
		ctx  context.Context
		req  *protocol.Request
		want string
	}{
		{gone, &all[0], `connect "the operation was interrupted before it was sent"`},
		{late, &all[0], `timeout "no answer within the operation's timeout"`},
		{t.Context(), &all[1], `client "it can't be sent"`},
		{t.Context(), &all[0], `ok ""`},
	} {
		var reply protocol.Reply
		conn.Do(c.ctx, c.req, nil, &reply)
		if got := told(&reply); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
		if reply.Unsent != (c.ctx != t.Context()) {
			t.Errorf("%s: unsent for lack of time: %v", c.want, reply.Unsent)
		}
	}
}

func TestCodecThatLosesItsPlace(t *testing.T) {
	for _, off := range []int{1, -100} {
		conn := blocking.New(protocol.CodecConn{
			Net:   server(t, func(string) []string { return []string{"2:=a,"} }),
			Codec: &toy{texts: []string{"x"}, off: off},
		})
		var reply protocol.Reply
		conn.Do(t.Context(), &requests("x")[0], nil, &reply)
		if got, want := told(&reply), `protocol "the codec lost its place in the answer" fatal`; got != want {
			t.Errorf("off by %d: got %s, want %s", off, got, want)
		}
	}
}

// A server that never completes an answer doesn't use up memory.
func TestEndlessAnswer(t *testing.T) {
	near := server(t, func(string) []string {
		return append([]string{"1000000000:"}, repeat(strings.Repeat("x", 1<<20), 300)...)
	})
	conn := open(t, near, "x")
	var reply protocol.Reply
	conn.Do(within(t, time.Minute), &requests("x")[0], nil, &reply)
	if reply.Class != protocol.Protocol || !reply.Fatal || !strings.Contains(reply.Text, "that make no complete answer") {
		t.Errorf("got %s", told(&reply))
	}
}

func repeat(s string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = s
	}
	return all
}

func TestAskedAgain(t *testing.T) {
	asked := 0
	conn := open(t, server(t, func(string) []string {
		if asked++; asked%3 != 0 {
			return []string{"5:Alter,"}
		}
		return []string{"2:=a,"}
	}), "x")
	var reply protocol.Reply
	conn.Do(t.Context(), &requests("x")[0], nil, &reply)
	if reply.Class != protocol.OK || asked != 3 || reply.BytesIn != 2*8+5 {
		t.Errorf("asked %d times, %d bytes: %s", asked, reply.BytesIn, told(&reply))
	}
	stubborn := 0
	conn = open(t, server(t, func(string) []string {
		stubborn++
		return []string{"5:Alter,"}
	}), "x")
	conn.Do(t.Context(), &requests("x")[0], nil, &reply)
	if told(&reply) != `server "lter"` || stubborn != 1+protocol.AgainAtMost {
		t.Errorf("asked %d times: %s", stubborn, told(&reply))
	}
}

func TestRows(t *testing.T) {
	long := strings.Repeat("line\n", 100_000)
	for _, c := range []struct {
		name   string
		answer []string
		rows   int
		want   string
	}{
		{"some", []string{netstring("=a\nb\n")}, 2, `ok ""`},
		{"one byte at a time, after a notice", singly(netstring("*hello") + netstring("=a\nb\n")), 2, `ok ""`},
		{"many", []string{netstring("=" + long)}, 100_000, `ok ""`},
		{"of a failure", []string{netstring("Ea\nb\n")}, 0, `server "a\nb\n"`},
		{"that can't be read", []string{netstring("=a\nbroken\nb\n")}, 1, `client "a broken row"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn := open(t, server(t, func(string) []string { return c.answer }), "x")
			for range 2 { // what is kept of one answer doesn't affect the next
				n := 0
				reply := protocol.Reply{Each: func(columns []string, row []gen.Value) {
					if n++; len(columns) != len(row) {
						t.Errorf("%d columns of %d values", len(columns), len(row))
					}
				}}
				conn.Do(t.Context(), &requests("x")[0], nil, &reply)
				if got := told(&reply); got != c.want || n != c.rows {
					t.Errorf("%d rows, %s; want %d, %s", n, got, c.rows, c.want)
				}
			}
		})
	}
}

func TestAdd(t *testing.T) {
	var asked []string
	conn := open(t, server(t, func(request string) []string {
		asked = append(asked, request)
		if request == "prepare wrong" {
			return []string{"9:Eno such ,"}
		}
		return []string{"2:=a,"}
	}))
	all := requests("new", "wrong")
	if err := conn.Add(t.Context(), &all[0]); err != nil {
		t.Fatal(err)
	}
	if err := conn.Add(t.Context(), &all[1]); err == nil || !strings.Contains(err.Error(), "no such") {
		t.Errorf("what the server refuses: %v", err)
	}
	var reply protocol.Reply
	conn.Do(t.Context(), &all[0], nil, &reply)
	if got, want := strings.Join(asked, "; "), "prepare new; prepare wrong; new"; got != want ||
		reply.Class != protocol.OK {
		t.Errorf("asked %s, want %s (%s)", got, want, told(&reply))
	}
}

// Bytes that Open has already read, and bytes that follow an answer, belong to the next answer.
func TestBytesBeforeTheirTime(t *testing.T) {
	near := server(t, func(string) []string { return []string{"2:=b,2:*c,2:*"} })
	conn := blocking.New(protocol.CodecConn{Net: near, Codec: &toy{texts: []string{"x"}}, Extra: []byte("3:*hi,")})
	req := &requests("x")[0]
	req.Capture = []protocol.Capture{{}}
	for range 3 {
		var reply protocol.Reply
		conn.Do(t.Context(), req, nil, &reply)
		if reply.Class == protocol.Protocol { // "2:*" and then "2:=b,"
			break
		}
		if string(reply.Captured[0].B) != "b" {
			t.Errorf("%s, %q", told(&reply), reply.Captured[0].B)
		}
	}
}

func TestClose(t *testing.T) {
	heard := make(chan string, 10)
	conn := open(t, server(t, func(request string) []string { heard <- request; return []string{"2:=a,"} }), "x")
	var reply protocol.Reply
	conn.Do(t.Context(), &requests("x")[0], nil, &reply)
	for range 2 {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	if a, b := <-heard, <-heard; a != "x" || b != "bye" {
		t.Errorf("the server heard %q and %q", a, b)
	}
	conn.Do(t.Context(), &requests("x")[0], nil, &reply)
	if got, want := told(&reply), `connect "the connection is closed" fatal`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Closing a connection fails the request in flight.
func TestCloseMidRequest(t *testing.T) {
	asked := make(chan struct{})
	conn := open(t, server(t, func(request string) []string {
		if request == "x" {
			close(asked)
		}
		return []string{""}
	}), "x")
	go func() {
		<-asked
		conn.Close()
	}()
	var reply protocol.Reply
	conn.Do(t.Context(), &requests("x")[0], nil, &reply)
	if reply.Class != protocol.UnknownOutcome || !reply.Fatal {
		t.Errorf("got %s", told(&reply))
	}
}

func TestTLS(t *testing.T) {
	certified := httptest.NewTLSServer(nil)
	defer certified.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: certified.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			far, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer far.Close()
				serve(far, func(request string) []string {
					if request == "end" {
						return nil
					}
					return singly(netstring("=" + strings.Repeat("line\n", 20)))
				})
			}()
		}
	}()
	trusted := x509.NewCertPool()
	trusted.AddCert(certified.Certificate())
	c, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{RootCAs: trusted})
	if err != nil {
		t.Fatal(err)
	}
	conn := open(t, c, "x", "end")
	all := requests("x", "end")
	for _, want := range []string{`ok ""`, `ok ""`,
		`unknown-outcome "the connection broke before the answer came: the server closed it" fatal`} {
		req := &all[0]
		if want != `ok ""` {
			req = &all[1]
		}
		n := 0
		reply := protocol.Reply{Each: func([]string, []gen.Value) { n++ }}
		conn.Do(within(t, 10*time.Second), req, nil, &reply)
		if got := told(&reply); got != want || n != 20 && reply.Class == protocol.OK {
			t.Errorf("got %s with %d rows, want %s", got, n, want)
		}
	}
}

// FuzzConn sends arbitrary bytes to a connection, split in two at any place. The connection neither hangs nor panics,
// and the result doesn't depend on where the bytes are split.
func FuzzConn(f *testing.F) {
	for _, s := range []string{"2:=a,", "5:*note,3:=a\n,", "5:Eoops,2:=b,", "$rest", "99999999999:", "7:=a\nb\nc,", "x"} {
		f.Add([]byte(s), 1)
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, data []byte, at int) {
		data = bytes.ReplaceAll(data, []byte("A"), []byte("=")) // the request would be sent again, but nothing would read it
		at = min(max(at, 0), len(data))
		whole := fed(data)
		if cut := fed(data[:at], data[at:]); cut != whole {
			t.Errorf("%q cut at %d: %s; whole: %s", data, at, cut, whole)
		}
	})
}

// fed returns the results of two requests that are answered by these pieces and the end of the connection.
func fed(pieces ...[]byte) string {
	near, far := net.Pipe()
	go func() {
		far.Read(make([]byte, 100))
		for _, p := range pieces {
			if len(p) > 0 {
				far.Write(p)
			}
		}
		far.Close()
	}()
	conn := blocking.New(protocol.CodecConn{Net: near, Codec: &toy{texts: []string{"x"}}})
	defer near.Close()
	rows := 0
	reply := protocol.Reply{Each: func([]string, []gen.Value) { rows++ }}
	req := &protocol.Request{Verb: protocol.Call}
	conn.Do(context.Background(), req, nil, &reply)
	return fmt.Sprint(told(&reply), reply.Rows, rows, reply.BytesIn)
}

// If a server answers a long request before it has read all of it, the answer counts, and the connection can't be used
// any more.
func TestAnswerBeforeTheEndOfTheRequest(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	go func() {
		far.Read(make([]byte, 1<<10))
		far.Write([]byte("2:=a,"))
	}()
	conn := open(t, near, strings.Repeat("x", 1<<20))
	var reply protocol.Reply
	conn.Do(within(t, 10*time.Second), &protocol.Request{Verb: protocol.Call}, nil, &reply)
	if got, want := told(&reply), `ok "" fatal`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	whole := open(t, server(t, func(request string) []string {
		return []string{netstring("=" + request)}
	}), strings.Repeat("x", 1<<20))
	for range 2 {
		whole.Do(within(t, 10*time.Second), &protocol.Request{Verb: protocol.Call}, nil, &reply)
		if got, want := told(&reply), `ok ""`; got != want {
			t.Errorf("one that is read to its end: got %s, want %s", got, want)
		}
	}
}

// lateConn is a connection whose first read comes after its deadline, as on a busy machine.
type lateConn struct {
	*net.TCPConn
	late bool
}

func (c *lateConn) Read(b []byte) (int, error) {
	if !c.late {
		c.late = true
		return 0, os.ErrDeadlineExceeded
	}
	return c.TCPConn.Read(b)
}

// A connection that the server has ended is recognized even if this process gets no core until the deadline of its look
// is over.
func TestEndedOnABusyMachine(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	near, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := far.Write([]byte("goodbye")); err != nil {
		t.Fatal(err)
	}
	far.Close()
	late := &lateConn{TCPConn: near.(*net.TCPConn)}
	c := open(t, late, "x")
	ended := false
	for !late.late { // it looks only at connections that have been idle for a while
		ended = c.Ended()
	}
	if !ended {
		t.Error("the end wasn't seen")
	}
}
