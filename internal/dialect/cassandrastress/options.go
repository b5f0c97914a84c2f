// Package cassandrastress implements the command line, the profiles and the lines of cassandra-stress. They follow its
// sources (tools/stress of github.com/apache/cassandra, version 5.0), since the tool itself isn't in any registry that
// the tests can reach.
package cassandrastress

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options are the options of a command line of cassandra-stress.
type Options struct {
	Command string // "write", "read", "mixed", "counter_write", "counter_read" or "user"

	Count       int64 // n=: partitions; 0 means none given
	Duration    time.Duration
	SchemaOnly  bool         // n=0: keyspace and table are made, and nothing is sent
	Until       *Uncertainty // err<; nil: n= or duration= end the load
	Consistency string
	NoWarmUp    bool
	Truncate    string // "never", "once" or "always"
	ProfilePath string
	Ops         []Share       // user: ops(…); mixed: ratio(…)
	Clustering  *Distribution // how many operations of one kind follow each other

	Nodes    []string
	Port     int
	User     string
	Password string
	// Compression of requests and answers: "" or one of compressions.
	Compression string
	Unprepared  bool    // statements of the predefined tables are sent as text
	Threads     int     // of threads=; 0: from MinThreads to MaxThreads
	MinThread   int     // threads>=
	MaxThread   int     // threads<=
	Auto        bool    // stop once more threads bring nothing
	Rate        float64 // partitions a second; 0: as fast as the threads can
	Fixed       bool    // times count from when they were due

	Population string // "seq=1..N" or "dist=…"
	NoWrap     bool   // end once the sequence is written
	Lookback   string // how far before the last partition that is written reads go
	Contents   string // order of a partition's rows: "", "sorted" or "shuffled"
	Columns    int
	ColumnSize string
	Names      []string
	Partitions string
	Select     string
	Filled     string // share of the columns that have values
	Visits     string // inserts of a partition
	Revisit    string // which of the partitions that are not complete an insert goes on with
	BatchType  string
	Keyspace   string
	Factor     int
	Strategy   string
	Compaction string

	WrapRanges  bool   // ranges of tokens are begun again
	SplitRanges int64  // into how many parts a range of tokens is split
	tokens      string // of the server's nodes

	limit int64 // partitions of a sequence that isn't begun again; 0: there is none

	Interval     time.Duration // between lines
	NoSummary    bool
	LogFile      string // also gets what is printed
	HDRFile      string // gets a HdrHistogram log
	GraphFile    string // gets a page about the run
	Tries        int
	IgnoreErrors bool
}

// Uncertainty ends a load once the rate of rows is certain: its relative standard error, over intervals, is below
// Below. The load has at least Least intervals, and at most Most.
type Uncertainty struct {
	Below       float64
	Least, Most int
}

// Share is how often an operation is chosen compared with others.
type Share struct {
	Name   string
	Weight float64
}

// commands are the commands that send a load.
var commands = []string{"write", "read", "mixed", "counter_write", "counter_read", "user"}

var (
	durationForm = regexp.MustCompile(`^([0-9]+)([smhSMH])$`)
	rateForm     = regexp.MustCompile(`^([0-9]+)/s$`)
	sharesForm   = regexp.MustCompile(`^[a-z-]*\((.*)\)$`)
	intervalForm = regexp.MustCompile(`^([0-9]+)(ms|s)?$`)
	keyspaceForm = regexp.MustCompile(`^\w{1,48}$`)
	errorForm    = regexp.MustCompile(`^<0\.[0-9]+$`)
)

// Parse parses a command line without the program's name. Errors name the option.
func Parse(args []string) (*Options, error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("name a command: %s", strings.Join(commands, ", "))
	}
	o := &Options{Command: strings.ToLower(args[0]), Consistency: "local_one", Truncate: "never", Port: 9042,
		Columns: 5, ColumnSize: "FIXED(34)", Keyspace: "keyspace1", Factor: 1, Strategy: "SimpleStrategy",
		Interval: time.Second, Tries: 10, SplitRanges: 1}
	if !slices.Contains(commands, o.Command) {
		return nil, fmt.Errorf("command %q isn't supported: use %s", args[0], strings.Join(commands, ", "))
	}
	for group, rest := "", args[1:]; ; {
		end := slices.IndexFunc(rest, func(a string) bool { return strings.HasPrefix(a, "-") && len(a) > 1 })
		if end < 0 {
			end = len(rest)
		}
		if err := o.group(group, joined(rest[:end])); err != nil {
			return nil, err
		}
		if end == len(rest) {
			return o, o.complete()
		}
		group, rest = rest[end], rest[end+1:]
	}
}

