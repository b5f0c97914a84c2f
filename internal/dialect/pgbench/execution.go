package pgbench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"brunt/internal/dialect/command"
	"brunt/internal/dialect/pgbench/script"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/verdict"
	"brunt/internal/plan/workload"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/runner"
)

// Exit codes of pgbench.
const (
	exitError   = 1 // options, connections
	exitAborted = 2 // a client was aborted
)

// execution is a load that prints what pgbench prints.
type execution struct {
	o         *Options
	server    *server
	replacing bool // brunt was called as pgbench
	far       bool // workers send the load

	outputs *loadtest.Outputs
	program *script.Program
	meter   *meter
	logs    *logs
	end     func(message.Message)

	began, ended time.Time
	over         chan struct{} // closed when the load is over
	progress     sync.WaitGroup
	once         sync.Once

	clock               atomic.Int64 // ns since the epoch when the run's clock read 0; 0: unknown
	dialedNs            atomic.Int64 // sum
	firstDial, lastDial atomic.Int64 // ns since the epoch: when the first began and the last ended, before the load

	held []heldSkips // by thread

	mu      sync.Mutex
	aborted map[int]bool // clients
	thread  int          // of the first that was aborted
}

// heldSkips are transactions of a thread that were skipped and aren't counted yet: pgbench notices them when a client's
// transaction has ended.
type heldSkips struct {
	mu  sync.Mutex
	all []transaction
}

// hooks returns hooks that print pgbench's lines.
func (e *execution) hooks(out *loadtest.Outputs) (runner.Hooks, error) {
	e.outputs, e.over, e.aborted = out, make(chan struct{}), map[int]bool{}
	if e.o.Log && !e.far {
		var err error
		if e.logs, err = openLogs(e.o, os.Getpid()); err != nil {
			return runner.Hooks{}, err
		}
	}
	control := func(end, _ func(message.Message)) { e.end = end }
	return runner.Hooks{Attach: e.attach, Control: control, Dialed: e.dialed, Ready: e.ready,
		Sent: func(context.Context) { e.stop() }, Ended: e.stop, Result: e.result, Exit: e.exit, Close: e.close,
		Notice: e.notice}, nil
}

// notice prints warnings that pgbench doesn't have, unless brunt takes its place.
func (e *execution) notice(w record.Warning) {
	if !e.replacing {
		loadtest.Notices(e.outputs)(w)
	}
}

// attach is called with the compiled plan.
func (e *execution) attach(w *workload.Workload) {
	program, ok := w.Scripts().(*script.Program)
	if !ok || e.far {
		return
	}
	e.program = program
	host := &script.Host{Shell: e.shell, Debug: e.debug, Error: e.failed, Info: e.info, Notice: e.debug}
	if e.o.Debug > 0 {
		host.Trace, host.Each = e.info, e.o.Connect
	}
	program.Use(host)
	commands := make([]int, len(e.o.Scripts))
	for i := range commands {
		commands[i] = len(program.Commands(i))
	}
	e.meter = newMeter(e.o, commands, program.Command)
	e.held = make([]heldSkips, e.o.Threads)
	w.Timed, w.Unsent = e.timed, e.unsent
	if e.o.PerCommand {
		w.TimedRequests = e.meter.request
		host.Timed = e.meter.took
	}
}

// timed receives the times of transactions.
func (e *execution) timed(t workload.Timing) {
	x := e.meter.transactionOf(&t)
	if x.fate == abortedClient {
		return
	}
	if e.clock.Load() == 0 {
		e.clock.CompareAndSwap(0, time.Now().UnixNano()-t.EndNs)
	}
	e.count(&x)
	if e.o.RatePerS > 0 && e.o.LatencyLimitMs > 0 {
		e.release(x.client)
	}
}

// count counts and logs a transaction.
func (e *execution) count(x *transaction) {
	number := e.meter.count(x)
	if e.logs != nil {
		e.logs.add(x, number, time.Now())
	}
}

// release counts the skipped transactions that a client notices when its own has ended: all of its thread, or, if each
// client has a number of transactions, its own.
func (e *execution) release(client int) {
	h := &e.held[e.o.thread(client)]
	h.mu.Lock()
	defer h.mu.Unlock()
	left := h.all[:0]
	for _, x := range h.all {
		if e.o.Transactions > 0 && x.client != client {
			left = append(left, x)
			continue
		}
		x.client = client
		e.count(&x)
	}
	h.all = left
}

// duration returns how long the load lasted, until the end of its last transaction.
func (e *execution) duration() time.Duration {
	if end := e.meter.endNs(); end > 0 {
		return time.Duration(e.clock.Load() + end - e.began.UnixNano())
	}
	return e.ended.Sub(e.began)
}

