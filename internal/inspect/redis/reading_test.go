package redis

import (
	"bufio"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/internal/inspect"
	"brunt/internal/protocol"
	"brunt/internal/record"
)

// before is what INFO says before a load, and the same for all rows of TestRules.
const before = "run_id:a\r\nused_cpu_user_main_thread:1\r\nused_cpu_sys_main_thread:1\r\ntotal_commands_processed:10\r\n" +
	"aof_delayed_fsync:0\r\ntotal_forks:0\r\ncmdstat_get:calls=10,usec=20,usec_per_call=2.00\r\n"

// What is expensive to plant follows from recorded answers.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		name, after string
		events      map[string]latest
		want        []string
	}{
		{"healthy", before, nil, nil},
		{"CPU", "run_id:a\r\nused_cpu_user_main_thread:5\r\nused_cpu_sys_main_thread:5.5\r\n" +
			"cmdstat_get:calls=100000,usec=200000\r\n", nil, []string{FindCPU}},
		{"starved, with some slow calls", "run_id:a\r\nused_cpu_user_main_thread:2\r\nused_cpu_sys_main_thread:2\r\n" +
			"cmdstat_eval:calls=20000,usec=9000000\r\n", nil, nil},
		{"fork", "run_id:a\r\ntotal_forks:1\r\nlatest_fork_usec:100874\r\n", nil, []string{FindFork}},
		{"delayed fsync", "run_id:a\r\naof_delayed_fsync:7\r\n", nil, []string{FindFsync}},
		{"fsync", before, map[string]latest{"aof-fsync-always": {1, 40, 47}}, []string{FindFsync}},
		{"Redis 5", "run_id:a\r\nredis_version:5.0.14\r\ncmdstat_keys:calls=10,usec=1000000\r\n", nil,
			[]string{FindSlowCommand}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNode(protocol.Target{Address: "a:1"})
			for k, text := range []string{before, c.after} {
				n.last = parseInfo(text)
				n.readings.Add(reading(n.last, "a:1", nil, time.Unix(int64(k)*10, 0)))
			}
			n.first, n.events = parseInfo(before), c.events
			if c.name == "starved, with some slow calls" {
				for k := range int64(60) {
					n.slow[k] = slow{id: k, took: 16 * time.Millisecond, words: []string{"EVAL", "x", "0"}}
				}
			}
			n.readings.Mark(inspect.Phase{Name: "load"})
			out := &record.Inspection{Windows: n.readings.Matched(nil)}
			judge(&Inspector{nodes: []*node{n}}, out, nil)
			if got := ids(out); !slices.Equal(got, c.want) {
				t.Errorf("found %v, want %v", got, c.want)
			}
			if old := c.name == "Redis 5"; old != (len(out.Missing) == 1 && out.Missing[0].Text.ID == "inspect-redis-old") {
				t.Errorf("missing %+v", out.Missing)
			}
		})
	}
}

func TestLoggedCommandsFitRequests(t *testing.T) {
	for _, c := range []struct {
		request, logged string
		want            bool
	}{
		{"GET user:$1", "get user:17", true},
		{"GET user:$1", "GET order:17", false},
		{"GET $1", "GET anything", true},
		{"GET user:$1", "GET user:1 2", false},
		{"SET a$1b$2 $3", "SET axbyy longtext...|(12|more|bytes)", true},
		{"SET a$$1 x", "SET a$1 x", true},
		{"MSET a b c d", "MSET a ...|(3|more|arguments)", true},
	} {
		words := strings.Fields(c.logged)
		for k := range words {
			words[k] = strings.ReplaceAll(words[k], "|", " ")
		}
		r := &protocol.Request{Words: strings.Fields(c.request)}
		if got := fits(r, words); got != c.want {
			t.Errorf("%s of %s: %v", c.logged, c.request, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("*2\r\n$1\r\na\r\n:5\r\n")
	f.Add("-ERR x\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		answer, err := read(bufio.NewReader(strings.NewReader(text)))
		if err == nil {
			parseSlow(answer)
			parseLatest(answer)
		}
		parseSessions(text)
		reading(parseInfo(text), "a", nil, time.Time{})
	})
}
