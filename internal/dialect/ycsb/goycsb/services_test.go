package goycsb_test

import (
	"strings"
	"testing"

	"brunt/test/testserver"
)

func TestYCSBOnCassandra(t *testing.T) {
	t.Parallel()
	s := testserver.Cassandra(t)
	b := newTool(t, "-p", "cassandra.cluster="+s.Addr, "-p", "cassandra.consistency=ONE", "-p", "recordcount=50")
	b.want(b.ok("load", "cassandra", "--workload", "a", "--threads", "2"), "INSERT", 50)
	for _, letter := range "abcdef" {
		b.none(b.ok("run", "scylla", "--workload", string(letter), "--threads", "2", "-p", "operationcount=60"))
	}
	b.ok("load", "cassandra", "-p", "dataintegrity=true", "-p", "dropdata=true")
	b.none(b.ok("run", "cassandra", "-p", "dataintegrity=true", "-p", "operationcount=60"))
	b.want(b.ok("load", "cassandra", "-p", "batch.size=10", "--table", "batches"), "BATCH_INSERT", 5)
	b.shellScans("cassandra", false)
}

func TestYCSBOnDynamoDB(t *testing.T) {
	t.Parallel()
	s := dynamoDB(t)
	b := newTool(t, "-p", "dynamodb.endpoint=http://"+s.Addr, "-p", "dynamodb.access-key="+s.User, "-p",
		"dynamodb.secret-key="+s.Password,
		"-p", "recordcount=50", "-p", "dynamodb.rc.units=100", "-p", "dynamodb.wc.units=100")
	out := b.ok("load", "dynamodb", "--workload", "a", "--threads", "2")
	b.want(out, "INSERT", 50)
	if strings.Contains(out, s.Password) {
		t.Errorf("the secret key is shown:\n%s", out)
	}
	for _, letter := range "abcdef" {
		b.none(b.ok("run", "dynamodb", "--workload", string(letter), "--threads", "2", "-p", "operationcount=60"))
	}
	b.ok("load", "dynamodb", "-p", "dataintegrity=true", "-p", "dropdata=true")
	b.none(b.ok("run", "dynamodb", "-p", "dataintegrity=true", "-p", "dynamodb.consistent.reads=true", "-p",
		"operationcount=60"))
	b.want(b.ok("load", "dynamodb", "-p", "batch.size=10", "--table", "batches"), "BATCH_INSERT", 5)
	b.shellScans("dynamodb", false)
	if code, _, err := b.do("", "load", "dynamodb", "-p", "batch.size=50", "--table", "batches"); code == 0 ||
		!strings.Contains(err, "at most 100 reads or 25 writes") {
		t.Errorf("a batch too large: exit %d: %s", code, err)
	}
}
