package cli

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"brunt/internal/dialect/command"
	"brunt/internal/dialect/command/usage"
	"brunt/internal/judge/exitcode"
)

// shownFlags are the flags that a help shows.
func shownFlags(help string) (names []string) {
	for _, m := range regexp.MustCompile(`(?m)^  (?:-\w,|   ) --([\w-]+)`).FindAllStringSubmatch(help, -1) {
		names = append(names, m[1])
	}
	return names
}

// Help shows at most ten flags besides those for help, the ones that are needed first. --help-all shows each flag once,
// in its group.
func TestHelpInGroups(t *testing.T) {
	const most = 10 + 2
	for name, first := range map[string][]string{
		"run":   {"config", "proto", "addr", "user", "vu", "threshold", "output"},
		"queue": {"config", "proto", "addr", "user", "vu"},
		"rate":  {"config", "addr", "rate", "duration", "vu"},
		"spike": {"config", "addr", "base", "peak"},
		"http":  {"rate", "sessions", "duration", "requests", "header", "data", "insecure", "threshold"},
	} {
		t.Run(name, func(t *testing.T) {
			short := cookAs(t, "brunt", name, "--help")
			shown := shownFlags(short.out)
			for _, flag := range append(first, "help", usage.HelpAll) {
				if !slices.Contains(shown, flag) {
					t.Errorf("help lacks --%s", flag)
				}
			}
			if len(shown) > most {
				t.Errorf("help shows %d flags, want %d at most: %v", len(shown), most, shown)
			}
			all := cookAs(t, "brunt", name, "--help-all")
			at := 0
			for _, group := range usage.Groups {
				i := strings.Index(all.out, "\n"+group+":\n")
				if i < at {
					t.Errorf("%s isn't there, or not in order", group)
				}
				at = i
			}
			cmd, _, err := newRoot(&command.Env{}).Find([]string{name})
			if err != nil {
				t.Fatal(err)
			}
			shown = shownFlags(all.out)
			slices.Sort(shown)
			if unique := slices.Compact(slices.Clone(shown)); len(unique) != len(shown) {
				t.Errorf("flags are shown twice: %v", shown)
			}
			for _, name := range []string{"timeout", "warm-up", "late", "tier", "spin", "export", "bundle", "seed"} {
				if cmd.Flags().Lookup(name) == nil || !slices.Contains(shown, name) {
					t.Errorf("--help-all lacks --%s", name)
				}
			}
			if short.code != exitcode.Pass || all.code != exitcode.Pass {
				t.Errorf("exit %d and %d", short.code, all.code)
			}
		})
	}
}

// brunt help groups all commands by the README's questions.
func TestCommandsAreGroupedByTheQuestionsOfTheReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	root := newRoot(&command.Env{Args: []string{"brunt"}})
	known := map[string]bool{}
	for _, c := range root.Commands() {
		known[c.Name()] = true
	}
	for _, q := range questions() {
		own := strings.HasPrefix(q.text, "About") || strings.HasPrefix(q.text, "How do several machines")
		if !own && !strings.Contains(string(readme), q.text) {
			t.Errorf("the README doesn't ask %q", q.text)
		}
		for _, name := range q.commands {
			if !known[name] {
				t.Errorf("%q: there is no command %s", q.text, name)
			}
			if !own && !strings.Contains(string(readme), "`"+name+"`") && !strings.Contains(string(readme), "`brunt "+name+"`") {
				t.Errorf("the README doesn't name %s", name)
			}
		}
	}
}
