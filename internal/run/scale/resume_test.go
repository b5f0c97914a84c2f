package scale

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brunt/internal/load/schedule"
	"brunt/internal/render/message"
)

// killed returns a coordinator with workers that has begun a load, and whose process was killed. Its journal remains.
func killed(t *testing.T, onLost string, workers int) (o Options, processes []*Worker, journal []byte) {
	t.Helper()
	lead, worker, err := NewIdentities("run", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o = Options{Run: "run", Version: "1", Workers: workers, Dir: dir, Listen: "127.0.0.1:0", Identity: lead,
		Interval: time.Hour, Patience: time.Minute, OnLost: onLost,
		Job:     Job{Run: "run", Redistribute: onLost == Redistribute},
		Journal: filepath.Join(dir, JournalFile), Extra: map[string]string{"on": "here"}}
	c, err := Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	c.agreed = true
	c.mu.Unlock()
	for k := range workers {
		ticket := Ticket{Run: "run", Addresses: []string{c.listener.Addr().String()}, Identity: worker, Worker: k,
			Dir: t.TempDir()}
		w, _, err := Connect(t.Context(), ticket, "1")
		if err != nil {
			t.Fatal(err)
		}
		processes = append(processes, w)
	}
	c.Start(0)
	for k, w := range processes {
		if err := os.MkdirAll(c.folder(k), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := w.reportAs(t, Running, 0, "a\nb\n"); err != nil {
			t.Fatal(err)
		}
	}
	if onLost == Redistribute {
		c.Exited(workers-1, "signal: killed")
	}
	if journal, err = os.ReadFile(o.Journal); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for _, w := range processes {
		w.client.CloseIdleConnections() // a request over one of these connections fails, and the worker repeats it
	}
	if _, err := os.Stat(o.Journal); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the journal, which holds a key, is left behind: %v", err)
	}
	if err := os.WriteFile(o.Journal, journal, 0o600); err != nil {
		t.Fatal(err)
	}
	return o, processes, journal
}

// resumed resumes a coordinator.
func resumed(t *testing.T, o Options) *Coordinator {
	t.Helper()
	c, extra, err := Resume(Options{Dir: o.Dir, Journal: o.Journal})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, c)
	if extra["on"] != "here" {
		t.Errorf("extra %v", extra)
	}
	return c
}

// A coordinator that was killed can be resumed with the same workers. They send what it doesn't have, and other workers
// are refused.
func TestResume(t *testing.T) {
	o, workers, journal := killed(t, GoOn, 2)
	if !strings.Contains(string(journal), "PRIVATE KEY") {
		t.Error("the journal holds no key")
	}
	c := resumed(t, o)
	info, err := os.Stat(o.Journal)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the journal's mode is %v (%v)", info.Mode(), err)
	}
	a, err := workers[0].reportAs(t, Running, 2, "c\n")
	if err != nil || a.Have != 3 || a.StartNs != c.StartNs() {
		t.Errorf("answer %+v, %v", a, err)
	}
	text, err := os.ReadFile(filepath.Join(c.folder(0), "intervals.ndjson"))
	if err != nil || string(text) != "a\nb\nc\n" {
		t.Errorf("%q, %v", text, err)
	}
	ticket := workers[1].ticket
	_, _, err = Connect(t.Context(), ticket, "1")
	refusedWith(t, err, 0, "has been begun already: it is not sent again")
}

// A resumed coordinator knows which workers have ended and which shares were reassigned.
func TestResumeKnowsWhatHappened(t *testing.T) {
	o, workers, journal := killed(t, Redistribute, 3)
	one := 1
	ended, err := json.Marshal(&event{Ended: &one})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.Journal, append(append(journal, ended...), "\n{\"lost\":"...), 0o600); err != nil {
		t.Fatal(err)
	}
	c := resumed(t, o)
	a, err := workers[0].reportAs(t, Running, 2, "")
	if err != nil || len(a.Losses) != 1 || a.Losses[0].Machine != 2 || len(a.Losses[0].Receivers) != 2 || a.Stop {
		t.Errorf("answer %+v, %v", a, err)
	}
	if why := c.members[2].why.String(); why != "its process ended: signal: killed" {
		t.Errorf("worker 3 was lost because %q", why)
	}
	if c.state(1) != Ended {
		t.Errorf("worker 2 is %s", c.state(1))
	}
	if a, err = workers[2].reportAs(t, Running, 2, ""); err != nil || !a.Stop {
		t.Errorf("the worker whose share was given away is answered %+v, %v", a, err)
	}
}

// A file that is not a journal is refused and left unchanged.
func TestResumeOfNothing(t *testing.T) {
	dir := t.TempDir()
	journal := filepath.Join(dir, JournalFile)
	for name, row := range map[string]struct{ text, want string }{
		"none":    {"-", "no coordinator was killed there"},
		"empty":   {"", "was killed before its load began"},
		"garbage": {"x\n", "line 1: invalid character"},
		"other":   {"{\"run\":\"x\"}\n", "isn't the beginning of a coordinator's journal"},
	} {
		t.Run(name, func(t *testing.T) {
			if row.text != "-" {
				if err := os.WriteFile(journal, []byte(row.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, _, err := Resume(Options{Dir: dir, Journal: journal})
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v", err)
			}
			if _, err := os.Stat(journal); row.text != "-" && err != nil {
				t.Errorf("the journal is gone: %v", err)
			}
			_ = os.Remove(journal)
		})
	}
}

// The share of a lost worker is reassigned to the remaining workers from the time until which it was allowed to send.
// If the worker's process has ended, its share is reassigned at once, because it sends nothing more.
func TestSharesOfLostWorkers(t *testing.T) {
	c := &Coordinator{o: Options{OnLost: Redistribute, Interval: time.Second}, clock: NewClock()}
	c.prepare()
	for k := range 4 {
		c.members = append(c.members, &member{number: k, state: Running})
	}
	c.startNs = c.clock.Now() - int64(10*time.Second)
	first := desk{c}.answer(c.members[1])
	if left := time.Duration(first.UntilNs) - 10*time.Second; left < c.lease() || left > c.lease()+time.Minute {
		t.Errorf("a worker that is heard may send for %s", left)
	}
	c.mu.Lock()
	c.lose(c.members[1], message.Literal("nothing was heard of it"))
	c.mu.Unlock()
	c.Exited(2, "signal: killed")
	want := []schedule.Loss{
		{Machine: 1, FromNs: first.UntilNs, Receivers: []uint64{0, 2, 3}},
		{Machine: 2, FromNs: c.members[2].untilNs, Receivers: []uint64{0, 3}},
	}
	if got := (desk{c}).answer(c.members[0]).Losses; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("losses %+v, want %+v", got, want)
	}
	if again := (desk{c}).answer(c.members[1]); again.UntilNs != first.UntilNs || !again.Stop {
		t.Errorf("a worker whose share was given away is answered %+v", again)
	}
	c.Exited(0, "signal: killed")
	c.Exited(3, "signal: killed")
	if len(c.losses) != 3 {
		t.Errorf("losses %+v: nobody is left for the last", c.losses)
	}
}
