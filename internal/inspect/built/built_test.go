package built

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"brunt/internal/inspect"
	"brunt/internal/record"
)

func TestComparedColumns(t *testing.T) {
	for _, row := range []struct{ text, equal, other string }{
		{"SELECT * FROM t WHERE a = 5 AND b = 'x'", "[a b]", "[]"},
		{"select * from t where t.a=$1 and b > ? and c between 1 and 2", "[a]", "[b c]"},
		{"UPDATE t SET a = 1, b = 2 WHERE c IN (1, 2) AND `d` <= -5", "[c]", "[`d`]"},
		{"SELECT a.x FROM a JOIN b ON a.id = b.id WHERE name LIKE 'x%' GROUP BY z ORDER BY y LIMIT 5", "[]", "[name]"},
		{"SELECT COUNT(*) FROM t", "[]", "[]"},
	} {
		equal, other := Compared(row.text)
		if fmt.Sprint(equal) != row.equal || fmt.Sprint(other) != row.other {
			t.Errorf("%s: %v, %v", row.text, equal, other)
		}
	}
}

func FuzzCompared(f *testing.F) {
	f.Add("SELECT * FROM t WHERE a = 5 AND b < = 'x")
	f.Fuzz(func(t *testing.T, text string) {
		Compared(text)
		Statements(text)
	})
}

// fake is a server with a table of 10 000 rows.
type fake struct {
	indexes []string
	failing string
	done    []string
}

func (s *fake) Exec(_ context.Context, statement string) error {
	if s.failing != "" && strings.HasPrefix(statement, s.failing) {
		return errors.New("Duplicate key name")
	}
	s.done = append(s.done, statement)
	if name, ok := strings.CutPrefix(statement, "create "); ok {
		s.indexes = append(s.indexes, name)
	} else if name, ok := strings.CutPrefix(statement, "drop "); ok {
		s.indexes = slices.DeleteFunc(s.indexes, func(i string) bool { return i == name })
	}
	return nil
}

func (s *fake) Explain(_ context.Context, statement string) (float64, []string, error) {
	for _, i := range s.indexes {
		if strings.Contains(statement, " "+strings.TrimSuffix(strings.TrimPrefix(i, "t_"), "_brunt_idx")+" =") {
			return 3, nil, nil
		}
	}
	return 10_000, []string{"t"}, nil
}

func (s *fake) Create(index, _ string, _ []string) string { return "create " + index }
func (s *fake) Drop(index, _ string) string               { return "drop " + index }
func (s *fake) Exists(_ context.Context, index, _ string) (bool, error) {
	return slices.Contains(s.indexes, index), nil
}
func (s *fake) Stop(context.Context, []string) error { return nil }
func (s *fake) Close()                               {}

func TestProposals(t *testing.T) {
	s := &fake{}
	d := &Database{connect: func(context.Context) (Server, error) { return s, nil }}
	seen := []record.Inspection{{
		Windows: []record.ServerWindow{{Statements: []record.Statement{{ID: "1", Calls: 7}}}},
		Plans: []record.QueryPlan{{Statement: "1", Text: "SELECT * FROM t WHERE a = 5"},
			{Statement: "2", Text: "UPDATE t SET b = 1"}, {Text: "broken", Failed: "why"}},
	}}
	if _, err := d.Propose(t.Context(), seen); err == nil || !strings.Contains(err.Error(), "--build") {
		t.Error(err)
	}
	d.build = true
	if _, err := d.Propose(t.Context(), nil); err == nil {
		t.Error("without statements")
	}
	list, err := d.Propose(t.Context(), seen)
	if err != nil || len(list) != 1 || len(s.indexes) != 0 {
		t.Fatalf("%+v, %v, left %v", list, err, s.indexes)
	}
	p := &list[0]
	if p.Name != "t_a_brunt_idx" || p.Gains[0].Calls != 7 || p.Gains[0].After != 3 || len(p.Pays) != 1 || p.Saves < 0.8 {
		t.Errorf("%+v", p)
	}
	// A script goes on after a statement that was done before.
	s.failing = "create"
	if err := d.Exec(t.Context(), p.DDL+";", inspect.Progress{Begun: true}); err != nil {
		t.Error(err)
	}
	if err := d.Exec(t.Context(), p.DDL, inspect.Progress{}); err == nil {
		t.Error("no error")
	}
	s.indexes = []string{p.Name}
	if there, err := d.Settle(t.Context(), p); !there || err != nil {
		t.Error(there, err)
	}
}
