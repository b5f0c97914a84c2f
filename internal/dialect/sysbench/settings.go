package sysbench

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/plan"
)

// Settings are a command line of sysbench.
type Settings struct {
	Version string // one of Versions
	Command string // "run", "prepare", "prewarm", "cleanup", "help"; "" for none

	Threads       int
	Events        uint64        // 0: no limit
	Time          time.Duration // 0: no limit
	WarmUp        time.Duration
	Forced        bool // events under way are given up ForcedAfter after Time
	ForcedAfter   time.Duration
	InitTimeout   time.Duration
	Rate          int // events a second; 0: as many as possible
	Interval      time.Duration
	Checkpoints   []time.Duration
	Debug         bool
	DriverDebug   bool
	Validate      bool
	Verbosity     int
	Percentile    int // 0: none
	Histogram     bool
	Seed          uint64
	SeedGiven     bool
	test          *test
	options       *options
	given         []string // names of the options of the command line, in order
	deprecations  []string
	unknownConfig []string          // options of the test, which sysbench doesn't take from a file
	configPlaces  map[string]string // of options in the file
}

// Test returns the name of the test.
func (s *Settings) Test() string { return s.test.name }

// The levels of --verbosity.
const (
	fatalLevel = iota
	alertLevel
	warningLevel
	noticeLevel
	infoLevel
	debugLevel
)

// stop is the end of a command line that isn't carried out: text to print to out or to err, and whether it is a fault.
type stop struct {
	out, err string
	ok       bool
	places   []string // of what is wrong in a file of options
}

// Error returns the text of the fault.
func (e *stop) Error() string { return strings.TrimSpace(e.out + e.err) }

func fatal(format string, args ...any) *stop {
	return &stop{out: "FATAL: " + fmt.Sprintf(format, args...) + "\n"}
}

// Parse parses a command line of sysbench. An error is a *stop.
func Parse(args []string, version, greeting string, stderr io.Writer) (s *Settings, err error) {
	s = &Settings{Version: version}
	o := newOptions(stderr)
	defer func() {
		if end, ok := errors.AsType[*stop](err); ok && !end.ok {
			end.places = o.named(end.Error())
		}
	}()
	s.options = o
	general := slices.Concat(generalOptions(version), randOptions(version), logOptions(), databaseOptions(),
		mysqlOptions(version), pgsqlOptions(version))
	o.register(general)
	name, rest, err := s.general(args)
	if err != nil {
		return nil, err
	}
	switch {
	case o.flag("help"):
		return nil, &stop{out: usage(version), ok: true}
	case o.flag("version"):
		return nil, &stop{out: "sysbench " + programs[version] + "\n", ok: true}
	}
	if err := s.init(); err != nil {
		if end, ok := errors.AsType[*stop](err); ok {
			end.out = s.warnings() + end.out
		}
		return nil, err
	}
	return s, s.forTest(name, rest, greeting)
}

// general takes the options that all tests have, and returns the name of the test and the other options.
func (s *Settings) general(args []string) (name string, rest []string, err error) {
	words := 0
	for _, a := range args {
		text, dashes := strings.CutPrefix(a, "--")
		test, old := strings.CutPrefix(text, "test=")
		switch {
		case !dashes && words == 0:
			name = a
			words++
		case !dashes && words == 1:
			s.Command = a
			words++
		case !dashes:
			return "", nil, &stop{err: "Unrecognized command line argument: " + a + "\n"}
		case old && s.Version == Version10:
			fmt.Fprintln(s.options.stderr, "WARNING: the --test option is deprecated. You can pass a script name or path "+
				"on the command line without any options.")
			name, words = test, max(words, 1)
		case s.options.take(text):
			s.note(text)
		default:
			rest = append(rest, a)
		}
	}
	return name, rest, nil
}

func (s *Settings) note(text string) {
	name, _, _ := strings.Cut(text, "=")
	s.given = append(s.given, canonical(name))
}

