package jmeter

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"brunt/internal/dialect/command"

	"golang.org/x/text/encoding/charmap"
)

// files reads the files that a plan names, relative to the plan's folder.
type files struct {
	dir   string
	mu    sync.Mutex
	texts map[string][]byte
	csvs  map[string]*rows
	open  map[any]*cursor // of CSV data sets, which share what they read of one file
}

func newFiles(dir string) *files {
	return &files{dir: dir, texts: map[string][]byte{}, csvs: map[string]*rows{}, open: map[any]*cursor{}}
}

// find returns the path of a file: JMeter looks in the folder in which it was started, then in the plan's.
func (f *files) find(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	if _, err := os.Stat(name); err == nil {
		return name
	}
	return filepath.Join(f.dir, name)
}

func (f *files) read(name string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if b, ok := f.texts[name]; ok {
		return b, nil
	}
	b, err := command.ReadUpTo(f.find(name), 1024)
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("the file %s: %w", name, p.Err)
	}
	if err == nil {
		f.texts[name] = b
	}
	return b, err
}

// rows are the rows of a file that several read in turn.
type rows struct {
	mu  sync.Mutex
	all [][]string
	at  int
}

// next returns the next row, from the first again after the last; nil if there is none.
func (r *rows) next() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all) == 0 {
		return nil
	}
	row := r.all[r.at%len(r.all)]
	r.at++
	return row
}

// rows returns the rows of a file for __CSVRead.
func (f *files) rows(name string) (*rows, error) {
	b, err := f.read(name)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.csvs[name]; r != nil {
		return r, nil
	}
	all, err := parseCSV(string(b), ',')
	r := &rows{all: all}
	f.csvs[name] = r
	return r, err
}

// parseCSV reads separated values.
func parseCSV(s string, comma rune) ([][]string, error) {
	r := csv.NewReader(strings.NewReader(strings.TrimPrefix(s, "\ufeff")))
	r.Comma, r.FieldsPerRecord, r.LazyQuotes = comma, -1, true
	return r.ReadAll()
}

// dataSet is a CSV Data Set Config.
type dataSet struct {
	element       *Element
	from          *files
	file          text
	names         text
	delimiter     string
	ignoreFirst   bool
	quoted        bool
	recycle, stop bool
	share         string // all, group, thread, or a name
	encoding      string
}

// cursor is how far a file has been read.
type cursor struct {
	names []string
	all   [][]string
	at    int
	err   error
}

func (c *compiler) csv(e *Element) *dataSet {
	d := &dataSet{element: e, from: c.in.files, file: c.text(e, "filename"), names: c.text(e, "variableNames"),
		delimiter: c.early(e, "delimiter"), ignoreFirst: e.flag("ignoreFirstLine"), quoted: e.flag("quotedData"),
		recycle: !e.has("recycle") || e.flag("recycle"), stop: e.flag("stopThread"), encoding: c.early(e, "fileEncoding")}
	if p := e.props["delimiter"]; p != nil && strings.Trim(p.text, "\r\n ") == "\t" {
		d.delimiter = "\t"
	}
	switch d.share = strings.TrimSpace(e.text("shareMode")); d.share {
	case "", "shareMode.all":
		d.share = "all"
	case "shareMode.group":
		d.share = "group"
	case "shareMode.thread":
		d.share = "thread"
	}
	switch d.delimiter {
	case "":
		d.delimiter = ","
	case `\t`:
		d.delimiter = "\t"
	}
	if len([]rune(d.delimiter)) != 1 {
		c.fault(e, "the delimiter %q isn't one character", d.delimiter)
	}
	for name := range strings.SplitSeq(d.names.raw, ",") {
		c.written[strings.TrimSpace(name)] = true
	}
	if d.file.fixed() || c.dryKnows(&d.file) {
		name := d.file.eval(c.dry())
		if at := d.load(name); at.err != nil {
			c.fault(e, "%v", at.err)
		} else {
			for _, v := range at.names {
				c.written[v] = true
			}
		}
	}
	return d
}

// dryKnows reports whether a text can be evaluated before the load.
func (c *compiler) dryKnows(x *text) bool {
	return !strings.Contains(x.eval(c.dry()), "${")
}

