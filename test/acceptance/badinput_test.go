package acceptance_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/test/shell"
)

// refused runs a plan that must be refused with exit code 104, no standard output and no bundle. It returns the
// message.
func refused(t *testing.T, plan string, flags ...string) string {
	t.Helper()
	results := filepath.Join(t.TempDir(), "results")
	args := append([]string{"run", "-c", plan, "--proto", "sqlite", "--results", results}, flags...)
	o := brunt(t, args...)
	if o.code != 104 || o.out != "" {
		t.Errorf("exit %d, want 104\n%s%s", o.code, o.out, o.err)
	}
	if entries, _ := os.ReadDir(results); len(entries) > 0 {
		t.Errorf("it left %v", entries)
	}
	return o.err
}

func TestBadPlans(t *testing.T) {
	t.Parallel()
	table := func(column string) string {
		return "tables_schema:\n  - name: t\n    row_count: 100\n    primary_keys: [id]\n    columns:\n" +
			"      - {name: id, type: Integer, range: [1, 100], unique: true}\n" + column
	}
	const query = "queries:\n  - sql: select 1\n"
	for _, c := range []struct {
		name, plan string
		at         string // position of the first fault
		says       []string
	}{
		{"empty", "", "1:1", []string{"empty"}},
		{"only a comment", "# nothing\n", "", []string{"empty"}},
		{"a list", "- 1\n", "1:1", nil},
		{"wrong type", "queries:\n  - sql: [1]\n", "2:10", nil},
		{"wrong row count", table("") + "    row_count: many\n" + query, "", nil},
		{"duplicate key", "seed: 1\nseed: 2\n" + query, "2:1", []string{"seed", "twice"}},
		{"unknown key", "quieres:\n  - sql: select 1\n", "1:1", []string{"quieres", "queries"}},
		{"unique range too small", table("      - {name: n, type: Integer, range: [1, 99], unique: true}\n") + query, "7:",
			[]string{"99", "100"}},
		{"overflowing range", table("      - {name: n, type: Integer, range: [0, 99999999999999999999]}\n") + query,
			"7:", nil},
		{"range upside down", table("      - {name: n, type: Integer, range: [9, 1]}\n") + query, "7:", nil},
		{"unknown column in the key", strings.Replace(table("")+query, "primary_keys: [id]", "primary_keys: [idd]", 1), "4:",
			[]string{"idd"}},
		{"unknown column in a reference", table("") +
			"queries:\n  - sql: select $1\n    params: [{type: Reference, table: t, column: nope}]\n", "9:", []string{"nope"}},
		{"too few parameters", "queries:\n  - sql: select $1, $2\n    params: [{type: Boolean}]\n", "", []string{"$2"}},
		{"binary", "\x00\x01\x02\xff", "", nil},
		{"password inside", "target: {protocol: pg, password: " + secret + "}\n" + query, "1:", []string{"password"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := shell.File(t, "plan.yml", c.plan)
			said := refused(t, path)
			if want := "brunt: " + path + ":" + c.at; !strings.HasPrefix(said, want) {
				t.Errorf("it doesn't begin with %q:\n%s", want, said)
			}
			for _, w := range c.says {
				if !strings.Contains(said, w) {
					t.Errorf("it doesn't say %q:\n%s", w, said)
				}
			}
			if strings.Contains(said, secret) || strings.Contains(said, "goroutine") {
				t.Errorf("it says too much:\n%s", said)
			}
		})
	}
}

