package pgbench

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"brunt/internal/dialect/command"
	"brunt/internal/dialect/pgbench/script"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/verdict"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile"
	"brunt/internal/record"
	"brunt/internal/report"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/runner"
	"brunt/test/testserver"
)

// asPgbench, in the environment, makes the test binary a pgbench.
const asPgbench = "BRUNT_TEST_AS_PGBENCH"

// actAsPgbench runs this process's command line if a test has started it for that.
func actAsPgbench() {
	if os.Getenv(asPgbench) == "" {
		return
	}
	s := &command.Env{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Program: "pgbench", Version: "test", Args: os.Args}
	if err := execute(s, os.Args[1:]); err != nil {
		if text := err.Error(); text != "" {
			fmt.Fprintln(os.Stderr, text)
		}
		os.Exit(exitcode.Of(err))
	}
	os.Exit(0)
}

// process starts a pgbench of ours.
func process(t *testing.T, stderr io.Writer, args ...string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Stderr = append(os.Environ(), asPgbench+"=1"), stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	return cmd
}

// trigger is a writer that closes a channel when a text has been written to it.
type trigger struct {
	text string
	seen bytes.Buffer
	hit  chan struct{}
}

func (w *trigger) Write(b []byte) (int, error) {
	had := strings.Contains(w.seen.String(), w.text)
	w.seen.Write(b)
	if !had && strings.Contains(w.seen.String(), w.text) {
		close(w.hit)
	}
	return len(b), nil
}

// patience is how long a test waits for what must happen.
const patience = 2 * time.Minute

// TestKilled kills an initialization and a load, and starts both again.
func TestKilled(t *testing.T) {
	s := environment(t)
	w := &trigger{text: "100000 of 400000 tuples", hit: make(chan struct{})}
	cmd := process(t, w, "-i", "-s", "4")
	select {
	case <-w.hit:
	case <-time.After(patience):
		t.Fatal("-i says nothing of its first rows")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if a := ours(newest, "-i", "-q", "-s", "1"); a.code != 0 {
		t.Fatalf("-i after one that was killed: %+v", a)
	}
	if n := s.Psql(t, "select count(*) from pgbench_accounts"); n != "100000" {
		t.Fatalf("%s accounts after -i", n)
	}

	bundle := filepath.Join(t.TempDir(), "bundle")
	var progress bytes.Buffer
	cmd = process(t, &progress, "-n", "-c", "2", "-T", "600", "--bundle", bundle)
	var run *record.Run
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		text, _ := os.ReadFile(filepath.Join(bundle, "intervals.ndjson")) // it isn't there at once
		if bytes.Count(text, []byte("\n")) >= 2 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the bundle has no intervals: %s", progress.String())
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	b, err := record.Open(record.OS{}, bundle)
	if err != nil {
		t.Fatal(err)
	}
	r, err := report.Open(b)
	if err != nil {
		t.Fatal(err)
	}
	if run = r.Run; run.Total.OK == 0 {
		t.Errorf("the record of a load that was killed has no transactions: %+v", run.Total)
	}
	if a := ours(newest, "-n", "-c", "2", "-t", "5"); a.code != 0 || !strings.Contains(a.out, "processed: 10/10") {
		t.Errorf("a load after one that was killed: %+v", a)
	}
}

// TestAbortedClients lets one client of four fail its first transaction. It is less than a hundredth of the
// transactions, but the client sends nothing more, so that the record is no better than pgbench's exit code.
func TestAbortedClients(t *testing.T) {
	environment(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "one.sql")
	text := "\\if :client_id = 2\n\\set x 1 / 0\n\\endif\nSELECT 1;\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, rate := range []string{"", "-R20000"} {
		bundle := filepath.Join(dir, "run"+rate)
		args := []string{"-n", "-c", "4", "-t", "100", "-f", file, "--bundle", bundle, "--threshold", "errors < 50%"}
		if rate != "" {
			args = append(args, rate)
		}
		s := &command.Env{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Program: "pgbench", Version: "test"}
		if err := execute(s, args); exitcode.Of(err) != exitAborted {
			t.Errorf("%s: %v", rate, err)
		}
		b, err := record.Open(record.OS{}, bundle)
		if err != nil {
			t.Fatal(err)
		}
		if v := b.Run.Verdict; v.Result != verdict.Fail || b.Run.Total.Aborted != 1 {
			t.Errorf("%s: %s because %q, %d clients aborted", rate, v.Result, v.Reasons, b.Run.Total.Aborted)
		}
	}
}

