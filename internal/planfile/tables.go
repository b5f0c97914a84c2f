package planfile

import (
	"go.yaml.in/yaml/v4"

	"brunt/internal/plan"
)

func tableMapping() *mapping {
	column := newMapping("column", "a column", append([]field{{"name", "Name", words{name: true}, "name of the column", true}}, valueFields()...)...)
	column.after = func(_ *reader, o *object, to any) { checkValue(o, &to.(*plan.Column).ValueSpec) }
	column.rules = valueRules()
	return newMapping("table", "a table",
		field{"name", "Name", words{name: true}, "name of the table", true},
		field{"row_count", "Rows", unsigned{always: true}, "rows to fill it with; 0", false},
		field{"columns", "Columns", list{of: column}, "in order", true},
		field{"primary_keys", "PrimaryKeys", names(), "columns of the primary key", false},
		field{"engine", "Engine", choice{"memtx", "vinyl"}, "Picodata, Tarantool; the server's", false},
		field{"distribution_keys", "DistributionKeys", names(), "Picodata; the primary key", false},
		field{"global", "Global", flag{}, "Picodata: every node holds the whole table; false", false},
		field{"tier", "Tier", words{name: true}, "Picodata; the server's", false},
		field{"wait_applied", "WaitApplied", choice{"globally", "locally"}, "Picodata: how long creating it waits; the server's", false},
		field{"unlogged", "Unlogged", flag{}, "CREATE UNLOGGED TABLE; false", false},
		field{"timeout", "Timeout", span{above: true}, "for creating and dropping it; 24h", false},
	)
}

func indexMapping() *mapping {
	option := newMapping("", "an index option",
		field{"name", "Name", words{name: true}, "", true},
		field{"value", "", custom[plan.IndexOption]{optionIn, optionNode, typesSchema("string", "number", "boolean")}, "", true},
	)
	return newMapping("index", "an index",
		field{"name", "Name", words{name: true}, "name of the index", true},
		field{"unique", "Unique", flag{}, "no two rows alike in its columns; false", false},
		field{"table_name", "Table", words{}, "table that it is of", true},
		field{"columns_names", "Columns", names(), "in order", true},
		field{"type", "Type", choice{"tree", "hash", "rtree", "bitset"}, "the server's", false},
		field{"options", "Options", list{of: option}, "written into the DDL in this order", false},
		field{"timeout", "Timeout", span{above: true}, "for creating and dropping it; 24h", false},
	)
}

func optionIn(r *reader, key string, n *yaml.Node, o *plan.IndexOption) {
	if n.Kind != yaml.ScalarNode || tagIs(n, "!!null") {
		r.wrong(n, key, "a text, number, true or false", "write one value")
	}
	o.Value = n.Value
}

func optionNode(o *plan.IndexOption) *yaml.Node { return text(o.Value) }
