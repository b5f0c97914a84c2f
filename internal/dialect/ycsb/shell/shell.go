// Package shell is an interactive shell to read and change single records of a database. Its commands are those of
// go-ycsb's shell.
package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/term"

	"brunt/internal/dialect/ycsb"
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// Prompt is the prompt of the shell.
const Prompt = "» "

// Session sends single requests.
type Session interface {
	Do(ctx context.Context, r protocol.Request, args []gen.Value, reply *protocol.Reply) error
}

// Terminal is the input and output of the shell.
type Terminal struct {
	In      io.Reader
	Out     io.Writer
	History string // file; "" keeps none
}

// errExit ends the shell.
var errExit = errors.New("exit")

// Run reads and executes commands until exit, the end of the input, or the end of ctx.
func Run(ctx context.Context, job *ycsb.Job, session Session, t Terminal) error {
	sh := &shell{ctx: ctx, job: job, session: session, out: t.Out}
	in, isFile := t.In.(*os.File)
	out, alsoFile := t.Out.(*os.File)
	if isFile && alsoFile && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd())) {
		return sh.interactive(in, out, t.History)
	}
	lines := bufio.NewScanner(t.In)
	lines.Buffer(nil, 16<<20)
	for ctx.Err() == nil && lines.Scan() {
		if err := sh.line(lines.Text()); errors.Is(err, errExit) {
			return nil
		}
	}
	return lines.Err()
}

// shell is the state of a running shell.
type shell struct {
	ctx     context.Context
	job     *ycsb.Job
	session Session
	out     io.Writer
}

// interactive reads commands from a terminal, with history and completion.
func (sh *shell) interactive(in, out *os.File, historyFile string) error {
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return fmt.Errorf("terminal: %w", err)
	}
	defer term.Restore(int(in.Fd()), state)
	terminal := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, out}, Prompt)
	if width, height, err := term.GetSize(int(out.Fd())); err == nil && width > 0 {
		_ = terminal.SetSize(width, height)
	}
	h := openHistory(historyFile)
	terminal.History = h
	terminal.AutoCompleteCallback = func(line string, at int, key rune) (string, int, bool) {
		if key != '\t' {
			return "", 0, false
		}
		return sh.complete(line, at)
	}
	sh.out = terminal
	for sh.ctx.Err() == nil {
		line, err := terminal.ReadLine()
		if errors.Is(err, io.EOF) {
			return h.save()
		}
		if err != nil {
			return errors.Join(err, h.save())
		}
		if err := sh.line(line); errors.Is(err, errExit) {
			return h.save()
		}
	}
	return h.save()
}

// commands returns the shell's commands with their usage.
func commands() [][2]string {
	return [][2]string{
		{"read", "read key [field0 field1 …]               read a record"},
		{"scan", "scan key count [field0 field1 …]         read records from a key on"},
		{"insert", "insert key field0=value0 [field1=value1 …] insert a record"},
		{"update", "update key field0=value0 [field1=value1 …] change fields of a record"},
		{"delete", "delete key                                delete a record"},
		{"table", "table [name]                              say or set the name of the table"},
		{"help", "help                                      list the commands"},
		{"exit", "exit                                      leave"},
	}
}

// complete completes the word before the cursor: a command, or the name of a field.
func (sh *shell) complete(line string, at int) (string, int, bool) {
	start := strings.LastIndexByte(line[:at], ' ') + 1
	word := line[start:at]
	var known []string
	if start == 0 {
		for _, c := range commands() {
			known = append(known, c[0]+" ")
		}
	} else {
		end := " "
		if strings.HasPrefix(line, "insert") || strings.HasPrefix(line, "update") {
			end = "="
		}
		for _, f := range sh.job.Settings.Fields {
			known = append(known, f+end)
		}
	}
	common := ""
	found := 0
	for _, k := range known {
		if strings.HasPrefix(k, word) {
			if found++; found == 1 {
				common = k
			}
			for !strings.HasPrefix(k, common) {
				common = common[:len(common)-1]
			}
		}
	}
	if found == 0 || len(common) <= len(word) {
		return "", 0, false
	}
	return line[:start] + common + line[at:], start + len(common), true
}

// line executes one command. It prints errors; it only returns errExit, which ends the shell.
func (sh *shell) line(line string) error {
	words := strings.Fields(line)
	if len(words) == 0 {
		return nil
	}
	switch args := words[1:]; {
	case words[0] == "exit" || words[0] == "quit":
		return errExit
	case words[0] == "help":
		for _, c := range commands() {
			fmt.Fprintln(sh.out, "  "+c[1])
		}
	case words[0] == "table":
		if len(args) > 0 {
			sh.job.Settings.Table = args[0]
		}
		fmt.Fprintf(sh.out, "Using table %s\n", sh.job.Settings.Table)
	case words[0] == "read" && len(args) >= 1:
		sh.read(args[0], args[1:])
	case words[0] == "scan" && len(args) >= 2:
		sh.scan(args[0], args[1], args[2:])
	case words[0] == "insert" && len(args) >= 2:
		sh.write(insert, sh.job.Store.Insert, args[0], args[1:])
	case words[0] == "update" && len(args) >= 2:
		sh.write("Update", sh.job.Store.Update, args[0], args[1:])
	case words[0] == "delete" && len(args) == 1:
		sh.delete(args[0])
	default:
		for _, c := range commands() {
			if c[0] == words[0] {
				fmt.Fprintln(sh.out, "usage: "+c[1])
				return nil
			}
		}
		fmt.Fprintf(sh.out, "unknown command %q; help lists the commands\n", words[0])
	}
	return nil
}

// mostLines is how many commands the history keeps.
const mostLines = 500

// history is a list of commands, the latest last. It implements term.History.
type history struct {
	file  string
	lines []string
}

// openHistory reads the history from a file. It is empty if the file can't be read.
func openHistory(file string) *history {
	h := &history{file: file}
	if file == "" {
		return h
	}
	if data, err := os.ReadFile(file); err == nil {
		for line := range strings.SplitSeq(string(data), "\n") {
			h.Add(line)
		}
	}
	return h
}

// Add appends a command, unless it is empty or equals the previous one.
func (h *history) Add(line string) {
	line = strings.TrimSpace(line)
	if line == "" || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return
	}
	h.lines = append(h.lines, line)
	if len(h.lines) > mostLines {
		h.lines = h.lines[1:]
	}
}

// Len returns the number of commands.
func (h *history) Len() int { return len(h.lines) }

// At returns a command; 0 is the latest.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }

// save writes the history to a file that only its owner can read.
func (h *history) save() error {
	if h.file == "" {
		return nil
	}
	err := os.WriteFile(h.file, []byte(strings.Join(h.lines, "\n")+"\n"), 0o600)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}
