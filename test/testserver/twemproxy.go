package testserver

import "fmt"

// Twemproxy starts a proxy before a Redis. It passes on commands that read and write keys, and ends connections on
// which it gets others.
func Twemproxy(t TB, backend string) *Server {
	t.Helper()
	return launch(t, &spec{
		name:   "twemproxy",
		binary: binary(t, "nutcracker", "nutcracker"),
		ports:  2, // of clients and of statistics
		configure: func(s *Server) (string, string) {
			return "nutcracker.yml", fmt.Sprintf("pool:\n  listen: %s\n  redis: true\n  distribution: ketama\n  servers:\n"+
				"   - %s:1\n", s.Addr, backend)
		},
		arguments: func(s *Server) []string {
			return []string{"-c", "nutcracker.yml", "-p", s.Dir + "/pid", "-o", s.Dir + "/log", "-a", loopback,
				"-s", fmt.Sprint(s.ports[1].port)}
		},
	}, &Server{})
}
