package postgres

import (
	"context"
	"slices"
	"strings"

	"brunt/internal/base/sqltext"
)

// blockSize is the size of a page in bytes. Servers built with another size are rare; only sizes shown in texts
// would be wrong.
const blockSize = 8192

// catalog holds what the server's catalogs contain about tables and indexes.
type catalog struct {
	tables      map[string]tableFacts  // by schema.table
	columns     map[string]columnFacts // by schema.table.column
	indexes     []indexFacts
	keys        []foreignKey
	workMem     string
	buffers     string // shared_buffers
	databaseB   float64
	connections float64 // that clients may have open
	trigrams    string  // whether pg_trgm is there
	routines    []routine
}

// tableFacts describes a table.
type tableFacts struct {
	rows, pages float64 // as of the last vacuum or analyze
	pagesNow    float64
	rewritten   float64 // rows updated or deleted since the statistics were reset
	rowWidthB   float64 // bytes of a row's values according to the statistics; 0 if there are none
	analyzed    bool    // whether the table was ever analyzed
	fillPercent float64
	unvacuumed  string // the storage parameter that turns autovacuum off for the table; "" if none does
}

// columnFacts describes a column.
type columnFacts struct {
	kind string   // its type
	free []string // types to which it can be cast without computation; the column's indexes serve them too
}

// indexFacts describes an index.
type indexFacts struct {
	name, table string
	sizeB       float64
	scans       float64 // since the statistics were reset
	constraint  bool    // it enforces a unique or exclusion constraint
	definition  string
}

// foreignKey is a foreign key without an index on the referencing table.
type foreignKey struct {
	name, child, parent, columns string
	childRows                    float64
}

func (c *catalog) table(name string) tableFacts { return c.tables[name] }

// has reports whether an index on the candidate's columns already exists. A new one would only appear cheaper
// because it is densely packed.
func (c *catalog) has(x *candidate) bool {
	if x.using != "" {
		return slices.ContainsFunc(c.indexes, func(f indexFacts) bool {
			_, keys, ok := strings.Cut(f.definition, " USING "+x.using+" ")
			return ok && f.table == unquoted(x.table) && bare(keys) == bare(strings.Join(x.columns, ", "))
		})
	}
	return x.where == "" && len(x.others) == 0 && c.indexed(unquoted(x.table), x.columns...)
}

// indexed reports whether a table has a B-tree that isn't partial on exactly these columns or expressions.
func (c *catalog) indexed(table string, columns ...string) bool {
	want := bare(strings.Join(columns, ","))
	return slices.ContainsFunc(c.indexes, func(f indexFacts) bool {
		_, keys, ok := strings.Cut(f.definition, " USING btree ")
		if f.table != table || !ok || strings.Contains(f.definition, ") WHERE ") {
			return false
		}
		words := sqltext.Split(keys)
		var b strings.Builder
		for _, w := range words[:min(closingOf(words, 0)+1, len(words))] {
			b.WriteString(w.Text)
		}
		return bare(b.String()) == want
	})
}

// keysOf returns the keys of a B-tree's definition, normalized by bare and without their order; nil for other indexes.
func (f *indexFacts) keysOf() (keys []string) {
	_, text, ok := strings.Cut(f.definition, " USING btree ")
	if !ok {
		return nil
	}
	words := sqltext.Split(text)
	words = words[:min(closingOf(words, 0), len(words))]
	depth := 0
	var b strings.Builder
	flush := func() {
		key := strings.TrimSpace(b.String())
		for _, end := range []string{" NULLS FIRST", " NULLS LAST", " DESC"} {
			key = strings.TrimSuffix(key, end)
		}
		keys = append(keys, bare(key))
		b.Reset()
	}
	for _, w := range words[min(1, len(words)):] {
		switch {
		case w.IsSign("("):
			depth++
		case w.IsSign(")"):
			depth--
		case w.IsSign(",") && depth == 0:
			flush()
			continue
		}
		b.WriteString(w.Text)
	}
	flush()
	return keys
}

// bare normalizes the keys of an index: lower case, without quotes, parentheses and spaces.
func bare(keys string) string {
	return strings.NewReplacer(`"`, "", "(", "", ")", "", " ", "").Replace(strings.ToLower(keys))
}

// settle treats the comparison of a column with a cast that costs nothing as a comparison of the column itself.
func (c *catalog) settle(x *condition, table string) {
	kind, _, _ := strings.Cut(x.cast, "(")
	if x.cast != "" && slices.Contains(c.columns[table+"."+x.column].free, strings.TrimSpace(kind)) {
		x.expression, x.cast = "", ""
	}
}

// lessThoseThere removes existing indexes from a candidate of several indexes, unless all exist.
func (c *catalog) lessThoseThere(x *candidate) {
	if len(x.others) == 0 {
		return
	}
	left := slices.DeleteFunc(append(slices.Clone(x.columns), x.others...),
		func(key string) bool { return c.indexed(unquoted(x.table), key) })
	if len(left) > 0 {
		x.columns, x.others = left[:1:1], left[1:]
	}
}

