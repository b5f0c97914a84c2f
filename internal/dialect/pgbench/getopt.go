package pgbench

import (
	"slices"
	"strings"
)

// longOption is an option with its long name.
type longOption struct {
	name     string
	short    byte // 0: none
	argument bool
	since    int // the first version that has it; 0: all
	ours     bool
}

// longOptions returns the options of a version. Until 16, -d was --debug.
func longOptions(version int) []longOption {
	all := []longOption{
		{name: "builtin", short: 'b', argument: true}, {name: "client", short: 'c', argument: true},
		{name: "connect", short: 'C'}, {name: "define", short: 'D', argument: true},
		{name: "file", short: 'f', argument: true}, {name: "fillfactor", short: 'F', argument: true},
		{name: "host", short: 'h', argument: true}, {name: "initialize", short: 'i'},
		{name: "init-steps", short: 'I', argument: true}, {name: "jobs", short: 'j', argument: true},
		{name: "log", short: 'l'}, {name: "latency-limit", short: 'L', argument: true}, {name: "no-vacuum", short: 'n'},
		{name: "port", short: 'p', argument: true}, {name: "progress", short: 'P', argument: true},
		{name: "protocol", short: 'M', argument: true}, {name: "quiet", short: 'q'},
		{name: "report-per-command", short: 'r'}, {name: "rate", short: 'R', argument: true},
		{name: "scale", short: 's', argument: true}, {name: "select-only", short: 'S'},
		{name: "skip-some-updates", short: 'N'}, {name: "time", short: 'T', argument: true},
		{name: "transactions", short: 't', argument: true}, {name: "username", short: 'U', argument: true},
		{name: "vacuum-all", short: 'v'}, {name: "unlogged-tables"}, {name: "tablespace", argument: true},
		{name: "index-tablespace", argument: true}, {name: "sampling-rate", argument: true},
		{name: "aggregate-interval", argument: true}, {name: "progress-timestamp"}, {name: "log-prefix", argument: true},
		{name: "foreign-keys"}, {name: "random-seed", argument: true}, {name: "show-script", argument: true},
		{name: "partitions", argument: true}, {name: "partition-method", argument: true}, {name: "failures-detailed"},
		{name: "max-tries", argument: true}, {name: "verbose-errors"}, {name: "exit-on-abort", since: 17},
		{name: "dbname", short: 'd', argument: true, since: 17},
	}
	all = slices.DeleteFunc(all, func(o longOption) bool { return o.since > version })
	debug := longOption{name: "debug"}
	if version < 17 {
		debug.short = 'd'
	}
	all = append(all, debug)
	for _, o := range ourOptions() {
		all = append(all, longOption{name: o.name, argument: o.argument, ours: true})
	}
	return all
}

// getopt reads a command line as GNU's getopt_long does: arguments may come between options, options may be joined and
// long ones cut short. Options of brunt's own can't be cut short, so that those of pgbench can be as before.
type getopt struct {
	options []longOption
	args    []string
	rest    []string // arguments that are no options
	joined  string   // what is left of joined short options
}

func newGetopt(version int, args []string) *getopt {
	return &getopt{options: longOptions(version), args: args}
}

// next returns the next option by its long name; ok is false if there are no more.
func (g *getopt) next() (name, value string, ok bool, err *Fault) {
	for g.joined == "" {
		if len(g.args) == 0 {
			return "", "", false, nil
		}
		a := g.args[0]
		g.args = g.args[1:]
		switch {
		case a == "--":
			g.rest, g.args = append(g.rest, g.args...), nil
		case strings.HasPrefix(a, "--"):
			return g.long(a[2:])
		case len(a) > 1 && a[0] == '-':
			g.joined = a[1:]
		default:
			g.rest = append(g.rest, a)
		}
	}
	return g.short()
}

func (g *getopt) short() (name, value string, ok bool, err *Fault) {
	letter := g.joined[0]
	g.joined = g.joined[1:]
	i := slices.IndexFunc(g.options, func(o longOption) bool { return o.short == letter })
	switch {
	case i < 0 || letter == 0:
		return "", "", false, &Fault{Lines: []string{"invalid option -- '" + string(letter) + "'"}}
	case !g.options[i].argument:
		return g.options[i].name, "", true, nil
	case g.joined != "":
		value, g.joined = g.joined, ""
	case len(g.args) == 0:
		return "", "", false, &Fault{Lines: []string{"option requires an argument -- '" + string(letter) + "'"}}
	default:
		value, g.args = g.args[0], g.args[1:]
	}
	return g.options[i].name, value, true, nil
}

func (g *getopt) long(text string) (name, value string, ok bool, err *Fault) {
	name, value, joined := strings.Cut(text, "=")
	found := g.find(name)
	switch {
	case len(found) == 0:
		return "", "", false, &Fault{Lines: []string{"unrecognized option '--" + text + "'"}}
	case len(found) > 1:
		line := "option '--" + text + "' is ambiguous; possibilities:"
		for _, o := range found {
			line += " '--" + o.name + "'"
		}
		return "", "", false, &Fault{Lines: []string{line}}
	}
	o := found[0]
	switch {
	case joined && !o.argument:
		return "", "", false, &Fault{Lines: []string{"option '--" + o.name + "' doesn't allow an argument"}}
	case o.argument && !joined && len(g.args) == 0:
		return "", "", false, &Fault{Lines: []string{"option '--" + o.name + "' requires an argument"}}
	case o.argument && !joined:
		value, g.args = g.args[0], g.args[1:]
	}
	return o.name, value, true, nil
}

// find returns the options that a long name, which may be cut short, can mean.
func (g *getopt) find(name string) (found []longOption) {
	for _, o := range g.options {
		if o.name == name {
			return []longOption{o}
		}
		if !o.ours && strings.HasPrefix(o.name, name) {
			found = append(found, o)
		}
	}
	return found
}
