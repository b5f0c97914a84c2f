package etcd

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocoltest"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// worded returns a request for a command of words separated by spaces.
func worded(id int, text string, params int, captures ...string) protocol.Request {
	r := protocol.Request{ID: id, Verb: protocol.Command, Words: strings.Fields(text), Params: make([]gen.Kind, params)}
	for _, name := range captures {
		r.Capture = append(r.Capture, protocol.Capture{Name: name})
	}
	return r
}

// Messages are compared with those that etcd's own library writes.
func TestMessages(t *testing.T) {
	put := func(k, v string) *pb.RequestOp {
		return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte(k), Value: []byte(v)}}}
	}
	get := func(k string) *pb.RequestOp {
		return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: []byte(k)}}}
	}
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		words string
		args  []any
		want  proto.Message
	}{
		{"put $1 v$2", []any{"k", 7}, &pb.PutRequest{Key: []byte("k"), Value: []byte("v7")}},
		{"put k v --prev-kv --lease=$1", []any{9}, &pb.PutRequest{Key: []byte("k"), Value: []byte("v"), Lease: 9,
			PrevKv: true}},
		{"get a b --limit=10 --keys-only --consistency=s", nil, &pb.RangeRequest{Key: []byte("a"), RangeEnd: []byte("b"),
			Limit: 10, KeysOnly: true, Serializable: true}},
		{"get a --prefix --count-only --rev=$1", []any{"12"}, &pb.RangeRequest{Key: []byte("a"), RangeEnd: []byte("b"),
			CountOnly: true, Revision: 12}},
		{"del a --prefix", nil, &pb.DeleteRangeRequest{Key: []byte("a"), RangeEnd: []byte("b")}},
		{"txn then put $1 $2 ; put b " + long, []any{"a", long}, &pb.TxnRequest{
			Success: []*pb.RequestOp{put("a", long), put("b", long)}}},
		{"txn if mod $1 = $2 ; value b != c then put $1 x else get $1 ; get b", []any{"a", 3}, &pb.TxnRequest{
			Compare: []*pb.Compare{
				{Key: []byte("a"), Target: pb.Compare_MOD, Result: pb.Compare_EQUAL,
					TargetUnion: &pb.Compare_ModRevision{ModRevision: 3}},
				{Key: []byte("b"), Target: pb.Compare_VALUE, Result: pb.Compare_NOT_EQUAL,
					TargetUnion: &pb.Compare_Value{Value: []byte("c")}},
			},
			Success: []*pb.RequestOp{put("a", "x")}, Failure: []*pb.RequestOp{get("a"), get("b")}}},
		{"lease-grant 100 --id=$1", []any{5}, &pb.LeaseGrantRequest{TTL: 100, ID: 5}},
		{"lease-keepalive $1", []any{5}, &pb.LeaseKeepAliveRequest{ID: 5}},
		{"compact 4", nil, &pb.CompactionRequest{Revision: 4}},
		{"compact --behind=1000", nil, &pb.CompactionRequest{Revision: 500}},
	} {
		req := worded(0, c.words, len(c.args))
		q, refused := parseCommand(&req)
		if refused != nil {
			t.Errorf("%s: %v", c.words, refused)
			continue
		}
		out, refused := q.message(nil, protocoltest.Values(c.args...), 1500)
		if refused != nil {
			t.Errorf("%s: %v", c.words, refused)
			continue
		}
		got := c.want.ProtoReflect().New().Interface()
		if err := proto.Unmarshal(out, got); err != nil || !proto.Equal(got, c.want) {
			t.Errorf("%s: %v, %v\nwant %v", c.words, got, err, c.want)
		}
	}
}

