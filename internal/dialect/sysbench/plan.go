package sysbench

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"brunt/internal/base/password"
	"brunt/internal/plan"
)

// The protocols of the drivers.
const (
	mysqlProtocol = "mysql"
	pgsqlProtocol = "pg"
)

// Phases of the load.
const (
	PhaseName  = "run"
	warmUpName = "warm-up"
)

// forever is the planned duration of a load without an end, and how long an event may take.
const forever = 10 * 365 * 24 * time.Hour

// Plan returns the plan of the load: an operation that is a script, closed, or open at --rate.
func (s *Settings) Plan() (*plan.Plan, error) {
	if s.test.only && s.options.text("tables") != "1" {
		// sysbench runs these tests on sbtest1, whatever --tables says.
		s.options.values["tables"] = []string{"1"}
	}
	p := &plan.Plan{Name: "sysbench-" + s.test.name, Seed: s.Seed, Mix: plan.ByWeight}
	if err := s.target(&p.Target); err != nil {
		return nil, err
	}
	p.Operations = []plan.Operation{{Name: s.test.name, Weight: 1, Script: s.test.name}}
	p.Scripts = plan.Scripts{Language: LanguageName, Options: s.scriptOptions()}
	p.Load = s.phases()
	p.Settings = plan.Settings{
		Sessions: s.Threads, Retries: -1, OperationTimeout: forever, ConnectTimeout: s.connectTime(),
		EndOnTime: s.Rate > 0 && s.Time > 0, Interval: time.Second,
	}
	if problems := p.Validate(); len(problems) > 0 {
		return nil, problems
	}
	return p, nil
}

// connectTime returns how long sessions may take to connect: 30 s, as long as sysbench waits for its threads.
func (s *Settings) connectTime() time.Duration {
	var err error
	if n := s.options.integer("thread-init-timeout", &err); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	return 30 * time.Second
}

// phases returns the load.
func (s *Settings) phases() []plan.Phase {
	run := plan.Phase{Name: PhaseName, Kind: plan.Closed, Duration: s.Time, Operations: s.operations()}
	if s.Rate > 0 {
		run.Kind, run.RateFrom, run.RateTo, run.Arrivals = plan.Open, float64(s.Rate), float64(s.Rate), "poisson"
	}
	if run.Duration == 0 && (run.Operations == 0 || s.Rate > 0) {
		run.Duration = forever
	}
	if s.WarmUp == 0 {
		return []plan.Phase{run}
	}
	warm := run
	warm.Name, warm.WarmUp, warm.Duration, warm.Operations = warmUpName, true, s.WarmUp, 0
	return []plan.Phase{warm, run}
}

// operations returns how many operations --events is.
func (s *Settings) operations() uint64 {
	if s.test.isBulk() {
		return bulkOperations(s.Events)
	}
	return s.Events
}

// scriptOptions returns the options of the test that differ from their defaults.
func (s *Settings) scriptOptions() map[string]string {
	out := map[string]string{}
	if s.Version != Version10 {
		out[versionOption] = s.Version
	}
	kept := slices.Concat(randOptions(s.Version), databaseOptions(), mysqlOptions(s.Version), s.test.declared(s.Version))
	for _, d := range kept {
		name := canonical(d.name)
		switch {
		case name == "rand_seed", name == "db_driver", name == "db_debug",
			strings.HasPrefix(name, "mysql_") && name != "mysql_ignore_errors" || d.kind == fileKind,
			slices.Contains([]string{"create_secondary", "create_table_options", "secondary", "pgsql_variant"}, name):
			continue
		}
		value := strings.Join(s.options.list(name), ",")
		if d.kind == flagKind && value == "" {
			value = "off"
		}
		if value != d.value {
			out[name] = value
		}
	}
	if s.test.isBulk() && s.Events > 0 {
		out["events"] = fmt.Sprint(s.Events)
	}
	return out
}

// target returns the servers.
func (s *Settings) target(t *plan.Target) error {
	o := s.options
	t.Options = map[string]string{}
	if !s.mysql() {
		t.Protocol = pgsqlProtocol
		t.Addresses = []string{address(o.text("pgsql-host"), o.text("pgsql-port"))}
		t.User, t.Password, t.Database = o.text("pgsql-user"), o.text("pgsql-password"), o.text("pgsql-db")
		return errors.Join(s.secureByMode(&t.TLS), envPassword(t))
	}
	t.Protocol = mysqlProtocol
	t.User, t.Password, t.Database = o.text("mysql-user"), o.text("mysql-password"), o.text("mysql-db")
	if sockets := o.list("mysql-socket"); len(sockets) > 0 {
		t.Addresses = slices.Clone(sockets)
	} else {
		for _, host := range o.list("mysql-host") {
			for _, port := range o.list("mysql-port") {
				t.Addresses = append(t.Addresses, address(host, port))
			}
		}
	}
	if len(t.Addresses) == 0 {
		return errors.New("--mysql-host and --mysql-port name no server")
	}
	if o.flag("mysql-ssl") {
		t.TLS = plan.TLS{Enabled: true, InsecureSkipVerify: true, CAFile: o.text("mysql-ssl-ca"),
			CertFile: o.text("mysql-ssl-cert"), KeyFile: o.text("mysql-ssl-key")}
		if s.Version == Version10 {
			t.TLS.CAFile, t.TLS.CertFile, t.TLS.KeyFile = here("cacert.pem"), here("client-cert.pem"), here("client-key.pem")
		}
		t.TLS.InsecureSkipVerify = t.TLS.CAFile == ""
	}
	return envPassword(t)
}

// here returns the name of a file if it is in the current folder, else "". sysbench 1.0 takes certificates from there.
func here(file string) string {
	if _, err := os.Stat(file); err != nil {
		return ""
	}
	return file
}

// envPassword takes the password from the environment if no option has it.
func envPassword(t *plan.Target) (err error) {
	if t.Password == "" {
		t.Password, err = password.Find("", "", false, nil, nil)
	}
	return err
}

// secureByMode reads --pgsql-sslmode.
func (s *Settings) secureByMode(t *plan.TLS) error {
	switch mode := s.options.text("pgsql-sslmode"); mode {
	case "", "disable", "allow", "prefer":
	case "require":
		*t = plan.TLS{Enabled: true, InsecureSkipVerify: true}
	case "verify-ca", "verify-full":
		*t = plan.TLS{Enabled: true}
	default:
		return fmt.Errorf("--pgsql-sslmode=%s: use disable, allow, prefer, require, verify-ca or verify-full", mode)
	}
	return nil
}

// address joins a host and a port. The host may have a port of its own, which sysbench doesn't know.
func address(host, port string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	switch {
	case host == "":
		host = "localhost"
	case host[0] == '/': // a folder with PostgreSQL's sockets
		return host + "/.s.PGSQL." + port
	case strings.Contains(host, ":") && host[0] != '[':
		host = "[" + host + "]"
	}
	return host + ":" + port
}
