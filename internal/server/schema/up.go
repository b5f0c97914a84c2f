package schema

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"brunt/internal/base/linefile/filelock"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/server/schema/fill"
	"brunt/internal/server/target"
)

// Change says what Up or Down did with a table.
type Change struct {
	Name     string
	Action   string // "created", "filled", "resumed", "complete" (nothing to do), "dropped", "absent", "kept"
	Load     *fill.TableReport
	Analyzed bool // the planner's statistics were updated
}

// String describes the change in one line.
func (c *Change) String() string {
	var b strings.Builder
	b.WriteString(c.Action)
	if l := c.Load; l != nil {
		fmt.Fprintf(&b, ", %d rows", l.Rows)
		if l.Resumed > 0 {
			fmt.Fprintf(&b, " (%d by an earlier run)", l.Resumed)
		}
		if l.RatePerS > 0 {
			fmt.Fprintf(&b, ", %.0f rows/s", l.RatePerS)
		}
		if l.Checksum != "" {
			fmt.Fprintf(&b, ", checksum %s", l.Checksum)
		}
		if l.Checked != fill.CheckNone && l.Checked != "" {
			fmt.Fprintf(&b, ", checked by %s", l.Checked)
		}
	}
	if c.Analyzed {
		b.WriteString(", analyzed")
	}
	return b.String()
}

// up is the state of a call of Up, or of the set-up of a run.
type up struct {
	*database
	admin      protocol.Admin
	o          FillOptions
	marks      markers
	unfinished bool // an earlier call was interrupted and left its checkpoint
	changes    []Change
	fill       []*plan.Table
	keep       []*plan.Table // complete already
	warnings   []record.Warning

	// use and filling are set for a run only. use is called for a table that has rows already or needs none, and the
	// table is left as it is. filling is called for a table that is about to be filled.
	use     func(*found) error
	filling func(*plan.Table)
}

// Up creates the plan's tables and indexes, fills the tables, and updates the planner's statistics of the tables that
// it filled. A table that is complete already is left alone, and only checked if o.Check asks for it. A table that an
// interrupted Up left unfinished is completed from its checkpoint. A table with other rows, or one that brunt didn't
// create, is a *target.UsageError.
func Up(ctx context.Context, p *plan.Plan, o FillOptions) ([]Change, []record.Warning, error) {
	s, a, err := open(ctx, p, o.Version)
	if err != nil {
		return nil, nil, err
	}
	s.tellWaits(o.Waits)
	u := &up{database: s, admin: a, o: o}
	defer func() { u.admin.Close() }()
	err = u.run(ctx)
	return u.changes, append(noticeWarnings(s), u.warnings...), err
}

// holdCheckpoint creates a checkpoint if there is none, and keeps other processes from it until release is called,
// which removes it if no load has begun. Two loads of one checkpoint would load rows twice, and each remove lines that
// the other has half written.
func holdCheckpoint(path string) (release func(), err error) {
	lock, held, err := filelock.Hold(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("checkpoint: %w", err)
	case held:
		return nil, fmt.Errorf("another process loads these tables, and has %s in use; wait until it has ended", path)
	}
	return func() {
		if info, err := os.Stat(path); err == nil && info.Size() == 0 {
			os.Remove(path)
		}
		lock.Close()
	}, nil
}

func (u *up) run(ctx context.Context) error {
	if err := u.checkDDL(); err != nil {
		return err
	}
	if u.o.Checkpoint != "" {
		if err := os.MkdirAll(filepath.Dir(u.o.Checkpoint), 0o755); err != nil {
			return &target.UsageError{Err: fmt.Errorf("checkpoint: %w", err)}
		}
		// The checkpoint is removed once the indexes exist. If it is there, an earlier load is unfinished.
		_, err := os.Stat(u.o.Checkpoint)
		u.unfinished = err == nil
		release, err := holdCheckpoint(u.o.Checkpoint)
		if err != nil {
			return &target.UsageError{Err: err}
		}
		defer release()
	}
	u.marks = u.readMarkers(ctx, u.admin)
	for i := range u.Plan.Tables {
		if err := u.table(ctx, &u.Plan.Tables[i]); err != nil {
			return err
		}
	}
	if len(u.fill)+len(u.keep) > 0 {
		report, err := u.load(ctx, u.fill, u.keep, u.o)
		u.attach(report)
		if _, ok := errors.AsType[*fill.NotBegunError](err); ok && u.use == nil {
			return errors.Join(err, u.undo(ctx))
		}
		if err != nil {
			return u.explain(err)
		}
	}
	for _, t := range u.fill {
		created := changeOf(u.changes, t.Name).Action == "created"
		if err := u.index(ctx, u.admin, t, !created); err != nil {
			return err
		}
	}
	analyzed, err := u.analyze(ctx, u.admin, u.fill)
	if err != nil {
		return err
	}
	for _, name := range analyzed {
		changeOf(u.changes, name).Analyzed = true
	}
	u.markComplete(ctx, u.admin, &u.marks, u.fill)
	return forgetLoad(u.o.Checkpoint)
}