// init reads the general options, in the order in which sysbench reports their faults.
func (s *Settings) init() error {
	o := s.options
	var err error
	old := func(name, formerly string, least int) int {
		if s.Version == Version10 {
			if n := o.integer(formerly, &err); n > least && err == nil {
				s.deprecations = append(s.deprecations, fmt.Sprintf("--%s is deprecated, use --%s instead", formerly, name))
				return n
			}
		}
		return o.integer(name, &err)
	}
	s.Threads = old("threads", "num-threads", 1)
	if err == nil && (s.Threads <= 0 || s.Threads > plan.MaxSessions) {
		return fatal("Invalid value for --threads: %d.\n", s.Threads)
	}
	events := old("events", "max-requests", 0)
	warmUp := o.integer("warmup-time", &err)
	if warmUp < 0 {
		return fatal("Invalid value for --warmup-time: %d.\n", warmUp)
	}
	seconds := old("time", "max-time", 0)
	if err != nil {
		return &stop{err: err.Error() + "\n"}
	}
	s.Events, s.Time, s.WarmUp = uint64(max(events, 0)), time.Duration(max(seconds, 0))*time.Second,
		time.Duration(warmUp)*time.Second
	if s.Events == 0 && s.Time == 0 {
		s.deprecations = append(s.deprecations, "Both event and time limits are disabled, running an endless test")
	}
	if stop := s.forced(); stop != nil {
		return stop
	}
	if !sizeForm().MatchString(o.text("thread-stack-size")) {
		return fatal("Invalid value for thread-stack-size: 0.\n")
	}
	s.Debug, s.Validate, s.DriverDebug = o.flag("debug"), o.flag("validate"), o.flag("db-debug")
	if _, fault := distributionOf(o, s.Version); fault != nil {
		if _, ok := fault.(*invalidError); ok {
			return &stop{err: fault.Error() + "\n"}
		}
		return fatal("%s", fault)
	}
	seed := o.integer("rand-seed", &err)
	s.Seed, s.SeedGiven = uint64(uint32(seed)), seed != 0
	s.Rate = old("rate", "tx-rate", 0)
	s.Interval = time.Duration(max(o.integer("report-interval", &err), 0)) * time.Second
	if err != nil {
		return &stop{err: err.Error() + "\n"}
	}
	if stop := s.checkpoints(); stop != nil {
		return stop
	}
	return s.log()
}

// sizeForm matches a size in bytes above 0.
var sizeForm = lazyregexp.New(`^0*[1-9][0-9]*[kKmMgGtTpP]?$`)

// forced reads --forced-shutdown.
func (s *Settings) forced() *stop {
	text := s.options.text("forced-shutdown")
	if s.Time == 0 || strings.EqualFold(text, "off") {
		return nil
	}
	s.Forced = true
	if text == "" {
		s.ForcedAfter = (s.Time / 20).Truncate(time.Second)
		return nil
	}
	number, percent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 {
		return fatal("Invalid value for --forced-shutdown: '%s'", text)
	}
	s.ForcedAfter = time.Duration(n) * time.Second
	if percent {
		s.ForcedAfter = (s.Time * time.Duration(n) / 100).Truncate(time.Second)
	}
	return nil
}

// mostCheckpoints is the number of --report-checkpoints.
const mostCheckpoints = 256

func (s *Settings) checkpoints() *stop {
	for _, text := range s.options.list("report-checkpoints") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > math.MaxInt32 {
			return fatal("Invalid value for --report-checkpoints: '%s'", text)
		}
		s.Checkpoints = append(s.Checkpoints, time.Duration(n)*time.Second)
	}
	if len(s.Checkpoints) > mostCheckpoints {
		return fatal("Too many checkpoints in --report-checkpoints (up to %d can be defined)", mostCheckpoints)
	}
	slices.Sort(s.Checkpoints)
	return nil
}

// log reads the options of the report.
func (s *Settings) log() error {
	o := s.options
	var err error
	s.Verbosity, s.Percentile = o.integer("verbosity", &err), o.integer("percentile", &err)
	s.Histogram = o.flag("histogram")
	if s.Debug {
		s.Verbosity = debugLevel
	}
	switch {
	case err != nil:
		return &stop{err: err.Error() + "\n"}
	case s.Verbosity > debugLevel:
		return &stop{out: fmt.Sprintf("Invalid value for verbosity: %d\n", s.Verbosity)}
	case s.Percentile < 0 || s.Percentile > 100:
		return fatal("Invalid value for --percentile: %d", s.Percentile)
	case s.Percentile == 0 && s.Histogram:
		return fatal("--histogram cannot be used with --percentile=0")
	}
	return nil
}

// forTest takes the test, its options and the command.
func (s *Settings) forTest(name string, rest []string, greeting string) error {
	out := ""
	if s.Verbosity >= noticeLevel {
		out = greeting
	}
	out = s.warnings() + out
	if name == "" || name == "-" {
		return &stop{out: out, err: "name a test: " + strings.Join(names(), ", ") +
			"; scripts from standard input aren't run\n"}
	}
	t, ok := testNamed(name)
	if !ok {
		return &stop{out: out, err: refusal(name)}
	}
	s.test = t
	if s.Command == "" {
		return &stop{out: out + "FATAL: Command is required. Supported commands: " +
			strings.Join(s.commands(), ", ") + "\n"}
	}
	inFile := s.options.values
	before := map[string][]string{}
	for _, d := range t.declared(s.Version) {
		before[d.name] = inFile[d.name]
	}
	s.configPlaces = maps.Clone(s.options.places)
	s.options.register(t.declared(s.Version))
	for _, a := range rest {
		text := strings.TrimPrefix(a, "--")
		// bulk_insert declares nothing, and sysbench takes everything for such tests.
		if !t.isBulk() && !s.options.take(text) {
			return &stop{out: out, err: "invalid option: " + a + "\n"}
		}
		s.note(text)
	}
	for name, values := range before {
		if len(values) > 0 && !slices.Contains(s.given, name) {
			s.unknownConfig = append(s.unknownConfig, name)
		}
	}
	slices.Sort(s.unknownConfig)
	if !slices.Contains(s.commands(), s.Command) && !(s.Version == Version11 && s.Command == "prewarm") {
		return &stop{out: out, err: "Unknown command: " + s.Command + "\n"}
	}
	if s.Command == "help" {
		return s.help(out)
	}
	if err := s.refused(); err != nil {
		return &stop{out: out, err: err.Error() + "\n"}
	}
	return nil
}

