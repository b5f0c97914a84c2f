package testserver

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
)

// MariaDB starts a MariaDB with the database "test" and a user "brunt" with all rights, whose password is "brunt-test"
// unless set by the option Password.
func MariaDB(t TB, opts ...Option) *Server {
	t.Helper()
	o := collect(opts)
	o.password = cmp.Or(o.password, "brunt-test")
	return launch(t, &spec{
		name:   "MariaDB",
		binary: binary(t, "mariadbd", "mariadb-server"),
		prepare: func(s *Server) error {
			if o.tls {
				if err := s.certify(); err != nil {
					return err
				}
			}
			return initMariaDB(s, binary(t, "mariadb-install-db", "mariadb-server"), o.statements)
		},
		arguments: func(s *Server) []string {
			args := append(mariaDBOwner(), fmt.Sprintf("--port=%d", s.Port))
			args = append([]string{"--no-defaults"}, args...)
			args = append(args, "--datadir="+filepath.Join(s.Dir, "data"), "--bind-address="+loopback,
				"--socket="+filepath.Join(s.Dir, "socket"), "--pid-file="+filepath.Join(s.Dir, "pid"),
				"--init-file="+filepath.Join(s.Dir, "init.sql"), "--max-connections=300", "--skip-log-bin",
				"--innodb-flush-log-at-trx-commit=0", "--innodb-fast-shutdown=2", "--innodb-doublewrite=0")
			if o.tls {
				args = append(args, "--ssl-ca="+s.CAFile, "--ssl-cert="+s.CAFile, "--ssl-key="+s.keyFile())
			}
			for _, line := range o.settings {
				args = append(args, "--"+line)
			}
			return args
		},
		ready: func(s *Server) error { return readGreeting(s.Addr, make([]byte, 5)) },
	}, &Server{User: "brunt", Password: o.password, Database: "test"})
}

func initMariaDB(s *Server, install string, statements []string) error {
	args := append([]string{"--no-defaults"}, mariaDBOwner()...)
	args = append(args, "--datadir="+filepath.Join(s.Dir, "data"), "--auth-root-authentication-method=normal",
		"--skip-test-db", "--skip-name-resolve")
	if err := s.execute(install, args...); err != nil {
		return err
	}
	more := ""
	for _, text := range statements {
		more += text + ";\n"
	}
	_, err := s.write("init.sql", fmt.Sprintf("CREATE DATABASE IF NOT EXISTS %s;\n"+
		"CREATE USER IF NOT EXISTS '%s'@'%%' IDENTIFIED BY '%s';\nGRANT ALL ON *.* TO '%[2]s'@'%%' WITH GRANT OPTION;\n",
		s.Database, s.User, s.Password)+more)
	return err
}

// mariaDBOwner returns the argument that lets the server run as root, if the process is root.
func mariaDBOwner() []string {
	if os.Geteuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}
