package planfile

import (
	"math"
	"reflect"

	"go.yaml.in/yaml/v4"

	"brunt/internal/keyspace"
	"brunt/internal/plan"
)

func tableMapping() *mapping {
	column := newMapping("column", "a column",
		append([]field{{"name", "Name", words{name: true}, "name of the column", true}}, valueFields()...)...)
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
		field{"wait_applied", "WaitApplied", choice{"globally", "locally"},
			"Picodata: how long creating it waits; the server's", false},
		field{"unlogged", "Unlogged", flag{}, "CREATE UNLOGGED TABLE; false", false},
		field{"timeout", "Timeout", span{above: true}, "for creating and dropping it; 24h", false},
	)
}

func indexMapping() *mapping {
	option := newMapping("", "an index option",
		field{"name", "Name", words{name: true}, "", true},
		field{"value", "", custom[plan.IndexOption]{optionIn, func(o *plan.IndexOption) *yaml.Node { return text(o.Value) },
			typesSchema("string", "number", "boolean")}, "", true},
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

// keyspaceForm returns the form of the records that operations use. Its limits bound the memory that a file can
// request.
func keyspaceForm() form {
	const most = math.MaxInt64 / 4
	record := whole{0, most}
	keys := newMapping("", "keys",
		field{"prefix", "Prefix", words{}, "what keys begin with", false},
		field{"ordered", "Ordered", flag{}, "the number itself instead of its hash; false", false},
		field{"padding", "Padding", whole{0, 1000}, "least number of digits; 0", false},
		field{"flavor", "Flavor", choice{string(keyspace.GoYCSB), string(keyspace.Java)}, "whose hashes; goycsb", false},
	)
	lengths := newMapping("", "lengths",
		field{"shape", "Shape", choice{"constant", "uniform", "zipfian", "histogram"}, "constant", false},
		field{"most", "Most", whole{0, 1 << 30}, "the greatest length", false},
		field{"block", "Block", whole{1, 1 << 24}, "histogram: bytes of a bucket", false},
		field{"weights", "Weights", list{of: decimal{bounded: true, always: true}, flow: true}, "histogram: of the buckets",
			false},
		field{"short", "Short", flag{}, "histogram: the last bucket stands for its lower end; false", false},
	)
	choose := newMapping("", "choice",
		field{"distribution", "Distribution", choice(keyspace.Distributions()), "which records are chosen how often", true},
		field{"first", "First", record, "number of the first record; 0", false},
		field{"count", "Count", whole{1, most}, "how many were loaded", true},
		field{"records", "Records", record, "inserts are numbered from here", false},
		field{"new_keys", "NewKeys", record, "zipfian: how many inserts the range makes room for", false},
		field{"inserting", "Inserting", flag{}, "the run inserts; false", false},
		field{"hot_data", "HotData", fraction(), "hotspot: hot share of the records", false},
		field{"hot_operations", "HotOperations", fraction(), "hotspot: share of the operations on them", false},
		field{"percentile", "Percentile", decimal{bounded: true, hi: 100}, "exponential: so many per cent of the draws …",
			false},
		field{"fraction", "Fraction", fraction(), "… lie in this share of the records", false},
		field{"flavor", "Flavor", choice{string(keyspace.GoYCSB), string(keyspace.Java)}, "whose hashes; goycsb", false},
		field{"faults", "Faults", flag{}, "go-ycsb's faults too; false", false},
	)
	scan := newMapping("", "scan",
		field{"least", "ScanLeast", whole{0, math.MaxInt32}, "records", false},
		field{"most", "ScanMost", whole{0, math.MaxInt32}, "records", false},
		field{"zipfian", "ScanZipfian", flag{}, "few most often; false", false},
	)
	create := newMapping("", "create",
		field{"table", "Table", words{name: true}, "its name", true},
		field{"field_length", "FieldLength", whole{0, 1 << 30}, "bytes that a column must hold", false},
		field{"drop", "Drop", flag{}, "what is there is dropped first; false", false},
	)
	m := newMapping("keyspace", "keyspace",
		field{"keys", "Keys", keys, "how records' keys are written", false},
		field{"fields", "Fields", list{of: words{name: true}, flow: true, full: true}, "names of the records' fields", true},
		field{"lengths", "Lengths", lengths, "of the fields' contents, in bytes", false},
		field{"integrity", "Integrity", flag{}, "contents that reads can check; false", false},
		field{"rows", "Rows", whole{1, 1_000_000}, "records an operation; 1", false},
		field{"insert_from", "InsertFrom", record, "number of the first record that operations insert; 0", false},
		field{"strict", "Strict", flag{}, "records count as inserted up to the first whose insert failed; false", false},
		field{"choice", "Choice", pointer[keyspace.Choice]{choose}, "of the records that operations use", false},
		field{"scan", "", scan, "how many records a scan asks for", false},
		field{"create", "Create", pointer[keyspace.Create]{create},
			"the table that a driver of key-value records makes before the load", false},
	)
	return pointer[keyspace.Spec]{m}
}

// pointer is the form of an optional struct.
type pointer[T any] struct{ of *mapping }

func (p pointer[T]) read(r *reader, key string, n *yaml.Node, to reflect.Value) {
	v := new(T)
	r.item(n, func() { p.of.read(r, key, n, valueOf(v)) })
	to.Set(reflect.ValueOf(v))
}

func (p pointer[T]) write(from reflect.Value) *yaml.Node {
	if from.IsNil() {
		return nil
	}
	return p.of.write(from.Elem())
}

func (p pointer[T]) schema(d *definitions) schema { return p.of.schema(d) }