func TestBadCommands(t *testing.T) {
	for words, want := range map[string]string{
		"":                          "without words",
		"observe a":                 `"observe" is no command of etcd`,
		"put a":                     "put: the value is missing",
		"put a b c":                 `nothing can follow here: "c"`,
		"get a --limit=x":           `the limit "x" is no whole number`,
		"get a --limit":             "unknown option --limit; there are --prefix, --limit=",
		"get $1 --prefix":           "needs a key without parameters",
		"get a b --prefix":          "exclude each other",
		"get $2":                    "names no parameter",
		"get a --consistency=x":     "neither l nor s",
		"txn put a b":               `"put" where there must be then`,
		"txn then touch a":          `"touch" is no operation of a transaction`,
		"txn then put a b get c":    `"get" where there must be ; or else`,
		"txn if size a = 1 then":    `"size" can't be compared`,
		"txn if mod a ~ 1 then":     `"~" doesn't compare`,
		"txn if mod a = x then":     `mod "x" is no whole number`,
		"lease-keepalive":           "the lease's ID is missing",
		"compact --behind=-1":       "no number of revisions",
		"status now":                "nothing can follow",
		"lease-grant 1 --if-absent": "",
	} {
		req := worded(0, words, 1)
		if _, refused := parseCommand(&req); want == "" && refused != nil ||
			want != "" && (refused == nil || !strings.Contains(refused.Text, want)) {
			t.Errorf("%q: %v; want %s", words, refused, want)
		}
	}
	req := worded(0, "put a b", 0, "value")
	if _, refused := parseCommand(&req); refused == nil || !strings.Contains(refused.Text, `no "value" to capture`) {
		t.Errorf("%v", refused)
	}
}

func FuzzCommand(f *testing.F) {
	for _, seed := range []string{"put $1 $2", "txn if mod a = $1 then put a b ; del c else get a --limit=3",
		"lease-grant 1 --id=$1 --if-absent", "get a --prefix", "compact --behind=3"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		req := worded(0, text, 2)
		q, refused := parseCommand(&req)
		if refused != nil {
			return
		}
		out, refused := q.message(nil, protocoltest.Values(1, "2"), 7)
		if refused != nil {
			return
		}
		take := func(protowire.Number, protowire.Type, []byte) protocol.Violation { return "" }
		if bad := eachField(out, take); bad != "" {
			t.Errorf("%q: %s", text, bad)
		}
	})
}

