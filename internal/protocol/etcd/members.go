package etcd

import (
	"context"
	"net/url"

	"brunt/internal/protocol"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

var (
	_ protocol.RoleReader = (*Driver)(nil)
	_ protocol.Discoverer = (*Driver)(nil)
)

// Role reports whether a member is the leader, which counts as the primary: the others forward writes to it.
func (d *Driver) Role(ctx context.Context, t protocol.Target) (protocol.Role, error) {
	c, refused := open(ctx, t)
	if refused != nil {
		return protocol.AnyRole, refused
	}
	defer c.Close()
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	s, err := pb.NewMaintenanceClient(c.client.ActiveConnection()).Status(ctx, &pb.StatusRequest{})
	if err != nil {
		return protocol.AnyRole, failureOf(nil, err, t.Password)
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
	c, refused := open(ctx, t)
	if refused != nil {
		return nil, refused
	}
	defer c.Close()
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	s, err := pb.NewMaintenanceClient(c.client.ActiveConnection()).Status(ctx, &pb.StatusRequest{})
	if err != nil {
		return nil, failureOf(nil, err, t.Password)
	}
	list, err := pb.NewClusterClient(c.client.ActiveConnection()).MemberList(ctx, &pb.MemberListRequest{})
	if err != nil {
		return nil, failureOf(nil, err, t.Password)
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
