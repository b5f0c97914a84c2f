package fault

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/record"
)

// roleVariable makes the test binary run as another program.
const roleVariable = "BRUNT_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "":
		os.Exit(m.Run())
	case "killed": // stops the process given by its argument for an hour, and reports it
		_ = os.Unsetenv(roleVariable)
		pid, _ := strconv.Atoi(os.Args[1])
		c, err := Prepare(options(stopped(pid, time.Hour)))
		if err != nil {
			panic(err)
		}
		c.o.Changed = func(f *record.Fault) {
			if f.DoneNs > 0 {
				_, _ = os.Stdout.WriteString("stopped\n")
			}
		}
		c.Begin(context.Background())
		select {}
	case "injects": // injects a fault by a command, in a folder
		_ = os.Unsetenv(roleVariable)
		c, err := Prepare(options(slow(os.Args[1], os.Args[2])))
		if err != nil {
			panic(err)
		}
		c.Begin(context.Background())
		select {}
	case "stopped": // stops a process for two seconds, and reports how that ended
		_ = os.Unsetenv(roleVariable)
		pid, _ := strconv.Atoi(os.Args[1])
		healed := make(chan struct{})
		o := options(stopped(pid, 2*time.Second))
		o.Changed = func(f *record.Fault) {
			switch {
			case f.HealedNs > 0:
				_, _ = os.Stdout.WriteString("healed by " + f.HealedBy + "\n")
				close(healed)
			case f.DoneNs > 0:
				_, _ = os.Stdout.WriteString("stopped\n")
			}
		}
		c, err := Prepare(o)
		if err != nil {
			panic(err)
		}
		c.Begin(context.Background())
		<-healed
		c.End()
		c.Close()
		os.Exit(0)
	}
}

// watchdogCommand returns a watchdog that is a shell with the test binary as its child.
func watchdogCommand() []string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return []string{self, "-test.run=^TestWatchdogProcess$", "-test.v=false", "watchdog"}
}

// TestWatchdogProcess is the watchdog process that watchdogCommand starts.
func TestWatchdogProcess(t *testing.T) {
	if os.Args[len(os.Args)-1] != "watchdog" {
		return
	}
	if err := Watch(os.Stdin, os.Stdout, nil); err != nil {
		t.Error(err)
	}
}

func options(faults ...plan.Fault) Options {
	begin := time.Now()
	p := &plan.Plan{Faults: faults, Load: []plan.Phase{{Name: "load", Kind: plan.Open, Duration: 2 * time.Hour}}}
	return Options{Plan: p, Watchdog: watchdogCommand(), Now: func() int64 { return int64(time.Since(begin)) + 1 }}
}

func stopped(pid int, long time.Duration) plan.Fault {
	return plan.Fault{Name: "stop", Kind: plan.FaultProcess, For: long, Process: plan.ProcessFault{Do: "stop", PID: pid}}
}

// child starts a process that does nothing.
func child(t *testing.T) *exec.Cmd {
	t.Helper()
	c := exec.Command("sleep", "1000")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return c
}

// state returns the state of a process as in proc(5): S, T, …
func state(pid int) string {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return "gone"
	}
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	return fields[0]
}

// becomes waits until a process is in a state.
func becomes(t *testing.T, pid int, want string) {
	t.Helper()
	for range 2000 {
		if state(pid) == want {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("process %d is %s, want %s", pid, state(pid), want)
}

// log collects the messages of an executor.
type log struct {
	mu       sync.Mutex
	faults   []record.Fault
	warnings []string
	changes  chan struct{}
}

func (l *log) join(o *Options) {
	l.changes = make(chan struct{}, 1000)
	o.Changed = func(f *record.Fault) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.faults = append(l.faults, *f)
		l.changes <- struct{}{}
	}
	o.Warn = func(w record.Warning) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.warnings = append(l.warnings, w.ID)
		l.changes <- struct{}{}
	}
}

// until waits until a condition holds for the log.
func (l *log) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	end := time.After(20 * time.Second)
	for {
		l.mu.Lock()
		ok := holds()
		l.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-l.changes:
		case <-end:
			t.Fatalf("never: %s; %+v %v", what, l.faults, l.warnings)
		}
	}
}

func prepared(t *testing.T, o Options) *Executor {
	t.Helper()
	c, err := Prepare(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.End()
		c.Close()
	})
	return c
}

