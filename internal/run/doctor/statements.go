package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/render/message"
	"brunt/internal/server/schema/sql"
)

// mostTried limits how many numbers of operations are searched for one of each operation.
const mostTried = 100_000

// statements tries each operation once, in a transaction that is rolled back. Missing tables of the plan are created in
// the transaction. If the server can't undo everything, only operations that read are tried.
func (e *examination) statements(ctx context.Context) {
	conn, at, err := e.transaction(ctx)
	if err != nil {
		e.add(Problem, "transaction", message.OfError(err), message.Message{})
		return
	}
	if conn == nil {
		e.add(Note, "statements", message.New("doctor.not-tried", message.Text("protocol", e.driver.Name())),
			message.New("doctor.not-tried.remedy"))
		return
	}
	clean := e.tryAll(ctx, conn, at)
	conn.close(ctx)
	if clean && !slices.ContainsFunc(e.all, func(f Finding) bool { return f.Level == Problem }) {
		e.session(ctx, at)
	}
}

// tryAll tries each operation once, and reports whether the plan's tables are there.
func (e *examination) tryAll(ctx context.Context, conn *transaction, at string) (there bool) {
	if !e.tables(ctx, conn) {
		return false
	}
	drawn := e.draw()
	for op, i := range drawn {
		name := e.work.Operations[op].Name
		if i < 0 {
			if name != "" {
				e.add(Note, name, message.New("doctor.rare"), message.Message{})
			}
			continue
		}
		if e.work.Scripted(op) {
			e.add(Note, name, message.New("doctor.script"), message.New("doctor.commits.remedy"))
			continue
		}
		e.try(ctx, conn, name, uint64(i))
		if conn.broken {
			e.add(Problem, name, message.New("doctor.connection-lost"), message.Message{})
			return false
		}
	}
	if !conn.created && !e.assigned() {
		e.elsewhere(ctx, at, drawn)
	}
	return !conn.created
}

// session begins a session as a run does, with all of the plan's requests: what can't be tried above may be refused.
func (e *examination) session(ctx context.Context, address string) {
	k := slices.IndexFunc(e.system.Targets, func(t protocol.Target) bool { return t.Address == address })
	conn, err := e.driver.Dial(ctx, e.system.Targets[max(k, 0)], &e.work.Program)
	if err != nil {
		e.add(Problem, address, message.OfError(err), message.New("doctor.fails.remedy"))
		return
	}
	_ = conn.Close()
}

// draw returns a number of an operation for each operation of the plan; −1 if none was found.
func (e *examination) draw() []int64 {
	out := make([]int64, len(e.work.Operations))
	for op := range out {
		out[op] = -1
	}
	most := uint64(mostTried)
	if total := e.work.Total; total > 0 {
		most = min(most, total)
	}
	for i, left := uint64(0), len(out); left > 0 && i < most; i++ {
		if op := e.work.Pick(i); out[op] < 0 {
			out[op] = int64(i)
			left--
		}
	}
	return out
}

// assigned reports whether it depends on more than the addresses which requests go to which: not every operation must
// work everywhere.
func (e *examination) assigned() bool {
	t := &e.plan.Target
	return t.Topology.Source != "" || t.Balance.Mode == "bucket" || t.Options["mode"] == "cluster" ||
		slices.ContainsFunc(e.plan.Operations, func(op plan.Operation) bool { return op.Routed() })
}

// elsewhere tries the operations at the other addresses that answered, and adds what fails there.
func (e *examination) elsewhere(ctx context.Context, done string, drawn []int64) {
	for k, t := range e.system.Targets {
		if t.Address == done || e.system.Servers[k].Product == "" {
			continue
		}
		conn, err := e.transactionAt(ctx, t)
		if err != nil {
			e.add(Problem, t.Address, message.OfError(err), message.New("doctor.fails.remedy"))
		}
		if conn == nil {
			continue
		}
		failed := false
		for op, i := range drawn {
			if i < 0 || conn.broken {
				continue
			}
			if f := conn.within(ctx, func() *protocol.Failure {
				f, _ := e.operation(ctx, conn, uint64(i))
				return f
			}); f != nil {
				failed = true
				e.add(Problem, e.work.Operations[op].Name, message.New("doctor.fails-at", message.Text("address", t.Address),
					message.Text("error", f.Text)), message.New("doctor.fails.remedy"))
			}
		}
		conn.close(ctx)
		if !failed {
			e.add(Fine, t.Address, message.New("doctor.works-at", message.Text("address", done)), message.Message{})
		}
	}
}

