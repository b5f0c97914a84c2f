package plan

import (
	"fmt"
	"strings"

	"brunt/internal/base/suggest"
	"brunt/internal/load/gen"
)

func (t *Table) columnNames() []string {
	names := make([]string, len(t.Columns))
	for i := range t.Columns {
		names[i] = t.Columns[i].Name
	}
	return names
}

func (c *checker) schema() {
	seen := map[string]Position{}
	for i := range c.plan.Tables {
		t := &c.plan.Tables[i]
		at := t.Where.At("name", t.At)
		if first, again := seen[strings.ToLower(t.Name)]; again {
			c.add(at, "rename one", "table %s stands twice%s", t.Name, firstAt(first))
		}
		seen[strings.ToLower(t.Name)] = at
		c.identifier(at, "table", t.Name)
		c.columns(t)
		c.primaryKey(t)
		c.tableOptions(t)
	}
}

// identifier checks a name that goes into DDL.
func (c *checker) identifier(at Position, what, name string) {
	switch {
	case strings.TrimSpace(name) == "":
		c.add(at, "give it a name", "%s without a name", what)
	case strings.ContainsAny(name, "\x00\n\r"):
		c.add(at, "use letters, digits and _", "name of %s has a control character", what)
	case len(name) > 255:
		c.add(at, "shorten it to 255 bytes", "name of %s is too long", what)
	}
}

func (c *checker) columns(t *Table) {
	if len(t.Columns) == 0 {
		c.add(t.Where.At("columns", t.At), "add columns", "table %s has no columns", t.Name)
	}
	seen := map[string]bool{}
	list := make([]*ValueSpec, len(t.Columns))
	for i := range t.Columns {
		col := &t.Columns[i]
		list[i] = &col.ValueSpec
		at := col.Where.At("name", col.At)
		if key := strings.ToLower(col.Name); seen[key] {
			c.add(at, "rename one", "column %s stands twice in table %s", col.Name, t.Name)
		} else {
			seen[key] = true
		}
		c.identifier(at, "column", col.Name)
		c.values(&col.ValueSpec, t.Rows)
		c.reference(&col.ValueSpec)
		if r := c.byName[col.Table]; col.Type == gen.TypeReference && col.Unique && r != nil && r.Rows < t.Rows {
			c.cross(col.Where.At("unique", col.At), "lower row_count or remove unique",
				"%d unique references need %d rows of table %s, which has %d", t.Rows, t.Rows, col.Table, r.Rows)
		}
	}
	c.sameRows(list)
}

func (c *checker) keyColumns(t *Table, where Places, otherwise Position, key string, names []string) {
	seen := map[string]bool{}
	for i, name := range names {
		at := where.At(fmt.Sprintf("%s[%d]", key, i), otherwise)
		switch {
		case c.column(t, name) == nil:
			c.cross(at, suggest.DidYouMean(name, t.columnNames()), "table %s has no column %q", t.Name, name)
		case seen[name]:
			c.add(at, "remove one", "column %s stands twice in %s", name, key)
		}
		seen[name] = true
	}
}

func (c *checker) primaryKey(t *Table) {
	c.keyColumns(t, t.Where, t.At, "primary_keys", t.PrimaryKeys)
	known, unique := true, false
	for _, name := range t.PrimaryKeys {
		col := c.column(t, name)
		if col == nil {
			known = false
			continue
		}
		unique = unique || col.Unique
		if col.Nullable || col.NullPercent > 0 {
			c.add(col.Where.At("is_nullable", col.At), "set is_nullable: false",
				"column %s is part of the primary key of %s and can't be null", name, t.Name)
		}
	}
	if len(t.PrimaryKeys) > 0 && known && !unique && t.Rows > 1 {
		c.add(t.Where.At("primary_keys", t.At), "set unique: true on one of its columns",
			"no column of the primary key (%s) of %s is unique", strings.Join(t.PrimaryKeys, ", "), t.Name)
	}
}

func (c *checker) tableOptions(t *Table) {
	at := func(key string) Position { return t.Where.At(key, t.At) }
	c.keyColumns(t, t.Where, t.At, "distribution_keys", t.DistributionKeys)
	c.oneOf(at("engine"), "engine", t.Engine, "memtx", "vinyl")
	c.oneOf(at("wait_applied"), "wait_applied", t.WaitApplied, "globally", "locally")
	if t.Global && len(t.DistributionKeys) > 0 {
		c.add(at("distribution_keys"), "remove one of the two", "table %s is global and has distribution_keys", t.Name)
	}
	if t.Timeout < 0 {
		c.add(at("timeout"), "give a time ≥ 0", "timeout is negative")
	}
}

func (c *checker) indexes() {
	seen := map[string]bool{}
	for i := range c.plan.Indexes {
		x := &c.plan.Indexes[i]
		at := func(key string) Position { return x.Where.At(key, x.At) }
		if key := strings.ToLower(x.Name); seen[key] {
			c.add(at("name"), "rename one", "index %s stands twice", x.Name)
		} else {
			seen[key] = true
		}
		c.identifier(at("name"), "index", x.Name)
		c.oneOf(at("type"), "index type", x.Type, "tree", "hash", "rtree", "bitset")
		if x.Timeout < 0 {
			c.add(at("timeout"), "give a time ≥ 0", "timeout is negative")
		}
		if len(x.Columns) == 0 {
			c.add(at("columns_names"), "name its columns", "index %s has no columns", x.Name)
		}
		t := c.byName[x.Table]
		if t == nil {
			c.cross(at("table_name"), didYouMeanTable(c.plan, x.Table), "unknown table %q", x.Table)
			continue
		}
		c.keyColumns(t, x.Where, x.At, "columns_names", x.Columns)
		c.uniqueIndex(t, x)
	}
}

// uniqueIndex reports a unique index that generated rows would violate.
func (c *checker) uniqueIndex(t *Table, x *Index) {
	if !x.Unique || t.Rows < 2 || len(x.Columns) == 0 {
		return
	}
	in := map[string]bool{}
	for _, name := range x.Columns {
		col := c.column(t, name)
		if col == nil || col.Unique {
			return
		}
		in[name] = true
	}
	whole := len(t.PrimaryKeys) > 0
	for _, name := range t.PrimaryKeys {
		whole = whole && in[name]
	}
	if !whole {
		c.cross(x.Where.At("unique", x.At), "set unique: true on one of its columns or unique: false here",
			"index %s is unique but none of its columns is", x.Name)
	}
}

// cycles reports columns whose references form a cycle.
func (c *checker) cycles() {
	state := map[*Column]int{} // 1: in progress, 2: done
	var visit func(col *Column) bool
	visit = func(col *Column) bool {
		if col.Type != gen.TypeReference || state[col] == 2 {
			return false
		}
		if state[col] == 1 {
			return true
		}
		state[col] = 1
		circular := false
		if t := c.byName[col.Table]; t != nil {
			if next := c.column(t, col.Column); next != nil {
				circular = visit(next)
			}
		}
		state[col] = 2
		return circular
	}
	for i := range c.plan.Tables {
		t := &c.plan.Tables[i]
		for k := range t.Columns {
			if col := &t.Columns[k]; visit(col) {
				c.add(col.Where.At("column", col.At), "give one column of the circle a type of its own",
					"column %s of table %s refers to itself in a circle", col.Name, t.Name)
			}
		}
	}
}
