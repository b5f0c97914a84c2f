package sql

import (
	"context"
	stdsql "database/sql"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/tarantool/go-tarantool/v2"
	_ "modernc.org/sqlite"

	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/test/testserver"
)

// server runs statements on a real server and returns the rows as text.
type server func(statement string, args ...any) ([]string, error)

func servers(t *testing.T) map[string]server {
	return map[string]server{"PostgreSQL": postgres(t), "Tarantool": tarantoolServer(t), "SQLite": sqlite(t),
		"MySQL": mariaDB(t)}
}

func postgres(t *testing.T) server {
	s := testserver.Postgres(t)
	ctx := context.Background()
	c, err := pgx.Connect(ctx, fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", s.User, s.Addr, s.Database))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(ctx) })
	return func(statement string, args ...any) ([]string, error) {
		rows, err := c.Query(ctx, statement, args...)
		if err != nil {
			return nil, err
		}
		var list []string
		for rows.Next() {
			v, err := rows.Values()
			if err != nil {
				return nil, err
			}
			list = append(list, fmt.Sprint(v...))
		}
		return list, rows.Err()
	}
}

func tarantoolServer(t *testing.T) server {
	s := testserver.Tarantool(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := tarantool.Connect(ctx, tarantool.NetDialer{Address: s.Addr, User: s.User, Password: s.Password},
		tarantool.Opts{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return func(statement string, args ...any) ([]string, error) {
		for i, a := range args {
			// Tarantool 2.6 takes a positive number in MessagePack's signed format for a negative one.
			if n, ok := a.(int64); ok && n >= 0 {
				args[i] = uint64(n)
			}
		}
		if args == nil {
			args = []any{}
		}
		rows, err := c.Do(tarantool.NewExecuteRequest(statement).Args(args)).Get()
		var list []string
		for _, r := range rows {
			list = append(list, fmt.Sprint(r.([]any)...))
		}
		return list, err
	}
}

func sqlite(t *testing.T) server { return library(t, "sqlite", t.TempDir()+"/test.db") }

func mariaDB(t *testing.T) server {
	s := testserver.MariaDB(t)
	return library(t, "mysql", fmt.Sprintf("%s:%s@tcp(%s)/%s?time_zone=%%27%%2B00:00%%27", s.User, s.Password, s.Addr,
		s.Database))
}

// library returns a server that is reached by database/sql.
func library(t *testing.T, name, source string) server {
	db, err := stdsql.Open(name, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return func(statement string, args ...any) ([]string, error) {
		if name == "mysql" { // as the driver does; parameters of these statements are in order
			statement = regexp.MustCompile(`\$\d+`).ReplaceAllString(statement, "?")
		}
		rows, err := db.Query(statement, args...)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		names, err := rows.Columns()
		if err != nil {
			return nil, err
		}
		var list []string
		for rows.Next() {
			v, p := make([]any, len(names)), make([]any, len(names))
			for i := range v {
				p[i] = &v[i]
			}
			if err := rows.Scan(p...); err != nil {
				return nil, err
			}
			for i := range v {
				if b, ok := v[i].([]byte); ok {
					v[i] = string(b)
				}
			}
			list = append(list, fmt.Sprint(v...))
		}
		return list, rows.Err()
	}
}

// argument returns a converted value as a client library accepts it.
func argument(f Flavor, v gen.Value) any {
	v = v.Clone()
	f.Convert(&v)
	switch v.Kind {
	case gen.Bool:
		return v.I != 0
	case gen.Int:
		return v.I
	case gen.Datetime:
		return time.UnixMicro(v.I)
	}
	return string(v.B)
}

// The article's schema and query give the same answers on each server: rows are found by parameters, compared and
// ordered.
func TestCarsOnServers(t *testing.T) {
	table, index := cars()
	names := NewNames([]plan.Table{table}, []plan.Index{index})
	for product, do := range servers(t) {
		t.Run(product, func(t *testing.T) {
			f := flavor(t, product)
			must := func(statement string, err error, args ...any) []string {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
				rows, err := do(statement, args...)
				if err != nil {
					t.Fatalf("%s: %v", statement, err)
				}
				return rows
			}
			must(f.DropTable(&table), nil)
			expect(t, must(f.HasTable("cars_q"), nil), "0")
			stmt, _, err := f.CreateTable(&table, nil)
			must(stmt, err)
			expect(t, must(f.HasTable("cars_q"), nil), "1")
			stmt, _, err = f.CreateIndex(&index, &table)
			must(stmt, err)
			insert, _, err := f.Translate(
				"insert into cars_q (id, brand, received, stock) values ($1::integer, $2::string, $3::datetime, $4::boolean) on conflict do nothing",
				[]gen.Kind{gen.Int, gen.String, gen.Datetime, gen.Bool}, names)
			row := func(i int64) []gen.Value {
				return []gen.Value{{Kind: gen.Int, I: i}, {Kind: gen.String, B: fmt.Append(nil, "brand", i%3)},
					{Kind: gen.Datetime, I: instant + i*1_000_001}, {Kind: gen.Bool, I: i % 2}}
			}
			for i := range int64(20) {
				var args []any
				for _, v := range row(i) {
					args = append(args, argument(f, v))
				}
				must(insert, err, args...)
				must(insert, err, args...)
			}
			expect(t, must(f.CountRows("cars_q"), nil), "20")

			query, _, err := f.Translate(strings.Replace(carsQuery, "*", "id", 1), carsParams, names)
			r := row(7)
			expect(t, must(query, err, argument(f, r[0]), argument(f, r[1]), argument(f, r[3])), "7")
			query, _, err = f.Translate(
				"select cast(count(*) as integer) from cars_q where received >= $1::datetime and received < '1999-10-26T09:00:15Z'::datetime and id <> $2", []gen.Kind{gen.Datetime, gen.Int}, names)
			expect(t, must(query, err, argument(f, row(10)[2]), int64(12)), "4")
			expect(t, must(f.SelectIn("cars_q", []string{"id"}, "id", []gen.Value{row(16)[0].Clone()}), nil), "16")
			expect(t, must(f.SelectByKey("cars_q", []string{"id"}, table.PrimaryKeys[0], &row(3)[0], &row(4)[0]), nil), "3", "4")
			must(f.DropIndex(&index), nil)
			must(f.DropTable(&table), nil)
			must(f.DropTable(&table), nil)
		})
	}
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("rows %q, want %q", got, want)
	}
}

// A value of each type can be stored, and found by its literal.
func TestTypesOnServers(t *testing.T) {
	tables := everything()
	tables[1].Unlogged = true
	values := map[string]gen.Value{}
	for i, name := range map[int]string{1: "b", 2: "i", 3: "u", 5: "d", 6: "n", 7: "s", 9: "t", 10: "id", 11: "j"} {
		values[name] = samples()[i]
	}
	values["car"] = samples()[9]
	for product, do := range servers(t) {
		f := flavor(t, product)
		stmt, _, err := f.CreateTable(&tables[1], tables)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := do(stmt); err != nil {
			t.Fatalf("%s: %s: %v", product, stmt, err)
		}
		var columns, literals []string
		for _, c := range tables[1].Columns {
			if v, ok := values[c.Name]; ok {
				columns, literals = append(columns, f.quote(c.Name)), append(literals, f.Literal(&v))
			}
		}
		insert := fmt.Sprintf(`INSERT INTO %s (%s) VALUES (%s)`, f.quote("all types"), strings.Join(columns, ", "),
			strings.Join(literals, ", "))
		if _, err := do(insert); err != nil {
			t.Fatalf("%s: %s: %v", product, insert, err)
		}
		for i, c := range columns {
			rows, err := do(fmt.Sprintf(`SELECT COUNT(*) FROM %s WHERE %s = %s`, f.quote("all types"), c, literals[i]))
			if err != nil || len(rows) != 1 || rows[0] != "1" {
				t.Errorf("%s: %s = %s: %v, %v", product, c, literals[i], rows, err)
			}
		}
		for _, kind := range []string{"tree", "hash"} {
			ix := plan.Index{Name: "by " + kind, Table: "all types", Columns: []string{"i"}, Type: kind}
			stmt, _, err := f.CreateIndex(&ix, &tables[1])
			if err != nil {
				t.Fatal(err)
			}
			twice := []string{stmt, f.DropIndex(&ix), f.DropIndex(&ix)}
			if f.product == MySQL {
				twice = twice[:2]
			}
			for _, stmt := range twice {
				if _, err := do(stmt); err != nil {
					t.Errorf("%s: %s: %v", product, stmt, err)
				}
			}
		}
	}
}