func TestHugePlans(t *testing.T) {
	t.Parallel()
	t.Run("bytes", func(t *testing.T) {
		oneLine(t, refused(t, shell.File(t, "plan.yml", "# "+strings.Repeat("x", 17<<20))), "16777216")
	})
	t.Run("endless input", func(t *testing.T) { oneLine(t, refused(t, "/dev/zero")) })
	t.Run("aliases that multiply", func(t *testing.T) {
		var b bytes.Buffer
		b.WriteString("x-0: &a0 [1, 2, 3, 4, 5, 6, 7, 8, 9]\n")
		for i := 1; i < 12; i++ {
			fmt.Fprintf(&b, "x-%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), ", "))
		}
		fmt.Fprintf(&b, "queries: *a11\n")
		if said := refused(t, shell.File(t, "plan.yml", b.String())); len(said) > 1<<20 {
			t.Errorf("it says %d bytes", len(said))
		}
	})
	t.Run("depth", func(t *testing.T) {
		oneLine(t, refused(t, shell.File(t, "plan.yml", "queries: "+strings.Repeat("[", 5000))))
	})
	t.Run("many faults", func(t *testing.T) {
		said := refused(t, shell.File(t, "plan.yml", "queries:\n"+strings.Repeat("  - {sqll: select 1}\n", 2000)))
		if lines := strings.Count(said, "\n"); lines > 1001 {
			t.Errorf("it says %d lines", lines)
		}
	})
	t.Run("a valid one with 300 queries", func(t *testing.T) {
		plan := shell.File(t, "plan.yml", "queries:\n"+strings.Repeat("  - {sql: select 1, count: 1}\n", 300))
		o := load(t, sqlite(t).with("run", "-c", plan, "--quiet")...)
		if !judged(o.code) || o.run == nil || o.run.Total.OK != 300 {
			t.Errorf("exit %d\n%s", o.code, o.err)
		}
	})
}

// A file that never ends is refused wherever a tool takes one.
func TestEndlessFilesOfTools(t *testing.T) {
	t.Parallel()
	const endless, nobody = "/dev/zero", "http://127.0.0.1:1/"
	for _, args := range [][]string{
		{"convert", endless},
		{"jmeter", "-n", "-t", endless},
		{"tank", "-c", endless},
		{"ghz", "--config", endless, "127.0.0.1:1"},
		{"ghz", "--insecure", "--call", "a.B/C", "-D", endless, "127.0.0.1:1"},
		{"grpc", "127.0.0.1:1", "a.B/C", "-d", "@" + endless},
		{"wrk", "-s", endless, nobody},
		{"ab", "-p", endless, "-T", "text/plain", nobody},
		{"hey", "-m", "POST", "-D", endless, nobody},
		{"vegeta", "attack", "-targets", endless},
		{"http", endless},
		{"ycsb", "load", "redis", "-P", endless},
		{"cassandra-stress", "user", "profile=" + endless, "ops(insert=1)", "n=1"},
	} {
		t.Run(args[0], func(t *testing.T) {
			o := brunt(t, args...)
			if o.code != 104 || o.out != "" {
				t.Errorf("exit %d, want 104\n%s%s", o.code, o.out, o.err)
			}
			oneLine(t, o.err)
		})
	}
	for _, args := range [][]string{
		{"ghz", "--insecure", "--call", "a.B/C", "-d", "@", "127.0.0.1:1"},
		{"ghz", "--insecure", "--call", "a.B/C", "-b", "127.0.0.1:1"},
	} {
		t.Run("standard input of "+strings.Join(args, " "), func(t *testing.T) {
			in, err := os.Open(endless)
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			o := bruntWith(t, in, args...)
			if o.code != 104 || o.out != "" {
				t.Errorf("exit %d, want 104\n%s%s", o.code, o.out, o.err)
			}
			oneLine(t, o.err)
		})
	}
}

// A port without a listener, and a port at which another program listens, are reported as unreachable.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	l.Close()
	plan := shell.File(t, "plan.yml", "queries: [{sql: select 1}]\n")
	for _, proto := range []string{"pg", "iproto", "redis", "http"} {
		t.Run(proto, func(t *testing.T) {
			p := plan
			switch proto {
			case "redis":
				p = shell.File(t, "plan.yml", "queries: [{command: [PING]}]\n")
			case "http":
				p = shell.File(t, "plan.yml", "queries: [{http: /}]\n")
			}
			results := filepath.Join(t.TempDir(), "results")
			o := brunt(t, "rate", "-c", p, "--proto", proto, "-a", closed, "--rate", "10", "--duration", "1s", "--results",
				results)
			if o.code != 108 || o.out != "" {
				t.Errorf("exit %d, want 108\n%s", o.code, o.out)
			}
			oneLine(t, o.err, closed, "refused")
			if entries, _ := os.ReadDir(results); len(entries) > 0 {
				t.Errorf("it left %v", entries)
			}
		})
	}
	t.Run("another server", func(t *testing.T) {
		other := tarantool(t).addr
		o := brunt(t, "rate", "-c", plan, "--proto", "pg", "-a", other, "--rate", "10", "--results", t.TempDir())
		if o.code != 108 {
			t.Errorf("exit %d, want 108", o.code)
		}
		oneLine(t, o.err, other)
	})
	t.Run("wrong password", func(t *testing.T) {
		for _, s := range []stand{postgres(t), tarantool(t)} {
			s.password = "wrong-" + secret
			o := brunt(t, s.with("rate", "-c", plan, "--rate", "10", "--results", t.TempDir())...)
			if o.code != 108 || strings.Contains(o.err, secret) {
				t.Errorf("%s: exit %d, want 108", s.proto, o.code)
			}
			oneLine(t, o.err, s.addr, "assword")
		}
	})
}

