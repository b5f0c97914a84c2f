package schema

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/server/schema/sql"
	"brunt/internal/server/target"
)

// DownOptions are the options of Down.
type DownOptions struct {
	Force bool // also drop tables that brunt didn't create
	// Ask, if not nil, decides about each table that brunt didn't create. why says why brunt takes the table for
	// another owner's. The table is dropped if Ask returns true.
	Ask     func(table, why string) bool
	Timeout time.Duration // for each table, unless the plan sets a shorter one; 0 means 1 minute
	// Checkpoint is the file that records which rows have been loaded; "" means none. It is removed together with the
	// last of the plan's tables, because Up would look for the rows that it names.
	Checkpoint string
}

// Down drops the plan's tables that brunt created. It drops other tables only with Force, or if Ask agrees. Without
// either, it drops nothing and returns a *target.UsageError. After a failure Down continues with the other tables, and
// returns the first error. If the tables were dropped but their markers couldn't be removed, it returns a warning.
func Down(ctx context.Context, p *plan.Plan, o DownOptions) ([]Change, []record.Warning, error) {
	s, a, err := open(ctx, p, "")
	if err != nil {
		return nil, nil, err
	}
	d := &dropping{database: s, admin: a, timeout: o.Timeout}
	defer func() { d.admin.Close() }()
	changes, err := d.choose(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	var names, gone []string
	for i := range changes {
		if changes[i].Action == "" {
			names = append(names, changes[i].Name)
		}
	}
	dropped, first := d.drop(ctx, names)
	for i := range changes {
		c := &changes[i]
		switch {
		case c.Action == "" && !slices.Contains(dropped, c.Name):
			c.Action = "kept"
		case c.Action == "":
			c.Action = "dropped"
		}
		if c.Action != "kept" {
			gone = append(gone, c.Name)
		}
	}
	if len(gone) == len(changes) {
		if err := forgetLoad(o.Checkpoint); err != nil {
			first = errors.Join(first, &target.UsageError{Err: fmt.Errorf("checkpoint: %w", err)})
		}
	}
	if err := d.forget(ctx, gone); err != nil {
		return changes, []record.Warning{{ID: "tables-unmarked", Text: message.OfError(err)}}, first
	}
	return changes, nil, first
}

// dropping drops tables, each within a timeout.
type dropping struct {
	*database
	admin   protocol.Admin
	marks   markers
	timeout time.Duration
}

// choose returns a Change for each table of the plan. Action is "absent" or "kept", or "" for a table that is to be
// dropped.
func (d *dropping) choose(ctx context.Context, o DownOptions) ([]Change, error) {
	ctx, cancel := context.WithTimeout(ctx, d.most())
	defer cancel()
	d.marks = d.readMarkers(ctx, d.admin)
	var changes []Change
	var refused []string
	for i := range d.Plan.Tables {
		name := d.Plan.Tables[i].Name
		change := Change{Name: name}
		n, err := number(ctx, d.admin, d.Flavor.HasTable(name))
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", name, err)
		}
		why := d.foreign(name)
		switch {
		case n == 0:
			change.Action = "absent"
		case why == "" || o.Force:
		case o.Ask == nil:
			refused = append(refused, name)
		case !o.Ask(name, why):
			change.Action = "kept"
		}
		changes = append(changes, change)
	}
	if len(refused) > 0 {
		return nil, &target.UsageError{
			Err: fmt.Errorf("nothing was dropped: table %s: %s; add --force to drop what the plan names all the same",
				strings.Join(refused, ", "), d.foreign(refused[0]))}
	}
	return changes, nil
}

// foreign returns why brunt doesn't regard a table as its own, or "" if the marker says that brunt created it.
func (d *dropping) foreign(name string) string {
	m, ok := d.marks.of[name]
	switch {
	case !d.marks.known:
		return fmt.Sprintf("whether brunt created it can't be known (table %s can't be read)", sql.MarkerTable)
	case !ok:
		return fmt.Sprintf("brunt didn't create it (table %s doesn't say so)", sql.MarkerTable)
	case m.Origin != originCreated:
		return "brunt filled it, but didn't create it"
	}
	return ""
}

func (d *dropping) most() time.Duration {
	if d.timeout > 0 {
		return d.timeout
	}
	return ddlTimeout
}

// drop drops the named tables in reverse order, with their indexes. It returns the names of the dropped tables and the
// first error.
func (d *dropping) drop(ctx context.Context, names []string) (dropped []string, first error) {
	for i := len(names) - 1; i >= 0; i-- {
		err := d.one(ctx, d.Table(names[i]))
		if err == nil {
			dropped = append(dropped, names[i])
			continue
		}
		if first == nil {
			first = fmt.Errorf("drop table %s: %w", names[i], err)
		}
		// The session may still wait for the failed statement. Don't wait with it: open a new one.
		d.admin.Close()
		bounded, cancel := context.WithTimeout(ctx, d.most())
		a, err := d.Admin(bounded)
		cancel()
		if err != nil {
			return dropped, first
		}
		d.admin = a
	}
	return dropped, first
}

// one drops a table. The statement carries the timeout for servers that support one. The session waits a little longer,
// so that the server's own error arrives first.
func (d *dropping) one(ctx context.Context, t *plan.Table) error {
	const grace = 2 * time.Second
	short := *t
	if short.Timeout <= 0 || short.Timeout > d.most() {
		short.Timeout = d.most()
	}
	ctx, cancel := context.WithTimeout(ctx, short.Timeout+grace)
	defer cancel()
	_, err := d.admin.Exec(ctx, d.Flavor.DropTable(&short))
	if e, ok := errors.AsType[*protocol.Error](err); ok && e.Class == protocol.Timeout ||
		err != nil && protocol.IsLate(ctx, err) {
		return fmt.Errorf(
			"not done within %s: %w; is a node of the cluster down? It may still be dropped later: run brunt schema down again",
			short.Timeout, err)
	}
	return err
}

func (d *dropping) forget(ctx context.Context, names []string) error {
	ctx, cancel := context.WithTimeout(ctx, d.most())
	defer cancel()
	return d.unmark(ctx, d.admin, &d.marks, names)
}
