package testserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Servers that tests wait for don't answer yet, and go-redis would log each attempt.
func init() { logging.Disable() }

// Redis starts a Redis that stores nothing on disk.
func Redis(t TB, opts ...Option) *Server {
	t.Helper()
	o := collect(opts)
	return startRedis(t, &o, 1, nil)
}

// RedisSentinel starts a Sentinel that monitors a Redis under a name. It alone decides on a failover: when the Redis
// hasn't responded for half a second.
func RedisSentinel(t TB, primary *Server, name string) *Server {
	t.Helper()
	return launch(t, &spec{
		name:   "Redis Sentinel",
		binary: binary(t, "redis-server", "redis-server"),
		configure: func(s *Server) (file, content string) {
			return "sentinel.conf", fmt.Sprintf("bind %s\nport %d\ndir %s\nprotected-mode no\n"+
				"sentinel monitor %s %s %d 1\nsentinel down-after-milliseconds %s 500\nsentinel failover-timeout %s 2000\n",
				loopback, s.Port, s.Dir, name, primary.Host, primary.Port, name, name)
		},
		arguments: func(*Server) []string { return []string{"sentinel.conf", "--sentinel"} },
		ready:     redisReady,
	}, &Server{})
}

func startRedis(t TB, o *options, ports int, more func(s *Server) []string) *Server {
	t.Helper()
	s := &Server{Password: o.password}
	return launch(t, &spec{
		name:   "Redis",
		binary: binary(t, "redis-server", "redis-server"),
		ports:  ports,
		prepare: func(s *Server) error {
			if !o.tls {
				return nil
			}
			return s.certify()
		},
		configure: func(s *Server) (file, content string) {
			lines := redisSettings(s, o)
			if more != nil {
				lines = append(lines, more(s)...)
			}
			return "redis.conf", strings.Join(append(lines, o.settings...), "\n") + "\n"
		},
		arguments: func(*Server) []string { return []string{"redis.conf"} },
		ready:     redisReady,
	}, s)
}

func redisSettings(s *Server, o *options) []string {
	lines := []string{"bind " + loopback, "dir " + s.Dir, `save ""`, "appendonly no", "protected-mode no",
		"maxclients 1000"}
	if o.tls {
		lines = append(lines, "port 0", fmt.Sprintf("tls-port %d", s.Port), "tls-auth-clients no",
			"tls-cert-file "+s.CAFile, "tls-key-file "+s.keyFile(), "tls-ca-cert-file "+s.CAFile)
	} else {
		lines = append(lines, fmt.Sprintf("port %d", s.Port))
	}
	if s.Password != "" {
		lines = append(lines, "requirepass "+s.Password)
	}
	return lines
}

func redisReady(s *Server) error {
	_, err := redisAsk(s, "PING")
	return err
}

