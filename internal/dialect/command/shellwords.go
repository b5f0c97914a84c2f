package command

import "strings"

// ShellCommand is a simple command of a shell script.
type ShellCommand struct {
	Line  int // of its first word, from 1
	Words []string
	// Needs is what only a shell can fill in, such as "$1", or ""; Words hold it as it is written.
	Needs string
}

// ShellCommands returns the simple commands of a shell script: their words without quotes, comments and redirections
// of output. It knows the quotes, escapes and operators of POSIX shells, and no here-documents.
func ShellCommands(script string) (all []ShellCommand) {
	r := shellReader{text: script, line: 1}
	for r.at < len(r.text) {
		r.step()
	}
	r.endCommand("")
	return r.all
}

// shellReader reads a script character by character.
type shellReader struct {
	text     string
	at, line int

	all     []ShellCommand
	now     ShellCommand
	word    strings.Builder
	inWord  bool // the word may be empty, as in ''
	skipped bool // the next word is the file of a redirection
}

func (r *shellReader) step() {
	c := r.text[r.at]
	r.at++
	switch c {
	case ' ', '\t', '\r':
		r.endWord()
	case '\n':
		r.endCommand("")
		r.line++
	case '#':
		if r.inWord {
			r.add("#")
			break
		}
		r.at += until(r.text[r.at:], '\n')
	case ';', '(', ')':
		r.endCommand("")
	case '|', '&':
		r.operator(c)
	case '<', '>':
		r.redirect(c)
	case '\'':
		end := until(r.text[r.at:], c)
		r.add(r.text[r.at : r.at+end])
		r.at = min(r.at+end+1, len(r.text))
	case '"':
		r.quoted()
	case '\\':
		r.escaped()
	case '$', '`':
		r.expansion(c)
	default:
		r.add(string(c))
	}
}

// operator ends the command at | or &. What a pipe brings is known to the shell only.
func (r *shellReader) operator(c byte) {
	twice := strings.HasPrefix(r.text[r.at:], string(c))
	if twice {
		r.at++
	}
	if c == '|' && !twice {
		r.endCommand("what comes through the pipe")
		return
	}
	r.endCommand("")
}

// redirect skips what is written where, and notes that input comes from a file.
func (r *shellReader) redirect(c byte) {
	if word := r.word.String(); len(word) == 1 && word[0] >= '0' && word[0] <= '9' { // 2>file
		r.word.Reset()
		r.inWord = false
	}
	r.endWord()
	for r.at < len(r.text) && strings.Contains("<>&", r.text[r.at:r.at+1]) {
		r.at++
	}
	if c == '<' {
		r.need("its input (<)")
	}
	r.skipped = true
}

// quoted adds what stands in double quotes.
func (r *shellReader) quoted() {
	r.add("")
	for r.at < len(r.text) {
		c := r.text[r.at]
		r.at++
		switch {
		case c == '"':
			return
		case c == '\\' && r.at < len(r.text) && strings.Contains("\"\\$`\n", r.text[r.at:r.at+1]):
			r.escaped()
		case c == '$', c == '`':
			r.expansion(c)
		default:
			r.add(string(c))
		}
	}
}

// escaped adds the character after a backslash; a line that ends with one goes on.
func (r *shellReader) escaped() {
	if r.at == len(r.text) {
		return
	}
	c := r.text[r.at]
	r.at++
	if c == '\n' {
		r.line++
		return
	}
	r.add(string(c))
}

// expansion adds a parameter or a substitution as it is written.
func (r *shellReader) expansion(c byte) {
	rest := r.text[r.at:]
	n := 0
	switch {
	case c == '`':
		n = until(rest, c) + 1
	case strings.HasPrefix(rest, "{"):
		n = until(rest, '}') + 1
	case strings.HasPrefix(rest, "("):
		n = until(rest, ')') + 1
	default:
		for n < len(rest) && nameByte(rest[n]) {
			n++
		}
		if n == 0 && rest != "" && strings.Contains("@*#?!$-", rest[:1]) {
			n = 1
		}
	}
	n = min(n, len(rest))
	text := string(c) + rest[:n]
	r.at += n
	if n > 0 {
		r.need(text)
	}
	r.add(text)
}

// until returns the index of a byte in text, or the length of text.
func until(text string, c byte) int {
	if i := strings.IndexByte(text, c); i >= 0 {
		return i
	}
	return len(text)
}

func nameByte(c byte) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
}

func (r *shellReader) need(what string) {
	if r.now.Needs == "" {
		r.now.Needs = what
	}
}

func (r *shellReader) add(text string) {
	if !r.inWord && len(r.now.Words) == 0 {
		r.now.Line = r.line
	}
	r.inWord = true
	r.word.WriteString(text)
	r.line += strings.Count(text, "\n")
}

func (r *shellReader) endWord() {
	if r.inWord && !r.skipped {
		r.now.Words = append(r.now.Words, r.word.String())
	}
	r.skipped = r.skipped && !r.inWord
	r.inWord = false
	r.word.Reset()
}

// endCommand ends the command. needs is what the shell adds to the next one.
func (r *shellReader) endCommand(needs string) {
	r.endWord()
	if len(r.now.Words) > 0 {
		r.all = append(r.all, r.now)
	}
	r.now, r.skipped = ShellCommand{Needs: needs}, false
}
