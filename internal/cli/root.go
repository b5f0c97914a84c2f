// Package cli is the command line: it binds flags, calls one function, and prints.
package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"brunt/internal/exitcode"
	"brunt/internal/loadtest"
	"brunt/internal/protocols"
	"brunt/internal/secret"
)

// streams are the process's standard streams, its command line and its version.
type streams struct {
	in       io.Reader
	out, err io.Writer
	args     []string
	version  string
	dialect  dialect           // of the tool that the program was called as
	flags    map[string]string // see record.Run.Flags
}

// Main runs the command line and returns the process's exit code. Called by the name of a tool
// that brunt stands in for, it takes that tool's flags.
func Main(version string, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	s := &streams{in: stdin, out: stdout, err: stderr, args: args, version: version, dialect: dialectOf(args[0])}
	root := newRoot(s)
	rest, all := wantsAllHelp(args[1:])
	groupHelp(root, all)
	if s.dialect.arguments != nil {
		rest = s.dialect.arguments(s, rest)
	}
	rest, err := javaYCSB(rest)
	if err != nil {
		loadtest.Say(stderr, errorLines(exitcode.Usage(err)))
		return exitcode.BadPlan
	}
	root.SetArgs(pageAddress(rest))
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err = root.Execute()
	if text := errorLines(err); text != "" {
		loadtest.Say(stderr, text)
	}
	return exitcode.Of(err)
}

// errorLines is what to print of an error: its lines, each with the program's name in front.
func errorLines(err error) string {
	if err == nil || err.Error() == "" {
		return ""
	}
	var lines []string
	for _, l := range strings.Split(strings.TrimSpace(secret.Text(err.Error())), "\n") {
		lines = append(lines, "brunt: "+l)
	}
	return strings.Join(lines, "\n")
}

func newRoot(s *streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "brunt",
		Short: "Find out what a database or network service can take, and prove it",
		Long: `brunt finds out what a database or network service can take, and proves it.

It runs a load test described by a plan (YAML), records everything that happened in a run
bundle, and says whether the result can be trusted. Latency is measured from the moment at
which a request was meant to start, so a server that stalls can't hide it.`,
		Version:       s.version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			s.flags = adjusting("--", func(name string) bool { return cmd.Flags().Lookup(name) != nil })
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if word := s.wordAfter(cmd); word != "" { // its flags are those of a command that isn't there
			return unknownCommand(cmd, word)
		}
		return exitcode.Usage(fmt.Errorf("%w%s; see %s --help", plainFlagError(err), similarFlags(cmd, err),
			cmd.CommandPath()))
	})
	root.AddCommand(
		newRun(s), newQueue(s), newRate(s), newSpike(s), newRepeat(s), newSearch(s), newMatrix(s), newCampaign(s),
		newAdvise(s), newDoctor(s), newSchema(s), newReport(s), newVerify(s),
		newSelftest(s), newMerge(s), newExport(s), newIntervals(s), newCompare(s), newHistory(s),
		newVersion(s), newManual(), newHealFaults(s), newWorker(s), newTicket(s),
	)
	addDialects(root, s)
	root.InitDefaultHelpCmd()
	strictHelp(root)
	root.InitDefaultCompletionCmd()
	wrapArgs(root)
	return root
}

// group is a command that only has others below it.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(commands...)
	return cmd
}

// strictHelp makes help about an unknown command the user's error.
func strictHelp(root *cobra.Command) {
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		return
	}
	help.Run = nil
	help.RunE = func(_ *cobra.Command, args []string) error {
		cmd, rest, err := root.Find(args)
		if err != nil || len(rest) > 0 {
			return exitcode.Usage(fmt.Errorf("no help about %q; see brunt help", strings.Join(args, " ")))
		}
		cmd.InitDefaultHelpFlag()
		return cmd.Help()
	}
}

