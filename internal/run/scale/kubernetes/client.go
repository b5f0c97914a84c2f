package kubernetes

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client sends requests to the API server of one cluster, for one namespace.
type Client struct {
	config *config
	http   *http.Client
}

// requestPatience limits the time of one request to the API server.
const requestPatience = 10 * time.Second

// mostAnswer limits the bytes that are read of one answer.
const mostAnswer = 256 << 20

// Open returns a client for the cluster that s describes. It sends nothing.
func Open(s Source) (*Client, error) {
	c, err := s.read()
	if err != nil {
		return nil, err
	}
	proxy := http.ProxyFromEnvironment
	if c.proxy != nil {
		proxy = http.ProxyURL(c.proxy)
	}
	return &Client{config: c, http: &http.Client{
		Timeout:   requestPatience,
		Transport: &http.Transport{TLSClientConfig: c.tls, Proxy: proxy},
	}}, nil
}

// LocalAddress returns the local address of a connection to the API server. Unless it is a loopback address, pods can
// most likely reach this machine there.
func (c *Client) LocalAddress(ctx context.Context) (net.IP, error) {
	at, err := url.Parse(c.config.server)
	if err != nil {
		return nil, err
	}
	port := cmp.Or(at.Port(), map[string]string{"http": "80", "https": "443"}[at.Scheme])
	d := net.Dialer{Timeout: requestPatience}
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(at.Hostname(), port))
	if err != nil {
		return nil, c.unreachable(err)
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.TCPAddr).IP, nil
}

// status is an unsuccessful answer of the API server.
type status struct {
	Code    int    `json:"code"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Error implements error.
func (s *status) Error() string { return s.Message }

// path returns the path of a resource in the namespace. group is "" for the core API, or for example "batch/v1".
func (c *Client) path(group, resource string) string {
	prefix := "/api/v1"
	if group != "" {
		prefix = "/apis/" + group
	}
	return prefix + "/namespaces/" + url.PathEscape(c.config.namespace) + "/" + resource
}

// do sends a request and decodes the answer into into, if that isn't nil. An unsuccessful answer is returned as a
// *status. Any other failure is a *scale.Error or ctx's error.
func (c *Client) do(ctx context.Context, method, path string, body, into any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.config.server+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	token, err := c.config.bearer(ctx)
	if err != nil {
		return err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "brunt")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return c.unreachable(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	if err != nil {
		return c.unreachable(err)
	}
	if response.StatusCode/100 == 2 {
		if into == nil {
			return nil
		}
		if err := json.Unmarshal(data, into); err != nil {
			return fault(codeUnreachable, "%s is no Kubernetes API server: its answer to %s is not JSON", c.config.server, path)
		}
		return nil
	}
	s := &status{}
	if json.Unmarshal(data, s) != nil || s.Message == "" {
		s.Message = response.Status
	}
	s.Code = response.StatusCode
	if s.Code == http.StatusUnauthorized {
		return fault(codeUnreachable, "the API server %s refuses the credentials of %s; log in again", c.config.server,
			c.config.from)
	}
	return s
}

// unreachable returns the error for an API server that doesn't answer.
func (c *Client) unreachable(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var bad *tls.CertificateVerificationError
	if errors.As(err, &bad) {
		return fault(codeUnreachable,
			"the certificate of the API server %s is not trusted: %v; see certificate-authority-data in %s", c.config.server,
			bad.Err, c.config.from)
	}
	if errors.Is(err, io.EOF) || strings.Contains(err.Error(), "HTTP response to HTTPS client") {
		err = fmt.Errorf("%w (is it an HTTPS server?)", err)
	}
	return fault(codeUnreachable, "the API server %s can't be reached: %v; see %s and the network in between",
		c.config.server, err, c.config.from)
}

// right is a permission that the account needs.
type right struct{ verb, group, resource string }

func (r right) String() string {
	if r.group == "" {
		return r.verb + " " + r.resource
	}
	return r.verb + " " + r.resource + "." + r.group
}

// rights returns the permissions that --on kubernetes needs. docs/kubernetes.md lists them as a Role.
func rights() []right {
	return []right{
		{"create", "batch", "jobs"}, {"get", "batch", "jobs"}, {"delete", "batch", "jobs"},
		{"create", "", "secrets"}, {"delete", "", "secrets"}, {"list", "", "pods"}, {"list", "", "events"},
	}
}

// Check asks the API server whether the account has all the permissions that are needed, and returns an error that
// lists the missing ones.
func (c *Client) Check(ctx context.Context) error {
	var missing []string
	for _, r := range rights() {
		review := object{
			"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
			"spec": object{"resourceAttributes": object{
				"namespace": c.config.namespace, "verb": r.verb, "group": r.group, "resource": r.resource}},
		}
		var answer struct {
			Status struct {
				Allowed bool `json:"allowed"`
			} `json:"status"`
		}
		err := c.do(ctx, http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review, &answer)
		var s *status
		if errors.As(err, &s) { // no answer: a missing right shows later
			return nil
		}
		if err != nil {
			return err
		}
		if !answer.Status.Allowed {
			missing = append(missing, r.String())
		}
	}
	if len(missing) > 0 {
		return fault(codeUnreachable,
			"%s may not %s in the namespace %s; docs/kubernetes.md has a Role with the rights that are needed", c.config.from,
			strings.Join(missing, ", "), c.config.namespace)
	}
	return nil
}

// problem converts a refused request into an error that says what to do.
func (c *Client) problem(what right, err error) error {
	var s *status
	if !errors.As(err, &s) {
		return err
	}
	switch {
	case strings.Contains(s.Message, "exceeded quota"):
		return fault(codeUnreachable, "the namespace %s has no room to %s: %s; ask for a larger quota", c.config.namespace,
			what, s.Message)
	case s.Code == http.StatusForbidden:
		return fault(codeUnreachable,
			"%s may not %s in the namespace %s: %s; docs/kubernetes.md has a Role with the rights that are needed",
			c.config.from, what, c.config.namespace, s.Message)
	case s.Code == http.StatusNotFound && strings.Contains(s.Message, "namespaces"):
		return fault(codeUnreachable, "there is no namespace %s; create it with kubectl create namespace, or name another with --namespace",
			c.config.namespace)
	case s.Code == http.StatusUnprocessableEntity || s.Code == http.StatusBadRequest:
		return fault(codeBadFlags, "the API server doesn't take what --on kubernetes creates: %s", s.Message)
	}
	return fault(codeUnreachable, "%s: the API server answers %d: %s", what, s.Code, s.Message)
}
