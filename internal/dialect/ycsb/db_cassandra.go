package ycsb

import (
	"fmt"
	"strings"

	"brunt/internal/dialect/ycsb/properties"
	"brunt/internal/driver"
	"brunt/internal/plan"
)

func cassandraDatabase() *Database {
	return &Database{
		Names: []string{"cassandra", "scylla"}, About: "Cassandra, ScyllaDB", Protocol: "cassandra",
		Properties: []Property{
			{"cassandra.cluster", "127.0.0.1:9042", "addresses, separated by commas"},
			{"cassandra.keyspace", "test", "keyspace"},
			{"cassandra.connections", "2", "accepted: each session has one connection of its own"},
			{"cassandra.username", "", "user"},
			{"cassandra.password", "", "password"},
			{"cassandra.consistency", "quorum", "consistency of reads and writes"},
		},
		Target: func(set *properties.Set) (plan.Target, error) {
			return plan.Target{
				Protocol: "cassandra", Addresses: list(set.Text("cassandra.cluster", "127.0.0.1:9042")),
				Database: set.Text("cassandra.keyspace", "test"),
				User:     set.Text("cassandra.username", ""), Password: set.Text("cassandra.password", ""),
				Options: options(set, map[string]string{"cassandra.consistency": "consistency"}),
			}, nil
		},
		Store: func(s *Settings) (Store, error) {
			return &kvStore{s: s, noScan: true, prepare: func(drop bool) []driver.Request { return cassandraTable(s, drop) }}, nil
		},
	}
}

// cassandraTable is the table that go-ycsb makes.
func cassandraTable(s *Settings, drop bool) []driver.Request {
	var texts []string
	if drop {
		texts = append(texts, "DROP TABLE IF EXISTS "+s.Table)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s (YCSB_KEY VARCHAR PRIMARY KEY", s.Table)
	for _, f := range s.Fields {
		fmt.Fprintf(&b, ", %s VARCHAR", strings.ToUpper(f))
	}
	texts = append(texts, b.String()+")")
	var out []driver.Request
	for _, text := range texts {
		out = append(out, driver.Request{Name: "prepare", Verb: driver.SQL, Text: text, Simple: true})
	}
	return out
}
