package sysbench

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"brunt/internal/protocol"
	"brunt/internal/protocol/protocols"
	"brunt/test/testserver"
)

// The tests in this file run Debian's sysbench (1.0.20) and brunt in its place, with the same arguments.

// server is a database that both use.
type server struct {
	*testserver.Server
	name  string
	flags []string
	admin protocol.Admin
}

// databases returns a MariaDB and a PostgreSQL.
func databases(t *testing.T) []*server {
	t.Helper()
	my, pg := servers.MariaDB(t), servers.Postgres(t)
	both := []*server{
		{Server: my, name: "mysql", flags: []string{"--mysql-host=127.0.0.1", fmt.Sprint("--mysql-port=", my.Port),
			"--mysql-user=" + my.User, "--mysql-password=" + my.Password, "--mysql-db=" + my.Database}},
		{Server: pg, name: "pgsql", flags: []string{"--db-driver=pgsql", "--pgsql-host=127.0.0.1",
			fmt.Sprint("--pgsql-port=", pg.Port), "--pgsql-user=" + pg.User, "--pgsql-password=" + pg.Password,
			"--pgsql-db=" + pg.Database}},
	}
	for _, s := range both {
		d, err := protocols.Find(map[string]string{"mysql": mysqlProtocol, "pgsql": pgsqlProtocol}[s.name])
		if err != nil {
			t.Fatal(err)
		}
		s.admin, err = d.Open().(protocol.AdminDriver).Admin(t.Context(), protocol.Target{Address: s.Addr, User: s.User,
			Password: s.Password, Database: s.Database})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.admin.Close() })
		for i := range 8 {
			s.rows(t, fmt.Sprintf("DROP TABLE IF EXISTS sbtest%d", i+1))
		}
	}
	return both
}