var charsets = map[string]*charmap.Charmap{"iso-8859-1": charmap.ISO8859_1, "latin1": charmap.ISO8859_1,
	"windows-1251": charmap.Windows1251, "cp1251": charmap.Windows1251, "windows-1252": charmap.Windows1252,
	"koi8-r": charmap.KOI8R, "us-ascii": charmap.ISO8859_1}

// load reads a file.
func (d *dataSet) load(name string) *cursor {
	at := &cursor{}
	var b []byte
	if b, at.err = d.from.read(name); at.err != nil {
		return at
	}
	s := strings.TrimPrefix(string(b), "\ufeff")
	if m := charsets[strings.ToLower(d.encoding)]; m != nil {
		if plain, err := m.NewDecoder().String(s); err == nil {
			s = plain
		}
	}
	comma := []rune(d.delimiter)[0]
	first := ""
	if d.names.raw == "" || d.ignoreFirst {
		if first, s = cutLine(s); first == "" && s == "" && d.names.raw == "" {
			at.err = fmt.Errorf("the file %s is empty: its first line should have the names of the variables", name)
			return at
		}
	}
	if d.quoted {
		at.all = readQuoted(s, comma)
	} else {
		at.all = readPlain(s, comma)
	}
	if d.names.raw == "" {
		if all := readQuoted(first, comma); len(all) > 0 {
			at.names = all[0]
		}
	}
	return at
}

// cutLine returns the first line of a text, and what follows it.
func cutLine(s string) (line, rest string) {
	i := strings.IndexAny(s, "\r\n")
	if i < 0 {
		return s, ""
	}
	if rest = s[i+1:]; s[i] == '\r' {
		rest = strings.TrimPrefix(rest, "\n")
	}
	return s[:i], rest
}

// readPlain reads a file without quotes, as JMeter's FileServer.readLine and JOrphanUtils.split do. An empty line is a
// row without values, which is the end of the file to a CSV Data Set.
func readPlain(s string, comma rune) (all [][]string) {
	for s != "" {
		var line string
		if line, s = cutLine(s); line == "" {
			all = append(all, nil)
			continue
		}
		all = append(all, strings.Split(line, string(comma)))
	}
	return all
}

// readQuoted reads a file with quotes, as JMeter's CSVSaveService.csvReadFile does. A row that breaks the rules has no
// values, like the end of the file, and the next begins after the character that broke them.
func readQuoted(s string, comma rune) (all [][]string) {
	for s != "" {
		var row []string
		row, s = quotedRow(s, comma)
		all = append(all, row)
	}
	return all
}

// quotedRow reads one row. It returns nil for a row that breaks the rules.
func quotedRow(s string, comma rune) (row []string, rest string) {
	var field strings.Builder
	const (
		begin = iota
		plain
		quoted
		quote // in a quoted field: its end, or the first of two
	)
	state, separated := begin, false
	for i, c := range s {
		ends := c == comma || c == '\n' || c == '\r'
		separated = false
		switch {
		case state == quoted && c == '"':
			state = quote
		case state == quoted:
			field.WriteRune(c)
		case ends:
			row, separated, state = append(row, field.String()), true, begin
			field.Reset()
			if c != comma {
				_, rest = cutLine(s[i:])
				return row, rest
			}
		case c == '"' && state == begin:
			state = quoted
		case c == '"' && state == quote:
			field.WriteByte('"')
			state = quoted
		case c == '"', state == quote:
			return nil, s[i+utf8.RuneLen(c):]
		default:
			field.WriteRune(c)
			state = plain
		}
	}
	if state == quoted {
		return nil, ""
	}
	if field.Len() > 0 || separated || state == quote {
		row = append(row, field.String())
	}
	return row, ""
}