func TestAProcessIsStoppedAndContinues(t *testing.T) {
	pid := child(t).Process.Pid
	o, l := options(stopped(pid, time.Hour)), &log{}
	l.join(&o)
	c := prepared(t, o)
	c.Begin(context.Background())
	becomes(t, pid, "T")
	l.until(t, "it is done", func() bool { return len(l.faults) > 1 })
	faults, warnings := c.End()
	becomes(t, pid, "S")
	if len(faults) != 1 || len(warnings) > 0 {
		t.Fatalf("%+v, %v", faults, warnings)
	}
	f := faults[0]
	if f.PlannedNs > f.BeginNs || f.BeginNs > f.DoneNs || f.DoneNs > f.HealBeginNs || f.HealBeginNs > f.HealedNs ||
		f.PlannedNs == 0 {
		t.Errorf("times are out of order: %+v", f)
	}
}

func TestAFaultIsHealedAtTheEndOfItsTime(t *testing.T) {
	pid := child(t).Process.Pid
	o, l := options(stopped(pid, 30*time.Millisecond)), &log{}
	l.join(&o)
	prepared(t, o).Begin(context.Background())
	l.until(t, "healed", func() bool { return len(l.faults) > 0 && l.faults[len(l.faults)-1].HealedNs > 0 })
	becomes(t, pid, "S")
}

func TestAnInterruptHeals(t *testing.T) {
	pid := child(t).Process.Pid
	o, l := options(stopped(pid, time.Hour)), &log{}
	l.join(&o)
	ctx, interrupt := context.WithCancel(context.Background())
	prepared(t, o).Begin(ctx)
	becomes(t, pid, "T")
	interrupt()
	becomes(t, pid, "S")
}

// If the program that stopped a process is killed with SIGKILL, the watchdog continues the process.
func TestAKilledProgramsFaultsAreHealed(t *testing.T) {
	pid := child(t).Process.Pid
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, strconv.Itoa(pid))
	c.Env = append(os.Environ(), roleVariable+"=killed")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	becomes(t, pid, "T")
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	becomes(t, pid, "S")
}