// joined joins arguments that belong together because a parenthesis is open: ops(insert=1, read=2).
func joined(args []string) (out []string) {
	open := 0
	for _, a := range args {
		if open > 0 {
			out[len(out)-1] += a
		} else {
			out = append(out, a)
		}
		open += strings.Count(a, "(") - strings.Count(a, ")")
	}
	return out
}

// refusedGroups are groups of options that brunt doesn't have, with the reason.
var refusedGroups = map[string]string{
	"-sendto":    "brunt needs no daemon: --workers spreads the load",
	"-transport": "certificates are given by --tls, --tls-ca, --tls-cert and --tls-key",
	"-reporting": "use -log interval=",
	"-jmx":       "the server's garbage collection isn't asked for; see --watch",
}

// group applies the options of a group, such as -rate; "" are those of the command.
func (o *Options) group(name string, args []string) error {
	do := map[string]func(key, value string) error{"": o.ofCommand, "-rate": o.ofRate, "-node": o.ofNode,
		"-port": o.ofPort, "-mode": o.ofMode, "-pop": o.ofPopulation, "-col": o.ofColumns, "-insert": o.ofInsert,
		"-schema": o.ofSchema, "-log": o.ofLog, "-errors": o.ofErrors, "-graph": o.ofGraph,
		"-tokenrange": o.ofTokenRange}[name]
	if do == nil {
		if why, ok := refusedGroups[name]; ok {
			return fmt.Errorf("%s isn't supported: %s", name, why)
		}
		return fmt.Errorf("unknown option %s", name)
	}
	for _, a := range args {
		key, value := a, ""
		if i := strings.IndexAny(a, "=<>("); i >= 0 {
			key, value = a[:i], a[i:]
			if value[0] == '=' {
				value = value[1:]
			}
		}
		err := alone(name, strings.ToLower(key), key != a)
		if name == "-node" && key != a && value == "" {
			err = errUnknown // not a node, such as n= of the command
		}
		if err == nil {
			err = do(strings.ToLower(key), value)
		}
		switch {
		case err == nil:
		case name == "":
			return fmt.Errorf("%s: %w", a, err)
		default:
			return fmt.Errorf("%s %s: %w", name, a, err)
		}
	}
	return nil
}

var errUnknown = errors.New("there is no such option")

// words are options without a value, by group.
var words = map[string][]string{"": {"no-warmup"}, "-rate": {"auto"}, "-pop": {"no-wrap"},
	"-mode":   {"native", "cql3", "prepared", "unprepared"},
	"-log":    {"no-summary", "no-settings", "no-progress"},
	"-errors": {"ignore", "skip-read-validation"}, "-tokenrange": {"wrap"}}

// alone checks that an option has no value if it takes none.
func alone(group, key string, valued bool) error {
	if valued && slices.Contains(words[group], key) {
		return errors.New("it takes no value")
	}
	return nil
}

// levels are the levels of consistency.
var levels = []string{"any", "one", "two", "three", "quorum", "all", "local_quorum", "each_quorum", "serial",
	"local_serial", "local_one"}

// ofUncertainty reads err<, n> and n<.
func (o *Options) ofUncertainty(key, value string) (err error) {
	if o.Until == nil {
		o.Until = &Uncertainty{Below: 0.02, Least: 30, Most: 200}
	}
	if key == "err" {
		if !errorForm.MatchString(value) {
			return errors.New("give a share below 1, such as err<0.02")
		}
		o.Until.Below, err = strconv.ParseFloat(value[1:], 64)
		return err
	}
	n, err := strconv.ParseInt(value[1:], 10, 32)
	if err != nil || n < 1 || n > 1_000_000 {
		return errors.New("give a number of intervals")
	}
	if value[0] == '>' {
		o.Until.Least = int(n)
	} else {
		o.Until.Most = int(n)
	}
	return nil
}

