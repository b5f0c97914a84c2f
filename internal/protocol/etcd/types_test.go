package etcd

import (
	"strings"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocoltest"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Bytes that were captured are stored again as they were, as etcd's own client sees them.
func TestValuesAreSentBack(t *testing.T) {
	s := servers.Etcd(t)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Addr}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	read := worded(0, "get type:from", 0, "value")
	write := worded(1, "put type:to $1", 1)
	p := &protocol.Program{Requests: []protocol.Request{read, write}}
	var all strings.Builder
	for i := range 256 {
		all.WriteByte(byte(i))
	}
	tiers(t, protocol.Target{Address: s.Addr}, p, func(t *testing.T, c protocol.Conn) {
		for _, want := range []string{"", all.String(), "-0", "1e400", "null", `{"a": 1}`, strings.Repeat("x", 60_000)} {
			if _, err := client.Put(t.Context(), "type:from", want); err != nil {
				t.Fatal(err)
			}
			var r protocol.Reply
			c.Do(protocoltest.Within(t, 20*time.Second), &p.Requests[0], nil, &r)
			if r.Class != protocol.OK {
				t.Fatalf("%.20q: %+v", want, r.Failure)
			}
			value := r.Captured[0].Clone()
			c.Do(protocoltest.Within(t, 20*time.Second), &p.Requests[1], []gen.Value{value}, &r)
			got, err := client.Get(t.Context(), "type:to")
			if err != nil || r.Class != protocol.OK || len(got.Kvs) != 1 || string(got.Kvs[0].Value) != want {
				t.Errorf("%.20q was sent back as %v, %v %+v", want, got, err, r.Failure)
			}
		}
	})
}
