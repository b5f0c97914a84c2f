package picostress

import (
	"slices"
	"strings"
)

// commands are the commands of Picostress, and the usual ones of every cobra program.
var commands = []string{
	"schema", "queue", "rate", "const_rps", "spike", "intervals", "compare", "report", "help", "completion", "__complete",
	"__completeNoDesc",
}

// scriptFlags are the flags of Picostress that k6 doesn't have: scripts get them as variables.
var scriptFlags = []string{"proto", "addr", "user", "password", "vu", "seed", "no-setup", "no-teardown",
	"error-threshold", "summary-dir"}

// ToK6 reports whether a command line of Picostress is for k6, because its first word is no command of
// Picostress. It returns k6's arguments: each flag --name value of Picostress becomes -e name=value.
func ToK6(args []string) (forK6 []string, ok bool) {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") || slices.Contains(commands, args[0]) {
		return nil, false
	}
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(strings.TrimPrefix(args[i], "--"), "=")
		if !strings.HasPrefix(args[i], "--") || !slices.Contains(scriptFlags, name) {
			forK6 = append(forK6, args[i])
			continue
		}
		switch {
		case joined:
		case strings.HasPrefix(name, "no-"):
			value = "true"
		case i+1 < len(args):
			i++
			value = args[i]
		}
		forK6 = append(forK6, "-e", strings.ReplaceAll(name, "-", "_")+"="+value)
	}
	return forK6, true
}
