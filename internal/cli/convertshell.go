package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"brunt/internal/dialect"
	"brunt/internal/dialect/command"
)

// foreign says what to do with a file that is no plan but another tool's, or a shell script; "" if it is neither.
func foreign(linked dialect.Tools, name string, text []byte) string {
	if advice := linked.Foreign(name, text); advice != "" {
		return advice
	}
	if !shellScript(linked, name, text) {
		return ""
	}
	if lines, err := toolLines(linked, string(text)); err != nil || len(lines) == 0 {
		return ""
	}
	return fmt.Sprintf("%s is a shell script and no plan; write brunt convert %s for the plan of its command line", name,
		name)
}

// shellScript reports whether a file is a shell script. A text without #! and the ending .sh is one if it begins with a
// command of brunt or of a tool.
func shellScript(linked dialect.Tools, name string, text []byte) bool {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	if slices.Contains([]string{".sh", ".bash"}, filepath.Ext(name)) ||
		bytes.HasPrefix(first, []byte("#!")) && bytes.HasSuffix(bytes.TrimSpace(first), []byte("sh")) {
		return true
	}
	return isToolLine(linked, &shellCommand{words: strings.Fields(string(first))})
}

// shellCommand is a simple command of a shell script.
type shellCommand struct {
	line  int // of its first word, from 1
	words []string
	// needs is what only a shell can fill in, such as "$1", or ""; words hold it as it is written.
	needs string
}

func (c *shellCommand) need(what string) {
	if c.needs == "" {
		c.needs = what
	}
}

// shellCommands returns the simple commands of a shell script: their words without quotes, comments and redirections
// of output.
func shellCommands(script string) (all []shellCommand, err error) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil {
		return nil, fmt.Errorf("as a shell script: %w", err)
	}
	piped := map[*syntax.Stmt]bool{}
	syntax.Walk(file, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.BinaryCmd:
			piped[n.Y] = n.Op == syntax.Pipe || n.Op == syntax.PipeAll
		case *syntax.Stmt:
			if call, ok := n.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 {
				c := simpleCommand(script, n, call)
				if piped[n] {
					c.need("what comes through the pipe")
				}
				all = append(all, c)
			}
		}
		return true
	})
	return all, nil
}

func simpleCommand(script string, s *syntax.Stmt, call *syntax.CallExpr) shellCommand {
	c := shellCommand{line: int(call.Args[0].Pos().Line())}
	if len(call.Assigns) > 0 {
		c.need("its variable " + call.Assigns[0].Name.Value)
	}
	for _, r := range s.Redirs {
		switch r.Op {
		case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			c.need("its input (<)")
		}
	}
	for _, w := range call.Args {
		if expansion := firstExpansion(w); expansion != nil {
			c.need(written(script, expansion))
			c.words = append(c.words, written(script, w))
			continue
		}
		fields, err := expand.Fields(&expand.Config{Env: expand.FuncEnviron(home)}, w)
		if err != nil {
			fields = []string{written(script, w)}
		}
		c.words = append(c.words, fields...)
	}
	return c
}

// firstExpansion returns the first part of a word that only a shell can fill in; nil if there is none.
func firstExpansion(w *syntax.Word) (found syntax.Node) {
	syntax.Walk(w, func(node syntax.Node) bool {
		switch node.(type) {
		case *syntax.ParamExp, *syntax.CmdSubst, *syntax.ArithmExp, *syntax.ProcSubst:
			if found == nil {
				found = node
			}
		}
		return found == nil
	})
	return found
}

// written returns a part of a script as it is written.
func written(script string, n syntax.Node) string {
	return script[n.Pos().Offset():n.End().Offset()]
}

// home is the environment of words with ~.
func home(name string) string {
	if name == "HOME" {
		return os.Getenv(name)
	}
	return ""
}

// toolLines returns the commands of a script that call brunt or a tool.
func toolLines(linked dialect.Tools, script string) (lines []shellCommand, err error) {
	all, err := shellCommands(script)
	for i := range all {
		if isToolLine(linked, &all[i]) {
			lines = append(lines, all[i])
		}
	}
	return lines, err
}

// before are commands that run the command after them.
var before = []string{"exec", "time", "nohup", "sudo", "command", "env"}

// isToolLine reports whether a command calls brunt or a tool, and removes what stands before its name.
func isToolLine(linked dialect.Tools, c *shellCommand) bool {
	words, needs := c.words, c.needs
	for len(words) > 0 {
		name, _, set := strings.Cut(words[0], "=")
		if set = set && syntax.ValidName(name); set && needs == "" {
			needs = "its variable " + name
		}
		if !set && !slices.Contains(before, name) {
			break
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return false
	}
	if _, program := linked.Called(words[0]); program == "" && (filepath.Base(words[0]) != "brunt" || len(words) < 2) {
		return false
	}
	c.words, c.needs = words, needs
	return true
}

// convertedLine returns the command line of brunt for the only one of a shell script. more are further arguments.
func convertedLine(s *command.Env, linked dialect.Tools, name, script string, more []string) ([]string, error) {
	lines, err := toolLines(linked, script)
	if err != nil {
		return nil, fmt.Errorf("%s %w", name, err)
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("%s is a shell script that calls neither brunt nor one of: %s", name,
			strings.Join(linked.Programs(), ", "))
	}
	program := filepath.Base(lines[0].words[0])
	if program == "brunt" {
		program = lines[0].words[1]
	}
	if n := len(lines); n > 1 {
		return nil, fmt.Errorf("%s has %d command lines, from line %d to %d, and a plan describes one load; "+
			"give one of them: brunt convert -- %s …", name, n, lines[0].line, lines[n-1].line, program)
	}
	if needs := lines[0].needs; needs != "" {
		return nil, fmt.Errorf("%s:%d: only a shell knows %s; give the command with its values: brunt convert -- %s …",
			name, lines[0].line, needs, program)
	}
	words := slices.Concat(lines[0].words, more)
	if tool, program := linked.Called(words[0]); program != "" {
		return tool.Brunt(s, program, words[1:]), nil
	}
	for len(words) > 2 && (words[1] == asCommand || words[1] == "convert") {
		words = words[1:]
	}
	return converted(s, linked, words[1:])
}
