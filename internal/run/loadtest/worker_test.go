package loadtest

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"brunt/internal/judge/exitcode"
	"brunt/internal/render/message"
	"brunt/internal/run/scale"
)

// A worker of a run that is called off before its load fails with the run's exit code, and says so.
func TestWorkersOfARunThatIsCalledOff(t *testing.T) {
	for name, row := range map[string]struct {
		workers int
		off     func(t *testing.T, c *scale.Coordinator) // before all workers have joined, or are ready
		code    int
	}{
		"too few have joined": {2, func(t *testing.T, c *scale.Coordinator) {
			if err := c.Gather(t.Context()); exitcode.Of(workerError(err)) != exitcode.Unreachable {
				t.Errorf("%v", err)
			}
		}, exitcode.Unreachable},
		"interrupted": {2, func(t *testing.T, c *scale.Coordinator) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := c.Gather(ctx); err == nil {
				t.Error("it went on")
			}
		}, exitcode.Interrupted},
		"ready": {1, func(t *testing.T, c *scale.Coordinator) {
			if err := c.Gather(t.Context()); err != nil {
				t.Error(err)
			}
			c.Stop(true, message.Message{})
		}, exitcode.Interrupted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lead, worker, err := scale.NewIdentities("run", time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			patience := time.Millisecond
			if row.workers == 1 {
				patience = time.Minute
			}
			c, err := scale.Listen(scale.Options{Run: "run", Version: "test", Workers: row.workers, Dir: t.TempDir(),
				Listen: "127.0.0.1:0", Identity: lead, Interval: time.Hour, Patience: patience, OnLost: scale.GoOn,
				Job: scale.Job{Run: "run", Workers: row.workers, IntervalNs: int64(time.Hour), Plan: []byte(`
target: {protocol: noop, addresses: [none]}
sessions: 1
queries: [{name: one, command: [PING]}]
load: [{constant: {rate: 10, duration: 1h}}]
`)}})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			ticket := filepath.Join(t.TempDir(), "ticket")
			if err := scale.WriteSecret(ticket, &scale.Ticket{Run: "run", Identity: worker,
				Addresses: []string{net.JoinHostPort("127.0.0.1", strconv.Itoa(c.Port()))},
				Dir:       filepath.Join(t.TempDir(), "bundle"),
			}); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- (&Worker{Ticket: ticket, Index: 0}).Work(nil, io.Discard, "test") }()
			row.off(t, c)
			err = <-ended
			if exitcode.Of(err) != row.code || !strings.Contains(err.Error(), "has called the run off") {
				t.Errorf("exit code %d, want %d: %v", exitcode.Of(err), row.code, err)
			}
		})
	}
}
