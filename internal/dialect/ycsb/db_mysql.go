package ycsb

import (
	"fmt"
	"net"

	"brunt/internal/dialect/ycsb/properties"
	"brunt/internal/plan"
)

func mysqlDatabase() *Database {
	return &Database{
		Names:    []string{"mysql", "mariadb", "tidb"},
		About:    "MySQL, MariaDB, TiDB",
		Protocol: "mysql", Batches: true,
		Properties: []Property{
			{"mysql.host", "127.0.0.1", "host, or several, separated by commas"},
			{"mysql.port", "3306", "port"},
			{"mysql.user", "root", "user"},
			{"mysql.password", "", "password"},
			{"mysql.db", "test", "database"},
			{"mysql.force_index", "true", "accepted: reads go by the primary key"},
			{"tidb.cluster_index", "true", "accepted"},
			{"tidb.instances", "", "addresses host:port, taken in turn"},
		},
		Target: func(set *properties.Reader) plan.Target {
			port := set.Int("mysql.port", 3306, 1, 65535)
			t := plan.Target{
				Protocol: "mysql", User: set.Text("mysql.user", "root"), Password: set.Text("mysql.password", ""),
				Database: set.Text("mysql.db", "test"), Addresses: list(set.Text("tidb.instances", "")),
			}
			if len(t.Addresses) == 0 {
				for _, host := range list(set.Text("mysql.host", "127.0.0.1")) {
					t.Addresses = append(t.Addresses, net.JoinHostPort(host, fmt.Sprint(port)))
				}
			}
			return t
		},
	}
}
