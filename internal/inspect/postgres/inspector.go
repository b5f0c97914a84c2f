package postgres

import (
	"context"
	"strings"
	"time"

	"brunt/internal/base/secret"
	"brunt/internal/inspect"
	"brunt/internal/record"

	"github.com/jackc/pgx/v5/pgconn"
)

// Inspector is the inspect.Inspector for a PostgreSQL database.
type Inspector struct {
	config     *pgconn.Config
	session    *session
	product    string
	statements extension
	first      *snapshot // start of the current phase
	last       *snapshot // the latest snapshot; a phase may end there
	phases     []window
	activity   *inspect.Activity
	missing    []record.Warning
	plans      []queryPlan
	repeated   []repeated
	roundTrip  time.Duration // of an empty statement, before the load
}

var (
	_ inspect.Inspector = (*Inspector)(nil)
	_ inspect.Worker    = (*Inspector)(nil)
)

// New parses a connection string (a URL or name=value pairs, as in libpq) and returns the inspector of that
// database. Its errors are one line, without secrets.
func New(dsn string) (*Inspector, error) {
	config, err := parseDSN(dsn)
	if err != nil {
		return nil, err
	}
	return &Inspector{config: config, activity: inspect.NewActivity()}, nil
}

// Name implements inspect.Inspector.
func (i *Inspector) Name() string { return nameOf(i.config) }

// Begin implements inspect.Inspector.
func (i *Inspector) Begin(ctx context.Context) (err error) {
	if i.session, err = connect(ctx, i.config); err != nil {
		return err
	}
	if i.product, err = i.session.text(ctx, "select current_setting('server_version')"); err != nil {
		return err
	}
	if i.statements, err = i.session.findStatements(ctx); err != nil {
		return err
	}
	if i.statements.schema == "" {
		i.miss(i.statements.missing)
	}
	i.roundTrip = i.session.roundTrip(ctx)
	i.first, err = i.snapshot(ctx)
	i.last = i.first
	return err
}

// again connects again if the connection was lost: a question took too long under the load, or the server was down for
// a while.
func (i *Inspector) again(ctx context.Context) error {
	if !i.session.conn.IsClosed() {
		return nil
	}
	s, err := connect(ctx, i.config)
	if err == nil {
		s.queries, i.session = i.session.queries, s
	}
	return err
}

// Snapshot implements inspect.Inspector.
func (i *Inspector) Snapshot(ctx context.Context) error {
	if err := i.again(ctx); err != nil {
		return err
	}
	s, err := i.snapshot(ctx)
	if err == nil {
		i.last = s
	}
	return err
}

// Mark implements inspect.Inspector.
func (i *Inspector) Mark(phase inspect.Phase) {
	if reset(i.first, i.last) {
		i.miss(record.Notice("inspect-began-anew"))
	}
	i.phases = append(i.phases, between(i.first, i.last, phase))
	i.first = i.last
}

// Sample implements inspect.Inspector.
func (i *Inspector) Sample(ctx context.Context, at time.Duration) error {
	if err := i.again(ctx); err != nil {
		return err
	}
	return i.session.sample(ctx, i.activity, at)
}

// AtWork implements inspect.Worker.
func (i *Inspector) AtWork() bool { return i.activity.AtWork() }

// End implements inspect.Inspector.
func (i *Inspector) End(ctx context.Context, last inspect.Phase, load inspect.Load) (*record.Inspection, error) {
	out := &record.Inspection{Source: i.Name(), Product: "PostgreSQL", Version: i.product}
	err := i.Snapshot(ctx)
	i.Mark(last)
	texts := map[string]string{}
	if i.statements.schema != "" && err == nil {
		var refused error
		if texts, refused = i.session.statementTexts(ctx, i.statements.schema); refused != nil {
			i.miss(lacking("the statements' texts", i.config.User, refused))
		}
	}
	out.Windows = windows(i.phases, texts)
	whole := join(i.phases)
	counted := statements(whole.statements, texts)
	matched := inspect.Match(counted, load.Operations, inspect.Normal)
	for k := range out.Windows {
		matched.Put(out.Windows[k].Statements)
	}
	matched.Put(counted)
	i.repeated = repeatedBy(counted, out.Windows[0].Statements, load.Operations)
	out.Activity = i.activity.Record(func(application string) bool { return application == "brunt" })
	out.ServerTimes, out.RoundTripNs = i.times(counted, load.Operations, whole.took), float64(i.roundTrip)
	if err == nil {
		out.Settings, err = i.settings(ctx)
	}
	if err == nil && !load.Brief {
		err = i.explainAll(ctx, out, load)
	}
	if err == nil {
		err = i.judge(ctx, out, load)
	}
	out.Missing, out.Cost.Queries = i.missing, i.session.queries
	return out, err
}

// Close implements inspect.Inspector.
func (i *Inspector) Close() {
	i.session.close()
}

// miss adds a notice about missing information.
func (i *Inspector) miss(w record.Warning) { inspect.Miss(&i.missing, w) }

// settings returns the settings that differ from the server's defaults.
func (i *Inspector) settings(ctx context.Context) ([]record.Setting, error) {
	r, err := i.session.query(ctx,
		`select name, current_setting(name) as value, boot_val || case when unit is null then '' else ' × ' || unit end as standard
		from pg_settings where setting is distinct from boot_val and source not in ('default', 'override', 'client',
			'session') and name not like '%\_file'
		and name not like 'lc\_%' and name not in ('TimeZone', 'log_timezone', 'DateStyle', 'default_text_search_config', 'port', 'listen_addresses', 'unix_socket_directories', 'cluster_name') order by name`)
	if err != nil {
		return nil, err
	}
	var out []record.Setting
	for k := range r.rows {
		s := record.Setting{Name: r.at(k, "name"), Value: r.at(k, "value"), Default: r.at(k, "standard")}
		hideSecrets(&s)
		out = append(out, s)
	}
	return out, nil
}

// hideSecrets removes values that are or may be secret from a setting.
func hideSecrets(s *record.Setting) {
	if strings.Contains(s.Name, "conninfo") || strings.Contains(s.Name, "passphrase") ||
		strings.Contains(s.Name, "_command") {
		s.Value = "set" // may hold passwords
	}
	if strings.Contains(s.Name, ".") { // a setting of an extension
		s.Value, s.Default = secret.Value(s.Name, s.Value), secret.Value(s.Name, s.Default)
	}
	s.Value = secret.Text(s.Value)
}
