package slowcooker

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"brunt/internal/dialect/endpoints"
)

// ErrHelp means that the user asked for help.
var ErrHelp = flag.ErrHelp

// flags are the flags of the command line before they are checked.
type flags struct {
	set        *flag.FlagSet
	o          Options
	unit       string
	layout     string
	host       string
	data       string
	secretData string
	hashRate   float64
	help       bool
}

// newFlags declares the flags.
func newFlags() *flags {
	f := &flags{set: flag.NewFlagSet("cook", flag.ContinueOnError)}
	f.set.SetOutput(io.Discard)
	f.set.Usage = func() {}
	o, fs := &f.o, f.set
	fs.IntVar(&o.QPS, "qps", 1, "requests a second `n` of each session; the load is qps × concurrency")
	fs.IntVar(&o.Concurrency, "concurrency", 1, "sessions `n`")
	fs.Uint64Var(&o.Iterations, "iterations", 0, "end after `n` reports; 0 means never")
	fs.Uint64Var(&o.TotalRequests, "totalRequests", 0, "end after exactly `n` requests; 0 means never")
	fs.DurationVar(&o.Interval, "interval", 10*time.Second, "`time` between reports")
	fs.DurationVar(&o.Timeout, "timeout", 10*time.Second, "`time` for one request")
	fs.StringVar(&f.unit, "latencyUnit", "ms", "`unit` of latencies: ms, us or ns")
	fs.StringVar(&o.Method, "method", "GET", "HTTP `method`")
	fs.StringVar(&f.data, "data", "", "body: `text`, @file, or @- for standard input")
	fs.Func("header", "header field `\"Name: value\"` (repeatable)", o.addHeader)
	fs.StringVar(&f.host, "host", "", "Host header: `names`, comma-separated; the seed chooses one for each request")
	fs.BoolVar(&o.NoReuse, "noreuse", false, "a new connection for each request")
	fs.BoolVar(&o.Compress, "compress", false, "ask for gzip")
	fs.Uint64Var(&o.HashValue, "hashValue", 0, "FNV-1a 64 `hash` that answers' bodies must have")
	fs.Float64Var(&f.hashRate, "hashSampleRate", 0,
		"`share` of the answers whose hash is checked, 0 to 1 (one in every n)")
	fs.BoolVar(&o.NoSummary, "noLatencySummary", false, "no summary at the end")
	fs.StringVar(&o.CSV, "reportLatenciesCSV", "", "write latencies to `file` as from, to, count")
	fs.StringVar(&o.MetricAddr, "metric-addr", "", "serve /metrics for Prometheus at `host:port`")
	fs.BoolVar(&f.help, "help", false, "show this help")
	f.ours()
	return f
}

