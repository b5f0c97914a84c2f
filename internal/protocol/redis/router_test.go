package redis

import (
	"fmt"
	"strings"
	"testing"

	"brunt/internal/protocol"

	goredis "github.com/redis/go-redis/v9"
)

// The positions are those of COMMAND GETKEYS in Redis 7.
func TestKeyWord(t *testing.T) {
	for command, want := range map[string]int{
		"GET k": 1, "mset a 1 b 2": 1, "PING": -1, "EVAL s 1 k a": 3, "EVAL s 0 a": -1, "EVAL s": -1, "FCALL f 2 a b": 3,
		"BITOP AND d a b": 2, "OBJECT ENCODING k": 2, "MEMORY USAGE k": 2, "MEMORY DOCTOR": -1,
		"XREAD COUNT 1 STREAMS s 0":        4,
		"XREADGROUP GROUP g c streams s >": 5, "XREAD": -1, "ZUNION 2 a b": 2, "LMPOP 1 l LEFT": 2, "BLMPOP 0 1 l LEFT": 3,
		"XINFO STREAM s": 2, "INFO": -1, "GET": -1, "MULTI": -1, "MIGRATE h 1 k 0 5": 3,
	} {
		if got := KeyWord(strings.Fields(command)); got != want {
			t.Errorf("%s: word %d, want %d", command, got, want)
		}
	}
}

func clusterRouter(addresses ...string) *router {
	var targets []protocol.Target
	for _, a := range addresses {
		targets = append(targets,
			protocol.Target{Address: a, Options: map[string]string{"mode": "cluster", "max_redirects": "2"}})
	}
	return New().Router(protocol.NewNodes(targets, 0), program(command("PING"))).(*router)
}

func TestTopologyIsLearned(t *testing.T) {
	r := clusterRouter("localhost:7001", "10.0.0.2:7002", "10.0.0.3:7003")
	nodes := []goredis.ClusterNode{{ID: "a", Addr: ":7001"}, {ID: "b", Addr: "10.0.0.2:7002"},
		{ID: "c", Addr: "10.0.0.3:7003"}, {ID: "d", Addr: "10.0.0.4:7004"}}
	seen := topologyOf("a", []goredis.ClusterSlot{
		{Start: 0, End: 99, Nodes: []goredis.ClusterNode{nodes[0], nodes[2]}},
		{Start: 100, End: 199, Nodes: []goredis.ClusterNode{nodes[1]}},
		{Start: 200, End: 299, Nodes: []goredis.ClusterNode{nodes[3]}},
		{Start: 300, End: Slots, Nodes: nodes[:1]}, {Start: 300, End: 300},
	}, "localhost:7001")
	r.slots[250].Store(2)
	r.learn(seen, 0)
	var got []int32
	for _, slot := range []int{0, 99, 100, 199, 200, 250, 300} {
		got = append(got, r.slots[slot].Load())
	}
	if fmt.Sprint(got) != "[1 1 2 2 0 0 0]" {
		t.Errorf("slots are served by %v", got)
	}
	if !r.Serves(0) || !r.Serves(1) || r.Serves(2) {
		t.Errorf("serving: %v %v %v, want the masters", r.Serves(0), r.Serves(1), r.Serves(2))
	}
}

func TestTargetsOfATopology(t *testing.T) {
	nodes := []node{{"a", "10.0.0.1:1"}, {"b", "10.0.0.2:1"}}
	for _, c := range []struct {
		seen    topology
		address string
		want    string
	}{
		{topology{asked: "b", nodes: nodes}, "name:1", "10.0.0.1:1 name:1"},
		{topology{asked: "", nodes: nodes}, "10.0.0.1:1", "10.0.0.1:1 10.0.0.2:1"},
		{topology{asked: "", nodes: nodes}, "name:1", "name:1 10.0.0.1:1 10.0.0.2:1"},
		{topology{asked: "", nodes: []node{{"", "10.0.0.1:1"}, {"", "10.0.0.2:1"}}}, "10.0.0.2:1", "10.0.0.1:1 10.0.0.2:1"},
	} {
		var got []string
		for _, target := range c.seen.targets(protocol.Target{Address: c.address}) {
			got = append(got, target.Address)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q asked at %s: %q, want %s", c.seen.asked, c.address, got, c.want)
		}
	}
}

func TestRedirections(t *testing.T) {
	r := clusterRouter("localhost:7001", "10.0.0.2:7002")
	for _, c := range []struct {
		text      string
		redirects int
		want      string
	}{
		{"MOVED 5 10.0.0.2:7002", 0, "1 false true"},
		{"MOVED 5 10.0.0.2:7002", 2, "1 false false"},
		{"ASK 6 10.0.0.2:7002", 1, "1 true true"},
		{"MOVED 5 :7001", 0, "0 false true"},
		{"MOVED 5 10.0.0.9:1", 0, "0 false false"},
		{"MOVED nonsense", 0, "0 false false"},
		{"TRYAGAIN later", 0, "0 true false"},
	} {
		f := serverFailure([]byte(c.text))
		address, ask, ok := r.Redirect(&f, c.redirects)
		if got := fmt.Sprint(address, ask, ok); got != c.want {
			t.Errorf("%s after %d: %s, want %s", c.text, c.redirects, got, c.want)
		}
	}
	if r.slots[5].Load() != 1 || r.slots[6].Load() != 0 {
		t.Errorf("slot 5 is served by %d and slot 6 by %d", r.slots[5].Load(), r.slots[6].Load())
	}
}

// The answer to ASKING precedes the request's own answer. Both may arrive in any pieces.
func TestAskedAnswers(t *testing.T) {
	requests, _, refused := prepare(protocol.Target{}, program(command("GET", "k")))
	if refused != nil {
		t.Fatal(refused)
	}
	req := &protocol.Request{}
	const answers = "$1\r\na\r\n+OK\r\n$2\r\nbb\r\n+OK\r\n-ERR no\r\n$3\r\nccc\r\n"
	for piece := 1; piece <= len(answers); piece++ {
		c := newCodec(requests)
		var out []byte
		for _, asks := range []bool{false, true, true, false} {
			if encode := c.Encode; asks {
				out, _ = c.EncodeAsk(out, req, nil)
			} else {
				out, _ = encode(out, req, nil)
			}
		}
		if n := strings.Count(string(out), "ASKING"); n != 2 {
			t.Fatalf("%d ASKING sent", n)
		}
		var got []string
		var reply protocol.Reply
		var held []byte
		for at := 0; at < len(answers); at += piece {
			held = append(held, answers[at:min(at+piece, len(answers))]...)
			for len(held) > 0 {
				n, done, _ := c.Scan(held, req, &reply)
				held = held[n:]
				if done {
					got = append(got, fmt.Sprint(reply.Class, reply.BytesIn))
					reply.Reset(0)
				} else if n == 0 {
					break
				}
			}
		}
		if fmt.Sprint(got) != "[ok 7 ok 13 server 14 ok 9]" {
			t.Errorf("by %d: %v", piece, got)
		}
	}
}
