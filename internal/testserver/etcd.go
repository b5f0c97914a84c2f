package testserver

import (
	"fmt"
	"net/http"
	"path/filepath"
)

// Etcd starts an etcd of one member without users.
func Etcd(t TB, opts ...Option) *Server {
	t.Helper()
	o := collect(opts)
	scheme := "http://"
	sp := &spec{
		name:   "etcd",
		binary: binary(t, "etcd", "etcd-server"),
		ports:  2,
		arguments: func(s *Server) []string {
			clients, peers := scheme+s.Addr, fmt.Sprintf("http://%s:%d", s.Host, s.ports[1].port)
			return append([]string{
				"--data-dir", filepath.Join(s.Dir, "data"),
				"--listen-client-urls", clients, "--advertise-client-urls", clients,
				"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
				"--initial-cluster", "default=" + peers,
				"--heartbeat-interval", "20", "--election-timeout", "200",
			}, o.settings...)
		},
		ready: httpReady("/health", http.StatusOK),
	}
	if o.tls {
		scheme = "https://"
		o.settings = append(o.settings, "--cert-file=server.crt", "--key-file=server.key")
		sp.prepare = (*Server).certify
	}
	return launch(t, sp, &Server{})
}
