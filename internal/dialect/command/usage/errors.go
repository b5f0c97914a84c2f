package usage

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"brunt/internal/judge/exitcode"
)

// FlagError returns the error for a wrong flag: err, what to give instead, and where to find help.
func FlagError(cmd *cobra.Command, err error) error {
	return exitcode.Usage(fmt.Errorf("%w%s; see %s --help", plainFlagError(err), similarFlags(cmd, err),
		cmd.CommandPath()))
}

// StrictHelp makes help about an unknown command an error of the user.
func StrictHelp(root *cobra.Command) {
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

// CheckArgs makes wrong positional arguments and unknown commands errors of the user, with the exit code for that.
func CheckArgs(c *cobra.Command, hint Hint) {
	check := c.Args
	if check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			var e *exitcode.Error
			if err == nil || errors.As(err, &e) {
				return err
			}
			if !cmd.HasParent() || cmd.HasSubCommands() { // an unknown command
				return UnknownCommand(cmd, args[0], hint)
			}
			return exitcode.Usage(fmt.Errorf("%s: write %s %s; see %s --help", miscounted(err, cmd, args),
				cmd.Parent().CommandPath(), cmd.Use, cmd.CommandPath()))
		}
	}
	for _, sub := range c.Commands() {
		CheckArgs(sub, hint)
	}
}

// Hint returns what to write instead of a word that is no subcommand of cmd; "" if unknown.
type Hint func(cmd *cobra.Command, word string) string

// UnknownCommand returns the error that a command has no such subcommand, with suggestions.
func UnknownCommand(cmd *cobra.Command, word string, hint Hint) error {
	cmd.SuggestionsMinimumDistance = similarWithin
	near := meant("", cmd.SuggestionsFor(word))
	if text := hint(cmd, word); text != "" && near == "" {
		near = "; " + text
	}
	return exitcode.Usage(fmt.Errorf("unknown command %q for %q%s; see %s --help", word, cmd.CommandPath(), near,
		cmd.CommandPath()))
}

// miscounted describes a wrong number of arguments, if that is what cobra's error err is about; otherwise it returns
// "".
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

// similarFlags returns a suggestion of the flags of cmd that resemble an unknown flag.
func similarFlags(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) < 2 {
		return ""
	}
	word := unknown.GetSpecifiedName()
	if name := synonyms[word]; name != "" && cmd.Flags().Lookup(name) != nil {
		return meant("--", []string{name})
	}
	// cobra only searches for similar commands, so the flags' names are turned into commands.
	names := &cobra.Command{SuggestionsMinimumDistance: min(similarWithin, len(word)/2)}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
	})
	near := names.SuggestionsFor(word)
	longer := slices.DeleteFunc(slices.Clone(near), func(n string) bool { return !strings.HasPrefix(n, word) })
	if len(longer) > 0 { // only the beginning of a name was given
		near = longer
	}
	return meant("--", near)
}

// synonyms are words for flags that other tools and other commands use, and brunt's names for them. The name is
// suggested if the command has it.
var synonyms = map[string]string{
	"hold": "trial", "time": "duration", "length": "duration", "connections": "vu", "clients": "vu", "client": "vu",
	"concurrency": "vu", "users": "vu", "vus": "vu", "sessions": "vu", "threads": "vu", "qps": "rate", "rps": "rate",
	"host": "addr", "hosts": "addr", "address": "addr", "port": "addr", "url": "addr", "username": "user",
	"db": "database", "dbname": "database", "protocol": "proto",
	"warmup": "warm-up", "insecure": "tls-insecure", "format": "output",
}

// similarWithin is the largest edit distance of a suggested name. For short flags it is half of their length, because
// two other letters make any of them another.
const similarWithin = 2

// meant returns the question whether one of some names was meant; "" if there are none, or too many for a useful
// suggestion.
func meant(prefix string, names []string) string {
	const most = 3
	if len(names) == 0 || len(names) > most {
		return ""
	}
	return "; did you mean " + prefix + strings.Join(names, " or "+prefix) + "?"
}

// plainFlagError replaces the parser's text about an invalid flag value by what to give instead.
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
