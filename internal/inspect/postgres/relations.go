package postgres

import (
	"context"
	"slices"
	"strings"

	"brunt/internal/base/sqltext"
)

// relations describe how a statement may use a table without naming it.
type relations struct {
	through   map[string][]string // by the name of a relation or function: what uses it
	functions map[string]string   // sources of functions, by name
}

// askThrough returns pairs of user and used: views and rules use their relations, partitioned tables their
// partitions, tables the tables that their foreign keys change along with them and the functions of their triggers,
// and functions the relations that they depend on.
const askThrough = `select distinct u.relname::text as by, o.relname::text as of from pg_depend d join pg_rewrite r on r.oid = d.objid
		join pg_class u on u.oid = r.ev_class join pg_class o on o.oid = d.refobjid
		where d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass and u.oid <> o.oid
			and u.relnamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
	union select p.relname::text, c.relname::text from pg_inherits i join pg_class p on p.oid = i.inhparent join pg_class c on c.oid = i.inhrelid
	union select p.relname::text, c.relname::text from pg_constraint k join pg_class p on p.oid = k.confrelid
		join pg_class c on c.oid = k.conrelid where k.contype = 'f' and (k.confupdtype in ('c', 'n', 'd') or k.confdeltype in ('c', 'n', 'd'))
	union select c.relname::text, f.proname::text from pg_trigger t join pg_class c on c.oid = t.tgrelid
		join pg_proc f on f.oid = t.tgfoid where not t.tgisinternal
	union select f.proname::text, c.relname::text from pg_depend d join pg_proc f on f.oid = d.objid join pg_class c on c.oid = d.refobjid
		where d.classid = 'pg_proc'::regclass and d.refclassid = 'pg_class'::regclass`

const askFunctions = `select p.proname::text as name, p.prosrc as source from pg_proc p join pg_language l on l.oid = p.prolang
	where l.lanname not in ('internal', 'c') and p.pronamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)`

// readRelations reads which relations and functions use each other.
func (s *session) readRelations(ctx context.Context) (relations, error) {
	out := relations{through: map[string][]string{}, functions: map[string]string{}}
	r, err := s.query(ctx, askThrough)
	if err != nil {
		return out, err
	}
	for i := range r.rows {
		out.through[r.at(i, "of")] = append(out.through[r.at(i, "of")], r.at(i, "by"))
	}
	if r, err = s.query(ctx, askFunctions); err != nil {
		return out, err
	}
	for i := range r.rows {
		out.functions[r.at(i, "name")] += r.at(i, "source") + "\n"
	}
	return out, nil
}

// leadingTo returns the names by which a statement may use a table, the table's own name first.
func (r *relations) leadingTo(table string) []string {
	_, name, ok := strings.Cut(unquoted(table), ".")
	if !ok {
		name = unquoted(table)
	}
	names := []string{name}
	for i := 0; i < len(names); i++ {
		for _, by := range r.through[names[i]] {
			once(&names, by)
		}
		for function, source := range r.functions {
			if sqltext.Mentions(source, names[i:i+1]) {
				once(&names, function)
			}
		}
	}
	slices.Sort(names[1:])
	return names
}
