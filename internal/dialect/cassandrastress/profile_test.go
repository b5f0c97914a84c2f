package cassandrastress

import (
	"os"
	"strings"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/plan/script"
)

// A fault has its line and column.
func TestFaultsInProfiles(t *testing.T) {
	const head = "keyspace: k\ntable: t\ntable_definition: CREATE TABLE t (a int, b text, c map<int, int>, PRIMARY KEY (a))\n"
	plain := strings.Replace(head, ", c map<int, int>", "", 1)
	for text, want := range map[string]string{
		"":                      "p:1:1: the profile is empty",
		"keyspace: [":           "p:2:1: ",
		"- a":                   "p:1:1: a profile must be a mapping",
		"table: t":              "p:1:1: keyspace is missing",
		"keyspace: k":           "p:1:1: table is missing",
		plain + "colums: []":    `p:4:1: "colums" is no key of a profile`,
		plain + "columnspec: 5": "p:4:13: columnspec must be a list",
		plain + "columnspec:\n  - {name: b, size: FIXED(x)}":                       `p:5:21: FIXED(x): "x" is no whole number`,
		plain + "columnspec:\n  - {name: d}":                                       "p:5:12: table t has no column d; it has a, b",
		plain + "columnspec:\n  - {size: FIXED(1)}":                                "p:5:5: a column of columnspec has no name",
		plain + "columnspec:\n  - {name: b}\n  - {name: b}":                        "p:6:12: column b occurs twice",
		plain + "columnspec:\n  - {name: b, length: FIXED(1)}":                     `p:5:15: "length" is nothing that a column has`,
		plain + "columnspec:\n  - {name: a, cluster: FIXED(0)}":                    "p:5:12: column a: a cluster has at least one value",
		plain + "insert: {select: FIXED(1)}":                                       "p:4:18: \"FIXED(1)\" is no ratio",
		plain + "insert: {batchtype: fast}":                                        `p:4:21: batchtype "fast"`,
		plain + "insert: {visits: FIXED(1)}":                                       `p:4:10: "visits" is nothing that insert has`,
		plain + "insert: {row-population-ratio: FIXED(1)}":                         "p:4:32: \"FIXED(1)\" is no ratio",
		"keyspace: k\n\ttable: t":                                                  "p:2:1: found a tab character",
		plain + "columnspec:\n\t- {name: b}":                                       "p:5:1: found character that cannot start",
		plain + "columnspec:\n  - {name: b, Name: b}":                              "p:5:15: Name occurs twice",
		plain + "columnspec:\n  - {name: b, size: 5}":                              `p:5:21: "5" is no distribution`,
		plain + "columnspec:\n  - {name: b, size: gaussian(1..)}":                  `p:5:21: gaussian(1..): "" is no whole number`,
		plain + "columnspec:\n  - {name: b, size: exp(5..1)}":                      "p:5:21: exp(5..1): the start 5 is above",
		plain + "columnspec:\n  - {name: b, population: zipf(1..5)}":               `p:5:27: "zipf" is no distribution`,
		plain + "columnspec:\n  - {name: b, size: uniform(1..1B)}":                 "p:5:12: column b: values of more than",
		plain + "insert: 5":                                                        "p:4:9: insert must be a mapping",
		plain + "insert: {select: fixed(3)/2}":                                     "p:4:18: fixed(3)/2 is always above 1",
		plain + "insert: {select: fixed(0)/1}":                                     "p:4:18: fixed(0)/1 is always 0",
		plain + "insert: {partitions: fixed(0)}":                                   "p:4:22: fixed(0): an insert has from 1",
		plain + "queries: [a]":                                                     "p:4:10: queries must be a mapping",
		plain + "queries: {Q: {cql: a}, q: {cql: b}}":                              "p:4:24: q occurs twice",
		plain + "token_range_queries: {r: {columns: z}}":                           "p:4:36: table t has no column z",
		plain + "token_range_queries: {r: {page_size: 0}}":                         `p:4:38: page_size "0" is no number`,
		plain + "token_range_queries: {r: {size: 1}}":                              `p:4:27: "size" is nothing that a query of`,
		plain + "token_range_queries: {insert: {}}":                                "p:4:23: a query can't be called insert",
		plain + "queries:\n  q: {fields: samerow}":                                 "p:5:3: query q has no cql",
		plain + "queries:\n  q: {cql: x, fields: any}":                             `p:5:23: fields "any"`,
		plain + "queries:\n  insert: {cql: x}":                                     "p:5:3: a query can't be called insert",
		plain + "queries:\n  q: {cql: SELECT a FROM t WHERE z = ?}":                "p:5:12: query q: parameter 1: table t has no column z",
		plain + "queries:\n  q: {cql: SELECT a FROM t LIMIT ?}":                    "p:5:12: query q: parameter 1: ",
		plain + "queries: {q: {cql: x}}\ntoken_range_queries: {q: {columns: '*'}}": "p:4:20: q is in queries and in",
		head: "p:3:19: column c of type map<int,int>: cassandra-stress makes no such values",
		"keyspace: k\ntable: u\ntable_definition: CREATE TABLE t (a int PRIMARY KEY)": "p:3:19: table_definition makes table t",
		"keyspace: k\ntable: t\ntable_definition: CREATE TABLE t (a int)":             "p:3:19: table_definition: there is no PRIMARY",
		"keyspace: k\ntable: t\nkeyspace: k":                                          "p:3:1: keyspace occurs twice",
	} {
		p, err := ParseProfile("p", []byte(text))
		if err == nil {
			_, err = p.Table(nil)
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s:\ngot  %v\nwant %s", text, err, want)
		}
	}
}

