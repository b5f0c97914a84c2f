package testserver

import (
	"fmt"
	"os"
	"path/filepath"
)

// PostgresReplica starts a streaming replica of a PostgreSQL without a password. SELECT pg_promote() promotes it.
func PostgresReplica(t TB, primary *Server) *Server {
	t.Helper()
	basebackup := postgresBinary(t, "pg_basebackup")
	sp := postgresSpec(t, "PostgreSQL replica")
	sp.binary = postgresBinary(t, "postgres")
	sp.prepare = func(s *Server) error {
		data := filepath.Join(s.Dir, "data")
		if err := s.execute(basebackup, "-h", primary.Host, "-p", fmt.Sprint(primary.Port), "-U", primary.User,
			"-D", data, "-R", "-X", "stream", "--no-sync", "-c", "fast"); err != nil {
			return err
		}
		return os.Chmod(data, 0o700)
	}
	return launch(t, sp, &Server{User: primary.User, Database: primary.Database})
}
