package inspect

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"strings"

	"brunt/internal/base/secret"
	"brunt/internal/protocol"
)

// Address parses the URL of a server, such as mysql://user:password@host:3306/database?tls=true. The scheme may be
// missing. kind is the scheme, port the default port. Its errors are one line, without secrets.
func Address(kind, text, port string) (protocol.Target, error) {
	var t protocol.Target
	whole := text
	if !strings.Contains(text, "://") {
		whole = kind + "://" + text
	}
	u, err := url.Parse(whole)
	bad := func(why string) (protocol.Target, error) {
		return t, fmt.Errorf("%s: %s; write %s=%s://user:password@host:%s", secret.Text(text), why, kind, kind, port)
	}
	if err != nil { // its text may hold the password
		return bad("not a URL")
	}
	if u.Scheme != kind {
		return bad("the scheme is " + u.Scheme)
	}
	if u.Hostname() == "" {
		return bad("the host is missing")
	}
	at := u.Port()
	if at == "" {
		at = port
	}
	t.Address, t.User, t.Database = net.JoinHostPort(u.Hostname(), at), u.User.Username(), strings.Trim(u.Path, "/")
	t.Password, _ = u.User.Password()
	for name, values := range u.Query() {
		switch value := values[len(values)-1]; {
		case name != "tls":
			return bad("the option " + name + " is unknown")
		case value == "true":
			t.TLS = &tls.Config{ServerName: u.Hostname()}
		case value == "skip-verify":
			t.TLS = &tls.Config{InsecureSkipVerify: true}
		case value != "false":
			return bad("tls is true, false or skip-verify")
		}
	}
	return t, nil
}
