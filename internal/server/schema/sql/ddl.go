package sql

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/plan"
	"brunt/internal/render/message"
)

// DefaultTimeout is Picodata's timeout for a DDL statement if the plan sets none.
const DefaultTimeout = 86400 * time.Second

// CreateTable returns the statement that creates t. tables are all tables of the plan, in which the types of references
// are looked up. It may be nil if t has no references.
func (f Flavor) CreateTable(t *plan.Table, tables []plan.Table) (stmt string, notices []Notice, err error) {
	return f.createTable(t, tables, len(t.PrimaryKeys) > 0)
}

func (f Flavor) createTable(t *plan.Table, tables []plan.Table, withKey bool) (stmt string, notices []Notice,
	err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("create table %s on %s: %w", t.Name, f.product, err)
		}
	}()
	if err := f.checkTable(t); err != nil {
		return "", nil, err
	}
	var b strings.Builder
	b.WriteString("CREATE ")
	if t.Unlogged && (f.product == PostgreSQL || f.product == Picodata) {
		b.WriteString("UNLOGGED ")
	}
	b.WriteString("TABLE " + f.quoteTable(t.Name) + " (")
	for i := range t.Columns {
		c := &t.Columns[i]
		if i > 0 {
			b.WriteString(", ")
		}
		name, more, err := f.columnType(&c.Spec, tables)
		if err != nil {
			return "", nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
		notices = Merge(notices, more...)
		b.WriteString(f.quote(c.Name) + " " + name)
		if !c.Nullable || slices.Contains(t.PrimaryKeys, c.Name) {
			b.WriteString(" NOT NULL")
		}
	}
	if withKey {
		b.WriteString(", PRIMARY KEY (" + f.quoteAll(t.PrimaryKeys) + ")")
	}
	b.WriteString(")")
	tail, more := f.tableTail(t)
	b.WriteString(tail)
	return b.String(), Merge(notices, more...), nil
}

func (f Flavor) checkTable(t *plan.Table) error {
	if t.Name == "" || strings.ContainsRune(t.Name, 0) {
		return errors.New("the table has no usable name")
	}
	if len(t.Columns) == 0 {
		return errors.New("the table has no columns")
	}
	if len(t.PrimaryKeys) == 0 && (f.product == Picodata || f.product == Tarantool) {
		return fmt.Errorf("%s needs a primary key: set primary_keys", f.product)
	}
	switch strings.ToLower(t.Engine) {
	case "", "memtx", "vinyl":
	default:
		return fmt.Errorf("unknown engine %q: use memtx or vinyl", t.Engine)
	}
	if f.product != Picodata {
		return nil
	}
	switch strings.ToLower(t.WaitApplied) {
	case "", "globally", "locally":
	default:
		return fmt.Errorf("unknown wait_applied %q: use globally or locally", t.WaitApplied)
	}
	if t.Global && t.Tier != "" {
		return errors.New("a global table lives in every tier: remove tier")
	}
	if t.Global && len(t.DistributionKeys) > 0 {
		return errors.New("a global table has no distribution keys: remove distribution_keys")
	}
	return nil
}

// tableTail returns what follows the list of columns.
func (f Flavor) tableTail(t *plan.Table) (string, []Notice) {
	switch f.product {
	case Picodata:
		return f.picodataTail(t), nil
	case Tarantool:
		tail := ""
		if t.Engine != "" {
			tail = " WITH ENGINE='" + strings.ToLower(t.Engine) + "'"
		}
		return tail, f.ignoredTable(t)
	case SQLite:
		// Unless the key is a single INTEGER column, which is the rowid itself, the table is stored as a tree by its
		// key. This saves a second lookup by rowid.
		if n := len(t.PrimaryKeys); n > 1 || n == 1 && !f.isInteger(t, t.PrimaryKeys[0]) {
			return " WITHOUT ROWID", f.ignoredTable(t)
		}
	}
	return "", f.ignoredTable(t)
}

func (f Flavor) isInteger(t *plan.Table, column string) bool {
	_, c := plan.FindColumn([]plan.Table{*t}, t.Name, column)
	if c == nil {
		return false
	}
	name, _, err := f.columnType(&c.Spec, nil)
	return err == nil && name == "INTEGER"
}

func (f Flavor) picodataTail(t *plan.Table) string {
	var b strings.Builder
	if t.Engine != "" {
		b.WriteString(" USING " + strings.ToLower(t.Engine))
	}
	switch {
	case t.Global:
		b.WriteString(" DISTRIBUTED GLOBALLY")
	case len(t.DistributionKeys) > 0:
		b.WriteString(" DISTRIBUTED BY (" + f.quoteAll(t.DistributionKeys) + ")")
	default:
		b.WriteString(" DISTRIBUTED BY (" + f.quoteAll(t.PrimaryKeys) + ")")
	}
	if t.Tier != "" {
		b.WriteString(" IN TIER " + f.quote(t.Tier))
	}
	if t.WaitApplied != "" {
		b.WriteString(" WAIT APPLIED " + strings.ToUpper(t.WaitApplied))
	}
	return b.String() + timeoutOption(t.Timeout)
}

