// Package sysbench implements the database tests of sysbench: its command line, its tests oltp_*, select_random_* and
// bulk_insert as scripts of a plan, the tables that they use, and its report. It follows release 1.0.20, or the
// development branch 1.1 (github.com/akopytov/sysbench); it runs no Lua.
package sysbench

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// kind is the type of an option's value.
type kind uint8

const (
	flagKind   kind = iota // on or off
	intKind                // a 32-bit integer
	sizeKind               // bytes, with K, M, G or T
	doubleKind             // a number
	stringKind
	listKind // of strings, separated by commas
	fileKind // a file of options
)

// forms are how the kinds are written in lists of options.
var forms = [...]string{"[=on|off]", "=N", "=SIZE", "=N", "=STRING", "=[LIST,...]", "=FILENAME"}

// option declares an option.
type option struct {
	name  string
	about string
	value string // the default
	none  bool   // there is no default
	kind  kind
}

// options are the values of options by name, with underscores for dashes.
type options struct {
	values map[string][]string
	kinds  map[string]kind
	places map[string]string // by option that a file has set: "FILE:LINE"; its name begins the line
	stderr io.Writer
}

func newOptions(stderr io.Writer) *options {
	return &options{values: map[string][]string{}, kinds: map[string]kind{}, places: map[string]string{},
		stderr: stderr}
}

// canonical returns the name under which an option is kept.
func canonical(name string) string { return strings.ReplaceAll(name, "-", "_") }

// register declares options and sets them to their defaults.
func (o *options) register(all []option) {
	for _, d := range all {
		name := canonical(d.name)
		o.kinds[name] = d.kind
		if d.kind == flagKind {
			o.set(name, &d.value)
			continue
		}
		o.values[name] = nil
		if !d.none && d.kind != fileKind {
			o.set(name, &d.value)
		}
	}
}

// take sets an option from an argument without its dashes, name or name=value. It reports whether the option is known
// and the value of its kind.
func (o *options) take(argument string) bool {
	name, text, given := strings.Cut(argument, "=")
	name = canonical(name)
	if _, known := o.kinds[name]; !known {
		return false
	}
	if !given {
		return o.set(name, nil)
	}
	return o.set(name, &text)
}

// set sets an option. text is nil for an option without a value.
func (o *options) set(name string, text *string) bool {
	k := o.kinds[name]
	o.values[name] = nil
	delete(o.places, name)
	if k == flagKind {
		switch {
		case text == nil, *text == "on", *text == "true", *text == "1":
			o.values[name] = []string{"on"}
		case *text != "off" && *text != "false" && *text != "0":
			return false
		}
		return true
	}
	if text == nil || *text == "" {
		return true
	}
	switch k {
	case listKind:
		o.values[name] = strings.FieldsFunc(*text, func(r rune) bool { return r == ',' })
	case fileKind:
		o.readFile(*text)
	default:
		o.values[name] = []string{*text}
	}
	return true
}

// readFile sets options from a file. A file that can't be read is reported, as sysbench does, and changes nothing.
func (o *options) readFile(path string) {
	f, err := os.Open(path)
	if err != nil {
		fmt.Fprintf(o.stderr, "%s: %s\n", path, reason(err))
		return
	}
	defer f.Close()
	for _, l := range readConfig(f, func(line, column int, problem string) {
		fmt.Fprintf(o.stderr, "%s:%d:%d: %s\n", path, line, column, problem)
	}) {
		name := canonical(l.name)
		o.values[name], o.places[name] = l.values, fmt.Sprintf("%s:%d", path, l.line)
	}
}

// named returns the places of the options that a file has set and a fault names, as 'an_option' or --an-option.
func (o *options) named(fault string) (places []string) {
	for name, place := range o.places {
		if strings.Contains(fault, "'"+name+"'") || strings.Contains(fault, "--"+strings.ReplaceAll(name, "_", "-")+":") {
			places = append(places, fmt.Sprintf("%s:%d: the value of %s", place, len(name)+2, name))
		}
	}
	slices.Sort(places)
	return places
}

