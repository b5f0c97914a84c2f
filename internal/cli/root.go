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
	"brunt/internal/dialect"
	"brunt/internal/dialect/command"
	"brunt/internal/dialect/command/usage"
	"brunt/internal/dialect/tools"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan/planfile"
	_ "brunt/internal/protocol/all" // the command line has all protocols
	"brunt/internal/protocol/protocols"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/program/campaign/campaignfile"
)

// Main runs the command line and returns the process's exit code. If it is called by the name of a tool that brunt
// replaces, it accepts that tool's flags.
func Main(version string, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	log.SetOutput(io.Discard) // net/http and other libraries write lines of their own, which nobody can act on
	linked := tools.All()
	tool, program := linked.Called(args[0])
	s := &command.Env{In: stdin, Out: stdout, Err: stderr, Args: args, Version: version, Program: program, Form: tool.Form,
		Foreign: func(name string, text []byte) string { return foreign(linked, name, text) }}
	rest, all := usage.WantsAllHelp(args[1:])
	if program != "" {
		rest = tool.Brunt(s, program, rest)
	}
	rest, err := rewritten(linked, rest)
	if err := errors.Join(err, protocols.Faults()); err != nil {
		loadtest.Say(stderr, errorLines(exitcode.Usage(err), args))
		return exitcode.BadPlan
	}
	suite := &junitOutput{to: stdout}
	if suite.asked(rest) {
		s.Out = suite
	}
	root := newRoot(s, rest...)
	usage.GroupHelp(root, all)
	cmd, err := executeRoot(root, s, rest)
	err = errors.Join(err, suite.finish(cmd, errorText(err, args)))
	if text := errorLines(err, args); text != "" {
		loadtest.Say(stderr, text)
	}
	return exitcode.Of(err)
}

// executeLine executes a command line.
func executeLine(s *command.Env, args []string) error {
	rest, err := rewritten(tools.All(), args)
	if err != nil {
		return exitcode.Usage(err)
	}
	_, err = executeRoot(newRoot(s, rest...), s, rest)
	return err
}

// executeRoot executes a command line and returns the command that it called.
func executeRoot(root *cobra.Command, s *command.Env, args []string) (*cobra.Command, error) {
	root.SetArgs(command.PageAddress(args))
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	return root.ExecuteC()
}

// rewritten returns a command line after its tool's command, if it is one, has rewritten its arguments.
func rewritten(linked dialect.Tools, args []string) ([]string, error) {
	if len(args) == 0 {
		return args, nil
	}
	c := linked.Command(args[0])
	if c == nil || c.Rewrite == nil {
		return args, nil
	}
	rest, err := c.Rewrite(args[1:])
	return append([]string{c.Name}, rest...), err
}

// errorText returns the text of an error; "" if there is none. Passwords in the command line's addresses are hidden
// even where a parser has cut them to pieces.
func errorText(err error, args []string) string {
	if err == nil {
		return ""
	}
	whole := secret.Text(err.Error())
	for _, a := range args[min(1, len(args)):] {
		whole = secret.Redact(whole, secret.Of(a))
	}
	return strings.TrimSpace(whole)
}

// errorLines returns the printed form of an error: its lines, each prefixed with the program's name.
func errorLines(err error, args []string) string {
	whole := errorText(err, args)
	if whole == "" {
		return ""
	}
	return "brunt: " + strings.ReplaceAll(whole, "\n", "\nbrunt: ")
}

// commands returns the constructors of the commands under brunt that need no other command, by their names. Tools
// have others, and manual describes all.
func commands() map[string]func(*command.Env) *cobra.Command {
	return map[string]func(*command.Env) *cobra.Command{
		"run": newRun, "queue": newQueue, "rate": newRate, "spike": newSpike, "resume": newResume, "repeat": newRepeat,
		"search": newSearch, "matrix": newMatrix, "campaign": newCampaign, "advise": newAdvise, "doctor": newDoctor,
		"schema": newSchema, "report": newReport, "verify": newVerify, "selftest": newSelftest, "merge": newMerge,
		"export": newExport, "intervals": newIntervals, "compare": newCompare, "history": newHistory,
		"version": newVersion, asCommand: newAs, "convert": newConvert, httpCommand: newHTTP, grpcCommand: newGRPC,
		"heal-faults": newHealFaults, "worker": newWorker, "ticket": newTicket,
	}
}

// newRoot returns the command brunt for a command line. If that begins with the name of a command, root has only this
// command, because binding the flags of all takes a millisecond. Otherwise it has all.
func newRoot(s *command.Env, args ...string) *cobra.Command {
	root := newGroup("brunt")
	root.Version, root.SilenceUsage, root.SilenceErrors = s.Version, true, true
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		s.Flags = command.Adjusting("--", func(name string) bool { return cmd.Flags().Lookup(name) != nil })
		if !s.PlanOnly {
			return nil
		}
		s.Beyond = command.Beyond(cmd)
		return havePlan(cmd)
	}
	all, linked := commands(), tools.All()
	s.Reports = linked.Reports()
	if len(args) > 0 {
		word := args[0]
		if word == "convert" && len(args) > 1 {
			word = args[1]
		}
		if c := linked.Command(word); c != nil {
			s.Letters = c.Letters
		}
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if word := wordAfter(s, cmd); word != "" { // its flags belong to a command that doesn't exist
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
		for _, tool := range linked {
			for _, c := range tool.Commands {
				root.AddCommand(c.New(s))
			}
		}
	}
	root.InitDefaultHelpCmd()
	usage.StrictHelp(root)
	root.InitDefaultCompletionCmd()
	groupByQuestion(root)
	usage.CheckArgs(root, commandFor)
	return root
}

// wordAfter returns the argument that follows the name of a command with subcommands only; "" if it is a flag.
func wordAfter(s *command.Env, cmd *cobra.Command) string {
	if cmd.HasParent() && !cmd.HasSubCommands() || cmd.HasParent() && cmd.Parent().HasParent() {
		return ""
	}
	rest := s.Args[1:]
	if cmd.HasParent() {
		rest = rest[min(len(rest), slices.Index(rest, cmd.Name())+1):]
	}
	if len(rest) == 0 || strings.HasPrefix(rest[0], "-") {
		return ""
	}
	return rest[0]
}

// commandFor says what to write instead of a word that is no subcommand of cmd: it names a protocol, a tool, or a file;
// "" if unknown.
func commandFor(cmd *cobra.Command, word string) string {
	if d, err := protocols.Find(word); err == nil {
		return "for the protocol, write brunt run PLAN --proto " + d.Name()
	}
	linked := tools.All()
	if slices.Contains(linked.Programs(), word) {
		return "for the tool, write brunt " + asCommand + " " + word
	}
	if text := linked.Advice(word); text != "" {
		return text
	}
	switch filepath.Ext(word) {
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
	cmd := newCommand("manual", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return usage.WriteManual(cmd.Root(), args[0], map[string][]byte{
			"plan": planfile.Schema(), "campaign": campaignfile.Schema(),
		})
	})
	cmd.Hidden = true
	return cmd
}
