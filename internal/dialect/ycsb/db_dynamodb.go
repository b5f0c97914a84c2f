package ycsb

import (
	"cmp"
	"fmt"

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
		Target: func(set *properties.Reader) plan.Target {
			amazon := fmt.Sprintf("https://dynamodb.%s.amazonaws.com:443", set.Text("dynamodb.region", "us-east-1"))
			addresses, secure := withoutScheme(cmp.Or(set.Text("dynamodb.endpoint", ""), amazon))
			return plan.Target{
				Protocol: "dynamodb", Addresses: addresses, TLS: plan.TLS{Enabled: secure},
				User: set.Text("dynamodb.access-key", ""), Password: set.Text("dynamodb.secret-key", ""),
				Options: options(set, map[string]string{
					"dynamodb.region": "region", "dynamodb.primarykey": "key", "dynamodb.consistent.reads": "consistent_reads",
					"dynamodb.rc.units": "rc_units", "dynamodb.wc.units": "wc_units",
				}),
			}
		},
	}
}
