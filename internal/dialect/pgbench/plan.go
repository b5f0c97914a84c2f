package pgbench

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/dialect/pgbench/script"
	"brunt/internal/plan"
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
		return nil, fault("%s", err)
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
	p.Settings = o.settings()
	if p.Settings.ConnectTimeout == 0 {
		p.Settings.ConnectTimeout = connectWithin
	}
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

var hostKey = lazyregexp.New(`(^|[\s?&])host(addr)?\s*=`)

// target sets the plan's target as libpq would.
func (o *Options) target(p *plan.Plan, getenv func(string) string, user func() string) error {
	t := &p.Target
	t.Protocol = "pg"
	host, port := cmp.Or(o.Host, getenv("PGHOST")), cmp.Or(o.Port, getenv("PGPORT"))
	secured := false
	if text := o.Database; target.IsConnection(text) || strings.Contains(text, "=") {
		secured = strings.Contains(text, "sslmode")
		t.Addresses = []string{o.withHost(text, host, port)}
		if err := target.Unfold(p); err != nil {
			return err
		}
		t.Database = cmp.Or(t.Database, getenv("PGDATABASE"), o.User, getenv("PGUSER"), user())
	} else {
		t.Database = text
		t.Addresses = []string{conninfo(host, port)}
		if err := target.Unfold(p); err != nil {
			return err
		}
	}
	t.User = cmp.Or(t.User, o.User, getenv("PGUSER"), user())
	return target.Fill(t, secured, func(name string) string {
		if name == "PGHOST" || name == "PGPORT" {
			return ""
		}
		return getenv(name)
	})
}

// conninfo returns hosts and ports as a connection string.
func conninfo(host, port string) string {
	port = cmp.Or(port, "5432")
	return fmt.Sprintf("host='%s' port='%s'", cmp.Or(host, defaultHost(port)), port)
}

// withHost returns a connection string with a host and a port, if it has none.
func (o *Options) withHost(text, host, port string) string {
	scheme, rest, isURL := strings.Cut(text, "://")
	if !isURL {
		if !hostKey().MatchString(text) {
			text += " host='" + cmp.Or(host, defaultHost(cmp.Or(port, "5432"))) + "'"
		}
		if !strings.Contains(text, "port=") && port != "" {
			text += " port=" + port
		}
		return text
	}
	authority := rest[:strings.IndexAny(rest+"/", "/?#")]
	_, address, ok := strings.Cut(authority, "@")
	if !ok {
		address = authority
	}
	if address != "" || hostKey().MatchString(rest) {
		return text
	}
	sign := "?"
	if strings.Contains(rest, "?") {
		sign = "&"
	}
	port = cmp.Or(port, "5432")
	return scheme + "://" + rest + sign + "port=" + port + "&host=" + url.QueryEscape(cmp.Or(host, defaultHost(port)))
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
