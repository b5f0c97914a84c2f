package plan

import (
	"slices"
	"strings"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

func TestReadInsert(t *testing.T) {
	for statement, want := range map[string]struct {
		table   string
		columns []string
		values  []int
		plain   bool
	}{
		"INSERT INTO t VALUES ($2, $1)": {"t", nil, []int{2, 1}, true},
		"insert into s.\"a\"\"b\" (id, `n`) values (?, lower(?), ?);": {`s.a"b`, []string{"id", "n"},
			[]int{1, 0, 3}, true},
		"insert into t(a,b) values ($1::bigint, cast($2 as int)), ($3, $4)": {"t", []string{"a", "b"}, []int{1, 2}, true},
		"insert /* into u */ into t values ($1 + 1, '$1, (', (select $1))":  {"t", nil, []int{0, 0, 0}, true},
		"insert into t values ($1) on conflict do nothing":                  {"t", nil, []int{1}, false},
		"insert into t values (?) on duplicate key update n = 1":            {"t", nil, []int{1}, false},
		"insert or ignore into t values (?)":                                {"t", nil, []int{1}, false},
		"insert into t values ($1) returning id":                            {"t", nil, []int{1}, true},
		"insert into t select $1":                                           {},
		"insert into t default values":                                      {},
		"insert into t (":                                                   {},
		"insert into":                                                       {},
		"replace into t values ($1)":                                        {},
		"update t set id = $1":                                              {},
		"":                                                                  {},
	} {
		table, columns, values, plain := readInsert(statement)
		if strings.Join(table, ".") != want.table || !slices.Equal(columns, want.columns) ||
			!slices.Equal(values, want.values) || plain != want.plain {
			t.Errorf("%s: table %q, columns %q, values %v, plain %v; want %+v", statement, table, columns, values, plain,
				want)
		}
	}
}

func FuzzReadInsert(f *testing.F) {
	f.Add("insert into t(a,b) values ($1::bigint, cast(? as int)), ($3, $4)")
	f.Add("insert into \" (\" values (")
	f.Fuzz(func(t *testing.T, statement string) { readInsert(statement) })
}

// Which sequences begin after the values of a column, by default and explicitly.
func TestFollows(t *testing.T) {
	p := &Plan{Tables: []Table{{Name: "t", PrimaryKeys: []string{"id"}, Columns: []Column{
		{Name: "id", ValueSpec: ValueSpec{Spec: gen.Spec{Type: gen.TypeInteger}}},
		{Name: "n", ValueSpec: ValueSpec{Spec: gen.Spec{Type: gen.TypeInteger}}},
		{Name: "u", ValueSpec: ValueSpec{Spec: gen.Spec{Type: gen.TypeUnsigned, Unique: true}}},
	}}}}
	sequence := gen.Spec{Type: gen.TypeInteger, Distribution: gen.Sequential}
	elsewhere := sequence
	elsewhere.Table, elsewhere.Column = "other", "c"
	sql := func(text string) protocol.Request { return protocol.Request{Verb: protocol.SQL, Text: text} }
	into := sql("insert into T (N, ID, u) values ($1, $2, $3)")
	for name, c := range map[string]struct {
		request protocol.Request
		spec    gen.Spec
		start   Start
		k       int
		want    string
	}{
		"key":                     {into, sequence, StartUnsaid, 1, "t.id"},
		"unique column":           {into, gen.Spec{Type: gen.TypeUnsigned, Unique: true}, StartUnsaid, 2, "t.u"},
		"no key":                  {into, sequence, StartUnsaid, 0, ""},
		"no key, said":            {into, sequence, StartAfter, 0, "t.n"},
		"random key":              {into, gen.Spec{Type: gen.TypeInteger}, StartUnsaid, 1, ""},
		"key at its range":        {into, sequence, StartRange, 1, ""},
		"verb":                    {protocol.Request{Verb: protocol.Insert, Text: "t"}, sequence, StartUnsaid, 0, "t.id"},
		"verb beyond the columns": {protocol.Request{Verb: protocol.Insert, Text: "t"}, sequence, StartUnsaid, 3, ""},
		"replaces":                {protocol.Request{Verb: protocol.Replace, Text: "t"}, sequence, StartUnsaid, 0, ""},
		"other table":             {sql("insert into other values ($1)"), sequence, StartUnsaid, 0, ""},
		"other table, said":       {sql("insert into other values ($1)"), elsewhere, StartAfter, 0, "other.c"},
		"conflicts are meant":     {sql("insert into t values ($1) on conflict do nothing"), sequence, StartUnsaid, 0, ""},
		"conflicts are meant, said": {sql("insert into t values ($1) on conflict do nothing"), sequence, StartAfter, 0,
			"t.id"},
		"delete": {sql("delete from t where id = $1"), sequence, StartUnsaid, 0, ""},
	} {
		s := Step{Request: c.request, Params: make([]Param, 4)}
		for i := range s.Params {
			s.Params[i].Value = &ValueSpec{Spec: c.spec, Start: c.start}
		}
		table, column, ok := p.Follows(&s, c.k)
		if got := table + "." + column; ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%s: %v %s, want %q", name, ok, got, c.want)
		}
	}
}