// ours declares the flags that slow_cooker doesn't have.
func (f *flags) ours() {
	o, fs := &f.o, f.set
	fs.StringVar(&f.layout, "layout", "1.2",
		"`release` whose lines are printed: 1.0, 1.2, or 1.2.0 (without the iteration)")
	fs.StringVar(&o.Summary, "summary", "", "at the end: `form` 1.0 (table), 1.2 (JSON), report (ours, with bars) or none")
	fs.BoolVar(&o.ServiceTime, "service-time", false, "latency from the actual send instead of the intended start")
	fs.BoolVar(&o.Compat, "compat", false, "slow_cooker's known faults too: see docs/cook.md")
	fs.BoolVar(&o.Insecure, "k", false, "don't verify certificates")
	fs.StringVar(&o.CAFile, "cacert", "", "authority's certificate, PEM `file`")
	fs.StringVar(&o.CertFile, "cert", "", "the client's certificate, PEM `file`")
	fs.StringVar(&o.KeyFile, "key", "", "the key of the client's certificate, PEM `file`")
	fs.BoolVar(&o.HTTP1, "http1", false, "HTTP/1.1 even where the server offers HTTP/2")
	fs.IntVar(&o.Redirects, "redirects", 0, "redirects `n` that a request follows; 0 takes them for answers")
	fs.DurationVar(&o.Duration, "duration", 0, "end after this `time`; 0 means never")
	fs.DurationVar(&o.Wait, "wait", 0, "wait up to this `time` for the service to come up before the load")
	fs.DurationVar(&o.Slice, "slice", 0, "slice of the record, `time`; it must divide the interval (default 1s)")
	fs.StringVar(&o.Late, "late", "queue", "requests that are late: `policy` queue or drop")
	fs.StringVar(&o.Awake, "awake", "auto",
		"`mode` auto, on or off: keep this machine's cores from sleeping during the load")
	fs.Uint64Var(&o.Seed, "seed", 1, "`seed` of what is chosen at random")
	several := func(to *[]string) func(string) error {
		return func(s string) error {
			*to = append(*to, s)
			return nil
		}
	}
	fs.Func("threshold", "rule for the result, such as `\"p(99) < 10ms\"` (repeatable)", several(&o.Thresholds))
	fs.StringVar(&o.Log, "log", "", "append lines to `file` instead of standard output; SIGHUP opens it again")
	fs.StringVar(&o.HDRLog, "hlog", "", "write a HdrHistogram log to `file`")
	fs.StringVar(&f.secretData, "secret-data", "",
		"the same as -data, but kept in no record and no output: `text`, @file or @-")
	fs.DurationVar(&o.WarmUp, "warm-up", 0, "load of this `time` before, without reports and kept out of the result")
	fs.BoolVar(&o.NoRecord, "no-record", false, "keep no bundle")
	fs.StringVar(&o.Results, "results", "", "`folder` for run bundles (default \"results\")")
	fs.StringVar(&o.Bundle, "bundle", "", "`folder` for this run's bundle, empty or new")
	fs.BoolVar(&o.Quiet, "quiet", false, "nothing on standard error but what went wrong")
	fs.StringVar(&o.MetricAddr, "metrics-addr", "", "the same as -metric-addr")
	fs.Func("export", "send every interval to `destination` influx=URL, prometheus=URL or otlp=URL (repeatable)",
		several(&o.Exports))
	fs.Func(
		"watch", "sample `what` into the record and judge leaks: pid:N, tree:N, url:ADDRESS or cgroup:FOLDER (repeatable)",
		several(&o.Watched))
	fs.Func("inspect", "ask the `server` what it did: auto, or KIND=URL such as redis=redis://host:6379 (repeatable)",
		several(&o.Inspected))
}

func (o *Options) addHeader(s string) error {
	name, value, err := endpoints.ParseHeader(s)
	if err != nil {
		return err
	}
	for i := range o.Headers {
		if strings.EqualFold(o.Headers[i][0], name) {
			o.Headers[i][1] = value
			return nil
		}
	}
	o.Headers = append(o.Headers, [2]string{name, value})
	return nil
}

// Usage writes the help for the flags. name is the name of the program.
func Usage(w io.Writer, name string) {
	f := newFlags()
	f.set.SetOutput(w)
	// Errors of writing a help text are ignored.
	_, _ = fmt.Fprintf(
		w, "Usage: %s [flags] <url | @file | @->\n\nFlags may have one dash or two, and may follow the URL.\n\n", name)
	f.set.PrintDefaults()
}

// Parse parses a command line without the program's name. summary is the default of -summary; "" means that of the
// layout. @- reads from stdin. Errors are the user's mistakes, and one line each; ErrHelp means that the user asked for
// help.
func Parse(args []string, stdin io.Reader, summary string) (*Options, error) {
	f := newFlags()
	var positional []string
	for rest := args; ; {
		if err := f.set.Parse(rest); err != nil {
			return nil, oneLine(err)
		}
		if f.help {
			return nil, ErrHelp
		}
		left := f.set.Args()
		if len(left) == 0 {
			break
		}
		positional, rest = append(positional, left[0]), left[1:]
	}
	if len(positional) != 1 {
		return nil, errors.New("expecting one argument: the target url to test, e.g. http://localhost:4140/")
	}
	o := &f.o
	o.Target = positional[0]
	if err := f.check(summary); err != nil {
		return nil, err
	}
	if f.secretData != "" {
		if f.data != "" {
			return nil, errors.New("both -data and -secret-data give a body; give one")
		}
		f.data, o.SecretBody = f.secretData, true
	}
	if o.Target == "@-" && f.data == "@-" {
		return nil, errors.New("both the URLs and -data come from standard input; put one of them into a file")
	}
	var err error
	if o.URLs, err = readURLs(o.Target, stdin); err != nil {
		return nil, err
	}
	if o.Body, err = endpoints.ReadBody(f.data, stdin); err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	return o, nil
}

