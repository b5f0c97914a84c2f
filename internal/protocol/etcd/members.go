package etcd

import (
	"context"
	"net/url"

	"brunt/internal/protocol"
)

var (
	_ protocol.RoleReader = (*Driver)(nil)
	_ protocol.Discoverer = (*Driver)(nil)
)

// Role reports whether a member is the leader, which counts as the primary: the others forward writes to it.
func (d *Driver) Role(ctx context.Context, t protocol.Target) (protocol.Role, error) {
	s, _, refused := ask(ctx, t, false)
	if refused != nil {
		return protocol.AnyRole, refused
	}
	return roleOf(s.Leader, s.Header.MemberId), nil
}

func roleOf(leader, member uint64) protocol.Role {
	if leader == member && member != 0 {
		return protocol.Primary
	}
	return protocol.Replica
}

// Discovers returns true for "members": etcd's members know each other.
func (*Driver) Discovers(source string) bool { return source == "members" }

// Discover asks a member for all members (MemberList) and for the leader. It leaves out members that haven't
// started, and learners, which accept no requests.
func (d *Driver) Discover(ctx context.Context, t protocol.Target, _ string) ([]protocol.Node, error) {
	s, list, refused := ask(ctx, t, true)
	if refused != nil {
		return nil, refused
	}
	var nodes []protocol.Node
	for _, m := range list.Members {
		if m.IsLearner || len(m.ClientURLs) == 0 {
			continue
		}
		u, err := url.Parse(m.ClientURLs[0])
		if err != nil || u.Host == "" {
			continue
		}
		nodes = append(nodes, protocol.Node{Address: u.Host, Role: roleOf(s.Leader, m.ID)})
	}
	return nodes, nil
}
