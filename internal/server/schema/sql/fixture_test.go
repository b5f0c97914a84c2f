package sql

import (
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocols"
)

func column(name string, t gen.Type, nullable bool) plan.Column {
	return plan.Column{Name: name, ValueSpec: plan.ValueSpec{Spec: gen.Spec{Type: t}, Nullable: nullable}}
}

// cars returns the schema of the article's example.
func cars() (plan.Table, plan.Index) {
	return plan.Table{
			Name: "cars_q", Rows: 100,
			Columns: []plan.Column{
				column("id", gen.TypeInteger, false), column("brand", gen.TypeString, false),
				column("received", gen.TypeDatetime, false), column("stock", gen.TypeBoolean, false),
			},
			PrimaryKeys: []string{"id", "received"}, Engine: "memtx",
			DistributionKeys: []string{"id", "received"}, Tier: "default", Timeout: 3 * time.Second,
		}, plan.Index{
			Name: "cars_brand_index", Table: "cars_q", Columns: []string{"brand"}, Type: "tree",
			Options: []plan.IndexOption{{Name: "hint", Value: "true"}}, Timeout: 3 * time.Second,
		}
}

// everything returns tables with a column of each type, a reference and an unusual name.
func everything() []plan.Table {
	ref := column("car", gen.TypeReference, false)
	ref.Table, ref.Column = "cars_q", "received"
	constant := column("Odd \"name\"", gen.TypeConstant, true)
	constant.Constant = 1.5
	all := plan.Table{
		Name: "all types", PrimaryKeys: []string{"s"},
		Columns: []plan.Column{
			column("i", gen.TypeInteger, false), column("u", gen.TypeUnsigned, true), column("d", gen.TypeDouble, true),
			column("n", gen.TypeDecimal, true), column("s", gen.TypeString, false), column("b", gen.TypeBoolean, true),
			column("t", gen.TypeDatetime, true), column("id", gen.TypeUUID, true), column("j", gen.TypeJSON, true),
			ref, constant,
		},
	}
	c, _ := cars()
	return []plan.Table{c, all}
}

func flavor(t testing.TB, product string) Flavor {
	t.Helper()
	f, err := For(declaredServers(), product, "")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// declaredServers are those that brunt's protocols declare.
func declaredServers() (all []protocol.SQLServer) {
	for _, d := range protocols.All() {
		all = append(all, d.SQL...)
	}
	return all
}

var products = []string{"PostgreSQL", "Picodata", "Tarantool", "SQLite", "MySQL"}

func wideTable() plan.Table {
	c := column("u", gen.TypeUnsigned, false)
	c.HasRange, c.IntHi = true, -1 // the bits of MaxUint64
	return plan.Table{Name: "wide", Columns: []plan.Column{c}, PrimaryKeys: []string{"u"}}
}
