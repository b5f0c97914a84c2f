package pgbench

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/dialect/pgbench/script"
	"brunt/internal/plan"
	"brunt/internal/server/connection"
	"brunt/internal/server/target"
)

const (
	// forever is the planned duration of a load that ends with its transactions, and the time for one: pgbench has no
	// limit.
	forever = 10 * 365 * 24 * time.Hour
	oneDay  = 24 * time.Hour
	// connectWithin is the time for a connection. libpq's is unlimited.
	connectWithin = time.Minute
)

// Plan makes the plan of the load. getenv is the environment's, user the name of the system's user.
func (o *Options) Plan(getenv func(string) string, user func() string) (*plan.Plan, error) {
	p := &plan.Plan{Name: "pgbench", Seed: o.Seed}
	if err := o.target(p, getenv, user); err != nil {
		return nil, o.unready(err.Error())
	}
	if o.Initialize {
		return p, nil
	}
	p.Scripts = plan.Scripts{Language: script.Name, Options: o.Language().Strings()}
	taken := map[string]int{}
	for _, s := range o.Scripts {
		name := strings.NewReplacer("{", "(", "}", ")", "\n", " ", "\r", " ").Replace(s.Name)
		name = plan.Unused(cmp.Or(strings.TrimSpace(name), "script"), taken)
		p.Operations = append(p.Operations, plan.Operation{Name: name, Script: s.Text, Weight: float64(s.Weight)})
	}
	connect := cmp.Or(p.Settings.ConnectTimeout, connectWithin) // the connection string's, or the usual one
	p.Settings = o.settings()
	p.Settings.ConnectTimeout = connect
	p.Load = []plan.Phase{o.phase()}
	if err := p.Require(o.Ours.Thresholds); err != nil {
		return nil, fault("%s", err)
	}
	if problems := p.Validate(); len(problems) > 0 {
		return nil, fault("%s", problems)
	}
	return p, nil
}

func (o *Options) settings() plan.Settings {
	s := plan.Settings{Sessions: o.Clients, OperationTimeout: oneDay, EndOnTime: true, Reconnect: o.Connect,
		Retries: int(min(o.tries()-1, plan.MaxRetries)), RetryPause: time.Nanosecond, Tier: o.Ours.Tier, Awake: "off",
		Loops: min(o.Threads, runtime.NumCPU())}
	if s.Retries == 0 {
		s.Retries = -1
	}
	if o.RatePerS > 0 && o.Transactions > 0 {
		s.Loops = 1 // each client has as many transactions as the others
	}
	s.RetryWithin = o.latencyLimit()
	if o.RatePerS > 0 {
		s.Awake = "auto"
	}
	if o.RatePerS > 0 && o.LatencyLimitMs > 0 {
		s.LatePolicy, s.DropAfter = "drop", o.latencyLimit()
	}
	return s
}

func (o *Options) latencyLimit() time.Duration {
	return time.Duration(o.LatencyLimitMs*1000) * time.Microsecond
}

func (o *Options) phase() plan.Phase {
	ph := plan.Phase{Name: "pgbench", Kind: plan.Closed, Duration: time.Duration(o.DurationS) * time.Second}
	if o.DurationS == 0 {
		ph.Duration = forever
	}
	if o.RatePerS == 0 {
		return ph
	}
	ph.Kind, ph.Arrivals, ph.RateFrom, ph.RateTo = plan.Open, "poisson", o.RatePerS, o.RatePerS
	if o.DurationS == 0 {
		ph.Operations = uint64(o.Transactions) * uint64(o.Clients)
		// So long that it ends with its transactions.
		seconds := 100*float64(ph.Operations)/o.RatePerS + 3600
		ph.Duration = time.Duration(min(seconds, forever.Seconds())) * time.Second
	}
	return ph
}

// option matches the names of libpq's options.
var option = lazyregexp.New(`^(host|hostaddr|port|user|password|dbname|passfile|service|servicefile|options|replication|` +
	`application_name|fallback_application_name|client_encoding|connect_timeout|target_session_attrs|channel_binding|` +
	`load_balance_hosts|tcp_user_timeout|krbsrvname|m(in|ax)_protocol_version|(ssl|gss|require|keepalives|scram_|oauth_)\w*)$`)

// target sets the plan's target as libpq would: by the database's connection string, the flags, a service, and the
// environment.
func (o *Options) target(p *plan.Plan, getenv func(string) string, user func() string) (err error) {
	p.Target.Protocol = "pg"
	s := connection.Settings{"dbname": o.Database}
	if target.IsConnection(o.Database) || strings.Contains(o.Database, "=") {
		if s, err = target.ParseLibpq(o.Database); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if option().MatchString(name) {
			continue
		}
		if strings.Contains(o.Database, "://") {
			return fmt.Errorf(`invalid URI query parameter: "%s"`, name)
		}
		return fmt.Errorf(`invalid connection option "%s"`, name)
	}
	s.Default(connection.Settings{"host": o.Host, "port": o.Port, "user": o.User})
	if name := cmp.Or(s["service"], getenv("PGSERVICE")); name != "" {
		service, err := connection.Service(name, getenv)
		if err != nil {
			return err
		}
		s.Default(service)
		delete(s, "service")
	}
	s.Default(connection.Settings{"host": getenv("PGHOST"), "hostaddr": getenv("PGHOSTADDR"), "port": getenv("PGPORT"),
		"user": getenv("PGUSER"), "dbname": getenv("PGDATABASE"), "sslmode": getenv("PGSSLMODE"),
		"sslrootcert": getenv("PGSSLROOTCERT"), "sslcert": getenv("PGSSLCERT"), "sslkey": getenv("PGSSLKEY")})
	s["port"] = cmp.Or(s["port"], "5432")
	if strings.Trim(s["host"], ",") == "" && s["hostaddr"] == "" {
		s["host"] = defaultHost(s["port"])
	}
	s["user"] = cmp.Or(s["user"], user())
	s["dbname"] = cmp.Or(s["dbname"], s["user"])
	passfile := cmp.Or(s["passfile"], getenv("PGPASSFILE"))
	delete(s, "passfile")
	delete(s, "fallback_application_name") // pgbench's own takes its place
	if err := target.UnfoldLibpq(s, p); err != nil {
		return err
	}
	err = target.Fill(&p.Target, s["sslmode"] != "", func(name string) string {
		switch name {
		case "PGHOST", "PGHOSTADDR", "PGPORT", "PGSERVICE":
			return ""
		case "PGPASSFILE":
			return passfile
		}
		return getenv(name)
	}, func(line string) { o.warnings = append(o.warnings, line) })
	if err == nil && p.Target.Options["application_name"] == "" {
		if p.Target.Options == nil {
			p.Target.Options = map[string]string{}
		}
		p.Target.Options["application_name"] = "pgbench"
	}
	if s["password"]+getenv("PGPASSWORD") == "" && p.Target.Password != "" {
		o.passfile = cmp.Or(passfile, filepath.Join(getenv("HOME"), ".pgpass"))
	}
	return err
}

// defaultHost returns the folder of a server's socket in one of the places where PostgreSQL's packages have it, or the
// loopback address.
func defaultHost(port string) string {
	for _, folder := range []string{"/var/run/postgresql", "/tmp"} {
		if _, err := os.Stat(filepath.Join(folder, ".s.PGSQL."+port)); err == nil {
			return folder
		}
	}
	return "127.0.0.1"
}
