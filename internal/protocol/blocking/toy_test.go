package blocking_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/blocking"
)

// toy is a codec of netstrings ("5:hello,"). A request is its tag and its text. An answer begins with a sign: '=' for
// rows, one per line; 'E' for an error; 'F' for an error that ends the connection; 'A' if the request must be sent
// again; '*' for an unsolicited notice. "$" is an answer that lasts until the end of the connection.
type toy struct {
	texts  []string // of requests, by ID
	ending int      // bytes of an answer that lasts until the end
	off    int      // error in the number of bytes that Scan reports
}

var (
	_ protocol.EOFScanner = (*toy)(nil)
	_ protocol.RowReader  = (*toy)(nil)
	_ protocol.Adder      = (*toy)(nil)
	_ protocol.Parting    = (*toy)(nil)
)

func netstring(text string) string { return strconv.Itoa(len(text)) + ":" + text + "," }

// cut returns the netstring at the beginning of buf. size is 0 if it is incomplete, and −1 if it is invalid.
func cut(buf []byte) (body []byte, size, need int) {
	colon := bytes.IndexByte(buf, ':')
	if colon < 0 {
		if len(buf) > 10 || strings.Trim(string(buf), "0123456789") != "" {
			return nil, -1, 0
		}
		return nil, 0, 0
	}
	n, err := strconv.ParseUint(string(buf[:colon]), 10, 30)
	if err != nil {
		return nil, -1, 0
	}
	end := colon + 1 + int(n)
	if end >= len(buf) {
		return nil, 0, end + 1
	}
	if buf[end] != ',' {
		return nil, -1, 0
	}
	return buf[colon+1 : end], end + 1, 0
}

func (c *toy) Encode(dst []byte, req *protocol.Request, args []gen.Value) ([]byte, *protocol.Error) {
	text := c.texts[req.ID]
	for i := range args {
		text += " " + string(args[i].B)
	}
	if text == "unsendable" {
		return dst, protocol.Bad("it can't be sent")
	}
	return append(dst, netstring(text)...), nil
}

func (c *toy) Scan(buf []byte, req *protocol.Request, reply *protocol.Reply) (n int, done bool, need int) {
	for {
		if len(buf) > n && buf[n] == '$' || c.ending > 0 {
			c.ending += len(buf) - n
			return len(buf), false, 0
		}
		body, size, need := cut(buf[n:])
		switch {
		case size < 0:
			reply.Fail(&protocol.Error{Class: protocol.Protocol, Text: "no netstring", Fatal: true})
			return n, false, 0
		case size == 0:
			if n > 0 {
				need = 0
			}
			return n, false, need
		}
		n += size
		if len(body) > 0 && body[0] == '*' {
			continue
		}
		reply.BytesIn = int64(size)
		c.read(body, req, reply)
		return n + c.off, true, 0
	}
}

func (c *toy) read(body []byte, req *protocol.Request, reply *protocol.Reply) {
	sign, text := byte('='), string(body)
	if text != "" {
		sign, text = body[0], text[1:]
	}
	switch sign {
	case 'E', 'A':
		reply.Fail(&protocol.Error{Class: protocol.Server, Text: text})
		reply.Again = sign == 'A'
	case 'F':
		reply.Fail(&protocol.Error{Class: protocol.Server, Text: text, Fatal: true})
	default:
		reply.Rows = int64(strings.Count(text, "\n"))
		if len(req.Capture) > 0 {
			first, _, _ := strings.Cut(text, "\n")
			reply.Captured[0].SetString(first)
		}
	}
}

func (c *toy) ScanEOF(_ *protocol.Request, reply *protocol.Reply) bool {
	reply.BytesIn = int64(c.ending)
	return c.ending > 0
}

func (c *toy) Rows(answer []byte, _ *protocol.Request, each func([]string, []gen.Value)) *protocol.Error {
	for len(answer) > 0 {
		body, size, _ := cut(answer)
		if size <= 0 {
			return nil
		}
		if answer = answer[size:]; len(body) == 0 || body[0] == '*' {
			continue
		}
		for line := range strings.Lines(string(body[1:])) {
			var v gen.Value
			v.SetString(strings.TrimSuffix(line, "\n"))
			if v.Kind == gen.String && string(v.B) == "broken" {
				return protocol.Bad("a broken row")
			}
			each([]string{"line"}, []gen.Value{v})
		}
	}
	return nil
}

func (c *toy) Add(ctx context.Context, x protocol.Exchanger, r *protocol.Request) error {
	refused := ""
	failure := x.Exchange(ctx, []byte(netstring("prepare "+r.Text)), func(buf []byte) (int, bool, int) {
		body, size, need := cut(buf)
		if size > 0 && body[0] == 'E' {
			refused = string(body[1:])
		}
		return max(size, 0), size != 0, need
	})
	switch {
	case failure != nil:
		return failure
	case refused != "":
		return protocol.Bad("%s", refused)
	}
	c.texts = protocol.Put(c.texts, r.ID, r.Text)
	return nil
}

func (*toy) Part(dst []byte) []byte { return append(dst, netstring("bye")...) }

// hangUp, as a piece of an answer, closes the connection.
const hangUp = "\x00"

// server reads the requests of one connection and answers with the pieces that f returns. nil closes the connection.
func server(t *testing.T, f func(request string) []string) net.Conn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		far, err := l.Accept()
		l.Close() // only now: closing earlier would reset connections that are not accepted yet
		if err != nil {
			return
		}
		defer far.Close()
		serve(far, f)
	}()
	near, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		l.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); <-over })
	return near
}

func serve(far net.Conn, f func(request string) []string) {
	var held []byte
	piece := make([]byte, 1<<10)
	for {
		body, size, _ := cut(held)
		if size <= 0 {
			n, err := far.Read(piece)
			if err != nil {
				return
			}
			held = append(held, piece[:n]...)
			continue
		}
		held = held[size:]
		answer := f(string(body))
		if answer == nil {
			return
		}
		for _, piece := range answer {
			if piece == hangUp {
				return
			}
			if _, err := io.WriteString(far, piece); err != nil {
				return
			}
		}
	}
}

// requests returns the requests of a program with these texts.
func requests(texts ...string) []protocol.Request {
	all := make([]protocol.Request, len(texts))
	for i, text := range texts {
		all[i] = protocol.Request{ID: i, Verb: protocol.Call, Name: text, Text: text}
	}
	return all
}

// open returns a connection over a toy, for requests with these texts.
func open(t *testing.T, c net.Conn, texts ...string) *blocking.Conn {
	t.Helper()
	conn := blocking.New(protocol.CodecConn{Net: c, Codec: &toy{texts: texts}})
	t.Cleanup(func() { conn.Close() })
	return conn
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
