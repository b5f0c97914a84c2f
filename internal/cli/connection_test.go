package cli_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brunt/test/shell"
	"brunt/test/testserver"
)

// A connection string and libpq's variables work with a server that requires a password, and the record contains
// everything except the password.
func TestConnectionStrings(t *testing.T) {
	const password = "T0psecret"
	pg := testserver.Postgres(t, testserver.Password(password))
	redis := testserver.Redis(t)
	host, port, err := net.SplitHostPort(pg.Addr)
	if err != nil {
		t.Fatal(err)
	}
	sql := shell.List(t, "queries: [{name: one, sql: select 1, count: 20}]")
	words := shell.List(t, "queries: [{name: one, command: [PING], count: 20}]")
	for name, c := range map[string]struct {
		arguments []string
		variables map[string]string
	}{
		"URL": {arguments: []string{sql, "-a",
			fmt.Sprintf("postgres://%s:%s@%s/%s", pg.User, password, pg.Addr, pg.Database)}},
		"pairs": {arguments: []string{sql, "-a", fmt.Sprintf("host=%s port=%s user=%s password='%s' dbname=%s",
			host, port, pg.User, password, pg.Database)}},
		"variables": {arguments: []string{sql, "--proto", "pg"}, variables: map[string]string{
			"PGHOST": host, "PGPORT": port, "PGUSER": pg.User, "PGPASSWORD": password, "PGDATABASE": pg.Database}},
		"a string before the variables": {
			arguments: []string{sql, "-a", fmt.Sprintf("postgres://%s:%s@%s", pg.User, password, pg.Addr)},
			variables: map[string]string{"PGHOST": "192.0.2.1", "PGPORT": "1", "PGUSER": "nobody", "PGPASSWORD": "no",
				"BRUNT_PASSWORD": "no", "PGDATABASE": pg.Database}},
		"redis": {arguments: []string{words, "-a", "redis://" + redis.Addr + "/1"}},
	} {
		t.Run(name, func(t *testing.T) {
			for variable, value := range c.variables {
				t.Setenv(variable, value)
			}
			r := shell.Run(t, "brunt run", append(c.arguments, "--quiet")...)
			if r.Run.Total.OK != 20 {
				t.Fatalf("exit %d, %d of 20 done:\n%s%s", r.Code, r.Run.Total.OK, r.Out, r.Err)
			}
			files, err := filepath.Glob(filepath.Join(r.Dir, "*"))
			if err != nil || len(files) < 3 {
				t.Fatalf("%d files in the record: %v", len(files), err)
			}
			for _, path := range files {
				if b, err := os.ReadFile(path); err == nil && strings.Contains(string(b), password) {
					t.Errorf("%s holds the password", filepath.Base(path))
				}
			}
			if strings.Contains(r.Out, password) {
				t.Errorf("the report holds the password:\n%s", r.Out)
			}
		})
	}
}

// target_session_attrs=read-write finds the primary among several servers.
func TestTargetSessionAttributes(t *testing.T) {
	primary := testserver.Postgres(t)
	replica := testserver.PostgresReplica(t, primary)
	primary.Psql(t, "CREATE TABLE written (n int)")
	sql := shell.List(t, "queries: [{name: write, sql: insert into written values (1), count: 20}]")
	r := shell.Run(t, "brunt run", sql, "--quiet", "-a",
		fmt.Sprintf("postgres://%s@%s,%s/%s?target_session_attrs=read-write",
			primary.User, replica.Addr, primary.Addr, primary.Database))
	if r.Run.Total.OK != 20 || r.Run.Total.Failed > 0 {
		t.Fatalf("exit %d, %d of 20 done, %d failed:\n%s%s", r.Code, r.Run.Total.OK, r.Run.Total.Failed, r.Out, r.Err)
	}
}
