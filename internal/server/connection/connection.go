// Package connection parses how users write where and how to connect: URLs, libpq's pairs, addresses, and what they say
// about TLS. It knows no protocols.
package connection

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/base/secret"
	"brunt/internal/plan"
)

var (
	keyword = lazyregexp.New(`^\s*(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|(?:[^\s'\\]|\\.)*)(?:\s+|$)`)
	escaped = lazyregexp.New(`\\(.)`)
	// parameter matches the names of a URL's parameters.
	parameter = lazyregexp.New(`^[\w.-]+$`)
)

// Settings maps libpq's keywords to values. Settings of a Redis URL use the same keywords.
type Settings map[string]string

// errUnreadable is the refusal of a URL, of which it shows nothing: what can't be read may be a part of the password.
var errUnreadable = errors.New(
	"it can't be read; write /, ?, #, @, : and % of a password as %2F, %3F, %23, %40, %3A and %25")

// ParseURL parses a URL, which may have several hosts, as in libpq. A URL whose password has a character that ends the
// password early is refused: its first part would be taken for a port, and its user for the host.
func ParseURL(text string) (Settings, error) {
	scheme, rest, _ := strings.Cut(text, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, user := rest[:end], ""
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, authority = authority[:at+1], authority[at+1:]
	}
	u, err := url.Parse(scheme + "://" + user + "host" + rest[end:])
	if err != nil || !whole(rest[end:]) {
		return nil, errUnreadable
	}
	s := Settings{"dbname": strings.TrimPrefix(u.Path, "/")}
	var hosts, ports []string
	for one := range strings.SplitSeq(authority, ",") {
		host, port := one, ""
		if colon := strings.LastIndexByte(one, ':'); colon > strings.LastIndexByte(one, ']') {
			host, port = one[:colon], one[colon+1:]
		}
		if strings.Trim(port, "0123456789") != "" {
			return nil, errors.New("what follows its last colon is not a port; after user:password there must be @ and " +
				"the host")
		}
		if host, err = url.PathUnescape(strings.Trim(host, "[]")); err != nil {
			return nil, errors.New("its host can't be read")
		}
		hosts, ports = append(hosts, host), append(ports, port)
	}
	s["host"], s["port"] = strings.Join(hosts, ","), strings.Join(ports, ",")
	s["user"] = u.User.Username()
	s["password"], _ = u.User.Password()
	for key, values := range u.Query() {
		s[key] = values[len(values)-1]
	}
	return s, nil
}

// whole reports whether what follows the hosts of a URL is a path and parameters, and not the end of a password.
func whole(rest string) bool {
	path, query, further := strings.Cut(rest, "?")
	if _, err := url.ParseQuery(query); err != nil || strings.Contains(rest, "#") || strings.Contains(path, "@") {
		return false
	}
	if !further || query == "" {
		return true
	}
	for one := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(one, "=")
		if !parameter().MatchString(name) || strings.Contains(value, "@") && name != "user" && name != "password" {
			return false
		}
	}
	return true
}

// ParsePairs parses libpq's pairs: host=db port=5432 password='it\'s'.
func ParsePairs(text string) (Settings, error) {
	s := Settings{}
	for rest := strings.TrimSpace(text); rest != ""; {
		m := keyword().FindStringSubmatch(rest)
		if m == nil {
			return nil, errors.New("it isn't of the form host=… port=… user=… dbname=…; write values with spaces in quotes")
		}
		value := m[2]
		if strings.HasPrefix(value, "'") {
			value = value[1 : len(value)-1]
		}
		s[m[1]] = escaped().ReplaceAllString(value, "$1")
		rest = rest[len(m[0]):]
	}
	return s, nil
}

// Secure converts libpq's TLS settings into the plan's.
func (s Settings) Secure(t *plan.TLS) error {
	switch mode := s["sslmode"]; mode {
	case "", "disable", "allow", "prefer":
		return nil
	case "require", "verify-ca", "verify-full":
		t.Enabled, t.InsecureSkipVerify = true, mode == "require" && s["sslrootcert"] == ""
	default:
		return fmt.Errorf("sslmode=%s: write disable, require or verify-full", mode)
	}
	t.CAFile, t.CertFile, t.KeyFile = cmp.Or(s["sslrootcert"], t.CAFile), cmp.Or(s["sslcert"], t.CertFile),
		cmp.Or(s["sslkey"], t.KeyFile)
	return nil
}

