package redis

import (
	"context"
	"net"
	"strings"

	"brunt/internal/protocol"
	"brunt/internal/protocol/socket"

	goredis "github.com/redis/go-redis/v9"
)

var (
	_ protocol.RoleReader = (*Driver)(nil)
	_ protocol.Discoverer = (*Driver)(nil)
)

// inquire calls questions with a client that has one connection.
func inquire(ctx context.Context, t protocol.Target, questions func(context.Context, *goredis.Client) error) error {
	o, refused := parseOptions(t)
	if refused != nil {
		return refused
	}
	client := goredis.NewClient(libraryOptions(t, o).Simple())
	defer client.Close()
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	if err := questions(ctx, client); err != nil {
		return protocol.Unconnected(socket.Explain(ctx, t.Address, err))
	}
	return nil
}

// Role runs ROLE.
func (*Driver) Role(ctx context.Context, t protocol.Target) (role protocol.Role, err error) {
	err = inquire(ctx, t, func(ctx context.Context, client *goredis.Client) error {
		answer, err := client.Do(ctx, "ROLE").Slice()
		if err == nil && len(answer) > 0 {
			role = protocol.Replica
			if answer[0] == "master" {
				role = protocol.Primary
			}
		}
		return err
	})
	return role, err
}

// Discovers returns true for "sentinel": Sentinel can find Redis servers.
func (*Driver) Discovers(source string) bool { return source == "sentinel" }

// Discover asks a Sentinel for a primary and its replicas. It leaves out replicas that Sentinel considers down.
// The target's credentials are for the servers; it connects to Sentinel without credentials or TLS.
func (*Driver) Discover(ctx context.Context, t protocol.Target, name string) (nodes []protocol.Node, err error) {
	t.User, t.Password, t.Database, t.TLS = "", "", "", nil
	err = inquire(ctx, t, func(ctx context.Context, client *goredis.Client) error {
		primary, err := client.Do(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", name).StringSlice()
		if err != nil || len(primary) != 2 {
			return err
		}
		nodes = []protocol.Node{{Address: net.JoinHostPort(primary[0], primary[1]), Role: protocol.Primary}}
		replicas, err := client.Do(ctx, "SENTINEL", "REPLICAS", name).Slice()
		for _, r := range replicas {
			if n, ok := replicaOf(r); ok && n.Address != nodes[0].Address {
				nodes = append(nodes, n)
			}
		}
		return err
	})
	return nodes, err
}

// replicaOf parses Sentinel's description of a replica: names and values, as a map or as an alternating list. ok
// is false if the replica is down or has no address.
func replicaOf(said any) (n protocol.Node, ok bool) {
	fields := map[string]string{}
	switch said := said.(type) {
	case map[any]any:
		for k, v := range said {
			name, _ := k.(string)
			fields[name], _ = v.(string)
		}
	case []any:
		for i := 0; i+1 < len(said); i += 2 {
			name, _ := said[i].(string)
			fields[name], _ = said[i+1].(string)
		}
	}
	if fields["ip"] == "" || fields["port"] == "" || strings.Contains(fields["flags"], "down") ||
		strings.Contains(fields["flags"], "disconnected") {
		return n, false
	}
	return protocol.Node{Address: net.JoinHostPort(fields["ip"], fields["port"]), Role: protocol.Replica}, true
}
