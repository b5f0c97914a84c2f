package iproto

import (
	"strings"
	"testing"

	"brunt/internal/protocol"
	"brunt/test/testserver"
)

// A server that accepts writes is the primary. A user without the right to run programs gets an error.
func TestRole(t *testing.T) {
	s := testserver.Tarantool(t,
		testserver.Lua("box.schema.user.create('poor', {password = 'poor-test', if_not_exists = true})"))
	if role, err := New().Role(t.Context(), target(s)); role != protocol.Primary || err != nil {
		t.Errorf("one that takes writes: %v, %v", role, err)
	}
	readOnly := testserver.Tarantool(t, testserver.Lua("box.cfg{read_only = true}"))
	if role, err := New().Role(t.Context(), target(readOnly)); role != protocol.Replica || err != nil {
		t.Errorf("one that doesn't: %v, %v", role, err)
	}
	poor := target(s)
	poor.User, poor.Password = "poor", "poor-test"
	if role, err := New().Role(t.Context(), poor); role != protocol.AnyRole || err == nil {
		t.Errorf("without the right to ask: %v, %v", role, err)
	}
}

// Any instance of Picodata knows the others. Only those of the same protocol are returned.
func TestPeersOfPicodata(t *testing.T) {
	s := testserver.Tarantool(t, testserver.Lua(shim+`box.execute([[CREATE TABLE "_pico_peer_address" (
		"raft_id" INTEGER, "address" TEXT, "connection_type" TEXT, PRIMARY KEY ("raft_id", "connection_type"))]])
		box.space._pico_peer_address:replace({1, '10.0.0.1:3301', 'iproto'})
		box.space._pico_peer_address:replace({1, '10.0.0.1:4327', 'pgproto'})
		box.space._pico_peer_address:replace({2, '10.0.0.2:3301', 'iproto'})`))
	nodes, err := New().Discover(t.Context(), target(s), "")
	if err != nil || len(nodes) != 2 || nodes[0].Address != "10.0.0.1:3301" || nodes[1].Address != "10.0.0.2:3301" {
		t.Errorf("%+v, %v", nodes, err)
	}
	if _, err := New().Discover(t.Context(), target(testserver.Tarantool(t)), ""); err == nil ||
		!strings.Contains(err.Error(), "_pico_peer_address") {
		t.Errorf("of a Tarantool: %v", err)
	}
}
