package pgbench

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"brunt/internal/dialect/command"
	"brunt/internal/dialect/pgbench/script"
)

// Fault is an error in a command line, with the lines that pgbench prints about it.
type Fault struct {
	Lines []string // without "pgbench: "
	Plain []string // lines that follow them, as they are
}

// Error returns the lines.
func (f *Fault) Error() string { return strings.Join(f.Lines, "\n") }

// fault returns an error with pgbench's text.
func fault(format string, values ...any) *Fault {
	return &Fault{Lines: []string{"error: " + fmt.Sprintf(format, values...)}}
}

// detail adds a line.
func (f *Fault) detail(kind, format string, values ...any) *Fault {
	f.Lines = append(f.Lines, kind+": "+fmt.Sprintf(format, values...))
	return f
}

// Show is an error that isn't one: text to print instead of a run.
type Show struct {
	Text   string
	Stderr bool
	Usage  bool // the help
}

// Error returns the text.
func (s *Show) Error() string { return s.Text }

// Input is what a command line depends on.
type Input struct {
	Args   []string // without the program's name
	Stdin  io.Reader
	Getenv func(string) string
	User   func() string // the name of the system's user
	Now    func() time.Time
	Info   func(line string) // prints a line of information, in its order among the faults of the options
}

// parser reads a command line.
type flagParser struct {
	in  *Input
	o   *Options
	how *getopt

	benchmarking, initializing bool
	foreignKeys                bool
	steps                      string
	database                   string
	logPrefix                  bool
}

