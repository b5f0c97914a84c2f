package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/plan"
	"brunt/internal/runner"
)

// httpFlags are the flags of http.
type httpFlags struct {
	loadFlags
	rate       float64
	sessions   int
	duration   time.Duration
	requests   uint64
	inOrder    bool
	method     string
	headers    []string
	data       string
	secretData string
	wait       time.Duration
	good       string
	insecure   bool
	ca         string
	http1      bool
	redirects  int
	compress   bool
	noReuse    bool
	seed       uint64
}

const (
	usualHTTPRate     = 100.0
	usualHTTPDuration = 10 * time.Second
)

func newHTTP(s *streams) *cobra.Command {
	f := &httpFlags{}
	cmd := &cobra.Command{
		Use:   "http URL|FILE|-…",
		Short: "Load an HTTP service: URLs, or files of requests",
		Long: `Load an HTTP service and print a report. Each argument is a URL, a file of requests in one of
vegeta's target formats, or - for such a list on standard input.

With --rate the load is open: requests start when they are due, whatever the server does, and
latency counts from then. With --sessions alone it is closed: each session sends when it has the
answer to its last request. Without either it is 100 requests a second.`,
		Example: "  brunt http http://127.0.0.1:8080/\n  brunt http http://127.0.0.1:8080/ --rate 500 --duration 1m --threshold \"p(99) < 20ms\"\n  brunt http requests.txt --sessions 8",
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return f.run(s, args) },
	}
	f.bind(cmd)
	return cmd
}

func (f *httpFlags) bind(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.Var((*rateValue)(&f.rate), "rate", "requests a second, or N/unit such as 600/m, whatever the server does (default 100 without --sessions)")
	fs.IntVarP(&f.sessions, "sessions", "c", 0, "connections; without --rate each sends when it is free (default: enough for answers within 200 ms)")
	fs.DurationVarP(&f.duration, "duration", "z", usualHTTPDuration, "how long")
	fs.Uint64VarP(&f.requests, "requests", "n", 0, "end after exactly so many requests")
	fs.BoolVar(&f.inOrder, "in-order", true, "several requests in the order of the list; =false draws them by the seed")
	fs.StringVarP(&f.method, "method", "X", "", "method, for URLs (default GET, with a body POST)")
	fs.StringArrayVarP(&f.headers, "header", "H", nil, `header field "Name: value", for every request (repeatable)`)
	fs.StringVarP(&f.data, "data", "d", "", "body, for URLs: text, @file, or @- for standard input")
	fs.StringVar(&f.secretData, "secret-data", "", "the same, but kept in no record and no output")
	fs.DurationVar(&f.wait, "wait", 0, "wait so long for the service to come up before the load")
	fs.StringVar(&f.good, "good", "200-399", "statuses that are no failure")
	fs.BoolVarP(&f.insecure, "insecure", "k", false, "don't verify certificates")
	fs.StringVar(&f.ca, "cacert", "", "authority's certificate (PEM)")
	fs.BoolVar(&f.http1, "http1", false, "HTTP/1.1 even where the server offers HTTP/2")
	fs.IntVar(&f.redirects, "redirects", 0, "redirects that a request follows, up to 20; 0 takes them for answers")
	fs.BoolVar(&f.compress, "compress", false, "ask for gzip")
	fs.BoolVar(&f.noReuse, "noreuse", false, "a new connection for each request")
	fs.Uint64Var(&f.seed, "seed", 1, "seed of the order of requests")
	f.loadFlags.bind(cmd, "brief")
}

// run loads the service and prints the result.
func (f *httpFlags) run(s *streams, targets []string) error {
	if err := f.outputFlags.check(); err != nil {
		return err
	}
	p, err := f.plan(s, targets)
	if err != nil {
		return usage(err)
	}
	return s.perform(&loadRun{
		plan: p, record: f.recordFlags, live: f.liveFlags, quiet: f.quiet, language: f.language(),
		options: runner.Options{Wait: f.wait}, voice: f.outputFlags.voice,
	})
}

// load is the phase that the flags ask for, and how many sessions it has.
func (f *httpFlags) load() (ph plan.Phase, sessions int, err error) {
	switch {
	case f.cmd.Flags().Changed("rate") && !(f.rate > 0):
		return ph, 0, fmt.Errorf("--rate %g: give requests a second, above zero", f.rate)
	case f.cmd.Flags().Changed("sessions") && f.sessions < 1:
		return ph, 0, fmt.Errorf("--sessions %d: a load needs at least 1", f.sessions)
	case f.duration <= 0:
		return ph, 0, errors.New("--duration: give a time above zero, such as 30s")
	}
	rate := f.rate
	if rate == 0 && f.sessions == 0 {
		rate = usualHTTPRate
	}
	limited := f.requests > 0 && !f.cmd.Flags().Changed("duration")
	if rate == 0 {
		ph = plan.Phase{Name: "closed", Kind: plan.Closed, Duration: f.duration, Operations: f.requests}
		if limited {
			ph.Duration = 0
		}
		return ph, f.sessions, nil
	}
	ph = plan.Phase{Name: "open", Kind: plan.Open, Duration: f.duration, RateFrom: rate, RateTo: rate, Operations: f.requests}
	if limited {
		// Poisson arrivals may need longer than their mean.
		ph.Duration = time.Duration(2*float64(f.requests)/rate*float64(time.Second)) + time.Minute
	}
	if sessions = f.sessions; sessions == 0 {
		const answerWithinS, fewest, most = 0.2, 10, 1000
		sessions = int(min(max(rate*answerWithinS, fewest), most))
	}
	return ph, sessions, nil
}
