package cassandrastress

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"brunt/internal/base/sqltext"
	"brunt/internal/dialect/command"
	"brunt/internal/engine"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/verdict"
	"brunt/internal/load/gen"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/units"
	"brunt/internal/report"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/runner"
	"brunt/internal/server/target"
)

// execution is a load that prints what cassandra-stress prints.
type execution struct {
	o     *Options
	own   *own
	test  *Test
	out   *loadtest.Outputs
	lines *Lines

	announced bool // a phase
}

// hooks returns hooks that make the schema and print lines.
func (e *execution) hooks(out *loadtest.Outputs) (runner.Hooks, error) {
	e.out = out
	e.lines = &Lines{out: out.Out, names: e.test.Names, fixed: e.o.Fixed, before: e.announce}
	v := runner.Hooks{
		Sinks: []measure.Sink{e.lines}, Prepare: e.prepare,
		Attach: func(w *workload.Workload) { e.lines.program, _ = w.Scripts().(*program) },
		Result: e.result, Exit: e.exit,
	}
	if e.o.Until != nil {
		v.Enough = e.certain
	}
	if !e.own.quiet {
		v.Notice = loadtest.Notices(out)
	}
	return v, nil
}

// certain reports whether the rate of the current phase is as certain as err< asks for.
func (e *execution) certain(iv *measure.Interval) bool {
	return !iv.WarmUp && !iv.Drain && e.o.Until.reached(&e.lines.rates)
}

// reached reports whether rates are certain.
func (u *Uncertainty) reached(rates *uncertainty) bool {
	return rates.n >= u.Most || rates.n >= u.Least && rates.sum > 0 && rates.value() < u.Below
}

// announce returns the lines before the first interval of a phase.
func (e *execution) announce(phase string) (text string) {
	names := "[" + strings.Join(e.test.Names, ", ") + "]"
	if e.o.Command != "user" && len(e.test.Names) == 1 {
		names = e.test.Names[0]
	}
	threads := e.o.Threads
	for i := range e.test.Plan.Load {
		if ph := &e.test.Plan.Load[i]; ph.Name == phase && ph.Sessions > 0 {
			threads = ph.Sessions
		}
	}
	if e.o.Threads == 0 {
		text = fmt.Sprintf("\nRunning with %d threadCount\n", threads)
	}
	length := fmt.Sprintf("for %d iteration", e.o.Count)
	if e.o.Duration > 0 {
		length = fmt.Sprintf("%d seconds", int(e.o.Duration.Seconds()))
		if minutes := e.o.Duration.Minutes(); minutes == float64(int(minutes)) {
			length = fmt.Sprintf("%d minutes", int(minutes))
		}
	}
	if e.o.Until != nil {
		length = fmt.Sprintf("until stderr of mean < %v", e.o.Until.Below)
	}
	if e.o.Until != nil && e.o.Threads == 0 && !e.announced {
		text = "WARNING: with err<, the runs with different numbers of threads differ in length\n" + text
	}
	e.announced = true
	return text + fmt.Sprintf("Running %s with %d threads %s\n", names, threads, length)
}

// connect opens a session to the first node.
func (e *execution) connect(ctx context.Context, nodes []string, keyspace string) (*target.Session, error) {
	p := &plan.Plan{Target: plan.Target{Protocol: "cassandra", Addresses: nodes[:1], User: e.o.User,
		Password: e.o.Password,
		Database: keyspace, TLS: e.own.tls, Options: map[string]string{"consistency": "one"}}}
	p.Target.TLS.Enabled = e.own.tls != (plan.TLS{})
	return target.Connect(ctx, p)
}

// addresses returns the nodes with their ports.
func (o *Options) addresses() (out []string) {
	for _, n := range o.Nodes {
		if !strings.Contains(n, ":") {
			n = fmt.Sprintf("%s:%d", n, o.Port)
		}
		out = append(out, n)
	}
	return out
}

// do sends a statement, and calls each with the rows of its answer.
func do(ctx context.Context, s *target.Session, statement string, each func(row []gen.Value)) error {
	reply := protocol.Reply{Each: func(_ []string, row []gen.Value) {
		if each != nil {
			each(row)
		}
	}}
	if err := s.Do(ctx, cql(statement), nil, &reply); err != nil {
		return err
	}
	if err := reply.Err(); err != nil {
		return err
	}
	return nil
}