// The death of the watchdog is reported. A new watchdog takes over and knows what to heal.
func TestTheWatchdogsDeath(t *testing.T) {
	pid := child(t).Process.Pid
	o, l := options(stopped(pid, time.Hour)), &log{}
	l.join(&o)
	c := prepared(t, o)
	c.Begin(context.Background())
	becomes(t, pid, "T")
	for n := range mostRestarts + 1 {
		if err := syscall.Kill(c.dog.pid(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		want := "watchdog-restarted"
		if n == mostRestarts {
			want = "watchdog-gone"
		}
		l.until(t, want, func() bool { return len(l.warnings) == n+1 && l.warnings[n] == want })
	}
	c.End()
	becomes(t, pid, "S")
}

func TestARestartedWatchdogHeals(t *testing.T) {
	pid := child(t).Process.Pid
	warned := make(chan struct{}, 10)
	w, err := startWatchdog(watchdogCommand(), func(record.Warning) { warned <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := lookUp(pid)
	if err != nil {
		t.Fatal(err)
	}
	w.add(&Cure{ID: "stop 1", Processes: []Process{p}}, time.Time{})
	if err := send(p, stopSignal()); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(w.pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-warned
	becomes(t, pid, "T")
	w.close()
	becomes(t, pid, "S")
}

func TestAProcessThatEndsMeanwhile(t *testing.T) {
	victim := child(t)
	o, l := options(stopped(victim.Process.Pid, time.Hour)), &log{}
	l.join(&o)
	c := prepared(t, o)
	c.Begin(context.Background())
	becomes(t, victim.Process.Pid, "T")
	l.until(t, "done", func() bool { return len(l.faults) > 1 })
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait()
	faults, warnings := c.End()
	if len(faults) != 1 || !strings.Contains(faults[0].HealError, "ended meanwhile") || len(warnings) != 1 {
		t.Errorf("%+v, %v", faults, warnings)
	}
}

// A process that was given the same number later is not affected.
func TestAnotherProcessOfOneNumber(t *testing.T) {
	p, _, err := lookUp(child(t).Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	p.Started--
	if err := send(p, stopSignal()); !errors.Is(err, errEnded) {
		t.Errorf("%v, want %v", err, errEnded)
	}
	if s := state(p.PID); s == "T" {
		t.Error("it was stopped")
	}
}

func TestWhatCantBePrepared(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	ended := child(t)
	_ = ended.Process.Kill()
	_ = ended.Wait()
	process := func(p plan.ProcessFault) func(*plan.Plan) {
		p.Do = "stop"
		return func(to *plan.Plan) {
			to.Faults = []plan.Fault{{Name: "x", Kind: plan.FaultProcess, For: time.Second, Process: p}}
		}
	}
	for name, row := range map[string]struct {
		plan func(*plan.Plan)
		want string
	}{
		"no such process":     {process(plan.ProcessFault{PID: ended.Process.Pid}), "no process"},
		"no pid file":         {process(plan.ProcessFault{PIDFile: filepath.Join(dir, "none")}), "no such file"},
		"pid file of nothing": {process(plan.ProcessFault{PIDFile: write("empty", "")}), "is no process"},
		"pid file of 1":       {process(plan.ProcessFault{PIDFile: write("one", "1\n")}), "system's first one"},
		"brunt's own":         {process(plan.ProcessFault{PID: os.Getpid()}), "brunt's own"},
		"no match":            {process(plan.ProcessFault{Match: "no-such-command-[x]{9}"}), "no command line matches"},
		"no control group":    {process(plan.ProcessFault{CGroup: "no/such/group"}), "no such file"},
		"no password": {func(p *plan.Plan) {
			p.Faults = []plan.Fault{{Name: "x", Kind: plan.FaultRequest, Request: plan.RequestFault{User: "u",
				PasswordVariable: "BRUNT_TEST_NO_SUCH_VARIABLE"}}}
		}, "the environment has no BRUNT_TEST_NO_SUCH_VARIABLE"},
		"port in use": {func(p *plan.Plan) {
			p.Proxies = []plan.Proxy{{Name: "p", Listen: taken.Addr().String(), To: "127.0.0.1:1"}}
		}, "address already in use"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options()
			row.plan(o.Plan)
			c, err := Prepare(o)
			if err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %q", err, row.want)
			}
			if err == nil {
				c.End()
				c.Close()
			}
		})
	}
}

func TestMatchLeavesOutWhoAsks(t *testing.T) {
	victim := exec.Command("sleep", "987.654")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = victim.Process.Kill()
		_ = victim.Wait()
	}()
	found, err := (&selector{fault: &plan.ProcessFault{Match: `^sleep 987\.654$`}, own: []int{os.Getpid()}}).find()
	if err != nil || len(found) != 1 || found[0].PID != victim.Process.Pid {
		t.Errorf("%v, %v", found, err)
	}
	own := &plan.ProcessFault{Match: "^" + regexp.QuoteMeta(strings.Join(os.Args, " ")) + "$"}
	if _, err := (&selector{fault: own, own: []int{os.Getpid()}}).find(); err == nil {
		t.Error("this test's own program was found")
	}
}

func TestChildrenAreFound(t *testing.T) {
	c := exec.Command("sh", "-c", "sleep 1000 & echo $!; wait")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	grandchild, _ := strconv.Atoi(strings.TrimSpace(line))
	defer func() {
		_ = syscall.Kill(grandchild, syscall.SIGKILL)
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
	found, err := (&selector{fault: &plan.ProcessFault{PID: c.Process.Pid, Children: true}}).find()
	if err != nil || len(found) != 2 || found[0].PID != c.Process.Pid || found[1].PID != grandchild {
		t.Errorf("%v, %v; want %d and %d", found, err, c.Process.Pid, grandchild)
	}
}

func TestCommands(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	o, l := options(plan.Fault{Name: "x", Kind: plan.FaultCommand, For: time.Hour,
		Command: plan.CommandFault{Inject: "echo in > " + mark, Heal: "echo out >> " + mark}}), &log{}
	l.join(&o)
	c := prepared(t, o)
	c.Begin(context.Background())
	l.until(t, "done", func() bool { return len(l.faults) > 1 })
	c.End()
	if text, err := os.ReadFile(mark); err != nil || string(text) != "in\nout\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// If a fault can't be undone, brunt tries several times, reports it, and leaves it to the watchdog.
func TestAFaultThatNeverHeals(t *testing.T) {
	dir := t.TempDir()
	tries := filepath.Join(dir, "tries")
	o, l := options(plan.Fault{Name: "x", Kind: plan.FaultCommand, For: time.Millisecond,
		Command: plan.CommandFault{Inject: "true", Heal: "echo x >> " + tries + "; echo not today >&2; exit 3"}}), &log{}
	l.join(&o)
	c := prepared(t, o)
	c.Begin(context.Background())
	l.until(t, "a warning", func() bool { return len(l.warnings) > 0 })
	faults, warnings := c.End()
	if len(faults) != 1 || !strings.Contains(faults[0].HealError, "not today") || faults[0].HealedNs != 0 {
		t.Errorf("%+v", faults)
	}
	if len(warnings) != 1 || warnings[0].ID != "fault-not-healed" {
		t.Errorf("%v", warnings)
	}
	if text, _ := os.ReadFile(tries); strings.Count(string(text), "x") != healAttempts+1 {
		t.Errorf("tried %d times, want %d and the watchdog's", strings.Count(string(text), "x"), healAttempts)
	}
}

// A fault that can't be done may have been done in part: it is healed, and if that fails too, both are told.
func TestAFaultThatCantBeDone(t *testing.T) {
	for heal, want := range map[string][]string{
		"": {"fault-failed"}, "true": {"fault-failed"}, "exit 4": {"fault-failed", "fault-not-healed"},
	} {
		t.Run(heal, func(t *testing.T) {
			t.Parallel()
			o, l := options(plan.Fault{Name: "x", Kind: plan.FaultCommand, For: time.Hour,
				Command: plan.CommandFault{Inject: "exit 3", Heal: heal}}), &log{}
			if heal == "" {
				o.Plan.Faults[0].For = 0
			}
			l.join(&o)
			c := prepared(t, o)
			c.Begin(context.Background())
			l.until(t, "all warnings", func() bool { return len(l.warnings) == len(want) })
			faults, warnings := c.End()
			var ids []string
			for _, w := range warnings {
				ids = append(ids, w.ID)
			}
			if len(faults) != 1 || faults[0].Error == "" || (faults[0].HealedNs > 0) != (heal == "true") ||
				(faults[0].HealError != "") != (heal == "exit 4") || !slices.Equal(ids, want) {
				t.Errorf("%+v, %q", faults, ids)
			}
		})
	}
}

// A fault whose time hasn't come when the load ends is recorded as not done, unless the load was interrupted.
func TestAFaultThatComesTooLate(t *testing.T) {
	late := plan.Fault{Name: "late", Kind: plan.FaultCommand, Start: time.Hour, Every: time.Minute, Times: 3,
		Must: plan.MustHappen, Command: plan.CommandFault{Inject: "true"}}
	for name, interrupted := range map[string]bool{"ended": false, "interrupted": true} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			c := prepared(t, options(late))
			c.Begin(ctx)
			want := 1
			if interrupted {
				cancel()
				want = 0
			}
			faults, warnings := c.End()
			if len(faults) != want || len(warnings) != want {
				t.Fatalf("%+v, %+v", faults, warnings)
			}
			if want == 1 && (faults[0].Error == "" || faults[0].BeginNs != 0 || faults[0].Must != plan.MustHappen ||
				faults[0].PlannedNs < int64(time.Hour)) {
				t.Errorf("%+v", faults[0])
			}
		})
	}
}

func TestHTTPHooks(t *testing.T) {
	var mu sync.Mutex
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r.Method+" "+r.URL.Path+" "+r.Header.Get("X-A")+" "+string(body))
		if r.URL.Path == "/refused" {
			http.Error(w, "no such toxic", http.StatusNotFound)
		}
	}))
	defer s.Close()
	hook := func(method, path string) protocol.Web {
		return protocol.Web{Method: method, Origin: s.URL, Path: path, Header: [][2]string{{"X-A", "1$$"}}, Body: []byte("b")}
	}
	o, l := options(plan.Fault{Name: "x", Kind: plan.FaultHTTP, For: time.Hour,
		HTTP: plan.HTTPFault{Inject: hook("POST", "/in"), Heal: hook("DELETE", "/refused")}}), &log{}
	l.join(&o)
	c := prepared(t, o)
	c.Begin(context.Background())
	l.until(t, "done", func() bool { return len(l.faults) > 1 })
	faults, _ := c.End()
	if len(faults) != 1 || faults[0].Error != "" ||
		!strings.Contains(faults[0].HealError, "404 Not Found: no such toxic") {
		t.Errorf("%+v", faults)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(got) < 2 || got[0] != "POST /in 1$ b" || got[1] != "DELETE /refused 1$ b" {
		t.Errorf("%q", got)
	}
}