// unknown returns the names of options that a file has set, and that sysbench doesn't have.
func (o *options) unknown() (names []string) {
	for name := range o.places {
		if _, known := o.kinds[name]; !known {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// reason returns the text of an error about a file as perror(3) prints it.
func reason(err error) string {
	switch {
	case os.IsNotExist(err):
		return "No such file or directory"
	case os.IsPermission(err):
		return "Permission denied"
	}
	return err.Error()
}

// configLine is a line of a file of options.
type configLine struct {
	name   string
	values []string
	line   int // from 1
}

// readConfig reads a file of options: lines name=value, where values are separated by spaces or commas, may be quoted,
// and end before #. Lines without = are skipped. report is called for lines that can't be read, which are skipped, too.
func readConfig(r io.Reader, report func(line, column int, problem string)) (all []configLine) {
	lines := bufio.NewScanner(r)
	for number := 1; lines.Scan(); number++ {
		name, rest, ok := strings.Cut(lines.Text(), "=")
		if !ok {
			continue
		}
		values, problem := configValues(rest)
		if problem != "" {
			report(number, len(name)+2, problem)
			continue
		}
		all = append(all, configLine{name, values, number})
	}
	if err := lines.Err(); err != nil {
		report(0, 0, err.Error())
	}
	return all
}

// configValues splits the part of a line after the equals sign.
func configValues(rest string) (values []string, problem string) {
	for {
		rest = strings.TrimLeft(rest, " \t\r\v\f")
		switch {
		case rest == "" || rest[0] == '#':
			return values, ""
		case rest[0] == '\'' || rest[0] == '"':
			value, after, ok := strings.Cut(rest[1:], rest[:1])
			if !ok {
				return nil, "the quote isn't closed"
			}
			values = append(values, value)
			_, rest, _ = strings.Cut(after, ",")
			continue
		}
		end := strings.IndexAny(rest, ", \t\r\v\f")
		if end < 0 {
			return append(values, rest), ""
		}
		values, rest = append(values, rest[:end]), rest[end+1:]
	}
}

// invalidError is a value that isn't of its option's kind.
type invalidError struct{ name, value string }

// Error says which value is wrong, in sysbench's words.
func (e *invalidError) Error() string {
	return fmt.Sprintf("Invalid value for the '%s' option: '%s'", e.name, e.value)
}

// text returns the first value of an option, "" if it has none.
func (o *options) text(name string) string {
	if v := o.values[canonical(name)]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// list returns the values of an option.
func (o *options) list(name string) []string { return o.values[canonical(name)] }

// has reports whether an option has a value.
func (o *options) has(name string) bool { return len(o.values[canonical(name)]) > 0 }

// flag reports whether an option is on.
func (o *options) flag(name string) bool { return o.has(name) }

// integer returns the value of an option. err, which keeps the first fault, is set if it isn't an integer of 32 bits.
func (o *options) integer(name string, err *error) int {
	text := o.text(name)
	if text == "" {
		return 0
	}
	n, fault := strconv.ParseInt(strings.TrimLeft(text, " \t"), 10, 64)
	if fault != nil || n > math.MaxInt32 || n < math.MinInt32 {
		o.invalid(name, text, err)
		return 0
	}
	return int(n)
}

// whole returns the value of a test's option that counts something. sysbench reads a number with a fraction, and takes
// a text for 0; both are refused here.
func (o *options) whole(name string, least int, err *error) int {
	text := o.text(name)
	if text == "" {
		return 0
	}
	x, fault := strconv.ParseFloat(text, 64)
	if fault != nil || x != math.Trunc(x) || x < float64(least) || x > math.MaxUint32 {
		o.invalid(name, text, err)
		return 0
	}
	return int(x)
}

// number returns the value of an option.
func (o *options) number(name string, err *error) float64 {
	text := o.text(name)
	if text == "" {
		return 0
	}
	x, fault := strconv.ParseFloat(text, 64)
	if fault != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		o.invalid(name, text, err)
	}
	return x
}

func (o *options) invalid(name, value string, err *error) {
	if *err == nil {
		*err = &invalidError{canonical(name), value}
	}
}

// writeOptions writes a list of options.
func writeOptions(w io.Writer, all []option) {
	width := 0
	for _, d := range all {
		width = max(width, len(d.name)+len(forms[d.kind]))
	}
	for _, d := range all {
		fmt.Fprintf(w, "  --%s%-*s%s", d.name, width-len(d.name)+1, forms[d.kind], d.about)
		if !d.none {
			fmt.Fprintf(w, " [%s]", d.value)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}