// Addresses combines libpq's lists of hosts and ports. A single port applies to all hosts.
func Addresses(hosts, ports string) (addresses []string) {
	list := strings.Split(ports, ",")
	for i, host := range strings.Split(hosts, ",") {
		host, port := cmp.Or(host, "127.0.0.1"), list[min(i, len(list)-1)]
		switch {
		case port == "" && (strings.HasPrefix(host, "/") || !strings.Contains(host, ":")):
			addresses = append(addresses, host)
		case port == "":
			addresses = append(addresses, "["+host+"]")
		case strings.HasPrefix(host, "/"):
			addresses = append(addresses, host+":"+port)
		default:
			addresses = append(addresses, net.JoinHostPort(host, port))
		}
	}
	return addresses
}

// Complete adds the default port to an address that has none, and checks the address. The path of a Unix socket
// is unchanged.
func Complete(address, port string) (string, error) {
	if strings.HasPrefix(address, "/") {
		return address, nil
	}
	if strings.Contains(address, "@") {
		return "", fmt.Errorf("address %q names a user; give it with -u, and the password with -p or BRUNT_PASSWORD",
			secret.Text(address))
	}
	host, p, err := net.SplitHostPort(address)
	if err != nil {
		bare := strings.TrimSuffix(strings.TrimPrefix(address, "["), "]")
		if address == "" || strings.Contains(bare, ":") && net.ParseIP(bare) == nil {
			if _, rest, isURL := strings.Cut(address, "://"); isURL {
				rest, _, _ = strings.Cut(rest, "/")
				return "", fmt.Errorf("address %q is not host:port; write %s", address, rest)
			}
			return "", fmt.Errorf("address %q is not host:port", address)
		}
		return net.JoinHostPort(bare, port), nil
	}
	if host == "" {
		host = "127.0.0.1"
	}
	if _, err := net.LookupPort("tcp", p); err != nil {
		return "", fmt.Errorf("address %q: %q is not a port", address, p)
	}
	return net.JoinHostPort(host, p), nil
}

// TLS returns the TLS configuration with the certificates that the plan names, or nil if TLS is off.
func TLS(t *plan.TLS) (*tls.Config, error) {
	if !t.Enabled {
		return nil, nil
	}
	c := &tls.Config{InsecureSkipVerify: t.InsecureSkipVerify, ServerName: t.ServerName, MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("TLS authority: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("TLS authority: %s holds no certificate in PEM form", t.CAFile)
		}
	}
	if t.CertFile != "" || t.KeyFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("TLS client certificate: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, limit(c, t)
}

// limit sets the versions and cipher suites that a plan allows, and whether sessions are continued.
func limit(c *tls.Config, t *plan.TLS) (err error) {
	versions := map[string]uint16{"1.0": tls.VersionTLS10, "1.1": tls.VersionTLS11, "1.2": tls.VersionTLS12,
		"1.3": tls.VersionTLS13}
	c.MaxVersion = versions[t.MaxVersion]
	switch v := versions[t.MinVersion]; {
	case v != 0:
		c.MinVersion = v
	case c.MaxVersion != 0:
		c.MinVersion = min(c.MinVersion, c.MaxVersion)
	}
	if t.Resume {
		c.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	}
	c.CipherSuites, err = Ciphers(t.Ciphers)
	return err
}

// Ciphers returns the cipher suites with the names given, IANA's or OpenSSL's, which have colons between them. It
// returns nil for an empty text: Go's own choice.
func Ciphers(names string) (ids []uint16, err error) {
	if names == "" {
		return nil, nil
	}
	for name := range strings.FieldsFuncSeq(names, func(c rune) bool { return strings.ContainsRune(":, ", c) }) {
		found := false
		for _, s := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
			if s.SupportedVersions[0] != tls.VersionTLS13 && (s.Name == name || openSSL(s.Name) == name) {
				ids, found = append(ids, s.ID), true
			}
		}
		if !found {
			return nil, fmt.Errorf("TLS: there is no cipher suite %q for versions up to 1.2", name)
		}
	}
	if len(ids) == 0 {
		return nil, errors.New("TLS: the list of cipher suites is empty")
	}
	return ids, nil
}

// openSSL returns OpenSSL's name of a cipher suite, without the TLS_, the WITH and most of the underscores of IANA's.
func openSSL(name string) string {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "TLS_"), "RSA_WITH_")
	name = strings.NewReplacer("_WITH_", "-", "AES_128_CBC", "AES128", "AES_256_CBC", "AES256", "AES_128", "AES128",
		"AES_256", "AES256", "3DES_EDE_CBC", "DES-CBC3", "POLY1305_SHA256", "POLY1305", "_", "-").Replace(name)
	return name
}

// Shown returns the beginning of a connection string, without the rest, which may hold a password.
func Shown(text string) string {
	if scheme, _, isURL := strings.Cut(text, "://"); isURL {
		return scheme + "://…"
	}
	keyword, _, _ := strings.Cut(text, "=")
	return keyword + "=…"
}
