package dialect

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"brunt/internal/base/secret"
	"brunt/internal/dialect/command"
	"brunt/internal/dialect/endpoints"
	"brunt/internal/judge/result"
	"brunt/internal/plan/script"
	"brunt/internal/record"
	"brunt/internal/report"
	"brunt/internal/run/scale"
)

// Tool declares a foreign tool. What the command line, help, completion, manual pages, brunt version and the readers of
// results know of the tool follows from its declaration. All fields but Name are optional.
type Tool struct {
	// Name is the tool's name in lists.
	Name string
	// Formats are the tool's names among the formats of tests in the output of brunt version; none if brunt only reads
	// the tool's results.
	Formats []string
	// Programs are the names of the programs that brunt replaces if it is called by one of them.
	Programs []string
	// Arguments converts the arguments of such a program into brunt's. If it is nil, the tool's first command gets them.
	Arguments func(s *command.Env, args []string) []string
	// Advice says what to write instead of a word that is the name of no command, such as the name of the tool's file; ""
	// if the word isn't the tool's. It may be nil.
	Advice func(word string) string
	// File returns the first arguments of brunt for a file of the tool's whose name and text are given, up to the file's
	// name; further arguments of the tool follow. nil: it isn't the tool's. It may be nil.
	File func(name string, text []byte) []string
	// Instead says what a file of the tool's is that no command takes alone, and what to write, to follow the file's name
	// and "is"; "" if the file isn't such a one. It may be nil.
	Instead func(name string, text []byte) string
	// Form is the usual form of reports of brunt's own commands if brunt is called as such a program; "" means "text".
	Form string
	// Reports are the tool's forms of the report, for --output.
	Reports []report.Format
	// Summary is the tool's own file about a load.
	Summary *Summary
	// Commands are the tool's commands below brunt.
	Commands []Command
	// Results are the formats of the tool's results, for the commands that read results.
	Results []result.Format
	// Requests reads the tool's lists of requests, for brunt http.
	Requests endpoints.Reader
	// Languages are the languages in which plans can have operations that are scripts.
	Languages []script.Language
	// Scripts runs the tool's scripts on workers.
	Scripts *Scripts
	// Embedded describes the tool itself, if it is part of the binary.
	Embedded *Embedded
}

// Command declares a command below brunt.
type Command struct {
	Name string
	New  func(*command.Env) *cobra.Command
	// Rewrite converts the arguments after the name before flags are parsed; it may be nil. Its errors are the user's.
	Rewrite func(args []string) ([]string, error)
	// Letters say what the command's flags of one letter mean, for what is shown of command lines.
	Letters secret.Flags
}

// Summary is a file about a load. Brunt's commands that run a plan write it into the bundle.
type Summary struct {
	Flag  string // names one more folder for it
	About string // the flag's help
	Write func(dir string, run *record.Run) error
}

// Scripts says how a tool's scripts, which send the load themselves, run on workers.
type Scripts struct {
	// Share runs a worker's part of a script, and ends the process unless it returns an error. stop ends the load, hard
	// ends it at once.
	Share func(s *command.Env, w *scale.Worker, stop, hard <-chan struct{}) error
	// Exit returns the tool's exit code for a result, as an error.
	Exit func(run *record.Run) error
}

// Embedded is a tool whose own code is compiled in.
type Embedded struct {
	Version string // "": it isn't
	Absent  string // why it isn't
}

// Tools are the tools of a binary.
type Tools []Tool

// Called returns the tool that brunt replaces when it is called by a path, and the name of its program. If there is
// none, the name is "". A version or system may follow the name: slow_cooker_linux_amd64, k6-v2.2.0.
func (t Tools) Called(path string) (tool Tool, program string) {
	name := strings.TrimSuffix(filepath.Base(path), ".exe")
	for _, tool := range t {
		for _, p := range tool.Programs {
			if rest, ok := strings.CutPrefix(name, p); ok && (rest == "" || strings.Contains("-_.", rest[:1])) {
				return tool, p
			}
		}
	}
	return Tool{}, ""
}

// Programs returns the names of the programs that the tools replace.
func (t Tools) Programs() (names []string) {
	for _, tool := range t {
		names = append(names, tool.Programs...)
	}
	return names
}

// Advice says what to write instead of a word that is the name of no command; "" if no tool knows.
func (t Tools) Advice(word string) string {
	for _, tool := range t {
		if tool.Advice == nil {
			continue
		}
		if text := tool.Advice(word); text != "" {
			return text
		}
	}
	return ""
}

// File returns the first arguments of brunt for a tool's file; nil if no tool knows it.
func (t Tools) File(name string, text []byte) []string {
	for _, tool := range t {
		if tool.File == nil {
			continue
		}
		if args := tool.File(name, text); args != nil {
			return args
		}
	}
	return nil
}

// Instead says what a file is that no command takes alone, and what to write; "" if no tool knows it.
func (t Tools) Instead(name string, text []byte) string {
	for _, tool := range t {
		if tool.Instead == nil {
			continue
		}
		if advice := tool.Instead(name, text); advice != "" {
			return name + " is " + advice
		}
	}
	return ""
}

// Foreign says what to do with a tool's file instead of reading it as a plan or a list of requests; "" if no tool knows
// it.
func (t Tools) Foreign(name string, text []byte) string {
	if line := t.File(name, text); line != nil {
		return fmt.Sprintf("%s is another tool's file and no plan; write brunt %s …, or brunt convert %s … for its plan",
			name, strings.Join(line, " "), name)
	}
	return t.Instead(name, text)
}

// Command returns the command with a name; nil if no tool has it.
func (t Tools) Command(name string) *Command {
	for _, tool := range t {
		i := slices.IndexFunc(tool.Commands, func(c Command) bool { return c.Name == name })
		if i >= 0 {
			return &tool.Commands[i]
		}
	}
	return nil
}

// Formats returns the names of the tools' formats, in the order of the tools.
func (t Tools) Formats() (names []string) {
	for _, tool := range t {
		names = append(names, tool.Formats...)
	}
	return names
}

// Results returns the formats of the tools' results.
func (t Tools) Results() (all []result.Format) {
	for _, tool := range t {
		all = append(all, tool.Results...)
	}
	return all
}

// Reports returns the tools' forms of the report.
func (t Tools) Reports() (all []report.Format) {
	for _, tool := range t {
		all = append(all, tool.Reports...)
	}
	return all
}

// Summaries returns the tools' files about a load.
func (t Tools) Summaries() (all []*Summary) {
	for _, tool := range t {
		if tool.Summary != nil {
			all = append(all, tool.Summary)
		}
	}
	return all
}

// Requests returns the function that reads lists of requests; nil if no tool has one.
func (t Tools) Requests() endpoints.Reader {
	for _, tool := range t {
		if tool.Requests != nil {
			return tool.Requests
		}
	}
	return nil
}

// Scripts returns how scripts run on workers; nil if no tool has scripts.
func (t Tools) Scripts() *Scripts {
	for _, tool := range t {
		if tool.Scripts != nil {
			return tool.Scripts
		}
	}
	return nil
}

// Brunt returns the arguments of brunt for those of one of the tool's programs.
func (t *Tool) Brunt(s *command.Env, program string, args []string) []string {
	switch {
	case t.Arguments != nil:
		called := *s
		called.Program = program
		return t.Arguments(&called, args)
	case len(t.Commands) > 0:
		return append([]string{t.Commands[0].Name}, args...)
	}
	return args
}