func TestAFloodHoldsItsConnections(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	o, l := options(plan.Fault{Name: "x", Kind: plan.FaultFlood, For: time.Hour,
		Flood: plan.FloodFault{Connections: 20, Addresses: []string{server.Addr().String()}}}), &log{}
	l.join(&o)
	c := prepared(t, o)
	c.Begin(context.Background())
	var held []net.Conn
	for range 20 {
		one, err := server.Accept()
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, one)
	}
	l.until(t, "done", func() bool { return len(l.faults) > 1 })
	faults, _ := c.End()
	for _, one := range held {
		if _, err := one.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("a connection ends by %v", err)
		}
		one.Close()
	}
	if len(faults) != 1 || !strings.HasSuffix(faults[0].Target, "(20 of 20 connections)") {
		t.Errorf("%+v", faults)
	}
}

// A watchdog whose input is cut off in the middle of a line heals the faults that it knows.
func TestTheWatchdogTakesTornLines(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	in := `{"add":{"id":"a","command":"echo a >> ` + mark + `"}}
{"add":{"id":"b","command":"echo b >> ` + mark + `"}}
{"add":{"id":"c","command":"echo c >> ` + mark + `"}}
{"done":"b"}
{"add":{"id":"d","comm`
	if err := Watch(strings.NewReader(in), io.Discard, nil); err != nil {
		t.Error(err)
	}
	if text, _ := os.ReadFile(mark); string(text) != "c\na\n" {
		t.Errorf("healed %q, want the latest first and none that was done", text)
	}
}