// ofDuration reads duration=.
func (o *Options) ofDuration(value string) error {
	m := durationForm.FindStringSubmatch(value)
	if m == nil {
		return errors.New("give seconds, minutes or hours, such as 30s, 10m or 1h")
	}
	unit := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[strings.ToLower(m[2])]
	n, err := strconv.ParseInt(m[1], 10, 64)
	switch {
	case err != nil || n > int64(longest/unit):
		return errors.New("it is longer than a year")
	case n == 0:
		return errors.New("give a time above 0")
	}
	o.Duration = time.Duration(n) * unit
	return nil
}

// longest is the longest load.
const longest = 365 * 24 * time.Hour

func (o *Options) ofCommand(key, value string) (err error) {
	switch key {
	case "n":
		if strings.HasPrefix(value, ">") || strings.HasPrefix(value, "<") {
			return o.ofUncertainty(key, value)
		}
		o.Count, err = ParseNumber(value)
		o.SchemaOnly = err == nil && o.Count == 0
	case "duration":
		return o.ofDuration(value)
	case "cl":
		if o.Consistency = strings.ToLower(value); !slices.Contains(levels, o.Consistency) {
			return fmt.Errorf("use %s", strings.ToUpper(strings.Join(levels, ", ")))
		}
	case "no-warmup":
		o.NoWarmUp = true
	case "truncate":
		if o.Truncate = strings.ToLower(value); o.Truncate != "never" && o.Truncate != "once" && o.Truncate != "always" {
			return errors.New("use never, once or always")
		}
	case "profile":
		return given(&o.ProfilePath, strings.TrimPrefix(value, "file://"), "the name of a file")
	case "ops", "ratio":
		o.Ops, err = shares(key + value)
	case "clustering":
		if o.Clustering, err = ParseDistribution(value); err == nil && o.Clustering.Min < 1 {
			return errors.New("at least one operation of a kind follows another")
		}
	case "err":
		return o.ofUncertainty(key, value)
	case "add", "keysize", "serial-cl":
		return errors.New("it isn't supported")
	default:
		return errUnknown
	}
	return err
}

// shares parses name(a=1,b=2).
func shares(text string) (out []Share, err error) {
	m := sharesForm.FindStringSubmatch(text)
	if m == nil {
		return nil, errors.New("write for example (insert=1,read=2)")
	}
	for _, one := range strings.Split(m[1], ",") {
		name, weight, ok := strings.Cut(strings.TrimSpace(one), "=")
		n, err := strconv.ParseFloat(weight, 64)
		if !ok || err != nil || !(n > 0) || n > 1e9 {
			return nil, fmt.Errorf("%q isn't a name, = and a number above 0", one)
		}
		out = append(out, Share{strings.ToLower(name), n})
	}
	return out, nil
}

func (o *Options) ofRate(key, value string) (err error) {
	count := func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 1_000_000 {
			return 0, errors.New("give a number of threads")
		}
		return n, nil
	}
	switch key {
	case "threads":
		switch {
		case strings.HasPrefix(value, ">="):
			o.MinThread, err = count(value[2:])
		case strings.HasPrefix(value, "<="):
			o.MaxThread, err = count(value[2:])
		default:
			o.Threads, err = count(value)
		}
	case "throttle", "limit", "fixed":
		m := rateForm.FindStringSubmatch(value)
		if m == nil {
			return errors.New("give operations a second, such as 1000/s")
		}
		o.Rate, _ = strconv.ParseFloat(m[1], 64)
		o.Fixed = key == "fixed"
	case "auto":
		o.Auto = true
	default:
		return errUnknown
	}
	return err
}

func (o *Options) ofNode(key, value string) error {
	switch key {
	case "whitelist":
	case "datacenter", "file":
		return errors.New("it isn't supported; name the nodes, separated by commas")
	default:
		if value != "" {
			return errUnknown
		}
		for _, name := range strings.Split(key, ",") {
			if strings.TrimSpace(name) == "" {
				return errors.New("name a node")
			}
			o.Nodes = append(o.Nodes, strings.TrimSpace(name))
		}
	}
	return nil
}

