package k6x

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"brunt/internal/base/secret"
	"brunt/internal/record"
	"brunt/internal/run/scale"
)

// Share runs a worker's segment of a script of k6 by its own name, and ends the process. o.Command and o.Led are set by
// Share.
func Share(o Options, w *scale.Worker, stop, hard <-chan struct{}) error {
	job := w.Job.Script
	dir, err := os.MkdirTemp("", "brunt-k6-")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "script.tar")
	if err := os.WriteFile(path, job.Archive, 0o600); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	of := &record.Worker{Name: w.Name(), ClockOffsetNs: w.Offset.Ns, ClockUncertaintyNs: w.Offset.UncertaintyNs}
	led := &Led{
		Script: job.Name, Epoch: w.At(w.Job.EpochNs), Dir: w.Dir, Worker: of, Sink: w, Stop: stop, Hard: hard,
		Judged: w.SetRules,
		Begin: func() (start time.Time, err error) {
			_ = os.RemoveAll(dir) // k6 has read it already
			of.StartLateNs, err = w.Begin(context.Background(), w.Dir)
			return time.Now().Add(-time.Duration(of.StartLateNs)), err
		},
		Ended: func(code int, recorded bool) int {
			_ = os.RemoveAll(dir)
			if !recorded {
				w.Fail(fmt.Errorf("k6 ended with exit code %d; the lines of worker %d above say why", code, w.Number()+1), code)
				return code
			}
			if err := w.Finish(context.Background(), w.Dir); err != nil {
				fmt.Fprintln(o.Err, "brunt:", err)
			}
			return code
		},
	}
	args := append([]string{"run", "--quiet", "--address", ""}, segments(w.Number(), w.Job.Workers)...)
	o.Name, o.Command, o.Led = "k6", secret.Args(w.Job.Command, secret.Flags{}), led
	Main(o, append(append(args, job.Args...), path))
	return nil
}

// segments returns the execution segment flags of worker k, from 0, of n.
func segments(k, n int) []string {
	at := func(i int) string {
		switch i {
		case 0:
			return "0"
		case n:
			return "1"
		}
		return fmt.Sprintf("%d/%d", i, n)
	}
	var all []string
	for i := range n + 1 {
		all = append(all, at(i))
	}
	return []string{"--execution-segment=" + at(k) + ":" + at(k+1),
		"--execution-segment-sequence=" + strings.Join(all, ",")}
}
