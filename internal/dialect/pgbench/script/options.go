package script

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The modes of sending statements (-M).
const (
	Simple   = "simple"
	Extended = "extended"
	Prepared = "prepared"
)

// Options are the options of pgbench that scripts depend on.
type Options struct {
	Version      int               // 15 to 18; 0: 18
	Mode         string            // Simple, Extended or Prepared; "": Simple
	Variables    map[string]string // -D; they replace the variables that pgbench sets itself
	Scale        int64             // the variable scale; 0: 1
	RandomSeed   uint64            // --random-seed
	Clients      int               // -c; 0: the sessions of the load
	Threads      int               // -j; 0: 1. It decides which clients choose their scripts from one stream.
	Transactions uint64            // -t: a session quits after as many; 0: no limit
	MaxTries     uint32            // --max-tries, for messages only; 0: no limit
	Verbose      bool              // --verbose-errors: failures that may be repeated are said too
	// Host does what scripts ask of the program around them. It isn't part of a plan.
	Host *Host
}

// Host does what scripts ask of the program around them. Its functions are called by the session's goroutine or event
// loop, which waits for them; they may be called concurrently for several sessions.
type Host struct {
	// Shell runs a command of \shell or, with capture, \setshell, and returns its output. Without Shell, these commands
	// fail.
	Shell func(command string, capture bool) (output string, err error)
	// Debug is given the lines of the function debug.
	Debug func(line string)
	// Error is given what pgbench prints as errors.
	Error func(line string)
	// Timed is given how long a command took that isn't sent: a backslash command, or a statement that is collected in a
	// pipeline. Without it, nothing is timed.
	Timed func(client, script, command int, took time.Duration)
	// Info is given what pgbench prints with --verbose-errors.
	Info func(line string)
	// Notice is given what the server says besides its answers, as PostgreSQL's libraries print it.
	Notice func(text string)
	// Trace is given what pgbench prints with --debug; nil without it. Each says that each transaction has a connection of
	// its own, on which nothing is prepared.
	Trace func(line string)
	Each  bool
}

// Names of options in plans. A variable's option is its name after variablePrefix.
const (
	versionOption      = "version"
	modeOption         = "mode"
	scaleOption        = "scale"
	seedOption         = "random-seed"
	clientsOption      = "clients"
	threadsOption      = "threads"
	transactionsOption = "transactions"
	maxTriesOption     = "max-tries"
	verboseOption      = "verbose-errors"
	variablePrefix     = "define."
)

const newestVersion = 18

// Strings returns the options as a plan holds them. The Host is not among them.
func (o Options) Strings() map[string]string {
	o = o.complete()
	m := map[string]string{
		versionOption: strconv.Itoa(o.Version), modeOption: o.Mode, scaleOption: strconv.FormatInt(o.Scale, 10),
		seedOption: strconv.FormatUint(o.RandomSeed, 10),
	}
	optional := func(name string, n uint64) {
		if n != 0 {
			m[name] = strconv.FormatUint(n, 10)
		}
	}
	optional(clientsOption, uint64(o.Clients))
	optional(threadsOption, uint64(o.Threads))
	optional(transactionsOption, o.Transactions)
	optional(maxTriesOption, uint64(o.MaxTries))
	if o.Verbose {
		m[verboseOption] = "true"
	}
	for name, text := range o.Variables {
		m[variablePrefix+name] = text
	}
	return m
}

// complete returns the options with defaults for what isn't set.
func (o Options) complete() Options {
	if o.Version == 0 {
		o.Version = newestVersion
	}
	if o.Mode == "" {
		o.Mode = Simple
	}
	if o.Scale == 0 {
		o.Scale = 1
	}
	return o
}

// ParseOptions reads the options of a plan. The error names the option.
func ParseOptions(options map[string]string) (Options, error) {
	o := Options{}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if err := o.set(name, options[name]); err != nil {
			return Options{}, err
		}
	}
	o = o.complete()
	switch {
	case o.Version < 15 || o.Version > newestVersion:
		return Options{}, fmt.Errorf("option %s: %d is not a version from 15 to %d", versionOption, o.Version, newestVersion)
	case o.Mode != Simple && o.Mode != Extended && o.Mode != Prepared:
		return Options{}, fmt.Errorf("option %s: %q is not one of simple, extended, prepared", modeOption, o.Mode)
	}
	return o, o.check()
}

// check checks the names of variables.
func (o Options) check() error {
	for _, name := range slices.Sorted(maps.Keys(o.Variables)) {
		if !validName(name) {
			return fmt.Errorf("option: invalid variable name: %q", name)
		}
	}
	return nil
}

// set sets an option from its text in a plan.
func (o *Options) set(name, text string) (err error) {
	if variable, ok := strings.CutPrefix(name, variablePrefix); ok {
		if o.Variables == nil {
			o.Variables = map[string]string{}
		}
		o.Variables[variable] = text
		return nil
	}
	natural := func(limit uint64) (n uint64) {
		if n, err = strconv.ParseUint(text, 10, 64); err != nil || n > limit {
			err = fmt.Errorf("option %s: %q is not a whole number up to %d", name, text, limit)
		}
		return n
	}
	switch name {
	case versionOption:
		o.Version = int(natural(math.MaxInt32))
	case modeOption:
		o.Mode = text
	case scaleOption:
		o.Scale = int64(natural(math.MaxInt32))
	case seedOption:
		o.RandomSeed = natural(math.MaxUint64)
	case clientsOption:
		o.Clients = int(natural(math.MaxInt32))
	case threadsOption:
		o.Threads = int(natural(math.MaxInt32))
	case transactionsOption:
		o.Transactions = natural(math.MaxUint64)
	case maxTriesOption:
		o.MaxTries = uint32(natural(math.MaxUint32))
	case verboseOption:
		if o.Verbose, err = strconv.ParseBool(text); err != nil {
			err = fmt.Errorf("option %s: %q is neither true nor false", name, text)
		}
	default:
		err = fmt.Errorf("option %q is unknown to scripts of pgbench", name)
	}
	return err
}
