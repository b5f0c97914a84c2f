package pgbench

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"brunt/test/testserver"
)

// Conflicts need two clients that wait for each other. Each says where it is by a lock that its session keeps, and
// meet waits for the lock of another, which may have ended: then its row is there. again waits for that row if the
// session has the lock already, which is so if it repeats its transaction.
const meetings = `DROP TABLE IF EXISTS raced, done;
CREATE UNLOGGED TABLE raced (id int, n int);
INSERT INTO raced VALUES (0, 0), (1, 0);
CREATE UNLOGGED TABLE done (client int);
CREATE OR REPLACE FUNCTION meet(place int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  WHILE NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND objid = place)
    AND NOT EXISTS (SELECT FROM done) LOOP
    PERFORM pg_sleep(0.001);
  END LOOP;
END $$;
CREATE OR REPLACE FUNCTION again(place int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  WHILE EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = place AND pid = pg_backend_pid())
    AND NOT EXISTS (SELECT FROM done) LOOP
    PERFORM pg_sleep(0.001);
  END LOOP;
END $$;
ALTER ROLE brunt SET deadlock_timeout = '30ms'`

// conflicts are scripts for two clients of which one must be repeated once.
var conflicts = map[string]struct{ script, says string }{
	"serialization": {`\set delta random(1, 1000)
\if :client_id = 0
SELECT again(1);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT n FROM raced;
SELECT pg_advisory_lock(1);
SELECT meet(2);
SELECT pg_advisory_lock(3);
UPDATE raced SET n = n + :delta WHERE id = 0;
END;
\else
SELECT meet(1);
UPDATE raced SET n = n + :delta WHERE id = 0;
SELECT pg_advisory_lock(2);
SELECT meet(3);
INSERT INTO done VALUES (1);
\endif
`, "ERROR:  could not serialize access due to concurrent update"},
	"deadlock": {`SELECT again(10 + :client_id);
BEGIN;
UPDATE raced SET n = n + 1 WHERE id = :client_id;
SELECT pg_advisory_lock(10 + :client_id);
SELECT meet(11 - :client_id);
UPDATE raced SET n = n + 1 WHERE id = 1 - :client_id;
INSERT INTO done VALUES (:client_id);
END;
`, "ERROR:  deadlock detected"},
}

var someClient = regexp.MustCompile(`client [01]`)

// TestConflicts compares what is printed when two clients get into each other's way and one of them is repeated.
func TestConflicts(t *testing.T) {
	s := environment(t)
	t.Cleanup(func() {
		s.Psql(t, "ALTER ROLE brunt RESET deadlock_timeout; DROP TABLE raced, done; DROP FUNCTION meet, again")
	})
	for name, c := range conflicts {
		file := filepath.Join(t.TempDir(), name+".sql")
		if err := os.WriteFile(file, []byte(c.script), 0o644); err != nil {
			t.Fatal(err)
		}
		line := []string{"-n", "-c", "2", "-t", "1", "--max-tries", "2", "--verbose-errors", "--random-seed=5", "-f", file}
		said := func(a answer) (out, stderr string) {
			// Which client is repeated is chance, and whether a client waits for it before it ends.
			return masked(a.out), sorted(someClient.ReplaceAllString(without(a.stderr, "DETAIL:", "HINT:", "CONTEXT:", "Process "),
				"client N"))
		}
		for _, version := range testserver.PgbenchVersions() {
			s.Psql(t, meetings)
			theirs := original(t, version, line...)
			s.Psql(t, meetings)
			mine := ours(version, line...)
			out, stderr := said(mine)
			wantOut, wantStderr := said(theirs)
			if mine.code != theirs.code || out != wantOut || strings.TrimSpace(stderr) != strings.TrimSpace(wantStderr) {
				t.Errorf("pgbench %d, %s: exit codes %d, %d\n%s%s", version, name, mine.code, theirs.code,
					differences(out, wantOut), differences(stderr, wantStderr))
			}
			if !strings.Contains(mine.out, "total number of retries: 1\n") || !strings.Contains(mine.stderr, c.says) {
				t.Errorf("pgbench %d, %s: %+v", version, name, mine)
			}
		}
	}
}
