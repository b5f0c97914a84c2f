package target

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/base/secret"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocols"
	"brunt/internal/server/connection"
)

// Unfold parses connection strings among the target's addresses and stores their parts in the target's fields.
// It accepts URLs of PostgreSQL, MySQL and Redis, and libpq's keyword-value pairs. Addresses of the form host:port are
// unchanged. An error is one line for the user, without secrets.
func Unfold(p *plan.Plan) error {
	var addresses []string
	for i, text := range connections(p.Target.Addresses) {
		settings, of, err := parse(text)
		if err == nil && settings == nil {
			addresses = append(addresses, text)
			continue
		}
		var hosts []string
		if err == nil {
			hosts, err = unfold(settings, p, of, i > 0)
		}
		if err != nil {
			return fmt.Errorf("address %s: %w", connection.Shown(text), err)
		}
		addresses = append(addresses, hosts...)
	}
	p.Target.Addresses = addresses
	return nil
}

// Keywords returns the parameters that a connection string may have.
func Keywords() []string {
	return []string{"host", "port", "user", "password", "dbname", "db", "sslmode", "sslrootcert", "sslcert", "sslkey",
		"connect_timeout", "application_name", "options", "target_session_attrs", "hostaddr", "service"}
}

// Fill fills in missing fields of a target from the environment variables of its protocol, such as libpq's, and from
// libpq's files of services and passwords. A password that was hidden in a record counts as missing. secured says that
// an address or a flag decides about TLS, so that PGSSLMODE and its certificates don't. warn, if not nil, is called if
// the file of passwords can't be used. An error names a variable that isn't understood.
func Fill(t *plan.Target, secured bool, getenv func(string) string, warn func(string)) error {
	d := protocols.Of(t.Protocol)
	notation := d.Notation
	if notation == nil || len(notation.Variables) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(notation.Refused)) {
		value := getenv(name)
		as := func(usual string) bool { return strings.EqualFold(usual, value) }
		if value != "" && !slices.ContainsFunc(notation.Refused[name], as) {
			return fmt.Errorf("%s is set, and brunt doesn't understand it; unset it, and say what it says in the address or "+
				"the plan (docs/environment.md)", name)
		}
	}
	s := connection.Settings{}
	if name := getenv(notation.Variables["service"]); name != "" {
		var err error
		if s, err = connection.Service(name, getenv); err != nil {
			return err
		}
	}
	for keyword, name := range notation.Variables {
		s[keyword] = cmp.Or(s[keyword], getenv(name))
	}
	for option, name := range notation.Settings {
		s[option] = cmp.Or(s[option], getenv(name))
	}
	if !secured && !t.TLS.Enabled {
		if err := s.Secure(&t.TLS); err != nil {
			return fmt.Errorf("%s: %w", notation.Variables["sslmode"], err)
		}
	}
	if len(t.Addresses) == 0 && s["host"]+s["hostaddr"]+s["port"] != "" {
		var err error
		if t.Addresses, err = addressesOf(s, t); err != nil {
			return err
		}
	}
	for i, a := range t.Addresses {
		if host, weight, _ := strings.Cut(a, "*"); s["port"] != "" && weight == "" && !strings.ContainsAny(host, ":/") {
			t.Addresses[i] = net.JoinHostPort(host, s["port"])
		}
	}
	for option := range notation.Settings {
		if s[option] != "" && t.Options[option] == "" {
			t.Options = maps.Clone(t.Options)
			if t.Options == nil {
				t.Options = map[string]string{}
			}
			t.Options[option] = s[option]
		}
	}
	t.User, t.Database = cmp.Or(t.User, s["user"]), cmp.Or(t.Database, s["dbname"])
	if t.Password != "" && t.Password != secret.Hidden {
		return nil
	}
	if s["password"] == "" && notation.Variables["passfile"] != "" {
		s["password"] = filedPassword(t, s["passfile"], getenv, warn)
	}
	t.Password = cmp.Or(s["password"], t.Password)
	return nil
}

