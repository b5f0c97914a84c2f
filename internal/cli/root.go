package cli

import (
	"errors"
	"fmt"
	"io"
	"log"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"brunt/internal/base/secret"
	"brunt/internal/cli/usage"
	"brunt/internal/judge/exitcode"
	"brunt/internal/protocol/protocols"
	"brunt/internal/run/loadtest"
)

// streams holds the process's standard streams, its command line and its version.
type streams struct {
	in       io.Reader
	out, err io.Writer
	args     []string
	version  string
	dialect  dialect           // dialect of the tool whose name the program was called by
	flags    map[string]string // see record.Run.Flags
}

// Main runs the command line and returns the process's exit code. If it is called by the name of a tool that brunt
// replaces, it accepts that tool's flags.
func Main(version string, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	log.SetOutput(io.Discard) // net/http and other libraries write lines of their own, which nobody can act on
	s := &streams{in: stdin, out: stdout, err: stderr, args: args, version: version, dialect: dialectOf(args[0])}
	rest, all := usage.WantsAllHelp(args[1:])
	if s.dialect.arguments != nil {
		rest = s.dialect.arguments(s, rest)
	}
	rest, err := javaYCSB(rest)
	if err != nil {
		loadtest.Say(stderr, errorLines(exitcode.Usage(err), args))
		return exitcode.BadPlan
	}
	root := newRoot(s, rest...)
	usage.GroupHelp(root, all)
	root.SetArgs(pageAddress(rest))
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err = root.Execute()
	if text := errorLines(err, args); text != "" {
		loadtest.Say(stderr, text)
	}
	return exitcode.Of(err)
}

// errorLines returns the printed form of an error: its lines, each prefixed with the program's name. Passwords in the
// command line's addresses are hidden even where a parser has cut them to pieces.
func errorLines(err error, args []string) string {
	if err == nil || err.Error() == "" {
		return ""
	}
	var lines []string
	whole := secret.Text(err.Error())
	for _, a := range args[min(1, len(args)):] {
		whole = secret.Redact(whole, secret.Of(a))
	}
	for l := range strings.SplitSeq(strings.TrimSpace(whole), "\n") {
		lines = append(lines, "brunt: "+l)
	}
	return strings.Join(lines, "\n")
}

// commands returns the constructors of the commands under brunt that need no other command, by their names. Dialects
// have others, and manual describes all.
func commands() map[string]func(*streams) *cobra.Command {
	return map[string]func(*streams) *cobra.Command{
		"run": newRun, "queue": newQueue, "rate": newRate, "spike": newSpike, "resume": newResume, "repeat": newRepeat,
		"search": newSearch, "matrix": newMatrix, "campaign": newCampaign, "advise": newAdvise, "doctor": newDoctor,
		"schema": newSchema, "report": newReport, "verify": newVerify, "selftest": newSelftest, "merge": newMerge,
		"export": newExport, "intervals": newIntervals, "compare": newCompare, "history": newHistory,
		"version": newVersion, "heal-faults": newHealFaults, "worker": newWorker, "ticket": newTicket,
	}
}

// newRoot returns the command brunt for a command line. If that begins with the name of a command, root has only this
// command, because binding the flags of all takes a millisecond. Otherwise it has all.
func newRoot(s *streams, args ...string) *cobra.Command {
	root := group("brunt")
	root.Version, root.SilenceUsage, root.SilenceErrors = s.version, true, true
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		s.flags = adjusting("--", func(name string) bool { return cmd.Flags().Lookup(name) != nil })
	}
	all := commands()
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if word := s.wordAfter(cmd); word != "" { // its flags belong to a command that doesn't exist
			return usage.UnknownCommand(cmd, word, commandFor)
		}
		if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && all[unknown.GetSpecifiedName()] != nil {
			return exitcode.Usage(fmt.Errorf("%w; did you mean the command brunt %s?; see brunt --help", err,
				unknown.GetSpecifiedName()))
		}
		return usage.FlagError(cmd, err)
	})
	if len(args) > 0 && all[args[0]] != nil {
		root.AddCommand(all[args[0]](s))
	} else {
		for _, construct := range all {
			root.AddCommand(construct(s))
		}
		root.AddCommand(newManual())
		addDialects(root, s)
	}
	root.InitDefaultHelpCmd()
	usage.StrictHelp(root)
	root.InitDefaultCompletionCmd()
	usage.CheckArgs(root, commandFor)
	return root
}

// wordAfter returns the argument that follows the name of a command with subcommands only; "" if it is a flag.
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

// commandFor says what to write instead of a word that is no subcommand of cmd: it names a protocol, or a file; "" if
// unknown.
func commandFor(cmd *cobra.Command, word string) string {
	if d, err := protocols.Find(word); err == nil {
		return "for the protocol, write brunt run PLAN --proto " + d.Name()
	}
	switch filepath.Ext(word) {
	case ".js", ".ts":
		return "for the script, write brunt k6 run " + word
	case ".yml", ".yaml":
		file := strings.NewReplacer("PLAN", word, "FILE", word)
		for _, sub := range cmd.Commands() {
			if use := file.Replace(sub.Use); use != sub.Use && slices.Contains([]string{"run", "up"}, sub.Name()) {
				return "for the file, write " + cmd.CommandPath() + " " + use
			}
		}
	}
	return ""
}

// newManual returns the command that writes the files that packages contain besides the binary: a manual page for every
// command, shell completions, and the schemas of plans and campaigns for editors.
func newManual() *cobra.Command {
	cmd := command("manual", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return usage.WriteManual(cmd.Root(), args[0])
	})
	cmd.Hidden = true
	return cmd
}
