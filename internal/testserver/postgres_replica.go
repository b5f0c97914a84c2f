package testserver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// PostgresReplica starts a streaming replica of a PostgreSQL without a password. SELECT pg_promote() promotes it.
func PostgresReplica(t TB, primary *Server) *Server {
	t.Helper()
	basebackup := postgresBinary(t, "pg_basebackup")
	return launch(t, &spec{
		name:   "PostgreSQL replica",
		binary: postgresBinary(t, "postgres"),
		cred:   unprivileged(t, "postgres", "postgresql-15"),
		death:  syscall.SIGQUIT,
		stop:   syscall.SIGINT,
		prepare: func(s *Server) error {
			data := filepath.Join(s.Dir, "data")
			cmd := exec.Command(basebackup, "-h", primary.Host, "-p", fmt.Sprint(primary.Port), "-U", primary.User,
				"-D", data, "-R", "-X", "stream", "--no-sync", "-c", "fast")
			cmd.Dir = s.Dir
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.spec.cred}
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("pg_basebackup: %w: %s", err, out)
			}
			return os.Chmod(data, 0o700)
		},
		arguments: func(s *Server) []string {
			return []string{"-D", filepath.Join(s.Dir, "data"), "-p", fmt.Sprint(s.Port)}
		},
		ready: postgresReady,
	}, &Server{User: primary.User, Database: primary.Database})
}