// try tries operation number i, whose name is given, and adds what was found.
func (e *examination) try(ctx context.Context, conn *transaction, name string, i uint64) {
	began := time.Now()
	var untried gap
	failure := conn.within(ctx, func() (f *protocol.Failure) {
		f, untried = e.operation(ctx, conn, i)
		return f
	})
	in := message.Span("in", time.Since(began))
	switch {
	case failure != nil:
		e.add(Problem, name, message.Literal(failure.Text), message.New("doctor.fails.remedy"))
	case !untried.text.IsZero():
		e.add(Note, name, untried.text, untried.remedy)
	case conn.rollsBack:
		e.add(Fine, name, message.New("doctor.works", in), message.Message{})
	default:
		e.add(Fine, name, message.New("doctor.reads", in), message.Message{})
	}
}

// gap says why an operation was not executed to its end, and what to do; it is zero if it was.
type gap struct{ text, remedy message.Message }

// operation executes operation number i in the current transaction, without its own BEGIN and COMMIT.
func (e *examination) operation(ctx context.Context, conn *transaction, i uint64) (*protocol.Failure, gap) {
	c := e.work.NewCursor(0, workload.Rules{})
	for move := c.Begin(i); move != workload.Over; {
		if move != workload.Send {
			move = c.Resume()
			continue
		}
		r := c.Request()
		var reply protocol.Reply
		reply.Reset(len(r.Capture))
		switch {
		case r.Frames(): // it would end the transaction
		case !conn.rollsBack && r.MayWrite():
			return nil, gap{message.New("doctor.writes", message.Text("request", r.Name)), message.New("doctor.writes.remedy")}
		case changesSchema(r) && !conn.makesTables:
			return nil, gap{message.New("doctor.commits", message.Text("request", r.Name)), message.New("doctor.commits.remedy")}
		default:
			conn.do(ctx, r, c.Args(), &reply)
		}
		if r.ExpectError {
			return nil, gap{}
		}
		if reply.Class != protocol.OK {
			f := reply.Failure
			return &f, gap{}
		}
		if len(r.Capture) > 0 && reply.Rows == 0 && e.empty {
			return nil, gap{message.New("doctor.needs-rows", message.Text("request", r.Name)),
				message.New("doctor.needs-rows.remedy")}
		}
		move = c.Answered(&reply, 0, 0)
	}
	if f := c.Failure; f.Class != protocol.OK {
		return &f, gap{}
	}
	return nil, gap{}
}

// changesSchema reports whether a request is a statement of DDL.
func changesSchema(r *protocol.Request) bool {
	word, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(r.Text)), " ")
	return r.Verb == protocol.SQL && slices.Contains([]string{"create", "alter", "drop", "truncate"}, word)
}

// tables creates the plan's missing tables, which are rolled back later. It reports whether statements can be tried.
func (e *examination) tables(ctx context.Context, conn *transaction) bool {
	if len(e.plan.Tables) == 0 {
		return true
	}
	d, ok := e.driver.(protocol.AdminDriver)
	if !ok {
		return true
	}
	var there, lacking map[string]bool
	err := e.system.Anywhere(func(t protocol.Target) error {
		a, err := e.system.Waiting.Driver(d).Admin(ctx, t)
		if err != nil {
			return err
		}
		defer a.Close()
		there, lacking, err = e.present(ctx, a)
		return err
	})
	if err != nil {
		e.add(Problem, "tables", message.OfError(err), message.Message{})
		return false
	}
	for i := range e.plan.Tables {
		t := &e.system.Plan.Tables[i]
		e.empty = e.empty || !there[t.Name] && t.Rows > 0
		if there[t.Name] {
			e.add(Fine, t.Name, message.New("doctor.table-there"), message.Message{})
			continue
		}
		if !conn.makesTables {
			e.add(Note, t.Name, message.New("doctor.table-missing"), message.New("doctor.table-missing.remedy"))
			return false
		}
		text, _, err := e.system.Flavor.CreateTable(t, e.system.Plan.Tables)
		if err == nil && lacking[t.Name] {
			if f := conn.exec(ctx, e.system.Flavor.CreateSchema(t)); f != nil {
				err = errors.New(f.Text)
			}
		}
		if err == nil {
			if f := conn.exec(ctx, text); f != nil {
				err = errors.New(f.Text)
			}
		}
		if err != nil {
			e.add(Problem, t.Name, message.OfError(fmt.Errorf("create table %s: %w", t.Name, err)),
				message.New("doctor.create.remedy"))
			return false
		}
		conn.created = true
		e.add(Fine, t.Name, message.New("doctor.table-creatable"), message.Message{})
	}
	return true
}

