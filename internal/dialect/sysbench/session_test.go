package sysbench

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
)

// compiledTest compiles a test as a plan's.
func compiledTest(t *testing.T, name, proto string, sessions int, options map[string]string) *program {
	t.Helper()
	p, err := Language().Compile(&script.Source{Protocol: proto, Seed: 9, Sessions: sessions, Options: options,
		Operations: []script.Operation{{Name: name, Text: name, Weight: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	return p.(*program)
}

// event runs an event of a session against answers, and returns what it sends.
func event(s script.Session, p *program, index uint64, answer func(n int, r *protocol.Reply)) (sent []string,
	end script.Step) {
	requests := p.Requests(0)
	step := s.Begin(0, index)
	for n := 0; step.Move == script.Send; n++ {
		var text strings.Builder
		text.WriteString(cmp.Or(requests[step.Request].Text, requests[step.Request].Name))
		for i := range step.Args {
			value := fmt.Sprint(step.Args[i].I)
			if step.Args[i].Kind == gen.String {
				value = string(step.Args[i].B)
			}
			text.WriteString(" " + value)
		}
		sent = append(sent, text.String())
		var r protocol.Reply
		if answer != nil {
			answer(n, &r)
		}
		step = s.Answered(&r)
	}
	return sent, step
}

var values = regexp.MustCompile(`( -?[0-9][-0-9]*)+$`)

// kinds returns the statements without values, in order, each with how often it comes.
func kinds(sent []string) string {
	var out []string
	times := 0
	for i, s := range sent {
		times++
		s = values.ReplaceAllString(s, "")
		if i+1 < len(sent) && values.ReplaceAllString(sent[i+1], "") == s {
			continue
		}
		if times > 1 {
			s = fmt.Sprintf("%d× %s", times, s)
		}
		out = append(out, s)
		times = 0
	}
	return strings.Join(out, "; ")
}

func TestEvents(t *testing.T) {
	const ranges = "SELECT c FROM sbtest1 WHERE id BETWEEN $1 AND $2; " +
		"SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN $1 AND $2; SELECT c FROM sbtest1 WHERE id BETWEEN $1 AND $2 ORDER BY c; " +
		"SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN $1 AND $2 ORDER BY c"
	const writes = "UPDATE sbtest1 SET k=k+1 WHERE id=$1; UPDATE sbtest1 SET c=$1 WHERE id=$2; " +
		"DELETE FROM sbtest1 WHERE id=$1; INSERT INTO sbtest1 (id, k, c, pad) VALUES ($1, $2, $3, $4)"
	const points = "10× SELECT c FROM sbtest1 WHERE id=$1"
	for _, row := range []struct {
		test    string
		proto   string
		options map[string]string
		want    string
	}{
		{test: "oltp_read_write", want: "BEGIN; " + points + "; " + ranges + "; " + writes + "; COMMIT"},
		{test: "oltp_read_only", want: "BEGIN; " + points + "; " + ranges + "; COMMIT"},
		{test: "oltp_read_only", options: map[string]string{"skip_trx": "on", "range_selects": "off"}, want: points},
		{test: "oltp_write_only", want: "BEGIN; " + writes + "; COMMIT"},
		{test: "oltp_point_select", options: map[string]string{"point_selects": "7"},
			want: "SELECT c FROM sbtest1 WHERE id=$1"},
		{test: "oltp_update_index", options: map[string]string{"index_updates": "3"},
			want: "3× UPDATE sbtest1 SET k=k+1 WHERE id=$1"},
		{test: "oltp_update_non_index", want: "UPDATE sbtest1 SET c=$1 WHERE id=$2"},
		{test: "oltp_delete", want: "DELETE FROM sbtest1 WHERE id=$1"},
		{test: "oltp_insert", proto: "mysql", want: "INSERT INTO sbtest1 (id, k, c, pad) VALUES ($1, $2, $3, $4)"},
		{test: "oltp_insert", proto: "pg", want: "INSERT INTO sbtest1 (k, c, pad) VALUES ($1, $2, $3)"},
		{test: "select_random_points", options: map[string]string{"random-points": "3"},
			want: "SELECT id, k, c, pad FROM sbtest1 WHERE k IN ($1, $2, $3)"},
		{test: "select_random_ranges", options: map[string]string{"number_of_ranges": "2"},
			want: "SELECT count(k) FROM sbtest1 WHERE k BETWEEN $1 AND $2 OR k BETWEEN $3 AND $4"},
	} {
		t.Run(row.test, func(t *testing.T) {
			p := compiledTest(t, row.test, row.proto, 1, row.options)
			sent, end := event(p.Session(0), p, 0, nil)
			if got := kinds(sent); got != row.want || end.Failure.Class != protocol.OK {
				t.Errorf("%s\nwant %s", got, row.want)
			}
		})
	}
}

// TestEventsDependOnTheSeedAlone: which session runs an event makes no difference.
func TestEventsDependOnTheSeedAlone(t *testing.T) {
	options := map[string]string{"tables": "5", "table_size": "100000"}
	p := compiledTest(t, "oltp_read_write", "pg", 8, options)
	one, _ := event(p.Session(0), p, 41, nil)
	s := p.Session(7)
	event(s, p, 3, nil)
	two, _ := event(s, p, 41, nil)
	other, _ := event(s, p, 42, nil)
	if strings.Join(one, "\n") != strings.Join(two, "\n") || strings.Join(one, "\n") == strings.Join(other, "\n") {
		t.Errorf("%v\n%v", one, two)
	}
}

// TestSegments: each session of select_random_points has its own part of the table.
func TestSegments(t *testing.T) {
	p := compiledTest(t, "select_random_points", "pg", 4, map[string]string{"table_size": "1000", "rand-type": "uniform"})
	for n := range 4 {
		s := p.Session(n)
		for i := range uint64(50) {
			sent, _ := event(s, p, i, nil)
			for _, v := range strings.Fields(sent[0][strings.LastIndexByte(sent[0], ')')+1:]) {
				var k int
				fmt.Sscan(v, &k)
				if k < n*250 || k > n*250+250 {
					t.Fatalf("session %d asks for %d", n, k)
				}
			}
		}
	}
}

func TestFailures(t *testing.T) {
	fail := func(at int, f protocol.Failure) func(n int, r *protocol.Reply) {
		return func(n int, r *protocol.Reply) {
			if n == at {
				r.Failure = f
			}
		}
	}
	server := func(code string) protocol.Failure { return protocol.Failure{Class: protocol.Server, Code: code} }
	const once = "BEGIN; UPDATE sbtest1 SET k=k+1 WHERE id=$1"
	lost := protocol.Failure{Class: protocol.UnknownOutcome, Fatal: true, Text: "the connection broke"}
	for name, row := range map[string]struct {
		proto   string
		options map[string]string
		failure protocol.Failure
		want    string // the kinds of statements
		counts  string
		ends    bool // the load
	}{
		"mysql repeats a deadlock": {"mysql", nil, server("1213"),
			once + "; " + once + "; COMMIT", "errors 1 events 1", false},
		"mysql ends at a duplicate key": {"mysql", nil, server("1062"),
			once + "; ROLLBACK", "errors 1 events 0", true},
		"mysql ignores what it is told": {"mysql", map[string]string{"mysql-ignore-errors": "1,1062"}, server("1062"),
			once + "; " + once + "; COMMIT", "errors 1 events 1", false},
		"mysql ignores all": {"mysql", map[string]string{"mysql-ignore-errors": "all"}, server("1146"),
			once + "; " + once + "; COMMIT", "errors 1 events 1", false},
		"mysql ends at a lost connection": {"mysql", nil, lost,
			once, "errors 1 events 0", true},
		"mysql reconnects": {"mysql", map[string]string{"mysql-ignore-errors": "2013"}, lost,
			once, "reconnects 1 events 0", false},
		"pgsql rolls back and repeats a duplicate key": {"pg", nil, server("23505"),
			once + "; ROLLBACK; " + once + "; COMMIT", "errors 1 events 1", false},
		"pgsql repeats a serialization failure": {"pg", nil, protocol.Failure{Class: protocol.Retryable, Code: "40001"},
			once + "; ROLLBACK; " + once + "; COMMIT", "errors 1 events 1", false},
		"pgsql ends at others": {"pg", map[string]string{"mysql-ignore-errors": "all"}, server("42P01"),
			once + "; ROLLBACK", "errors 1 events 0", true},
	} {
		t.Run(name, func(t *testing.T) {
			options := map[string]string{"non_index_updates": "0", "delete_inserts": "0"}
			for k, v := range row.options {
				options[k] = v
			}
			p := compiledTest(t, "oltp_write_only", row.proto, 1, options)
			var told *fatalError
			p.onFatal = func(e *fatalError) { told = e }
			session := p.Session(0)
			sent, end := event(session, p, 0, fail(1, row.failure))
			if got := kinds(sent); got != row.want {
				t.Errorf("%s\nwant %s", got, row.want)
			}
			c := p.counters[0].totals()
			got := fmt.Sprintf("errors %d events %d", c.Errors, c.Events)
			if c.Reconnects > 0 {
				got = fmt.Sprintf("reconnects %d events %d", c.Reconnects, c.Events)
			}
			if got != row.counts || (told != nil) != row.ends || end.Quit != row.ends {
				t.Errorf("%s, want %s; the load ends: %v %v", got, row.counts, told != nil, end.Quit)
			}
			if session.(script.Aborter).Aborted() != row.ends {
				t.Errorf("the session gave up: %v, want %v", !row.ends, row.ends)
			}
		})
	}
}

// TestBulkSizes: the INSERTs of bulk_insert add up to --events.
func TestBulkSizes(t *testing.T) {
	for _, rows := range []uint64{1, 1000, rowsOfBulk, 3*rowsOfBulk + 5, 2*rowsOfBulk - 1} {
		p := compiledTest(t, "bulk_insert", "mysql", 1, map[string]string{"events": fmt.Sprint(rows)})
		s := p.Session(0)
		sum := uint64(0)
		for i := range bulkOperations(rows) {
			sent, _ := event(s, p, i, nil)
			sum += uint64(strings.Count(sent[0], "$")) / 2
		}
		if sum != rows || p.counters[0].totals().Events != rows {
			t.Errorf("%d rows, want %d; %d events", sum, rows, p.counters[0].totals().Events)
		}
	}
}

func TestCompileFaults(t *testing.T) {
	insert := []script.Operation{{Text: "oltp_insert"}}
	for want, s := range map[string]script.Source{
		`there is no test "my.lua"; use oltp_read_write,`: {Operations: []script.Operation{{Text: "my.lua"}}},
		"the option tabels=x is unknown to its tests":     {Options: map[string]string{"tabels": "x"}, Operations: insert},
		"Invalid value for the 'tables' option: 'x'":      {Options: map[string]string{"tables": "x"}, Operations: insert},
		"the option sysbench-version is \"2\"": {Options: map[string]string{"sysbench-version": "2"},
			Operations: insert},
	} {
		if _, err := Language().Compile(&s); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
