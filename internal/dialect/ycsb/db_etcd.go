package ycsb

import (
	"brunt/internal/dialect/ycsb/properties"
	"brunt/internal/plan"
)

func etcdDatabase() *Database {
	return &Database{
		Names: []string{"etcd"}, About: "etcd 3", Protocol: "etcd", Batches: true,
		Properties: []Property{
			{"etcd.endpoints", "localhost:2379", "addresses, separated by commas; https:// for TLS"},
			{"etcd.dial_timeout", "2s", "accepted: connecting may take 5 s"},
			{"etcd.cert_file", "", "client certificate (PEM)"},
			{"etcd.key_file", "", "client key (PEM)"},
			{"etcd.cacert_file", "", "authority's certificate (PEM)"},
			{"etcd.serializable_reads", "false", "reads that may be stale"},
			{"etcd.user", "", "user"},
			{"etcd.password", "", "password"},
		},
		Target: func(set *properties.Reader) plan.Target {
			t := plan.Target{Protocol: "etcd", User: set.Text("etcd.user", ""), Password: set.Text("etcd.password", "")}
			t.Addresses, t.TLS.Enabled = withoutScheme(set.Text("etcd.endpoints", "localhost:2379"))
			t.TLS.CAFile, t.TLS.CertFile, t.TLS.KeyFile = set.Text("etcd.cacert_file", ""), set.Text("etcd.cert_file", ""), set.Text("etcd.key_file", "")
			if set.Bool("etcd.serializable_reads", false) {
				t.Options = map[string]string{"serializable_reads": "true"}
			}
			return t
		},
	}
}