// If a query always fails, a threshold stops the run, and the record shows the cause.
func TestQueryThatAlwaysFails(t *testing.T) {
	t.Parallel()
	for _, s := range []stand{postgres(t), tarantool(t)} {
		cause := map[string]string{"pg": "nowhere", "iproto": "NOWHERE"}[s.proto]
		plan := shell.File(t, "plan.yml",
			"queries: [{name: bad, sql: select * from nowhere, count: 20000, expect_error: true}]\n")
		for _, tier := range []string{"codec", "library"} {
			t.Run(s.proto+" "+tier, func(t *testing.T) {
				o := load(t, s.with("queue", "-c", plan, "--error-threshold", "10", "--tier", tier, "--interval", "100ms",
					"--quiet")...)
				if o.code != 99 && o.code != 98 || o.run == nil {
					t.Fatalf("exit %d, want 99\n%s%s", o.code, o.out, o.err)
				}
				if o.run.Aborted.IsZero() || o.run.Total.OK != 0 || o.run.Total.Failed == 0 || o.run.Total.Done >= 20000 {
					t.Errorf("aborted %q, %d ok, %d failed", o.run.Aborted, o.run.Total.OK, o.run.Total.Failed)
				}
				if n := o.run.Total.Errors[protocol.Server]; n != o.run.Total.Failed {
					t.Errorf("errors by class: %v", o.run.Total.Errors)
				}
				if !strings.Contains(o.out, "FAIL") && o.code == 99 || !strings.Contains(o.out, cause) {
					t.Errorf("the report doesn't say what failed:\n%s", o.out)
				}
				samples := 0
				b := recordtest.Open(t, o.dir)
				b.Errors(func(e *record.ErrorSample) error { samples++; return nil })
				if samples == 0 || samples > 100 {
					t.Errorf("%d samples of errors, want 1 to 100", samples)
				}
			})
		}
	}
}

// A statement that the server rejects is reported as an error of the plan, before the load.
func TestStatementThatCannotBePrepared(t *testing.T) {
	t.Parallel()
	plan := shell.File(t, "plan.yml", "queries: [{name: bad, sql: select * from nowhere, count: 10}]\n")
	for _, s := range []stand{postgres(t), tarantool(t)} {
		for _, tier := range []string{"codec", "library"} {
			o := brunt(t, s.with("queue", "-c", plan, "--tier", tier, "--quiet", "--results", t.TempDir())...)
			if o.code != 104 || o.out != "" {
				t.Errorf("%s: exit %d, want 104\n%s", tier, o.code, o.out)
			}
			oneLine(t, strings.ToLower(o.err), "bad", "nowhere")
			if strings.Contains(o.err, "credentials") {
				t.Errorf("%s: misleading advice: %s", tier, o.err)
			}
		}
	}
}

// A query that is never answered costs its timeout, and the run ends.
func TestQueryThatHangs(t *testing.T) {
	t.Parallel()
	plan := shell.File(t, "plan.yml", "queries: [{name: hang, sql: select pg_sleep(1000)}]\n")
	s := postgres(t)
	for _, tier := range []string{"codec", "library"} {
		t.Run(tier, func(t *testing.T) {
			o := load(t, s.with("rate", "-c", plan, "--rate", "10", "--duration", "2s", "--vu", "4", "--timeout", "300ms",
				"--tier", tier, "--quiet")...)
			if o.code != 99 && o.code != 98 || o.run == nil || o.run.Total.OK != 0 ||
				o.run.Total.Done+o.run.Total.Dropped != 20 {
				t.Fatalf("exit %d, want 99\n%s%s", o.code, o.out, o.err)
			}
			// On a busy machine connecting again, for which there is no more time, may fail too.
			timeouts, unconnected := o.run.Total.Errors[protocol.Timeout], o.run.Total.Errors[protocol.Connect]
			if timeouts == 0 || timeouts+unconnected != o.run.Total.Failed {
				t.Errorf("errors by class: %v, want nothing but timeouts", o.run.Total.Errors)
			}
			if least := o.run.Total.FailedResponse.MinNs; unconnected == 0 && least < 300e6 {
				t.Errorf("the earliest gave up after %d ns, before its timeout", least)
			}
		})
	}
}
