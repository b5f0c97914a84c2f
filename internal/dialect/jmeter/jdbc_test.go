package jmeter

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"brunt/test/testserver"
)

// TestDatabasesAreJMeters runs a plan of JDBC Requests on PostgreSQL and MariaDB, and compares its results, and the
// variables that are in labels, with those of JMeter 5.6.3 and both drivers, which
// go test -run DatabasesAreJMeters -update ./internal/dialect/jmeter makes.
func TestDatabasesAreJMeters(t *testing.T) {
	testserver.SkipQuick(t)
	pg, my := testserver.Postgres(t), testserver.MariaDB(t)
	for _, c := range []struct {
		name, driver, procedure string
		server                  *testserver.Server
	}{
		{"postgresql", "org.postgresql.Driver", "create procedure jm_add(a int, b varchar) language sql as " +
			"'insert into jm (id, name) values (a, b)'", pg},
		{"mariadb", "org.mariadb.jdbc.Driver", "create procedure jm_add(a int, b varchar(20)) " +
			"insert into jm (id, name) values (a, b)", my},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "out.jtl")
			plan, err := filepath.Abs(filepath.Join("testdata", "jdbc.jmx"))
			if err != nil {
				t.Fatal(err)
			}
			args := []string{"-n", "-t", plan, "-l", log, "-Jdriver=" + c.driver, "-Juser=" + c.server.User,
				"-Jpassword=" + c.server.Password, "-Jprocedure=" + c.procedure,
				fmt.Sprintf("-Jserver=%s://%s/%s", c.name, c.server.Addr, c.server.Database)}
			golden := filepath.Join("testdata", "jdbc-"+c.name+".golden")
			if *update {
				cmd := exec.Command("java", append(testserver.JMeter(t, t.TempDir()), args...)...)
				cmd.Dir = filepath.Dir(log)
				if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "end of run") {
					t.Fatalf("JMeter: %v\n%s", err, out)
				}
				text := strings.Join(databaseSamples(t, log), "\n") + "\n"
				if err := os.WriteFile(golden, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			stdout, stderr, err := run(t, args...)
			if err != nil || !strings.Contains(stdout, "end of run") {
				t.Fatalf("%v\n%s\n%s", err, stdout, stderr)
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			differ(t, strings.Join(databaseSamples(t, log), "\n")+"\n", string(want))
		})
	}
}

// databaseSamples returns what samples of databases have in common: those of drivers' own have other sizes.
func databaseSamples(t *testing.T, path string) (lines []string) {
	t.Helper()
	rows := csvRows(t, path)
	counts := map[string]int{}
	for _, row := range rows {
		thread := row[5][:max(strings.LastIndexByte(row[5], '-'), 0)]
		if row[7] == "false" { // the message has the driver's words
			row[4] = ""
		}
		counts[strings.Join([]string{row[2], row[3], row[4], thread, row[6], row[7], row[8], row[13]}, " | ")]++
	}
	return counted(counts)
}
