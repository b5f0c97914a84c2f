// Package endpoints adds HTTP requests with whole URLs to a plan. The dialects of HTTP tools share it.
package endpoints

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"brunt/internal/base/secret"
	"brunt/internal/plan"
	"brunt/internal/protocol"
)

// Request is one request.
type Request struct {
	Method string
	URL    *url.URL
	Header [][2]string // names and values as they are sent
	Body   []byte
	Secret bool // the body must not be stored
	// Hash and HashEvery are those of protocol.Web.
	Hash      uint64
	HashEvery uint32
}

// Reader reads a list of requests. name is the name of its file for errors, open reads the file of a body.
type Reader func(name string, in io.Reader, open func(path string) ([]byte, error)) ([]Request, error)

// ParseURL parses an absolute http or https URL.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err
		}
		return nil, fmt.Errorf("%q is not a URL: %s", secret.Address(text), secret.Redact(err.Error(), secret.Of(text)))
	case u.Scheme == "":
		return nil, fmt.Errorf("%q: missing scheme; write http:// or https:// before it", secret.Address(text))
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%q: scheme %s; use http or https", secret.Address(text), u.Scheme)
	case strings.ContainsAny(text, " \t"):
		return nil, fmt.Errorf("%q has a blank; write %%20 for it", secret.Address(text))
	case u.Hostname() == "":
		return nil, fmt.Errorf("%q: missing host", secret.Address(text))
	case strings.Contains(u.Fragment, "@"): // of a password that begins with digits, these would be the port
		return nil, fmt.Errorf("%s://…: what follows # is never sent, and has an @; write # of a password as %%23", u.Scheme)
	}
	return u, nil
}

// Redacted returns a URL as text without its secrets.
func Redacted(u *url.URL) string { return secret.Text(u.String()) }

// MaxAddresses is how many addresses a list of requests may have. Separate statistics are kept for each.
const MaxAddresses = 256

// SetTarget makes the requests' hosts the addresses of p, those with TLS first. If there is one address, the user and
// password in URLs become those of the target; if there are several, they are sent with the requests to their own URL
// only. SetTarget replaces the target's options; callers add theirs afterwards.
func SetTarget(p *plan.Plan, requests []Request) error {
	if len(requests) == 0 {
		return errors.New("no request given; name a URL")
	}
	addresses := map[string][]string{}
	for i := range requests {
		u := requests[i].URL
		if a := Address(u); !slices.Contains(addresses[u.Scheme], a) {
			addresses[u.Scheme] = append(addresses[u.Scheme], a)
		}
		if n := len(addresses["http"]) + len(addresses["https"]); n > MaxAddresses {
			return fmt.Errorf("the requests go to more than %d addresses; split the list", MaxAddresses)
		}
	}
	secure := addresses["https"]
	plain := slices.DeleteFunc(addresses["http"], func(a string) bool { return slices.Contains(secure, a) })
	p.Target.Addresses = append(slices.Clone(secure), plain...)
	p.Target.Protocol, p.Target.Options = "http", map[string]string{}
	if p.Target.TLS.Enabled = len(secure) > 0; p.Target.TLS.Enabled {
		p.Target.Protocol = "https"
		if len(plain) > 0 {
			p.Target.Options["plain"] = strings.Join(plain, ",")
		}
	}
	if len(p.Target.Addresses) > 1 {
		return nil
	}
	return setUser(p, requests)
}

func setUser(p *plan.Plan, requests []Request) error {
	for i := range requests {
		u := requests[i].URL
		if u.User == nil {
			continue
		}
		password, _ := u.User.Password()
		if p.Target.User == "" && p.Target.Password == "" {
			p.Target.User, p.Target.Password = u.User.Username(), password
		} else if p.Target.User != u.User.Username() || p.Target.Password != password {
			return fmt.Errorf("%q: its user differs from another URL's; give Authorization headers instead", Redacted(u))
		}
	}
	return nil
}

// Address returns the host:port of a URL, with the scheme's default port if it has none.
func Address(u *url.URL) string {
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	return net.JoinHostPort(u.Hostname(), port)
}

// AddOperation adds an operation to p, whose target must be set. The operation sends one of the requests; if there are
// several, pick says which. Each param generates the value of the header field with its name, in all requests.
func AddOperation(p *plan.Plan, name string, weight float64, requests []Request, params []plan.Param, pick plan.Pick) {
	step := plan.Step{Params: params}
	var generated [][2]string
	for i, f := range params {
		generated = append(generated, [2]string{f.Name, fmt.Sprintf("$%d", i+1)})
	}
	all := make([]protocol.Request, len(requests))
	for i := range requests {
		all[i] = protocol.Request{Verb: protocol.HTTP, Web: requests[i].web(p, generated)}
	}
	step.Request = all[0]
	if len(all) > 1 {
		step.Variants, step.Pick = all, pick
	}
	p.Operations = append(p.Operations, plan.Operation{Name: Name(name), Weight: weight, Steps: []plan.Step{step}})
}

