// Package clusters_test compares the account of outages with an independent observer, on clusters whose leaders are
// killed and stopped.
package clusters_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/tarantool/go-tarantool/v2"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"brunt/internal/server/fault/proxy"
	"brunt/test/observer"
	"brunt/test/testserver"
)

// cluster is a cluster whose leader can be made to fail.
type cluster struct {
	plan   string        // the target and queries of a load on it
	lasts  time.Duration // length of the load
	nodes  int
	write  func(ctx context.Context, node, tick int) error // the observer's write to one node
	strike func(t *testing.T) (heal func())                // causes the failure; heal is called after the load
}

func nothing() {}

// holeLasts is the length of a black hole.
const holeLasts = 1500 * time.Millisecond

func etcd(t *testing.T, members []*testserver.Server) *cluster {
	t.Helper()
	c := &cluster{nodes: len(members), lasts: 4 * time.Second}
	var addrs []string
	var clients []*clientv3.Client
	for _, m := range members {
		addrs = append(addrs, m.Addr)
		client, err := clientv3.New(clientv3.Config{Endpoints: []string{m.Addr}, Logger: zap.NewNop(),
			DialTimeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		clients = append(clients, client)
	}
	c.plan = fmt.Sprintf(`
target: {protocol: etcd, addresses: [%s]}
queries:
  - {name: put, update: k, fields: [v], params: [{type: Integer, range: [1, 1000]}, {type: constant, value: x}]}
`, strings.Join(addrs, ", "))
	c.write = func(ctx context.Context, node, tick int) error {
		_, err := clients[node].Put(ctx, "observer", fmt.Sprint(tick))
		return err
	}
	return c
}

// leads returns the number of the member that is the leader.
func leads(t *testing.T, members []*testserver.Server) (number int) {
	t.Helper()
	leader := testserver.EtcdLeader(members)
	for i, m := range members {
		if m == leader {
			return i
		}
	}
	t.Fatal("no member leads")
	return 0
}

func etcdKilled(t *testing.T) *cluster {
	members := testserver.EtcdCluster(t, 3)
	c := etcd(t, members)
	c.strike = func(t *testing.T) func() {
		members[leads(t, members)].Kill()
		return nothing
	}
	return c
}

func etcdStopped(t *testing.T) *cluster {
	members := testserver.EtcdCluster(t, 3)
	c := etcd(t, members)
	c.strike = func(t *testing.T) func() {
		leader := members[leads(t, members)]
		leader.Pause()
		return leader.Resume
	}
	return c
}

// etcdBehindProxies returns an etcd cluster whose members reach each other through proxies. A member sends to another
// one over a connection that the other has made. So a proxy blocks what its own member sends if it blocks what its
// clients receive.
func etcdBehindProxies(t *testing.T, isHeld func(member, leader int) bool) *cluster {
	t.Helper()
	proxies := make([]*proxy.Proxy, 3)
	members := testserver.EtcdCluster(t, 3, testserver.PeersThrough(func(member int, listen string) string {
		p, err := proxy.Listen(proxy.Config{Listen: "127.0.0.1:0", To: listen})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		proxies[member] = p
		return p.Address()
	}))
	c := etcd(t, members)
	c.lasts = 6 * time.Second
	c.strike = func(t *testing.T) func() {
		leader := leads(t, members)
		hole := &proxy.Rule{ToClient: true, Block: true}
		for i, p := range proxies {
			if isHeld(i, leader) {
				p.Set(hole)
			}
		}
		healed := make(chan struct{})
		time.AfterFunc(holeLasts, func() {
			defer close(healed)
			for _, p := range proxies {
				p.Clear(hole)
			}
		})
		return func() { <-healed }
	}
	return c
}

func etcdMute(t *testing.T) *cluster {
	return etcdBehindProxies(t, func(member, leader int) bool { return member == leader })
}

func etcdDeaf(t *testing.T) *cluster {
	return etcdBehindProxies(t, func(member, leader int) bool { return member != leader })
}

// redisKilled returns a Redis cluster whose load is all on one master, which is killed.
func redisKilled(t *testing.T) *cluster {
	timeout := testserver.Settings("cluster-node-timeout 1000")
	nodes := testserver.RedisCluster(t, timeout)
	nodes.Replicate(t, timeout)
	c := &cluster{nodes: len(nodes.Nodes), lasts: 8 * time.Second}
	write := observer.Redis(t, "{one}observer", nodes.Addrs()...)
	c.plan = fmt.Sprintf(`
target: {protocol: redis, addresses: [%s], options: {mode: cluster}}
queries:
  - {name: set, command: [SET, "{one}$1", x], params: [{type: Integer, range: [1, 1000]}]}
`, nodes.Addrs()[0])
	c.write = write
	c.strike = func(t *testing.T) func() {
		for i, node := range nodes.Nodes {
			if write(t.Context(), i, 0) == nil {
				node.Kill()
				return nothing
			}
		}
		t.Fatal("no master has the slot")
		return nothing
	}
	return c
}

// patroniKilled returns a cluster whose primary brunt finds by Patroni's REST API.
func patroniKilled(synchronous bool) func(t *testing.T) *cluster {
	return func(t *testing.T) *cluster {
		members := testserver.PatroniCluster(t, 3, synchronous)
		members[0].Psql(t, "CREATE TABLE event (n bigint); CREATE TABLE observed (n bigint)")
		c := &cluster{nodes: len(members), lasts: 4*time.Second + 2*testserver.PatroniTTL}
		var addrs, rest []string
		var pools []*pgxpool.Pool
		for _, m := range members {
			addrs, rest = append(addrs, m.Addr), append(rest, m.REST)
			pool, err := pgxpool.New(t.Context(), fmt.Sprintf(
				"host=%s port=%d user=%s dbname=%s sslmode=disable pool_max_conns=32", m.Host, m.Port, m.User, m.Database))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(pool.Close)
			pools = append(pools, pool)
		}
		c.plan = fmt.Sprintf(`
target:
  protocol: pg
  addresses: [%s]
  user: brunt
  database: postgres
  topology: {source: patroni, from: [%s], every: 10ms}
queries:
  - {name: insert, route: primary, sql: insert into event values ($1), params: [{type: Integer}]}
`, addrs[0], strings.Join(rest, ", "))
		c.write = func(ctx context.Context, node, tick int) error {
			_, err := pools[node].Exec(ctx, "INSERT INTO observed VALUES ($1)", tick)
			return err
		}
		c.strike = func(t *testing.T) func() {
			leader := testserver.PatroniLeader(members)
			if leader == nil {
				t.Fatal("no member leads")
			}
			leader.Kill()
			return nothing
		}
		return c
	}
}

func tarantoolKilled(t *testing.T) *cluster {
	members := testserver.TarantoolCluster(t, 3, testserver.Lua(`
local s = box.schema.space.create('kv', {is_sync = true, if_not_exists = true})
s:create_index('primary', {if_not_exists = true})`))
	c := &cluster{nodes: len(members), lasts: 7 * time.Second}
	var addrs []string
	var conns []*tarantool.Connection
	for _, m := range members {
		addrs = append(addrs, m.Addr)
		conn, err := tarantool.Connect(t.Context(),
			tarantool.NetDialer{Address: m.Addr, User: m.User, Password: m.Password},
			tarantool.Opts{Reconnect: 20 * time.Millisecond, MaxReconnects: 1000, SkipSchema: true, Logger: silent{}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		conns = append(conns, conn)
	}
	t.Setenv("BRUNT_PASSWORD", members[0].Password)
	c.plan = fmt.Sprintf(`
target: {protocol: iproto, addresses: [%s], user: brunt, topology: {source: roles, every: 20ms}}
queries:
  - {name: put, route: primary, replace: kv, params: [{type: Unsigned, range: [1, 1000]}, {type: constant, value: x}]}
`, strings.Join(addrs, ", "))
	c.write = func(ctx context.Context, node, tick int) error {
		_, err := conns[node].Do(tarantool.NewEvalRequest("box.space.kv:replace({0, ...})").Args([]any{tick}).
			Context(ctx)).Get()
		return err
	}
	c.strike = func(*testing.T) func() {
		members[0].Kill()
		return nothing
	}
	return c
}

// silent discards the messages of the client library.
type silent struct{}

// Report implements tarantool.Logger.
func (silent) Report(tarantool.ConnLogKind, *tarantool.Connection, ...any) {}
