// Package wrk is the command line, the scripts and the reports of wrk (github.com/wg/wrk, 4.2.0) and of wrk2
// (github.com/giltene/wrk2), which sends at a rate.
package wrk

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"brunt/internal/base/secret"
	"brunt/internal/dialect/command"
	"brunt/internal/dialect/endpoints"
	"brunt/internal/dialect/httpload"
	"brunt/internal/plan/script"
)

// Options are the options of a command line.
type Options struct {
	Program     string // "wrk" or "wrk2"
	Threads     int
	Connections int // rounded down to a multiple of Threads, as wrk does
	Asked       int // connections as given
	Duration    time.Duration
	Timeout     time.Duration
	Script      string // the file's name
	Text        string // its content
	Headers     [][2]string
	Latency     bool // print the latency distribution
	Version     bool
	URL         string // as given
	Args        []string
	Rate        float64 // wrk2: requests a second
	Uncorrected bool    // wrk2: latencies without waiting, too
	Batch       bool    // wrk2: latencies of batches

	target *url.URL
}

// ErrUsage means that the command line is wrong, or asks for help: the usage is printed.
var ErrUsage = errors.New("usage")

var longOptions = []httpload.Long{
	{Name: "connections", Value: true, Short: 'c'}, {Name: "duration", Value: true, Short: 'd'},
	{Name: "threads", Value: true, Short: 't'}, {Name: "script", Value: true, Short: 's'},
	{Name: "header", Value: true, Short: 'H'}, {Name: "latency", Short: 'L'},
	{Name: "timeout", Value: true, Short: 'T'}, {Name: "help", Short: 'h'}, {Name: "version", Short: 'v'},
}

var longOptions2 = append([]httpload.Long{
	{Name: "rate", Value: true, Short: 'R'}, {Name: "u_latency", Short: 'U'}, {Name: "batch_latency", Short: 'B'},
}, longOptions...)

// Parse parses a command line without the program's name. Errors are one line each; they wrap ErrUsage if the usage
// follows them.
func Parse(program string, args []string) (*Options, error) {
	o := &Options{Program: program, Threads: 2, Connections: 10, Duration: 10 * time.Second, Timeout: 2 * time.Second}
	letters, long := "t:c:d:s:H:T:Lrv?", longOptions
	if program == "wrk2" {
		letters, long = "t:c:d:s:H:T:R:LUBrv?", longOptions2
	}
	options, rest, err := httpload.Getopt(args, letters, long)
	if err != nil {
		return nil, fmt.Errorf("%s: %w%w", program, err, silent{})
	}
	for _, given := range options {
		if err := o.set(given); err != nil {
			return nil, err
		}
	}
	if len(rest) == 0 {
		return o, ErrUsage
	}
	o.URL, o.Args = rest[0], rest
	return o, o.check()
}

// silent makes an error one that the usage follows.
type silent struct{}

func (silent) Error() string   { return "" }
func (silent) Is(e error) bool { return e == ErrUsage }

func (o *Options) set(given httpload.Option) (err error) {
	var n uint64
	switch given.Letter {
	case 't':
		n, err = metricUnits.scan(given.Value)
		o.Threads = int(min(n, 1<<30))
	case 'c':
		n, err = metricUnits.scan(given.Value)
		o.Connections = int(min(n, 1<<30))
	case 'd':
		o.Duration, err = scanTime(given.Value)
	case 'T':
		o.Timeout, err = scanTime(given.Value)
	case 's':
		o.Script = given.Value
	case 'H':
		name, value, ok := strings.Cut(given.Value, ": ")
		if !ok {
			return fmt.Errorf("%s: -H: write \"Name: value\", with a blank after the colon%w", o.Program, silent{})
		}
		if err := endpoints.ValidHeader(name, value); err != nil {
			return fmt.Errorf("%s: -H: %w%w", o.Program, err, silent{})
		}
		o.Headers = append(o.Headers, [2]string{name, value})
	case 'L':
		o.Latency = true
	case 'U':
		o.Latency, o.Uncorrected = true, true
	case 'B':
		o.Batch = true
	case 'R':
		n, err = metricUnits.scan(given.Value)
		o.Rate = float64(n)
	case 'v':
		o.Version = true
	case 'r':
	default:
		return ErrUsage
	}
	if err != nil {
		return fmt.Errorf("%s: -%c %s: %w%w", o.Program, given.Letter, given.Value, err, silent{})
	}
	return nil
}

func (o *Options) check() error {
	if o.Threads == 0 || o.Duration == 0 {
		return ErrUsage
	}
	u, err := url.Parse(o.URL)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("invalid URL: %s%w", secret.Address(o.URL), silent{})
	}
	if u, err = endpoints.ParseURL(o.URL); err != nil {
		return fmt.Errorf("invalid URL: %w%w", err, silent{})
	}
	o.target = u
	if o.Connections < o.Threads {
		return fmt.Errorf("number of connections must be >= threads%w", silent{})
	}
	if o.Program == "wrk2" && o.Rate == 0 {
		//lint:ignore ST1005 wrk2's words
		return fmt.Errorf("Throughput MUST be specified with the --rate or -R option%w", silent{})
	}
	if o.Timeout == 0 {
		return fmt.Errorf("%s: -T 0: give a time above zero%w", o.Program, silent{})
	}
	o.Asked = o.Connections
	o.Connections -= o.Connections % o.Threads
	if o.Script == "" {
		return nil
	}
	text, err := command.ReadFile(o.Script)
	if err != nil {
		return fmt.Errorf("cannot open %s: %w", o.Script, errors.Unwrap(err))
	}
	o.Text = string(text)
	return nil
}

// seconds is a duration as wrk prints that of a load.
func seconds(d time.Duration) string { return timeUnitsS.format(float64(d/time.Second), 0) }

// scriptOptions are the options of the language for a plan, and the script, whose secrets are options of their own.
func (o *Options) scriptOptions() (options map[string]string, text string) {
	options = map[string]string{"threads": strconv.Itoa(o.Threads), "file": o.Script}
	v := script.NewVeil(options)
	options["url"] = v.Text(o.URL)
	for i, h := range o.Headers {
		options[fmt.Sprintf("header%d", i+1)] = h[0] + ": " + v.Value(h[0], h[1])
	}
	for i, a := range o.Args[1:] {
		options[fmt.Sprintf("arg%d", i+1)] = v.Text(a)
	}
	text = v.Text(o.Text)
	v.Close()
	return options, text
}
