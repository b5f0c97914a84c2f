package script

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	planscript "brunt/internal/plan/script"
	"brunt/internal/protocol"
	"brunt/internal/protocol/postgres"
	"brunt/test/testserver"
)

var servers testserver.Pool

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

// realPgbench is a real pgbench.
type realPgbench struct {
	version int
	path    string
}

// realPgbenches returns the programs that the tests compare with.
func realPgbenches(t *testing.T) (list []realPgbench) {
	t.Helper()
	for _, version := range testserver.PgbenchVersions() {
		list = append(list, realPgbench{version: version, path: testserver.Pgbench(t, version)})
	}
	return list
}

// trial is a run of scripts with the same options by pgbench and by this package.
type trial struct {
	scripts   []string // "weight\ntext" if the text begins with a digit
	options   Options
	arguments []string // more of pgbench's, which don't concern this package
	perClient int      // transactions
	since     int      // the first version that has what is tried
}

// printed is what pgbench said about its clients.
type printed struct {
	lines   []string // debug output and messages, without the program's name
	choices []string // with -l, "client transaction script", sorted
	fault   string   // everything, if the script has a fault
	status  int      // exit status
}

// said returns the lines of pgbench's output on stderr that a session can say: they begin in a known way.
func said(text string) (lines []string) {
	for line := range strings.SplitSeq(text, "\n") {
		for _, prefix := range [...]string{"pgbench: error: ", "pgbench: client"} {
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				if strings.HasPrefix(prefix, "pgbench: client") {
					rest = "client" + rest
				}
				line = "say: " + rest
			}
		}
		if strings.HasPrefix(line, "debug(") ||
			strings.HasPrefix(line, "say: ") && !strings.Contains(line, "Run was aborted") {
			lines = append(lines, line)
		}
	}
	return lines
}

// split returns the weight and the text of a script of a trial.
func split(script string) (weight int, text string) {
	first, rest, ok := strings.Cut(script, "\n")
	if w, err := strconv.Atoi(first); ok && err == nil {
		return w, rest
	}
	return 1, script
}

// real runs pgbench.
func (tr *trial) real(t *testing.T, bench realPgbench, s *testserver.Server) printed {
	t.Helper()
	dir := t.TempDir()
	o := tr.options
	arguments := []string{"-n", "-t", strconv.Itoa(max(tr.perClient, 1)), "-M", o.complete().Mode, "-h", s.Host, "-p",
		strconv.Itoa(s.Port), "-U", s.User, "-c", strconv.Itoa(max(o.Clients, 1)), "-j", strconv.Itoa(max(o.Threads, 1)),
		"--random-seed=" + strconv.FormatUint(o.RandomSeed, 10)}
	if o.Scale != 0 {
		arguments = append(arguments, "-s", strconv.FormatInt(o.Scale, 10))
	}
	if o.MaxTries != 0 {
		arguments = append(arguments, "--max-tries", strconv.FormatUint(uint64(o.MaxTries), 10))
	}
	if o.Verbose {
		arguments = append(arguments, "--verbose-errors")
	}
	for name, text := range o.Variables {
		arguments = append(arguments, "-D", name+"="+text)
	}
	for i, script := range tr.scripts {
		weight, text := split(script)
		name := filepath.Join(dir, fmt.Sprintf("s%d", i))
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		arguments = append(arguments, "-f", fmt.Sprintf("s%d@%d", i, weight))
	}
	cmd := exec.Command(bench.path, append(append(arguments, tr.arguments...), s.Database)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "PGOPTIONS=-c client_min_messages=error")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	p := printed{lines: said(stderr.String()), choices: logged(t, dir), status: cmd.ProcessState.ExitCode()}
	if p.status == 1 {
		_, fault, _ := strings.Cut(stderr.String(), "pgbench: error: ")
		p.fault = strings.TrimSpace(fault)
	}
	return p
}

// logged reads the logs of transactions.
func logged(t *testing.T, dir string) (choices []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "pgbench_log.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			fields := strings.Fields(line)
			choices = append(choices, fmt.Sprintf("%s %3s %s", fields[0], fields[1], fields[3]))
		}
	}
	return choices
}

