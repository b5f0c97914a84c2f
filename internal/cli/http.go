package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/endpoints"
	"brunt/internal/dialect/vegeta"
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
	fs.IntVarP(&f.sessions, "sessions", "c", 0, "connections; without --rate each sends when it is free (default: as many as the rate needs and the server takes, up to those for answers within 1 s, 1000 at most)")
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
		const answerWithinS, fewest, most = 1, 10, 1000
		sessions = int(min(max(rate*answerWithinS, fewest), most))
	}
	return ph, sessions, nil
}

// mostOperations is how many different requests are reported one by one.
const mostOperations = 30

// plan turns the arguments and the flags into a plan.
func (f *httpFlags) plan(s *streams, targets []string) (*plan.Plan, error) {
	requests, err := f.readAll(s, targets)
	if err != nil {
		return nil, err
	}
	p := &plan.Plan{Name: "http-" + endpoints.Address(requests[0].URL), Seed: f.seed}
	if err := endpoints.SetTarget(p, requests); err != nil {
		return nil, err
	}
	if p.Target.TLS.Enabled {
		p.Target.TLS.InsecureSkipVerify, p.Target.TLS.CAFile = f.insecure, f.ca
	}
	p.Target.Options["good"] = f.good
	for name, on := range map[string]bool{"compress": f.compress, "noreuse": f.noReuse} {
		if on {
			p.Target.Options[name] = "on"
		}
	}
	if f.redirects != 0 {
		p.Target.Options["redirects"] = strconv.Itoa(f.redirects)
	}
	if f.http1 {
		p.Target.Options["http2"] = "off"
	}
	if proxied(urlsOf(requests)) {
		p.Target.Options["proxy"] = "env"
	}
	addOperations(p, requests, f.inOrder)
	return p, f.settle(p)
}

// settle puts the load, the settings and the thresholds into p and checks it.
func (f *httpFlags) settle(p *plan.Plan) error {
	phase, sessions, err := f.load()
	if err != nil {
		return err
	}
	if f.redirects < 0 || f.redirects > 20 {
		return fmt.Errorf("--redirects %d: give a number from 0 to 20", f.redirects)
	}
	if f.wait < 0 {
		return fmt.Errorf("--wait %s: give a time above zero, such as 30s", f.wait)
	}
	p.Load = []plan.Phase{phase}
	p.Settings = plan.Settings{Sessions: sessions, SessionsAsNeeded: f.sessions == 0, Retries: -1}
	if err := f.settings(&p.Settings); err != nil {
		return err
	}
	return f.shape(p)
}

// readAll reads the requests of all arguments.
func (f *httpFlags) readAll(s *streams, targets []string) ([]endpoints.Request, error) {
	header, err := f.header()
	if err != nil {
		return nil, err
	}
	body, err := f.body(s.in)
	if err != nil {
		return nil, err
	}
	var all []endpoints.Request
	for _, target := range targets {
		read := f.single
		if target == "-" || isFile(target) {
			read = f.list
		}
		requests, err := read(s, target, body)
		if err != nil {
			return nil, err
		}
		all = append(all, requests...)
	}
	for i := range all {
		all[i].Header = append(all[i].Header, header...)
	}
	return all, nil
}

// body is what --data or --secret-data gives, nil if neither does.
func (f *httpFlags) body(stdin io.Reader) ([]byte, error) {
	set := f.cmd.Flags().Changed
	if set("data") && set("secret-data") {
		return nil, errors.New("both --data and --secret-data give a body; give one")
	}
	for name, text := range map[string]string{"data": f.data, "secret-data": f.secretData} {
		if set(name) {
			body, err := endpoints.ReadBody(text, stdin)
			if err != nil {
				err = fmt.Errorf("--%s: %w", name, err)
			}
			return body, err
		}
	}
	return nil, nil
}

// list reads a file of requests.
func (f *httpFlags) list(s *streams, target string, body []byte) ([]endpoints.Request, error) {
	if f.method != "" || body != nil {
		return nil, fmt.Errorf("--method, --data and --secret-data are for URLs; %s says for each request what they are", target)
	}
	in, name := s.in, "standard input"
	if target != "-" {
		file, err := os.Open(target)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in, name = file, target
	}
	return vegeta.Read(name, in, os.ReadFile)
}

// isFile reports whether the argument is a list: a file of that name exists, and it is no URL.
func isFile(target string) bool {
	info, err := os.Stat(target)
	return err == nil && !info.IsDir() && !strings.Contains(target, "://")
}

// single makes the request of a URL.
func (f *httpFlags) single(_ *streams, target string, body []byte) ([]endpoints.Request, error) {
	if !strings.Contains(target, "://") {
		if !strings.ContainsAny(target, ".:") && target != "localhost" {
			return nil, fmt.Errorf("%q is neither a file nor a URL; write for example http://localhost:8080/", target)
		}
		target = "http://" + target
	}
	u, err := endpoints.ParseURL(target)
	if err != nil {
		return nil, err
	}
	usual := "GET"
	if body != nil {
		usual = "POST"
	}
	return []endpoints.Request{{Method: cmp.Or(f.method, usual), URL: u, Body: body, Secret: f.cmd.Flags().Changed("secret-data")}}, nil
}

func (f *httpFlags) header() (all [][2]string, err error) {
	for _, h := range f.headers {
		name, value, err := endpoints.ParseHeader(h)
		if err != nil {
			return nil, fmt.Errorf("--header: %w", err)
		}
		all = append(all, [2]string{name, value})
	}
	return all, nil
}

// addOperations makes requests with one method and URL one operation. In order, operations and their
// requests are taken as they stand in the list; otherwise each operation is drawn as often as it
// stands there. If that makes too many to report, all of them are one operation that takes each
// request in turn.
func addOperations(p *plan.Plan, requests []endpoints.Request, inOrder bool) {
	groups := map[string][]endpoints.Request{}
	var order []string
	turns := make([]int, len(requests))
	several := endpoints.SeveralHosts(requests)
	for i, r := range requests {
		name := endpoints.Title(&r, several)
		if groups[name] == nil {
			order = append(order, name)
		}
		turns[i] = slices.Index(order, name)
		groups[name] = append(groups[name], r)
		if len(order) > mostOperations {
			order, inOrder = []string{fmt.Sprintf("%d requests", len(requests))}, false
			groups[order[0]] = requests
			break
		}
	}
	if inOrder && len(order) > 1 {
		p.Mix, p.Turns = plan.ByTurn, turns
	}
	names := map[string]bool{}
	for _, name := range order {
		group := groups[name]
		short := endpoints.Name(name)
		for n := 2; names[short]; n++ {
			short = fmt.Sprintf("%s (%d)", endpoints.Name(name), n)
		}
		names[short] = true
		endpoints.AddOperation(p, short, float64(len(group)), group, nil, plan.Pick{By: plan.PickTurn})
	}
}

func urlsOf(requests []endpoints.Request) (urls []*url.URL) {
	for i := range requests {
		urls = append(urls, requests[i].URL)
	}
	return urls
}
