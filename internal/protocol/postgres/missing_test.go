package postgres

import (
	"testing"

	"brunt/internal/protocol"
)

// What the answer's tag says decides whether anything happened, in both tiers.
func TestMissing(t *testing.T) {
	target := targetOf(server(t))
	tiers(t, func(t *testing.T, open func(protocol.Target, *protocol.Program) protocol.Conn) {
		execute(t, openAdmin(t, target), "DROP TABLE IF EXISTS missed", "CREATE TABLE missed (n int PRIMARY KEY, m int)",
			"INSERT INTO missed VALUES (1, 1), (2, 2)")
		for _, c := range []struct {
			text string
			want bool
		}{
			{"SELECT * FROM missed WHERE n = 9", true}, {"SELECT * FROM missed WHERE n = 1", false},
			{"UPDATE missed SET m = 1 WHERE n = 9", true}, {"UPDATE missed SET m = m WHERE n = 1", false},
			{"DELETE FROM missed WHERE n = 9", true}, {"DELETE FROM missed WHERE n = 2", false},
			{"INSERT INTO missed VALUES (1, 1) ON CONFLICT DO NOTHING", true},
			{"INSERT INTO missed VALUES (3, 1) ON CONFLICT DO NOTHING", false},
			{"INSERT INTO missed VALUES (3, 1), (4, 1) ON CONFLICT DO NOTHING", false},
			{"INSERT INTO missed VALUES (1, 5) ON CONFLICT (n) DO UPDATE SET m = 5", false},
			{"INSERT INTO missed VALUES (1, 5) ON CONFLICT (n) DO UPDATE SET m = 5 WHERE missed.m = 9", true},
			{"INSERT INTO missed VALUES (1, 5) ON CONFLICT DO NOTHING RETURNING n", true},
			{"INSERT INTO missed SELECT 8, 8 WHERE false", true},
			{"WITH w AS (SELECT 1 AS n) INSERT INTO missed SELECT n FROM w ON CONFLICT DO NOTHING", true},
			{"EXPLAIN INSERT INTO missed VALUES (1, 1)", false}, {"SET work_mem = '4MB'", false},
		} {
			for _, simple := range []bool{false, true} {
				r := sql(c.text)
				r.Simple = simple
				if simple && !c.want {
					continue // it has had its effect
				}
				p := program(r)
				var reply protocol.Reply
				open(target, p).Do(testContext(t), &p.Requests[0], nil, &reply)
				if reply.Class != protocol.OK || reply.Missing != c.want {
					t.Errorf("%s: %+v, missing %v, want %v", c.text, reply.Failure, reply.Missing, c.want)
				}
			}
		}
	})
}
