package testserver

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Prometheus starts a Prometheus that takes remote writes and native histograms. Settings are the
// lines of its configuration file; it scrapes nothing without them.
func Prometheus(t TB, opts ...Option) *Server {
	t.Helper()
	o := collect(opts)
	return launch(t, &spec{
		name:   "Prometheus",
		binary: binary(t, "prometheus", "prometheus"),
		ports:  1,
		death:  syscall.SIGKILL,
		stop:   syscall.SIGTERM,
		configure: func(s *Server) error {
			_, err := s.write("prometheus.yml", "global:\n  scrape_interval: 1s\n"+strings.Join(o.settings, "\n")+"\n")
			return err
		},
		arguments: func(s *Server) []string {
			return []string{
				"--config.file=prometheus.yml", "--storage.tsdb.path=" + filepath.Join(s.Dir, "data"),
				"--web.listen-address=" + s.Addr, "--web.enable-remote-write-receiver",
				"--enable-feature=native-histograms",
			}
		},
		ready: func(s *Server) error { return httpReady("http://"+s.Addr+"/-/ready", http.StatusOK) },
	}, &Server{})
}

// VictoriaMetrics starts a VictoriaMetrics of one node.
func VictoriaMetrics(t TB, opts ...Option) *Server {
	t.Helper()
	o := collect(opts)
	return launch(t, &spec{
		name:   "VictoriaMetrics",
		binary: binary(t, "victoria-metrics", "victoria-metrics"),
		ports:  1,
		death:  syscall.SIGKILL,
		stop:   syscall.SIGTERM,
		arguments: func(s *Server) []string {
			return append([]string{
				"-httpListenAddr=" + s.Addr, "-storageDataPath=" + filepath.Join(s.Dir, "data"),
				"-search.latencyOffset=0s", "-memory.allowedBytes=64MB",
			}, o.settings...)
		},
		ready: func(s *Server) error { return httpReady("http://"+s.Addr+"/health", http.StatusOK) },
	}, &Server{})
}

// httpReady is nil once an address answers with a status.
func httpReady(address string, status int) error {
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get(address)
	if err != nil {
		return err
	}
	r.Body.Close()
	if r.StatusCode != status {
		return fmt.Errorf("%s: %s", address, r.Status)
	}
	return nil
}
