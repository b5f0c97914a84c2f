package planfile

import (
	"math"
	"reflect"

	"go.yaml.in/yaml/v4"

	"brunt/internal/load/keyspace"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile/form"
)

func tableMapping() *form.Mapping {
	column := form.NewMapping("column", "a column",
		append([]form.Field{form.Required("name", "Name", form.Name(), "name of the column")}, valueFields()...)...)
	column.After = func(_ *form.Reader, o *form.Object, to any) { checkValue(o, &to.(*plan.Column).ValueSpec) }
	column.Rules = valueRules()
	return form.NewMapping("table", "a table",
		form.Required("name", "Name", form.Name(), "name of the table"),
		form.Key("row_count", "Rows", form.Unsigned{Always: true}, "rows to fill it with; 0"),
		form.Required("columns", "Columns", form.List{Of: column}, "in order"),
		form.Key("primary_keys", "PrimaryKeys", form.Names(), "columns of the primary key"),
		form.Key("engine", "Engine", form.Choice{"memtx", "vinyl"}, "Picodata, Tarantool; the server's"),
		form.Key("distribution_keys", "DistributionKeys", form.Names(), "Picodata; the primary key"),
		form.Key("global", "Global", form.Flag{}, "Picodata: every node holds the whole table; false"),
		form.Key("tier", "Tier", form.Name(), "Picodata; the server's"),
		form.Key("wait_applied", "WaitApplied", form.Choice{"globally", "locally"},
			"Picodata: how long creating it waits; the server's"),
		form.Key("unlogged", "Unlogged", form.Flag{}, "CREATE UNLOGGED TABLE; false"),
		form.Key("timeout", "Timeout", form.Span{Above: true}, "for creating and dropping it; 24h"),
	)
}

func indexMapping() *form.Mapping {
	option := form.NewMapping("", "an index option",
		form.Required("name", "Name", form.Name(), ""),
		form.Required("value", "", form.Custom[plan.IndexOption]{
			In:  func(r *form.Reader, key string, n *yaml.Node, o *plan.IndexOption) { o.Value = r.PlainOf(n, key) },
			Out: func(o *plan.IndexOption) *yaml.Node { return form.Text(o.Value) },
			As:  typesSchema("string", "number", "boolean")}, ""),
	)
	return form.NewMapping("index", "an index",
		form.Required("name", "Name", form.Name(), "name of the index"),
		form.Key("unique", "Unique", form.Flag{}, "no two rows alike in its columns; false"),
		form.Required("table_name", "Table", form.Words{}, "table that it is of"),
		form.Required("columns_names", "Columns", form.Names(), "in order"),
		form.Key("type", "Type", form.Choice{"tree", "hash", "rtree", "bitset"}, "the server's"),
		form.Key("options", "Options", form.List{Of: option}, "written into the DDL in this order"),
		form.Key("timeout", "Timeout", form.Span{Above: true}, "for creating and dropping it; 24h"),
	)
}

