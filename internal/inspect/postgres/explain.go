package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/base/sqltext"
	"brunt/internal/inspect"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

const (
	mostExplained  = 12
	leastExplained = 0.001 // share of the server's time
	explainTimeout = "10s" // of the execution of one statement
)

// request is a statement to be explained.
type request struct {
	statement  record.Statement
	text       string
	arguments  []*string // sent by the load; nil if unknown
	operations []string
}

// queryPlan is the plan of a statement, with details that aren't recorded.
type queryPlan struct {
	record.QueryPlan
	statement record.Statement
	root      *node // nil if the statement can't be explained
	generic   *node // plan for unknown arguments; nil if the statement can't be explained
}

// explainAll explains the statements that took the most time.
func (i *Inspector) explainAll(ctx context.Context, out *record.Inspection, load inspect.Load) error {
	for _, r := range requests(out.Windows[0].Statements, load.Operations) {
		p := i.session.explain(ctx, &r, load)
		i.plans = append(i.plans, p)
		if ctx.Err() != nil || i.session.conn.IsClosed() {
			return errors.New("the server stopped answering while its statements were explained")
		}
	}
	i.tellUnexplained(out.Windows[0].Statements)
	return nil
}

// opaque lists the first words of statements whose work EXPLAIN doesn't show.
var opaque = []string{"COPY", "CALL", "DO", "FETCH", "EXECUTE", "REFRESH"}

// tellUnexplained adds a notice about the statements that have no plan, with their share of the time.
func (i *Inspector) tellUnexplained(counted []record.Statement) {
	share, n, worst, why := 0.0, 0, "", ""
	for _, s := range counted {
		reason := "EXPLAIN doesn't take it"
		if explainable(s.Text) {
			at := slices.IndexFunc(i.plans, func(p queryPlan) bool { return p.Statement == s.ID })
			if at < 0 || i.plans[at].Failed == "" {
				continue
			}
			reason = i.plans[at].Failed
		} else if !slices.Contains(opaque, sqltext.FirstWord(s.Text)) {
			continue
		}
		if share, n = share+s.Share, n+1; worst == "" {
			worst, why = inspect.Headline(s.Text), reason
		}
	}
	if share >= leastExplained {
		i.miss(record.Notice("inspect-unexplained", message.Count("n", n), message.Share("share", share),
			message.Text("statement", worst), message.Text("error", why)))
	}
}

// requests returns the statements worth explaining: those that took the most time, or the statements of the plan if
// the server doesn't count statements. For a statement that the plan itself sends, the plan's text is used.
func requests(counted []record.Statement, operations []inspect.Operation) (out []request) {
	for _, s := range kept(counted, mostExplained, leastExplained) {
		r := request{statement: s, text: s.Text, operations: s.Operations}
		for _, o := range operations {
			at := slices.IndexFunc(o.Statements, func(text string) bool {
				return s.Match == record.MatchText &&
					inspect.Normal(text) == inspect.Normal(s.Text)
			})
			if at < 0 {
				continue
			}
			if args, ok := argumentsOf(&o, at); ok {
				r.text, r.arguments = o.Statements[at], args
				break
			}
		}
		out = append(out, r)
	}
	if len(counted) > 0 {
		return out
	}
	for _, o := range operations {
		for at, text := range o.Statements {
			if !explainable(text) || len(out) == mostExplained {
				continue
			}
			r := request{text: text, operations: []string{o.Name}}
			if args, ok := argumentsOf(&o, at); ok {
				r.arguments = args
			}
			out = append(out, r)
		}
	}
	return out
}

// mostTried is how many executions of an operation are searched for a typical OFFSET.
const mostTried = 101

// argumentsOf returns the arguments of an operation's first execution. For a statement with OFFSET it returns those
// with the median OFFSET among the first executions, since the first one may skip no rows.
func argumentsOf(o *inspect.Operation, statement int) ([]*string, bool) {
	first, ok := o.Arguments(statement, 0)
	at := -1
	for n, place := range placesOf(o.Statements[statement]) {
		if place == "OFFSET" && n >= 1 && n <= len(first) {
			at = n - 1
		}
	}
	if !ok || at < 0 {
		return first, ok
	}
	all := [][]*string{first}
	for k := 1; k < mostTried; k++ {
		args, ok := o.Arguments(statement, k)
		if !ok {
			break
		}
		all = append(all, args)
	}
	skipped := func(args []*string) float64 {
		if args[at] == nil {
			return 0
		}
		x, _ := strconv.ParseFloat(*args[at], 64)
		return x
	}
	slices.SortFunc(all, func(a, b []*string) int { return cmp.Compare(skipped(a), skipped(b)) })
	return all[len(all)/2], true
}

