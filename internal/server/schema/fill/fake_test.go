package fill

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// server is an AdminDriver with tables in memory. The rows of a table are stored by primary key. Inserting an existing
// row fails, except when rows are replaced.
type server struct {
	protocol.Driver // its methods are never called
	mu              sync.Mutex
	tables          map[string]map[string][]*string
	dead            map[string]bool // addresses that refuse connections
	loads           map[string]int  // number of chunks by address
	queries         []string
	before          func(ch *protocol.Chunk, replace bool) error // may fail a load before it begins
	after           func(ch *protocol.Chunk) error               // may fail a load after all rows are inserted
	broken          func(ch *protocol.Chunk, row uint64) error   // may fail a load between rows
	seen            func(query, key string) bool                 // whether a query sees a row; nil: all are seen
}

func newServer() *server {
	return &server{tables: map[string]map[string][]*string{}, dead: map[string]bool{}, loads: map[string]int{}}
}

func (s *server) Name() string { return "memory" }

func (s *server) Admin(_ context.Context, t protocol.Target) (protocol.Admin, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead[t.Address] {
		return nil, &protocol.Error{Class: protocol.Connect, Text: "refused", Fatal: true}
	}
	return &admin{s, t.Address}, nil
}

type admin struct {
	s       *server
	address string
}

func (a *admin) Close() error { return nil }

func (a *admin) Exec(context.Context, string) (int64, error) { return 0, errors.New("unused") }

func (a *admin) Load(ctx context.Context, ch *protocol.Chunk, replace bool) (int64, error) {
	s := a.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead[a.address] {
		return 0, &protocol.Error{Class: protocol.UnknownOutcome, Text: "broken pipe", Fatal: true}
	}
	if s.before != nil {
		if err := s.before(ch, replace); err != nil {
			return 0, err
		}
	}
	table := s.tables[ch.Table]
	if table == nil {
		table = map[string][]*string{}
		s.tables[ch.Table] = table
	}
	values := make([]gen.Value, len(ch.Columns))
	for row := ch.First; row < ch.First+ch.Rows; row++ {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		ch.Row(values, row)
		var texts []*string
		key := ""
		for i := range values {
			text := string(values[i].AppendText(nil))
			if values[i].Kind == gen.Null {
				texts = append(texts, nil)
			} else {
				texts = append(texts, &text)
			}
			for _, k := range ch.Keys {
				if k == ch.Columns[i].Name {
					key += text + "\x00"
				}
			}
		}
		if s.broken != nil {
			if err := s.broken(ch, row); err != nil {
				return 0, err
			}
		}
		if _, exists := table[key]; exists && !replace {
			return 0, &protocol.Error{Class: protocol.Server, Code: "23505", Text: "duplicate key " + key}
		}
		table[key] = texts
		if ch.Progress != nil && row%100 == 0 {
			ch.Progress(100)
		}
	}
	s.loads[a.address]++
	if s.after != nil {
		if err := s.after(ch); err != nil {
			return 0, err
		}
	}
	return int64(ch.Rows), nil
}

// Query executes the statements of flavor.
func (a *admin) Query(_ context.Context, statement string, row func([]*string) error) error {
	s := a.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead[a.address] {
		return &protocol.Error{Class: protocol.Connect, Text: "reset", Fatal: true}
	}
	s.queries = append(s.queries, statement)
	words := strings.Split(statement, "|")
	table := s.tables[words[1]]
	if s.seen != nil {
		table = maps.Clone(table)
		maps.DeleteFunc(table, func(key string, _ []*string) bool { return !s.seen(words[0], key) })
	}
	if words[0] == "count" {
		n := strconv.Itoa(len(table))
		return row([]*string{&n})
	}
	for _, values := range table {
		if words[0] == "in" && !has(strings.Split(words[3], ","), *values[0]) {
			continue
		}
		if words[0] == "range" {
			lo, _ := strconv.ParseInt(words[2], 10, 64)
			hi, _ := strconv.ParseInt(words[3], 10, 64)
			if n, err := strconv.ParseInt(*values[0], 10, 64); err == nil && (n < lo || n > hi) || err != nil &&
				*values[0] != words[2] {
				continue
			}
		}
		if err := row(values); err != nil {
			return err
		}
	}
	return nil
}

// flavor writes statements that admin.Query understands. The first column is the first key.
type flavor struct{ most uint64 }

func (f flavor) MostRows(int) uint64 { return f.most }

func (flavor) SelectIn(table string, _ []string, key string, values []gen.Value) string {
	var keys []string
	for i := range values {
		keys = append(keys, string(values[i].AppendText(nil)))
	}
	return "in|" + table + "|" + key + "|" + strings.Join(keys, ",")
}

func (flavor) CountRows(table string) string { return "count|" + table }

func (flavor) SelectByKey(table string, _ []string, _ string, lo, hi *gen.Value) string {
	return fmt.Sprintf("range|%s|%s|%s", table, lo.AppendText(nil), hi.AppendText(nil))
}

func (flavor) SelectAll(table string, _ []string) string {
	return "all|" + table
}

// numbered returns a table whose first key counts upwards.
func numbered(name string, rows uint64) Table {
	return Table{
		Name: name, Rows: rows, Keys: []string{"id"},
		Columns: []protocol.Column{{Name: "id", Type: "integer"}, {Name: "name", Type: "string"},
			{Name: "price", Type: "double"}},
		Row: func(v []gen.Value, row uint64) {
			v[0].SetInt(int64(row))
			v[1].SetString("n" + strconv.FormatUint(row*7919%1000, 10))
			if row%10 == 3 {
				v[2].SetNull()
				return
			}
			v[2].Kind, v[2].F = gen.Float, float64(row)/3
		},
	}
}

// named returns a table whose key is a text.
func named(name string, rows uint64) Table {
	t := numbered(name, rows)
	t.Columns = []protocol.Column{{Name: "id", Type: "string"}, {Name: "n", Type: "unsigned"}}
	t.Row = func(v []gen.Value, row uint64) {
		v[0].SetString("k" + strconv.FormatUint(row*2654435761%4294967296, 36))
		v[1].Kind, v[1].I = gen.Uint, int64(row)
	}
	return t
}

func config(s *server, tables ...Table) Config {
	return Config{
		Driver: s, SQL: flavor{}, Tables: tables, ChunkRows: 1000,
		Targets: []protocol.Target{{Address: "a:1"}, {Address: "b:2"}, {Address: "c:3"}},
		Pause:   func(ctx context.Context, _ int) error { return ctx.Err() },
	}
}

func mustRun(t *testing.T, c Config) Report {
	t.Helper()
	r, err := Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
