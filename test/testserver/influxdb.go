package testserver

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
)

// InfluxDB starts Debian's InfluxDB, version 1.6 or later. It requires no password unless Settings contain
// "auth-enabled = true".
func InfluxDB(t TB, opts ...Option) *Server {
	t.Helper()
	sp := influx(collect(opts))
	sp.binary = binary(t, "influxd", "influxdb")
	return launch(t, sp, &Server{})
}

// InfluxDB18 starts an InfluxDB 1.8, which also accepts writes of version 2. It is built from a Go module of its own.
// Settings are those of InfluxDB.
func InfluxDB18(t TB, opts ...Option) *Server {
	t.Helper()
	sp := influx(collect(opts))
	sp.prepare = func(*Server) (err error) {
		sp.binary, err = built("influxdb", "github.com/influxdata/influxdb/cmd/influxd")
		return err
	}
	return launch(t, sp, &Server{})
}

func influx(o options) *spec {
	return &spec{
		name:  "InfluxDB",
		ports: 2,
		configure: func(s *Server) (file, content string) {
			lines := []string{
				"reporting-disabled = true", fmt.Sprintf("bind-address = %q", fmt.Sprintf("%s:%d", s.Host, s.ports[1].port)),
				"[meta]", fmt.Sprintf("dir = %q", filepath.Join(s.Dir, "meta")),
				"[data]", fmt.Sprintf("dir = %q", filepath.Join(s.Dir, "data")),
				fmt.Sprintf("wal-dir = %q", filepath.Join(s.Dir, "wal")),
				"[http]", "enabled = true", fmt.Sprintf("bind-address = %q", s.Addr),
			}
			return "influxdb.conf", strings.Join(append(lines, o.settings...), "\n") + "\n"
		},
		arguments: func(*Server) []string { return []string{"run", "-config", "influxdb.conf"} },
		ready:     httpReady("/ping", http.StatusNoContent),
	}
}