func timeoutOption(d time.Duration) string {
	if d <= 0 {
		d = DefaultTimeout
	}
	s := strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return " OPTION (TIMEOUT = " + s + ")"
}

// ignoredTable returns notices for the settings of t that the product doesn't have.
func (f Flavor) ignoredTable(t *plan.Table) []Notice {
	var list []Notice
	ignore := func(set bool, id string, what message.Message) {
		if set {
			list = append(list, Notice{"sql-" + id + "-ignored",
				message.New("sql-ignored", message.Text("product", f.product.String()), message.Nested("what", what))})
		}
	}
	ignore(t.Engine != "" && f.product != Tarantool, "engine", message.New("sql-ignored.engine"))
	ignore(len(t.DistributionKeys) > 0 || t.Global, "distribution", message.New("sql-ignored.distribution"))
	ignore(t.Tier != "", "tier", message.New("sql-ignored.tier"))
	ignore(t.WaitApplied != "", "wait-applied", message.New("sql-ignored.wait-applied"))
	ignore(t.Unlogged && f.product != PostgreSQL, "unlogged", message.New("sql-ignored.unlogged"))
	ignore(t.Timeout > 0, "timeout", message.New("sql-ignored.timeout"))
	return list
}

// DropTable returns the statement that drops t if it exists.
func (f Flavor) DropTable(t *plan.Table) string {
	s := "DROP TABLE IF EXISTS " + f.quoteTable(t.Name)
	if f.product == Picodata {
		s += timeoutOption(t.Timeout)
	}
	return s
}

// HasSchema returns a query whose single value is the number of schemas that t's name begins with: 0 or 1. It returns
// "" if the name has none.
func (f Flavor) HasSchema(t *plan.Table) string {
	schema, _ := f.path(t.Name)
	switch {
	case schema == "":
		return ""
	case f.product == MySQL:
		return "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = " + f.text(schema)
	}
	return "SELECT COUNT(*) FROM pg_namespace WHERE nspname = " + f.text(schema)
}

// CreateSchema returns the statement that creates the schema of t.
func (f Flavor) CreateSchema(t *plan.Table) string {
	schema, _ := f.path(t.Name)
	return "CREATE SCHEMA IF NOT EXISTS " + f.quote(schema)
}

// KeyLast reports whether a table fills faster if its primary key is created afterwards. This is what pgbench's
// initialization does: building an index once is cheaper than updating it with each row.
func (f Flavor) KeyLast() bool { return f.product == PostgreSQL && !f.keyFirst }

// CreateTableWithoutKey is CreateTable without the primary key, which AddKey adds once the table is full.
func (f Flavor) CreateTableWithoutKey(t *plan.Table, tables []plan.Table) (stmt string, notices []Notice, err error) {
	return f.createTable(t, tables, false)
}

// AddKey returns the statement that creates t's primary key, and replaces an existing one. It returns "" for a table
// without a primary key.
func (f Flavor) AddKey(t *plan.Table) string {
	if len(t.PrimaryKeys) == 0 {
		return ""
	}
	_, own := f.path(t.Name)
	name := f.quote(own + "_pkey")
	return "ALTER TABLE " + f.quoteTable(t.Name) + " DROP CONSTRAINT IF EXISTS " + name +
		", ADD CONSTRAINT " + name + " PRIMARY KEY (" + f.quoteAll(t.PrimaryKeys) + ")"
}

// CreateIndex returns the statement that creates ix on t. t is the plan's table of that name, or nil if the plan
// doesn't describe the table.
func (f Flavor) CreateIndex(ix *plan.Index, t *plan.Table) (stmt string, notices []Notice, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("create index %s on %s: %w", ix.Name, f.product, err)
		}
	}()
	if ix.Name == "" || ix.Table == "" {
		return "", nil, errors.New("the index needs name and table_name")
	}
	if len(ix.Columns) == 0 {
		return "", nil, errors.New("the index has no columns")
	}
	head := "CREATE "
	if ix.Unique {
		head += "UNIQUE "
	}
	head += "INDEX " + f.quote(ix.Name) + " ON " + f.quoteTable(ix.Table)
	kind, notices, err := f.indexType(ix)
	if err != nil {
		return "", nil, err
	}
	columns := " (" + f.quoteAll(ix.Columns) + ")"
	if f.product != Picodata {
		if len(ix.Options) > 0 {
			notices = Merge(notices, Notice{"sql-index-options-ignored",
				message.New("sql-index-options-ignored", message.Text("product", f.product.String()))})
		}
		if ix.Timeout > 0 {
			notices = Merge(notices,
				Notice{"sql-timeout-ignored", message.New("sql-timeout-ignored", message.Text("product", f.product.String()))})
		}
		return head + kind + columns, notices, nil
	}
	if err := checkUnique(ix, t); err != nil {
		return "", nil, err
	}
	options, err := picodataOptions(ix.Options)
	if err != nil {
		return "", nil, err
	}
	return head + kind + columns + options + timeoutOption(ix.Timeout), nil, nil
}

