package schema

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/server/schema/fill"
	"brunt/internal/server/schema/sql"
	"brunt/internal/server/target"
)

// found describes one of the plan's tables on the server.
type found struct {
	table  *plan.Table
	exists bool
	rows   uint64
	marker *sql.Marker // nil if brunt has not recorded the table
}

// find queries whether a table exists, and how many rows it has.
func (s *database) find(ctx context.Context, a protocol.Admin, t *plan.Table, m *markers) (found, error) {
	f := found{table: t}
	exists, err := number(ctx, a, s.Flavor.HasTable(t.Name))
	if err == nil && exists > 0 {
		f.exists = true
		if marker, ok := m.of[t.Name]; ok {
			f.marker = &marker
		}
		err = s.countRows(ctx, a, &f)
	}
	if err != nil {
		return f, fmt.Errorf("table %s: %w", t.Name, err)
	}
	return f, nil
}

// countRows counts a table's rows. On servers that read from replicas, a table that was filled completely may seem to
// have too few rows for a while. Then the rows are counted again for as long as the number changes.
func (s *database) countRows(ctx context.Context, a protocol.Admin, f *found) error {
	const alike = 5 // equal counts in a row; takes 0.75 s
	filled := f.marker != nil && f.marker.State == stateComplete && f.marker.Rows == strconv.FormatUint(f.table.Rows, 10)
	err := fill.Settle(ctx, alike, nil, func() (err error) {
		f.rows, err = number(ctx, a, s.Flavor.CountRows(f.table.Name))
		if err == nil && filled && f.rows < f.table.Rows {
			return &fill.MismatchError{Table: f.table.Name, What: strconv.FormatUint(f.rows, 10)}
		}
		return err
	})
	if _, ok := errors.AsType[*fill.MismatchError](err); ok {
		return nil // rows have been deleted since the table was filled
	}
	return err
}

func (f *found) unfinished() bool { return f.marker != nil && f.marker.State == stateUnfinished }

// differs returns why the rows of a table aren't the plan's. The message is zero if they are, or if this isn't known.
func (s *database) differs(f *found) (why message.Message, err error) {
	m := f.marker
	if m == nil {
		return why, nil
	}
	if f.unfinished() {
		return message.New("table.unfinished", message.Text("table", m.Name), message.Text("since", m.Since)), nil
	}
	hash, err := s.fingerprintOf(f.table)
	if err != nil || hash == m.Plan {
		return why, err
	}
	if seed := strconv.FormatUint(s.Plan.Seed, 10); seed != m.Seed {
		return message.New("table.seed", message.Text("table", m.Name), message.Text("its", m.Seed),
			message.Text("plans", seed)), nil
	}
	if rows := strconv.FormatUint(f.table.Rows, 10); rows != m.Rows {
		return message.New("table.filled-rows", message.Text("table", m.Name), message.Text("its", m.Rows),
			message.Text("plans", rows)), nil
	}
	if !strings.HasPrefix(m.Plan, fingerprintVersion) {
		return why, nil // written by another version, with another algorithm
	}
	return message.New("table.rules", message.Text("table", m.Name), message.Text("since", m.Since)), nil
}

// mayFill returns an error if an existing table must not be filled, because brunt didn't create it.
func (s *database) mayFill(f *found, m *markers, force bool) error {
	if f.marker != nil || force {
		return nil
	}
	why := "brunt didn't create it"
	if !m.known {
		why = fmt.Sprintf("whether brunt created it can't be known (table %s can't be read)", sql.MarkerTable)
	}
	return &target.UsageError{
		Err: fmt.Errorf(
			"table %s exists already, with %d rows, and %s; drop it, give the plan another name for it, or fill it with --force",
			f.table.Name, f.rows, why)}
}

// The ids of the warnings about tables. They don't change between versions.
const (
	warnTableRows        = "table-rows"
	warnTableDiffers     = "table-differs"
	warnReferenceMissing = "reference-missing"
)

func differWarning(why message.Message) record.Warning {
	return record.NewWarning(warnTableDiffers, message.Nested("why", why))
}

