//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// burnCommand is the word by which this program starts itself as a burner.
const burnCommand = "burn"

// burner burns a core for a part of each period; for all of it if the two are the same.
type burner struct {
	realtime     bool // before all ordinary processes (SCHED_FIFO)
	busy, period time.Duration
	nice         int
}

// start starts one, which ends with ctx.
func (b burner) start(ctx context.Context, self string, core int) {
	cmd := exec.CommandContext(ctx, self, burnCommand, fmt.Sprint(core), fmt.Sprint(b.realtime), b.busy.String(), b.period.String(), fmt.Sprint(b.nice))
	cmd.Stderr = os.Stderr
	if cmd.Start() == nil {
		go cmd.Wait()
	}
}

// burnerLife ends a burner that nobody has ended.
const burnerLife = time.Minute

// burn is the burner's process.
func burn(args []string) error {
	var core, nice int
	var realtime bool
	var busy, period string
	if len(args) != 5 {
		return fmt.Errorf("%s needs core, realtime, busy, period and nice", burnCommand)
	}
	for i, v := range []any{&core, &realtime, &busy, &period, &nice} {
		if _, err := fmt.Sscan(args[i], v); err != nil {
			return err
		}
	}
	if err := takeCore(core, realtime, nice); err != nil {
		return err
	}
	on, err := time.ParseDuration(busy)
	if err != nil {
		return err
	}
	every, err := time.ParseDuration(period)
	if err != nil {
		return err
	}
	for end := time.Now().Add(burnerLife); time.Now().Before(end); {
		for began := time.Now(); time.Since(began) < on; {
		}
		time.Sleep(every - on)
	}
	return nil
}