// slow returns a fault whose injection does something, goes on for long, and would then do damage. Its heal notes that
// it was healed. It leaves its PID in a file.
func slow(dir, inject string) plan.Fault {
	return plan.Fault{Name: "slow", Kind: plan.FaultCommand, Command: plan.CommandFault{Timeout: time.Hour,
		Inject: "cd " + dir + "; " + inject, Heal: "cd " + dir + "; echo healed >> log"}}
}

// read waits until a file has a line, and returns it.
func read(t *testing.T, path string) string {
	t.Helper()
	for range 4000 {
		if text, _ := os.ReadFile(path); strings.HasSuffix(string(text), "\n") {
			return strings.TrimSpace(string(text))
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%s has no line", path)
	return ""
}

// When brunt is killed while an injection runs, all processes of the injection are ended before the fault is healed:
// those of its process group, and those that have left it.
func TestKilledWhileInjecting(t *testing.T) {
	const damage = `; echo damage >> log`
	for name, inject := range map[string]string{
		"in the foreground": "echo $$ > pid; sleep 1000" + damage,
		"in a pipe":         "(echo $$ > pid; sleep 1000" + damage + ") | cat",
		"in the background": "(echo $$ > pid; sleep 1000" + damage + ") & wait",
		"in a new session":  "setsid sh -c 'echo $$ > pid; sleep 1000" + damage + "' & wait",
		"ignoring signals":  "trap '' TERM HUP INT; echo $$ > pid; sleep 1000" + damage,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			c := exec.Command(self, dir, inject)
			c.Env = append(os.Environ(), roleVariable+"=injects")
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			pid, _ := strconv.Atoi(read(t, filepath.Join(dir, "pid")))
			if err := c.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = c.Wait()
			if text := read(t, filepath.Join(dir, "log")); text != "healed" {
				t.Errorf("the log has %q", text)
			}
			if s := state(pid); s != "gone" && s != "Z" {
				t.Errorf("process %d of the injection is %s", pid, s)
			}
		})
	}
}

// What an injection that has ended leaves in the background is meant to stay, until the fault is healed.
func TestWhatInjectionsLeaveStays(t *testing.T) {
	dir := t.TempDir()
	o := options(slow(dir, "sleep 1000 >/dev/null 2>&1 & echo $! > pid"))
	l := &log{}
	l.join(&o)
	c, err := Prepare(o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Begin(t.Context())
	l.until(t, "it is injected", func() bool { return len(l.faults) > 0 && l.faults[len(l.faults)-1].DoneNs > 0 })
	c.End()
	pid, _ := strconv.Atoi(read(t, filepath.Join(dir, "pid")))
	if p, _, err := lookUp(pid); err != nil || p.Command != "sleep" {
		t.Errorf("process %d is %+v, %v", pid, p, err)
	} else if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}

// A fault whose time is over is healed even if brunt is stopped, once, and brunt learns of it when it continues.
func TestAStoppedProgramsFaultsAreHealed(t *testing.T) {
	server := child(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, strconv.Itoa(server.Process.Pid))
	c.Env = append(os.Environ(), roleVariable+"=stopped")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() })
	lines := bufio.NewScanner(out)
	if lines.Scan(); lines.Text() != "stopped" {
		t.Fatalf("it says %q", lines.Text())
	}
	if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	becomes(t, server.Process.Pid, "S")
	if s := state(c.Process.Pid); s != "T" {
		t.Errorf("the program that did it is %s", s)
	}
	if err := c.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		if text := lines.Text(); text != "stopped" && text != "healed by watchdog" {
			t.Errorf("it says %q", text)
		}
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}
