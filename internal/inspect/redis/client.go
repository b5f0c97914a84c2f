package redis

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"brunt/internal/protocol"
	"brunt/internal/protocol/socket"
)

// The most that is read of one answer: elements of a list, and bytes of a text.
const (
	mostElements = 1 << 20
	mostBytes    = 64 << 20
)

// client is a connection that asks one question after another, in RESP2 (redis.io, "Redis serialization protocol
// specification"). It counts its questions by the names of their statistics.
type client struct {
	target protocol.Target
	conn   net.Conn
	in     *bufio.Reader
	asked  map[string]float64
}

// refused is an error that the server answered.
type refused struct{ text string }

func (r *refused) Error() string { return r.text }

// code returns the first word of an error that the server answered, such as NOPERM; "" for other errors.
func code(err error) string {
	if r, ok := errors.AsType[*refused](err); ok {
		word, _, _ := strings.Cut(r.text, " ")
		return word
	}
	return ""
}

// connect opens the connection, if it isn't open. Its errors are one line, without secrets.
func (c *client) connect(ctx context.Context) error {
	if c.conn != nil {
		return nil
	}
	conn, err := socket.Secure(ctx, c.target.Address, c.target.TLS)
	if err != nil {
		return err
	}
	c.conn, c.in = conn, bufio.NewReader(conn)
	words := []string{"AUTH", c.target.User, c.target.Password}
	if c.target.User == "" {
		words = []string{"AUTH", c.target.Password}
	}
	if c.target.Password != "" || c.target.User != "" {
		if _, err := c.ask(ctx, words...); err != nil {
			c.close()
			return fmt.Errorf("%s; check user and password", protocol.Line(err.Error(), c.target.Password))
		}
	}
	_, err = c.ask(ctx, "CLIENT", "SETNAME", clientName)
	if code(err) == "" && err != nil {
		c.close()
		if ctx.Err() == nil {
			err = fmt.Errorf("%w: the connection ended at the first question; if this is a proxy such as twemproxy, "+
				"name the servers behind it", err)
		}
		return err
	}
	return nil
}

func (c *client) close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// ask sends a command and returns its answer: a string, an int64, a list ([]any), or nil. After an error of the
// connection it is closed, and connect opens it again.
func (c *client) ask(ctx context.Context, words ...string) (any, error) {
	if c.conn == nil {
		return nil, net.ErrClosed
	}
	conn := c.conn
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	c.count(words)
	_, err := conn.Write(encode(words))
	var answer any
	if err == nil {
		answer, err = read(c.in)
	}
	if err != nil && code(err) == "" {
		c.close()
		err = socket.Explain(ctx, c.target.Address, err)
	}
	return answer, err
}

// count counts a question as the server's statistics do: subcommands apart since Redis 7.
func (c *client) count(words []string) {
	name := strings.ToLower(words[0])
	switch name {
	case "client", "config", "slowlog", "latency", "cluster":
		c.asked[name+"|"+strings.ToLower(words[1])]++
	}
	c.asked[name]++
}

func encode(words []string) []byte {
	out := fmt.Appendf(nil, "*%d\r\n", len(words))
	for _, w := range words {
		out = fmt.Appendf(out, "$%d\r\n%s\r\n", len(w), w)
	}
	return out
}

var errMalformed = errors.New("the answer isn't Redis' protocol")

// read reads an answer.
func read(in *bufio.Reader) (any, error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		if errors.Is(err, bufio.ErrBufferFull) {
			err = errMalformed
		}
		return nil, err
	}
	if len(line) < 3 {
		return nil, errMalformed
	}
	kind, rest := line[0], string(line[1:len(line)-2])
	switch kind {
	case '+':
		return rest, nil
	case '-':
		return nil, &refused{rest}
	case ':':
		n, err := strconv.ParseInt(rest, 10, 64)
		if err != nil {
			return nil, errMalformed
		}
		return n, nil
	}
	n, err := strconv.Atoi(rest)
	switch {
	case err != nil || kind != '$' && kind != '*' || n > mostBytes || kind == '*' && n > mostElements:
		return nil, errMalformed
	case n < 0:
		return nil, nil
	case kind == '$':
		text := make([]byte, n+2)
		if _, err := io.ReadFull(in, text); err != nil {
			return nil, err
		}
		return string(text[:n]), nil
	}
	return readList(in, n)
}

func readList(in *bufio.Reader, n int) (any, error) {
	list := make([]any, 0, min(n, 1024))
	for range n {
		element, err := read(in)
		if err != nil && code(err) == "" {
			return nil, err
		}
		list = append(list, element)
	}
	return list, nil
}
