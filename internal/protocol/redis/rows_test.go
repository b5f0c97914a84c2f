package redis

import (
	"encoding/json"
	"strings"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocoltest"
)

type rowList []string

func (r *rowList) add(columns []string, row []gen.Value) {
	text := strings.Join(columns, ",") + ":"
	for i := range row {
		text += " " + protocoltest.Text(&row[i])
	}
	*r = append(*r, text)
}

func (r *rowList) String() string {
	text, _ := json.Marshal(r)
	return string(text)
}

// A cluster's replicas are used for reading if the plan asks for it, and keys that are moving to another node are
// found.
func TestClusterReadsFromReplicas(t *testing.T) {
	cluster := servers.RedisCluster(t)
	get := command("GET", "key:$1")
	get.Params = []gen.Kind{gen.Int}
	p := program(get)
	target := protocol.Target{Address: cluster.Addrs()[0],
		Options: map[string]string{"mode": "cluster", "read_only": "on"}}
	conn, err := New().Dial(t.Context(), target, p)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c := conn.(*clusterConn)
	for i := range int64(50) {
		if r := do(t, c, &p.Requests[0], gen.Value{Kind: gen.Int, I: i}); r.Class != protocol.OK {
			t.Fatalf("GET %d: %+v", i, r)
		}
	}
	replicas := map[string]bool{}
	for i := range c.replicas {
		for _, address := range c.replicas[i] {
			replicas[address] = true
		}
	}
	for address := range c.nodes {
		if len(replicas) > 0 && !replicas[address] && address != target.Address {
			t.Errorf("reads went to %s, which is no replica of %v", address, replicas)
		}
	}
}

// In TestAskedNodeAnswersTwice the answer to ASKING is not part of the result of a command.
func TestAskedNodeAnswersTwice(t *testing.T) {
	p := program(command("GET", "k"))
	requests, _, refused := prepare(protocol.Target{}, p)
	if refused != nil {
		t.Fatal(refused)
	}
	c := &askingCodec{codec: newCodec(requests), ask: true}
	out, refused := c.Encode(nil, &p.Requests[0], nil)
	if refused != nil || !strings.HasPrefix(string(out), "*1\r\n$6\r\nASKING\r\n*2\r\n") {
		t.Fatalf("%q, %v", out, refused)
	}
	answer := []byte("+OK\r\n$1\r\nv\r\n")
	var reply protocol.Reply
	if n, done, _ := c.Scan(answer, &p.Requests[0], &reply); n != len(answer) || !done {
		t.Fatalf("%d bytes, done %v", n, done)
	}
	var rows rowList
	if refused := c.Rows(answer, &p.Requests[0], rows.add); refused != nil || rows.String() != `["value: 6:\"v\""]` {
		t.Errorf("%s, %v", rows.String(), refused)
	}
}
