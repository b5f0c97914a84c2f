package pgbench

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"brunt/internal/dialect/command"
	"brunt/internal/dialect/pgbench/script"
	"brunt/internal/judge/exitcode"
	planscript "brunt/internal/plan/script"
	"brunt/test/testserver"
)

var servers testserver.Pool

func TestMain(m *testing.M) {
	planscript.Register(script.Language())
	actAsPgbench()
	os.Exit(servers.Run(m))
}

// answer is what a program said.
type answer struct {
	code        int
	out, stderr string
}

// ours runs a command line in this process, as if brunt had been called as pgbench.
func ours(version int, args ...string) answer {
	var out, stderr bytes.Buffer
	s := &command.Env{In: strings.NewReader(""), Out: &out, Err: &stderr, Program: "pgbench", Version: "test",
		Args: append([]string{"pgbench"}, args...)}
	err := execute(s, append([]string{"--pgbench-version", strconv.Itoa(version), "--no-record"}, args...))
	return answer{exitcode.Of(err), out.String(), stderr.String()}
}

// original runs a command line by a real pgbench.
func original(t *testing.T, version int, args ...string) answer {
	t.Helper()
	var out, stderr bytes.Buffer
	cmd := exec.Command(testserver.Pgbench(t, version), args...)
	cmd.Stdout, cmd.Stderr = &out, &stderr
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	err := cmd.Run()
	a := answer{0, out.String(), stderr.String()}
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		a.code = e.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	a.stderr = strings.ReplaceAll(a.stderr, testserver.Pgbench(t, version), "pgbench") // getopt prints the path
	return a
}

// optionFaults are command lines that pgbench refuses, most of them those of PostgreSQL's own suite (its file
// 002_pgbench_no_server.pl). The real programs say what they must lead to.
var optionFaults = []string{
	"-h home -p 5432 -U calvin --debug --bad-option", "-h home -Z", "-c", "--client", "--par 1", "--log=x",
	"-f no-such-file", "-b no-such-builtin", "--builtin=select-only@one", "-b select-only@-1", "-b select-only@",
	strings.TrimSpace(strings.Repeat("-S ", 129)), "-c three", "-c 0", "-c 1x", "-c 99999999999", "-j eleven", "-i -s two",
	"-i -s 0", "-t zil", "-t 0", "-T ten", "-N -l --aggregate-interval=5 --log-prefix=notused -t 1000 -T 1",
	"-P 1 --progress-timestamp -l --sampling-rate=0.001 -T 10 -t 1000", "--define foobla", "--define foo=", "-D =1",
	"-F 1", "-F x", "-M no-such-mode", "--progress=0", "--rate=0.0", "--rate=-1", "--latency-limit=0.0",
	"--sampling-rate=0", "--sampling-rate=1.5", "--aggregate-interval=-3", "-b se@0 -b si@0 -b tpcb@0", "-i -S",
	"-S -F 90", "-b s", "--progress-timestamp", "-I dtg", "-i -I dta", "--random-seed=one", "--random-seed=-",
	"-i --partition-method=BAD", "-i --partitions -1", "-i --partition-method=hash", "--max-tries -10", "--max-tries 0",
	"--sampling-rate=0.01", "-l --sampling-rate=0.1 --aggregate-interval=3", "--aggregate-interval=3", "--log-prefix=x",
	"-l -T 1 --aggregate-interval=3", "-l -T 5 --aggregate-interval=3", "-S a b c", "-I x", "--show-script s",
	"--random-seed=7 -c 0", "-c 0 --random-seed=7", "-T 1 -U x -h 127.0.0.1 -p 1", "-i -U x -h 127.0.0.1 -p 1",
	"-T 1 -U x -h /no/such/folder -p 1",
}

// TestOptionFaults compares exit codes and messages with those of each version.
func TestOptionFaults(t *testing.T) {
	for _, version := range testserver.PgbenchVersions() {
		for _, line := range optionFaults {
			args := strings.Fields(line)
			want, got := original(t, version, args...), ours(version, args...)
			if got != want || got.code != exitError {
				t.Errorf("pgbench %d %.80s:\n got %+v\nwant %+v", version, line, got, want)
			}
		}
	}
}

// TestVersionsOfOptions checks options that some versions have.
func TestVersionsOfOptions(t *testing.T) {
	for _, version := range testserver.PgbenchVersions() {
		for _, line := range []string{"--exit-on-abort --bad-option", "-d x --bad-option", "-b list", "--show-script se",
			"--show-script tpcb", "--continue-on-error"} {
			args := strings.Fields(line)
			if want, got := original(t, version, args...), ours(version, args...); got != want {
				t.Errorf("pgbench %d %s:\n got %+v\nwant %+v", version, line, got, want)
			}
		}
		got := ours(version, "-V")
		if want := original(t, version, "-V"); !strings.HasPrefix(want.out, strings.TrimSpace(got.out)) {
			t.Errorf("pgbench %d says that it is %q, want %q", version, got.out, want.out)
		}
	}
}

// scriptFaults are scripts that pgbench refuses: those of the same file.
var scriptFaults = []string{`\if 1`, `\elif 1`, `\else`, `\endif`, "\\if 1\n\\else\n\\elif 0\n\\endif",
	"\\if 1\n\\else\n\\else\n\\endif", "\\if\n\\endif\n", "\\if 0\n\\elif +\n\\endif\n", "\\if 0\n\\else BAD\n\\endif\n",
	"\\if 0\n\\endif BAD\n", `\set i least()`, `\set i greatest()`, `\set i hash()`, `\set i hash(1,2,3)`,
	`\set i 100000000000000000000`, `\set d 1.0E309`, `\set d .1E310`, "\\set i 1 +\n", `\set i permute(1)`,
	`\set i permute(1, 2, 3, 4)`, "", "-- nothing\n", "SELECT 1;\n\\unknown\n", "SELECT 1;\n\\syncpipeline x"}

func TestScriptFaults(t *testing.T) {
	file := filepath.Join(t.TempDir(), "script.sql")
	for _, version := range testserver.PgbenchVersions() {
		for _, text := range scriptFaults {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			want, got := original(t, version, "-f", file), ours(version, "-f", file)
			if got != want || got.code != exitError {
				t.Errorf("pgbench %d with %q:\n got %+v\nwant %+v", version, text, got, want)
			}
		}
	}
	// A script of a newer version.
	if err := os.WriteFile(file, []byte("\\startpipeline\nSELECT 1;\n\\syncpipeline\n\\endpipeline\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if want, got := original(t, 16, "-f", file), ours(16, "-f", file); got != want || got.code != exitError {
		t.Errorf("a script of version 17:\n got %+v\nwant %+v", got, want)
	}
}
