package ycsb

import (
	"fmt"
	"strings"

	"brunt/internal/dialect/ycsb/properties"
	"brunt/internal/plan"
)

func dynamoDatabase() *Database {
	return &Database{
		Names: []string{"dynamodb"}, About: "DynamoDB", Protocol: "dynamodb", Batches: true,
		Properties: []Property{
			{"dynamodb.tablename", "", "accepted: property table names it"},
			{"dynamodb.primarykey", "_key", "name of the key's attribute"},
			{"dynamodb.rc.units", "10", "read capacity of a table that is made"},
			{"dynamodb.wc.units", "10", "write capacity of a table that is made"},
			{"dynamodb.ensure.clean.table", "true", "accepted: see dropdata"},
			{"dynamodb.endpoint", "", "address, such as http://127.0.0.1:8000; by default the region's at Amazon"},
			{"dynamodb.region", "us-east-1", "region"},
			{"dynamodb.consistent.reads", "false", "reads that are up to date"},
			{"dynamodb.delete.after.run.stage", "false", "accepted: the table is kept"},
			{"dynamodb.access-key", "", "access key"},
			{"dynamodb.secret-key", "", "secret key"},
		},
		Target: func(set *properties.Set) (plan.Target, error) {
			endpoint := set.Text("dynamodb.endpoint", "")
			if endpoint == "" {
				endpoint = fmt.Sprintf("https://dynamodb.%s.amazonaws.com:443", set.Text("dynamodb.region", "us-east-1"))
			}
			address, secure := strings.CutPrefix(endpoint, "https://")
			t := plan.Target{
				Protocol: "dynamodb", Addresses: list(strings.TrimSuffix(strings.TrimPrefix(address, "http://"), "/")),
				User: set.Text("dynamodb.access-key", ""), Password: set.Text("dynamodb.secret-key", ""),
				Options: options(set, map[string]string{
					"dynamodb.region": "region", "dynamodb.primarykey": "key", "dynamodb.consistent.reads": "consistent_reads",
					"dynamodb.rc.units": "rc_units", "dynamodb.wc.units": "wc_units",
				}),
			}
			t.TLS.Enabled = secure
			return t, nil
		},
		Store: func(s *Settings) (Store, error) { return &kvStore{s: s}, nil },
	}
}
