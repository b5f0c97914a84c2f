package ycsb

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What properties don't say about the target is taken from the environment, as by brunt's other commands.
func TestTargetsAreCompletedByTheEnvironment(t *testing.T) {
	pg := map[string]string{
		"PGHOST": "db.example", "PGPORT": "6000", "PGUSER": "me", "PGDATABASE": "bench", "PGPASSWORD": "theirs",
	}
	with := func(base map[string]string, pairs ...string) map[string]string {
		all := map[string]string{}
		for name, value := range base {
			all[name] = value
		}
		for i := 0; i < len(pairs); i += 2 {
			all[pairs[i]] = pairs[i+1]
		}
		return all
	}
	for _, c := range []struct {
		name, database string
		values         []string
		env            map[string]string
		want           string
	}{
		{"nothing", "pg", nil, nil, "root::test [127.0.0.1:5432] false"},
		{"libpq's variables", "pg", nil, pg, "me:theirs:bench [db.example:6000] false"},
		{"properties first", "pg", []string{"pg.user=u", "pg.password=mine", "pg.db=d", "pg.host=h", "pg.port=1"},
			pg, "u:mine:d [h:1] false"},
		{"a host with the variable's port", "pg", []string{"pg.host=h"}, pg, "me:theirs:bench [h:6000] false"},
		{"a port with the variable's host", "pg", []string{"pg.port=7"}, pg, "me:theirs:bench [db.example:7] false"},
		{"several hosts", "pg", nil, map[string]string{"PGHOST": "a,b", "PGPORT": "1,2"}, "root::test [a:1 b:2] false"},
		{"brunt's password first", "pg", nil, with(pg, "BRUNT_PASSWORD", "ours"), "me:ours:bench [db.example:6000] false"},
		{"TLS", "pg", nil, map[string]string{"PGSSLMODE": "require"}, "root::test [127.0.0.1:5432] true"},
		{"TLS by a property", "pg", []string{"pg.sslmode=disable"}, map[string]string{"PGSSLMODE": "require"},
			"root::test [127.0.0.1:5432] false"},
		{"another database", "redis", nil, with(pg, "BRUNT_PASSWORD", "ours"), ":ours: [localhost:6379] false"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := settings(t, Load, c.database, append(c.values, "recordcount=1")...)
			s.Getenv = func(name string) string { return c.env[name] }
			j, err := Compile(s, 0)
			if err != nil {
				t.Fatal(err)
			}
			to := &j.Plan.Target
			got := fmt.Sprintf("%s:%s:%s %v %v", to.User, to.Password, to.Database, to.Addresses, to.TLS.Enabled)
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	s := settings(t, Load, "pg", "recordcount=1")
	s.Getenv = func(name string) string { return map[string]string{"PGREQUIREAUTH": "x"}[name] }
	if _, err := Compile(s, 0); err == nil || !strings.Contains(err.Error(), "PGREQUIREAUTH") {
		t.Errorf("a variable that isn't understood: %v", err)
	}
}

// Errors of properties begin with the place where the property was given.
func TestErrorsOfPropertiesSayWhere(t *testing.T) {
	for text, want := range map[string]string{
		"insertstart=2\nrecordcount=1\ninsertcount=4": ":3: record count 1",
		"maxscanlength=1\nminscanlength=2":            ":1: maxscanlength=1",
		"\noperationcount=0":                          ":2: no end",
		"readproportion=0\nupdateproportion=0":        ":1: all proportions are 0",
		"batch.size=2\nscanproportion=1":              ":1: batch.size=2",
		"\n\nfieldlengthdistribution=histogram":       ":3: property fieldlengthhistogram",
		"requestdistribution=zipfian # skewed":        `:1: property requestdistribution: "# skewed"`,
		"threadcount=x":                               ":1: property threadcount",
	} {
		file := filepath.Join(t.TempDir(), "workload")
		if !strings.Contains(text, "operationcount") {
			text += "\noperationcount=10"
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := FindDatabase("pg")
		if err != nil {
			t.Fatal(err)
		}
		set, _, err := Given{Files: []string{file}}.Gather(os.ReadFile, os.LookupEnv)
		if err == nil {
			_, err = Understand(Run, d, set, os.ReadFile)
		}
		if err == nil || !strings.HasPrefix(err.Error(), file+want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// Java keeps blanks at the end of a value, so that "hashed " orders the keys. Nobody means that.
func TestBlanksAtTheEndOfAValueChangeNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "workload")
	if err := os.WriteFile(file, []byte("insertorder=hashed \nrecordcount=5 \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := FindDatabase("pg")
	if err != nil {
		t.Fatal(err)
	}
	set, notes, err := Given{Files: []string{file}}.Gather(os.ReadFile, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Understand(Load, d, set, os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	if s.Keys.Ordered || len(notes) != 1 || !strings.HasPrefix(notes[0], file+":1: property insertorder") {
		t.Errorf("ordered %v, notes %q", s.Keys.Ordered, notes)
	}
	if s := settings(t, Load, "pg", "insertorder=hashed ", "recordcount=5"); s.Keys.Ordered {
		t.Error("-p insertorder=hashed with a blank orders the keys")
	}
}
