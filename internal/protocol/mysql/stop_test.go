package mysql

import (
	"testing"
	"time"

	"brunt/internal/protocol"
	"brunt/internal/protocol/protocoltest"
)

// A statement whose time is over doesn't go on at the server.
func TestTimeoutStopsTheStatement(t *testing.T) {
	target := targetOf(servers.MariaDB(t))
	a := openAdmin(t, target, "CREATE OR REPLACE TABLE stopped (n INT)", "INSERT INTO stopped VALUES (1)")
	for text, want := range map[string]protocol.Class{
		"SELECT SLEEP(1000)":                     protocol.Timeout,
		"UPDATE stopped SET n = n + SLEEP(1000)": protocol.UnknownOutcome,
	} {
		c, p := dial(t, target, sqlRequest(text))
		var reply protocol.Reply
		c.Do(protocoltest.Within(t, 200*time.Millisecond), &p.Requests[0], nil, &reply)
		if reply.Class != want || !reply.Fatal {
			t.Errorf("%s: %+v, want %v", text, reply.Failure, want)
		}
		const running = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%SLEEP(1000)%' AND id <> CONNECTION_ID()"
		for end := time.Now().Add(30 * time.Second); one(t, a, running) != "0"; {
			if time.Now().After(end) {
				t.Fatalf("%s still runs", text)
			}
		}
	}
}

func TestMissing(t *testing.T) {
	target := targetOf(servers.MariaDB(t))
	openAdmin(t, target, "CREATE OR REPLACE TABLE missed (n INT PRIMARY KEY, m INT)",
		"INSERT INTO missed VALUES (1, 1), (2, 2)")
	for text, want := range map[string]bool{
		"SELECT * FROM missed WHERE n = 9": true, "SELECT * FROM missed WHERE n = 1": false,
		"SELECT COUNT(*) FROM missed WHERE n = 9": false,
		"UPDATE missed SET m = 1 WHERE n = 9":     true, "UPDATE missed SET m = m WHERE n = 1": false,
		"DELETE FROM missed WHERE n = 9": true, "DELETE FROM missed WHERE n = 2": false,
		"INSERT IGNORE INTO missed VALUES (1, 1)": true, "INSERT INTO missed VALUES (3, 1)": false,
		"INSERT INTO missed VALUES (1, 5) ON DUPLICATE KEY UPDATE m = 6": false,
		"REPLACE INTO missed VALUES (1, 1)":                              false, "SET @x = 1": false,
	} {
		c, p := dial(t, target, sqlRequest(text))
		if r := do(t, c, &p.Requests[0]); r.Class != protocol.OK || r.Missing != want {
			t.Errorf("%s: %+v, missing %v, want %v", text, r.Failure, r.Missing, want)
		}
	}
}
