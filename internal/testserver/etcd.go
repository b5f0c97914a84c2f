package testserver

import (
	"fmt"
	"net/http"
	"path/filepath"
	"syscall"
	"time"
)

// Etcd starts an etcd of one member without TLS or users.
func Etcd(t TB, opts ...Option) *Server {
	t.Helper()
	o := collect(opts)
	return launch(t, &spec{
		name:   "etcd",
		binary: binary(t, "etcd", "etcd-server"),
		ports:  2,
		death:  syscall.SIGKILL,
		stop:   syscall.SIGTERM,
		arguments: func(s *Server) []string {
			clients, peers := "http://"+s.Addr, fmt.Sprintf("http://%s:%d", s.Host, s.ports[1].port)
			return append([]string{
				"--data-dir", filepath.Join(s.Dir, "data"),
				"--listen-client-urls", clients, "--advertise-client-urls", clients,
				"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
				"--initial-cluster", "default=" + peers,
				"--heartbeat-interval", "20", "--election-timeout", "200",
			}, o.settings...)
		},
		ready: etcdReady,
	}, &Server{})
}

func etcdReady(s *Server) error {
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get("http://" + s.Addr + "/health")
	if err != nil {
		return err
	}
	r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("health: %s", r.Status)
	}
	return nil
}
