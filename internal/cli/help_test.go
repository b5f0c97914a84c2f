package cli_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"brunt/internal/dialect/command/usage"
	"brunt/internal/judge/exitcode"
	"brunt/test/shell"
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
			short := shell.Run(t, "brunt", name, "--help")
			shown := shownFlags(short.Out)
			for _, flag := range append(first, "help", usage.HelpAll) {
				if !slices.Contains(shown, flag) {
					t.Errorf("help lacks --%s", flag)
				}
			}
			if len(shown) > most {
				t.Errorf("help shows %d flags, want %d at most: %v", len(shown), most, shown)
			}
			all := shell.Run(t, "brunt", name, "--help-all")
			at := 0
			for _, group := range usage.Groups {
				i := strings.Index(all.Out, "\n"+group+":\n")
				if i < at {
					t.Errorf("%s isn't there, or not in order", group)
				}
				at = i
			}
			shown = shownFlags(all.Out)
			slices.Sort(shown)
			if unique := slices.Compact(slices.Clone(shown)); len(unique) != len(shown) {
				t.Errorf("flags are shown twice: %v", shown)
			}
			for _, name := range []string{"timeout", "warm-up", "late", "tier", "spin", "export", "bundle", "seed"} {
				if !slices.Contains(shown, name) {
					t.Errorf("--help-all lacks --%s", name)
				}
			}
			if short.Code != exitcode.Pass || all.Code != exitcode.Pass {
				t.Errorf("exit %d and %d", short.Code, all.Code)
			}
		})
	}
}
