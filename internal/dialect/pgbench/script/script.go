package script

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Script is a script that has been parsed.
type Script struct {
	Name     string
	Weight   float64 // 1; the caller sets what -f or -b say
	Commands []Command

	names *table
}

// Command is a statement or a backslash command.
type Command struct {
	// Text is the command as pgbench -r lists it: the first line of a statement, or the whole backslash command.
	Text string
	Line int // in the script, from 1
	SQL  bool
	// Request is the index in Requests of the program of the request that a statement is sent with; −1 for backslash
	// commands, and for statements that are always parts of a pipeline.
	Request int

	meta       meta
	word       string   // the backslash command's name as written
	words      []string // its arguments
	slots      []int    // \shell and \setshell: for each argument its variable, or −1
	expression *node
	slot       int // \set, \setshell: the variable
	valid      bool
	sleep      sleep
	other      int // \if, \elif: index of the next \elif, \else or \endif of the same level
	end        int // \if, \elif, \else: index of the \endif
	statement  statement
	number     int      // of an SQL statement among those of all scripts, from 1
	pipeline   *variant // \startpipeline: the statements that may follow
	last       bool     // no request or pause can follow
}

// Shell reports whether the command is \shell or \setshell.
func (c *Command) Shell() bool { return c.meta == metaShell || c.meta == metaSetShell }

// meta is the kind of a command.
type meta uint8

const (
	metaSQL meta = iota
	metaSet
	metaSetShell
	metaShell
	metaSleep
	metaGset
	metaAset
	metaIf
	metaElif
	metaElse
	metaEndif
	metaStartPipeline
	metaSyncPipeline
	metaEndPipeline
)

var metas = map[string]meta{"set": metaSet, "setshell": metaSetShell, "shell": metaShell, "sleep": metaSleep,
	"gset": metaGset, "aset": metaAset, "if": metaIf, "elif": metaElif, "else": metaElse, "endif": metaEndif,
	"startpipeline": metaStartPipeline, "syncpipeline": metaSyncPipeline, "endpipeline": metaEndPipeline}

// syncVersion is the first version with \syncpipeline.
const syncVersion = 17

// statement is an SQL statement.
type statement struct {
	text   string  // with $1 … for variables in extended and prepared mode
	pieces []piece // simple mode, if there are variables
	params []int   // extended and prepared mode: the variable of each parameter
	parts  int     // statements that it consists of (\;)
	result meta    // metaGset, metaAset or metaSQL
	prefix string  // of the variables that the result is stored in
}

// piece is a text, then a variable; slot −1 means that there is none.
type piece struct {
	text string
	slot int
	name string // the reference, with its colon
}

// sleep is the argument of \sleep.
type sleep struct {
	number int32
	slot   int // −1: number
	name   string
	unit   time.Duration
}

// Limits of pgbench.
const (
	maxWords    = 256 // words of a command, with its name; also the limit of variables of a statement, with itself
	maxLineText = 127 // bytes of a statement in reports
)

// Error is a fault in a script, with pgbench's wording.
type Error struct {
	Script  string
	Line    int    // 0: the script as a whole
	Column  int    // from 1; 0: unknown
	Text    string // what pgbench prints after "pgbench: error: "; it may begin with the place
	Message string // Text without the place
	Detail  string // lines that pgbench prints below: the command and a mark below the place
}

// Error returns what pgbench prints, without its name.
func (e *Error) Error() string { return strings.TrimRight(e.Text+"\n"+e.Detail, "\n") }

// ofScript returns an error about a script as a whole.
func ofScript(script, format string, values ...any) *Error {
	text := fmt.Sprintf(format, values...)
	return &Error{Script: script, Text: text, Message: text}
}

// Parse parses a script. name is what pgbench calls it: the file's name or a builtin script's description. An error is
// an *Error.
func Parse(name, text string, o Options) (*Script, error) {
	return parse(name, text, o.complete(), newTable())
}

