package mysql

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"brunt/internal/inspect"
	"brunt/internal/inspect/process"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/server/connection"
)

// Form returns how URLs of servers are written.
func Form() connection.Form { return connection.Form{Plain: "mysql", Secure: "mysqls", Port: "3306"} }

// Inspector is the inspect.Inspector for a MySQL or MariaDB.
type Inspector struct {
	target   protocol.Target
	session  *session
	product  string
	version  string
	identity string // of the server that answers
	digests  bool   // performance_schema is on
	// consumer is whether the consumer is on ("YES" or "NO") without which MariaDB doesn't count executions of binary
	// prepared statements; "" if unknown.
	consumer string
	// unprivileged says that the process list lacks the sessions of other users, and cuts that it has cut a statement.
	unprivileged, cuts bool
	prepared           prepared
	preparedAt         time.Duration // when samples last asked for it
	// clients tells the load's sessions from others, and own is which of the present ones are, by id.
	clients  *process.Own
	own      map[string]bool
	listed   time.Time // when the process list was asked for the addresses of sessions only
	readings inspect.Readings
	activity *inspect.Activity
	seen     sightings
	// droppable holds the names of the indexes that nothing but statements needs.
	droppable map[string]bool
	missing   []record.Warning
	// roundTrip is the shortest time of an empty request, before the load; 0 if it isn't known.
	roundTrip time.Duration
}

var (
	_ inspect.Inspector = (*Inspector)(nil)
	_ inspect.Worker    = (*Inspector)(nil)
)

// New parses a URL, mysql://user:password@host:3306/database, and returns the inspector of that server. Its errors are
// one line, without secrets.
func New(url string) (*Inspector, error) {
	t, err := Form().Parse(url)
	if err == nil {
		err = connection.Only(t[0])
	}
	if err != nil {
		return nil, err
	}
	return &Inspector{target: t[0], clients: process.NewOwn(t[0].Address), activity: inspect.NewActivity(),
		prepared: newPrepared(), seen: newSightings(), readings: inspect.Readings{Gauges: func(kind, figure string) bool {
			return kind == kindGauge || kind == kindIndex && figure == everRead
		}}}, nil
}

// Name implements inspect.Inspector.
func (i *Inspector) Name() string { return nameOf(i.target) }

func nameOf(t protocol.Target) string {
	if t.Database == "" {
		return "mysql " + t.Address
	}
	return "mysql " + t.Address + "/" + t.Database
}

// Begin implements inspect.Inspector.
func (i *Inspector) Begin(ctx context.Context) (err error) {
	if i.session, err = connect(ctx, i.target); err != nil {
		return err
	}
	if err := i.identify(ctx); err != nil {
		return err
	}
	on, err := i.session.text(ctx, "SELECT @@performance_schema")
	if i.digests = on == "1"; !i.digests {
		i.miss(record.NewWarning("inspect-mysql-digests"))
	}
	if _, err := i.session.text(ctx, "SELECT 1 FROM information_schema.INNODB_TRX LIMIT 1"); denied(err) {
		i.unprivileged = true
		i.miss(record.NewWarning("inspect-mysql-process", message.Text("user", i.target.User)))
	}
	if i.digests && i.product == "MariaDB" {
		i.consumer, _ = i.session.text(ctx,
			"SELECT ENABLED FROM performance_schema.setup_consumers WHERE NAME = 'events_statements_current'")
	}
	if i.session.broken {
		return err
	}
	i.roundTrip = i.session.roundTrip(ctx)
	return i.Snapshot(ctx)
}

// identify finds out the product, its version, and which server answers.
func (i *Inspector) identify(ctx context.Context) error {
	version, err := i.session.text(ctx, "SELECT VERSION()")
	if err != nil {
		return err
	}
	i.product, i.version = "MySQL", version
	if number, _, ok := strings.Cut(version, "-MariaDB"); ok {
		i.product, i.version = "MariaDB", number
	}
	if i.identity, err = i.session.text(ctx, askIdentity); err != nil && i.session.broken {
		return err
	}
	// Only ProxySQL answers this; servers report a syntax error.
	if _, err := i.session.query(ctx, "PROXYSQL INTERNAL SESSION"); err == nil {
		i.miss(record.NewWarning("inspect-mysql-proxy", message.Text("proxy", "ProxySQL"),
			message.Text("server", i.identity)))
	} else if i.session.broken {
		return err
	}
	return nil
}

const askIdentity = "SELECT CONCAT(@@hostname, ':', @@port)"

// Snapshot implements inspect.Inspector.
func (i *Inspector) Snapshot(ctx context.Context) error {
	if err := i.again(ctx); err != nil {
		return err
	}
	r, err := i.reading(ctx)
	if err != nil || r == nil {
		return err
	}
	i.readings.Add(r)
	return nil
}

// again connects again if the connection was lost.
func (i *Inspector) again(ctx context.Context) error {
	if i.session != nil && !i.session.broken {
		return nil
	}
	s, err := connect(ctx, i.target)
	if err != nil {
		return err
	}
	if i.session != nil {
		s.queries = i.session.queries
		i.session.close()
	}
	i.session = s
	return nil
}