// addressesOf returns the addresses that settings name. If they have libpq's hostaddr, that is where connections go,
// and host is the name in the server's certificate.
func addressesOf(s connection.Settings, t *plan.Target) ([]string, error) {
	if s["hostaddr"] == "" {
		return connection.Addresses(s["host"], s["port"]), nil
	}
	addresses := connection.Addresses(s["hostaddr"], s["port"])
	hosts := strings.Split(s["host"], ",")
	switch {
	case s["host"] == "":
		return addresses, nil
	case len(hosts) != len(addresses):
		return nil, fmt.Errorf("could not match %d host names to %d hostaddr values", len(hosts), len(addresses))
	case !t.TLS.Enabled:
		return addresses, nil
	case len(slices.Compact(hosts)) > 1:
		return nil, errors.New("hostaddr with several hosts and TLS isn't taken: all addresses have one name in certificates")
	}
	t.TLS.ServerName = hosts[0]
	return addresses, nil
}

// filedPassword returns the password of the first of the target's addresses that a file of passwords has, or "": all
// sessions have the same.
func filedPassword(t *plan.Target, name string, getenv func(string) string, warn func(string)) string {
	file, warning := connection.OpenPasswordFile(name, getenv)
	if warning != "" && warn != nil {
		warn(warning)
	}
	for _, a := range append(slices.Clone(t.Addresses), "")[:max(len(t.Addresses), 1)] {
		a, _, _ = strings.Cut(a, "*")
		host, port := a, ""
		if i := strings.LastIndexByte(a, ':'); i > strings.LastIndexByte(a, ']') {
			host, port = a[:i], a[i+1:]
		}
		host = strings.Trim(host, "[]")
		for _, host := range []string{cmp.Or(t.TLS.ServerName, host), host} {
			if password := file.Find(host, port, t.Database, t.User); password != "" {
				return password
			}
		}
	}
	return ""
}

// connections rejoins connection strings that were split at their commas.
func connections(addresses []string) (whole []string) {
	for _, a := range addresses {
		last := len(whole) - 1
		if IsConnection(a) || last < 0 || !IsConnection(whole[last]) {
			whole = append(whole, a)
		} else {
			whole[last] += "," + a
		}
	}
	return whole
}

var pair = lazyregexp.New(`^\s*(?:host|hostaddr|port|user|password|dbname|passfile|service|options|` +
	`application_name|connect_timeout|target_session_attrs|channel_binding|load_balance_hosts|ssl\w+|gss\w+|` +
	`require_auth|keepalives\w*)\s*=`)

// UnfoldLibpq stores settings with libpq's names in the fields of a target of PostgreSQL, as Unfold does those of a
// connection string.
func UnfoldLibpq(s connection.Settings, p *plan.Plan) (err error) {
	p.Target.Addresses, err = unfold(s, p, p.Target.Protocol, false)
	return err
}

// ParseLibpq parses what libpq takes for a connection string: a URL, or keyword-value pairs.
func ParseLibpq(text string) (connection.Settings, error) {
	s, _, err := parse(text)
	if s == nil && err == nil {
		return connection.ParsePairs(text)
	}
	return s, err
}

// notationOf returns the protocol in whose notation an address is a connection string, and whether it is a URL. ok is
// false if it is no connection string.
func notationOf(text string) (d protocol.Declaration, isURL, ok bool) {
	scheme, _, isURL := strings.Cut(text, "://")
	for _, d := range protocols.All() {
		if d.Notation == nil {
			continue
		}
		if _, has := d.Notation.Schemes[scheme]; isURL && has || !isURL && d.Notation.Pairs && pair().MatchString(text) {
			return d, isURL, true
		}
	}
	return d, isURL, false
}

// IsConnection reports whether Unfold takes an address for a connection string.
func IsConnection(text string) bool {
	_, _, ok := notationOf(text)
	return ok
}

