// Package kubernetes runs workers as an Indexed Job of a Kubernetes cluster. It uses plain HTTP and the user's
// kubeconfig. It creates a Job and a Secret that the Job owns, watches the Job's pods, reports what keeps them from
// running, and deletes both objects at the end. Manifest prints the same objects for kubectl, together with those of a
// coordinator in the cluster.
package kubernetes

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"brunt/internal/judge/exitcode"
	"brunt/internal/run/scale"

	"go.yaml.in/yaml/v4"
)

// Exit codes; see docs/exit-codes.md.
const (
	codeBadFlags    = 104
	codeUnreachable = exitcode.Unreachable
)

// fault returns an error that occurs before the load, with its exit code.
func fault(code int, format string, args ...any) error {
	return &scale.Error{Code: code, Text: fmt.Sprintf(format, args...)}
}

// Source selects a cluster.
type Source struct {
	Kubeconfig string // file; "" means $KUBECONFIG, ~/.kube/config, or the cluster that this process runs in
	Context    string // of the kubeconfig; "" means its current-context
	Namespace  string // "" means the context's, or "default"
}

// config contains what is needed to reach an API server.
type config struct {
	server    string // URL
	namespace string
	from      string // where the settings were read from, for people
	tls       *tls.Config
	proxy     *url.URL
	token     string
	tokenFile string // read again for each request, because mounted tokens change
	plugin    *plugin
}

// serviceAccount is the folder in which a pod finds its token, its certificate authority and its namespace.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// read returns the configuration of the cluster that s selects. Errors name the file and what to do.
func (s *Source) read() (*config, error) {
	files := []string{s.Kubeconfig}
	if s.Kubeconfig == "" {
		files = filepath.SplitList(os.Getenv("KUBECONFIG"))
	}
	if len(files) == 0 {
		home, err := os.UserHomeDir()
		path := filepath.Join(home, ".kube", "config")
		if _, e := os.Stat(path); err == nil && e == nil {
			files = []string{path}
		}
	}
	if len(files) > 0 {
		return s.kubeconfig(files)
	}
	if host := os.Getenv("KUBERNETES_SERVICE_HOST"); host != "" {
		return s.inCluster(net.JoinHostPort(host, os.Getenv("KUBERNETES_SERVICE_PORT")), serviceAccount)
	}
	return nil, fault(codeBadFlags,
		"no kubeconfig: there is no ~/.kube/config and KUBECONFIG is not set; name the file with --kubeconfig")
}

// inCluster returns the configuration of the cluster in which this process is a pod.
func (s *Source) inCluster(address, dir string) (*config, error) {
	authority, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, fault(codeBadFlags, "this pod has no service account token: %v; set automountServiceAccountToken: true", err)
	}
	c := &config{server: "https://" + address, namespace: s.Namespace, from: "the pod's service account",
		tokenFile: filepath.Join(dir, "token"), tls: &tls.Config{MinVersion: tls.VersionTLS12}}
	if c.namespace == "" {
		name, err := os.ReadFile(filepath.Join(dir, "namespace"))
		if err != nil {
			return nil, err
		}
		c.namespace = strings.TrimSpace(string(name))
	}
	return c, c.trust(authority)
}

// named is an element of a list in a kubeconfig. Unknown fields are ignored, as in kubectl.
type named[T any] struct {
	Name    string `yaml:"name"`
	Cluster T      `yaml:"cluster"`
	User    T      `yaml:"user"`
	Context T      `yaml:"context"`
	dir     string // relative paths are relative to this folder
}

type cluster struct {
	Server        string `yaml:"server"`
	Authority     string `yaml:"certificate-authority"`
	AuthorityData string `yaml:"certificate-authority-data"`
	Insecure      bool   `yaml:"insecure-skip-tls-verify"`
	ServerName    string `yaml:"tls-server-name"`
	Proxy         string `yaml:"proxy-url"`
}

type user struct {
	Token           string  `yaml:"token"`
	TokenFile       string  `yaml:"tokenFile"`
	Certificate     string  `yaml:"client-certificate"`
	CertificateData string  `yaml:"client-certificate-data"`
	Key             string  `yaml:"client-key"`
	KeyData         string  `yaml:"client-key-data"`
	Username        string  `yaml:"username"`
	Exec            *plugin `yaml:"exec"`
	Provider        any     `yaml:"auth-provider"`
}

type kubeContext struct {
	Cluster   string `yaml:"cluster"`
	User      string `yaml:"user"`
	Namespace string `yaml:"namespace"`
}

type kubeconfig struct {
	Current  string               `yaml:"current-context"`
	Clusters []named[cluster]     `yaml:"clusters"`
	Users    []named[user]        `yaml:"users"`
	Contexts []named[kubeContext] `yaml:"contexts"`
}

// kubeconfig reads and joins kubeconfig files. Settings of earlier files take precedence.
func (s *Source) kubeconfig(files []string) (*config, error) {
	var all kubeconfig
	for _, path := range files {
		data, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) && len(files) > 1 {
			continue
		}
		if err != nil {
			return nil, fault(codeBadFlags, "the kubeconfig can't be read: %v; name another with --kubeconfig", err)
		}
		var k kubeconfig
		if err := yaml.Unmarshal(data, &k); err != nil {
			return nil, fault(codeBadFlags, "%s is no kubeconfig: %s", path, yamlProblem(err))
		}
		all.add(&k, filepath.Dir(path))
	}
	from := strings.Join(files, string(filepath.ListSeparator))
	name := cmp.Or(s.Context, all.Current)
	if name == "" {
		return nil, fault(codeBadFlags, "%s has no current-context; name a context with --kube-context", from)
	}
	chosen := find(all.Contexts, name)
	if chosen == nil {
		return nil, fault(codeBadFlags, "%s has no context %s; there are: %s", from, name, names(all.Contexts))
	}
	return s.fromContext(&all, &chosen.Context, fmt.Sprintf("context %s of %s", name, from))
}