func (o *Options) ofPort(key, value string) (err error) {
	switch key {
	case "native":
		o.Port, err = port(value)
	case "jmx", "thrift":
		_, err = port(value) // not used
	default:
		return errUnknown
	}
	return err
}

func port(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 65535 {
		return 0, errors.New("give a port, from 1 to 65535")
	}
	return n, nil
}

// compressions are how requests and answers can be compressed.
var compressions = []string{"none", "lz4", "snappy"}

func (o *Options) ofMode(key, value string) error {
	switch key {
	case "native", "cql3", "prepared":
	case "connectionsperhost", "maxpending":
		if n, err := strconv.Atoi(value); err != nil || n < 1 {
			return errors.New("give a number; it has no effect, as each thread has a connection")
		}
	case "protocolversion":
		if n, err := strconv.Atoi(value); !strings.EqualFold(value, "NEWEST_SUPPORTED") && (err != nil || n < 3 || n > 5) {
			return errors.New("give 3, 4 or 5; it has no effect, as the newest version that the server speaks is used")
		}
	case "port":
		return o.ofPort("native", value)
	case "user":
		return given(&o.User, value, "a value")
	case "password":
		return given(&o.Password, value, "a value")
	case "auth-provider":
		if name := value[strings.LastIndexByte(value, '.')+1:]; name != "PlainTextAuthProvider" {
			return errors.New("it isn't supported; PlainTextAuthProvider is, with user= and password=")
		}
	case "compression":
		if o.Compression = strings.ToLower(value); !slices.Contains(compressions, o.Compression) {
			return errors.New("use none, lz4 or snappy")
		}
	case "unprepared":
		o.Unprepared = true
	case "thrift", "simplenative":
		return errors.New("it isn't supported; requests are sent by the native protocol")
	default:
		return errUnknown
	}
	return nil
}

func (o *Options) ofPopulation(key, value string) error {
	switch key {
	case "seq":
		if _, err := ParseDistribution("SEQ(" + value + ")"); err != nil {
			return err
		}
		o.Population = "seq=" + value
	case "dist":
		if _, err := ParseDistribution(value); err != nil {
			return err
		}
		o.Population = "dist=" + value
	case "no-wrap":
		o.NoWrap = true
	case "read-lookback":
		_, err := ParseDistribution(value)
		o.Lookback = value
		return err
	case "contents":
		if o.Contents = strings.ToLower(value); o.Contents != "sorted" && o.Contents != "shuffled" {
			return errors.New("use sorted or shuffled")
		}
	default:
		return errUnknown
	}
	return nil
}

func (o *Options) ofColumns(key, value string) error {
	switch key {
	case "n":
		d, err := ParseDistribution(value)
		if n, plain := ParseNumber(value); err != nil && plain == nil {
			d, err = &Distribution{Min: n, Max: n}, nil
		}
		if err != nil {
			return err
		}
		if !d.Fixed() || d.Min < 1 || d.Min > 1000 {
			return errors.New("give a fixed number of columns, such as FIXED(5)")
		}
		o.Columns = int(d.Min)
	case "size":
		_, err := ParseDistribution(value)
		o.ColumnSize = value
		return err
	case "names":
		o.Names = strings.Split(value, ",")
	case "slice", "super", "comparator", "timestamp":
		return errors.New("it isn't supported")
	default:
		return errUnknown
	}
	return nil
}

func (o *Options) ofInsert(key, value string) (err error) {
	switch key {
	case "partitions":
		_, err = parsePartitions(value)
		o.Partitions = value
	case "select-ratio":
		_, err = ParseRatio(value)
		o.Select = value
	case "batchtype":
		if o.BatchType = strings.ToUpper(value); !slices.Contains(batchTypes, o.BatchType) {
			return errors.New("use logged, unlogged or counter")
		}
	case "row-population-ratio":
		_, err = ParseRatio(value)
		o.Filled = value
	case "visits":
		o.Visits = value
		if d, err := ParseDistribution(value); err != nil || d.Min < 1 {
			return cmp.Or(err, errors.New("a partition has at least one insert"))
		}
	case "revisit":
		o.Revisit = value
		if d, err := ParseDistribution(value); err != nil || d.Max-d.Min >= math.MaxInt32 {
			return cmp.Or(err, errors.New("at most 2147483647 partitions are written at a time"))
		}
	default:
		return errUnknown
	}
	return err
}

