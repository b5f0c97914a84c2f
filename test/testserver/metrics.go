package testserver

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"
)

// Prometheus starts a Prometheus that accepts remote writes and native histograms. Settings are the lines of its
// configuration file; without them it scrapes nothing.
func Prometheus(t TB, opts ...Option) *Server {
	t.Helper()
	o := collect(opts)
	return launch(t, &spec{
		name:   "Prometheus",
		binary: binary(t, "prometheus", "prometheus"),
		configure: func(*Server) (string, string) {
			return "prometheus.yml", "global:\n  scrape_interval: 1s\n" + strings.Join(o.settings, "\n") + "\n"
		},
		arguments: func(s *Server) []string {
			return []string{
				"--config.file=prometheus.yml", "--storage.tsdb.path=" + filepath.Join(s.Dir, "data"),
				"--web.listen-address=" + s.Addr, "--web.enable-remote-write-receiver",
				"--enable-feature=native-histograms",
			}
		},
		ready: httpReady("/-/ready", http.StatusOK),
	}, &Server{})
}

// VictoriaMetrics starts a single-node VictoriaMetrics.
func VictoriaMetrics(t TB, opts ...Option) *Server {
	t.Helper()
	o := collect(opts)
	return launch(t, &spec{
		name:   "VictoriaMetrics",
		binary: binary(t, "victoria-metrics", "victoria-metrics"),
		arguments: func(s *Server) []string {
			return append([]string{
				"-httpListenAddr=" + s.Addr, "-storageDataPath=" + filepath.Join(s.Dir, "data"),
				"-search.latencyOffset=0s", "-memory.allowedBytes=64MB",
			}, o.settings...)
		},
		ready: httpReady("/health", http.StatusOK),
	}, &Server{})
}

// httpReady returns a ready function for a spec: it checks that the server responds at path with this status.
func httpReady(path string, status int) func(*Server) error {
	return func(s *Server) error {
		client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true,
			TLSClientConfig: s.TLS}}
		scheme := "http://"
		if s.TLS != nil {
			scheme = "https://"
		}
		r, err := client.Get(scheme + s.Addr + path)
		if err != nil {
			return err
		}
		r.Body.Close()
		if r.StatusCode != status {
			return fmt.Errorf("%s: %s", path, r.Status)
		}
		return nil
	}
}
