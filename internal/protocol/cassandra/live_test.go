package cassandra

import (
	"os"
	"strings"
	"testing"
	"time"

	"brunt/internal/protocol"
	"brunt/internal/protocol/protocoltest"
	"brunt/test/testserver"
)

var servers testserver.Pool

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

func node(t *testing.T) protocol.Target {
	s := servers.Get(t, "cassandra", func(t testserver.TB) *testserver.Server {
		return testserver.Cassandra(t, testserver.Password("cassandra"))
	})
	return protocol.Target{Address: s.Addr, User: s.User, Password: s.Password, ConnectTimeout: 20 * time.Second}
}

func prepare(t *testing.T, target protocol.Target, table string, drop bool) {
	t.Helper()
	if err := New().Prepare(t.Context(), target, table, []string{"field0", "field1"}, 100, drop); err != nil {
		t.Fatal(err)
	}
}

func dial(t *testing.T, target protocol.Target, p *protocoltest.Records) protocol.Conn {
	t.Helper()
	c, err := New().Dial(t.Context(), target, &p.Program)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestRecords(t *testing.T) {
	t.Parallel()
	a := protocoltest.Abilities{Scans: true, Unsorted: true, Batches: true, Blind: true}
	p := protocoltest.NewRecords("records", a)
	target := node(t)
	target.Options = map[string]string{"consistency": "LOCAL_QUORUM"}
	prepare(t, target, "records", false)
	c := dial(t, target, p)
	p.Check(t, c, a)
	p.Insert(t, c, "one")
	for _, drop := range []bool{false, true} {
		prepare(t, target, "records", drop)
		fresh := dial(t, target, p)
		if r := p.Read(t, fresh, "one"); r.Class != protocol.OK || r.Missing != drop {
			t.Errorf("drop %v: %+v", drop, r)
		}
	}
	if r := p.Do(t, c, 0, "one", "not \xff UTF-8", "x"); r.Class != protocol.Server || r.Code != "0x2200" || r.Fatal {
		t.Errorf("bytes that aren't text: %+v", r.Failure)
	}
	c.Close()
	c.Close()
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	good := node(t)
	prepare(t, good, "t", false)
	password, keyspace, option := good, good, good
	password.Password, keyspace.Database, option.Options = "falsches", "nowhere", map[string]string{"consistency": "most"}
	protocoltest.Refusals(t, New(), protocol.Target{},
		protocoltest.Refusal{Target: password, Class: protocol.Connect, Want: "check user and password"},
		protocoltest.Refusal{Target: keyspace, Class: protocol.Connect, Want: "check the keyspace"},
		protocoltest.Refusal{Target: option, Class: protocol.Client, Want: "quorum, any"})
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	info, err := New().Describe(t.Context(), node(t))
	if err != nil || info.Product != "Cassandra" || !strings.HasPrefix(info.Version, "5.") ||
		info.Settings["partitioner"] != "Murmur3Partitioner" {
		t.Errorf("got %+v, %v", info, err)
	}
}

func TestServerDiesMidRequest(t *testing.T) {
	t.Parallel()
	s := testserver.Cassandra(t)
	target := protocol.Target{Address: s.Addr, ConnectTimeout: 20 * time.Second}
	prepare(t, target, "t", false)
	p := protocoltest.NewRecords("t", protocoltest.Abilities{})
	protocoltest.Dies(t, s, p, func() protocol.Conn { return dial(t, target, p) },
		protocol.Connect, protocol.UnknownOutcome)
}
