// Package memcached is a protocol of one's own: the text protocol of memcached, with the commands get, set and delete
// (https://github.com/memcached/memcached/blob/master/doc/protocol.txt). Importing it registers it as "memcached".
package memcached

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"brunt"
)

func init() { brunt.Register("memcached", protocol{}) }

// protocol implements brunt.Protocol.
type protocol struct{}

// Connect opens a connection to a server.
func (protocol) Connect(ctx context.Context, t brunt.Target) (brunt.Session, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", t.Address)
	if err != nil {
		return nil, err
	}
	return &session{conn, bufio.NewReader(conn)}, nil
}

// answerError is an error that the server answered with; the connection remains usable.
type answerError string

// Error returns the server's line.
func (e answerError) Error() string { return string(e) }

// Classify says that an answer is the server's failure, and that anything else breaks the connection.
func (protocol) Classify(err error) brunt.Failure {
	if e, ok := errors.AsType[answerError](err); ok {
		code, _, _ := strings.Cut(string(e), " ")
		return brunt.Failure{Class: brunt.ClassServer, Code: code}
	}
	return brunt.Failure{Class: brunt.ClassUnknownOutcome, Fatal: true}
}

type session struct {
	net.Conn
	in *bufio.Reader
}

// Do sends a command and reads its answer. When ctx ends, the connection's deadline ends the wait.
func (s *session) Do(ctx context.Context, r *brunt.Request) (*brunt.Reply, error) {
	if deadline, ok := ctx.Deadline(); ok {
		if err := s.SetDeadline(deadline); err != nil {
			return nil, err
		}
	}
	w := r.Words
	switch {
	case len(w) == 2 && w[0] == "get":
		return s.get(w[1])
	case len(w) == 3 && w[0] == "set":
		return s.change(fmt.Sprintf("set %s 0 0 %d\r\n%s\r\n", w[1], len(w[2]), w[2]), "STORED")
	case len(w) == 2 && w[0] == "delete":
		return s.change(fmt.Sprintf("delete %s\r\n", w[1]), "DELETED")
	}
	return nil, &brunt.Failure{Class: brunt.ClassClient, Text: fmt.Sprintf("%s: write command: [get, KEY], "+
		"[set, KEY, VALUE] or [delete, KEY]", r.Name)}
}

// ask sends a text and reads a line.
func (s *session) ask(text string) (string, error) {
	if _, err := io.WriteString(s, text); err != nil {
		return "", err
	}
	line, err := s.in.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}

func (s *session) change(text, good string) (*brunt.Reply, error) {
	line, err := s.ask(text)
	switch {
	case err != nil:
		return nil, err
	case line == good:
		return &brunt.Reply{Affected: 1}, nil
	case line == "NOT_FOUND":
		return &brunt.Reply{Missing: true}, nil
	}
	return nil, answerError(line)
}

func (s *session) get(key string) (*brunt.Reply, error) {
	line, err := s.ask("get " + key + "\r\n")
	if err != nil {
		return nil, err
	}
	if line == "END" {
		return &brunt.Reply{Missing: true}, nil
	}
	var name string
	var flags, size int
	if n, _ := fmt.Sscanf(line, "VALUE %s %d %d", &name, &flags, &size); n != 3 || size < 0 || size > 1<<20 {
		return nil, answerError(line)
	}
	value := make([]byte, size+len("\r\nEND\r\n"))
	if _, err := io.ReadFull(s.in, value); err != nil {
		return nil, err
	}
	return &brunt.Reply{Columns: []string{"value"}, Rows: [][]any{{string(value[:size])}}}, nil
}