// present returns which of the plan's tables exist, and which lack the schema that their name begins with.
func (e *examination) present(ctx context.Context, a protocol.Admin) (there, lacking map[string]bool, err error) {
	there, lacking = map[string]bool{}, map[string]bool{}
	for i := range e.plan.Tables {
		t := &e.plan.Tables[i]
		if err := a.Query(ctx, e.system.Flavor.HasTable(t.Name), func(values []*string) error {
			there[t.Name] = there[t.Name] || number(values, 0) > 0
			return nil
		}); err != nil {
			return nil, nil, err
		}
		question := e.system.Flavor.HasSchema(t)
		if question == "" {
			continue
		}
		if err := a.Query(ctx, question, func(values []*string) error {
			lacking[t.Name] = number(values, 0) == 0
			return nil
		}); err != nil {
			return nil, nil, err
		}
	}
	return there, lacking, nil
}

// transaction is a transaction that will be rolled back.
type transaction struct {
	conn        protocol.AdHoc
	known       map[*protocol.Request]*protocol.Request // the connection's requests, by those of the program
	n           int                                     // number of the connection's requests
	timeout     time.Duration
	rollsBack   bool // everything can be undone; otherwise there is no transaction, and only reads may be sent
	makesTables bool // rolling back also drops the tables that it created
	broken      bool
	created     bool // it has created tables
}

// transaction begins a transaction at the first address where that succeeds, and returns the address. See
// transactionAt.
func (e *examination) transaction(ctx context.Context) (tx *transaction, at string, err error) {
	err = e.system.Anywhere(func(t protocol.Target) error {
		at = t.Address
		tx, err = e.transactionAt(ctx, t)
		return err
	})
	return tx, at, err
}

// transactionAt begins a transaction, if the server's transactions can undo everything. It returns nil if nothing can
// be tried over the protocol.
func (e *examination) transactionAt(ctx context.Context, t protocol.Target) (*transaction, error) {
	flavor, err := e.system.FlavorOf()
	_, makes := e.driver.(protocol.AdminDriver) // drivers for SQL databases that roll back can also create tables
	product := flavor.Product()
	rollsBack := err == nil && makes && product != sql.Picodata && product != sql.Tarantool
	conn, err := e.driver.Dial(ctx, t, &protocol.Program{})
	if err != nil {
		return nil, err
	}
	adHoc, ok := conn.(protocol.AdHoc)
	if !ok {
		return nil, conn.Close()
	}
	tx := &transaction{conn: adHoc, known: map[*protocol.Request]*protocol.Request{},
		timeout:   e.plan.Settings.OperationTimeout,
		rollsBack: rollsBack, makesTables: rollsBack && product != sql.MySQL}
	if !rollsBack {
		return tx, nil
	}
	if f := tx.exec(ctx, "begin"); f != nil {
		tx.close(ctx)
		return nil, errors.New(f.Text)
	}
	return tx, nil
}

// exec sends a statement without parameters.
func (t *transaction) exec(ctx context.Context, text string) *protocol.Failure {
	var reply protocol.Reply
	t.do(ctx, &protocol.Request{Name: text, Verb: protocol.SQL, Text: text, Simple: true}, nil, &reply)
	if reply.Class == protocol.OK {
		return nil
	}
	return &reply.Failure
}

// within calls f and undoes its effect by a savepoint, so that the transaction remains usable after a failure.
func (t *transaction) within(ctx context.Context, f func() *protocol.Failure) *protocol.Failure {
	if !t.rollsBack {
		return f()
	}
	const savepoint = "savepoint brunt_doctor"
	if failure := t.exec(ctx, savepoint); failure != nil {
		return failure
	}
	failure := f()
	if undone := t.exec(ctx, "rollback to "+savepoint); failure == nil {
		return undone
	}
	return failure
}

// do sends a request. It prepares the request the first time.
func (t *transaction) do(ctx context.Context, r *protocol.Request, args []gen.Value, reply *protocol.Reply) {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	own := t.known[r]
	if own == nil {
		added := *r
		added.ID = t.n
		if err := t.conn.Add(ctx, &added); err != nil {
			var e *protocol.Error
			if !errors.As(err, &e) {
				e = &protocol.Error{Class: protocol.Client, Text: err.Error()}
			}
			reply.Fail(e)
			t.broken = t.broken || e.Fatal
			return
		}
		own = &added
		t.known[r] = own
		t.n++
	}
	t.conn.Do(ctx, own, args, reply)
	t.broken = t.broken || reply.Fatal
}

// close rolls back and closes the connection.
func (t *transaction) close(ctx context.Context) {
	if t.rollsBack && !t.broken {
		t.exec(ctx, "rollback")
	}
	t.conn.Close()
}
