// Package usage extends the help and the errors of a cobra command line: flags in groups, errors that say what to do,
// and manual pages.
package usage

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Groups are the groups of flags, in the order in which help shows them.
var Groups = []string{Load, Target, Data, Judging, Output, Machine, Workers}

// The groups of flags. A flag without a group belongs to its command only.
const (
	Load    = "Load"
	Target  = "Target"
	Data    = "Data"
	Judging = "Judging"
	Output  = "Output"
	Machine = "Machine"
	Workers = "Workers"
)

// HelpAll is the name of the flag that shows all flags, in groups.
const HelpAll = "help-all"

const (
	annotatedGroup = "brunt_group"
	annotatedFirst = "brunt_first"
)

// GroupOf returns the group of a flag; "" if it is in none.
func GroupOf(f *pflag.Flag) string {
	if g := f.Annotations[annotatedGroup]; len(g) > 0 {
		return g[0]
	}
	return ""
}

// InGroup puts the flags that were bound since the last call into a group. Without --help-all, help shows only those
// named in first.
func InGroup(fs *pflag.FlagSet, group string, first ...string) {
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Annotations[annotatedGroup] != nil || f.Name == HelpAll {
			return
		}
		if f.Annotations == nil {
			f.Annotations = map[string][]string{}
		}
		f.Annotations[annotatedGroup] = []string{group}
		if slices.Contains(first, f.Name) {
			f.Annotations[annotatedFirst] = []string{"true"}
		}
	})
	if fs.Lookup(HelpAll) == nil {
		fs.Bool(HelpAll, false, "help with all flags, in groups")
	}
}

// WantsAllHelp replaces --help-all by --help, and reports whether it was present.
func WantsAllHelp(args []string) ([]string, bool) {
	end := slices.Index(args, "--")
	at := slices.Index(args, "--"+HelpAll)
	if at < 0 || end >= 0 && end < at {
		return args, false
	}
	args = slices.Clone(args)
	args[at] = "--help"
	return args, true
}

// helpTemplates registers the functions of the help templates, which all commands share.
var helpTemplates = sync.OnceFunc(func() {
	cobra.AddTemplateFunc("flagsOf", func(cmd *cobra.Command) string {
		return flagsHelp(cmd.LocalFlags(), cmd.Root().Annotations[HelpAll] != "")
	})
})

// GroupHelp makes the help of commands with grouped flags show the most important flags, or all flags if all is true.
func GroupHelp(root *cobra.Command, all bool) {
	helpTemplates()
	if all {
		root.Annotations = map[string]string{HelpAll: "true"}
	}
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "Flags:\n{{.LocalFlags.FlagUsages |",
		"{{flagsOf . |", 1))
}

// flagsHelp returns the help text about flags.
func flagsHelp(fs *pflag.FlagSet, all bool) string {
	if fs.Lookup(HelpAll) == nil {
		return "Flags:\n" + fs.FlagUsages()
	}
	parts := map[string]*pflag.FlagSet{"": pflag.NewFlagSet("", pflag.ContinueOnError)}
	for _, group := range Groups {
		parts[group] = pflag.NewFlagSet("", pflag.ContinueOnError)
	}
	fs.VisitAll(func(f *pflag.Flag) {
		group := ""
		if f.Name == HelpAll { // it is printed last
			return
		}
		if g := f.Annotations[annotatedGroup]; g != nil && all {
			group = g[0]
		} else if g != nil && f.Annotations[annotatedFirst] == nil {
			return
		}
		parts[group].AddFlag(f)
	})
	parts[""].AddFlag(fs.Lookup(HelpAll))
	var b strings.Builder
	for _, group := range append([]string{""}, Groups...) {
		part := parts[group]
		part.SortFlags = false
		if !part.HasAvailableFlags() {
			continue
		}
		b.WriteString(cmp.Or(group, "Flags") + ":\n" + part.FlagUsages() + "\n")
	}
	return b.String()
}
