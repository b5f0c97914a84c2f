package sql

import (
	"strings"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/protocol"
)

func TestCarsDDL(t *testing.T) {
	table, index := cars()
	for _, c := range []struct{ product, table, index, dropTable, dropIndex, analyze string }{
		{"Picodata",
			`CREATE TABLE "cars_q" ("id" INTEGER NOT NULL, "brand" TEXT NOT NULL, "received" DATETIME NOT NULL, "stock" BOOLEAN NOT NULL, PRIMARY KEY ("id", "received")) USING memtx DISTRIBUTED BY ("id", "received") IN TIER "default" OPTION (TIMEOUT = 3.0)`,
			`CREATE INDEX "cars_brand_index" ON "cars_q" USING TREE ("brand") WITH (HINT = true) OPTION (TIMEOUT = 3.0)`,
			`DROP TABLE IF EXISTS "cars_q" OPTION (TIMEOUT = 3.0)`,
			`DROP INDEX IF EXISTS "cars_brand_index" OPTION (TIMEOUT = 3.0)`,
			""},
		{"PostgreSQL",
			`CREATE TABLE "cars_q" ("id" BIGINT NOT NULL, "brand" TEXT NOT NULL, "received" TIMESTAMPTZ NOT NULL, "stock" BOOLEAN NOT NULL, PRIMARY KEY ("id", "received"))`,
			`CREATE INDEX "cars_brand_index" ON "cars_q" USING btree ("brand")`,
			`DROP TABLE IF EXISTS "cars_q"`, `DROP INDEX IF EXISTS "cars_brand_index"`, `ANALYZE "cars_q"`},
		{"Tarantool",
			`CREATE TABLE "cars_q" ("id" INTEGER NOT NULL, "brand" STRING NOT NULL, "received" INTEGER NOT NULL, "stock" BOOLEAN NOT NULL, PRIMARY KEY ("id", "received")) WITH ENGINE='memtx'`,
			`CREATE INDEX "cars_brand_index" ON "cars_q" ("brand")`,
			`DROP TABLE IF EXISTS "cars_q"`, `DROP INDEX IF EXISTS "cars_brand_index" ON "cars_q"`, ""},
		{"SQLite",
			`CREATE TABLE "cars_q" ("id" INTEGER NOT NULL, "brand" TEXT NOT NULL, "received" TEXT NOT NULL, "stock" INTEGER NOT NULL, PRIMARY KEY ("id", "received")) WITHOUT ROWID`,
			`CREATE INDEX "cars_brand_index" ON "cars_q" ("brand")`,
			`DROP TABLE IF EXISTS "cars_q"`, `DROP INDEX IF EXISTS "cars_brand_index"`, `ANALYZE "cars_q"`},
		{"MariaDB",
			"CREATE TABLE `cars_q` (`id` BIGINT NOT NULL, `brand` VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, `received` DATETIME(6) NOT NULL, `stock` BOOLEAN NOT NULL, PRIMARY KEY (`id`, `received`))",
			"CREATE INDEX `cars_brand_index` ON `cars_q` (`brand`)",
			"DROP TABLE IF EXISTS `cars_q`", "DROP INDEX `cars_brand_index` ON `cars_q`", "ANALYZE TABLE `cars_q`"},
	} {
		f := flavor(t, c.product)
		got, _, err := f.CreateTable(&table, nil)
		same(t, c.product, got, c.table, err)
		got, _, err = f.CreateIndex(&index, &table)
		same(t, c.product, got, c.index, err)
		same(t, c.product, f.DropTable(&table), c.dropTable, nil)
		same(t, c.product, f.DropIndex(&index), c.dropIndex, nil)
		same(t, c.product, f.Analyze(table.Name), c.analyze, nil)
	}
}

