// Package built proposes indexes for servers that can't cost an index without building it. It derives candidates from
// the conditions of statements that read whole tables, builds each, compares the plans, and drops it again.
package built

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"brunt/internal/base/sqltext"
	"brunt/internal/inspect"
	"brunt/internal/record"
)

// Server is a session of a server in which indexes are built and dropped.
type Server interface {
	// Exec executes a statement.
	Exec(ctx context.Context, statement string) error
	// Explain returns how many rows a statement reads by its plan, and the tables that it reads as a whole.
	Explain(ctx context.Context, statement string) (rows float64, scanned []string, err error)
	// Create and Drop return the statements that build and drop an index. Columns are written as in statements.
	Create(index, table string, columns []string) string
	Drop(index, table string) string
	// Exists reports whether an index exists.
	Exists(ctx context.Context, index, table string) (bool, error)
	// Stop ends statements of earlier sessions that are still building or dropping an index.
	Stop(ctx context.Context, statements []string) error
	Close()
}

// Database is the inspect.Database for such a server.
type Database struct {
	build   bool // whether Propose may build indexes
	connect func(ctx context.Context) (Server, error)
}

var _ inspect.Database = (*Database)(nil)

// Open returns a Database after it has connected once. build permits building indexes to try them.
func Open(ctx context.Context, build bool, connect func(context.Context) (Server, error)) (*Database, error) {
	s, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	s.Close()
	return &Database{build, connect}, nil
}

const (
	mostProposals = 5
	mostTried     = 24
	leastRows     = 1000 // that a statement reads
	leastSaved    = 0.5  // of the rows that a statement reads
)

// Exec implements inspect.Database.
func (d *Database) Exec(ctx context.Context, script string, from inspect.Progress) error {
	s, err := d.connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	tell := from.Tell
	if tell == nil {
		tell = func(int, bool) error { return nil }
	}
	for i, statement := range Statements(script) {
		if i < from.Done {
			if w := sqltext.FirstWord(statement); w != "SET" && w != "RESET" {
				continue
			}
			if err := s.Exec(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w", inspect.Headline(statement), err)
			}
			continue
		}
		if err := tell(i, false); err != nil {
			return err
		}
		err := s.Exec(ctx, statement)
		if err != nil && !(from.Begun && i == from.Done && doneBefore(err)) {
			return fmt.Errorf("%s: %w", inspect.Headline(statement), err)
		}
		if err := tell(i, true); err != nil {
			return err
		}
	}
	return nil
}

