package iproto

import (
	"context"

	"brunt/internal/protocol"
)

var (
	_ protocol.RoleReader = (*Driver)(nil)
	_ protocol.Discoverer = (*Driver)(nil)
)

// Role asks whether the server is read-only (box.info.ro). The user needs the privilege to run programs.
func (*Driver) Role(ctx context.Context, t protocol.Target) (protocol.Role, error) {
	r, err := evaluate(ctx, t, "return box.info.ro and 'replica' or 'primary'")
	if err != nil {
		return protocol.AnyRole, err
	}
	if r.Array() == 1 && string(r.Text()) == protocol.Primary.String() {
		return protocol.Primary, nil
	}
	return protocol.Replica, nil
}

// Discovers returns true for "members": Picodata's instances know each other.
func (*Driver) Discovers(source string) bool { return source == "members" }

// Discover asks Picodata for the addresses of its instances for this protocol. All instances accept all
// requests, so no node has a role.
func (d *Driver) Discover(ctx context.Context, t protocol.Target, _ string) (nodes []protocol.Node, err error) {
	a, err := d.Admin(ctx, t)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	err = a.Query(ctx, protocol.PicodataPeers("iproto"), func(row []*string) error {
		if len(row) == 1 && row[0] != nil {
			nodes = append(nodes, protocol.Node{Address: *row[0]})
		}
		return nil
	})
	return nodes, err
}
