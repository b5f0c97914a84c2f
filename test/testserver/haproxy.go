package testserver

import (
	"fmt"
	"strings"
)

// HAProxy starts an HTTP proxy that distributes requests to the backends (host:port each) round-robin.
func HAProxy(t TB, backends ...string) *Server {
	t.Helper()
	return haproxy(t, "http", backends)
}

// HAProxyTCP starts a proxy that distributes TCP connections to the backends (host:port each) round-robin.
func HAProxyTCP(t TB, backends ...string) *Server {
	t.Helper()
	return haproxy(t, "tcp", backends)
}

func haproxy(t TB, mode string, backends []string) *Server {
	t.Helper()
	return launch(t, &spec{
		name:      "HAProxy",
		binary:    binary(t, "haproxy", "haproxy"),
		configure: func(s *Server) (string, string) { return "haproxy.cfg", haproxyConf(s, mode, backends) },
		arguments: func(*Server) []string { return []string{"-db", "-f", "haproxy.cfg"} },
	}, &Server{})
}

func haproxyConf(s *Server, mode string, backends []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `global
	maxconn 4000
defaults
	mode %[2]s
	timeout connect 5s
	timeout client 1h
	timeout server 1h
frontend all
	bind %[1]s
	default_backend nodes
backend nodes
	balance roundrobin
`, s.Addr, mode)
	if mode == "http" {
		b.WriteString("\thttp-reuse always\n")
	}
	for i, a := range backends {
		fmt.Fprintf(&b, "\tserver n%d %s\n", i, a)
	}
	return b.String()
}