// doneBefore reports whether the error of a statement, which an earlier attempt may have executed, confirms that.
func doneBefore(err error) bool {
	text := strings.ToLower(err.Error())
	for _, part := range []string{"duplicate key name", "already exists", "check that column/key exists", "does not exist",
		"no index"} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// Statements splits a script into its statements.
func Statements(script string) (out []string) {
	var b strings.Builder
	for _, t := range append(sqltext.Split(script), sqltext.Token{Kind: sqltext.Sign, Text: ";"}) {
		if !t.IsSign(";") {
			b.WriteString(t.Text)
			continue
		}
		if text := strings.TrimSpace(b.String()); sqltext.FirstWord(text) != "" {
			out = append(out, text)
		}
		b.Reset()
	}
	return out
}

// Settle implements inspect.Database. These servers leave no invalid index when the building of one is cut off.
func (d *Database) Settle(ctx context.Context, p *record.Proposal) (there bool, err error) {
	s, err := d.connect(ctx)
	if err != nil {
		return false, err
	}
	defer s.Close()
	if err := s.Stop(ctx, append(Statements(p.DDL), p.Drop)); err != nil {
		return false, err
	}
	return s.Exists(ctx, p.Name, p.Table)
}

// statement is a statement for which indexes are proposed.
type statement struct {
	id, text string
	calls    float64
	rows     float64 // that it reads
	scanned  []string
}

// candidate is an index that may help a statement.
type candidate struct {
	table   string
	columns []string
}

// Propose implements inspect.Database. It needs inspections, since these servers keep no plans.
func (d *Database) Propose(ctx context.Context, seen []record.Inspection) ([]record.Proposal, error) {
	if len(seen) == 0 {
		return nil, errors.New("name a plan, or the bundle of a run with --inspect: the statements are needed with their arguments")
	}
	if !d.build {
		return nil, errors.New(
			"an index can't be tried here without building it; let each be built, and dropped again, with --build (writes to its table may wait)")
	}
	s, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	statements, err := explained(ctx, s, seen)
	if err != nil {
		return nil, err
	}
	var out []record.Proposal
	tried := 0
	for k := range statements {
		st := &statements[k]
		if len(out) == mostProposals || st.rows < leastRows || len(st.scanned) == 0 {
			continue
		}
		var best *record.Proposal
		for _, c := range candidates(st) {
			if tried++; tried > mostTried {
				break
			}
			p, err := try(ctx, s, c, statements)
			if err != nil {
				return out, err
			}
			if p != nil && (best == nil || saves(p) > 1.05*saves(best) ||
				saves(p) > 0.95*saves(best) && len(p.Columns) < len(best.Columns)) {
				best = p
			}
		}
		if best != nil && !slices.ContainsFunc(out, func(p record.Proposal) bool { return p.Name == best.Name }) {
			out = append(out, *best)
		}
	}
	whole := 0.0
	for _, st := range statements {
		whole += st.calls * st.rows
	}
	for k := range out {
		out[k].Saves = saves(&out[k]) / max(whole, 1)
	}
	return out, nil
}

// saves returns how many rows fewer are read with an index.
func saves(p *record.Proposal) (sum float64) {
	for _, e := range p.Gains {
		sum += e.Calls * (e.Before - e.After)
	}
	return sum
}

// explained returns the statements of inspections that have plans, those that read most rows in all first.
func explained(ctx context.Context, s Server, seen []record.Inspection) ([]statement, error) {
	var out []statement
	var failed error
	for i := range seen {
		for _, p := range seen[i].Plans {
			if p.Failed != "" || slices.ContainsFunc(out, func(o statement) bool { return o.text == p.Text }) {
				continue
			}
			st := statement{id: p.Statement, text: p.Text, calls: 1}
			if len(seen[i].Windows) > 0 {
				for _, counted := range seen[i].Windows[0].Statements {
					if counted.ID == p.Statement {
						st.calls = counted.Calls
					}
				}
			}
			if st.rows, st.scanned, failed = s.Explain(ctx, p.Text); failed == nil {
				out = append(out, st)
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
		}
	}
	if len(out) == 0 {
		return nil, inspect.NoneExplained(seen, failed)
	}
	slices.SortStableFunc(out, func(a, b statement) int { return cmp.Compare(b.calls*b.rows, a.calls*a.rows) })
	return out, nil
}

// candidates returns the indexes that may help a statement: on all columns that are compared for equality, on each of
// them, and on each that is compared otherwise.
func candidates(st *statement) (out []candidate) {
	table := st.scanned[0]
	equal, other := Compared(st.text)
	if len(equal) > 1 {
		out = append(out, candidate{table, equal})
	}
	if len(equal) > 0 && len(other) > 0 {
		out = append(out, candidate{table, append(slices.Clone(equal), other[0])})
	}
	for _, column := range append(slices.Clone(equal), other...) {
		out = append(out, candidate{table, []string{column}})
	}
	return out
}

// Compared returns the columns that a statement's conditions compare with values: for equality, and otherwise.
func Compared(text string) (equal, other []string) {
	words := sqltext.Words(text)
	within := false
	for k, t := range words {
		if t.Is("WHERE") || t.Is("ON") || t.Is("AND") {
			within = true
		}
		if t.Is("SET") || t.Is("GROUP") || t.Is("ORDER") || t.Is("LIMIT") || t.Is("VALUES") {
			within = t.Is("AND")
		}
		if !within || t.Kind != sqltext.Word && t.Kind != sqltext.Quoted || k+2 >= len(words) {
			continue
		}
		operator, value := words[k+1], words[k+2]
		if (operator.IsSign("<") || operator.IsSign(">")) && value.IsSign("=") && k+3 < len(words) {
			value = words[k+3]
		}
		isValue := value.Kind == sqltext.Number || value.Kind == sqltext.Text || value.Kind == sqltext.Param ||
			value.Kind == sqltext.Mark || value.IsSign("-")
		switch {
		case operator.IsSign("=") && isValue, operator.Is("IN"):
			equal = once(equal, t.Text)
		case (operator.IsSign("<") || operator.IsSign(">")) && isValue, operator.Is("BETWEEN"), operator.Is("LIKE"):
			other = once(other, t.Text)
		}
	}
	return equal, other
}

func once(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// try builds an index, explains the statements with it, and drops it. The proposal is nil if it can't be built or
// doesn't help.
func try(ctx context.Context, s Server, c candidate, statements []statement) (*record.Proposal, error) {
	p := &record.Proposal{Name: name(c), Table: c.table, Columns: c.columns, Proof: record.ProofBuilt,
		Names: []string{c.table}}
	p.DDL, p.Drop = s.Create(p.Name, c.table, c.columns), s.Drop(p.Name, c.table)
	// Further statements only show the index to others.
	if err := s.Exec(ctx, Statements(p.DDL)[0]); err != nil {
		return nil, ctx.Err() // it exists already, or the columns aren't of this table
	}
	defer func() { _ = s.Exec(context.WithoutCancel(ctx), p.Drop) }()
	for k := range statements {
		st := &statements[k]
		rows, _, err := s.Explain(ctx, st.text)
		if err != nil {
			continue
		}
		e := record.Effect{Statement: st.id, Text: st.text, Calls: st.calls, Before: st.rows, After: rows}
		if rows <= (1-leastSaved)*st.rows && st.rows >= leastRows {
			p.Gains = append(p.Gains, e)
		} else if writes(st.text) && sqltext.Mentions(st.text, p.Names) {
			p.Pays = append(p.Pays, e)
		}
		if sqltext.Mentions(st.text, p.Names) && st.id != "" {
			p.Touching = append(p.Touching, st.id)
		}
	}
	if len(p.Gains) == 0 {
		return nil, ctx.Err()
	}
	return p, ctx.Err()
}

func writes(text string) bool {
	w := sqltext.FirstWord(text)
	return w == "INSERT" || w == "UPDATE" || w == "REPLACE"
}

// name returns the name of a candidate's index.
func name(c candidate) string {
	var b strings.Builder
	for _, part := range append([]string{c.table}, c.columns...) {
		path := sqltext.Path(part)
		for _, r := range strings.ToLower(strings.Trim(path[len(path)-1], "`\"")) {
			if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
				b.WriteRune(r)
			} else {
				b.WriteByte('_')
			}
		}
		b.WriteByte('_')
	}
	text := b.String()
	return text[:min(len(text), 50)] + "brunt_idx"
}
