package scale

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/internal/judge/exitcode"
	"brunt/internal/record"
)

// coordinator starts a coordinator for a number of workers, and returns their ticket.
func coordinator(t *testing.T, run string, workers int, patience time.Duration) (*Coordinator, Ticket) {
	t.Helper()
	lead, worker, err := NewIdentities(run, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Listen(Options{Run: run, Version: "1", Workers: workers, Dir: t.TempDir(), Listen: "127.0.0.1:0",
		Identity: lead, Interval: time.Hour, Patience: patience, OnLost: GoOn, Job: Job{Run: run}})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, c)
	return c, Ticket{Run: run, Addresses: []string{c.listener.Addr().String()}, Identity: worker, Dir: t.TempDir()}
}

// closeAtEnd closes the coordinator when the test ends, unless the test has closed it.
func closeAtEnd(t *testing.T, c *Coordinator) {
	t.Cleanup(func() {
		select {
		case <-c.quit:
		default:
			_ = c.Close()
		}
	})
}

// A worker that stops between being ready and its first report of the load is lost, and the others don't wait for it.
func TestAWorkerThatNeverBeginsIsLost(t *testing.T) {
	lead, worker, err := NewIdentities("run", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan string, 1)
	c, err := Listen(Options{Run: "run", Version: "1", Workers: 1, Dir: t.TempDir(), Listen: "127.0.0.1:0", Identity: lead,
		Interval: 10 * time.Millisecond, Patience: time.Minute, OnLost: GoOn, Job: Job{Run: "run"},
		Tell: func(text string) { told <- text }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	w, _ := connected(t, c, Ticket{Run: "run", Addresses: []string{c.listener.Addr().String()}, Identity: worker,
		Dir: t.TempDir()})
	c.Start(0)
	if _, err := w.reportAs(t, Ready, 0, ""); err != nil {
		t.Fatal(err)
	}
	select {
	case text := <-told:
		if !strings.Contains(text, "nothing was heard of it") {
			t.Errorf("told %q", text)
		}
	case <-time.After(time.Minute):
		t.Fatal("the worker isn't called lost")
	}
}

// refusedWith fails unless err is an *Error with a code and a text.
func refusedWith(t *testing.T, err error, code int, text string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Code != code || !strings.Contains(e.Text, text) {
		t.Errorf("got %v, want code %d and %q", err, code, text)
	}
}

// A worker of another run is refused because of its certificate, and one that has obtained a valid certificate is
// refused because of its run.
func TestWorkersOfOtherRunsAreRefused(t *testing.T) {
	c, ticket := coordinator(t, "one", 1, time.Minute)
	_, other := coordinator(t, "two", 1, time.Minute)
	foreign := other
	foreign.Addresses = ticket.Addresses
	_, _, err := Connect(t.Context(), foreign, "1")
	refusedWith(t, err, exitcode.BadPlan, "is no coordinator of this run")

	thief := ticket
	thief.Identity.Certificate, thief.Identity.Key = other.Identity.Certificate, other.Identity.Key
	_, _, err = Connect(t.Context(), thief, "1")
	refusedWith(t, err, exitcode.BadPlan, "is no coordinator of this run")

	w, _ := connected(t, c, ticket)
	w.hello.Run = "two"
	err = w.post(t.Context(), 0, "join", &w.hello, &Job{})
	refusedWith(t, err, exitcode.BadPlan, "the coordinator leads run one, the worker belongs to run two")
	w.hello.Run, w.hello.Worker = "one", 7
	err = w.post(t.Context(), 0, "join", &w.hello, &Job{})
	refusedWith(t, err, exitcode.BadPlan, "there is no worker 8: the run has 1")
}

// connected connects the only worker of a coordinator, which has accepted it.
func connected(t *testing.T, c *Coordinator, ticket Ticket) (*Worker, context.Context) {
	t.Helper()
	c.mu.Lock()
	c.agreed = true
	c.mu.Unlock()
	w, ctx, err := Connect(t.Context(), ticket, "1")
	if err != nil {
		t.Fatal(err)
	}
	return w, ctx
}

// reportAs sends a report of a worker's state, with lines from a number on.
func (w *Worker) reportAs(t *testing.T, state State, from int, lines string) (Answer, error) {
	t.Helper()
	var a Answer
	return a, w.post(t.Context(), 0, "report", &Report{Run: w.ticket.Run, Worker: w.ticket.Worker,
		Process: w.hello.Process, State: state, From: from, Lines: []byte(lines)}, &a)
}

// A process doesn't get a share if another process has begun to send it.
func TestASharesSuccessorIsRefused(t *testing.T) {
	c, ticket := coordinator(t, "run", 1, time.Minute)
	first, _ := connected(t, c, ticket)
	first.quiet()                        // it has stopped
	second, _ := connected(t, c, ticket) // nothing has been sent yet, so the later process gets the share
	if _, err := first.reportAs(t, Ready, 0, ""); err == nil {
		t.Error("the process that was replaced is still taken for the worker")
	}
	if _, err := second.reportAs(t, Running, 0, ""); err != nil {
		t.Fatal(err)
	}
	c.Exited(0, "it was killed")
	_, _, err := Connect(t.Context(), ticket, "1")
	refusedWith(t, err, 0, "has been begun already: it is not sent again")
}

// A second process with the number of a worker is refused by name while the first one is there, at any time.
func TestASecondProcessOfOneNumberIsRefused(t *testing.T) {
	c, ticket := coordinator(t, "run", 2, time.Minute)
	const want = "give each worker a number of its own (--index)"
	came := make(chan error, 1)
	go func() {
		w, _, err := Connect(t.Context(), ticket, "1") // waits for the other worker
		if err == nil {
			defer w.quiet()
			_, err = w.reportAs(t, Running, 0, "")
		}
		came <- err
	}()
	for c.state(0) != Joined {
		time.Sleep(time.Millisecond)
	}
	_, _, err := Connect(t.Context(), ticket, "1")
	refusedWith(t, err, exitcode.BadPlan, want)
	c.mu.Lock()
	c.agreed = true
	c.announce()
	c.mu.Unlock()
	if err := <-came; err != nil {
		t.Fatalf("the first process: %v", err)
	}
	other := ticket
	other.Worker = 1
	second, _ := connected(t, c, other) // connecting to the target
	_, _, err = Connect(t.Context(), other, "1")
	refusedWith(t, err, exitcode.BadPlan, want)
	second.hello.Process = "another"
	err = second.send(t.Context(), "testdata", "none")
	if err == nil || errors.As(err, new(*Error)) {
		t.Errorf("a file that isn't there: %v", err)
	}
	_, err = second.reportAs(t, Running, 0, "")
	refusedWith(t, err, exitcode.BadPlan, want)
}

// A ticket is valid for the run, and a clock that is wrong is named.
func TestTicketsEndWithTheRun(t *testing.T) {
	_, worker, err := NewIdentities("run", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	from, until, err := worker.Valid()
	if now := time.Now(); err != nil || from.Before(now.Add(-2*clockMargin)) ||
		until.After(now.Add(time.Hour+2*clockMargin)) {
		t.Errorf("valid from %s to %s, %v", from, until, err)
	}
	lead, worker, err := NewIdentities("run", -2*clockMargin)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Listen(Options{Run: "run", Workers: 1, Dir: t.TempDir(), Listen: "127.0.0.1:0", Identity: lead,
		Interval: time.Hour, Patience: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, c)
	_, _, err = Connect(t.Context(), Ticket{Run: "run", Addresses: []string{c.listener.Addr().String()},
		Identity: worker, Dir: t.TempDir()}, "1")
	refusedWith(t, err, exitcode.BadPlan, "set the clocks of both machines (NTP), or use a new ticket")
}

// Lines that the coordinator already has are not written again, even if they are sent twice after a connection broke.
func TestLinesComeHomeOnce(t *testing.T) {
	c, ticket := coordinator(t, "run", 1, time.Minute)
	w, _ := connected(t, c, ticket)
	if err := os.MkdirAll(c.folder(0), 0o755); err != nil {
		t.Fatal(err)
	}
	c.members[0].inbox.over = true // these lines are not intervals, so the live view must not read them
	for _, sent := range []struct {
		from  int
		lines string
		have  int
	}{{0, "a\nb\n", 2}, {0, "a\nb\n", 2}, {1, "b\nc\n", 2}, {2, "c\n", 3}, {5, "f\n", 3}} {
		var a Answer
		err := w.post(t.Context(), 0, "report", &Report{Run: "run", Process: w.hello.Process, State: Running,
			From: sent.from, Lines: []byte(sent.lines)}, &a)
		if err != nil || a.Have != sent.have {
			t.Errorf("%d lines from %d: the coordinator has %d, want %d (%v)", countLines([]byte(sent.lines)), sent.from, a.Have,
				sent.have, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(c.folder(0), "intervals.ndjson"))
	if err != nil || string(text) != "a\nb\nc\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// All lines arrive exactly once, even if the coordinator has received more than the worker knows, or the complete file
// before the lines.
func TestLinesComeHomeWhole(t *testing.T) {
	for name, whole := range map[string]bool{"line by line": false, "the file first": true} {
		t.Run(name, func(t *testing.T) {
			c, ticket := coordinator(t, "run", 1, time.Minute)
			w, _ := connected(t, c, ticket)
			bundle, text := t.TempDir(), "a\nb\nc\nd\n"
			w.lines, w.talk.state = tail{path: filepath.Join(bundle, record.IntervalsFile)}, Running
			if err := errors.Join(os.MkdirAll(c.folder(0), 0o755),
				os.WriteFile(w.lines.path, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
			// The worker gave up waiting for the answer, so it doesn't know that the coordinator has received the
			// report.
			if _, err := w.reportAs(t, Running, 0, "a\nb\n"); err != nil {
				t.Fatal(err)
			}
			if whole {
				if err := w.send(t.Context(), bundle, record.IntervalsFile); err != nil {
					t.Fatal(err)
				}
			}
			if !w.report() {
				t.Fatal("the coordinator doesn't answer")
			}
			kept, err := os.ReadFile(filepath.Join(c.folder(0), record.IntervalsFile))
			in, all := &c.members[0].inbox, int64(len(text))
			if err != nil || string(kept) != text || in.lines != 4 || in.readable != all {
				t.Errorf("%q is kept, counted as %d lines of %d bytes (%v)", kept, in.lines, in.readable, err)
			}
			// An earlier report was delayed on its way.
			if _, err := w.reportAs(t, Running, 2, "c\nd\n"); err != nil {
				t.Fatal(err)
			}
			if kept, err = os.ReadFile(filepath.Join(c.folder(0), record.IntervalsFile)); string(kept) != text {
				t.Errorf("%q is kept after another report (%v)", kept, err)
			}
		})
	}
}

// The live view reads the waiting lines from the coordinator's files, even if there are many, or if a line is longer
// than one read.
func TestLinesWaitInFiles(t *testing.T) {
	c, ticket := coordinator(t, "run", 1, time.Minute)
	w, _ := connected(t, c, ticket)
	if err := os.MkdirAll(c.folder(0), 0o755); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 40 {
		want = append(want, strings.Repeat("x", i*chunk/16)+"\n")
	}
	for i := 0; i < len(want); i += 5 {
		if _, err := w.reportAs(t, Running, i, strings.Join(want[i:i+5], "")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.reportAs(t, Ended, 0, ""); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := (view{c}).intervals(c.members[0])(func(line, _ []byte) error {
		got = append(got, string(line))
		return nil
	})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%d lines were read, want %d as they were sent (%v)", len(got), len(want), err)
	}
}

// A worker that is ready gets its answer as soon as the start is known, without another request.
func TestReadyWorkersHearOfTheStart(t *testing.T) {
	c, ticket := coordinator(t, "run", 1, time.Minute)
	w, _ := connected(t, c, ticket)
	heard := make(chan Answer, 1)
	go func() {
		for {
			a, err := w.reportAs(t, Ready, 0, "")
			if err != nil || a.StartNs != 0 {
				heard <- a
				return
			}
		}
	}()
	for c.state(0) != Ready {
		time.Sleep(time.Millisecond)
	}
	at := c.Start(time.Second)
	if a := <-heard; a.StartNs != at {
		t.Errorf("the worker heard of a start at %d, want %d", a.StartNs, at)
	}
}

// A file that was received during the load is not sent again unless it has changed.
func TestFilesThatAreThereAreNotSentAgain(t *testing.T) {
	c, ticket := coordinator(t, "run", 1, time.Minute)
	w, _ := connected(t, c, ticket)
	bundle := t.TempDir()
	text := bytes.Repeat([]byte("0123456789\n"), 10_000)
	here, there := filepath.Join(bundle, "intervals.ndjson"), filepath.Join(c.folder(0), "intervals.ndjson")
	if err := errors.Join(os.MkdirAll(c.folder(0), 0o755), os.WriteFile(here, text, 0o600),
		os.WriteFile(there, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(there)
	if err != nil {
		t.Fatal(err)
	}
	send := func() os.FileInfo {
		if err := w.send(t.Context(), bundle, "intervals.ndjson"); err != nil {
			t.Fatal(err)
		}
		after, err := os.Stat(there)
		if err != nil {
			t.Fatal(err)
		}
		return after
	}
	if !os.SameFile(before, send()) {
		t.Error("a file that was there was sent again")
	}
	if err := os.WriteFile(there, text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if got := send().Size(); got != int64(len(text)) {
		t.Errorf("half of the file was there, and now there are %d bytes of %d", got, len(text))
	}
}

// A coordinator that closes answers what it has heard. Otherwise a worker whose bundle has arrived would try to send it
// again for 15 minutes.
func TestTheLastReportIsAnswered(t *testing.T) {
	for range 50 {
		c, ticket := coordinator(t, "run", 1, time.Minute)
		w, _ := connected(t, c, ticket)
		closed := make(chan error, 1)
		go func() {
			for c.state(0) != Ended {
				runtime.Gosched()
			}
			closed <- c.Close()
		}()
		if _, err := w.reportAs(t, Ended, 0, ""); err != nil {
			t.Fatal(err)
		}
		if err := <-closed; err != nil {
			t.Fatal(err)
		}
	}
}

// A coordinator that closes before the load begins doesn't wait for workers that wait for the start.
func TestCloseEndsWaitingReports(t *testing.T) {
	c, ticket := coordinator(t, "run", 1, time.Minute)
	w, _ := connected(t, c, ticket)
	answered := make(chan error, 1)
	go func() {
		_, err := w.reportAs(t, Ready, 0, "")
		answered <- err
	}()
	for c.state(0) != Ready {
		runtime.Gosched()
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Errorf("the report that waited for the start: %v", err)
	}
}

// Workers that don't join in time are named.
func TestMissingWorkersAreNamed(t *testing.T) {
	c, ticket := coordinator(t, "run", 3, 200*time.Millisecond)
	ticket.Worker = 1
	come := make(chan error, 1)
	go func() {
		_, _, err := Connect(t.Context(), ticket, "1")
		come <- err
	}()
	for c.state(1) != Joined {
		time.Sleep(time.Millisecond)
	}
	err := c.Gather(t.Context())
	refusedWith(t, err, exitcode.Unreachable, "2 of 3 workers didn't join within 200ms: 1, 3; see that they run")
	refusedWith(t, <-come, exitcode.Unreachable, "called the run off")
}

// Workers that fail before the load are all named, each with its reason.
func TestFailedWorkersAreNamed(t *testing.T) {
	c, _ := coordinator(t, "run", 4, time.Minute)
	c.mu.Lock()
	c.members[0].problem, c.members[3].problem = &refusal{"its disk is full", 1}, &refusal{"its disk is full", 1}
	c.members[2].gone, c.members[2].host = "signal: killed", "beta"
	c.mu.Unlock()
	refusedWith(t, c.Gather(t.Context()), 1,
		"workers 1, 4: its disk is full; worker 3 (beta) ended before the load: signal: killed")
}

func (c *Coordinator) state(k int) State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.members[k].state
}

// If workers can't run one load together, the error names every difference between them.
func TestDisagreement(t *testing.T) {
	c := &Coordinator{o: Options{Version: "1", Interval: time.Second}, roster: roster{members: []*member{{}, {number: 1}}}}
	same := Hello{Version: "1", Cores: 4, Offset: Offset{Ns: 5e6, UncertaintyNs: 1e6}}
	for name, row := range map[string]struct {
		change func(h *Hello)
		want   string
	}{
		"equal":     {func(*Hello) {}, ""},
		"version":   {func(h *Hello) { h.Version = "2" }, "worker 2 runs brunt 2, this is 1"},
		"cores":     {func(h *Hello) { h.Cores = 8 }, "worker 2 has 8 cores, worker 1 has 4"},
		"clock":     {func(h *Hello) { h.Offset.Ns = -11e9 }, "the clock of worker 2 is 11s off"},
		"uncertain": {func(h *Hello) { h.Offset.UncertaintyNs = 101e6 }, "the clock of worker 2 is known to 101ms only"},
	} {
		t.Run(name, func(t *testing.T) {
			c.members[0].hello, c.members[1].hello = same, same
			row.change(&c.members[1].hello)
			err := c.disagreement()
			if row.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			refusedWith(t, err, exitcode.BadPlan, row.want)
		})
	}
	c.o.MixedCores = true
	c.members[0].hello, c.members[1].hello = same, same
	c.members[1].hello.Cores = 8
	if err := c.disagreement(); err != nil {
		t.Errorf("with --mixed-cores: %v", err)
	}
}

// The true clock offset is within the reported uncertainty, for any distribution of the delay over both directions.
func TestClockOffset(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		offset := rng.Int64N(2e9) - 1e9
		var samples []sample
		shortest := int64(1 << 60)
		for range 1 + rng.IntN(9) {
			sent, there, work, back := rng.Int64N(1e12), rng.Int64N(5e6), rng.Int64N(1e5), rng.Int64N(5e6)
			received := sent + there + offset
			samples = append(samples, sample{sent, received, received + work, sent + there + work + back})
			shortest = min(shortest, there+back)
		}
		got := bestOffset(samples)
		if off := got.Ns - offset; max(off, -off) > got.UncertaintyNs+1 {
			t.Fatalf("offset %d is off by %d, uncertainty %d", offset, off, got.UncertaintyNs)
		}
		if got.UncertaintyNs > shortest/2+1 {
			t.Fatalf("uncertainty %d, half of the shortest delay is %d", got.UncertaintyNs, shortest/2)
		}
	}
}

// A far coordinator is asked a few times, one that busy machines delay until an exchange is short.
func TestMoreSamplesWhileTheMachineDelaysThem(t *testing.T) {
	const ms = int64(time.Millisecond)
	for name, row := range map[string]struct {
		delays []int64
		want   bool
	}{
		"near":             {[]int64{ms / 10, 30 * ms, 20 * ms, 15 * ms}, true},
		"far":              {[]int64{80 * ms, 85 * ms, 81 * ms, 120 * ms}, true},
		"delayed":          {[]int64{8 * ms, 30 * ms, 20 * ms, 15 * ms}, false},
		"far, and delayed": {[]int64{80 * ms, 120 * ms, 160 * ms, 81 * ms, 180 * ms}, false},
	} {
		var samples []sample
		for _, delay := range row.delays {
			samples = append(samples, sample{AnsweredNs: delay})
		}
		if got := enough(samples); got != row.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Names of a bundle's files have one or two parts and don't lead out of the bundle.
func TestBundleFiles(t *testing.T) {
	for name, want := range map[string]bool{
		"run.json": true, "observe/1-host.ndjson": true, "": false, ".": false, "..": false, "../run.json": false,
		"/etc/passwd": false, "a/b/c": false, "observe/../../x": false, "observe/": false,
	} {
		t.Run(name, func(t *testing.T) {
			if got := bundleFile(name); got != want {
				t.Errorf("%q: %v", name, got)
			}
		})
	}
}

// A file that arrives damaged is refused, and the previous file is kept.
func TestDamagedFilesAreRefused(t *testing.T) {
	to := filepath.Join(t.TempDir(), "run.json")
	const hashOfA = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb" // SHA-256 of "a"
	if err := take(to, strings.NewReader("a"), hashOfA, os.Rename); err != nil {
		t.Fatal(err)
	}
	err := take(to, strings.NewReader("b"), hashOfA, os.Rename)
	if err == nil || !strings.Contains(err.Error(), "arrived damaged") {
		t.Errorf("got %v", err)
	}
	if text, err := os.ReadFile(to); err != nil || string(text) != "a" {
		t.Errorf("%q, %v", text, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(to), ".coming-*")); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
}

// Any report is answered or refused, and only complete lines are kept.
func FuzzReport(f *testing.F) {
	f.Add([]byte(`{"run":"run","worker":0,"process":"p","state":"running","from":0}` + "\na\nb\n"))
	f.Add([]byte(`{"run":"run","worker":0,"process":"p","state":"running","from":0}` + "\na\nhalf a li"))
	f.Add([]byte(`{"run":"run","worker":-1}`))
	f.Add([]byte(`{"lines":"!`))
	f.Add([]byte(`{"run":"run","worker":0,"process":"p","from":0,"packed_bytes":6}` + "\na\nb\n\x00\x01x\x01\x01y"))
	f.Add([]byte(`{"run":"run","worker":0,"process":"p","from":0,"packed_bytes":-6}` + "\na\nb\n"))
	f.Add([]byte(`{"run":"run","worker":0,"process":"p","from":0,"packed_bytes":60}` + "\na\nb\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		c := &Coordinator{o: Options{Run: "run", Dir: t.TempDir(), OnLost: GoOn}, clock: NewClock(),
			roster: roster{members: []*member{{}}}}
		c.prepare()
		c.members[0].inbox.open(t.TempDir(), &c.packedB)
		answer := httptest.NewRecorder()
		desk{c}.serveReport(answer, httptest.NewRequest("POST", "/report", bytes.NewReader(body)))
		if code := answer.Code; code != 200 && code != 400 && code != 409 {
			t.Errorf("status %d", code)
		}
		kept, _ := os.ReadFile(filepath.Join(c.folder(0), "intervals.ndjson")) // none without lines
		if n := countLines(kept); n != c.members[0].inbox.lines {
			t.Errorf("%d lines are kept, %d counted", n, c.members[0].inbox.lines)
		}
		held(t, c, len(body))
	})
}