// unsent receives arrivals that weren't sent. pgbench skips those that are later than the latency limit.
func (e *execution) unsent(operation int, index uint64, _ int64, late bool) {
	if !late {
		return
	}
	x := transaction{client: int(index % uint64(e.o.Clients)), script: operation, fate: skipped, tries: 1}
	h := &e.held[e.o.thread(x.client)]
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, x)
}

// shell runs a command of a script.
func (e *execution) shell(command string, capture bool) (output string, err error) {
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.Args[0] = "sh" // as C's system and popen call it; it is part of its messages
	cmd.Stderr = e.outputs.Err
	if !capture {
		cmd.Stdout = e.outputs.Out
		return "", cmd.Run()
	}
	var b bytes.Buffer
	cmd.Stdout = &b
	err = cmd.Run()
	return b.String(), err
}

func (e *execution) debug(line string) { fmt.Fprintln(e.outputs.Err, line) }

func (e *execution) info(line string) { fmt.Fprintln(e.outputs.Err, "pgbench: "+line) }

// failed receives what pgbench prints when it aborts a client, line by line.
func (e *execution) failed(line string) {
	fmt.Fprintln(e.outputs.Err, "pgbench: error: "+line)
	client := -1
	if n, err := fmt.Sscanf(line, "client %d ", &client); n != 1 || err != nil || !strings.HasPrefix(line, "client ") {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.aborted) == 0 {
		e.thread = e.o.thread(client)
	}
	e.aborted[client] = true
	if (e.o.ExitOnAbort || e.o.RatePerS > 0 && len(e.aborted) == e.o.Clients) && e.end != nil {
		e.end(message.New("stop.error", message.Text("text", line)))
	}
}

// dialed receives how long a connection took.
func (e *execution) dialed(ns int64) {
	e.dialedNs.Add(ns)
	if !e.began.IsZero() {
		return
	}
	now := time.Now().UnixNano()
	e.firstDial.CompareAndSwap(0, now-ns)
	for last := e.lastDial.Load(); last < now && !e.lastDial.CompareAndSwap(last, now); last = e.lastDial.Load() {
	}
}

// ready is called when the load begins.
func (e *execution) ready(context.Context) error {
	if e.far {
		return nil
	}
	e.began = time.Now()
	if e.logs != nil {
		e.logs.begin(e.began)
	}
	if e.o.ProgressS > 0 {
		e.progress.Go(e.report)
	}
	return nil
}

// report prints lines of --progress until the load is over.
func (e *execution) report() {
	every := time.Duration(e.o.ProgressS) * time.Second
	tick := time.NewTicker(every)
	defer tick.Stop()
	last, before := counts{}, e.began
	for {
		select {
		case <-e.over:
			return
		case now := <-tick.C:
			cur := e.meter.sum(-1)
			fmt.Fprint(e.outputs.Err, progressText(e.o, &cur, &last, now.Sub(e.began), now.Sub(before), now))
			last, before = cur, now
		}
	}
}

// stop is called when the load is over.
func (e *execution) stop() {
	e.once.Do(func() {
		for client := range e.o.Clients {
			if e.held != nil {
				e.release(client)
			}
		}
		e.ended = time.Now()
		close(e.over)
		e.progress.Wait()
	})
}

// result prints the report.
func (e *execution) result(run *record.Run, dir string) error {
	errs := []error{loadtest.Drain(e.outputs.Out)}
	if e.o.Ours.Report || e.meter == nil {
		errs = append(errs, (&loadtest.Report{}).Print(e.outputs.Out, run, dir))
	}
	aborted := len(e.aborted) > 0
	switch {
	case e.meter == nil:
	case aborted && e.o.ExitOnAbort:
		fmt.Fprintf(e.outputs.Err, "pgbench: error: Run was aborted due to an error in thread %d\n", e.thread)
	default:
		s := summary{o: e.o, server: e.server, meter: e.meter, program: e.program, duration: e.duration(),
			connecting: time.Duration(e.dialedNs.Load())}
		if !e.o.Connect {
			s.connecting = time.Duration(max(e.lastDial.Load()-e.firstDial.Load(), 0))
		}
		errs = append(errs, s.write(e.outputs.Out))
		if aborted {
			fmt.Fprintln(e.outputs.Err, "pgbench: error: Run was aborted; the above results are incomplete.")
		}
	}
	if !e.replacing {
		command.Tell(e.outputs, run, dir)
	}
	return errors.Join(errs...)
}

// exit returns pgbench's exit code. brunt's verdict counts if brunt was called by its own name, or if there are
// thresholds, which pgbench doesn't have.
func (e *execution) exit(run *record.Run) error {
	switch {
	case len(e.aborted) > 0:
		return exitcode.With(exitAborted, nil)
	case e.replacing && len(run.Thresholds) == 0:
		return nil
	}
	return exitcode.With(verdict.ExitCode(run), nil)
}

func (e *execution) close() error {
	if e.logs == nil {
		return nil
	}
	if e.ended.IsZero() {
		e.ended = time.Now()
	}
	return e.logs.close(e.ended)
}