// web returns the request in the form that drivers use.
func (r *Request) web(p *plan.Plan, generated [][2]string) *protocol.Web {
	w := &protocol.Web{
		Method: r.Method, Path: escape(r.URL.RequestURI()), Body: []byte(escape(string(r.Body))), SecretBody: r.Secret,
		Hash: r.Hash, HashEvery: r.HashEvery,
	}
	if len(p.Target.Addresses) > 1 || r.URL.Scheme != p.Target.Protocol {
		w.Origin = r.URL.Scheme + "://" + Address(r.URL)
	}
	for _, h := range r.Header {
		w.Header = append(w.Header, [2]string{h[0], escape(h[1])})
	}
	if user := r.URL.User; user != nil && len(p.Target.Addresses) > 1 && !r.Gave("Authorization") {
		password, _ := user.Password()
		credentials := base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password))
		w.Header = append(w.Header, [2]string{"Authorization", "Basic " + credentials})
	}
	w.Header = append(w.Header, generated...)
	return w
}

// Gave reports whether the request sets a header field.
func (r *Request) Gave(header string) bool {
	return slices.ContainsFunc(r.Header, func(h [2]string) bool { return strings.EqualFold(h[0], header) })
}

// escape returns s as a template that expands to s itself.
func escape(s string) string { return strings.ReplaceAll(s, "$", "$$") }

// Name makes a valid name of an operation from a text.
func Name(s string) string {
	s = strings.NewReplacer("{", "(", "}", ")", "\n", " ", "\r", " ", "\x00", " ").Replace(s)
	const most = 120
	if r := []rune(s); len(r) > most {
		s = string(r[:most-1]) + "…"
	}
	return s
}

// SeveralHosts reports whether the requests go to more than one scheme or host.
func SeveralHosts(requests []Request) bool {
	for i := range requests {
		if u, first := requests[i].URL, requests[0].URL; u.Scheme != first.Scheme || u.Host != first.Host {
			return true
		}
	}
	return false
}

// Title returns a name for a request: method and path, or method and URL if there are several hosts.
func Title(r *Request, several bool) string {
	if several {
		return r.Method + " " + Redacted(r.URL)
	}
	return r.Method + " " + secret.Text(r.URL.RequestURI())
}

// ParseHeader parses a header field "Name: value" from a command line.
func ParseHeader(text string) (name, value string, err error) {
	name, value, ok := strings.Cut(text, ":")
	if name, value = strings.TrimSpace(name), strings.TrimSpace(value); !ok {
		return "", "", errors.New("write Name: value")
	}
	return name, value, ValidHeader(name, value)
}

// maxBodyBytes is the most bytes that ReadBody reads.
const maxBodyBytes = 64 << 20

// ReadBody reads a body from a command line: text, @file, or @- for stdin.
func ReadBody(text string, stdin io.Reader) ([]byte, error) {
	path, fromFile := strings.CutPrefix(text, "@")
	if !fromFile {
		return []byte(text), nil
	}
	in := stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, maxBodyBytes+1))
	if err == nil && len(data) > maxBodyBytes {
		err = fmt.Errorf("more than %d bytes", maxBodyBytes)
	}
	return data, err
}

// ValidHeader returns an error if a header field is invalid.
func ValidHeader(name, value string) error {
	if name == "" || strings.ContainsAny(name, " :\r\n\t") {
		return errors.New("write Name: value, the name without spaces")
	}
	if strings.ContainsAny(value, "\r\n\x00") {
		return fmt.Errorf("header %s: its value holds a line break", name)
	}
	return nil
}

// Secure gives a target the settings of TLS that a command line names: whether certificates are not verified, and the
// files of an authority's certificate and of the client's own with its key. redirects says that redirects are followed,
// which may lead to https from addresses without it.
func Secure(t *plan.Target, insecure bool, ca, cert, key string, redirects bool) {
	given := insecure || ca != "" || cert != "" || key != ""
	if !t.TLS.Enabled && given && redirects {
		if t.Options == nil {
			t.Options = map[string]string{}
		}
		t.TLS.Enabled, t.Options["plain"] = true, strings.Join(t.Addresses, ",")
	}
	if t.TLS.Enabled {
		t.TLS.InsecureSkipVerify, t.TLS.CAFile, t.TLS.CertFile, t.TLS.KeyFile = insecure, ca, cert, key
	}
}
