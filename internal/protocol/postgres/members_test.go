package postgres

import (
	"strings"
	"testing"

	"brunt/internal/protocol"
	"brunt/test/testserver"
)

// Any instance of Picodata knows the others. Only those of the same protocol are returned. A PostgreSQL stands in for
// Picodata here.
func TestPeersOfPicodata(t *testing.T) {
	s := testserver.Postgres(t)
	like := protocol.Target{Address: s.Addr, User: s.User, Database: s.Database}
	_, err := New().Discover(t.Context(), like, "")
	if err == nil || !strings.Contains(err.Error(), "_pico_peer_address") {
		t.Errorf("of a PostgreSQL: %v", err)
	}
	s.Psql(t, `CREATE TABLE _pico_peer_address (raft_id int, address text, connection_type text);
		INSERT INTO _pico_peer_address VALUES (1, '10.0.0.1:3301', 'iproto'), (1, '10.0.0.1:4327', 'pgproto'),
			(2, '10.0.0.2:4327', 'pgproto')`)
	nodes, err := New().Discover(t.Context(), like, "")
	if err != nil || len(nodes) != 2 || nodes[0].Address != "10.0.0.1:4327" || nodes[1].Address != "10.0.0.2:4327" {
		t.Errorf("%+v, %v", nodes, err)
	}
}
