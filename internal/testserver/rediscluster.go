package testserver

import (
	"fmt"
	"strings"
	"time"
)

// Cluster is a Redis cluster of masters that share the 16384 slots evenly.
type Cluster struct {
	Nodes []*Server
}

// Addrs lists the nodes' addresses.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.Nodes))
	for i, n := range c.Nodes {
		addrs[i] = n.Addr
	}
	return addrs
}

const clusterNodes, clusterSlots = 3, 16384

// RedisCluster starts a cluster of three masters and returns when all nodes know that every slot
// is served.
func RedisCluster(t TB, opts ...Option) *Cluster {
	t.Helper()
	o := collect(opts)
	c := &Cluster{}
	for range clusterNodes {
		c.Nodes = append(c.Nodes, startRedis(t, &o, 2, func(s *Server) []string {
			return []string{
				"cluster-enabled yes", "cluster-config-file nodes.conf", "cluster-node-timeout 30000",
				fmt.Sprintf("cluster-port %d", s.ports[1].port),
			}
		}))
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

func command(t TB, s *Server, text string) {
	t.Helper()
	if answer, err := redisAsk(s, text); err != nil || answer != "OK" {
		t.Fatalf("Redis: %s: %s %v", text, answer, err)
	}
}

// await returns when every node sees the whole cluster.
func (c *Cluster) await(t TB) {
	t.Helper()
	var info string
	for deadline := time.Now().Add(readyTimeout); time.Now().Before(deadline); time.Sleep(pollEvery) {
		agreed := 0
		for _, n := range c.Nodes {
			info, _ = redisAsk(n, "CLUSTER INFO")
			if strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d", len(c.Nodes))) &&
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
