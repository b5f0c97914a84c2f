package cli

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/k6"
	"brunt/internal/dialect/pgbench"
	"brunt/internal/dialect/picostress"
	"brunt/internal/dialect/ycsb/output"
	"brunt/internal/result"
)

// dialect is another tool as the command line knows it. All fields but names may be missing.
type dialect struct {
	names []string // what brunt version calls it; none if brunt reads its results only
	// tool is the name of the program that brunt stands in for, and arguments turns its arguments into brunt's.
	tool      string
	arguments func(s *streams, args []string) []string
	// command makes the command that takes its flags; without one, brunt's own commands do.
	command    func(*streams) *cobra.Command
	properties bool   // -p is a property, and no password
	report     string // the form of a run's report if called as tool; "text" if empty
	results    func() result.Format
}

// dialects are all tools whose flags, files or results brunt takes.
func dialects() []dialect {
	return []dialect{
		{names: []string{"picostress"}, tool: "picostress", arguments: picostressArguments, report: "picostress",
			results: picostress.Results},
		{names: []string{"ycsb", "go-ycsb"}, tool: "go-ycsb", arguments: below("ycsb"), command: newYCSB, properties: true,
			results: output.Format},
		{names: []string{"slow_cooker"}, tool: "slow_cooker", arguments: below("cook"), command: newCook},
		{names: []string{"vegeta-targets"}, command: newHTTP},
		{tool: "k6", arguments: below("k6"), command: newK6, results: k6.Results},
		{results: pgbench.Results},
	}
}

// below puts a tool's arguments behind the command that takes them.
func below(command string) func(*streams, []string) []string {
	return func(_ *streams, args []string) []string { return append([]string{command}, args...) }
}

// dialectOf is the dialect of the tool that a path of the program names; one without a tool if brunt stands in for
// none of that name. What follows the name is a version or a system: slow_cooker_linux_amd64, k6-v2.2.0.
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

// dialectNames are what brunt version lists.
func dialectNames() []string {
	names := []string{"plan"}
	for _, d := range dialects() {
		names = append(names, d.names...)
	}
	return names
}

// resultFormats are the formats of results that commands read besides brunt's own.
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

// properties reports whether -p takes properties in the command line.
func (s *streams) properties() bool {
	if s.dialect.tool != "" || len(s.args) < 2 {
		return s.dialect.properties
	}
	return slices.ContainsFunc(dialects(), func(d dialect) bool {
		return d.properties && d.command(s).Name() == s.args[1]
	})
}
