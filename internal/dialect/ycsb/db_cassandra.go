package ycsb

import (
	"brunt/internal/dialect/ycsb/properties"
	"brunt/internal/plan"
)

func cassandraDatabase() *Database {
	return &Database{
		Names: []string{"cassandra", "scylla"}, About: "Cassandra, ScyllaDB", Protocol: "cassandra", Batches: true,
		Properties: []Property{
			{"cassandra.cluster", "127.0.0.1:9042", "addresses, separated by commas"},
			{"cassandra.keyspace", "test", "keyspace"},
			{"cassandra.connections", "2", "accepted: each session has one connection of its own"},
			{"cassandra.username", "", "user"},
			{"cassandra.password", "", "password"},
			{"cassandra.consistency", "quorum", "consistency of reads and writes: any, one, two, three, quorum, all, local_quorum, each_quorum or local_one"},
			{"cassandra.replication", "1", "replication factor of a keyspace that is made"},
		},
		Target: func(set *properties.Reader) plan.Target {
			return plan.Target{
				Protocol: "cassandra", Addresses: list(set.Text("cassandra.cluster", "127.0.0.1:9042")),
				Database: set.Text("cassandra.keyspace", "test"),
				User:     set.Text("cassandra.username", ""), Password: set.Text("cassandra.password", ""),
				Options: options(set, map[string]string{"cassandra.consistency": "consistency", "cassandra.replication": "replication_factor"}),
			}
		},
	}
}
