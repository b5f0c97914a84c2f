// Package picodata_test is the acceptance suite for Picodata: what brunt does there, over both
// protocols. `make test-picodata` runs it against a cluster:
//
//	BRUNT_PICODATA_PG=user:password@host:4327[,host:port…]      a user created USING md5
//	BRUNT_PICODATA_IPROTO=user:password@host:3301[,host:port…]  a user created USING chap-sha1
//
// Without them it runs against a Tarantool and a PostgreSQL that speak as Picodata does.
package picodata_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"brunt/internal/cli"
	"brunt/internal/record"
)

// requiredVariable is set by make test-picodata: no stand-ins then.
const requiredVariable = "BRUNT_PICODATA_REQUIRED"

// If this variable is set, the test binary runs as brunt, because k6 ends its process.
const roleVariable = "BRUNT_PICODATA_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) != "" {
		os.Exit(cli.Main("test", os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	// Tests that run in parallel with others mostly wait.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// cluster is a server, or several, as the command line names them.
type cluster struct {
	proto, user, password, addresses string
	flags                            []string
	standIn                          bool
	behind, room                     *atomic.Int64 // of the stand-in for pg; see pgProxy
}

func (c cluster) with(args ...string) []string {
	args = append(args, "--proto", c.proto, "-a", c.addresses, "-u", c.user)
	if c.password != "" {
		args = append(args, "-p", c.password)
	}
	return append(args, c.flags...)
}

// clusterOf reads a variable; without it, and if that is allowed, standIn stands in.
func clusterOf(t *testing.T, proto, variable string, standIn func(*testing.T) cluster) cluster {
	t.Helper()
	value := os.Getenv(variable)
	if value == "" {
		if os.Getenv(requiredVariable) != "" {
			t.Fatalf(
				"%s isn't set: give user:password@host:port[,host:port…] of a Picodata cluster, as in\n  BRUNT_PICODATA_PG=load:secret@10.0.0.1:4327 BRUNT_PICODATA_IPROTO=iload:secret@10.0.0.1:3301 make test-picodata", variable)
		}
		return standIn(t)
	}
	credentials, addresses, ok := strings.Cut(value, "@")
	user, password, _ := strings.Cut(credentials, ":")
	if !ok || user == "" || addresses == "" {
		t.Fatalf("%s=…@%s isn't of the form user:password@host:port[,host:port…]", variable, addresses)
	}
	return cluster{proto: proto, user: user, password: password, addresses: addresses}
}

// The variables that name the user and the addresses of a real cluster.
const (
	pgVariable     = "BRUNT_PICODATA_PG"
	iprotoVariable = "BRUNT_PICODATA_IPROTO"
)

// onClusters runs a test over both protocols. Each stand-in belongs to one test, so tests on stand-ins run in parallel.
// On a real cluster they would use the same tables.
func onClusters(t *testing.T, test func(t *testing.T, c cluster)) {
	if os.Getenv(pgVariable) == "" && os.Getenv(iprotoVariable) == "" {
		t.Parallel()
	}
	t.Run("pg", func(t *testing.T) { test(t, clusterOf(t, "pg", pgVariable, pgStandIn)) })
	t.Run("iproto", func(t *testing.T) { test(t, clusterOf(t, "iproto", iprotoVariable, iprotoStandIn)) })
}

type outcome struct {
	code     int
	out, err string
	run      *record.Run
}

// call runs a program's command in this process.
func call(t *testing.T, program string, args ...string) outcome {
	t.Helper()
	var out, err bytes.Buffer
	code := cli.Main("test", append([]string{program}, args...), strings.NewReader(""), &out, &err)
	t.Logf("%s %s: exit %d\n%s%s", program, args[0], code, out.String(), err.String())
	return outcome{code: code, out: out.String(), err: err.String()}
}

func brunt(t *testing.T, args ...string) outcome {
	t.Helper()
	return call(t, "brunt", args...)
}

// load runs a load and reads its record.
func load(t *testing.T, args ...string) outcome {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bundle")
	o := brunt(t, append(args, "--quiet", "--bundle", dir)...)
	b, err := record.Open(record.OS{}, dir)
	if err != nil {
		return o
	}
	if o.run, _, err = b.Result(); err != nil {
		t.Fatal(err)
	}
	return o
}

// judged is the exit code of a run with whose server nothing was wrong.
func judged(o outcome) bool { return (o.code == 0 || o.code == 98) && o.run != nil }

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plan.yml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// up creates a plan's tables and drops them after the test.
func up(t *testing.T, c cluster, plan string, more ...string) outcome {
	t.Helper()
	t.Cleanup(func() { brunt(t, c.with("schema", "down", "-c", plan, "--force", "--timeout", "20s")...) })
	return brunt(t, append(c.with("schema", "up", "-c", plan, "--quiet", "--checkpoint", t.TempDir()+"/load"), more...)...)
}

func warned(run *record.Run, id string) string {
	for _, w := range run.Warnings {
		if w.ID == id {
			return w.Text.String()
		}
	}
	return ""
}

// k6 runs one iteration of a script whose db is the cluster, in a process of its own.
func k6(t *testing.T, c cluster, body string) outcome {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	target := map[string]any{
		"protocol": c.proto, "addresses": strings.Split(c.addresses, ","), "user": c.user, "password": c.password,
	}
	for i := 0; i+1 < len(c.flags); i += 2 {
		if c.flags[i] == "--database" {
			target["database"] = c.flags[i+1]
		} else if name, value, ok := strings.Cut(c.flags[i+1], "="); ok && c.flags[i] == "-o" {
			target["options"] = map[string]any{name: value}
		}
	}
	text, err := json.Marshal(target)
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "script.js")
	err = os.WriteFile(script, []byte(`
		import { check } from "k6";
		import brunt from "k6/x/brunt";
		const db = brunt.open(`+string(text)+`);
		const is = (what, got, want) => check(got, { [what + ": " + got]: (g) => String(g) === String(want) });
		const caught = (f) => { try { return f() } catch (e) { return e } };
		export const options = { iterations: 1, thresholds: { checks: ["rate == 1"] } };
		export default function () { `+body+` }`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	var out, printed bytes.Buffer
	cmd := exec.CommandContext(t.Context(), self, "k6", "run", "--quiet", "--no-color", script)
	cmd.Env = append(os.Environ(), roleVariable+"=brunt", "BRUNT_BUNDLE="+filepath.Join(t.TempDir(), "bundle"))
	cmd.Stdout, cmd.Stderr = &out, &printed
	var ended *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	code := cmd.ProcessState.ExitCode()
	t.Logf("brunt k6 run: exit %d\n%s%s", code, out.String(), printed.String())
	return outcome{code: code, out: out.String(), err: printed.String()}
}