// Mark implements inspect.Inspector.
func (i *Inspector) Mark(phase inspect.Phase) { i.readings.Mark(phase) }

// Sample implements inspect.Inspector.
func (i *Inspector) Sample(ctx context.Context, at time.Duration) error {
	if err := i.again(ctx); err != nil {
		return err
	}
	return i.sample(ctx, at)
}

// AtWork implements inspect.Worker.
func (i *Inspector) AtWork() bool { return i.activity.AtWork() }

// End implements inspect.Inspector.
func (i *Inspector) End(ctx context.Context, last inspect.Phase, load inspect.Load) (*record.Inspection, error) {
	out := &record.Inspection{Source: i.Name(), Product: i.product, Version: i.version}
	err := i.Snapshot(ctx)
	i.Mark(last)
	out.Windows = i.readings.Windows(load.Operations, normal)
	if len(out.Windows) == 0 {
		return nil, err
	}
	for k := range out.Windows {
		withoutTwins(&out.Windows[k])
	}
	if i.readings.Reset() {
		i.miss(record.Notice("inspect-began-anew"))
	}
	i.tellFull(&out.Windows[0])
	out.Activity = i.activity.Record(func(application string) bool { return strings.HasSuffix(application, ownMark) })
	out.Activity.ReplicaHosts = slices.Sorted(maps.Keys(i.seen.replicas))
	c := &caseFile{inspector: i, inspection: out, load: &out.Windows[0], operations: load.Operations,
		cores: inspect.CoresOf(i.target.Address), uncounted: !i.digests}
	if c.status("Com_stmt_execute") > 0 && i.consumer == "NO" {
		c.uncounted = true
		i.miss(record.NewWarning("inspect-mysql-prepared"))
	}
	out.ServerTimes = serverTimes(out.Windows[0].Statements, load.Operations, i.activity)
	out.RoundTripNs = float64(i.roundTrip)
	if err == nil && !load.Brief {
		err = c.explainAll(ctx)
	}
	if err == nil {
		err = c.readSettings(ctx)
	}
	if err == nil {
		err = i.readDroppable(ctx, c.load)
	}
	c.judge()
	out.Missing, out.Cost.Queries = i.missing, i.session.queries
	return out, err
}

// tellFull adds a notice if the server had no room for the digests of all statements.
func (i *Inspector) tellFull(w *record.ServerWindow) {
	for _, s := range w.Statements {
		if s.Text == "" && s.Share >= leastExplained {
			i.miss(record.NewWarning("inspect-mysql-full", message.Share("share", s.Share)))
		}
	}
}

// Close implements inspect.Inspector.
func (i *Inspector) Close() { i.session.close() }

// miss adds a notice about missing information.
func (i *Inspector) miss(w record.Warning) { inspect.Miss(&i.missing, w) }

// optional runs a query that the server may refuse: tables that it doesn't have or the user may not read. It returns
// an error only if the connection was lost; the result is nil if it was refused.
func (i *Inspector) optional(ctx context.Context, what, query string) (*result, error) {
	r, err := i.session.query(ctx, query)
	switch {
	case err == nil:
		return r, nil
	case i.session.broken || ctx.Err() != nil:
		return nil, errors.Join(err, ctx.Err())
	case absent(err):
		return nil, nil
	}
	w := record.Notice("inspect-missing", message.Text("what", what), message.Text("error", err.Error()))
	if denied(err) {
		w.Remedy = message.New("inspect-mysql-missing.remedy", message.Text("user", i.target.User))
	}
	i.miss(w)
	return nil, nil
}

// caseFile holds the facts that findings are derived from, and the findings.
type caseFile struct {
	inspector  *Inspector
	inspection *record.Inspection
	load       *record.ServerWindow // the load without its warm-up
	operations []inspect.Operation
	plans      []plan
	settings   map[string]string
	uncounted  bool // statements of the load aren't counted
	cores      int  // of the server; 0 if unknown
}

// readSettings reads the variables that findings name.
func (c *caseFile) readSettings(ctx context.Context) error {
	c.settings = map[string]string{}
	r, err := c.inspector.optional(ctx, "variables", fmt.Sprintf("SHOW GLOBAL VARIABLES WHERE Variable_name IN (%s)",
		quotedList(shownSettings)))
	if err != nil || r == nil {
		return err
	}
	for k := range r.rows {
		name, value := r.at(k, "Variable_name"), r.at(k, "Value")
		c.settings[name] = value
		c.inspection.Settings = append(c.inspection.Settings, record.Setting{Name: name, Value: value})
	}
	return nil
}

var shownSettings = []string{
	"innodb_buffer_pool_size", "innodb_flush_log_at_trx_commit", "innodb_doublewrite", "innodb_log_file_size",
	"sync_binlog", "log_bin", "max_connections", "tmp_table_size", "tmp_memory_table_size", "sort_buffer_size",
	"performance_schema", "thread_handling",
}
