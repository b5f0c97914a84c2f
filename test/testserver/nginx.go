package testserver

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// NginxIndexSize is the size, in bytes, of the page that Nginx serves by default. It is that of the page that nginx
// ships with, which benchmarks usually request.
const NginxIndexSize = 612

// Nginx starts an nginx that serves a page at "/" and "/index.html" and keeps connections open for any number of
// requests. With TLS it supports HTTP/2 as well.
func Nginx(t TB, opts ...Option) *Server {
	t.Helper()
	o := collect(opts)
	if o.content == nil {
		o.content = bytes.Repeat([]byte("brunt test page\n"), NginxIndexSize/16+1)[:NginxIndexSize]
	}
	return launch(t, &spec{
		name:   "nginx",
		binary: binary(t, "nginx", "nginx-light"),
		death:  syscall.SIGTERM,
		prepare: func(s *Server) error {
			if o.tls {
				if err := s.certify(); err != nil {
					return err
				}
			}
			html := filepath.Join(s.Dir, "html")
			if err := os.Mkdir(html, 0o755); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(html, "index.html"), o.content, 0o644)
		},
		configure: func(s *Server) (string, string) { return "nginx.conf", nginxConf(s, &o) },
		arguments: func(s *Server) []string {
			return []string{"-p", s.Dir, "-c", filepath.Join(s.Dir, "nginx.conf"), "-e", filepath.Join(s.Dir, "log")}
		},
		ready: nginxReady,
	}, &Server{})
}

func nginxConf(s *Server, o *options) string {
	user, listen := "", s.Addr+" backlog=4096"
	if os.Geteuid() == 0 {
		user = "user root;"
	}
	if o.tls {
		listen += fmt.Sprintf(" ssl http2;\n\t\tssl_certificate %s;\n\t\tssl_certificate_key %s", s.CAFile, s.keyFile())
	}
	return fmt.Sprintf(`daemon off;
%s
worker_processes %d;
pid %s/pid;
events { worker_connections %[6]d; }
http {
	access_log off;
	default_type text/html;
	keepalive_requests 1000000000;
	keepalive_timeout 1h;
	client_body_temp_path %[3]s/body;
	proxy_temp_path %[3]s/proxy;
	fastcgi_temp_path %[3]s/fastcgi;
	uwsgi_temp_path %[3]s/uwsgi;
	scgi_temp_path %[3]s/scgi;
	server {
		listen %[4]s;
		root %[3]s/html;
		%[5]s
	}
}
`, user, max(1, o.workers), s.Dir, listen, o.locations, cmp.Or(o.connections, 4096))
}

// nginxReady checks for the PID file, which the master writes once its sockets are open. Connecting isn't enough: if
// another process had the port, a connection would succeed as well.
func nginxReady(s *Server) error {
	b, err := os.ReadFile(filepath.Join(s.Dir, "pid"))
	if err != nil {
		return err
	}
	if string(bytes.TrimSpace(b)) != fmt.Sprint(s.proc.pid) {
		return errors.New("the pid file is of another run")
	}
	return dialOnce(s)
}

func dialOnce(s *Server) error { return dial("tcp", s.Addr) }

// dial returns nil if something accepts connections at an address.
func dial(network, address string) error {
	c, err := net.DialTimeout(network, address, time.Second)
	if err != nil {
		return err
	}
	return c.Close()
}
