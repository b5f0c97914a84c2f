package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"brunt/internal/loadtest"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/report"
	"brunt/internal/schema"
	"brunt/internal/schema/fill"
	"brunt/internal/verdict/exitcode"
)

func newSchema(s *streams) *cobra.Command {
	return group("schema", "Create and fill, or drop, the plan's tables", newSchemaUp(s), newSchemaDown(s))
}

func newSchemaUp(s *streams) *cobra.Command {
	f := &planFlags{}
	var o schema.FillOptions
	var verify, checkpoint string
	var quiet bool
	cmd := &cobra.Command{
		Use:   "up -c PLAN",
		Short: "Create the plan's tables and indexes and fill them",
		Long: `Create the plan's tables and indexes, fill the tables in the fastest way that the server has,
prove that they are complete, and have the server make its planner's statistics (ANALYZE). A load that was killed goes on where it was: its checkpoint is
kept until the work is done.`,
		Example: "  brunt schema up -c examples/cars.yml -u stress --proto pg -a 127.0.0.1:5432",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := f.read(s, args)
			if err != nil {
				return err
			}
			if o.Verify, err = fill.ParseVerify(verify); err != nil {
				return exitcode.Usage(err)
			}
			o.Checkpoint = checkpointOf(p, checkpoint)
			o.Version = s.version
			return schemaUp(s, p, o, quiet)
		},
	}
	f.bind(cmd)
	cmd.Flags().IntVar(&o.Workers, "workers", 4, "sessions that fill tables at the same time")
	cmd.Flags().StringVar(&verify, "verify", "count",
		"proof at the end: none, count, sample (some rows are read back) or full (all are)")
	bindCheckpoint(cmd, &checkpoint)
	cmd.Flags().BoolVar(&quiet, "quiet", false, "no progress")
	cmd.Flags().BoolVar(&o.Force, "force", false, "fill empty tables that brunt didn't create")
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

func schemaUp(s *streams, p *plan.Plan, o schema.FillOptions, quiet bool) error {
	ctx, _, stop := loadtest.Interruptible(s.err, loadtest.Endings(false))
	defer stop()
	done := func() {}
	if !quiet {
		progress := report.NewLoadProgress(s.err, loadtest.Look(s.err))
		o.Progress = func(p fill.Progress) { progress.Show(report.Filling(p)) }
		done = progress.Done
	}
	changes, notices, err := schema.Up(ctx, p, o)
	done()
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
	cmd := &cobra.Command{
		Use:   "down -c PLAN",
		Short: "Drop the plan's tables",
		Long: `Drop those of the plan's tables that brunt created, as table brunt_tables in the database says.
Others are dropped if the terminal's user says so, or with --force. With the last of them goes what schema up
remembers of an unfinished load.`,
		Example: "  brunt schema down -c examples/cars.yml -u stress --proto pg -a 127.0.0.1:5432",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
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
		},
	}
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