// ours runs the scripts with this package. Clients run one after the other.
func (tr *trial) ours(t *testing.T, bench realPgbench, s *testserver.Server) (p printed) {
	t.Helper()
	o := tr.options
	o.Version, o.Clients = bench.version, max(o.Clients, 1)
	say := func(message string) {
		first, _, _ := strings.Cut(message, "\n")
		p.lines = append(p.lines, "say: "+first)
	}
	o.Host = &Host{Error: say, Info: say, Debug: func(line string) { p.lines = append(p.lines, line) }, Shell: runShell}
	var scripts []*Script
	for i, script := range tr.scripts {
		weight, text := split(script)
		parsed, err := Parse(fmt.Sprintf("s%d", i), text, o)
		if err != nil {
			say(err.Error())
			p.fault, p.status = err.Error(), 1
			return p
		}
		parsed.Weight = float64(weight)
		scripts = append(scripts, parsed)
	}
	program, err := Compile(scripts, o)
	if err != nil {
		t.Fatal(err)
	}
	for number := range o.Clients {
		c := &client{t: t, program: program, session: program.session(number), conn: connect(t, s, program), number: number}
		if !c.run(max(tr.perClient, 1)) {
			p.status = 2
		}
		p.choices = append(p.choices, c.choices...)
	}
	return p
}

func runShell(command string, _ bool) (string, error) {
	output, err := exec.Command("sh", "-c", command).Output()
	return string(output), err
}

// connect opens a session for the requests of all scripts.
func connect(t *testing.T, s *testserver.Server, program *Program) protocol.Conn {
	t.Helper()
	all := &protocol.Program{}
	for i := range program.scripts {
		for k := range program.Requests(i) {
			r := program.Requests(i)[k]
			r.ID = len(all.Requests)
			program.requests[i][k].ID = r.ID
			all.Requests = append(all.Requests, r)
		}
	}
	conn, err := postgres.New().Dial(t.Context(), protocol.Target{Address: s.Addr, User: s.User, Database: s.Database},
		all)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// client is the part of the engine that a test needs.
type client struct {
	t       *testing.T
	program *Program
	session *session
	conn    protocol.Conn
	number  int
	script  int
	choices []string
	reply   protocol.Reply
}

// run runs transactions. It returns false if the client was aborted.
func (c *client) run(transactions int) bool {
	for i := range transactions {
		c.script = c.session.Choose(uint64(i))
		c.choices = append(c.choices, fmt.Sprintf("%d %3d %d", c.number, i+1, c.script))
		step := c.session.Begin(c.script, uint64(i))
		for try := uint32(1); ; try++ {
			step = c.attempt(step)
			again := step.Failure.Code == serializationFailure || step.Failure.Code == deadlockDetected
			if step.Quit || !again || try >= c.program.options.MaxTries {
				break
			}
			step = c.session.Again()
		}
		if step.Quit {
			return false
		}
	}
	c.session.ended()
	return true
}

// attempt runs a transaction once, and returns its end.
func (c *client) attempt(step planscript.Step) planscript.Step {
	for {
		switch step.Move {
		case planscript.End:
			return step
		case planscript.Pause:
			step = c.session.Resume()
		case planscript.Send:
			r := &c.program.Requests(c.script)[step.Request]
			if len(step.Args) != len(r.Params) {
				c.t.Errorf("request %q has %d arguments for %d parameters", r.Text, len(step.Args), len(r.Params))
			}
			c.reply.Reset(0)
			c.conn.Do(c.t.Context(), r, step.Args, &c.reply)
			step = c.session.Answered(&c.reply)
		}
	}
}

// compare runs a trial with every pgbench and with this package. What several clients say may come in any order.
func (tr *trial) compare(t *testing.T) {
	t.Helper()
	s := servers.Postgres(t)
	for _, bench := range realPgbenches(t) {
		if bench.version < tr.since {
			continue
		}
		want, got := tr.real(t, bench, s), tr.ours(t, bench, s)
		if tr.options.Clients > 1 {
			slices.Sort(want.lines)
			slices.Sort(got.lines)
		}
		if want.status != got.status {
			t.Errorf("pgbench %d: exit status %d, want %d", bench.version, got.status, want.status)
		}
		if want.fault != got.fault {
			t.Errorf("pgbench %d: the fault is\n%s\nwant\n%s", bench.version, got.fault, want.fault)
		}
		for i := range max(len(want.lines), len(got.lines)) {
			line := func(lines []string) string {
				if i < len(lines) {
					return lines[i]
				}
				return "(nothing)"
			}
			if w, g := line(want.lines), line(got.lines); w != g {
				t.Errorf("pgbench %d: line %d is\n%q, want\n%q", bench.version, i+1, g, w)
				break
			}
		}
		if len(want.lines) == 0 {
			t.Errorf("pgbench %d said nothing", bench.version)
		}
	}
}