// wrapArgs makes wrong positional arguments and unknown commands the user's error, with the exit
// code that says so.
func wrapArgs(c *cobra.Command) {
	check := c.Args
	if check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			var e *exitcode.Error
			if err == nil || errors.As(err, &e) {
				return err
			}
			if !cmd.HasParent() || cmd.HasSubCommands() { // an unknown command
				return unknownCommand(cmd, args[0])
			}
			return exitcode.Usage(fmt.Errorf("%s: write %s %s; see %s --help", miscounted(err, cmd, args),
				cmd.Parent().CommandPath(), cmd.Use, cmd.CommandPath()))
		}
	}
	for _, sub := range c.Commands() {
		wrapArgs(sub)
	}
}

// unknownCommand says that a command has none of a name, and what may have been meant.
func unknownCommand(cmd *cobra.Command, word string) error {
	cmd.SuggestionsMinimumDistance = similarWithin
	near := meant("", cmd.SuggestionsFor(word))
	if _, name, err := protocols.Find(word); err == nil && near == "" {
		near = "; for the protocol, write brunt run PLAN --proto " + name
	}
	return exitcode.Usage(fmt.Errorf("unknown command %q for %q%s; see %s --help", word, cmd.CommandPath(), near,
		cmd.CommandPath()))
}

// wordAfter is the argument after the name of a command that only has others below it, unless it is a flag.
func (s *streams) wordAfter(cmd *cobra.Command) string {
	if cmd.HasParent() && !cmd.HasSubCommands() || cmd.HasParent() && cmd.Parent().HasParent() {
		return ""
	}
	rest := s.args[1:]
	if cmd.HasParent() {
		rest = rest[min(len(rest), slices.Index(rest, cmd.Name())+1):]
	}
	if len(rest) == 0 || strings.HasPrefix(rest[0], "-") {
		return ""
	}
	return rest[0]
}

// miscounted says what is wrong with the number of arguments of a command, if that is what err, cobra's, is about.
func miscounted(err error, cmd *cobra.Command, args []string) string {
	switch {
	case !strings.Contains(err.Error(), "arg(s)"):
		return err.Error()
	case len(args) == 0:
		return cmd.CommandPath() + " needs arguments, and there are none"
	case strings.Contains(err.Error(), "at least"):
		return fmt.Sprintf("%s needs more arguments than %q", cmd.CommandPath(), args)
	}
	return fmt.Sprintf("%s takes fewer arguments than %q", cmd.CommandPath(), args)
}

// similarFlags names the flags of cmd that one it doesn't have may stand for.
func similarFlags(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) < 2 {
		return ""
	}
	// What is similar is cobra's to say, of commands.
	names := &cobra.Command{SuggestionsMinimumDistance: similarWithin}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
	})
	word := unknown.GetSpecifiedName()
	near := names.SuggestionsFor(word)
	longer := slices.DeleteFunc(slices.Clone(near), func(n string) bool { return !strings.HasPrefix(n, word) })
	if len(longer) > 0 { // the rest of a name was forgotten
		near = longer
	}
	return meant("--", near)
}

// similarWithin is how many letters may be wrong in a name that another is proposed for.
const similarWithin = 2

// meant asks whether one of some names was meant; "" if there are none, or so many that none is likely.
func meant(prefix string, names []string) string {
	const most = 3
	if len(names) == 0 || len(names) > most {
		return ""
	}
	return "; did you mean " + prefix + strings.Join(names, " or "+prefix) + "?"
}

// plainFlagError says of a flag's value that can't be read what to give instead, in place of what
// the parser of its type said.
func plainFlagError(err error) error {
	var v *pflag.InvalidValueError
	if !errors.As(err, &v) {
		return err
	}
	var what string
	switch v.GetFlag().Value.Type() {
	case "int", "uint64":
		what = "give a whole number"
	case "float64":
		what = "give a number, such as 1000 or 0.5"
	case "rate":
		what = "give operations a second, such as 1000 or 0.5, or N/unit, such as 600/m"
	case "duration":
		what = "give a time with its unit, such as 30s or 1m30s"
	default:
		return err
	}
	return fmt.Errorf("invalid argument %q for \"--%s\": %s", v.GetValue(), v.GetFlag().Name, what)
}
