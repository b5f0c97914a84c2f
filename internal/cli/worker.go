package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/command"
	"brunt/internal/dialect/tools"
	"brunt/internal/judge/exitcode"
	"brunt/internal/record"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/scale"
	"brunt/internal/run/scale/kubernetes"
)

// newWorker returns the command that sends a worker's part of a load; see package scale.
func newWorker(s *command.Env) *cobra.Command {
	w := &loadtest.Worker{}
	cmd := newCommand(loadtest.WorkerCommand, cobra.NoArgs, func(*cobra.Command, []string) error {
		w.Script = func(w *scale.Worker, stop, hard <-chan struct{}) error {
			return tools.All().Scripts().Share(s, w, stop, hard)
		}
		return w.Work(s.In, s.Err, s.Version)
	})
	fs := cmd.Flags()
	fs.StringVar(&w.Ticket, "ticket", "", "file of the ticket (default: standard input)")
	fs.IntVar(&w.Index, "index", scale.NumberOfEngine, "number of the worker, from 0 (default: what the engine that starts it says)")
	fs.DurationVar(&w.Patience, "join-timeout", 30*time.Second, "how long to look for the coordinator")
	fs.StringVar(&w.Upload, "upload", "", "s3://bucket/prefix for the bundle if the coordinator can't take it")
	return cmd
}

// newTicket returns the command that creates the certificates of a run whose coordinator and workers are started
// separately.
func newTicket(*command.Env) *cobra.Command {
	var addresses []string
	var dir string
	var valid time.Duration
	cmd := newCommand("ticket", cobra.NoArgs, func(*cobra.Command, []string) error {
		if len(addresses) == 0 {
			return exitcode.Usage(errors.New("say where workers reach the coordinator, with --address HOST:PORT"))
		}
		for _, a := range addresses {
			if err := loadtest.CheckAddress("address", a); err != nil {
				return exitcode.Usage(err)
			}
		}
		if valid <= 0 {
			return exitcode.Usage(fmt.Errorf("--valid %s: give the time from now to the end of the run, such as 24h", valid))
		}
		pair, err := scale.NewPair(record.NewID(), addresses, valid)
		if err != nil {
			return err
		}
		if err := scale.WriteSecret(filepath.Join(dir, kubernetes.CoordinatorFile), pair); err != nil {
			return exitcode.Usage(err)
		}
		return exitcode.Usage(scale.WriteSecret(filepath.Join(dir, kubernetes.TicketFile), &pair.Ticket))
	})
	cmd.Flags().StringSliceVar(&addresses, "address", nil, "host:port at which workers reach the coordinator (repeatable)")
	cmd.Flags().DurationVar(&valid, "valid", 24*time.Hour, "time from now to the end of the run, after which the ticket is refused")
	cmd.Flags().StringVar(&dir, "out", "ticket", "folder for the two files, which must not be there")
	return cmd
}
