package testserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Postgres starts a PostgreSQL with the superuser "brunt" and the database "postgres". Its data aren't crash-safe
// (fsync is off), and it accepts up to 300 connections. Without the option Password it requires no password.
func Postgres(t TB, opts ...Option) *Server {
	t.Helper()
	o := collect(opts)
	s := &Server{User: "brunt", Password: o.password, Database: "postgres"}
	sp := postgresSpec(t, "PostgreSQL")
	if o.release == "" {
		sp.binary = postgresBinary(t, "postgres")
		sp.prepare = func(s *Server) error { return initPostgres(s, postgresBinary(t, "initdb"), &o) }
		return launch(t, sp, s)
	}
	sp.prepare = func(s *Server) error {
		bin, err := s.postgresRelease(o.release)
		if err != nil {
			return err
		}
		sp.binary = filepath.Join(bin, "postgres")
		return initPostgres(s, filepath.Join(bin, "initdb"), &o)
	}
	return launch(t, sp, s)
}

// postgresSpec describes a PostgreSQL, without its program and how its data are prepared.
func postgresSpec(t TB, name string) *spec {
	t.Helper()
	return &spec{
		name:  name,
		cred:  unprivileged(t, "postgres", "postgresql-15"),
		death: syscall.SIGQUIT,
		stop:  syscall.SIGINT,
		arguments: func(s *Server) []string {
			return []string{"-D", filepath.Join(s.Dir, "data"), "-p", fmt.Sprint(s.Port)}
		},
		ready: postgresReady,
	}
}

func initPostgres(s *Server, initdb string, o *options) error {
	data := filepath.Join(s.Dir, "data")
	args := []string{"-D", data, "-U", s.User, "--no-sync", "--encoding=UTF8", "--locale=C"}
	if s.Password == "" {
		args = append(args, "-A", "trust")
	} else {
		file, err := s.write("password", s.Password+"\n")
		if err != nil {
			return err
		}
		args = append(args, "-A", "scram-sha-256", "--pwfile", file)
	}
	if err := s.execute(initdb, args...); err != nil {
		return err
	}
	conf := []string{
		"", "listen_addresses = '" + loopback + "'", "unix_socket_directories = ''",
		"fsync = off", "synchronous_commit = off", "full_page_writes = off",
		"max_connections = 300", "shared_buffers = 128MB", "logging_collector = off",
	}
	if o.tls {
		if err := s.certify(); err != nil {
			return err
		}
		conf = append(conf, "ssl = on", "ssl_cert_file = '"+s.CAFile+"'", "ssl_key_file = '"+s.keyFile()+"'")
	}
	conf = append(conf, o.settings...)
	f, err := os.OpenFile(filepath.Join(data, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("configure: %w", err)
	}
	defer f.Close()
	_, err = f.WriteString(strings.Join(conf, "\n") + "\n")
	return err
}

// postgresReady checks the status of the postmaster, which is the eighth line of postmaster.pid.
func postgresReady(s *Server) error {
	b, err := os.ReadFile(filepath.Join(s.Dir, "data", "postmaster.pid"))
	if err != nil {
		return err
	}
	lines := strings.Split(string(b), "\n")
	if len(lines) < 8 || lines[0] != fmt.Sprint(s.proc.pid) ||
		!slices.Contains([]string{"ready", "standby"}, strings.TrimSpace(lines[7])) {
		return errors.New("the postmaster isn't ready")
	}
	return nil
}

// Psql executes SQL as the superuser and returns the rows of the last result, with columns separated by |. An error
// fails the test.
func (s *Server) Psql(t TB, text string) string {
	t.Helper()
	out, err := exec.Command(binary(t, "psql", "postgresql-client"),
		"-h", s.Host, "-p", fmt.Sprint(s.Port), "-U", s.User, "-d", s.Database, "-XAtc", text).CombinedOutput()
	if err != nil {
		t.Fatalf("psql: %v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}
