package testserver

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"
)

// Tarantool starts a Tarantool with a user "brunt" with all rights, whose password is "brunt-test" unless set by the
// option Password.
func Tarantool(t TB, opts ...Option) *Server {
	t.Helper()
	o := collect(opts)
	o.password = cmp.Or(o.password, "brunt-test")
	return launchTarantool(t, &o, func(s *Server) string { return tarantoolProgram(s, &o) })
}

// launchTarantool starts a Tarantool with a program.
func launchTarantool(t TB, o *options, program func(s *Server) string) *Server {
	t.Helper()
	return launch(t, &spec{
		name:      "Tarantool",
		binary:    binary(t, "tarantool", "tarantool"),
		configure: func(s *Server) (string, string) { return "init.lua", program(s) },
		arguments: func(*Server) []string { return []string{"init.lua"} },
		ready:     tarantoolReady,
	}, &Server{User: "brunt", Password: o.password})
}

// TarantoolCluster starts the given number of Tarantools, each of which replicates from those before it. The first is
// the leader: only it accepts writes, and synchronous writes succeed when a majority has them. When the leader is
// killed, the next one takes over half a second later. This simulates the supervisor that versions before 2.6.1 need,
// because they can't elect a leader. A leader that returns is no longer a member. The program of the option Lua runs on
// the first member.
func TarantoolCluster(t TB, members int, opts ...Option) []*Server {
	t.Helper()
	o := collect(opts)
	o.password = cmp.Or(o.password, "brunt-test")
	all := make([]*Server, 0, members)
	for range members {
		all = append(all, launchTarantool(t, &o, func(s *Server) string { return tarantoolMember(s, all, members, &o) }))
	}
	return all
}

// tarantoolMember returns the program of a cluster's member, which replicates from the members before it.
func tarantoolMember(s *Server, before []*Server, members int, o *options) string {
	settings := append(slices.Clone(o.settings), "replication_connect_quorum = 0", "replication_synchro_timeout = 1",
		fmt.Sprintf("replication_synchro_quorum = %d", members/2+1))
	if len(before) == 0 {
		return tarantoolProgram(s, &options{settings: settings, lua: o.lua})
	}
	uris := make([]string, len(before))
	for i, m := range before {
		uris[i] = fmt.Sprintf("'%s:%s@%s'", m.User, m.Password, m.Addr)
	}
	settings = append(settings, "read_only = true", "replication = {"+strings.Join(uris, ", ")+"}")
	return fmt.Sprintf(`box.cfg{memtx_memory = 256 * 1024 * 1024, net_msg_max = 4096, listen = '%s', %s}
local fiber = require('fiber')
local function follows()
	for _, r in pairs(box.info.replication) do
		if r.upstream and r.upstream.status == 'follow' then return true end
	end
end
fiber.create(function()
	local seen = fiber.clock()
	while fiber.clock() < seen + 0.5 do
		fiber.sleep(0.01)
		if follows() then seen = fiber.clock() end
	end
	box.cfg{read_only = false}
	while not pcall(box.ctl.clear_synchro_queue) do fiber.sleep(0.01) end
end)
`, s.Addr, strings.Join(settings, ", "))
}

// tarantoolProgram returns the program of a server. It listens last, once everything that clients need exists.
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

// readGreeting reads the server's first bytes until b is full.
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
