package jmeter

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"brunt/internal/base/suggest"
	"brunt/internal/dialect/command"
)

// Options are the options of a command line.
type Options struct {
	Plan      string // -t
	Log       string // -l
	LogFile   string // -j
	Props     map[string]string
	NoGUI     bool
	Force     bool   // -f
	Page      bool   // -e
	Folder    string // -o
	Help      bool
	Version   bool
	propFiles []string
}

// option is an option of JMeter's.
type option struct {
	letter, name string
	value        int    // 0 none, 1 one, 2 name=value
	refused      string // why it isn't available
}

var options = []option{
	{"h", "help", 0, ""}, {"?", "?", 0, ""}, {"v", "version", 0, ""}, {"n", "nongui", 0, ""},
	{"t", "testfile", 1, ""}, {"l", "logfile", 1, ""}, {"j", "jmeterlogfile", 1, ""},
	{"J", "jmeterproperty", 2, ""}, {"G", "globalproperty", 2, ""}, {"D", "systemproperty", 2, ""},
	{"q", "addprop", 1, ""}, {"p", "propfile", 1, ""}, {"S", "systemPropertyFile", 1, ""}, {"L", "loglevel", 1, ""},
	{"f", "forceDeleteResultFile", 0, ""}, {"i", "jmeterlogconf", 1, ""}, {"d", "homedir", 1, ""},
	{"e", "reportatendofloadtests", 0, ""}, {"o", "reportoutputfolder", 1, ""},
	{"g", "reportonly", 1, "a report is made of a record, not of a JTL file: brunt report --html FILE BUNDLE"},
	{"r", "runremote", 0, "brunt has workers instead of JMeter's servers: --workers N"},
	{"R", "remotestart", 1, "brunt has workers instead of JMeter's servers: --workers N"},
	{"s", "server", 0, "brunt has workers instead of JMeter's servers: --workers N"},
	{"X", "remoteexit", 0, "brunt has workers instead of JMeter's servers: --workers N"},
	{"H", "proxyHost", 1, ""}, {"P", "proxyPort", 1, ""}, {"E", "proxyScheme", 1, ""}, {"u", "username", 1, ""},
	{"a", "password", 1, ""},
	{"N", "nonProxyHosts", 1, ""},
}

// ParseOptions parses a command line without the program's name.
func ParseOptions(args []string) (*Options, error) {
	o := &Options{Props: map[string]string{}}
	var given [][2]string
	for i := 0; i < len(args); i++ {
		opt, value, joined, err := find(args[i])
		if err != nil {
			return nil, err
		}
		if opt.refused != "" {
			return nil, fmt.Errorf("-%s, --%s: %s", opt.letter, opt.name, opt.refused)
		}
		if opt.value > 0 && !joined {
			if i++; i == len(args) {
				return nil, fmt.Errorf("-%s, --%s needs a value", opt.letter, opt.name)
			}
			value = args[i]
		}
		if opt.value == 2 && !strings.Contains(value, "=") && i+1 < len(args) && strings.HasPrefix(args[i+1], "=") {
			i++
			value += args[i]
		}
		given = append(given, [2]string{opt.letter, value})
	}
	for _, g := range given {
		o.set(g[0], g[1])
	}
	return o, o.check(given)
}

// find returns the option that an argument begins with.
func find(arg string) (o *option, value string, joined bool, err error) {
	name, long := strings.CutPrefix(arg, "--")
	if long {
		name, value, joined = strings.Cut(name, "=")
		for i := range options {
			if options[i].name == name {
				return &options[i], value, joined && options[i].value > 0, nil
			}
		}
		var names []string
		for i := range options {
			names = append(names, options[i].name)
		}
		return nil, "", false, fmt.Errorf("the option --%s is unknown%s", name, meant(name, names))
	}
	if len(arg) > 1 && arg[0] == '-' {
		for i := range options {
			if options[i].letter == arg[1:2] {
				o := &options[i]
				if o.value == 0 && len(arg) > 2 {
					return nil, "", false, fmt.Errorf("-%s takes no value: %s", o.letter, arg)
				}
				return o, arg[2:], len(arg) > 2, nil
			}
		}
		return nil, "", false, fmt.Errorf("the option %s is unknown", arg)
	}
	return nil, "", false, fmt.Errorf("%q isn't an option; the test plan is given by -t", arg)
}

func meant(name string, names []string) string {
	if s := suggest.Nearest(name, names); s != "" {
		return fmt.Sprintf("; did you mean --%s?", s)
	}
	return ""
}

func (o *Options) set(letter, value string) {
	switch letter {
	case "n":
		o.NoGUI = true
	case "t":
		o.Plan = value
	case "l":
		o.Log = value
	case "j":
		o.LogFile = value
	case "f":
		o.Force = true
	case "e":
		o.Page = true
	case "o":
		o.Folder = value
	case "h", "?":
		o.Help = true
	case "v":
		o.Version = true
	case "q", "p", "S":
		o.propFiles = append(o.propFiles, value)
	}
}

// check reads the files of properties; properties on the command line come after them.
func (o *Options) check(given [][2]string) error {
	if o.Help || o.Version {
		return nil
	}
	if o.Plan == "" {
		return errors.New("name a test plan: -n -t PLAN.jmx")
	}
	if !o.NoGUI {
		return errors.New("brunt has no window to edit test plans: add -n")
	}
	files := o.propFiles
	ofPlan := filepath.Join(filepath.Dir(o.Plan), "user.properties")
	if _, err := os.Stat(ofPlan); err == nil {
		files = append([]string{ofPlan}, files...)
	}
	for _, name := range files {
		b, err := command.ReadFile(name)
		if err != nil {
			return fmt.Errorf("the properties: %w", err)
		}
		parseProperties(string(b), o.Props)
	}
	for _, g := range given {
		if g[0] != "J" && g[0] != "G" && g[0] != "D" {
			continue
		}
		name, value, ok := strings.Cut(g[1], "=")
		if !ok && g[0] == "G" {
			b, err := command.ReadFile(g[1])
			if err != nil {
				return fmt.Errorf("the properties: %w", err)
			}
			parseProperties(string(b), o.Props)
			continue
		}
		o.Props[strings.TrimSpace(name)] = value
	}
	return o.proxy(given)
}

// proxy makes properties of the options of the HTTP proxy, as JMeter does.
func (o *Options) proxy(given [][2]string) error {
	last := map[string]string{}
	for _, g := range given {
		last[g[0]] = g[1]
	}
	host, port := last["H"], last["P"]
	switch {
	case host == "" && port == "" && last["u"] == "":
		return nil
	case host == "" || port == "":
		return errors.New("name the proxy by both -H HOST and -P PORT")
	}
	for letter, name := range map[string]string{"H": proxyHost, "P": proxyPort, "E": proxyScheme, "u": proxyUser,
		"a": proxyPass, "N": nonProxyHosts} {
		if value, ok := last[letter]; ok {
			o.Props[name] = value
		}
	}
	return nil
}

// parseProperties reads a file of properties, as java.util.Properties does.
func parseProperties(s string, into map[string]string) {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.ReplaceAll(s, "\\\n", "")
	for line := range strings.SplitSeq(s, "\n") {
		line = strings.TrimLeft(line, " \t")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		end := strings.IndexAny(line, "=: \t")
		if end < 0 {
			end = len(line)
		}
		name := line[:end]
		value := strings.TrimLeft(line[end:], " \t")
		if value != "" && (value[0] == '=' || value[0] == ':') {
			value = strings.TrimLeft(value[1:], " \t")
		}
		into[name] = strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n", `\:`, ":", `\=`, "=").Replace(value)
	}
}
