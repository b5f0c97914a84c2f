package scale

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"brunt/internal/judge/exitcode"
	"brunt/internal/render/message"
)

// A worker's load stays stopped, even if a resumed coordinator doesn't know of it and stops it again.
func TestAStoppedLoadStaysStopped(t *testing.T) {
	_, workers, _ := killed(t, GoOn, 1)
	w := workers[0]
	for _, a := range []Answer{{Stop: true, Hard: true}, {}, {Stop: true, Hard: true}} {
		w.heed(a, &Report{})
		if !w.talk.answer.Stop || !w.talk.answer.Hard {
			t.Errorf("after %+v the worker goes on", a)
		}
	}
}

// A resumed coordinator knows that the load was ended, and why.
func TestResumeKnowsThatTheLoadWasEnded(t *testing.T) {
	rule := message.New("stop.worker-lost", message.Text("worker", "1"))
	for name, why := range map[string]message.Message{"interrupted": {}, "by a rule": rule} {
		t.Run(name, func(t *testing.T) {
			o, workers, _ := killed(t, GoOn, 1)
			c := resumed(t, o)
			c.Stop(true, why)
			if err := c.CloseResumable(); err != nil {
				t.Fatal(err)
			}
			workers[0].client.CloseIdleConnections()
			again := resumed(t, o)
			a, err := workers[0].reportAs(t, Running, 2, "")
			if err != nil || !a.Stop || !a.Hard {
				t.Errorf("answer %+v, %v", a, err)
			}
			if got := again.Aborted().String(); got != why.String() || again.Interrupted() != why.IsZero() {
				t.Errorf("aborted %q, interrupted %v", got, again.Interrupted())
			}
		})
	}
}

// If resuming fails after the coordinator is open, it can be tried again. While one coordinator runs, a second one says
// so.
func TestResumeCanBeTriedAgain(t *testing.T) {
	o, _, _ := killed(t, GoOn, 1)
	c := resumed(t, o)
	if _, _, err := Resume(Options{Dir: o.Dir, Journal: o.Journal}); err == nil ||
		!strings.Contains(err.Error(), "see that the coordinator of this load doesn't run any more") {
		t.Errorf("a second coordinator: %v", err)
	}
	if err := c.CloseResumable(); err != nil {
		t.Fatal(err)
	}
	c = resumed(t, o)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(o.Journal); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the journal is left: %v", err)
	}
}

// A journal that lacks an event would let two workers send the same operations. So it is removed, and that is said.
func TestAJournalThatLacksAnEventIsRemoved(t *testing.T) {
	o, _, _ := killed(t, Redistribute, 3)
	c := resumed(t, o)
	told := ""
	c.mu.Lock()
	c.o.Tell = func(text string) { told += text + "\n" }
	err := c.journal.file.Close() // as if the disk were broken
	c.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	c.Exited(0, "signal: killed")
	if _, err := os.Stat(o.Journal); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the journal is left: %v", err)
	}
	if n := strings.Count(told, "it can't be resumed"); n != 1 {
		t.Errorf("%d of the lines told say so:\n%s", n, told)
	}
}

// A worker that doesn't find its coordinator leaves no folder.
func TestAWorkerWithoutACoordinatorLeavesNothing(t *testing.T) {
	_, worker, err := NewIdentities("run", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, _, err = Connect(ctx, Ticket{Run: "run", Addresses: []string{"127.0.0.1:1"}, Identity: worker}, "1")
	refusedWith(t, err, exitcode.Unreachable, "can't be reached")
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