// undo drops the tables that this call created, which have no rows, and removes the checkpoint that it began. It does
// nothing if an earlier call has left its checkpoint.
func (u *up) undo(ctx context.Context) error {
	if u.unfinished {
		return nil
	}
	d := &dropping{database: u.database, admin: u.admin, marks: u.marks}
	defer func() { u.admin = d.admin }()
	var created []string
	for i := range u.changes {
		if u.changes[i].Action == "created" {
			created = append(created, u.changes[i].Name)
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ddlTimeout)
	defer cancel()
	dropped, err := d.drop(ctx, created)
	for _, name := range dropped {
		changeOf(u.changes, name).Action = "dropped"
	}
	return errors.Join(err, d.forget(ctx, dropped), forgetLoad(u.o.Checkpoint))
}

// table decides what a table needs, and prepares it for being filled.
func (u *up) table(ctx context.Context, t *plan.Table) error {
	f, err := u.find(ctx, u.admin, t, &u.marks)
	if err != nil {
		return err
	}
	complete := f.rows == t.Rows && !f.unfinished() && (t.Rows > 0 || f.marker != nil)
	action := ""
	switch {
	case !f.exists:
		action, err = "created", u.createFor(ctx, t)
	case u.use != nil && (f.rows > 0 || t.Rows == 0):
		return u.use(&f)
	case u.unfinished && (f.unfinished() || f.marker == nil && !u.marks.known):
		// Rows that are loaded a second time are found by their key, so the key is needed first.
		action, err = "resumed", u.keys(ctx, []*plan.Table{t})
	case complete:
		u.changes, u.keep = append(u.changes, Change{Name: t.Name, Action: "complete"}), append(u.keep, t)
		return u.compare(&f)
	case f.rows > 0:
		err = u.refuse(&f)
	default:
		action, err = "filled", u.refill(ctx, &f)
	}
	if err != nil {
		return err
	}
	u.changes, u.fill = append(u.changes, Change{Name: t.Name, Action: action}), append(u.fill, t)
	if u.filling != nil {
		u.filling(t)
	}
	return nil
}

func (u *up) createFor(ctx context.Context, t *plan.Table) error {
	if u.unfinished {
		return &target.UsageError{
			Err: fmt.Errorf("%s says that table %s was being loaded, but it doesn't exist; remove the file to load again",
				u.o.Checkpoint, t.Name)}
	}
	if err := u.create(ctx, u.admin, t); err != nil {
		return err
	}
	u.o.keyless = append(u.o.keyless, t)
	return u.markUnfinished(ctx, u.admin, &u.marks, t, originCreated)
}

// refill prepares an existing empty table for being filled.
func (u *up) refill(ctx context.Context, f *found) error {
	if err := u.mayFill(f, &u.marks, u.o.Force); err != nil {
		return err
	}
	if f.unfinished() && f.marker.Origin == originCreated {
		if err := u.keys(ctx, []*plan.Table{f.table}); err != nil {
			return err
		}
	}
	return u.markUnfinished(ctx, u.admin, &u.marks, f.table, originFilled)
}

// refuse returns the error for a table with rows that can't be filled.
func (u *up) refuse(f *found) error {
	if f.unfinished() {
		return &target.UsageError{
			Err: fmt.Errorf(
				"table %s is unfinished (begun on %s, with seed %s), and %s, which would say how far it came, isn't there; name its file with --checkpoint, or drop the table with brunt schema down",
				f.table.Name, f.marker.Since, f.marker.Seed, u.o.Checkpoint)}
	}
	if f.marker == nil {
		return &target.UsageError{
			Err: fmt.Errorf(
				"table %s holds %d rows, the plan says %d, and brunt didn't create it; drop it, or give the plan another name for it", f.table.Name, f.rows, f.table.Rows)}
	}
	return &target.UsageError{Err: fmt.Errorf("table %s holds %d rows, the plan says %d; drop it with brunt schema down",
		f.table.Name, f.rows, f.table.Rows)}
}

// compare adds a warning if the rows of a complete table aren't the plan's.
func (u *up) compare(f *found) error {
	why, err := u.differs(f)
	if !why.IsZero() {
		u.warnings = append(u.warnings, differWarning(why))
	}
	return err
}

// explain adds the reason to a failed check, if it is known why the rows can't be the plan's.
func (u *up) explain(err error) error {
	var m *fill.MismatchError
	if !errors.As(err, &m) {
		return err
	}
	if mark, ok := u.marks.of[m.Table]; ok {
		if why, _ := u.differs(&found{table: u.Table(m.Table), marker: &mark}); !why.IsZero() && mark.State == stateComplete {
			return fmt.Errorf("%w (%s)", err, why)
		}
	}
	return err
}

func (u *up) attach(report fill.Report) {
	for i := range report.Tables {
		if c := changeOf(u.changes, report.Tables[i].Name); c != nil {
			c.Load = &report.Tables[i]
		}
	}
}

func changeOf(changes []Change, table string) *Change {
	if i := slices.IndexFunc(changes, func(c Change) bool { return c.Name == table }); i >= 0 {
		return &changes[i]
	}
	return nil
}

func noticeWarnings(s *database) []record.Warning {
	var out []record.Warning
	for _, n := range s.Notices {
		out = append(out, record.Warning{ID: n.ID, Text: n.Text})
	}
	return out
}

// tellWaits has tell called while a statement waits for the server.
func (s *database) tellWaits(tell func(message.Message)) {
	if tell == nil {
		return
	}
	s.Waiting.Tell = func(waited time.Duration, statement string) {
		tell(message.New("setup-waits", message.Span("waited", waited.Round(time.Second)),
			message.Text("statement", statement)))
	}
}

func open(ctx context.Context, p *plan.Plan, version string) (*database, protocol.Admin, error) {
	if len(p.Tables) == 0 {
		return nil, nil, &target.UsageError{Err: fmt.Errorf("plan %s has no tables; there is nothing to create", p.Name)}
	}
	s, err := target.Find(ctx, p, target.Patience{})
	if err != nil {
		return nil, nil, err
	}
	a, err := s.Admin(ctx)
	if err != nil {
		return nil, nil, err
	}
	return &database{System: s, version: version}, a, nil
}
