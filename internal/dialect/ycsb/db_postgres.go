package ycsb

import (
	"fmt"
	"net"
	"strings"

	"brunt/internal/dialect/ycsb/properties"
	"brunt/internal/plan"
)

func postgresDatabase() *Database {
	return &Database{
		Names:    []string{"pg", "postgresql", "postgres", "cockroach", "cdb"},
		About:    "PostgreSQL, and what speaks its protocol: CockroachDB, YugabyteDB …",
		Protocol: "pg", Batches: true, LoadPipeline: 8,
		Properties: []Property{
			{"pg.host", "127.0.0.1", "host, or several, separated by commas, each with a port of its own if it isn't pg.port"},
			{"pg.port", "5432", "port"},
			{"pg.user", "root", "user"},
			{"pg.password", "", "password"},
			{"pg.db", "test", "database"},
			{"pg.sslmode", "disable", "disable, require, verify-ca or verify-full"},
		},
		Target: func(set *properties.Reader) plan.Target {
			port := set.Int("pg.port", 5432, 1, 65535)
			t := plan.Target{
				Protocol: "pg", User: set.Text("pg.user", "root"), Password: set.Text("pg.password", ""),
				Database: set.Text("pg.db", "test"),
			}
			for _, host := range list(set.Text("pg.host", "127.0.0.1")) {
				if _, _, e := net.SplitHostPort(host); e != nil {
					host = net.JoinHostPort(strings.Trim(host, "[]"), fmt.Sprint(port))
				}
				t.Addresses = append(t.Addresses, host)
			}
			mode := set.Choice("pg.sslmode", "disable", "disable", "allow", "prefer", "require", "verify-ca", "verify-full")
			t.TLS.Enabled = mode == "require" || mode == "verify-ca" || mode == "verify-full"
			t.TLS.InsecureSkipVerify = mode == "require"
			return t
		},
		Store: func(s *Settings, _ *properties.Reader) Store {
			return &sqlStore{s: s, insert: "INSERT", ignore: " ON CONFLICT DO NOTHING", text: "VARCHAR(%d)"}
		},
	}
}