// parse parses one address. settings are nil if it isn't a connection string.
func parse(text string) (s connection.Settings, of string, err error) {
	d, isURL, ok := notationOf(text)
	switch {
	case !ok:
		return nil, "", nil
	case !isURL:
		s, err = connection.ParsePairs(text)
		return s, d.Name(), err
	}
	if s, err = connection.ParseURL(text); err != nil {
		return nil, d.Name(), err
	}
	translate(s, d.Notation)
	scheme, _, _ := strings.Cut(text, "://")
	if d.Notation.Schemes[scheme] {
		s["sslmode"] = "verify-full"
	}
	if db, given := s[d.Notation.Database]; given && d.Notation.Database != "" {
		s["dbname"] = db
		delete(s, d.Notation.Database)
	}
	return s, d.Name(), nil
}

// translate gives the parameters of a URL libpq's names and values.
func translate(s connection.Settings, n *protocol.Notation) {
	for theirs, name := range n.Parameters {
		if value, given := s[theirs]; given {
			s[name] = value
			delete(s, theirs)
		}
	}
	if len(n.Modes) == 0 {
		return
	}
	if mode, known := n.Modes[strings.ToUpper(s["sslmode"])]; known {
		s["sslmode"] = mode
	}
	if s["sslmode"] == "" && s["sslrootcert"]+s["sslcert"]+s["sslkey"] != "" {
		s["sslmode"] = "require"
	}
}

// unfold stores the settings in the plan's target and returns their addresses. further says that it isn't the
// first connection string: its user, password and database must be the same as before.
func unfold(s connection.Settings, p *plan.Plan, of string, further bool) ([]string, error) {
	t := &p.Target
	if name := s["service"]; name != "" {
		service, err := connection.Service(name, os.Getenv)
		if err != nil {
			return nil, err
		}
		s.Default(service)
	}
	if t.Protocol == "" {
		t.Protocol = of
	}
	if d := protocols.Of(t.Protocol); d.Name() != of {
		return nil, fmt.Errorf("it is one of %s, and the protocol is %s", of, t.Protocol)
	}
	for _, field := range []struct {
		keyword string
		to      *string
	}{{"user", &t.User}, {"password", &t.Password}, {"dbname", &t.Database}} {
		value := s[field.keyword]
		if further && value != *field.to {
			return nil, fmt.Errorf("its %s differs from that of the address before; all sessions have the same", field.keyword)
		}
		if value != "" {
			*field.to = value
		}
	}
	if err := s.Secure(&t.TLS); err != nil {
		return nil, err
	}
	for name, value := range s {
		switch name {
		case "host", "hostaddr", "port", "user", "password", "dbname", "sslmode", "sslrootcert", "sslcert", "sslkey":
		case "service":
		case "connect_timeout":
			seconds, err := strconv.Atoi(value)
			if err != nil || seconds < 0 {
				return nil, fmt.Errorf("connect_timeout=%s: write whole seconds", value)
			}
			p.Settings.ConnectTimeout = time.Duration(seconds) * time.Second
		case "application_name", "options":
			if t.Options == nil {
				t.Options = map[string]string{}
			}
			t.Options[name] = value
		case "target_session_attrs":
			if err := attributes(p, value); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("%s isn't taken in an address; see docs/environment.md", name)
		}
	}
	return addressesOf(s, t)
}

// attributes routes operations without a role to the servers that target_session_attrs selects.
func attributes(p *plan.Plan, value string) error {
	role, known := map[string]string{
		"any": "", "read-write": "primary", "primary": "primary", "read-only": "replica", "standby": "replica",
	}[value]
	switch {
	case !known:
		return fmt.Errorf("target_session_attrs=%s isn't taken: use any, read-write, primary, read-only or standby", value)
	case role == "":
		return nil
	}
	for i := range p.Operations {
		if op := &p.Operations[i]; op.Route == "" {
			op.Route = role
		}
	}
	return nil
}