// explain explains one statement, for unknown arguments and for real ones. If it only reads, it is executed as
// well.
func (s *session) explain(ctx context.Context, r *request, load inspect.Load) queryPlan {
	p := queryPlan{statement: r.statement}
	p.Statement, p.Operations, p.Text = r.statement.ID, r.operations, r.text
	if err := s.explainPrepared(ctx, r, load, &p); err != nil {
		p.Failed = err.Error()
	}
	return p
}

func (s *session) explainPrepared(ctx context.Context, r *request, load inspect.Load, p *queryPlan) error {
	types, guessed, err := s.prepare(ctx, "brunt_explained", r.text)
	if err != nil {
		return err
	}
	defer func() { _, _ = s.plain(ctx, "deallocate brunt_explained") }()
	if guessed {
		p.Note = message.New("explain.typed", message.Text("types", strings.Join(types, ", ")))
	}
	nulls := make([]*string, len(types))
	generic, err := s.explainOnce(ctx, "brunt_explained", "force_generic_plan", false, "", literals(nulls))
	if err != nil {
		return err
	}
	p.generic, p.root = generic.Root, generic.Root
	p.Source, p.Nodes = record.ArgumentsNone, generic.record()
	arguments := r.arguments
	switch {
	case len(arguments) == len(nulls) && len(nulls) > 0:
		p.Source = record.ArgumentsWorkload
	case len(nulls) > 0:
		if arguments = s.present(ctx, r, generic.Root, types); arguments == nil {
			return nil // there are no arguments to execute it with
		}
		p.Source = record.ArgumentsTable
	}
	mode := ""
	switch {
	case reads(r.text):
		mode = "begin read only"
	case load.Writes:
		mode = "begin read write"
		if load.Tell != nil {
			load.Tell("executing a statement that writes, to explain it, in a transaction that is rolled back: " +
				inspect.Shorten(r.text))
		}
	}
	if mode != "" {
		calls, err := s.volatile(ctx, r.text, generic.text)
		if err != nil {
			return err
		}
		if len(calls) > 0 {
			mode = ""
			p.Note = message.New("explain.volatile", message.Text("calls", strings.Join(calls, ", ")))
		}
	}
	executed, err := s.explainOnce(ctx, "brunt_explained", "force_custom_plan", mode != "", mode, literals(arguments))
	if err != nil && mode != "" {
		// It does write, or takes too long.
		p.Note = message.OfError(err)
		executed, err = s.explainOnce(ctx, "brunt_explained", "force_custom_plan", false, "", literals(arguments))
		mode = ""
	}
	if err != nil { // keep the plan for unknown arguments
		p.Note, p.Source = message.OfError(err), record.ArgumentsNone
		return nil
	}
	p.root, p.Nodes, p.TotalNs = executed.Root, executed.record(), executed.ExecutionMs*1e6
	p.Analyzed, p.RolledBack = mode != "", mode == "begin read write"
	p.Arguments = literals(arguments)
	return nil
}

// explainOnce explains a prepared statement. With analyze the statement is executed; begin then starts the
// transaction for it, which is always rolled back. list holds the arguments in SQL.
func (s *session) explainOnce(ctx context.Context, name, mode string, analyze bool, begin string,
	list []string) (*explained, error) {
	if _, err := s.plain(ctx, "set plan_cache_mode = "+mode); err != nil {
		return nil, err
	}
	options := "format json, verbose"
	if analyze {
		options += ", analyze, buffers"
	}
	text := "explain (" + options + ") execute " + name
	if len(list) > 0 {
		text += "(" + strings.Join(list, ", ") + ")"
	}
	if begin != "" {
		if _, err := s.plain(ctx, begin); err != nil {
			return nil, err
		}
		defer func() { _, _ = s.plain(ctx, "rollback") }()
		if _, err := s.plain(ctx, "set local statement_timeout = '"+explainTimeout+"'"); err != nil {
			return nil, err
		}
	}
	r, err := s.plain(ctx, text)
	if err != nil {
		return nil, err
	}
	if len(r.rows) != 1 || r.rows[0][0] == nil {
		return nil, fmt.Errorf("EXPLAIN answered with %d rows", len(r.rows))
	}
	return parsePlan(*r.rows[0][0])
}

// literals returns values as SQL literals. It returns nil if there are none.
func literals(values []*string) []string {
	var out []string
	for _, v := range values {
		out = append(out, literal(v))
	}
	return out
}

// literal returns a value as an SQL literal of unknown type.
func literal(value *string) string {
	if value == nil {
		return "null"
	}
	return sqltext.QuoteText(*value)
}