// parse parses a script whose variables are numbered in names.
func parse(name, text string, o Options, names *table) (*Script, error) {
	if i := strings.IndexByte(text, 0); i >= 0 {
		text = text[:i] // C's strings end there
	}
	p := &parser{script: &Script{Name: name, Weight: 1, names: names}, options: o, scan: scanner{text: text}}
	for end := atSemicolon; end != atEnd; {
		var sql string
		var parts int
		from := p.scan.at
		sql, parts, end = p.scan.statement()
		p.statement(sql, parts, from)
		if end != atBackslash {
			continue
		}
		if err := p.backslash(); err != nil {
			return nil, err
		}
	}
	if len(p.script.Commands) == 0 {
		return nil, ofScript(name, `empty command list for script "%s"`, name)
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	return p.script, nil
}

// parser parses a script.
type parser struct {
	script  *Script
	options Options
	scan    scanner
}

func (p *parser) add(c Command) { p.script.Commands = append(p.script.Commands, c) }

// lineOf returns the number of the line that a place of the script is in.
func (p *parser) lineOf(at int) int { return 1 + strings.Count(p.scan.text[:at], "\n") }

// statement adds an SQL statement unless there is nothing but comments.
func (p *parser) statement(text string, parts, from int) {
	text = withoutComments(text)
	if text == "" {
		return
	}
	shown := text
	if i := strings.IndexAny(shown, "\n\r"); i >= 0 {
		shown = shown[:i]
	}
	// The scanner dropped what comes before the statement.
	skipped := p.scan.text[from:p.scan.at]
	from += max(strings.Index(skipped, shown), 0)
	p.add(Command{Text: shown[:min(len(shown), maxLineText)], Line: p.lineOf(from), SQL: true, Request: -1,
		statement: statement{text: text, parts: parts}})
}

// withoutComments returns a statement without the blanks and comments before it.
func withoutComments(text string) string {
	for {
		trimmed := strings.TrimLeft(text, " \t\n\v\f\r")
		if !strings.HasPrefix(trimmed, "--") {
			return trimmed
		}
		_, text, _ = strings.Cut(trimmed, "\n")
	}
}

// backslash parses a command whose backslash has been read.
func (p *parser) backslash() error {
	start := p.scan.at - 1
	l := &line{source: p.script.Name, text: p.scan.text, start: start, at: p.scan.at, number: p.lineOf(start)}
	defer func() { p.scan.at = l.at }()
	word, _, ok := l.word()
	if !ok {
		return nil
	}
	l.command = word
	m, known := metas[strings.ToLower(word)]
	c := Command{Line: l.number, Request: -1, meta: m, word: word}
	if known && (m == metaSet || m == metaIf || m == metaElif) {
		if m == metaSet {
			name, _, ok := l.word()
			if !ok {
				return l.faultAt("missing argument", "", -1)
			}
			c.variable(name, p.script.names)
		}
		var err error
		if c.expression, err = l.expression(p.script.names); err != nil {
			return err
		}
		c.Text = l.finish()
		p.add(c)
		return nil
	}
	if err := p.words(l, &c, known); err != nil {
		return err
	}
	if m == metaGset || m == metaAset {
		return p.store(l, &c)
	}
	p.add(c)
	return nil
}

// variable sets the variable that the command sets. A bad name is a fault of running it.
func (c *Command) variable(name string, names *table) {
	c.words, c.valid = []string{name}, validName(name)
	if c.valid {
		c.slot = names.slot(name)
	}
}

// words reads the arguments of a command without an expression, and checks them.
func (p *parser) words(l *line, c *Command, known bool) error {
	var places []int
	for {
		word, at, ok := l.word()
		if !ok {
			break
		}
		if len(c.words)+1 >= maxWords {
			return l.faultAt("too many arguments", "", -1)
		}
		c.words = append(c.words, word)
		places = append(places, at-l.start)
	}
	c.Text = l.finish()
	count := len(c.words)
	switch m := c.meta; {
	case !known, m == metaSyncPipeline && p.options.Version < syncVersion:
		return l.faultAt("invalid command", "", -1)
	case m == metaSleep:
		return p.sleep(l, c, places)
	case m == metaSetShell:
		if count < 2 {
			return l.faultAt("missing argument", "", -1)
		}
		p.shell(c, c.words[1:])
		arguments := c.words
		c.variable(arguments[0], p.script.names)
		c.words = arguments
	case m == metaShell:
		if count < 1 {
			return l.faultAt("missing command", "", -1)
		}
		p.shell(c, c.words)
	case m == metaGset, m == metaAset:
		if count > 1 {
			return l.faultAt("too many arguments", "", -1)
		}
	case count > 0:
		return l.faultAt("unexpected argument", "", -1)
	}
	return nil
}

// shell finds the variables among the words of a shell command.
func (p *parser) shell(c *Command, words []string) {
	c.slots = make([]int, len(words))
	for i, word := range words {
		c.slots[i] = -1
		if strings.HasPrefix(word, ":") && !strings.HasPrefix(word, "::") {
			c.slots[i] = p.script.names.slot(word[1:])
		}
	}
}

// sleep parses the arguments of \sleep.
func (p *parser) sleep(l *line, c *Command, places []int) error {
	switch len(c.words) {
	case 0:
		return l.faultAt("missing argument", "", -1)
	case 1, 2:
	default:
		return l.faultAt("too many arguments", "", places[2])
	}
	number := c.words[0]
	c.sleep = sleep{slot: -1, unit: time.Second}
	if name, ok := strings.CutPrefix(number, ":"); ok {
		c.sleep.slot, c.sleep.name = p.script.names.slot(name), name
	} else {
		n := 0
		if number != "" && (number[0] == '+' || number[0] == '-') {
			n++
		}
		first := n
		for n < len(number) && digit(number[n]) {
			n++
		}
		if n < len(number) {
			if len(c.words) > 1 || n == first {
				return l.faultAt("invalid sleep time, must be an integer", number, places[0])
			}
			c.words = []string{number, number[n:]} // as pgbench prints them
			places = append(places, places[0]+n)
		}
		c.sleep.number = toInt(number[:n])
	}
	if len(c.words) < 2 {
		return nil
	}
	unit, ok := map[string]time.Duration{"us": time.Microsecond, "ms": time.Millisecond, "s": time.Second}[strings.
		ToLower(c.words[1])]
	if !ok {
		return l.faultAt("unrecognized time unit, must be us, ms or s", c.words[1], places[1])
	}
	c.sleep.unit = unit
	return nil
}

// toInt returns the number that text begins with, as C's atoi does on systems whose int has 32 bits.
func toInt(text string) int32 {
	text = strings.TrimLeft(text, " \t\n\v\f\r")
	n := 0
	if text != "" && (text[0] == '+' || text[0] == '-') {
		n++
	}
	for n < len(text) && digit(text[n]) {
		n++
	}
	i, _ := strconv.ParseInt(text[:n], 10, 64) // the nearest number if it is out of range
	return int32(i)
}

// store attaches \gset or \aset to the statement before it.
func (p *parser) store(l *line, c *Command) error {
	l.command, l.whole = "", ""
	const wrong = `\gset must follow an SQL command`
	count := len(p.script.Commands)
	if count == 0 {
		return l.faultAt(wrong, "", -1)
	}
	before := &p.script.Commands[count-1]
	if !before.SQL {
		return l.faultAt(wrong, before.Text, -1)
	}
	if before.statement.result != metaSQL {
		return l.faultAt(wrong, "", -1)
	}
	before.meta, before.statement.result = c.meta, c.meta
	if len(c.words) > 0 {
		before.statement.prefix = c.words[0]
	}
	return nil
}

// finish checks what can be checked only when all commands are known.
func (p *parser) finish() error {
	if err := p.conditions(); err != nil {
		return err
	}
	pending := false // whether a request or pause comes later
	for i := len(p.script.Commands) - 1; i >= 0; i-- {
		c := &p.script.Commands[i]
		if c.SQL {
			if err := p.variables(&c.statement); err != nil {
				return err
			}
		}
		c.last = !pending && c.statement.result == metaSQL
		pending = pending || c.SQL || c.meta == metaSleep || c.meta == metaEndPipeline
	}
	return nil
}

// conditions checks that \if and \endif belong together, and finds out where they lead.
func (p *parser) conditions() error {
	type level struct {
		parts     []int
		afterElse bool
	}
	var stack []level
	name, commands := p.script.Name, p.script.Commands
	wrong := func(i int, text string) error {
		err := ofScript(name, `condition error in script "%s" command %d: %s`, name, i+1, text)
		err.Line = commands[min(i, len(commands)-1)].Line
		return err
	}
	for i := range commands {
		m := commands[i].meta
		if m == metaIf {
			stack = append(stack, level{})
		}
		if m != metaIf && m != metaElif && m != metaElse && m != metaEndif {
			continue
		}
		if len(stack) == 0 {
			return wrong(i, `\`+map[meta]string{metaElif: "elif", metaElse: "else", metaEndif: "endif"}[m]+
				` without matching \if`)
		}
		top := &stack[len(stack)-1]
		switch {
		case m == metaElif && top.afterElse:
			return wrong(i, `\elif after \else`)
		case m == metaElse && top.afterElse:
			return wrong(i, `\else after \else`)
		}
		top.afterElse = top.afterElse || m == metaElse
		top.parts = append(top.parts, i)
		if m == metaEndif {
			for k, at := range top.parts[:len(top.parts)-1] {
				commands[at].other, commands[at].end = top.parts[k+1], i
			}
			stack = stack[:len(stack)-1]
		}
	}
	if len(stack) > 0 {
		return wrong(len(commands), `\if without matching \endif`)
	}
	return nil
}

// variables finds the variables of a statement. pgbench looks for them everywhere, even within quotes.
func (p *parser) variables(s *statement) error {
	rest := s.text
	plain := strings.Builder{} // since the last variable
	sent := strings.Builder{}
	count := 0
	for rest != "" {
		colon := strings.IndexByte(rest, ':')
		if colon < 0 {
			break
		}
		plain.WriteString(rest[:colon])
		rest = rest[colon:]
		name := reference(rest)
		if name == "" {
			colons := len(rest) - len(strings.TrimLeft(rest, ":"))
			plain.WriteString(rest[:colons])
			rest = rest[colons:]
			continue
		}
		if count++; p.options.Mode != Simple && count >= maxWords {
			return ofScript(p.script.Name, "statement has too many arguments (maximum is %d): %s", maxWords-1, s.text)
		}
		slot := p.script.names.slot(name)
		sent.WriteString(plain.String())
		sent.WriteString("$" + strconv.Itoa(count))
		s.pieces = append(s.pieces, piece{text: plain.String(), slot: slot, name: ":" + name})
		s.params = append(s.params, slot)
		plain.Reset()
		rest = rest[1+len(name):]
	}
	plain.WriteString(rest)
	if count == 0 {
		return nil
	}
	if p.options.Mode == Simple {
		s.pieces = append(s.pieces, piece{text: plain.String(), slot: -1})
		s.params = nil
		return nil
	}
	sent.WriteString(plain.String())
	s.text, s.pieces = sent.String(), nil
	return nil
}
