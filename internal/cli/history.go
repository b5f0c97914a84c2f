package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/command"
	"brunt/internal/judge/compare"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/history"
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
)

// defaultHistory is the folder of the history unless the user gives another.
const defaultHistory = "history"

func newHistory(s *command.Env) *cobra.Command {
	var dir string
	store := func() history.Store { return history.Store{Dir: dir} }
	cmd := newGroup("history",
		newHistoryAdd(s, store), newHistoryShow(s, store, false), newHistoryShow(s, store, true),
		newHistoryAcknowledge(s, store))
	cmd.PersistentFlags().StringVar(&dir, "store", defaultHistory,
		"folder of the history; in a git repository it can be committed")
	return cmd
}

func newHistoryAdd(s *command.Env, store func() history.Store) *cobra.Command {
	var version, series string
	var commit, anyway bool
	cmd := newCommand("history-add", cobra.MinimumNArgs(1), func(_ *cobra.Command, args []string) error {
		runs, err := readResults(args)
		if err != nil {
			return err
		}
		if version == "" {
			version = history.HeadCommit(".")
		}
		e, err := history.NewEntry(runs, series, version, time.Now(), anyway)
		if err != nil {
			return compare.Refusal(err)
		}
		st := store()
		if err := st.Add(e, anyway); err != nil {
			return exitcode.Usage(err)
		}
		if commit {
			if err := st.Commit(fmt.Sprintf("Add %s of %s", e.Version, e.Series)); err != nil {
				return err
			}
		}
		fmt.Fprintf(s.Out, "added %s of %q, %d run(s), to %s\n", e.Version, e.Series, len(args), st.Dir)
		return nil
	})
	cmd.Flags().StringVar(&version, "version", "", "what was measured: a commit or a release")
	cmd.Flags().StringVar(&series, "series", "", "name of the series; the plan's name")
	cmd.Flags().BoolVar(&commit, "commit", false, "commit the history in its git repository")
	cmd.Flags().BoolVar(&anyway, "anyway", false,
		"take runs also where that means little: invalid ones, of different plans or machines")
	return cmd
}

// historyView holds the flags that determine how a history is shown.
type historyView struct {
	command.FormFlags
	options history.Options
}

func (v *historyView) bind(cmd *cobra.Command, forms ...string) {
	fs := cmd.Flags()
	v.FormFlags.Bind(fs, "text", "tables", forms...)
	fs.IntVar(&v.options.Window, "window", 50, "versions looked at together")
	fs.Float64Var(&v.options.P, "max-p", 0.001, "greatest p-value of a change")
	fs.IntVar(&v.options.Permutations, "permutations", 0,
		"test changes by so many permutations, such as 1000, in place of Student's t")
	fs.Float64Var(&v.options.Magnitude, "magnitude", 0,
		"least relative change; 0 means the greater of 3 % and twice the spread of runs")
}

func (v *historyView) check() error {
	if err := v.FormFlags.Check(); err != nil {
		return err
	}
	return exitcode.Usage(v.options.Check())
}

// newHistoryShow returns the command history show or history check. The latter exits with 97 if there is a new
// regression.
func newHistoryShow(s *command.Env, store func() history.Store, check bool) *cobra.Command {
	v, name, last := &historyView{}, "history-show", "html"
	if check {
		name, last = "history-check", "junit"
	}
	cmd := newCommand(name, cobra.NoArgs, func(_ *cobra.Command, _ []string) error {
		if err := v.check(); err != nil {
			return err
		}
		st := store()
		all, damaged, err := st.Series(v.options)
		if err != nil {
			return exitcode.Usage(err)
		}
		if len(damaged) > 0 {
			fmt.Fprintf(s.Err, "brunt: note: what can't be read is left out: %s\n", strings.Join(damaged, ", "))
		}
		if len(all) == 0 {
			return exitcode.Usage(fmt.Errorf(
				"there is no history in %s; add runs with brunt history add, or name another folder with --store", st.Dir))
		}
		code := exitcode.Pass
		if check && history.Fresh(all) {
			code = exitcode.Regression
		}
		return exitcode.With(code, v.print(s.Out, all, check))
	})
	v.bind(cmd, "text", "json", "md", "csv", last)
	return cmd
}

// print prints series. For a check, it prints only what changed.
func (v *historyView) print(w io.Writer, all []*history.Series, check bool) error {
	switch v.Output {
	case "json":
		return history.JSON(w, all)
	case "junit":
		return history.JUnit(w, all)
	case "csv":
		return history.CSV(w, all)
	case "html":
		return history.Page(w, v.Language(), all, v.options)
	}
	return v.Tables(w, func(l units.Language) []cell.Table { return history.Tables(l, all, v.options, check) })
}

func newHistoryAcknowledge(s *command.Env, store func() history.Store) *cobra.Command {
	a := history.Acknowledged{}
	cmd := newCommand("history-acknowledge", cobra.ExactArgs(1), func(_ *cobra.Command, args []string) error {
		if a.Reason = strings.TrimSpace(units.Clean(a.Reason)); a.Reason == "" {
			return exitcode.Usage(errors.New("say why with --reason, for those who read it next year"))
		}
		a.Version, a.Added = args[0], time.Now().UTC()
		st := store()
		all, _, err := st.Series(history.Options{})
		if err != nil {
			return exitcode.Usage(err)
		}
		if !history.Has(all, a.Version) {
			return exitcode.Usage(fmt.Errorf("there is no version %s in %s", a.Version, st.Dir))
		}
		if err := st.Acknowledge(a); err != nil {
			return err
		}
		fmt.Fprintf(s.Out, "acknowledged %s\n", a.Version)
		return nil
	})
	cmd.Flags().StringVar(&a.Reason, "reason", "", "why the change is fine")
	cmd.Flags().StringVar(&a.Series, "series", "", "only of this series")
	cmd.Flags().StringVar(&a.Metric, "metric", "", "only of this metric, such as rate")
	return cmd
}