// Parse parses a command line. The error is a *Fault, or a *Show if it asks for a text.
func Parse(in *Input) (*Options, error) {
	o := &Options{Version: newest, Clients: 1, Threads: 1, Scale: 1, Fillfactor: 100, Mode: script.Simple, MaxTries: 1,
		Variables: map[string]string{}, LogPrefix: "pgbench_log"}
	if err := o.version(in.Args); err != nil {
		return nil, err
	}
	if len(in.Args) > 0 {
		switch in.Args[0] {
		case "--help", "-?":
			return nil, &Show{Usage: true}
		case "--version", "-V":
			return nil, &Show{Text: "pgbench (PostgreSQL) " + release(o.Version) + "\n"}
		}
	}
	p := &flagParser{in: in, o: o, how: newGetopt(o.Version, in.Args)}
	if err := p.seed(in.Getenv("PGBENCH_RANDOM_SEED")); err != nil {
		return nil, err.detail("error", "error while setting random seed from PGBENCH_RANDOM_SEED environment variable")
	}
	for {
		name, value, ok, err := p.how.next()
		if err != nil {
			return nil, err.detail("hint", `Try "pgbench --help" for more information.`)
		}
		if !ok {
			break
		}
		if err := p.option(name, value); err != nil {
			return nil, err
		}
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	return o, nil
}

// version finds out which version's options the command line has.
func (o *Options) version(args []string) error {
	for i, a := range args {
		if a == "--" {
			return nil
		}
		value, ok := strings.CutPrefix(a, "--pgbench-version=")
		if a == "--pgbench-version" && i+1 < len(args) {
			value, ok = args[i+1], true
		}
		if !ok {
			continue
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < oldest || n > newest {
			return fault("--pgbench-version %s: give %d, 16, 17 or %d", value, oldest, newest)
		}
		o.Version = n
	}
	return nil
}

// whole parses a number as option_parse_int in PostgreSQL's frontend utilities does.
func (p *flagParser) whole(to *int, text, name string, least, most int) *Fault {
	trimmed := strings.TrimLeft(text, " \t\n\v\f\r")
	n, err := strconv.ParseInt(strings.TrimRight(trimmed, " \t\n\v\f\r"), 10, 64)
	switch {
	case err != nil && !isRange(err):
		return fault(`invalid value "%s" for option %s`, text, name)
	case err != nil || n < int64(least) || n > int64(most):
		return fault("%s must be in range %d..%d", name, least, most)
	}
	*to = int(n)
	return nil
}

func isRange(err error) bool {
	e, ok := err.(*strconv.NumError) //nolint:errorlint // strconv wraps nothing
	return ok && e.Err == strconv.ErrRange
}

// leading returns the number that a text begins with, 0 if there is none, as C's atof does.
func leading(text string) float64 {
	text = strings.TrimLeft(text, " \t\n\v\f\r")
	for end := len(text); end > 0; end-- {
		if strings.ContainsAny(text[:end], "_xXpP") {
			continue
		}
		if x, err := strconv.ParseFloat(text[:end], 64); err == nil {
			return x
		}
	}
	return 0
}

// seed sets the random seed.
func (p *flagParser) seed(text string) *Fault {
	switch text {
	case "", "time":
		p.o.Seed = uint64(p.in.Now().UnixMicro())
	case "rand":
		p.o.Seed = strongSeed()
	default:
		n, err := strconv.ParseUint(strings.TrimLeft(text, " +"), 10, 64)
		if err != nil {
			return fault(`unrecognized random seed option "%s"`, text).detail("detail",
				`Expecting an unsigned integer, "time" or "rand".`)
		}
		p.o.Seed = n
	}
	if text != "" {
		p.in.Info(fmt.Sprintf("setting random seed to %d", p.o.Seed))
	}
	return nil
}

// option takes an option of the command line by its long name.
func (p *flagParser) option(name, value string) error {
	set, ok := p.setters()[name]
	if !ok {
		return p.ours(name, value)
	}
	if err := set(value); err != nil {
		return err
	}
	return nil
}

type setter func(value string) error

// setters returns what the options of pgbench do.
func (p *flagParser) setters() map[string]setter {
	o := p.o
	all := map[string]setter{}
	flag := func(group, to *bool) setter {
		return func(string) error {
			*to = true
			if group != nil {
				*group = true
			}
			return nil
		}
	}
	text := func(group *bool, to *string) setter {
		return func(value string) error {
			*to = value
			if group != nil {
				*group = true
			}
			return nil
		}
	}
	number := func(group *bool, to *int, shown string, least, most int) setter {
		return func(value string) error {
			if group != nil {
				*group = true
			}
			if err := p.whole(to, value, shown, least, most); err != nil {
				return err
			}
			return nil
		}
	}
	run, init := &p.benchmarking, &p.initializing
	all["client"] = number(run, &o.Clients, "-c/--clients", 1, math.MaxInt32)
	all["connect"] = flag(run, &o.Connect)
	all["dbname"] = text(nil, &p.database)
	all["fillfactor"] = number(init, &o.Fillfactor, "-F/--fillfactor", 10, 100)
	all["host"], all["port"], all["username"] = text(nil, &o.Host), text(nil, &o.Port), text(nil, &o.User)
	all["initialize"] = flag(nil, &o.Initialize)
	all["jobs"] = number(run, &o.Threads, "-j/--jobs", 1, math.MaxInt32)
	all["log"] = flag(run, &o.Log)
	all["no-vacuum"] = flag(nil, &o.NoVacuum)
	all["progress"] = number(run, &o.ProgressS, "-P/--progress", 1, math.MaxInt32)
	all["quiet"] = flag(init, &o.Quiet)
	all["report-per-command"] = flag(run, &o.PerCommand)
	all["time"] = number(run, &o.DurationS, "-T/--time", 1, math.MaxInt32)
	all["transactions"] = number(run, &o.Transactions, "-t/--transactions", 1, math.MaxInt32)
	all["vacuum-all"] = flag(run, &o.VacuumAll)
	all["unlogged-tables"] = flag(init, &o.Unlogged)
	all["tablespace"], all["index-tablespace"] = text(init, &o.Tablespace), text(init, &o.IndexTablespace)
	all["aggregate-interval"] = number(run, &o.AggregateS, "--aggregate-interval", 1, math.MaxInt32)
	all["progress-timestamp"] = flag(run, &o.Timestamps)
	all["foreign-keys"] = flag(init, &p.foreignKeys)
	all["partitions"] = number(init, &o.Partitions, "--partitions", 0, math.MaxInt32)
	all["failures-detailed"] = flag(run, &o.FailuresDetailed)
	all["verbose-errors"] = flag(run, &o.VerboseErrors)
	all["exit-on-abort"] = flag(run, &o.ExitOnAbort)
	all["scale"] = func(value string) error {
		o.ScaleGiven = true
		return number(nil, &o.Scale, "-s/--scale", 1, math.MaxInt32)(value)
	}
	all["debug"] = func(string) error {
		o.Debug++
		return nil
	}
	p.moreSetters(all)
	return all
}

// moreSetters adds the options whose values have rules of their own.
func (p *flagParser) moreSetters(all map[string]setter) {
	o := p.o
	bench := func(do setter) setter {
		return func(value string) error {
			err := do(value)
			p.benchmarking = true
			return err
		}
	}
	positive := func(to *float64, most float64, format string) setter {
		return bench(func(value string) error {
			if *to = leading(value); !(*to > 0) || *to > most {
				return fault(format, value)
			}
			return nil
		})
	}
	all["latency-limit"] = positive(&o.LatencyLimitMs, math.Inf(1), `invalid latency limit: "%s"`)
	all["rate"] = positive(&o.RatePerS, math.Inf(1), `invalid rate limit: "%s"`)
	all["sampling-rate"] = positive(&o.SamplingRate, 1, `invalid sampling rate: "%s"`)
	all["builtin"] = bench(p.builtin)
	all["file"] = bench(p.file)
	all["skip-some-updates"] = bench(func(string) error { return p.addBuiltin("simple-update", 1) })
	all["select-only"] = bench(func(string) error { return p.addBuiltin("select-only", 1) })
	all["define"] = bench(func(value string) error {
		name, content, _ := strings.Cut(value, "=")
		if name == "" || content == "" {
			return fault(`invalid variable definition: "%s"`, value)
		}
		if _, err := script.ParseOptions(
			script.Options{Variables: map[string]string{name: content}}.Strings()); err != nil {
			return fault(`%s`, err)
		}
		o.Variables[name] = content
		return nil
	})
	all["init-steps"] = func(value string) error {
		p.initializing, p.steps = true, value
		return checkSteps(value)
	}
	all["protocol"] = bench(func(value string) error {
		if value != script.Simple && value != script.Extended && value != script.Prepared {
			return fault(`invalid query mode (-M): "%s"`, value)
		}
		o.Mode = value
		return nil
	})
	all["log-prefix"] = bench(func(value string) error {
		o.LogPrefix, p.logPrefix = value, true
		return nil
	})
	all["random-seed"] = bench(func(value string) error {
		if value == "" {
			value = " "
		}
		if err := p.seed(value); err != nil {
			return err.detail("error", "error while setting random seed from --random-seed option")
		}
		return nil
	})
	all["show-script"] = func(value string) error {
		name, text, description, err := script.Builtin(value)
		if err != nil {
			return noBuiltin(err)
		}
		return &Show{Text: fmt.Sprintf("-- %s: %s\n%s\n", name, description, text), Stderr: true}
	}
	all["partition-method"] = func(value string) error {
		p.initializing = true
		o.PartitionMethod = strings.ToLower(value)
		if o.PartitionMethod != "range" && o.PartitionMethod != "hash" {
			return fault(`invalid partition method, expecting "range" or "hash", got: "%s"`, value)
		}
		return nil
	}
	all["max-tries"] = bench(func(value string) error {
		n := math.Trunc(leading(value))
		if n < 0 {
			return fault(`invalid number of maximum tries: "%s"`, value)
		}
		o.MaxTries = uint32(min(n, math.MaxInt32))
		return nil
	})
}

func checkSteps(steps string) error {
	if steps == "" {
		return fault("no initialization steps specified")
	}
	for _, step := range steps {
		if !strings.ContainsRune(allSteps+" ", step) {
			return fault(`unrecognized initialization step "%c"`, step).detail("detail",
				`Allowed step characters are: "%s".`, allSteps)
		}
	}
	return nil
}

// listBuiltins returns the list of the builtin scripts.
func listBuiltins() string {
	var b strings.Builder
	b.WriteString("Available builtin scripts:\n")
	for _, one := range script.Builtins() {
		fmt.Fprintf(&b, "  %13s: %s\n", one[0], one[1])
	}
	b.WriteString("\n")
	return b.String()
}

func noBuiltin(err error) error {
	f := fault("%s", err)
	f.Plain = strings.Split(strings.TrimSuffix(listBuiltins(), "\n"), "\n")
	return f
}

func (p *flagParser) builtin(value string) error {
	if value == "list" {
		return &Show{Text: listBuiltins(), Stderr: true}
	}
	name, weight, err := weighted(value)
	if err != nil {
		return err
	}
	return p.addBuiltin(name, weight)
}

func (p *flagParser) addBuiltin(prefix string, weight int64) error {
	_, text, description, err := script.Builtin(prefix)
	if err != nil {
		return noBuiltin(err)
	}
	p.o.Internal = true
	return p.add(Script{Name: description, Text: text, Weight: weight})
}

func (p *flagParser) file(value string) error {
	name, weight, err := weighted(value)
	if err != nil {
		return err
	}
	var text []byte
	var rerr error
	if name == "-" {
		text, rerr = command.ReadInput(p.in.Stdin)
	} else {
		text, rerr = command.ReadFile(name)
	}
	if rerr != nil {
		return fault(`could not open file "%s": %s`, name, reason(rerr))
	}
	return p.add(Script{Name: name, Text: string(text), Weight: weight})
}

// add adds a script, whose syntax is checked.
func (p *flagParser) add(s Script) error {
	if _, err := script.Parse(s.Name, s.Text, script.Options{Version: p.o.Version}); err != nil {
		return scriptFault(err)
	}
	if len(p.o.Scripts) >= mostScripts {
		return fault("at most %d SQL scripts are allowed", mostScripts)
	}
	p.o.Scripts = append(p.o.Scripts, s)
	return nil
}

// scriptFault returns what pgbench prints about an error in a script.
func scriptFault(err error) error {
	lines := strings.Split(strings.TrimRight(err.Error(), "\n"), "\n")
	f := fault("%s", lines[0])
	f.Plain = lines[1:]
	return f
}

// weighted splits an argument NAME@WEIGHT.
func weighted(value string) (name string, weight int64, err error) {
	at := strings.LastIndexByte(value, '@')
	if at < 0 {
		return value, 1, nil
	}
	text := strings.TrimLeft(value[at+1:], " \t\n\v\f\r")
	n, perr := strconv.ParseInt(text, 10, 64)
	switch {
	case perr != nil:
		return "", 0, fault("invalid weight specification: %s", value[at:])
	case n < 0 || n > math.MaxInt32:
		return "", 0, fault("weight specification out of range (0 .. %d): %d", math.MaxInt32, n)
	}
	return value[:at], n, nil
}