// TestPooler sends loads through a pooler that gives the sessions of the server to any client after each transaction:
// names of statements don't survive there.
func TestPooler(t *testing.T) {
	s := environment(t)
	if a := ours(newest, "-i", "-q"); a.code != 0 {
		t.Fatalf("%+v", a)
	}
	pooler := testserver.PgBouncer(t, s, 2)
	t.Setenv("PGPORT", strconv.Itoa(pooler.Port))
	for _, mode := range []string{script.Simple, script.Extended, script.Prepared} {
		for _, tier := range []string{"codec", "library"} {
			a := ours(newest, "-n", "-c", "6", "-t", "20", "-M", mode, "--tier", tier)
			if a.code != 0 || !strings.Contains(a.out, "processed: 120/120") {
				t.Errorf("-M %s, %s: %+v", mode, tier, a)
			}
		}
	}
}

// talked runs a command line without a terminal, with an input: our own if program is "".
func talked(t *testing.T, program, input string, args ...string) answer {
	t.Helper()
	var out, stderr bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	if program == "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd = exec.Command(self, append([]string{"--no-record"}, args...)...)
		cmd.Env = append(os.Environ(), asPgbench+"=1")
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	lines := slices.Compact(strings.SplitAfter(stderr.String(), "\n")) // libpq warns with each connection
	return answer{cmd.ProcessState.ExitCode(), masked(out.String()), strings.Join(lines, "")}
}

// TestServersAndPasswords compares the places where libpq looks for the server and for the password.
func TestServersAndPasswords(t *testing.T) {
	s := environment(t)
	s.Psql(t, `drop role if exists "a:b"; create role "a:b" login password 'se:c\ret'`)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"one.sql": "SELECT 1;\n",
		".pgpass": "# *:*:*:*:x\nelsewhere:*:*:*:x\n*:1:*:*:x\n*:*:none:*:x\n*:*:*:a\\:b:se\\:c\\\\ret\n",
		"wrong":   "*:*:*:*:wrong\n", "open": "*:*:*:*:" + s.Password + "\n",
		".pg_service.conf": fmt.Sprintf("# services\n[first]\nhost=nowhere.invalid\n[mine]\n  host=%s \nport=%d\n"+
			"user=%s\npassword=%s\nport=1\n[bad]\nhost\n[nested]\nservice=mine\n", s.Host, s.Port, s.User, s.Password),
	} {
		mode := os.FileMode(0o600)
		if name == "open" {
			mode = 0o640
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	program := testserver.Pgbench(t, newest) // found below the user's HOME
	t.Setenv("HOME", dir)
	wrong, open, missing := filepath.Join(dir, "wrong"), filepath.Join(dir, "open"), filepath.Join(dir, "missing")
	server := map[string]string{"PGPASSWORD": "", "PGUSER": "a:b"}
	elsewhere := func(variables ...string) map[string]string {
		all := map[string]string{"PGPASSWORD": "", "PGUSER": "", "PGHOST": "", "PGPORT": ""}
		for i := 0; i < len(variables); i += 2 {
			all[variables[i]] = variables[i+1]
		}
		return all
	}
	as := "user=a:b host=" + s.Host
	for i, c := range []struct {
		environment map[string]string
		args        []string
		input       string
	}{
		{server, nil, ""}, {server, []string{"-C"}, ""},
		{server, []string{as + " passfile=" + wrong}, ""},
		{map[string]string{"PGPASSWORD": "", "PGPASSFILE": wrong}, nil, ""},
		{map[string]string{"PGPASSWORD": "", "PGPASSFILE": open}, nil, s.Password + "\n"},
		{map[string]string{"PGPASSWORD": "", "PGPASSFILE": dir}, nil, s.Password + "\n"},
		{map[string]string{"PGPASSWORD": "", "PGPASSFILE": missing}, nil, "wrong\n"},
		{map[string]string{"PGPASSWORD": "", "PGPASSFILE": missing}, nil, ""},
		{elsewhere("PGSERVICE", "mine"), nil, ""},
		{elsewhere("PGSERVICE", "first"), []string{"service=mine dbname=" + s.Database}, ""},
		{elsewhere(), []string{"postgresql:///" + s.Database + "?service=mine"}, ""},
		{elsewhere("PGSERVICE", "first", "PGHOST", s.Host), nil, ""},
		{elsewhere("PGSERVICE", "bad"), nil, ""}, {elsewhere("PGSERVICE", "nested"), nil, ""},
		{elsewhere("PGSERVICE", "none"), nil, ""},
		{elsewhere("PGSERVICE", "mine", "PGSERVICEFILE", missing), nil, ""},
		{map[string]string{"PGHOSTADDR": "127.0.0.1", "PGHOST": "nowhere.invalid"}, nil, ""},
		{map[string]string{"PGHOSTADDR": "127.0.0.1"}, []string{"-h", "a,b"}, ""},
		{map[string]string{"PGHOST": "nowhere.invalid"}, []string{"hostaddr=127.0.0.1"}, ""},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			for name, value := range c.environment {
				t.Setenv(name, value)
			}
			args := append([]string{"-n", "-t", "1", "-f", filepath.Join(dir, "one.sql")}, c.args...)
			want, got := talked(t, program, c.input, args...), talked(t, "", c.input, args...)
			if got != want {
				t.Errorf("%v %q:\n got %+v\nwant %+v", c.environment, c.args, got, want)
			}
		})
	}
}