// warnings returns the lines about deprecated options, which precede the greeting.
func (s *Settings) warnings() (text string) {
	for _, w := range s.deprecations {
		text += "WARNING: " + w + "\n"
	}
	return text
}

// commands are the commands of the test.
func (s *Settings) commands() []string {
	if s.test.isBulk() {
		return []string{"prepare", "run", "cleanup", "help"}
	}
	if s.Version == Version11 {
		return []string{"prepare", "warmup", "run", "cleanup", "help"}
	}
	return []string{"prepare", "prewarm", "run", "cleanup", "help"}
}

// help lists the test's options.
func (s *Settings) help(out string) error {
	if s.test.isBulk() {
		return &stop{out: out, err: "'bulk_insert' test does not implement the 'help' command.\n"}
	}
	var b strings.Builder
	b.WriteString(out + s.test.name + " options:\n")
	writeOptions(&b, s.test.declared(s.Version))
	return &stop{out: b.String(), ok: true}
}

// refusal says why a test isn't run.
func refusal(name string) string {
	if why, ok := otherTests[name]; ok {
		return fmt.Sprintf("the test %s isn't run: %s; brunt runs %s\n", name, why, strings.Join(names(), ", "))
	}
	if strings.HasSuffix(name, ".lua") || strings.Contains(name, "/") {
		return fmt.Sprintf("the script %s isn't run: brunt runs sysbench's own tests (%s) and no scripts; "+
			"write the script's statements into a plan instead (see docs/plan.md)\n", name, strings.Join(names(), ", "))
	}
	return fmt.Sprintf("FATAL: Cannot find benchmark '%s': no such built-in test, file or module; there are %s\n", name,
		strings.Join(names(), ", "))
}

// refused returns an error for options that can't be kept.
func (s *Settings) refused() error {
	o := s.options
	for name, why := range map[string]string{
		"mysql-dry-run":     "brunt reports what it has sent",
		"mysql-compression": "brunt's connections aren't compressed",
		"mysql-debug":       "there is no client library whose calls could be traced; --trace N writes down the first requests",
	} {
		if o.flag(name) {
			return fmt.Errorf("--%s isn't supported: %s", name, why)
		}
	}
	if o.text("mysql-ssl-cipher") != "" {
		return fmt.Errorf("--mysql-ssl-cipher isn't supported: Go's TLS chooses the cipher; leave it out")
	}
	if driver := o.text("db-driver"); driver != mysqlDriver && driver != pgsqlDriver {
		return fmt.Errorf("FATAL: invalid database driver name: '%s'", driver)
	}
	if mode := o.text("db-ps-mode"); mode != "auto" && mode != "disable" {
		return fmt.Errorf("FATAL: Invalid value for db-ps-mode: %s", mode)
	}
	_, err := s.table()
	return err
}

// The drivers.
const (
	mysqlDriver = "mysql"
	pgsqlDriver = "pgsql"
)

// mysql reports whether the driver is mysql.
func (s *Settings) mysql() bool { return s.options.text("db-driver") == mysqlDriver }

// usage returns the list of all options.
func usage(version string) string {
	var b strings.Builder
	b.WriteString("Usage:\n  sysbench [options]... [testname] [command]\n\n" +
		"Commands implemented by most tests: prepare run cleanup help\n\nGeneral options:\n")
	writeOptions(&b, generalOptions(version))
	b.WriteString("Pseudo-Random Numbers Generator options:\n")
	writeOptions(&b, randOptions(version))
	b.WriteString("Log options:\n")
	writeOptions(&b, logOptions()[:1])
	writeOptions(&b, logOptions()[1:])
	b.WriteString("General database options:\n\n")
	writeOptions(&b, databaseOptions())
	b.WriteString("\nCompiled-in database drivers:\n  mysql - MySQL driver\n  pgsql - PostgreSQL driver\n\nmysql options:\n")
	writeOptions(&b, mysqlOptions(version))
	b.WriteString("pgsql options:\n")
	writeOptions(&b, pgsqlOptions(version))
	b.WriteString("Compiled-in tests:\n")
	for _, name := range names() {
		b.WriteString("  " + name + "\n")
	}
	b.WriteString("\nSee 'sysbench <testname> help' for a list of options for each test.\n\n")
	return b.String()
}