// redisAsk sends a command, whose words are separated by spaces, and returns the response as text.
func redisAsk(s *Server, command string) (string, error) {
	c := redis.NewClient(&redis.Options{
		Addr: s.Addr, Password: s.Password, TLSConfig: s.TLS, Protocol: 2, DisableIdentity: true, MaxRetries: -1,
		DialerRetries: 1, DialTimeout: time.Second,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	defer c.Close()
	words := []any{}
	for word := range strings.FieldsSeq(command) {
		words = append(words, word)
	}
	return c.Do(context.Background(), words...).Text()
}

// Cluster is a Redis cluster whose masters share the 16384 slots evenly.
type Cluster struct {
	Nodes []*Server
}

// Addrs returns the addresses of the nodes.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.Nodes))
	for i, n := range c.Nodes {
		addrs[i] = n.Addr
	}
	return addrs
}

const clusterNodes, clusterSlots = 3, 16384

// clusterMember returns the additional settings of a cluster's node.
func clusterMember(s *Server) []string {
	return []string{
		"cluster-enabled yes", "cluster-config-file nodes.conf", "cluster-node-timeout 30000",
		fmt.Sprintf("cluster-port %d", s.ports[1].port),
	}
}

// RedisCluster starts a cluster of three masters and returns once all nodes know that every slot is served.
func RedisCluster(t TB, opts ...Option) *Cluster {
	t.Helper()
	o := collect(opts)
	c := &Cluster{}
	for range clusterNodes {
		c.Nodes = append(c.Nodes, startRedis(t, &o, 2, clusterMember))
	}
	for i, n := range c.Nodes {
		first, last := i*clusterSlots/clusterNodes, (i+1)*clusterSlots/clusterNodes-1
		command(t, n, fmt.Sprintf("CLUSTER ADDSLOTSRANGE %d %d", first, last))
		command(t, n, fmt.Sprintf("CLUSTER SET-CONFIG-EPOCH %d", i+1))
	}
	for _, n := range c.Nodes[1:] {
		command(t, c.Nodes[0], fmt.Sprintf("CLUSTER MEET %s %d %d", n.Host, n.Port, n.ports[1].port))
	}
	c.await(t)
	return c
}

// Join starts another master, adds it to the cluster, and returns once all nodes know it. It serves no slots.
func (c *Cluster) Join(t TB) *Server {
	t.Helper()
	o := collect(nil)
	n := startRedis(t, &o, 2, clusterMember)
	command(t, n, fmt.Sprintf("CLUSTER MEET %s %d %d", c.Nodes[0].Host, c.Nodes[0].Port, c.Nodes[0].ports[1].port))
	c.Nodes = append(c.Nodes, n)
	c.await(t)
	return n
}

// Replicate starts a replica of every master. It returns once all nodes know the replicas and these have their masters'
// data. The options must be those of the cluster.
func (c *Cluster) Replicate(t TB, opts ...Option) {
	t.Helper()
	o := collect(opts)
	first := c.Nodes[0]
	masters := slices.Clone(c.Nodes)
	for range masters {
		n := startRedis(t, &o, 2, clusterMember)
		command(t, n, fmt.Sprintf("CLUSTER MEET %s %d %d", first.Host, first.Port, first.ports[1].port))
		c.Nodes = append(c.Nodes, n)
	}
	c.await(t)
	for i, m := range masters {
		id, err := redisAsk(m, "CLUSTER MYID")
		if err != nil {
			t.Fatalf("Redis: CLUSTER MYID: %v", err)
		}
		replica := c.Nodes[len(masters)+i]
		command(t, replica, "CLUSTER REPLICATE "+id)
		awaitRedis(t, replica, "INFO replication", "master_link_status:up", 1)
	}
	for _, n := range c.Nodes {
		awaitRedis(t, n, "CLUSTER NODES", "slave ", len(masters))
	}
}

// awaitRedis waits until the response to a command contains a text the given number of times.
func awaitRedis(t TB, s *Server, ask, text string, times int) {
	t.Helper()
	var answer string
	for deadline := time.Now().Add(readyTimeout); time.Now().Before(deadline); time.Sleep(pollEvery) {
		if answer, _ = redisAsk(s, ask); strings.Count(answer, text) >= times {
			return
		}
	}
	t.Fatalf("Redis: %s doesn't say %s within %v: %s", ask, text, readyTimeout, answer)
}

// Take assigns the slots first to last to a node of the cluster. Their keys are lost.
func (c *Cluster) Take(t TB, to *Server, first, last int) {
	t.Helper()
	for _, n := range c.Nodes {
		command(t, n, fmt.Sprintf("CLUSTER DELSLOTSRANGE %d %d", first, last))
	}
	command(t, to, fmt.Sprintf("CLUSTER ADDSLOTSRANGE %d %d", first, last))
	if _, err := redisAsk(to, "CLUSTER BUMPEPOCH"); err != nil {
		t.Fatalf("Redis: CLUSTER BUMPEPOCH: %v", err)
	}
}

func command(t TB, s *Server, text string) {
	t.Helper()
	if answer, err := redisAsk(s, text); err != nil || answer != "OK" {
		t.Fatalf("Redis: %s: %s %v", text, answer, err)
	}
}

// await waits until every node sees the whole cluster.
func (c *Cluster) await(t TB) {
	t.Helper()
	var info string
	for deadline := time.Now().Add(readyTimeout); time.Now().Before(deadline); time.Sleep(pollEvery) {
		agreed := 0
		for _, n := range c.Nodes {
			info, _ = redisAsk(n, "CLUSTER INFO")
			if strings.Contains(info, "cluster_state:ok") &&
				strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d", len(c.Nodes))) &&
				strings.Contains(info, fmt.Sprintf("cluster_slots_ok:%d", clusterSlots)) {
				agreed++
			}
		}
		if agreed == len(c.Nodes) {
			return
		}
	}
	t.Fatalf("the Redis cluster wasn't ready within %v: %s", readyTimeout, info)
}