// use adds a table that has rows to the record, and warns if the rows aren't the plan's.
func (t *Tables) use(f *found) error {
	why, err := t.differs(f)
	if err != nil {
		return err
	}
	out := record.TableUse{Name: f.table.Name, Rows: f.rows, Differs: why}
	if f.marker != nil {
		out.Origin = "brunt"
		if seed, err := strconv.ParseUint(f.marker.Seed, 10, 64); err == nil {
			out.Seed = &seed
		}
	}
	if f.rows != f.table.Rows && !f.unfinished() {
		args := []message.Arg{message.Text("table", f.table.Name), message.Count("rows", f.rows),
			message.Count("plans", f.table.Rows)}
		t.o.Warn(record.NewWarning(warnTableRows, args...))
		if out.Differs.IsZero() {
			out.Differs = message.New("table.rows", args...)
		}
	}
	if !why.IsZero() {
		t.o.Warn(differWarning(why))
	}
	t.run.Tables = append(t.run.Tables, out)
	return nil
}

// Look adds the tables that exist to the record, and changes nothing on the server. If the server can't be queried,
// Look returns nil, because the load can run without this.
func (t *Tables) Look(ctx context.Context) error {
	s := t.database
	if _, ok := s.Driver.(protocol.AdminDriver); !ok || len(s.Plan.Tables) == 0 {
		return nil
	}
	a, err := s.Admin(ctx)
	if err != nil {
		return nil
	}
	defer a.Close()
	notices := s.Notices
	marks := s.readMarkers(ctx, a)
	s.Notices = notices
	for i := range s.Plan.Tables {
		f, err := s.find(ctx, a, &s.Plan.Tables[i], &marks)
		if err != nil || !f.exists {
			continue
		}
		if err := t.use(&f); err != nil {
			return err
		}
	}
	return nil
}

// MissedReferences returns a warning for each operation whose references found no row in more than 1 % of its
// successes. The warning names the cause if it is known. If it isn't, rows may be missing rightly, and there is no
// warning: because the plan itself deletes rows of these tables, or because statements have further conditions or ask
// other tables.
func MissedReferences(p *plan.Plan, run *record.Run) (out []record.Warning) {
	for i := range p.Operations {
		if i >= len(run.Operations) {
			break
		}
		c := &run.Operations[i].Counts
		tables := referred(&p.Operations[i])
		if len(tables) == 0 || c.Missing*100 <= c.OK || deletesFrom(p, tables) {
			continue
		}
		why, known := causeOf(tables, run.Tables)
		if !known && narrows(&p.Operations[i]) {
			continue
		}
		w := record.NewWarning(warnReferenceMissing, message.Text("operation", run.Operations[i].Name),
			message.Part("share", min(c.Missing, c.OK), max(c.OK, 1)), message.Text("tables", strings.Join(tables, ", ")),
			message.Nested("why", why))
		if !known {
			w.Remedy = message.New("reference-missing.verify")
		}
		out = append(out, w)
	}
	return out
}

// referred returns the names of the tables that an operation's references take values from.
func referred(op *plan.Operation) (tables []string) {
	for i := range op.Steps {
		for _, p := range op.Steps[i].Params {
			if p.Value != nil && p.Value.Type == gen.TypeReference && !slices.Contains(tables, p.Value.Table) {
				tables = append(tables, p.Value.Table)
			}
		}
	}
	return tables
}

// narrows reports whether a statement with a reference has further conditions, which rows that exist may not meet, or
// asks another table for rows that refer to the same: there may be none.
func narrows(op *plan.Operation) bool {
	for i := range op.Steps {
		s := &op.Steps[i]
		words := strings.FieldsFunc(strings.ToLower(s.Request.Text), func(r rune) bool {
			return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		})
		where := slices.Index(words, "where")
		if where < 0 {
			continue
		}
		for k := range s.Params {
			v := s.Params[k].Value
			if v == nil || v.Type != gen.TypeReference {
				continue
			}
			if slices.Contains(words[where:], "and") || !slices.Contains(words, lastPart(v.Table)) {
				return true
			}
		}
	}
	return false
}

// lastPart returns the name of a table without its schema, in lower case.
func lastPart(table string) string {
	return strings.ToLower(table[strings.LastIndexByte(table, '.')+1:])
}

