package connection

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"brunt/internal/base/secret"
	"brunt/internal/plan"
	"brunt/internal/protocol"
)

// Form is the form of URLs of servers that are asked about a load, which may speak another protocol than the load.
type Form struct {
	Plain, Secure string // schemes without TLS and with it; "" for Secure if there is none
	Port          string // of addresses without one
}

// serverName is the parameter of a URL that names the server in its certificate, if that isn't the host.
const serverName = "servername"

// Parse parses scheme://user:password@host:port,host:port/database?parameters, where the scheme may be missing, and
// returns one target per host. The parameters are libpq's sslmode, sslrootcert, sslcert and sslkey, and servername.
// Others go to Target.Options. Errors are one line for the user, without secrets.
func (f Form) Parse(text string) ([]protocol.Target, error) {
	if !strings.Contains(text, "://") {
		text = f.Plain + "://" + text
	}
	scheme, _, _ := strings.Cut(text, "://")
	if scheme != f.Plain && (f.Secure == "" || scheme != f.Secure) {
		return nil, fmt.Errorf("%s: the URL begins with %s://", secret.Text(Shown(text)), f.Plain)
	}
	s, err := ParseURL(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Shown(text), err)
	}
	if scheme == f.Secure {
		s["sslmode"] = cmp.Or(s["sslmode"], "verify-full")
	}
	t := plan.TLS{ServerName: s[serverName]}
	if err := s.Secure(&t); err != nil {
		return nil, fmt.Errorf("%s: %w", Shown(text), err)
	}
	secure, err := TLS(&t)
	if err != nil {
		return nil, err
	}
	options := map[string]string{}
	for name, value := range s {
		switch name {
		case "host", "port", "user", "password", "dbname", "sslmode", "sslrootcert", "sslcert", "sslkey", serverName:
		default:
			options[name] = value
		}
	}
	var out []protocol.Target
	for _, address := range Addresses(s["host"], s["port"]) {
		address, err := Complete(address, f.Port)
		if err != nil {
			return nil, err
		}
		out = append(out, protocol.Target{Address: address, User: s["user"], Password: s["password"],
			Database: s["dbname"], TLS: secure, Options: options})
	}
	if len(out) == 0 {
		return nil, errors.New("the URL has no host")
	}
	return out, nil
}

// Only returns an error that names the first option that isn't among the known ones.
func Only(t protocol.Target, known ...string) error {
	for name := range t.Options {
		if !slices.Contains(known, name) {
			return fmt.Errorf("%s isn't a parameter of this URL", secret.Text(name))
		}
	}
	return nil
}

// Format returns the URL of a load's target with the given addresses, which Parse understands. It contains the
// password.
func (f Form) Format(t *plan.Target, addresses []string) string {
	u := url.URL{Scheme: f.Plain, Path: "/" + t.Database}
	query := url.Values{}
	if t.TLS.Enabled {
		query.Set("sslmode", "verify-full")
		if t.TLS.InsecureSkipVerify {
			query.Set("sslmode", "require")
		}
		for name, value := range map[string]string{"sslrootcert": t.TLS.CAFile, "sslcert": t.TLS.CertFile,
			"sslkey": t.TLS.KeyFile} {
			if value != "" {
				query.Set(name, value)
			}
		}
		if f.Secure != "" {
			u.Scheme = f.Secure
			if t.TLS.ServerName != "" {
				query.Set(serverName, t.TLS.ServerName)
			}
		}
	}
	u.RawQuery = query.Encode()
	user := ""
	switch {
	case t.Password != "":
		user = url.UserPassword(t.User, t.Password).String() + "@"
	case t.User != "":
		user = url.User(t.User).String() + "@"
	}
	hosts := slices.Clone(addresses)
	for i, a := range hosts {
		if strings.HasPrefix(a, "/") {
			hosts[i] = url.PathEscape(a)
		}
	}
	rest := strings.TrimPrefix(u.String(), u.Scheme+"://")
	rest = strings.TrimPrefix(rest, u.Scheme+":")
	return u.Scheme + "://" + user + strings.Join(hosts, ",") + rest
}