// indexType returns the USING clause.
func (f Flavor) indexType(ix *plan.Index) (using string, notices []Notice, err error) {
	t := strings.ToLower(ix.Type)
	switch t {
	case "", "tree", "hash", "rtree", "bitset":
	default:
		return "", nil, fmt.Errorf("unknown index type %q: use tree, hash, rtree or bitset", ix.Type)
	}
	if f.product == Picodata {
		if t == "" {
			t = "tree"
		}
		return " USING " + strings.ToUpper(t), nil, nil
	}
	if t == "rtree" || t == "bitset" {
		return "", nil, fmt.Errorf("it has no %s index for such columns: use tree or hash, or leave the index out", t)
	}
	switch f.product {
	case PostgreSQL:
		if t != "hash" {
			return " USING btree", nil, nil
		}
		if ix.Unique || len(ix.Columns) > 1 {
			return "", nil, errors.New("its hash indexes have one column and can't be unique: use tree")
		}
		return " USING hash", nil, nil
	default:
		if t == "hash" {
			notices = []Notice{{"sql-hash-index-mapped",
				message.New("sql-hash-index-mapped", message.Text("product", f.product.String()))}}
		}
		return "", notices, nil
	}
}

func checkUnique(ix *plan.Index, t *plan.Table) error {
	if !ix.Unique {
		return nil
	}
	if k := strings.ToLower(ix.Type); k != "" && k != "tree" {
		return fmt.Errorf("a unique index must be of type tree, not %s", k)
	}
	if t == nil || t.Global {
		return nil
	}
	keys := t.DistributionKeys
	if len(keys) == 0 {
		keys = t.PrimaryKeys
	}
	for _, k := range keys {
		if !slices.Contains(ix.Columns, k) {
			return fmt.Errorf(
				"a unique index must hold the table's distribution keys, and %q isn't among its columns: add it, or make the index not unique", k)
		}
	}
	return nil
}

// picodataOptions returns the WITH clause. The names and values of options are those of Picodata's grammar of CREATE
// INDEX.
func picodataOptions(options []plan.IndexOption) (string, error) {
	if len(options) == 0 {
		return "", nil
	}
	parts := make([]string, len(options))
	for i, o := range options {
		name, value := strings.ToUpper(o.Name), strings.ToLower(o.Value)
		ok := false
		switch name {
		case "HINT":
			ok = value == "true" || value == "false"
		case "DISTANCE":
			ok = value == "euclid" || value == "manhattan"
			value = strings.ToUpper(value)
		case "BLOOM_FPR", "PAGE_SIZE", "RANGE_SIZE", "RUN_COUNT_PER_LEVEL", "RUN_SIZE_RATIO", "DIMENSION",
			"COMPRESSION_LEVEL":
			ok = isNumber(value)
		default:
			return "", fmt.Errorf(
				"unknown option %q: use hint, bloom_fpr, page_size, range_size, run_count_per_level, run_size_ratio, dimension, distance or compression_level", o.Name)
		}
		if !ok {
			return "", fmt.Errorf("option %s can't be %q", o.Name, o.Value)
		}
		parts[i] = name + " = " + value
	}
	return " WITH (" + strings.Join(parts, ", ") + ")", nil
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil && strings.Trim(s, "0123456789.-") == ""
}

// DropIndex returns the statement that drops ix if it exists. On MySQL the statement fails if the index doesn't exist.
func (f Flavor) DropIndex(ix *plan.Index) string {
	s := "DROP INDEX IF EXISTS " + f.quote(ix.Name)
	switch f.product {
	case PostgreSQL: // an index is in the schema of its table
		if schema, _ := f.path(ix.Table); schema != "" {
			s = "DROP INDEX IF EXISTS " + f.quote(schema) + "." + f.quote(ix.Name)
		}
	case MySQL: // unlike MariaDB, MySQL has no IF EXISTS here
		s = "DROP INDEX " + f.quote(ix.Name) + " ON " + f.quoteTable(ix.Table)
	case Tarantool:
		s += " ON " + f.quoteTable(ix.Table)
	case Picodata:
		s += timeoutOption(ix.Timeout)
	}
	return s
}