// iterate sets the variables to the next line.
func (d *dataSet) iterate(t *thread) {
	name := d.file.eval(t)
	var key any = name
	switch d.share {
	case "all":
	case "group":
		key = [2]any{name, t.group}
	case "thread":
		key = [2]any{name, t}
	default:
		key = [2]any{name, d.share}
	}
	d.from.mu.Lock()
	at := d.from.open[key]
	if at == nil {
		d.from.mu.Unlock()
		made := d.load(name)
		d.from.mu.Lock()
		if at = d.from.open[key]; at == nil {
			at = made
			d.from.open[key] = at
		}
	}
	var row []string
	switch {
	case at.err != nil:
	case at.at < len(at.all):
		row = at.all[at.at]
		at.at++
	case d.recycle && len(at.all) > 0:
		row = at.all[0]
		at.at = 1
	}
	names := at.names
	d.from.mu.Unlock()
	if at.err != nil {
		t.program.complain("%s: %v", d.element, at.err)
		t.quit()
		return
	}
	if names == nil {
		names = strings.Split(d.names.eval(t), ",")
	}
	if len(row) == 0 && d.stop {
		t.quit()
		return
	}
	for i, n := range names {
		n = strings.TrimSpace(n)
		switch {
		case n == "":
		case len(row) == 0:
			t.vars[n] = "<EOF>"
		case i < len(row):
			t.vars[n] = row[i]
		}
	}
}

// counterConfig is a Counter.
type counterConfig struct {
	start, end, incr, format text
	name                     text
	perUser, reset           bool

	mu   sync.Mutex
	next int64
	set  bool
}

func (c *compiler) counter(e *Element) *counterConfig {
	k := &counterConfig{start: c.text(e, "CounterConfig.start"), end: c.text(e, "CounterConfig.end"),
		incr: c.text(e, "CounterConfig.incr"), format: c.text(e, "CounterConfig.format"), name: c.text(e,
			"CounterConfig.name"),
		perUser: e.flag("CounterConfig.per_user"), reset: e.flag("CounterConfig.reset_on_tg_iteration")}
	c.written[k.name.raw] = true
	if c.group != nil && k.perUser && k.reset {
		c.group.counters = append(c.group.counters, k)
	}
	return k
}

func whole(t *thread, x *text, fallback int64) int64 {
	if v, err := strconv.ParseInt(strings.TrimSpace(x.eval(t)), 10, 64); err == nil {
		return v
	}
	return fallback
}

func (k *counterConfig) iterate(t *thread) {
	start, end, incr := whole(t, &k.start, 0), whole(t, &k.end, 1<<62), whole(t, &k.incr, 0)
	advance := func(v int64) int64 {
		if v += incr; v > end {
			v = start
		}
		return v
	}
	var v int64
	if k.perUser {
		v = start
		if n, ok := t.own[k].(int64); ok {
			v = n
		}
		t.own[k] = advance(v)
	} else {
		k.mu.Lock()
		if !k.set {
			k.next, k.set = start, true
		}
		v = k.next
		k.next = advance(v)
		k.mu.Unlock()
	}
	t.vars[k.name.eval(t)] = javaNumber(k.format.eval(t), v)
}

// randomVariable is a Random Variable.
type randomVariable struct{ lo, hi, format, name text }

func (c *compiler) randomVariable(e *Element) *randomVariable {
	v := &randomVariable{c.text(e, "minimumValue"), c.text(e, "maximumValue"), c.text(e, "outputFormat"),
		c.text(e, "variableName")}
	c.written[v.name.raw] = true
	return v
}

func (v *randomVariable) iterate(t *thread) {
	lo, hi := whole(t, &v.lo, 0), whole(t, &v.hi, 0)
	if hi < lo {
		t.program.complain("a random variable's maximum %d is below its minimum %d", hi, lo)
		return
	}
	t.vars[v.name.eval(t)] = javaNumber(v.format.eval(t), between(t.random, lo, hi))
}

// userParameters are User Parameters: each thread has the values of its column.
type userParameters struct {
	names  []text
	values [][]text // by user
}

func (c *compiler) userParameters(e *Element) *userParameters {
	u := &userParameters{}
	for _, p := range e.list("UserParameters.names") {
		u.names = append(u.names, c.textOf(e, "name", p.text))
		c.written[p.text] = true
	}
	for _, column := range e.list("UserParameters.thread_values") {
		var values []text
		for _, p := range column.list {
			values = append(values, c.textOf(e, "value", p.text))
		}
		u.values = append(u.values, values)
	}
	return u
}

func (u *userParameters) iterate(t *thread) {
	if len(u.values) == 0 {
		return
	}
	values := u.values[t.number%len(u.values)]
	for i := range u.names {
		if i < len(values) {
			t.vars[u.names[i].eval(t)] = values[i].eval(t)
		}
	}
}

func (u *userParameters) process(t *thread, _ *sampler) { u.iterate(t) }