func same(t *testing.T, what, got, want string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	} else if got != want {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

func TestPicodataTail(t *testing.T) {
	f := flavor(t, "picodata")
	base := func() plan.Table {
		return plan.Table{Name: "t", Columns: []plan.Column{column("a", gen.TypeUnsigned, false),
			column("b", gen.TypeDouble, true)}, PrimaryKeys: []string{"a"}}
	}
	const head = `TABLE "t" ("a" UNSIGNED NOT NULL, "b" DOUBLE, PRIMARY KEY ("a"))`
	for _, c := range []struct {
		edit func(*plan.Table)
		want string
	}{
		{func(*plan.Table) {}, `CREATE ` + head + ` DISTRIBUTED BY ("a") OPTION (TIMEOUT = 86400.0)`},
		{func(t *plan.Table) { t.Global = true; t.Engine = "VINYL" }, `CREATE ` + head +
			` USING vinyl DISTRIBUTED GLOBALLY OPTION (TIMEOUT = 86400.0)`},
		{func(t *plan.Table) { t.Unlogged = true; t.WaitApplied = "Locally"; t.Timeout = 1500 * time.Millisecond },
			`CREATE UNLOGGED ` + head + ` DISTRIBUTED BY ("a") WAIT APPLIED LOCALLY OPTION (TIMEOUT = 1.5)`},
		{func(t *plan.Table) { t.Tier = "sto\"rage"; t.WaitApplied = "globally" },
			`CREATE ` + head + ` DISTRIBUTED BY ("a") IN TIER "sto""rage" WAIT APPLIED GLOBALLY OPTION (TIMEOUT = 86400.0)`},
	} {
		table := base()
		c.edit(&table)
		got, notices, err := f.CreateTable(&table, nil)
		same(t, "Picodata", got, c.want, err)
		if len(notices) > 0 {
			t.Errorf("Picodata ignores nothing, but says %v", notices)
		}
	}
}

func TestIndexes(t *testing.T) {
	table, _ := cars()
	ix := func(kind string, unique bool, columns ...string) *plan.Index {
		return &plan.Index{Name: "i", Table: "cars_q", Columns: columns, Type: kind, Unique: unique}
	}
	option := func(name, value string) *plan.Index {
		x := ix("", false, "id")
		x.Options = []plan.IndexOption{{Name: name, Value: value}, {Name: "page_size", Value: "8192"}}
		return x
	}
	for _, c := range []struct {
		product string
		index   *plan.Index
		want    string // the statement, or a part of the error after "!"
	}{
		{"Picodata", ix("bitset", false, "id"),
			`CREATE INDEX "i" ON "cars_q" USING BITSET ("id") OPTION (TIMEOUT = 86400.0)`},
		{"Picodata", ix("rtree", false, "id"), `CREATE INDEX "i" ON "cars_q" USING RTREE ("id") OPTION (TIMEOUT = 86400.0)`},
		{"Picodata", ix("", true, "id", "received"),
			`CREATE UNIQUE INDEX "i" ON "cars_q" USING TREE ("id", "received") OPTION (TIMEOUT = 86400.0)`},
		{"Picodata", ix("", true, "id"), `!"received" isn't among its columns`},
		{"Picodata", ix("hash", true, "id", "received"), `!must be of type tree`},
		{"Picodata", option("bloom_fpr", "0.05"),
			`CREATE INDEX "i" ON "cars_q" USING TREE ("id") WITH (BLOOM_FPR = 0.05, PAGE_SIZE = 8192) OPTION (TIMEOUT = 86400.0)`},
		{"Picodata", option("distance", "Euclid"),
			`CREATE INDEX "i" ON "cars_q" USING TREE ("id") WITH (DISTANCE = EUCLID, PAGE_SIZE = 8192) OPTION (TIMEOUT = 86400.0)`},
		{"Picodata", option("hint", "maybe"), `!option hint can't be "maybe"`},
		{"Picodata", option("run_size_ratio", "1) DROP"), `!can't be`},
		{"Picodata", option("colour", "red"), `!unknown option "colour"`},
		{"PostgreSQL", ix("hash", false, "id"), `CREATE INDEX "i" ON "cars_q" USING hash ("id")`},
		{"PostgreSQL", ix("hash", true, "id"), `!hash indexes`},
		{"PostgreSQL", ix("hash", false, "id", "brand"), `!hash indexes`},
		{"PostgreSQL", ix("rtree", false, "id"), `!no rtree index`},
		{"PostgreSQL", ix("bitset", false, "id"), `!no bitset index`},
		{"PostgreSQL", ix("gin", false, "id"), `!unknown index type "gin"`},
		{"PostgreSQL", ix("tree", false), `!no columns`},
		{"Tarantool", ix("rtree", false, "id"), `!no rtree index`},
		{"Tarantool", ix("hash", true, "id"), `CREATE UNIQUE INDEX "i" ON "cars_q" ("id")`},
		{"SQLite", ix("bitset", false, "id"), `!no bitset index`},
	} {
		got, _, err := flavor(t, c.product).CreateIndex(c.index, &table)
		if fault, ok := strings.CutPrefix(c.want, "!"); ok {
			if err == nil || !strings.Contains(err.Error(), fault) {
				t.Errorf("%s: got %q, %v; want an error with %q", c.product, got, err, fault)
			}
			continue
		}
		same(t, c.product, got, c.want, err)
	}
}

func TestTypes(t *testing.T) {
	tables := everything()
	for product, want := range map[string]string{
		"PostgreSQL": `CREATE TABLE "all types" ("i" BIGINT NOT NULL, "u" BIGINT, "d" DOUBLE PRECISION, "n" NUMERIC, "s" TEXT NOT NULL, "b" BOOLEAN, "t" TIMESTAMPTZ, "id" UUID, "j" JSONB, "car" TIMESTAMPTZ NOT NULL, "Odd ""name""" DOUBLE PRECISION, PRIMARY KEY ("s"))`,
		"Picodata":   `CREATE TABLE "all types" ("i" INTEGER NOT NULL, "u" UNSIGNED, "d" DOUBLE, "n" DECIMAL, "s" TEXT NOT NULL, "b" BOOLEAN, "t" DATETIME, "id" UUID, "j" JSON, "car" DATETIME NOT NULL, "Odd ""name""" DOUBLE, PRIMARY KEY ("s")) DISTRIBUTED BY ("s") OPTION (TIMEOUT = 86400.0)`,
		"Tarantool":  `CREATE TABLE "all types" ("i" INTEGER NOT NULL, "u" UNSIGNED, "d" DOUBLE, "n" NUMBER, "s" STRING NOT NULL, "b" BOOLEAN, "t" INTEGER, "id" STRING, "j" STRING, "car" INTEGER NOT NULL, "Odd ""name""" DOUBLE, PRIMARY KEY ("s"))`,
		"SQLite":     `CREATE TABLE "all types" ("i" INTEGER NOT NULL, "u" INTEGER, "d" REAL, "n" NUMERIC, "s" TEXT NOT NULL, "b" INTEGER, "t" TEXT, "id" TEXT, "j" TEXT, "car" TEXT NOT NULL, "Odd ""name""" REAL, PRIMARY KEY ("s")) WITHOUT ROWID`,
	} {
		got, _, err := flavor(t, product).CreateTable(&tables[1], tables)
		same(t, product, got, want, err)
	}
	wide := wideTable()
	got, _, err := flavor(t, "PostgreSQL").CreateTable(&wide, nil)
	same(t, "wide", got, `CREATE TABLE "wide" ("u" NUMERIC(20,0) NOT NULL, PRIMARY KEY ("u"))`, err)
	if _, _, err := flavor(t, "SQLite").CreateTable(&wide, nil); err == nil || !strings.Contains(err.Error(), "column u") {
		t.Errorf("SQLite took an unsigned range above its integers: %v", err)
	}
}

// TestChainOfReferences has a table whose columns refer to each other, and the last one to a value.
func TestChainOfReferences(t *testing.T) {
	chain := plan.Table{Name: "a", PrimaryKeys: []string{"w"}}
	for _, name := range []string{"w", "x", "y"} {
		c := column(name, gen.TypeReference, false)
		c.Table, c.Column = "a", string(name[0]+1)
		chain.Columns = append(chain.Columns, c)
	}
	chain.Columns = append(chain.Columns, column("z", gen.TypeInteger, false))
	got, _, err := flavor(t, "PostgreSQL").CreateTable(&chain, []plan.Table{chain})
	same(
		t, "chain", got, `CREATE TABLE "a" ("w" BIGINT NOT NULL, "x" BIGINT NOT NULL, "y" BIGINT NOT NULL, "z" BIGINT NOT NULL, PRIMARY KEY ("w"))`, err)
}

func TestTableFaults(t *testing.T) {
	loop := []plan.Table{{Name: "a", Columns: []plan.Column{column("x", gen.TypeReference, false)},
		PrimaryKeys: []string{"x"}}}
	loop[0].Columns[0].Table, loop[0].Columns[0].Column = "a", "x"
	for name, c := range map[string]struct {
		edit func(*plan.Table)
		want string
	}{
		"no key":          {func(t *plan.Table) { t.PrimaryKeys = nil }, "primary key"},
		"no columns":      {func(t *plan.Table) { t.Columns = nil }, "no columns"},
		"engine":          {func(t *plan.Table) { t.Engine = "rocks" }, `unknown engine "rocks"`},
		"wait":            {func(t *plan.Table) { t.WaitApplied = "never" }, "wait_applied"},
		"global in tier":  {func(t *plan.Table) { t.Global, t.DistributionKeys = true, nil }, "remove tier"},
		"global and keys": {func(t *plan.Table) { t.Global, t.Tier = true, "" }, "remove distribution_keys"},
		"loop":            {func(t *plan.Table) { *t = loop[0] }, "circle"},
		"type":            {func(t *plan.Table) { t.Columns[0].Type = "blob" }, `column id: unknown type "blob"`},
	} {
		table, _ := cars()
		c.edit(&table)
		if got, _, err := flavor(t, "Picodata").CreateTable(&table, loop); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %q, %v; want an error with %q", name, got, err, c.want)
		}
	}
	for _, c := range []struct {
		name, product, version, want string
		servers                      []protocol.SQLServer
	}{
		{"another product", "Oracle", "23", `for "Oracle", only for PostgreSQL, CockroachDB`, declaredServers()},
		{"an old version", "Tarantool", "1.10.15", "Tarantool 1.10.15 has no SQL", declaredServers()},
		{"no SQL at all", "Redis", "7", "Redis isn't asked in SQL", nil},
	} {
		if _, err := For(c.servers, c.product, c.version); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	other, err := For([]protocol.SQLServer{{Product: "X", Flavor: MySQL}, {Flavor: SQLite}}, "Y", "")
	if err != nil || other.Product() != SQLite {
		t.Errorf("a server that isn't listed: %v, %v", other.Product(), err)
	}
}

func TestNotices(t *testing.T) {
	table, index := cars()
	for product, want := range map[string][]string{
		"Picodata": nil,
		"PostgreSQL": {"sql-engine-ignored", "sql-distribution-ignored", "sql-tier-ignored", "sql-timeout-ignored",
			"sql-index-options-ignored"},
		"Tarantool": {"sql-datetime-mapped", "sql-distribution-ignored", "sql-tier-ignored", "sql-timeout-ignored",
			"sql-index-options-ignored"},
		"SQLite": {"sql-datetime-mapped", "sql-engine-ignored", "sql-distribution-ignored", "sql-tier-ignored",
			"sql-timeout-ignored", "sql-index-options-ignored"},
	} {
		f := flavor(t, product)
		_, list, err := f.CreateTable(&table, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, more, err := f.CreateIndex(&index, &table)
		if err != nil {
			t.Fatal(err)
		}
		list = Merge(list, more...)
		list = Merge(list, list...)
		var ids []string
		for _, n := range list {
			ids = append(ids, n.ID)
			if strings.Contains(n.Text.String(), "\n") || !strings.Contains(n.Text.String(), product) {
				t.Errorf("notice %q is not one line that names %s", n.Text, product)
			}
		}
		if strings.Join(ids, " ") != strings.Join(want, " ") {
			t.Errorf("%s: notices %v, want %v", product, ids, want)
		}
	}
}