// What a connection string says of TLS and of the time for connecting is in the plan, also if the environment says the
// rest.
func TestConnectionStringsAreKept(t *testing.T) {
	o, err := Parse(&Input{Args: []string{"-S", "host=h connect_timeout=7 sslrootcert=ca.pem"}, Now: time.Now,
		Getenv: func(string) string { return "" }, User: func() string { return "me" }, Info: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.Plan(func(name string) string { return map[string]string{"PGSSLMODE": "require"}[name] },
		func() string { return "me" })
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.Settings.ConnectTimeout, 7*time.Second; got != want {
		t.Errorf("connecting may take %s, want %s", got, want)
	}
	if got, want := p.Target.TLS, (plan.TLS{Enabled: true, CAFile: "ca.pem"}); got != want {
		t.Errorf("TLS is %+v, want %+v", got, want)
	}
}

var (
	retries   = regexp.MustCompile(`total number of retries: (\d+)`)
	latencies = regexp.MustCompile(`(?m)^ +([\d.]+) +\d+ +(.*)$`)
)

// TestRetriesEndAtTheLimit compares a transaction that always fails with the real pgbench's, which begins no try when
// the latency limit has passed.
func TestRetriesEndAtTheLimit(t *testing.T) {
	environment(t)
	file := filepath.Join(t.TempDir(), "fails.sql")
	text := `DO $$ BEGIN PERFORM pg_sleep(0.02); RAISE EXCEPTION 'no' USING ERRCODE = '40001'; END $$;` + "\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	line := []string{"-n", "-t", "1", "-f", file, "-L", "300", "--max-tries=0"}
	want := original(t, newest, line...)
	const most = 300/20 + 1 // 20 ms each, and the last one begins within 300 ms
	for _, got := range []answer{want, ours(newest, line...), ours(newest, append(line, "--tier=library")...)} {
		n := 0
		if m := retries.FindStringSubmatch(got.out); m != nil {
			n, _ = strconv.Atoi(m[1])
		}
		if n < 1 || n > most || !strings.Contains(got.out, "number of failed transactions: 1 (100.000%)") ||
			got.code != want.code {
			t.Errorf("%d retries, exit code %d (pgbench's is %d):\n%s%s", n, got.code, want.code, got.out, got.stderr)
		}
	}
}

// TestTimesOfCommands compares which backslash commands take time.
func TestTimesOfCommands(t *testing.T) {
	environment(t)
	file := filepath.Join(t.TempDir(), "commands.sql")
	text := "\\set a 1\n\\sleep 30 ms\n\\setshell b sleep 0.03; echo 1\n\\if :a = 1\nSELECT 1;\n\\else\nSELECT 2;\n\\endif\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	line := []string{"-n", "-t", "2", "-r", "-f", file}
	for who, a := range map[string]answer{"pgbench": original(t, newest, line...), "codec": ours(newest, line...),
		"library": ours(newest, append(line, "--tier=library")...)} {
		times := map[string]float64{}
		for _, m := range latencies.FindAllStringSubmatch(a.out, -1) {
			times[m[2]], _ = strconv.ParseFloat(m[1], 64)
		}
		if a.code != 0 || len(times) != 8 {
			t.Fatalf("%s: %+v", who, a)
		}
		for command, ms := range times {
			long := strings.HasPrefix(command, `\sleep`) || strings.HasPrefix(command, `\setshell`)
			if long && ms < 30 || command == "SELECT 2;" && ms != 0 {
				t.Errorf("%s: %s takes %v ms", who, command, ms)
			}
		}
	}
}

// TestConverted compares what a command line and its plan change: with one seed, the same rows, whatever the scale of
// the server's tables is.
func TestConverted(t *testing.T) {
	s := environment(t)
	for _, scale := range []string{"1", "3"} {
		history := func(run func()) string {
			if a := ours(newest, "-i", "-q", "-s", scale); a.code != 0 {
				t.Fatalf("%+v", a)
			}
			run()
			return s.Psql(t, "SELECT tid, bid, aid, delta FROM pgbench_history ORDER BY 1, 2, 3, 4")
		}
		line := []string{"-n", "-c", "2", "-t", "20", "--random-seed=9", "-M", "prepared"}
		want := history(func() { ours(newest, line...) })
		text, _ := convert(t, line)
		p, err := planfile.Read("plan.yml", []byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		var out, errs bytes.Buffer
		env := &command.Env{In: strings.NewReader(""), Out: &out, Err: &errs, Version: "test"}
		got := history(func() {
			l := &loadtest.Test{Plan: p, Record: loadtest.Record{None: true}, Quiet: true, Process: env.Process(),
				Hooks: (&loadtest.Report{}).Hooks, Options: runner.Options{NoSetup: true}}
			if err := l.Perform(&out, &errs); exitcode.Of(err) != 0 && exitcode.Of(err) != exitcode.Invalid {
				t.Errorf("%v\n%s%s", err, out.String(), errs.String())
			}
		})
		if got != want || strings.Count(want, "\n") != 39 {
			t.Errorf("scale %s: the plan has made\n%s\nand the command\n%s\nby\n%s", scale, got, want, text)
		}
	}
	// The tables' scale counts, as in pgbench, and -s only if they can't be asked.
	if text, said := convert(t, []string{"-s", "7"}); !strings.Contains(text, `scale: "3"`) ||
		!strings.Contains(said, "scale option ignored, using count from pgbench_branches table (3)") {
		t.Errorf("-s 7 of tables of scale 3: %s\n%s", said, text)
	}
	text, _ := convert(t, []string{"-s", "7", "-h", "127.0.0.1", "-p", "1"})
	if !strings.Contains(text, `scale: "7"`) || !strings.Contains(text, "the plan has 7, see scripts.options.scale") {
		t.Errorf("-s 7 without a server: %s", text)
	}
}

// convert returns the plan of a command line, and what was said on standard error.
func convert(t *testing.T, line []string) (plan, said string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := &command.Env{In: strings.NewReader(""), Out: &out, Err: &errs, Version: "test", PlanOnly: true,
		Args: append([]string{"brunt", "pgbench"}, line...)}
	if err := execute(env, line); err != nil {
		t.Fatal(err, errs.String())
	}
	return out.String(), errs.String()
}
