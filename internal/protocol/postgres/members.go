package postgres

import (
	"context"

	"brunt/internal/protocol"
)

var _ protocol.Discoverer = (*Driver)(nil)

// Discovers returns true for "members": Picodata's instances know each other.
func (*Driver) Discovers(source string) bool { return source == "members" }

// Discover asks Picodata for the addresses of its instances for this protocol. All instances accept all
// requests, so no node has a role.
func (*Driver) Discover(ctx context.Context, t protocol.Target, _ string) (nodes []protocol.Node, err error) {
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	conn, err := connect(ctx, t)
	if err != nil {
		return nil, connectError(ctx, t, err)
	}
	defer conn.Close(ctx)
	result := conn.ExecParams(ctx, protocol.PicodataPeers("pgproto"), nil, nil, nil, nil).Read()
	if result.Err != nil {
		return nil, connectError(ctx, t, result.Err)
	}
	for _, row := range result.Rows {
		if len(row) == 1 && row[0] != nil {
			nodes = append(nodes, protocol.Node{Address: string(row[0])})
		}
	}
	return nodes, nil
}