// qualified puts the keyspace before the name of the table in a statement that makes one, unless it has one.
func qualified(statement, keyspace string) string {
	t, err := ParseTable(statement)
	if err != nil || t.Keyspace != "" {
		return statement
	}
	var b strings.Builder
	named := false
	for _, token := range sqltext.Split(statement) {
		if name, ok := nameOf(token.Text); ok && !named && name == t.Name {
			named = true
			b.WriteString(sqltext.Quote(keyspace) + ".")
		}
		b.WriteString(token.Text)
	}
	return b.String()
}

// prepare makes keyspace and table, and checks that the table has the columns of the profile.
func (e *execution) prepare(ctx context.Context) error {
	s, err := e.connect(ctx, e.o.addresses(), "system")
	if err != nil {
		return loadtest.Failure(ctx, err)
	}
	defer s.Close()
	profile := e.test.Profile
	for i, statement := range e.test.Schema {
		err := do(ctx, s, qualified(statement, profile.Keyspace), nil)
		if e, ok := errors.AsType[*protocol.Error](err); ok && e.Code == alreadyExists {
			continue
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", protocol.Line(statement, ""), err)
			if at := e.test.places[i]; at != nil {
				err = profile.fault(at, "%v", err)
			}
			return exitcode.Usage(err)
		}
	}
	there, err := e.columns(ctx, s, profile)
	if err != nil {
		return err
	}
	for i := range e.test.Table.Columns {
		c := &e.test.Table.Columns[i]
		if there.Find(c.Name) >= 0 {
			continue
		}
		text := fmt.Errorf("table %s.%s on the server has no column %s; it has %s", profile.Keyspace, profile.TableName,
			c.Name, there.names())
		if c.Spec != nil && c.Spec.at != nil {
			text = profile.fault(c.Spec.at, "%v", text)
		}
		return exitcode.Usage(text)
	}
	if err := e.queries(ctx); err != nil {
		return err
	}
	if e.o.Truncate != "never" {
		name := sqltext.Quote(profile.Keyspace) + "." + sqltext.Quote(e.test.Table.Name)
		return do(ctx, s, "TRUNCATE "+name, nil)
	}
	return nil
}

// queries lets the server prepare the queries of the profile that the load sends. None is executed: their markers have
// no values, and those without markers are left out.
func (e *execution) queries(ctx context.Context) error {
	var s *target.Session
	profile := e.test.Profile
	var all []Query
	for i := range profile.Queries {
		if _, order, err := e.test.Table.Bind(profile.Queries[i].CQL); err == nil && len(order) > 0 {
			all = append(all, profile.Queries[i])
		}
	}
	for i := range profile.RangeQueries {
		q := &profile.RangeQueries[i]
		all = append(all, Query{Name: q.Name, CQL: q.cql(e.test.Table, "?", "?"), at: q.at})
	}
	for _, q := range all {
		if !slices.Contains(e.test.Names, q.Name) {
			continue
		}
		if s == nil {
			var err error
			if s, err = e.connect(ctx, e.o.addresses(), profile.Keyspace); err != nil {
				return loadtest.Failure(ctx, err)
			}
			defer s.Close()
		}
		err := do(ctx, s, q.CQL, nil)
		if fault, ok := errors.AsType[*protocol.Error](err); ok && fault.Class == protocol.Server {
			return exitcode.Usage(profile.fault(q.at, "query %s: %v", q.Name, err))
		}
	}
	return nil
}

// alreadyExists is the code of the error that a keyspace or table is there (native protocol, section 9).
const alreadyExists = "0x2400"

