package cli

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/k6/results"
	"brunt/internal/dialect/pgbench"
	"brunt/internal/dialect/picostress"
	"brunt/internal/dialect/ycsb/output"
	"brunt/internal/judge/result"
)

// dialect is another tool whose command line, files or results brunt supports. All fields but names are optional.
type dialect struct {
	names []string // names in the output of brunt version; empty if brunt only reads the tool's results
	// tool is the name of the program that brunt replaces; arguments converts its arguments to brunt's.
	tool      string
	arguments func(s *streams, args []string) []string
	// command creates the command with the tool's flags; if nil, brunt's own commands have them.
	command    func(*streams) *cobra.Command
	properties bool   // -p sets a property, not a password
	report     string // form of a run's report if brunt is called as tool; "" means "text"
	results    func() result.Format
}

// dialects returns all tools whose flags, files or results brunt accepts.
func dialects() []dialect {
	return []dialect{
		{names: []string{"picostress"}, tool: "picostress", arguments: picostressArguments, report: "picostress",
			results: picostress.Results},
		{names: []string{"ycsb", "go-ycsb"}, tool: "go-ycsb", arguments: below("ycsb"), command: newYCSB, properties: true,
			results: output.Format},
		{names: []string{"slow_cooker"}, tool: "slow_cooker", arguments: below("cook"), command: newCook},
		{names: []string{"vegeta-targets"}, command: newHTTP},
		{tool: "k6", arguments: below("k6"), command: newK6, results: results.Results},
		{results: pgbench.Results},
	}
}

// below returns a function that puts a command before a tool's arguments.
func below(command string) func(*streams, []string) []string {
	return func(_ *streams, args []string) []string { return append([]string{command}, args...) }
}

// dialectOf returns the dialect of the tool whose name is the base name of path; one without a tool if brunt replaces
// no such tool. A version or system may follow the name: slow_cooker_linux_amd64, k6-v2.2.0.
func dialectOf(path string) dialect {
	name := strings.TrimSuffix(filepath.Base(path), ".exe")
	for _, d := range dialects() {
		rest, ok := strings.CutPrefix(name, d.tool)
		if ok && d.tool != "" && (rest == "" || strings.Contains("-_.", rest[:1])) {
			return d
		}
	}
	return dialect{}
}

// dialectNames returns the names that brunt version lists.
func dialectNames() []string {
	names := []string{"plan"}
	for _, d := range dialects() {
		names = append(names, d.names...)
	}
	return names
}

// resultFormats returns the formats of results that commands read in addition to brunt's own.
func resultFormats() []result.Format {
	var all []result.Format
	for _, d := range dialects() {
		if d.results != nil {
			all = append(all, d.results())
		}
	}
	return all
}

// addDialects adds the commands of dialects to root.
func addDialects(root *cobra.Command, s *streams) {
	for _, d := range dialects() {
		if d.command != nil {
			root.AddCommand(d.command(s))
		}
	}
}

// properties reports whether -p sets properties in this command line.
func (s *streams) properties() bool {
	if s.dialect.tool != "" || len(s.args) < 2 {
		return s.dialect.properties
	}
	return slices.ContainsFunc(dialects(), func(d dialect) bool {
		return d.properties && d.command(s).Name() == s.args[1]
	})
}
