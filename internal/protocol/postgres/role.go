package postgres

import (
	"context"

	"brunt/internal/protocol"
)

var _ protocol.RoleReader = (*Driver)(nil)

// Role asks whether the server is in recovery, as a standby is. A server that refuses writes because of its
// settings (default_transaction_read_only) counts as a replica too, as for target_session_attrs=read-write.
func (*Driver) Role(ctx context.Context, t protocol.Target) (protocol.Role, error) {
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	conn, err := connect(ctx, t)
	if err != nil {
		return protocol.AnyRole, connectError(ctx, t, err)
	}
	defer conn.Close(ctx)
	role := protocol.Replica
	const question = "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::bool"
	results, err := conn.Exec(ctx, question).ReadAll()
	if err != nil {
		return protocol.AnyRole, connectError(ctx, t, err)
	}
	if len(results) == 1 && len(results[0].Rows) == 1 && string(results[0].Rows[0][0]) == "f" {
		role = protocol.Primary
	}
	return role, nil
}
