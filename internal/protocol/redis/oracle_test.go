package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"brunt/internal/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/blocking"
	"brunt/internal/protocol/protocoltest"

	goredis "github.com/redis/go-redis/v9"
)

// TestRowsAreThoseOfGoRedis has the vendor's own client and the codec ask for the same, over both versions of the
// protocol, over TLS and in pieces: what comes back is the same, element by element.
func TestRowsAreThoseOfGoRedis(t *testing.T) {
	s := servers.Redis(t)
	for _, resp := range []int{2, 3} {
		library := goredis.NewClient(&goredis.Options{Addr: s.Addr, Protocol: resp, DisableIdentity: true})
		defer library.Close()
		seed(t, library)
		target := protocol.Target{Address: s.Addr, Options: map[string]string{"resp": fmt.Sprint(resp)}}
		ours, err := New().Dial(t.Context(), target, &protocol.Program{})
		if err != nil {
			t.Fatal(err)
		}
		defer ours.Close()
		torn := protocoltest.Take(t, New(), target, &protocol.Program{}, 1)
		for i, words := range [][]string{
			{"PING"}, {"GET", "text"}, {"GET", "binary"}, {"GET", "nothing"}, {"STRLEN", "text"},
			{"MGET", "text", "nothing", "binary"},
			{"HGETALL", "hash"}, {"HGETALL", "nothing"}, {"LRANGE", "list", "0", "-1"}, {"SMEMBERS", "set"},
			{"ZRANGE", "sorted", "0", "-1", "WITHSCORES"}, {"ZSCORE", "sorted", "a"}, {"XRANGE", "stream", "-", "+"},
			{"EVAL", "return {1, {2, {3, 'x'}}, 'y', false, {}}", "0"}, {"EVAL", "return redis.status_reply('fine')", "0"},
			{
				"EVAL", "redis.setresp(3); return {true, {double=3.5}, {map={a=1}}, {set={b=true}}, {big_number='123456789012345678901'}}", "0"},
			{"EVAL", "redis.setresp(3); return {verbatim_string={format='txt', string='some text'}}", "0"},
			{"COMMAND", "DOCS", "GET"}, {"GETRANGE", "long", "0", "-1"}, {"NOSUCH"}, {"LPUSH", "text", "x"},
		} {
			t.Run(fmt.Sprintf("%d %s %.40q", resp, words[0], words[1:]), func(t *testing.T) {
				want := askLibrary(t.Context(), library, words)
				for name, c := range map[string]protocol.AdHoc{"blocking": ours.(*blocking.Conn), "in single bytes": torn} {
					req := protocol.Request{ID: i, Verb: protocol.Command, Words: words}
					if err := c.Add(t.Context(), &req); err != nil {
						t.Fatal(err)
					}
					if got := askOurs(t, c, &req); got != want {
						t.Errorf("%s:\n got %.600s\nwant %.600s", name, got, want)
					}
				}
			})
		}
	}
}

func seed(t *testing.T, c *goredis.Client) {
	t.Helper()
	for _, words := range [][]any{
		{"FLUSHDB"}, {"SET", "text", "välue"}, {"SET", "binary", "\x00\r\n$-1\r\n\xff"}, {"HSET", "hash", "b", "2", "a", "1"},
		{"RPUSH", "list", "x", "", "y"}, {"SADD", "set", "one"}, {"ZADD", "sorted", "1.5", "a", "-inf", "b"},
		{"XADD", "stream", "1-1", "k", "v"}, {"SET", "long", strings.Repeat("0123456789", 20_000)},
	} {
		if err := c.Do(t.Context(), words...).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// askLibrary is the rows of an answer as the library has them, or its error.
func askLibrary(ctx context.Context, c *goredis.Client, words []string) string {
	list := make([]any, len(words))
	for i, w := range words {
		list[i] = w
	}
	v, err := c.Do(ctx, list...).Result()
	var rows rowList
	switch {
	case errors.Is(err, goredis.Nil):
	case err != nil:
		return strings.TrimSpace(err.Error())
	default:
		give(v, rows.add)
	}
	return rows.String()
}

func askOurs(t *testing.T, c protocol.Conn, req *protocol.Request) string {
	t.Helper()
	var rows rowList
	reply := protocol.Reply{Each: rows.add}
	c.Do(protocoltest.Within(t, 10*time.Second), req, nil, &reply)
	if reply.Class != protocol.OK {
		return reply.Text
	}
	return rows.String()
}

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

// A cluster's replicas are read from if that is asked for, and keys on their way to another node are found.
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

// TestAskedNodeAnswersTwice: the answer to ASKING is no part of what a command returns.
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