// yamlProblem describes a parser's error without its text, which may quote values.
func yamlProblem(err error) string {
	text := err.Error()
	if i := strings.Index(text, "line "); i >= 0 {
		n, _, _ := strings.Cut(text[i+len("line "):], ":")
		return "line " + strings.TrimSpace(n) + " is not as in a kubeconfig (YAML)"
	}
	return "it is not YAML as in a kubeconfig"
}

func (k *kubeconfig) add(other *kubeconfig, dir string) {
	if k.Current == "" {
		k.Current = other.Current
	}
	for i := range other.Clusters {
		other.Clusters[i].dir = dir
	}
	for i := range other.Users {
		other.Users[i].dir = dir
	}
	k.Clusters = append(k.Clusters, other.Clusters...)
	k.Users = append(k.Users, other.Users...)
	k.Contexts = append(k.Contexts, other.Contexts...)
}

func find[T any](list []named[T], name string) *named[T] {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

func names[T any](list []named[T]) string {
	var all []string
	for _, e := range list {
		all = append(all, e.Name)
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

func (s *Source) fromContext(k *kubeconfig, of *kubeContext, from string) (*config, error) {
	cl, us := find(k.Clusters, of.Cluster), find(k.Users, of.User)
	if cl == nil {
		return nil, fault(codeBadFlags, "%s names the cluster %q, which is not there", from, of.Cluster)
	}
	if us == nil {
		return nil, fault(codeBadFlags, "%s names the user %q, who is not there", from, of.User)
	}
	at, err := url.Parse(cl.Cluster.Server)
	if err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" {
		return nil, fault(codeBadFlags, "%s: the cluster's server is not a URL such as https://HOST:6443", from)
	}
	c := &config{server: strings.TrimSuffix(cl.Cluster.Server, "/"), from: from,
		namespace: cmp.Or(s.Namespace, of.Namespace, "default")}
	c.tls = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: cl.Cluster.ServerName,
		InsecureSkipVerify: cl.Cluster.Insecure} // set by the user
	if cl.Cluster.Proxy != "" {
		if c.proxy, err = url.Parse(cl.Cluster.Proxy); err != nil {
			return nil, fault(codeBadFlags, "%s: the cluster's proxy-url is not a URL", from)
		}
	}
	authority, err := content(cl.dir, cl.Cluster.Authority, cl.Cluster.AuthorityData, "certificate-authority")
	if err != nil {
		return nil, fault(codeBadFlags, "%s: %v", from, err)
	}
	if authority != nil {
		if err := c.trust(authority); err != nil {
			return nil, err
		}
	}
	return c, c.identify(&us.User, us.dir)
}

// trust makes a certificate authority the only one that is accepted for the server.
func (c *config) trust(authority []byte) error {
	c.tls.RootCAs = x509.NewCertPool()
	if !c.tls.RootCAs.AppendCertsFromPEM(authority) {
		return fault(codeBadFlags, "%s: the certificate-authority has no certificate in PEM", c.from)
	}
	return nil
}

// identify sets the user's credentials.
func (c *config) identify(u *user, dir string) error {
	switch {
	case u.Provider != nil:
		return fault(codeBadFlags,
			"%s: auth-provider is not supported, nor by Kubernetes since 1.26; use an exec plugin, a token or a certificate", c.from)
	case u.Username != "":
		return fault(codeBadFlags,
			"%s: a user name with password is not supported, nor by Kubernetes since 1.19; use a token or a certificate", c.from)
	}
	c.token, c.plugin = u.Token, u.Exec
	if u.TokenFile != "" {
		c.tokenFile = resolve(dir, u.TokenFile)
	}
	if c.plugin != nil && strings.ContainsRune(c.plugin.Command, filepath.Separator) {
		c.plugin.Command = resolve(dir, c.plugin.Command)
	}
	certificate, err := content(dir, u.Certificate, u.CertificateData, "client-certificate")
	if err != nil {
		return fault(codeBadFlags, "%s: %v", c.from, err)
	}
	key, err := content(dir, u.Key, u.KeyData, "client-key")
	if err != nil {
		return fault(codeBadFlags, "%s: %v", c.from, err)
	}
	if certificate == nil && key == nil {
		return nil
	}
	return c.present(certificate, key)
}

// present sets the user's client certificate.
func (c *config) present(certificate, key []byte) error {
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return fault(codeBadFlags, "%s: the client certificate: %v", c.from, err)
	}
	c.tls.Certificates = []tls.Certificate{pair}
	return nil
}

func resolve(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// content returns the base64 data from the kubeconfig itself, or otherwise the contents of a file. It returns nil if
// neither is given.
func content(dir, path, data, key string) ([]byte, error) {
	if data != "" {
		text, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			return nil, fmt.Errorf("%s-data is not base64", key)
		}
		return text, nil
	}
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(resolve(dir, path))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return text, nil
}

// bearer returns the token for a request, or "" if the user has none.
func (c *config) bearer(ctx context.Context) (string, error) {
	if c.tokenFile != "" {
		text, err := os.ReadFile(c.tokenFile)
		if err != nil {
			return "", fault(codeUnreachable, "%s: the token: %v", c.from, err)
		}
		return strings.TrimSpace(string(text)), nil
	}
	if c.token == "" && c.plugin != nil {
		return c.plugin.get(ctx, c)
	}
	return c.token, nil
}
