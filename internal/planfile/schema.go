package planfile

import (
	"strings"

	"go.yaml.in/yaml/v4"

	"brunt/internal/plan"
)

func splitAdvice(s string) (what, fix string) {
	what, fix, _ = strings.Cut(s, "; ")
	return what, fix
}

func tableKeys() []string {
	return []string{"name", "row_count", "columns", "primary_keys", "engine", "distribution_keys", "global", "tier",
		"wait_applied", "unlogged", "timeout"}
}

func (r *reader) table(n *yaml.Node) plan.Table {
	t := plan.Table{At: r.at(n)}
	o := r.object(n, "a table", tableKeys())
	if o == nil {
		return t
	}
	o.require("a table", "name", "columns")
	t.Where = o.where()
	t.Name, t.Rows = o.text("name"), o.unsigned("row_count")
	o.list("columns", func(_ int, n *yaml.Node) { t.Columns = append(t.Columns, r.column(n)) })
	t.PrimaryKeys, t.DistributionKeys = o.words("primary_keys"), o.words("distribution_keys")
	t.Engine = o.choice("engine", []string{"memtx", "vinyl"})
	t.WaitApplied = o.choice("wait_applied", []string{"globally", "locally"})
	t.Tier, t.Timeout = o.text("tier"), o.duration("timeout")
	t.Global, t.Unlogged = o.flag("global"), o.flag("unlogged")
	return t
}

func (r *reader) column(n *yaml.Node) plan.Column {
	o := r.object(n, "a column", valueKeys())
	if o == nil {
		return plan.Column{ValueSpec: plan.ValueSpec{At: r.at(n)}}
	}
	o.require("a column", "name")
	return plan.Column{Name: o.text("name"), ValueSpec: r.value(o, "a column")}
}

func indexKeys() []string {
	return []string{"name", "unique", "table_name", "columns_names", "type", "options", "timeout"}
}

func indexOptionKeys() []string { return []string{"name", "value"} }

func (r *reader) index(n *yaml.Node) plan.Index {
	x := plan.Index{At: r.at(n)}
	o := r.object(n, "an index", indexKeys())
	if o == nil {
		return x
	}
	o.require("an index", "name", "table_name", "columns_names")
	x.Where = o.where()
	x.Name, x.Table, x.Columns = o.text("name"), o.text("table_name"), o.words("columns_names")
	x.Unique, x.Timeout = o.flag("unique"), o.duration("timeout")
	x.Type = o.choice("type", []string{"tree", "hash", "rtree", "bitset"})
	o.list("options", func(_ int, n *yaml.Node) {
		opt := r.object(n, "an index option", indexOptionKeys())
		opt.require("an index option", "name", "value")
		value := opt.get("value")
		if value == nil {
			return
		}
		if value.Kind != yaml.ScalarNode || tagIs(value, "!!null") {
			r.wrong(value, "value", "a text, number, true or false", "write one value")
		}
		x.Options = append(x.Options, plan.IndexOption{Name: opt.text("name"), Value: value.Value})
	})
	return x
}