// columns asks for the columns of a profile's table.
func (e *execution) columns(ctx context.Context, s *target.Session, p *Profile) (*Table, error) {
	quote := func(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
	name := strings.ToLower(p.TableName)
	if e.test != nil {
		name = e.test.Table.Name
	}
	t := &Table{Keyspace: p.Keyspace, Name: name}
	type placed struct {
		Column
		position int64
	}
	var all []placed
	err := do(ctx, s, "SELECT column_name, type, kind, position FROM system_schema.columns WHERE keyspace_name = "+
		quote(strings.ToLower(p.Keyspace))+" AND table_name = "+quote(name), func(row []gen.Value) {
		c := placed{Column: Column{Name: string(row[0].B), Type: string(row[1].B)}, position: row[3].I}
		switch string(row[2].B) {
		case "partition_key":
			c.Role = PartitionKey
		case "clustering":
			c.Role = ClusteringKey
		}
		all = append(all, c)
	})
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, exitcode.Usage(fmt.Errorf("there is no table %s.%s on the server, and %s has no table_definition",
			p.Keyspace, p.TableName, p.Path))
	}
	order := map[Role]int{PartitionKey: 0, ClusteringKey: 1, Regular: 2}
	slices.SortStableFunc(all, func(a, b placed) int {
		if a.Role != b.Role {
			return order[a.Role] - order[b.Role]
		}
		return int(a.position - b.position)
	})
	for _, c := range all {
		t.Columns = append(t.Columns, c.Column)
	}
	return t, nil
}

// tableOnServer asks the server for the table of a profile that doesn't define it.
func (e *execution) tableOnServer(ctx context.Context, p *Profile) (*Table, error) {
	s, err := e.connect(ctx, e.o.addresses(), "system")
	if err != nil {
		return nil, loadtest.Failure(ctx, err)
	}
	defer s.Close()
	return e.columns(ctx, s, p)
}

// climb returns the phases of a range of threads, until more threads bring nothing.
func (e *execution) climb() engine.Next {
	phases := e.test.Plan.Load
	var names []string
	return func(sofar *measure.Tally) []plan.Phase {
		var rates []float64
		for _, name := range names {
			if p := sofar.Phase(name); p != nil && p.LoadNs > 0 {
				done := uint64(0)
				for i := range p.Operations {
					done += p.Operations[i].OK()
				}
				rates = append(rates, float64(done)/float64(p.LoadNs)*1e9)
			}
		}
		if len(phases) == 0 || saturated(rates, e.o.certainty()) {
			return nil
		}
		next := phases[0]
		phases = phases[1:]
		if !next.WarmUp {
			names = append(names, next.Name)
		}
		return []plan.Phase{next}
	}
}

// failed reports whether the load counts as failed: something did, unless errors are ignored.
func (e *execution) failed(run *record.Run) bool {
	return run.Total.OK == 0 || run.Total.Failed > 0 && !e.o.IgnoreErrors
}

// result prints the results.
func (e *execution) result(run *record.Run, dir string) error {
	out := e.out.Out
	if err := loadtest.Drain(out); err != nil {
		return err
	}
	if err := e.lines.Finish(); err != nil {
		return err
	}
	end := "END"
	if e.failed(run) {
		end = "FAILURE"
		for _, f := range run.Failures {
			fmt.Fprintf(e.out.Err, "brunt: %d × %s %s: %s\n", f.Count, f.Class, f.Code, f.Text)
		}
	}
	fmt.Fprintln(out, end)
	if e.o.GraphFile != "" && dir != "" {
		sheet, err := report.ReadSheet([]string{dir}, nil, nil, units.English)
		if err == nil {
			err = report.WritePage(e.o.GraphFile, out, sheet, report.Options{Language: units.English})
		}
		if err != nil {
			return err
		}
	}
	if !e.own.quiet {
		command.Tell(e.out, run, dir)
	}
	if e.own.report {
		return (&loadtest.Report{}).Print(out, run, dir)
	}
	return nil
}

// exit returns the error for the exit code: 1 after failures, as cassandra-stress has it, which has no thresholds.
func (e *execution) exit(run *record.Run) error {
	switch {
	case run.Interrupted:
		return exitcode.With(exitcode.Interrupted, nil)
	case e.own.report || len(run.Thresholds) > 0:
		return exitcode.With(verdict.ExitCode(run), nil)
	case e.failed(run):
		return errors.New("operations failed; the lines above say why, and -errors ignore accepts them")
	}
	return nil
}
