package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"brunt/internal/cli/usage"
	"brunt/internal/loadtest"
	"brunt/internal/plan"
	"brunt/internal/protocols"
	"brunt/internal/record"
	"brunt/internal/report"
	"brunt/internal/schema"
	"brunt/internal/schema/fill"
	"brunt/internal/verdict/exitcode"
)

func newSchema(s *streams) *cobra.Command {
	return group("schema", newSchemaUp(s), newSchemaDown(s))
}

func newSchemaUp(s *streams) *cobra.Command {
	f, w := &planFlags{}, &workerFlags{}
	var o schema.FillOptions
	var verify, checkpoint string
	var quiet bool
	cmd := command("schema-up", cobra.MaximumNArgs(1), func(_ *cobra.Command, args []string) error {
		p, err := f.read(s, args)
		if err != nil {
			return err
		}
		if o.Verify, err = fill.ParseVerify(verify); err != nil {
			return exitcode.Usage(err)
		}
		o.Checkpoint = checkpointOf(p, checkpoint)
		o.Version = s.version
		if err := w.checkFilling(p); err != nil {
			return exitcode.Usage(err)
		}
		return schemaUp(s, p, o, w, quiet)
	})
	f.bind(cmd)
	cmd.Flags().IntVar(&o.Workers, "workers", 4, "sessions that fill tables at the same time")
	cmd.Flags().StringVar(&verify, "verify", "count",
		"proof at the end: none, count, sample (some rows are read back) or full (all are)")
	bindCheckpoint(cmd, &checkpoint)
	cmd.Flags().BoolVar(&quiet, "quiet", false, "no progress")
	cmd.Flags().BoolVar(&o.Force, "force", false, "fill empty tables that brunt didn't create")
	usage.InGroup(cmd.Flags(), usage.Data)
	w.bindPlaces(cmd, "processes", "fill tables from so many processes, each with --workers sessions")
	return cmd
}

func bindCheckpoint(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "checkpoint", "",
		`file that remembers what has been loaded (default "results/<plan>-<protocol>.load")`)
}

// checkpointOf returns the path of the file that records how much of a plan's data has been loaded. given is the user's
// path, or "".
func checkpointOf(p *plan.Plan, given string) string {
	if given != "" {
		return given
	}
	return filepath.Join(record.DefaultRoot, record.SafeName(p.Name+"-"+p.Target.Protocol)+".load")
}

// checkFilling refuses what --processes can't do for a plan's tables.
func (f *workerFlags) checkFilling(p *plan.Plan) error {
	if err := f.workers.CheckFilling(f.flags()); err != nil || f.workers.Number == 0 {
		return err
	}
	if protocols.Embedded(p.Target.Protocol) {
		return fmt.Errorf("--processes: what %s stores is opened by one process; use --workers alone", p.Target.Protocol)
	}
	return nil
}

func schemaUp(s *streams, p *plan.Plan, o schema.FillOptions, w *workerFlags, quiet bool) error {
	out := loadtest.NewOutputs(s.out, s.err)
	ctx, hard, stop := loadtest.Interruptible(out.Err, loadtest.Endings(false))
	defer stop()
	if o.Processes = w.workers.Number; o.Processes > 0 {
		filling := &loadtest.Filling{Plan: p, Workers: w.workers, Sessions: o.Workers, Checkpoint: o.Checkpoint,
			Version: s.version}
		o.Others = func(ctx context.Context, shared *fill.Shared) ([]fill.TableReport, error) {
			return filling.Fill(ctx, hard, out, shared)
		}
	}
	done := func() {}
	if !quiet {
		progress := report.NewLoadProgress(out.Err, loadtest.Look(out.Err))
		o.Progress = func(p fill.Progress) { progress.Show(report.Filling(p)) }
		done = progress.Done
	}
	changes, notices, err := schema.Up(ctx, p, o)
	done()
	if lost := out.Flush(hard); lost != nil {
		err = errors.Join(err, lost)
	}
	printNotes(s, notices)
	printChanges(s, changes)
	if err != nil && ctx.Err() != nil {
		return exitcode.With(exitcode.Interrupted, fmt.Errorf("interrupted; the same command goes on from %s", o.Checkpoint))
	}
	return loadtest.Failure(ctx, err)
}

func printNotes(s *streams, notes []record.Warning) {
	for _, n := range notes {
		fmt.Fprintf(s.err, "brunt: note: %s\n", n.Text)
		if !n.Remedy.IsZero() {
			fmt.Fprintf(s.err, "  ↳ %s\n", n.Remedy)
		}
	}
}

func printChanges(s *streams, changes []schema.Change) {
	for _, c := range changes {
		fmt.Fprintf(s.out, "%-24s %s\n", c.Name, &c)
	}
}

func newSchemaDown(s *streams) *cobra.Command {
	f := &planFlags{}
	var o schema.DownOptions
	var checkpoint string
	cmd := command("schema-down", cobra.MaximumNArgs(1), func(_ *cobra.Command, args []string) error {
		p, err := f.read(s, args)
		if err != nil {
			return err
		}
		ctx, _, stop := loadtest.Interruptible(s.err, loadtest.Endings(false))
		defer stop()
		if in, ok := s.in.(*os.File); ok && term.IsTerminal(int(in.Fd())) && !o.Force {
			o.Ask = asker(bufio.NewReader(in), s.err)
		}
		o.Checkpoint = checkpointOf(p, checkpoint)
		changes, notes, err := schema.Down(ctx, p, o)
		printNotes(s, notes)
		printChanges(s, changes)
		return loadtest.Failure(ctx, err)
	})
	f.bind(cmd)
	cmd.Flags().BoolVar(&o.Force, "force", false, "drop tables too that brunt didn't create")
	bindCheckpoint(cmd, &checkpoint)
	cmd.Flags().DurationVar(&o.Timeout, "timeout", time.Minute, "time for each table, unless the plan gives it less")
	return cmd
}

// asker returns a function that asks the user whether a table that brunt didn't create may be dropped.
func asker(in *bufio.Reader, out io.Writer) func(table, why string) bool {
	return func(table, why string) bool {
		fmt.Fprintf(out, "table %s: %s; drop it, with all its rows? [y/N] ", table, why)
		answer, _ := in.ReadString('\n')
		answer = strings.ToLower(strings.TrimSpace(answer))
		return answer == "y" || answer == "yes"
	}
}