func (o *Options) ofSchema(key, value string) error {
	switch key {
	case "keyspace":
		if o.Keyspace = value; !keyspaceForm.MatchString(value) {
			return errors.New("give a name of at most 48 letters, digits and underscores")
		}
	case "replication":
		list, err := settings(value)
		if err != nil {
			return err
		}
		for name, v := range list {
			switch name {
			case "factor", "replication_factor":
				n, err := strconv.Atoi(v)
				if err != nil || n < 1 || n > 100 {
					return errors.New("factor isn't a number of replicas")
				}
				o.Factor = n
			case "strategy":
				o.Strategy = v
			default:
				return fmt.Errorf("%q isn't supported: factor and strategy are", name)
			}
		}
	case "compaction":
		list, err := settings(value)
		o.Compaction = list["strategy"]
		return err
	case "compression":
		return errors.New("it isn't supported; write the table's definition into a profile")
	default:
		return errUnknown
	}
	return nil
}

// settings parses (a=1,b=2).
func settings(text string) (map[string]string, error) {
	m := sharesForm.FindStringSubmatch(text)
	if m == nil {
		return nil, errors.New("write for example (factor=3)")
	}
	out := map[string]string{}
	for _, one := range strings.Split(m[1], ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(one), "=")
		if !ok {
			return nil, fmt.Errorf("%q has no =", one)
		}
		out[strings.ToLower(name)] = value
	}
	return out, nil
}

// given sets an option to a value, which may not be empty. what is what to give.
func given(to *string, value, what string) error {
	if value == "" {
		return errors.New("give " + what)
	}
	*to = value
	return nil
}

func (o *Options) ofLog(key, value string) error {
	switch key {
	case "interval":
		m := intervalForm.FindStringSubmatch(value)
		if m == nil {
			return errors.New("give seconds, or milliseconds such as 500ms")
		}
		n, err := strconv.ParseInt(m[1], 10, 32)
		o.Interval = time.Duration(n) * time.Second
		if m[2] == "ms" || m[2] == "" && n >= 100 {
			o.Interval = time.Duration(n) * time.Millisecond
		}
		if err != nil || o.Interval < 10*time.Millisecond || o.Interval > time.Hour {
			return errors.New("give from 10ms to an hour")
		}
	case "level", "no-settings", "no-progress":
	case "no-summary":
		o.NoSummary = true
	case "file":
		return given(&o.LogFile, value, "the name of a file")
	case "hdrfile":
		return given(&o.HDRFile, value, "the name of a file")
	default:
		return errUnknown
	}
	return nil
}

func (o *Options) ofGraph(key, value string) error {
	switch key {
	case "file":
		return given(&o.GraphFile, value, "a value")
	case "revision", "title", "op":
		return given(new(string), value, "a value") // taken without effect
	}
	return errUnknown
}

func (o *Options) ofErrors(key, value string) error {
	switch key {
	case "ignore":
		o.IgnoreErrors = true
	case "retries":
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || n > 1000 {
			return errors.New("give a number of retries")
		}
		o.Tries = n + 1
	case "skip-read-validation":
	default:
		return errUnknown
	}
	return nil
}

