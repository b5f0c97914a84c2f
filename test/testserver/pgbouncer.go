package testserver

import "fmt"

// PgBouncer starts a pooler in front of a PostgreSQL server, which must let everybody in. It gives a session of the
// server to another client after each transaction, and opens at most the given number of sessions.
func PgBouncer(t TB, server *Server, sessions int) *Server {
	t.Helper()
	if server.Password != "" {
		t.Fatalf("PgBouncer: the server must not require a password")
	}
	return launch(t, &spec{
		name:   "PgBouncer",
		binary: binary(t, "pgbouncer", "pgbouncer"),
		cred:   unprivileged(t, "postgres", "postgresql-15"),
		configure: func(s *Server) (string, string) {
			return "pgbouncer.ini", fmt.Sprintf(`[databases]
* = host=%s port=%d user=%s
[pgbouncer]
listen_addr = %s
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = %d
max_client_conn = 200
`, server.Host, server.Port, server.User, s.Host, s.Port, sessions)
		},
		arguments: func(s *Server) []string { return []string{s.Dir + "/pgbouncer.ini"} },
	}, &Server{User: server.User, Database: server.Database})
}
