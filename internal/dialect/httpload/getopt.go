package httpload

import (
	"fmt"
	"strings"
)

// Long is a long option of getopt_long (GNU C library). Short is the letter that it stands for.
type Long struct {
	Name  string
	Value bool // it takes a value
	Short rune
}

// Option is an option on a command line.
type Option struct {
	Letter rune
	Value  string
}

// Getopt reads options as getopt_long does: letters may be joined ("-kc10"), long options abbreviated, and arguments
// may stand between options, unless the list of letters begins with "+", which ends at the first. A letter that is
// followed by a colon in letters takes a value. -- ends the options. The error is in getopt's words, without the
// program's name.
func Getopt(args []string, letters string, long []Long) (options []Option, rest []string, err error) {
	letters, ordered := strings.CutPrefix(letters, "+")
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			return options, append(rest, args[i+1:]...), nil
		case strings.HasPrefix(arg, "--"):
			o, used, err := longOption(args[i:], long)
			if err != nil {
				return options, nil, err
			}
			options = append(options, o)
			i += used
		case len(arg) > 1 && arg[0] == '-':
			more, used, err := shortOptions(args[i:], letters)
			if options = append(options, more...); err != nil {
				return options, nil, err
			}
			i += used
		case ordered:
			return options, append(rest, args[i:]...), nil
		default:
			rest = append(rest, arg)
		}
	}
	return options, rest, nil
}

// longOption reads the long option at the beginning of args. used is how many further arguments it takes.
func longOption(args []string, long []Long) (o Option, used int, err error) {
	name, value, joined := strings.Cut(args[0][2:], "=")
	var found []Long
	for _, l := range long {
		if l.Name == name {
			found = []Long{l}
			break
		}
		if strings.HasPrefix(l.Name, name) {
			found = append(found, l)
		}
	}
	switch {
	case len(found) == 0:
		return o, 0, fmt.Errorf("unrecognized option '--%s'", name)
	case len(found) > 1:
		return o, 0, fmt.Errorf("option '--%s' is ambiguous", name)
	}
	l := found[0]
	switch {
	case joined && !l.Value:
		return o, 0, fmt.Errorf("option '--%s' doesn't allow an argument", l.Name)
	case l.Value && !joined:
		if len(args) == 1 {
			return o, 0, fmt.Errorf("option '--%s' requires an argument", l.Name)
		}
		return Option{l.Short, args[1]}, 1, nil
	}
	return Option{l.Short, value}, 0, nil
}

// shortOptions reads the letters of the argument at the beginning of args.
func shortOptions(args []string, letters string) (options []Option, used int, err error) {
	for k, c := range args[0] {
		if k == 0 {
			continue
		}
		at := strings.IndexRune(letters, c)
		if at < 0 || c == ':' {
			return options, 0, fmt.Errorf("invalid option -- '%c'", c)
		}
		if !strings.HasPrefix(letters[at+1:], ":") {
			options = append(options, Option{Letter: c})
			continue
		}
		if value := args[0][k+1:]; value != "" {
			return append(options, Option{c, value}), 0, nil
		}
		if len(args) == 1 {
			return options, 0, fmt.Errorf("option requires an argument -- '%c'", c)
		}
		return append(options, Option{c, args[1]}), 1, nil
	}
	return options, 0, nil
}