// Has reports whether there is a flag of that name.
func Has(name string) bool { return newFlags().set.Lookup(name) != nil }

func oneLine(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return ErrHelp
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	if i := strings.LastIndex(text, " for flag -header: "); i > 0 {
		text = "invalid value" + text[i:] // the header's value may be a secret
	}
	return errors.New(text)
}

// check validates the flags, and sets options that depend on several of them.
func (f *flags) check(summary string) error {
	o := &f.o
	switch {
	case o.QPS < 1:
		return errors.New("qps must be at least 1")
	case o.Concurrency < 1:
		return errors.New("concurrency must be at least 1")
	case o.Interval < 10*time.Millisecond:
		return fmt.Errorf("interval %s: give at least 10ms", o.Interval)
	case o.Timeout <= 0:
		return fmt.Errorf("timeout %s: give a time above zero, such as 10s", o.Timeout)
	case o.Duration < 0:
		return fmt.Errorf("duration %s: give a time above zero, such as 1h", o.Duration)
	case o.WarmUp < 0:
		return fmt.Errorf("warm-up %s: give a time above zero, such as 10s", o.WarmUp)
	case o.NoRecord && o.Bundle != "":
		return errors.New("-bundle and -no-record exclude each other; give one")
	case o.Wait < 0:
		return fmt.Errorf("wait %s: give a time above zero, such as 30s", o.Wait)
	case !(f.hashRate >= 0 && f.hashRate <= 1):
		return fmt.Errorf("hashSampleRate %v: give a share from 0 to 1", f.hashRate)
	case o.Redirects < 0 || o.Redirects > 20:
		return fmt.Errorf("redirects %d: give a number from 0 to 20", o.Redirects)
	case o.Late != "queue" && o.Late != "drop":
		return fmt.Errorf("late %s: use queue or drop", o.Late)
	case o.RatePerS() > 1e9:
		return fmt.Errorf("qps × concurrency is %g, more than one request a nanosecond", o.RatePerS())
	}
	units := map[string]time.Duration{"ms": time.Millisecond, "us": time.Microsecond, "ns": time.Nanosecond}
	if o.Unit = units[f.unit]; o.Unit == 0 {
		return errors.New("latency unit should be [ms | us | ns]")
	}
	if o.Layout = layoutOf(f.layout); o.Layout == nil {
		return fmt.Errorf("layout %s: use 1.0, 1.2 or 1.2.0", f.layout)
	}
	if f.hashRate > 0 {
		o.HashEvery = uint32(min(math.Round(1/f.hashRate), math.MaxUint32))
	}
	for h := range strings.SplitSeq(f.host, ",") {
		if h = strings.TrimSpace(h); h != "" {
			o.Hosts = append(o.Hosts, h)
		}
	}
	if len(o.Hosts) > 0 && o.gave("Host") {
		return errors.New("both -host and a -header name the Host; give one")
	}
	if o.Compat {
		o.Insecure, o.HTTP1 = true, true
		o.Redirects = cmp.Or(o.Redirects, theirRedirects)
	}
	if err := f.checkSlice(); err != nil {
		return err
	}
	return f.checkSummary(summary)
}

// theirRedirects is how many redirects Go's HTTP client follows, and therefore slow_cooker.
const theirRedirects = 9

func (f *flags) checkSlice() error {
	o := &f.o
	if o.Slice == 0 {
		o.Slice = o.Interval
		if o.Interval%time.Second == 0 {
			o.Slice = time.Second
		}
	}
	if o.Slice < 10*time.Millisecond || o.Interval%o.Slice != 0 {
		return fmt.Errorf("slice %s: give at least 10ms, and a part of the interval of %s", o.Slice, o.Interval)
	}
	return nil
}

func (f *flags) checkSummary(byDefault string) error {
	o := &f.o
	o.Summary = cmp.Or(o.Summary, byDefault, o.Layout.summary)
	if o.NoSummary {
		o.Summary = "none"
	}
	switch o.Summary {
	case "1.0", "1.2", "report", "none":
		return nil
	}
	return fmt.Errorf("summary %s: use 1.0, 1.2, report or none", o.Summary)
}