// deletesFrom reports whether an operation of the plan deletes rows of one of the tables.
func deletesFrom(p *plan.Plan, tables []string) bool {
	for i := range p.Operations {
		for k := range p.Operations[i].Steps {
			r := &p.Operations[i].Steps[k].Request
			if r.Kind() == protocol.KindDelete && slices.ContainsFunc(tables, func(table string) bool {
				return strings.Contains(strings.ToLower(r.Text), strings.ToLower(table))
			}) {
				return true
			}
		}
	}
	return false
}

// causeOf returns why rows of these tables may be missing. known is false if the cause is only a guess.
func causeOf(tables []string, uses []record.TableUse) (why message.Message, known bool) {
	for _, u := range uses {
		if !u.Differs.IsZero() && slices.Contains(tables, u.Name) {
			return u.Differs, true
		}
	}
	for _, u := range uses {
		if u.Origin == "" && slices.Contains(tables, u.Name) {
			return message.New("table.unknown", message.Text("table", u.Name)), false
		}
	}
	return message.New("table.as-planned"), false
}

// Tables are the plan's tables in one run. Findings about them go into the run's record. Tables isn't safe for
// concurrent use.
type Tables struct {
	*database
	run     *record.Run
	o       RunOptions
	admin   protocol.Admin // open between Fill and Drop
	created []string       // created by this run
	marks   markers
}

// RunOptions are the options of a run for its tables.
type RunOptions struct {
	Version  string // version of brunt, for the markers of tables
	Force    bool   // also fill empty tables that brunt didn't create
	Keep     bool   // don't drop the tables that the run created
	Progress func(fill.Progress)
	Waits    func(message.Message) // called while a statement waits for the server
	Warn     func(record.Warning)  // called with each warning; must add it to the record
}

// OfRun returns the tables of a run's system. It doesn't contact the system.
func OfRun(s *target.System, run *record.Run, o RunOptions) *Tables {
	t := &Tables{database: &database{System: s, version: o.Version}, run: run, o: o}
	t.tellWaits(o.Waits)
	return t
}

// Fill creates and fills the tables that are missing, and fills empty tables that brunt created. Tables with rows are
// used unchanged, and added to the record. Errors are those of Up.
func (t *Tables) Fill(ctx context.Context) (err error) {
	if len(t.Plan.Tables) == 0 {
		return nil
	}
	began := time.Now()
	if t.admin, err = t.Admin(ctx); err != nil {
		return err
	}
	o := FillOptions{Progress: t.o.Progress, Force: t.o.Force}
	u := &up{database: t.database, admin: t.admin, o: o, use: t.use, filling: t.filling}
	err = u.run(ctx)
	t.marks = u.marks
	for _, made := range u.o.keyless {
		t.created = append(t.created, made.Name)
	}
	if err != nil || len(u.fill) == 0 {
		return err
	}
	t.run.Setup = &record.Setup{DurationNs: int64(time.Since(began))}
	for _, c := range u.changes {
		t.run.Setup.Tables = append(t.run.Setup.Tables, record.Table{
			Name: c.Name, Rows: c.Load.Rows, RowsPerS: c.Load.RatePerS, Checksum: c.Load.Checksum,
			ElapsedNs: int64(c.Load.Elapsed),
		})
	}
	return nil
}

// filling adds a table that is about to be filled to the record.
func (t *Tables) filling(table *plan.Table) {
	t.run.Tables = append(t.run.Tables, record.TableUse{
		Name: table.Name, Origin: "run", Rows: table.Rows, Seed: &t.Plan.Seed,
	})
}

// Drop drops the tables that the run created, unless Keep is set, and closes the session of the set-up. Further calls
// do nothing.
func (t *Tables) Drop() error {
	if t.admin == nil {
		return nil
	}
	d := &dropping{database: t.database, admin: t.admin, marks: t.marks}
	t.admin = nil
	defer func() { d.admin.Close() }()
	if t.o.Keep || len(t.created) == 0 {
		return nil
	}
	ctx := context.Background()
	dropped, err := d.drop(ctx, t.created)
	return errors.Join(err, d.forget(ctx, dropped))
}