const (
	askTables = `select n.nspname || '.' || c.relname as name, c.reltuples as rows, c.relpages as pages,
		coalesce((select sum(avg_width * (1 - null_frac)) from pg_stats p where p.schemaname = n.nspname and p.tablename = c.relname), 0)::float8 as width,
		coalesce((select split_part(o, '=', 2)::int from unnest(c.reloptions) o where o like 'fillfactor=%'), 100) as fill,
		coalesce(s.last_analyze, s.last_autoanalyze) is not null as analyzed,
		coalesce((select o from unnest(c.reloptions) o where o ~* '^autovacuum_enabled=(off|f|false|n|no|0)$'), '') as unvacuumed,
		pg_relation_size(c.oid) / current_setting('block_size')::int as pages_now, coalesce(s.n_tup_upd + s.n_tup_del, 0) as rewritten
		from pg_class c join pg_namespace n on n.oid = c.relnamespace left join pg_stat_user_tables s on s.relid = c.oid
		where c.relkind in ('r', 'm') and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')`
	askIndexes = `select n.nspname || '.' || i.relname as name, n.nspname || '.' || t.relname as table, pg_relation_size(i.oid) as size,
		s.idx_scan as scans, x.indisunique or x.indisprimary or x.indisexclusion as constraint, pg_get_indexdef(i.oid) as definition
		from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class t on t.oid = x.indrelid
		join pg_namespace n on n.oid = i.relnamespace join pg_stat_user_indexes s on s.indexrelid = i.oid where x.indisvalid`
	askColumns = `select n.nspname || '.' || c.relname || '.' || a.attname as name, format_type(a.atttypid, null) as type,
		case when t.typbasetype = 0 then case t.typname when 'varchar' then 'text' when 'cidr' then 'inet' else '' end
			else format_type(t.typbasetype, null) || case b.typname when 'varchar' then ',text' else '' end end as free
		from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
		join pg_type t on t.oid = a.atttypid left join pg_type b on b.oid = t.typbasetype
		where a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'm', 'p') and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')`
	// An index serves a foreign key if the index's first columns are those of the key, in any order.
	askForeignKeys = `select k.conname as name, cn.nspname || '.' || c.relname as child, pn.nspname || '.' || p.relname as parent, c.reltuples as rows,
		(select string_agg(quote_ident(a.attname), ', ' order by o.n) from unnest(k.conkey) with ordinality o(num, n)
			join pg_attribute a on a.attrelid = k.conrelid and a.attnum = o.num) as columns
		from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_namespace cn on cn.oid = c.relnamespace
		join pg_class p on p.oid = k.confrelid join pg_namespace pn on pn.oid = p.relnamespace
		where k.contype = 'f' and not exists (select 1 from pg_index i where i.indrelid = k.conrelid and i.indisvalid and i.indpred is null
			and (i.indkey::int2[])[0:cardinality(k.conkey) - 1] @> k.conkey)`
	// Functions of users in the languages that contain SQL: as triggers, and those that statements may call.
	askRoutines = `select p.proname as name, t.tgname as trigger, n.nspname || '.' || c.relname as table, p.prosrc as source
		from pg_trigger t join pg_proc p on p.oid = t.tgfoid join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
		where not t.tgisinternal and t.tgenabled <> 'D'
		union all (select p.proname, '', '', p.prosrc from pg_proc p join pg_namespace n on n.oid = p.pronamespace join pg_language l on l.oid = p.prolang
		where n.nspname not in ('pg_catalog', 'information_schema') and l.lanname in ('sql', 'plpgsql') and p.prorettype <> 'trigger'::regtype limit 1000)`
	askServer = `select current_setting('work_mem') as work_mem, current_setting('shared_buffers') as buffers,
		pg_database_size(current_database()) as size, current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as connections`
)

// readCatalog reads the catalogs. Queries that the server refuses are skipped and reported to why.
func (s *session) readCatalog(ctx context.Context, why func(what string, err error)) (catalog, error) {
	c := catalog{tables: map[string]tableFacts{}, columns: map[string]columnFacts{}}
	for _, q := range []struct {
		what, text string
		row        func(r *result, i int)
	}{
		{"the tables' figures", askTables, func(r *result, i int) {
			c.tables[r.at(i, "name")] = tableFacts{rows: max(r.number(i, "rows"), 0), pages: r.number(i, "pages"),
				pagesNow: r.number(i, "pages_now"), rewritten: r.number(i, "rewritten"), rowWidthB: r.number(i, "width"),
				unvacuumed: r.at(i, "unvacuumed"), fillPercent: r.number(i, "fill"), analyzed: r.at(i, "analyzed") == "t" || r.number(i, "rows") > 0}
		}},
		{"the columns' types", askColumns, func(r *result, i int) {
			c.columns[r.at(i, "name")] = columnFacts{r.at(i, "type"), strings.Split(r.at(i, "free"), ",")}
		}},
		{"the indexes' figures", askIndexes, func(r *result, i int) {
			c.indexes = append(c.indexes, indexFacts{name: r.at(i, "name"), table: r.at(i, "table"), sizeB: r.number(i, "size"),
				scans: r.number(i, "scans"), constraint: r.at(i, "constraint") == "t", definition: r.at(i, "definition")})
		}},
		{"foreign keys", askForeignKeys, func(r *result, i int) {
			c.keys = append(c.keys, foreignKey{r.at(i, "name"), r.at(i, "child"), r.at(i, "parent"), r.at(i, "columns"),
				r.number(i, "rows")})
		}},
		{"the functions", askRoutines, func(r *result, i int) {
			c.routines = append(c.routines, routine{r.at(i, "name"), r.at(i, "trigger"), r.at(i, "table"), r.at(i, "source")})
		}},
		{"the extensions", askTrigrams, func(r *result, i int) { c.trigrams = r.at(i, "trigrams") }},
		{"the server's settings", askServer, func(r *result, i int) {
			c.workMem, c.buffers, c.databaseB, c.connections = r.at(i, "work_mem"), r.at(i, "buffers"), r.number(i, "size"),
				r.number(i, "connections")
		}},
	} {
		r, err := s.query(ctx, q.text)
		if err != nil {
			if ctx.Err() != nil || s.conn.IsClosed() {
				return c, err
			}
			why(q.what, err)
			continue
		}
		for i := range r.rows {
			q.row(r, i)
		}
	}
	return c, nil
}
