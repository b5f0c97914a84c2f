package cli

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/dialect"
	"brunt/internal/dialect/command"
)

// foreign says what to do with a file that is no plan but another tool's, or a shell script; "" if it is neither.
func foreign(linked dialect.Tools, name string, text []byte) string {
	if advice := linked.Foreign(name, text); advice != "" {
		return advice
	}
	if lines, script := shellScript(linked, name, text); script && len(lines) > 0 {
		return fmt.Sprintf("%s is a shell script and no plan; write brunt convert %s for the plan of its command line", name,
			name)
	}
	return ""
}

// shellScript returns the command lines of brunt and of tools in a shell script. A text without #! and the ending .sh
// is one if it begins with such a line.
func shellScript(linked dialect.Tools, name string, text []byte) (lines []command.ShellCommand, script bool) {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	named := slices.Contains([]string{".sh", ".bash"}, filepath.Ext(name)) ||
		bytes.HasPrefix(first, []byte("#!")) && bytes.HasSuffix(bytes.TrimSpace(first), []byte("sh"))
	if !named {
		begin := command.ShellCommands(string(first))
		if len(begin) == 0 || !isToolLine(linked, &begin[0]) {
			return nil, false
		}
	}
	return toolLines(linked, string(text)), true
}

// toolLines returns the commands of a script that call brunt or a tool.
func toolLines(linked dialect.Tools, script string) (lines []command.ShellCommand) {
	for _, c := range command.ShellCommands(script) {
		if isToolLine(linked, &c) {
			lines = append(lines, c)
		}
	}
	return lines
}

// before are words that may stand before a command.
var before = []string{"exec", "time", "nohup", "sudo", "command", "if", "then", "else", "do", "while", "!", "{"}

// assignment matches a word that sets a variable for a command.
var assignment = lazyregexp.New(`^[A-Za-z_]\w*=`)

// isToolLine reports whether a command calls brunt or a tool, and removes what stands before its name.
func isToolLine(linked dialect.Tools, c *command.ShellCommand) bool {
	words, needs := c.Words, c.Needs
	for len(words) > 0 && (slices.Contains(before, words[0]) || assignment().MatchString(words[0])) {
		if name, _, set := strings.Cut(words[0], "="); set && needs == "" {
			needs = "its variable " + name
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return false
	}
	if _, program := linked.Called(words[0]); program == "" && (filepath.Base(words[0]) != "brunt" || len(words) < 2) {
		return false
	}
	c.Words, c.Needs = words, needs
	return true
}

// convertedLine returns the command line of brunt for the only one of a shell script. more are further arguments.
func convertedLine(s *command.Env, linked dialect.Tools, name string, lines []command.ShellCommand,
	more []string) ([]string, error) {
	if len(lines) == 0 {
		return nil, fmt.Errorf("%s is a shell script that calls neither brunt nor one of: %s", name,
			strings.Join(linked.Programs(), ", "))
	}
	program := filepath.Base(lines[0].Words[0])
	if program == "brunt" {
		program = lines[0].Words[1]
	}
	if n := len(lines); n > 1 {
		return nil, fmt.Errorf("%s has %d command lines, from line %d to %d, and a plan describes one load; "+
			"give one of them: brunt convert -- %s …", name, n, lines[0].Line, lines[n-1].Line, program)
	}
	if needs := lines[0].Needs; needs != "" {
		return nil, fmt.Errorf("%s:%d: only a shell knows %s; give the command with its values: brunt convert -- %s …",
			name, lines[0].Line, needs, program)
	}
	words := slices.Concat(lines[0].Words, more)
	if tool, program := linked.Called(words[0]); program != "" {
		return tool.Brunt(s, words[1:]), nil
	}
	for len(words) > 2 && (words[1] == asCommand || words[1] == "convert") {
		words = words[1:]
	}
	return converted(s, linked, words[1:])
}