func TestTables(t *testing.T) {
	for text, want := range map[string]string{
		"CREATE TABLE t (a int PRIMARY KEY, B text)": "t: a int 1, b text 0",
		"create columnfamily if not exists ks.\"T\" (x int static, \"B\" blob, c map<text, frozen<list<int>>>, primary key " +
			"((\"B\", c), x)) with clustering order by (x desc)": "T: B blob 1, c map<text,frozen<list<int>>> 1, x int 2",
		"CREATE TABLE t (a int, b int, PRIMARY KEY (a, b))": "t: a int 1, b int 2",
	} {
		table, err := ParseTable(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for _, c := range table.Columns {
			got = append(got, c.Name+" "+c.Type+" "+string(rune('0'+c.Role)))
		}
		if g := table.Name + ": " + strings.Join(got, ", "); g != want {
			t.Errorf("%s: got %s, want %s", text, g, want)
		}
	}
	for _, text := range []string{"", "DROP TABLE t", "CREATE TABLE", "CREATE TABLE t", "CREATE TABLE t (",
		"CREATE TABLE t (a)",
		"CREATE TABLE t (a int, a int, PRIMARY KEY (a))", "CREATE TABLE t (a int, PRIMARY KEY (b))", "CREATE TABLE t (a int",
		"CREATE TABLE t (a int, PRIMARY KEY ((a), a))", "CREATE TABLE t (a int PRIMARY KEY, PRIMARY KEY (a))"} {
		if _, err := ParseTable(text); err == nil {
			t.Errorf("%q is a table", text)
		}
	}
}

func TestStatementsOfTables(t *testing.T) {
	for text, want := range map[string]string{
		"CREATE TABLE t (a int, b int, c text, PRIMARY KEY (a, b))": `UPDATE "t" SET "c" = $1 WHERE "a" = $2 AND "b" = $3`,
		"CREATE TABLE t (a int, b int, PRIMARY KEY (a, b))":         `INSERT INTO "t" ("a", "b") VALUES ($1, $2)`,
		"CREATE TABLE t (a int PRIMARY KEY, n counter)":             `UPDATE "t" SET "n" = "n" + $1 WHERE "a" = $2`,
	} {
		table, err := ParseTable(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := table.Insert(); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	table, _ := ParseTable(`CREATE TABLE t (a int, b int, c text, "D" int, PRIMARY KEY (a, b))`)
	for cql, want := range map[string]string{
		"SELECT * FROM t WHERE a = ? AND b >= ?":               "a b",
		"SELECT * FROM t WHERE a IN (?, ?) AND b > ?":          "", // the second isn't plain
		"SELECT * FROM t WHERE a IN ? AND c CONTAINS ?":        "a c",
		`UPDATE t SET c = ?, "D" = "D" + ? WHERE a=? AND b =?`: "c D a b",
		"INSERT INTO t (b, a, c) VALUES (?, 5, ?)":             "b c",
		"DELETE FROM t WHERE A = ? IF c = ?":                   "a c",
		"SELECT * FROM t WHERE token(a) > ?":                   "",
	} {
		_, order, err := table.Bind(cql)
		var names []string
		for _, i := range order {
			names = append(names, table.Columns[i].Name)
		}
		if got := strings.Join(names, " "); want == "" && err == nil || want != "" && (err != nil || got != want) {
			t.Errorf("%s: %s, %v; want %s", cql, got, err, want)
		}
	}
}

func compiled(t *testing.T, profile string, options map[string]string, texts ...string) *program {
	t.Helper()
	s := &script.Source{Options: options, Seed: 3}
	s.Options["profile"] = profile
	for _, text := range texts {
		s.Operations = append(s.Operations, script.Operation{Name: text, Text: text, Weight: 1})
	}
	p, err := Language{}.Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	return p.(*program)
}

const sensors = `keyspace: k
table: t
table_definition: CREATE TABLE t (p int, c int, d int, v text, PRIMARY KEY (p, c, d))
columnspec:
  - {name: p, population: UNIFORM(1..50)}
  - {name: c, cluster: FIXED(4), population: UNIFORM(1..1M)}
  - {name: d, cluster: UNIFORM(1..3), population: UNIFORM(1..1M)}
  - {name: v, size: FIXED(6), population: UNIFORM(1..10)}
queries:
  same: {cql: "SELECT * FROM t WHERE p = ? AND c = ? AND d = ?", fields: samerow}
`

// A partition has the rows that its cluster distributions say, the same each time; queries ask for rows of partitions
// that inserts have written.
func TestRowsOfPartitions(t *testing.T) {
	p := compiled(t, sensors, map[string]string{"population": "seq=1..40"}, "insert", "same")
	s := p.Session(0).(*session)
	written, values := map[[3]int64]string{}, map[string]bool{}
	for i := range uint64(40) {
		step := s.Begin(0, i)
		if len(step.Args)%4 != 0 || len(step.Args) < 4*4 || len(step.Args) > 4*12 {
			t.Fatalf("operation %d has %d arguments", i, len(step.Args))
		}
		for a := step.Args; len(a) > 0; a = a[4:] { // v, p, c, d
			written[[3]int64{a[1].I, a[2].I, a[3].I}] = string(a[0].B)
			values[string(a[0].B)] = true
		}
		again := p.Session(1).Begin(0, i)
		if string(again.Args[0].B) != string(step.Args[0].B) || len(again.Args) != len(step.Args) {
			t.Fatalf("operation %d differs in another session", i)
		}
	}
	if len(values) > 10 {
		t.Errorf("%d different values of a population of 10", len(values))
	}
	for i := range uint64(200) {
		a := s.Begin(1, i).Args
		if _, ok := written[[3]int64{a[0].I, a[1].I, a[2].I}]; !ok {
			t.Fatalf("query %d asks for a row that wasn't written: %v", i, a)
		}
	}
}

// select= writes a share of the rows.
func TestSelectedRows(t *testing.T) {
	rows := func(share string) (n int) {
		p := compiled(t, sensors, map[string]string{"population": "seq=1..1000", "select": share, "partitions": "FIXED(3)"},
			"insert")
		s := p.Session(0)
		for i := range uint64(300) {
			n += len(s.Begin(0, i).Args) / 4
		}
		return n
	}
	all, quarter := rows("FIXED(1)/1"), rows("FIXED(1)/4")
	if all < 6800 || all > 7600 { // 900 partitions of 4 × 2 rows
		t.Errorf("%d rows", all)
	}
	if share := float64(quarter) / float64(all); share < 0.22 || share > 0.28 {
		t.Errorf("a share of %v", share)
	}
}

func TestValues(t *testing.T) {
	for kind, of := range scalarTypes {
		c := Column{Name: "x", Type: kind, Spec: NewColumnSpec("x")}
		var a, b gen.Value
		stream := gen.NewStream(1, kind)
		c.value(&a, stream, 77)
		c.value(&b, stream, 77)
		if a.Kind != of || a.I != b.I || a.F != b.F || string(a.B) != string(b.B) {
			t.Errorf("%s: %v and %v", kind, a, b)
		}
		if n := len(a.B); (kind == "text" || kind == "blob" || kind == hexBytes) && (n < 4 || n > 8) {
			t.Errorf("%s of %d bytes", kind, n)
		}
	}
}

// What a profile becomes in a plan is the same profile.
func TestProfilesInPlans(t *testing.T) {
	text, err := os.ReadFile("../../../examples/cassandra-stress.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := ParseProfile("p", text)
	if err != nil {
		t.Fatal(err)
	}
	table, err := p.Table(nil)
	if err != nil {
		t.Fatal(err)
	}
	first, err := p.yaml(table)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseProfile("again", []byte(first))
	if err != nil {
		t.Fatal(err)
	}
	if table, err = again.Table(nil); err != nil {
		t.Fatal(err)
	}
	if second, err := again.yaml(table); err != nil || second != first {
		t.Errorf("%v\n%s\n%s", err, first, second)
	}
}

func FuzzProfile(f *testing.F) {
	text, err := os.ReadFile("../../../examples/cassandra-stress.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add(sensors)
	f.Add("a: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseProfile("p", []byte(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "p:") {
				t.Errorf("no place: %v", err)
			}
			return
		}
		table, err := p.Table(nil)
		if err != nil {
			return
		}
		if _, err := p.yaml(table); err != nil {
			t.Error(err)
		}
	})
}

// TestCollections encodes values by the examples of the native protocol (sections 6.6, 6.17 and 6.18 of its fourth
// version).
func TestCollections(t *testing.T) {
	spec := NewColumnSpec("c")
	var err error
	if spec.Size, err = ParseDistribution("fixed(3)"); err != nil {
		t.Fatal(err)
	}
	if spec.Population, err = ParseDistribution("fixed(300)"); err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]string{
		"list<int>":                  "list<int>\x00\x00\x00\x00\x03" + strings.Repeat("\x00\x00\x00\x04\x00\x00\x01\x2c", 3),
		"frozen<set<smallint>>":      "set<smallint>\x00\x00\x00\x00\x01\x00\x00\x00\x02\x01\x2c",
		"set<frozen<list<tinyint>>>": "set<list<tinyint>>\x00\x00\x00\x00\x01\x00\x00\x00\x13\x00\x00\x00\x03" + strings.Repeat("\x00\x00\x00\x01\x2c", 3),
		"set<varint>":                "set<varint>\x00\x00\x00\x00\x01\x00\x00\x00\x02\x01\x2c",
		"set<decimal>":               "set<decimal>\x00\x00\x00\x00\x01\x00\x00\x00\x06\x00\x00\x00\x01\x01\x2c",
	} {
		c := Column{Name: "c", Type: kind, Spec: spec}
		var v gen.Value
		if c.value(&v, gen.NewStream(1, "c"), 5); v.Kind != gen.Packed || string(v.B) != want {
			t.Errorf("%s: %q, want %q", kind, v.B, want)
		}
	}
	for n, want := range map[int64]string{0: "\x00", 1: "\x01", 127: "\x7f", 128: "\x00\x80", 129: "\x00\x81", -1: "\xff",
		-128: "\x80", -129: "\xff\x7f"} {
		if got := string(varint(nil, n)); got != want {
			t.Errorf("varint %d: %q, want %q", n, got, want)
		}
	}
}
