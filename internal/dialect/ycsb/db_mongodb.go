package ycsb

import (
	"fmt"
	"net/url"
	"strings"

	"brunt/internal/dialect/ycsb/properties"
	"brunt/internal/plan"
)

func mongoDatabase() *Database {
	return &Database{
		Names: []string{"mongodb", "mongo"}, About: "MongoDB, FerretDB", Protocol: "mongodb", Batches: true,
		Properties: []Property{
			{"mongodb.url", "mongodb://127.0.0.1:27017/ycsb?w=1", "connection string"},
			{"mongodb.authdb", "admin", "database that knows the user"},
			{"mongodb.username", "", "user"},
			{"mongodb.password", "", "password"},
			{"mongodb.upsert", "false", "inserts overwrite what is there; resume=true needs it and sets it"},
			{"mongodb.replica_set", "false", "the address is one of a replica set: requests go to its primary"},
			{"mongodb.tls_skip_verify", "false", "TLS without verifying the certificate"},
			{"mongodb.tls_ca_file", "", "authority's certificate (PEM)"},
		},
		Target: mongoTarget,
	}
}

// mongoTarget takes a connection string apart.
func mongoTarget(set *properties.Reader) plan.Target {
	text := set.Text("mongodb.url", "mongodb://127.0.0.1:27017/ycsb?w=1")
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "mongodb" || u.Host == "" {
		set.Keep(fmt.Errorf("%s: property mongodb.url: give mongodb://host:port/database", set.Where("mongodb.url")))
		return plan.Target{}
	}
	t := plan.Target{
		Protocol: "mongodb", Addresses: list(u.Host), Database: strings.TrimPrefix(u.Path, "/"),
		User: set.Text("mongodb.username", ""), Password: set.Text("mongodb.password", ""),
		Options: map[string]string{},
	}
	for property, option := range map[string]string{"mongodb.authdb": "auth_source", "mongodb.upsert": "upsert", "mongodb.replica_set": "replica_set"} {
		if v, ok := set.Get(property); ok {
			t.Options[option] = v
		}
	}
	// Records beyond a checkpoint may be there already.
	if set.Bool("resume", false) {
		t.Options["upsert"] = "true"
	}
	if t.Database == "" {
		t.Database = "ycsb"
	}
	if t.User == "" && u.User != nil {
		t.User = u.User.Username()
		t.Password, _ = u.User.Password()
	}
	if w := u.Query().Get("w"); w != "" && w != "1" {
		t.Options["w"] = w
	}
	t.TLS.CAFile = set.Text("mongodb.tls_ca_file", "")
	t.TLS.InsecureSkipVerify = set.Bool("mongodb.tls_skip_verify", false)
	t.TLS.Enabled = t.TLS.CAFile != "" || t.TLS.InsecureSkipVerify || u.Query().Get("tls") == "true"
	return t
}
