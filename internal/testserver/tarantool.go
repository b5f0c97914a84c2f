package testserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// Tarantool starts a Tarantool with a user "brunt" that may do everything, password "brunt-test"
// unless the option Password says otherwise.
func Tarantool(t TB, opts ...Option) *Server {
	t.Helper()
	o := collect(opts)
	if o.password == "" {
		o.password = "brunt-test"
	}
	s := &Server{User: "brunt", Password: o.password}
	return launch(t, &spec{
		name:      "Tarantool",
		binary:    binary(t, "tarantool", "tarantool"),
		configure: func(s *Server) (string, string) { return "init.lua", tarantoolProgram(s, &o) },
		arguments: func(*Server) []string { return []string{"init.lua"} },
		ready:     tarantoolReady,
	}, s)
}

// tarantoolProgram listens last, when everything that clients need is there.
func tarantoolProgram(s *Server, o *options) string {
	settings := strings.Join(o.settings, ", ")
	return fmt.Sprintf(
		`box.cfg{memtx_memory = 256 * 1024 * 1024, wal_mode = 'write', net_msg_max = 4096, log_level = 5, %s}
box.schema.user.create('%[2]s', {if_not_exists = true})
box.schema.user.passwd('%[2]s', '%[3]s')
box.schema.user.grant('%[2]s', 'super', nil, nil, {if_not_exists = true})
%[4]s
box.cfg{listen = '%[5]s'}
`, settings, s.User, s.Password, o.lua, s.Addr)
}

// tarantoolReady reads the greeting: 128 bytes that begin with the product's name.
func tarantoolReady(s *Server) error {
	greeting := make([]byte, 128)
	if err := readGreeting(s.Addr, greeting); err != nil {
		return err
	}
	if !bytes.HasPrefix(greeting, []byte("Tarantool ")) {
		return errors.New("somebody else answers")
	}
	return nil
}

// readGreeting fills b with what a server says first.
func readGreeting(addr string, b []byte) error {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Second))
	_, err = io.ReadFull(c, b)
	return err
}