// rows returns the rows of a query as lines.
func (s *server) rows(t *testing.T, query string) string {
	t.Helper()
	var out []string
	err := s.admin.Query(context.Background(), query, func(values []*string) error {
		var row []string
		for _, v := range values {
			if v == nil {
				row = append(row, "null")
				continue
			}
			row = append(row, *v)
		}
		out = append(out, strings.Join(row, "|"))
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return strings.Join(out, "\n")
}

var (
	digits   = regexp.MustCompile(`[0-9]+(\.[0-9]+)?`)
	spaces   = regexp.MustCompile(` +`)
	using    = regexp.MustCompile(`\(using [^)]*\)`)
	position = regexp.MustCompile(`: /usr/share/sysbench/[a-z_]+\.lua:[0-9]+`)
	counted  = regexp.MustCompile(`(?m)^ +(read|write|other|total|transactions|queries|ignored errors|reconnects|` +
		`total number of events): +([0-9]+)`)
)

// masked returns a text without numbers, and without what names the program's parts.
func masked(text string) string {
	text = position.ReplaceAllString(using.ReplaceAllString(text, "(using …)"), "")
	text = strings.ReplaceAll(text, "sysbench 1.0.20", "sysbench")
	return spaces.ReplaceAllString(digits.ReplaceAllString(text, "N"), " ")
}

func sameLines(t *testing.T, what, ours, theirs string) {
	t.Helper()
	if ours != theirs {
		t.Errorf("%s: brunt prints\n%s\nsysbench prints\n%s", what, ours, theirs)
	}
}

// TestSameReports prepares tables with sysbench and runs each test of both on them, with the same number of events.
// The lines are the same but for numbers; the numbers of statements by kind are the same.
func TestSameReports(t *testing.T) {
	for _, s := range databases(t) {
		size := []string{"--table-size=500", "--tables=2"}
		if p := theirs(t, slices.Concat([]string{"oltp_read_write"}, s.flags, size, []string{"prepare"})...); p.code != 0 {
			t.Fatal(p)
		}
		for i, row := range [][]string{
			{"oltp_read_write", "--histogram"},
			{"oltp_read_write", "--skip-trx", "--range-selects=off", "--delete-inserts=3", "--point-selects=2"},
			{"oltp_read_write", "--db-ps-mode=disable", "--percentile=99"},
			{"oltp_read_only", "--sum-ranges=2", "--percentile=0", "--verbosity=4"},
			{"oltp_write_only", "--debug", "--db-debug"},
			{"oltp_point_select", "--rand-seed=5", "--validate", "--forced-shutdown=9"},
			{"oltp_update_index", "--rand-type=pareto"},
			{"oltp_update_non_index", "--rand-type=gaussian", "--non-index-updates=2"},
			{"select_random_points", "--random-points=4", "--tables=1"},
			{"select_random_ranges", "--delta=9", "--tables=1", "--rate=500"},
			{"oltp_insert", "--max-time=7", "--max-requests=20"},
		} {
			if row[0] == "oltp_read_write" && len(row) > 3 && s.name == "pgsql" {
				row = row[:3] // three pairs of DELETE and INSERT outside of a transaction may be of one id
			}
			t.Run(s.name+" "+strings.Join(row, " "), func(t *testing.T) {
				// Without a seed, runs of sysbench within a second send the same values, and an UPDATE that changes
				// nothing isn't a write.
				args := slices.Concat(row[:1], s.flags, size, []string{fmt.Sprint("--rand-seed=", 20+i), "--events=20"},
					row[1:], []string{"run"})
				a, b := ours(t, args...), theirs(t, args...)
				if a.code != 0 || b.code != 0 || a.err != "" {
					t.Fatalf("brunt: %+v\nsysbench: %+v", a, b)
				}
				mine, his := counted.FindAllString(a.out, -1), counted.FindAllString(b.out, -1)
				if row[0] != "select_random_ranges" && !slices.Equal(mine, his) {
					t.Errorf("brunt counts %q, sysbench %q", mine, his)
				}
				sameLines(t, "the report", withoutBars(masked(a.out)), withoutBars(masked(b.out)))
			})
		}
	}
}

// withoutBars leaves out the lines of a histogram, and those of threads that begin and end in any order.
func withoutBars(text string) string {
	var kept []string
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "|") && !strings.HasPrefix(line, "DEBUG: Worker thread") &&
			!strings.HasPrefix(line, "DEBUG: Event gen") && !strings.HasPrefix(line, "Event limit exceeded") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// TestSameSchemaAndData compares the tables that both prepare: columns, types, defaults and indexes, the number of
// rows, the law of c, pad and k, and the next id.
func TestSameSchemaAndData(t *testing.T) {
	for _, s := range databases(t) {
		for _, options := range [][]string{{}, {"--auto-inc=off", "--create-secondary=off"}, {"--table-size=0"},
			{"--secondary", "--mysql-storage-engine=MyISAM"}} {
			if s.name == "pgsql" && len(options) == 2 && options[0] == "--secondary" {
				continue // not PostgreSQL's syntax, for sysbench either
			}
			t.Run(s.name+" "+strings.Join(options, " "), func(t *testing.T) {
				args := slices.Concat([]string{"oltp_read_write"}, s.flags,
					[]string{"--tables=2", "--table-size=9001", "--threads=3"}, options)
				var schemas, outputs [2]string
				for i, run := range []func(*testing.T, ...string) outcome{theirs, ours} {
					p := run(t, append(args, "prepare")...)
					if p.code != 0 {
						t.Fatalf("%+v", p)
					}
					// sysbench's threads write texts and ends of lines separately.
					ends := strings.NewReplacer("...", "...\n", "'Inserting", "'\nInserting", "'Creating", "'\nCreating")
					lines := strings.Split(ends.Replace(masked(p.out)), "\n")
					slices.Sort(lines)
					outputs[i] = strings.Join(slices.Compact(lines), "\n")
					schemas[i] = s.schema(t) + s.law(t)
					clean := run(t, append(args, "cleanup")...)
					if left := s.tables(t); left != "" || clean.code != 0 {
						t.Errorf("after cleanup: %s, %+v", left, clean)
					}
				}
				sameLines(t, "prepare", outputs[1], outputs[0])
				sameLines(t, "the schema", schemas[1], schemas[0])
			})
		}
	}
}

func (s *server) here() string {
	if s.name == "mysql" {
		return "table_schema = database()"
	}
	return "table_schema = 'public'"
}

func (s *server) tables(t *testing.T) string {
	return s.rows(t, "SELECT table_name FROM information_schema.tables WHERE "+s.here()+" AND table_name LIKE 'sbtest%'")
}

// schema describes the tables.
func (s *server) schema(t *testing.T) string {
	out := s.rows(t, "SELECT table_name, column_name, ordinal_position, column_default, is_nullable, data_type, "+
		"character_maximum_length FROM information_schema.columns WHERE "+s.here()+
		" AND table_name LIKE 'sbtest%' ORDER BY table_name, ordinal_position") + "\n"
	if s.name == "mysql" {
		out += s.rows(t, "SELECT table_name, index_name, non_unique, column_name, index_type "+
			"FROM information_schema.statistics WHERE table_schema = database() AND table_name LIKE 'sbtest%' "+
			"ORDER BY 1, 2") + "\n"
		return out + s.rows(t, "SELECT table_name, engine FROM information_schema.tables WHERE table_schema = database() "+
			"AND table_name LIKE 'sbtest%' ORDER BY 1")
	}
	return out + s.rows(t, "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' "+
		"AND tablename LIKE 'sbtest%' ORDER BY 1, 2")
}

// law describes the data: its shape, and that three quarters of k's values are those of the special distribution. The
// interval is ten standard deviations wide on either side.
func (s *server) law(t *testing.T) (out string) {
	match := "~"
	if s.name == "mysql" {
		match = "REGEXP"
	}
	for _, table := range []string{"sbtest1", "sbtest2"} {
		out += "\n" + s.rows(t, fmt.Sprintf("SELECT count(*), count(DISTINCT id), min(id), max(id), "+
			"count(DISTINCT c) > 0.99 * count(*), count(DISTINCT pad) > 0.99 * count(*), sum(CASE WHEN c %[2]s '^([0-9]{11}-){9}[0-9]{11}$' THEN 1 ELSE 0 END), "+
			"sum(CASE WHEN pad %[2]s '^([0-9]{11}-){4}[0-9]{11}$' THEN 1 ELSE 0 END), "+
			"sum(CASE WHEN k BETWEEN 4455 AND 4545 THEN 1 ELSE 0 END) BETWEEN 0.7 * count(*) AND 0.8 * count(*), "+
			"sum(CASE WHEN k < 1 OR k > 9001 THEN 1 ELSE 0 END) FROM %[1]s", table, match))
		if n := s.rows(t, "SELECT count(*) FROM "+table); n == "0" {
			continue
		}
		if def := s.schema(t); strings.Contains(def, "nextval") || s.name == "mysql" && s.increments(t, table) {
			s.rows(t, "INSERT INTO "+table+" (k, c, pad) VALUES (1, '', '')")
			out += "\n" + s.rows(t, "SELECT max(id) FROM "+table)
		}
	}
	return out
}

func (s *server) increments(t *testing.T, table string) bool {
	return s.rows(t, "SELECT count(*) FROM information_schema.columns WHERE table_schema = database() AND table_name = '"+
		table+"' AND extra = 'auto_increment'") == "1"
}

// TestDataDependsOnTheSeedAlone: the rows are the same for any number of threads.
func TestDataDependsOnTheSeedAlone(t *testing.T) {
	for _, s := range databases(t) {
		t.Run(s.name, func(t *testing.T) {
			var sums []string
			for _, flags := range [][]string{{"--rand-seed=4"}, {"--rand-seed=4", "--threads=4"}, {"--rand-seed=5"}} {
				args := slices.Concat([]string{"oltp_read_only"}, s.flags, []string{"--table-size=50000"}, flags)
				if p := ours(t, append(args, "prepare")...); p.code != 0 {
					t.Fatalf("%+v", p)
				}
				sum := "SELECT md5(string_agg(md5(id::text || k || c || pad), '' ORDER BY id)) FROM sbtest1"
				if s.name == "mysql" {
					sum = "SELECT bit_xor(crc32(concat(id, k, c, pad))), sum(crc32(concat(id, k, c, pad))) FROM sbtest1"
				}
				sums = append(sums, s.rows(t, sum))
				ours(t, append(args, "cleanup")...)
			}
			if sums[0] != sums[1] || sums[0] == sums[2] {
				t.Errorf("checksums %q: the first two have one seed, the last has another", sums)
			}
		})
	}
}

// TestTwentyQueries counts the statements of oltp_read_write by the server's own counters: for both programs, 20 of
// each transaction (10 + 4 SELECT, 2 UPDATE, DELETE, INSERT, BEGIN, COMMIT).
func TestTwentyQueries(t *testing.T) {
	s := databases(t)[0]
	args := slices.Concat([]string{"oltp_read_write"}, s.flags, []string{"--table-size=1000"})
	if p := ours(t, append(args, "prepare")...); p.code != 0 {
		t.Fatalf("%+v", p)
	}
	counters := func() map[string]int {
		all := map[string]int{}
		for _, row := range strings.Split(s.rows(t, "SHOW GLOBAL STATUS WHERE Variable_name IN "+
			"('Com_select', 'Com_update', 'Com_delete', 'Com_insert', 'Com_begin', 'Com_commit')"), "\n") {
			name, value, _ := strings.Cut(row, "|")
			n := 0
			fmt.Sscan(value, &n)
			all[name] = n
		}
		return all
	}
	const events = 50
	for name, run := range map[string]func(*testing.T, ...string) outcome{"sysbench": theirs, "brunt": ours} {
		before := counters()
		if p := run(t, append(args, fmt.Sprint("--events=", events), "--threads=1", "run")...); p.code != 0 {
			t.Fatalf("%+v", p)
		}
		after := counters()
		for counter, per := range map[string]int{"Com_update": 2, "Com_delete": 1, "Com_insert": 1, "Com_begin": 1,
			"Com_commit": 1} {
			if n := after[counter] - before[counter]; n != per*events {
				t.Errorf("%s: %s grows by %d, want %d", name, counter, n, per*events)
			}
		}
		// Sessions ask for variables, too.
		if n := after["Com_select"] - before["Com_select"]; n < 14*events || n > 14*events+12 {
			t.Errorf("%s: Com_select grows by %d, want %d", name, n, 14*events)
		}
	}
}

// TestSameFaults compares what both say about command lines that they refuse, and how they end.
func TestSameFaults(t *testing.T) {
	for _, line := range []string{
		"oltp_read_write", "oltp_read_write run --threads=0", "oltp_read_write run --threads=abc",
		"--events=9999999999 oltp_insert run", "oltp_read_write run --nosuch=1", "oltp_read_write --skip-trx=maybe run",
		"oltp_read_write bogus", "oltp_read_write run extra",
		"oltp_read_write --rand-type=foo run", "oltp_read_write --percentile=101 run",
		"oltp_read_write --percentile=0 --histogram run", "oltp_read_write --verbosity=9 run",
		"oltp_read_write --report-checkpoints=a run", "oltp_read_write --forced-shutdown=x run", "oltp_read_write -x run",
		"--version", "bulk_insert help", "--time=1x oltp_insert run", "oltp_insert run --threads=1 --report-interval=z",
		"--config-file=/nowhere oltp_read_write bogus", "oltp_insert --thread-stack-size=x run",
		"oltp_insert --thread-stack-size=64Q --rate=x run", "oltp_insert --thread-stack-size=x --forced-shutdown=x run",
		"oltp_insert --num-threads=2 --max-time=3 --rate=x run", "oltp_insert --max-requests=5 --max-time=3 bogus",
	} {
		t.Run(line, func(t *testing.T) {
			a, b := ours(t, strings.Fields(line)...), theirs(t, strings.Fields(line)...)
			sameLines(t, "standard output", maskedFault(a.out), maskedFault(b.out))
			sameLines(t, "standard error", a.err, b.err)
			if a.code != b.code {
				t.Errorf("exit code %d, sysbench's is %d", a.code, b.code)
			}
		})
	}
}

func maskedFault(text string) string {
	text = using.ReplaceAllString(text, "(using …)")
	return regexp.MustCompile(`/usr/share/sysbench/[a-z_]+\.lua:[0-9]+: `).ReplaceAllString(text, "")
}

// TestSameOptions compares the names, forms and defaults of all options in both programs' lists.
func TestSameOptions(t *testing.T) {
	declared := regexp.MustCompile(`(?m)^  --([a-z_-]+)(\S*) .*?(\[[^\[]*\])?$`)
	list := func(text string) (all []string) {
		for _, m := range declared.FindAllStringSubmatch(text, -1) {
			all = append(all, m[1]+m[2]+" "+m[3])
		}
		return all
	}
	for _, args := range [][]string{{"--help"}, {"oltp_read_write", "help"}, {"select_random_points", "help"},
		{"select_random_ranges", "help"}, {"oltp_insert", "help"}} {
		a, b := list(ours(t, args...).out), list(theirs(t, args...).out)
		if len(b) < 10 || !slices.Equal(a, b) {
			t.Errorf("%v: brunt has\n%s\nsysbench has\n%s", args, strings.Join(a, "\n"), strings.Join(b, "\n"))
		}
	}
}