// Both tiers execute commands on a real etcd, with the answers that etcd's own client gets.
func TestCommands(t *testing.T) {
	s := servers.Etcd(t)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Addr}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	const (
		put = iota
		get
		txn
		grant
		keepAlive
		revoke
		compact
		status
		hash
		remove
		watched
		next
	)
	p := &protocol.Program{Requests: []protocol.Request{
		put: worded(put, "put $1 $2", 2, "revision"),
		get: worded(get, "get $1 --consistency=s", 1, "mod_revision", "value", "key", "count", "revision"),
		txn: worded(txn, "txn if mod $1 = $2 then put $1 new ; get $1 else get $1", 2, "succeeded", "0.mod_revision",
			"1.value", "0.revision"),
		grant:     worded(grant, "lease-grant 100 --id=$1 --if-absent", 1),
		keepAlive: worded(keepAlive, "lease-keepalive $1", 1, "id", "ttl"),
		revoke:    worded(revoke, "lease-revoke $1", 1),
		compact:   worded(compact, "compact --behind=1", 0),
		status:    worded(status, "status", 0, "server_version", "db_size"),
		hash:      worded(hash, "hashkv", 0, "hash"),
		watched:   worded(watched, "watch $1 --rev=$2", 2, "watch"),
		next:      worded(next, "next", 0, "mod_revision", "key", "value", "watch", "at"),
		remove:    worded(remove, "del c:", 0),
	}}
	if why, ok := New().Takes(protocol.Target{Address: s.Addr}, p); ok || why != "watches need the library tier" {
		t.Errorf("watches on event loops: %s", why)
	}
	p.Requests[remove].Words = []string{"del", "c:", "--prefix"}
	both := &protocol.Program{Requests: p.Requests[:watched]}
	library, err := New().Dial(t.Context(), protocol.Target{Address: s.Addr}, p)
	if err != nil {
		t.Fatal(err)
	}
	defer library.Close()
	checkWatch(t, library, p, watched, next, put)
	tiers(t, protocol.Target{Address: s.Addr}, both, func(t *testing.T, c protocol.Conn) {
		var r protocol.Reply
		do := func(id int, args ...any) *protocol.Reply {
			c.Do(protocoltest.Within(t, 10*time.Second), &p.Requests[id], protocoltest.Values(args...), &r)
			return &r
		}
		do(remove)
		if do(get, "c:a"); r.Class != protocol.OK || r.Rows != 0 || r.Captured[0].I != 0 || r.Captured[3].I != 0 {
			t.Errorf("get of nothing: %+v", r)
		}
		do(put, "c:a", []byte{0xff, 0})
		revision := r.Captured[0].I
		found, err := client.Get(t.Context(), "c:a")
		if err != nil || found.Kvs[0].ModRevision != revision || !bytes.Equal(found.Kvs[0].Value, []byte{0xff, 0}) {
			t.Errorf("put: %+v; %v, %v", r, found, err)
		}
		if do(get, "c:a"); r.Rows != 1 || r.Captured[0].I != revision || !bytes.Equal(r.Captured[1].B, []byte{0xff, 0}) ||
			string(r.Captured[2].B) != "c:a" || r.Captured[3].I != 1 || r.Captured[4].I < revision {
			t.Errorf("get: %+v", r)
		}
		if do(txn, "c:a", revision-1); r.Captured[0].I != 0 || r.Rows != 1 || r.Affected != 0 ||
			r.Captured[1].I != revision || r.Captured[2].Kind != gen.Null || r.Captured[3].I < revision {
			t.Errorf("txn that fails: %+v", r)
		}
		if do(txn, "c:a", revision); r.Captured[0].I != 1 || r.Rows != 1 || r.Affected != 1 ||
			string(r.Captured[2].B) != "new" {
			t.Errorf("txn: %+v", r)
		}
		for range 2 {
			if do(grant, 4711); r.Class != protocol.OK {
				t.Errorf("grant: %+v", r)
			}
		}
		if do(keepAlive, 4711); r.Class != protocol.OK || r.Captured[0].I != 4711 || r.Captured[1].I != 100 {
			t.Errorf("keep-alive: %+v", r)
		}
		do(revoke, 4711)
		if do(keepAlive, 4711); r.Class != protocol.Server || !strings.Contains(r.Text, "lease not found") {
			t.Errorf("keep-alive of nothing: %+v", r)
		}
		do(put, "c:b", "x")
		last := r.Captured[0].I
		if do(compact); r.Class != protocol.OK {
			t.Errorf("compact: %+v", r)
		}
		if _, err := client.Get(t.Context(), "c:a", clientv3.WithRev(last-2)); err == nil {
			t.Error("not compacted")
		}
		if do(status); !strings.HasPrefix(string(r.Captured[0].B), "3.") || r.Captured[1].I == 0 {
			t.Errorf("status: %+v", r)
		}
		h, err := client.HashKV(t.Context(), s.Addr, 0)
		if do(hash); err != nil || r.Captured[0].I != int64(h.Hash) {
			t.Errorf("hashkv: %+v; %v, %v", r, h, err)
		}
	})
}

// checkWatch checks that events are delivered in order, and that waiting for one ends with its time.
func checkWatch(t *testing.T, c protocol.Conn, p *protocol.Program, watch, next, put int) {
	t.Helper()
	var r protocol.Reply
	do := func(within time.Duration, id int, args ...any) {
		c.Do(protocoltest.Within(t, within), &p.Requests[id], protocoltest.Values(args...), &r)
	}
	if do(time.Second, next); r.Class != protocol.Client {
		t.Errorf("next without a watch: %+v", r)
	}
	do(10*time.Second, put, "w", "1")
	first := r.Captured[0].I
	for want := range int64(2) {
		if do(10*time.Second, watch, "w", first); r.Class != protocol.OK || r.Captured[0].I != want {
			t.Fatalf("watch: %+v", r)
		}
	}
	do(10*time.Second, put, "w", "2")
	seen := map[string]int{}
	for range 4 {
		if do(10*time.Second, next); r.Class != protocol.OK || string(r.Captured[1].B) != "w" || r.Captured[4].I == 0 {
			t.Fatalf("next: %+v", r)
		}
		seen[fmt.Sprint(r.Captured[3].I, ":", r.Captured[0].I-first, "=", string(r.Captured[2].B))]++
	}
	if len(seen) != 4 || seen["0:0=1"]+seen["0:1=2"]+seen["1:0=1"]+seen["1:1=2"] != 4 {
		t.Errorf("events %v", seen)
	}
	if do(time.Millisecond, next); r.Class != protocol.Timeout && r.Class != protocol.UnknownOutcome {
		t.Errorf("no event: %+v", r)
	}
}