// keyspaceForm returns the form of the records that operations use. Its limits bound the memory that a file can
// request.
func keyspaceForm() form.Form {
	const most = math.MaxInt64 / 4
	record := form.Whole(0, most)
	keys := form.NewMapping("", "keys",
		form.Key("prefix", "Prefix", form.Words{}, "what keys begin with"),
		form.Key("ordered", "Ordered", form.Flag{}, "the number itself instead of its hash; false"),
		form.Key("padding", "Padding", form.Whole(0, 1000), "least number of digits; 0"),
		form.Key("flavor", "Flavor", form.Choice{string(keyspace.GoYCSB), string(keyspace.Java)}, "whose hashes; goycsb"),
	)
	lengths := form.NewMapping("", "lengths",
		form.Key("shape", "Shape", form.Choice{"constant", "uniform", "zipfian", "histogram"}, "constant"),
		form.Key("most", "Most", form.Whole(0, 1<<30), "the greatest length"),
		form.Key("block", "Block", form.Whole(1, 1<<24), "histogram: bytes of a bucket"),
		form.Key("weights", "Weights", form.List{Of: form.Decimal{Bounded: true, Always: true}, Flow: true},
			"histogram: of the buckets"),
		form.Key("short", "Short", form.Flag{}, "histogram: the last bucket stands for its lower end; false"),
	)
	choose := form.NewMapping("", "choice",
		form.Required("distribution", "Distribution", form.Choice(keyspace.Distributions()),
			"which records are chosen how often"),
		form.Key("first", "First", record, "number of the first record; 0"),
		form.Required("count", "Count", form.Whole(1, most), "how many were loaded"),
		form.Key("records", "Records", record, "inserts are numbered from here"),
		form.Key("new_keys", "NewKeys", record, "zipfian: how many inserts the range makes room for"),
		form.Key("inserting", "Inserting", form.Flag{}, "the run inserts; false"),
		form.Key("hot_data", "HotData", fraction(), "hotspot: hot share of the records"),
		form.Key("hot_operations", "HotOperations", fraction(), "hotspot: share of the operations on them"),
		form.Key("percentile", "Percentile", form.Decimal{Bounded: true, Hi: 100},
			"exponential: so many per cent of the draws …"),
		form.Key("fraction", "Fraction", fraction(), "… lie in this share of the records"),
		form.Key("flavor", "Flavor", form.Choice{string(keyspace.GoYCSB), string(keyspace.Java)}, "whose hashes; goycsb"),
		form.Key("faults", "Faults", form.Flag{}, "go-ycsb's faults too; false"),
	)
	scan := form.NewMapping("", "scan",
		form.Key("least", "ScanLeast", form.Whole(0, math.MaxInt32), "records"),
		form.Key("most", "ScanMost", form.Whole(0, math.MaxInt32), "records"),
		form.Key("zipfian", "ScanZipfian", form.Flag{}, "few most often; false"),
	)
	create := form.NewMapping("", "create",
		form.Required("table", "Table", form.Name(), "its name"),
		form.Key("field_length", "FieldLength", form.Whole(0, 1<<30), "bytes that a column must hold"),
		form.Key("drop", "Drop", form.Flag{}, "what is there is dropped first; false"),
	)
	m := form.NewMapping("keyspace", "keyspace",
		form.Key("keys", "Keys", keys, "how records' keys are written"),
		form.Required("fields", "Fields", form.List{Of: form.Name(), Flow: true, Full: true}, "names of the records' fields"),
		form.Key("lengths", "Lengths", lengths, "of the fields' contents, in bytes"),
		form.Key("integrity", "Integrity", form.Flag{}, "contents that reads can check; false"),
		form.Key("rows", "Rows", form.Whole(1, 1_000_000), "records an operation; 1"),
		form.Key("insert_from", "InsertFrom", record, "number of the first record that operations insert; 0"),
		form.Key("strict", "Strict", form.Flag{}, "records count as inserted up to the first whose insert failed; false"),
		form.Key("choice", "Choice", pointer[keyspace.Choice]{choose}, "of the records that operations use"),
		form.Key("scan", "", scan, "how many records a scan asks for"),
		form.Key("create", "Create", pointer[keyspace.Create]{create},
			"the table that a driver of key-value records makes before the load"),
	)
	return pointer[keyspace.Spec]{m}
}

// fraction returns the form of a number from 0 to 1.
func fraction() form.Form { return form.Decimal{Bounded: true, Hi: 1} }

// pointer is the form of an optional struct.
type pointer[T any] struct{ of *form.Mapping }

func (p pointer[T]) Read(r *form.Reader, key string, n *yaml.Node, to reflect.Value) {
	v := new(T)
	r.Item(n, func() { p.of.Read(r, key, n, form.ValueOf(v)) })
	to.Set(reflect.ValueOf(v))
}

func (p pointer[T]) Write(from reflect.Value) *yaml.Node {
	if from.IsNil() {
		return nil
	}
	return p.of.Write(from.Elem())
}

func (p pointer[T]) Schema(d *form.Definitions) form.Schema { return p.of.Schema(d) }