// complete sets what follows from other options, and checks what they say about each other.
func (o *Options) complete() error {
	if err := o.sequence(); err != nil {
		return err
	}
	if err := o.ends(); err != nil {
		return err
	}
	if o.SchemaOnly {
		o.Count = 1 // for the plan, which is not sent
	}
	switch {
	case o.Command == "user" && o.ProfilePath == "":
		return errors.New("user needs profile=FILE and ops(NAME=SHARE,…)")
	case o.Command == "user" && len(o.Ops) == 0:
		return errors.New("user needs ops(NAME=SHARE,…), such as 'ops(insert=1)' or, with queries of the profile, " +
			"'ops(insert=1,QUERY=3)'")
	case o.Command != "user" && o.ProfilePath != "":
		return errors.New("profile= is for the command user")
	case o.Threads > 0 && (o.MinThread > 0 || o.MaxThread > 0 || o.Auto):
		return errors.New("-rate: threads= excludes threads>=, threads<= and auto")
	case o.Rate > 0 && o.Threads == 0:
		return errors.New("-rate: throttle= and fixed= need threads=")
	}
	if o.Threads == 0 && o.MinThread == 0 && o.MaxThread == 0 && !o.Auto {
		if o.Auto = true; o.Count > 0 && (o.Command == "write" || o.Command == "counter_write") {
			o.Auto, o.Threads = false, 200
		}
	}
	if o.Threads == 0 {
		if o.MinThread == 0 {
			o.MinThread = 4
		}
		if o.MaxThread == 0 {
			o.MaxThread = 1000
		}
		if o.MinThread > o.MaxThread {
			return errors.New("-rate: threads>= is above threads<=")
		}
	}
	if len(o.Nodes) == 0 {
		o.Nodes = []string{"localhost"}
	}
	if len(o.Names) > 0 {
		o.Columns = len(o.Names)
	}
	if len(o.Ops) == 0 && o.Command == "mixed" {
		o.Ops = []Share{{"read", 1}, {"write", 1}}
	}
	o.populate()
	return nil
}

// ends checks what ends the load: n=, duration= or, without them, a certain rate.
func (o *Options) ends() error {
	numbered := o.Count > 0 || o.SchemaOnly
	switch {
	case numbered && o.Duration > 0:
		return errors.New("n= and duration= exclude each other")
	case o.Until != nil && (numbered || o.Duration > 0):
		return errors.New("err<, n> and n< exclude n=, duration= and no-wrap")
	case numbered || o.Duration > 0:
		return nil
	case o.Until == nil:
		o.Until = &Uncertainty{Below: 0.02, Least: 30, Most: 200}
	}
	if o.Until.Most < o.Until.Least {
		return fmt.Errorf("n<%d is below n>%d: at most, and at least so many intervals", o.Until.Most, o.Until.Least)
	}
	if o.Duration = time.Duration(o.Until.Most) * o.Interval; o.Duration > longest {
		return fmt.Errorf("n<%d intervals of -log interval= are longer than a year", o.Until.Most)
	}
	return nil
}

// sequence checks what -pop says, and ends the load at the end of a sequence that isn't begun again.
func (o *Options) sequence() error {
	bounds, ordered := strings.CutPrefix(o.Population, "seq=")
	switch {
	case !o.NoWrap && o.Lookback == "":
		return nil
	case !ordered:
		return errors.New("-pop: no-wrap and read-lookback= need seq=")
	}
	d, err := ParseDistribution("SEQ(" + bounds + ")")
	if err != nil {
		return err
	}
	if o.Lookback != "" {
		if o.NoWrap {
			return errors.New("-pop: no-wrap excludes read-lookback=: reads don't count; give n= or duration=")
		}
		back, err := ParseDistribution(o.Lookback)
		if err != nil || back.Max > d.Max-d.Min+1 {
			return cmp.Or(err, errors.New("-pop: read-lookback= goes back behind the start of seq="))
		}
		return nil
	}
	if visits, err := ParseDistribution(o.Visits); err == nil && visits.Max > 1 {
		return errors.New("-pop: no-wrap excludes -insert visits= above 1; give n= or duration=")
	}
	if o.limit = d.Max - d.Min + 1; o.Count == 0 && o.Duration == 0 || o.Count > o.limit {
		o.Count = o.limit
	}
	return nil
}

// populate sets the usual population: the numbers from 1 to n, in order for commands that only write.
func (o *Options) populate() {
	if o.Population != "" {
		return
	}
	limit := o.Count
	if limit == 0 {
		limit = 1_000_000
	}
	ordered := o.Command == "write" || o.Command == "counter_write" ||
		o.Command == "user" && len(o.Ops) == 1 && o.Ops[0].Name == "insert"
	if o.Population = fmt.Sprintf("dist=GAUSSIAN(1..%d)", limit); ordered {
		o.Population = fmt.Sprintf("seq=1..%d", limit)
	}
}
