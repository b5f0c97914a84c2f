package loadtest

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/report"
	"brunt/internal/server/schema"
	"brunt/internal/server/schema/fill"
)

// CheckpointOf returns the path of the file that records how much of a plan's data has been loaded. given is the user's
// path, or "".
func CheckpointOf(p *plan.Plan, given string) string {
	return cmp.Or(given, filepath.Join(record.DefaultRoot, record.SafeName(p.Name+"-"+p.Target.Protocol)+".load"))
}

// FillTables creates and fills the tables of p, by workers if there are any, and prints what it did.
func FillTables(stdout, stderr io.Writer, p *plan.Plan, o schema.FillOptions, w Workers, quiet bool) error {
	out := NewOutputs(stdout, stderr)
	ctx, hard, stop := Interruptible(out.Err, Endings(false))
	defer stop()
	if o.Processes = w.Number; o.Processes > 0 {
		if err := w.Ready(ctx); err != nil {
			return errors.Join(err, out.Flush(hard))
		}
		filling := &Filling{
			Plan: p, Workers: w, Sessions: o.Workers, Checkpoint: o.Checkpoint, Version: o.Version,
		}
		o.Others = func(ctx context.Context, shared *fill.Shared) ([]fill.TableReport, error) {
			return filling.Fill(ctx, hard, out, shared)
		}
	}
	done := func() {}
	if !quiet {
		progress := report.NewLoadProgress(out.Err, Look(out.Err))
		o.Progress = func(p fill.Progress) { progress.Show(report.Filling(p)) }
		done = progress.Done
	}
	o.Waits = func(text message.Message) { fmt.Fprintf(out.Err, "brunt: note: %s\n", text) }
	changes, notices, err := schema.Up(ctx, p, o)
	done()
	if lost := out.Flush(hard); lost != nil {
		err = errors.Join(err, lost)
	}
	printNotes(stderr, notices)
	printChanges(stdout, changes)
	if _, ok := errors.AsType[*fill.NotBegunError](err); ok && ctx.Err() != nil {
		return Failure(ctx, err)
	}
	if err != nil && ctx.Err() != nil {
		return exitcode.With(exitcode.Interrupted, fmt.Errorf("interrupted; the same command goes on from %s", o.Checkpoint))
	}
	return Failure(ctx, err)
}

func printNotes(w io.Writer, notes []record.Warning) {
	for _, n := range notes {
		fmt.Fprintf(w, "brunt: note: %s\n", n.Text)
		if !n.Remedy.IsZero() {
			fmt.Fprintf(w, "  ↳ %s\n", n.Remedy)
		}
	}
}

func printChanges(w io.Writer, changes []schema.Change) {
	for _, c := range changes {
		fmt.Fprintf(w, "%-24s %s\n", c.Name, &c)
	}
}

// DropTables drops the tables of p and prints what it did. If stdin is a terminal, the user is asked about tables that
// brunt didn't create.
func DropTables(stdin io.Reader, stdout, stderr io.Writer, p *plan.Plan, o schema.DownOptions) error {
	ctx, _, stop := Interruptible(stderr, Endings(false))
	defer stop()
	if in, ok := stdin.(*os.File); ok && term.IsTerminal(int(in.Fd())) && !o.Force {
		o.Ask = asker(bufio.NewReader(in), stderr)
	}
	changes, notes, err := schema.Down(ctx, p, o)
	printNotes(stderr, notes)
	printChanges(stdout, changes)
	return Failure(ctx, err)
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
