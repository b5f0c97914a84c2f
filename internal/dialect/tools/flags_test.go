package tools_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"brunt/test/shell"
)

// alone are the commands whose output is made of the times of each request, which workers don't keep.
var alone = []string{"ab", "ghz", "hey", "vegeta"}

// Each command that sends one load can be judged, watched and spread, can ask servers, and sends what it has recorded
// to other systems.
func TestLoadsHaveTheFlagsOfLoads(t *testing.T) {
	for _, command := range convertible(t) {
		text := ""
		words := strings.Fields(command)
		// Some tools print all flags as help, others have two kinds of it.
		for _, line := range [][]string{append([]string{"help"}, words...), append(words, "--help-all")} {
			o := shell.Run(t, "brunt", line...)
			text += o.Out
		}
		for _, flag := range []string{"threshold", "watch", "inspect", "workers", "export", "bundle", "no-record"} {
			if flag == "workers" && slices.Contains(alone, words[0]) {
				continue
			}
			if !regexp.MustCompile("-" + flag + `\b`).MatchString(text) {
				t.Errorf("brunt %s has no --%s:\n%s", command, flag, text)
			}
		}
	}
}
