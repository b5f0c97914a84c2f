// Package service makes plans for HTTP services from a command line: URLs, lists of requests, a rate.
package service

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/dialect/endpoints"
	"brunt/internal/plan"
)

// Options are the options of the command line. Given reports whether an option was given, by the name of its flag.
type Options struct {
	Rate       float64 // requests a second
	Sessions   int
	Duration   time.Duration
	Requests   uint64 // the load ends after that many; 0: it ends after Duration
	InOrder    bool   // in the order of the list, instead of at random
	Method     string // of URLs
	Headers    []string
	Data       string // body of URLs: text, or a file's name after "@"
	SecretData string // likewise, but never stored
	Good       string // statuses that count as success
	Insecure   bool   // don't verify certificates
	CA         string // file of an authority's certificate
	Cert, Key  string // files of the client's certificate and its key
	HTTP1      bool   // don't use HTTP/2 even if the server offers it
	Prior      bool   // use HTTP/2 without asking
	Redirects  int    // how many redirects a request follows, up to 20
	Compress   bool
	NoReuse    bool // a connection for each request
	Seed       uint64
	Lists      endpoints.Reader // reads lists of requests; nil if this binary reads none
	Given      func(flag string) bool
}

// UsualDuration is the default duration of a load. usualRate is its default rate in requests a second.
const (
	UsualDuration = 10 * time.Second
	usualRate     = 100.0
)

// Phase returns the phase for the options, and its number of sessions.
func (o *Options) Phase() (ph plan.Phase, sessions int, err error) {
	switch {
	case o.Given("rate") && !(o.Rate > 0):
		return ph, 0, fmt.Errorf("--rate %g: give requests a second, above zero", o.Rate)
	case o.Given("sessions") && o.Sessions < 1:
		return ph, 0, fmt.Errorf("--sessions %d: a load needs at least 1", o.Sessions)
	case o.Given("requests") && o.Requests == 0:
		return ph, 0, errors.New("--requests 0: give at least 1, or leave it out for a load by time")
	case o.Duration <= 0:
		return ph, 0, errors.New("--duration: give a time above zero, such as 30s")
	}
	rate := o.Rate
	if rate == 0 && o.Sessions == 0 {
		rate = usualRate
	}
	limited := o.Requests > 0 && !o.Given("duration")
	if rate == 0 {
		ph = plan.Phase{Name: "closed", Kind: plan.Closed, Duration: o.Duration, Operations: o.Requests}
		if limited {
			ph.Duration = 0
		}
		return ph, o.Sessions, nil
	}
	ph = plan.Phase{Name: "open", Kind: plan.Open, Duration: o.Duration, RateFrom: rate, RateTo: rate,
		Operations: o.Requests}
	if limited {
		// Poisson arrivals may take longer than expected.
		ph.Duration = time.Duration(2*float64(o.Requests)/rate*float64(time.Second)) + time.Minute
	}
	if sessions = o.Sessions; sessions == 0 {
		const answerWithinS, fewest, most = 1, 10, 1000
		sessions = int(min(max(rate*answerWithinS, fewest), most))
	}
	return ph, sessions, nil
}

// mostOperations is the most requests that are reported separately.
const mostOperations = 30

// Plan makes a plan from the command line's arguments: URLs, files with requests, or "-" for a list on stdin. Errors
// are about the arguments and options.
func (o *Options) Plan(targets []string, stdin io.Reader) (*plan.Plan, error) {
	requests, err := o.readAll(targets, stdin)
	if err != nil {
		return nil, err
	}
	p := &plan.Plan{Name: "http-" + endpoints.Address(requests[0].URL), Seed: o.Seed}
	if err := endpoints.SetTarget(p, requests); err != nil {
		return nil, err
	}
	endpoints.Secure(&p.Target, o.Insecure, o.CA, o.Cert, o.Key, o.Redirects > 0)
	p.Target.Options["good"] = o.Good
	for name, on := range map[string]bool{"compress": o.Compress, "noreuse": o.NoReuse} {
		if on {
			p.Target.Options[name] = "on"
		}
	}
	if o.Redirects != 0 {
		p.Target.Options["redirects"] = strconv.Itoa(o.Redirects)
	}
	switch {
	case o.HTTP1 && o.Prior:
		return nil, errors.New("--http1 and --http2-prior exclude each other")
	case o.HTTP1:
		p.Target.Options["http2"] = "off"
	case o.Prior:
		p.Target.Options["http2"] = "prior"
	}
	if endpoints.Proxied(urlsOf(requests)) {
		p.Target.Options["proxy"] = "env"
	}
	addOperations(p, requests, o.InOrder)
	return p, o.complete(p)
}

// complete sets the load and the number of sessions of p.
func (o *Options) complete(p *plan.Plan) error {
	phase, sessions, err := o.Phase()
	if err != nil {
		return err
	}
	if o.Redirects < 0 || o.Redirects > 20 {
		return fmt.Errorf("--redirects %d: give a number from 0 to 20", o.Redirects)
	}
	p.Load = []plan.Phase{phase}
	p.Settings = plan.Settings{Sessions: sessions, SessionsAsNeeded: o.Sessions == 0, Retries: -1}
	return nil
}

// readAll reads the requests of all arguments.
func (o *Options) readAll(targets []string, stdin io.Reader) ([]endpoints.Request, error) {
	header, err := o.header()
	if err != nil {
		return nil, err
	}
	body, err := o.body(stdin)
	if err != nil {
		return nil, err
	}
	var all []endpoints.Request
	for _, target := range targets {
		read := o.single
		if target == "-" || isFile(target) {
			read = o.list
		}
		requests, err := read(stdin, target, body)
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

// body returns the body from --data or --secret-data, nil if neither is given.
func (o *Options) body(stdin io.Reader) ([]byte, error) {
	set := o.Given
	if set("data") && set("secret-data") {
		return nil, errors.New("both --data and --secret-data give a body; give one")
	}
	for name, text := range map[string]string{"data": o.Data, "secret-data": o.SecretData} {
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

// list reads a file with requests.
func (o *Options) list(stdin io.Reader, target string, body []byte) ([]endpoints.Request, error) {
	if o.Method != "" || body != nil {
		return nil, fmt.Errorf("--method, --data and --secret-data are for URLs; %s says for each request what they are",
			target)
	}
	if o.Lists == nil {
		return nil, fmt.Errorf("%s: this binary reads no lists of requests; name URLs", target)
	}
	in, name := stdin, "standard input"
	if target != "-" {
		file, err := os.Open(target)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in, name = file, target
	}
	return o.Lists(name, in, os.ReadFile)
}

// isFile reports whether the argument is the path of an existing file rather than a URL.
func isFile(target string) bool {
	info, err := os.Stat(target)
	return err == nil && !info.IsDir() && !strings.Contains(target, "://")
}

// looksLikeFile reports whether a target without a scheme ends like the name of a list of requests. No top-level domain
// has such an end.
func looksLikeFile(target string) bool {
	return slices.Contains([]string{".txt", ".json", ".jsonl", ".ndjson", ".list", ".targets"}, filepath.Ext(target))
}

// single returns the request for a URL.
func (o *Options) single(_ io.Reader, target string, body []byte) ([]endpoints.Request, error) {
	if !strings.Contains(target, "://") {
		if !strings.ContainsAny(target, ".:") && target != "localhost" || looksLikeFile(target) {
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
	return []endpoints.Request{{Method: cmp.Or(o.Method, usual), URL: u, Body: body, Secret: o.Given("secret-data")}}, nil
}

func (o *Options) header() (all [][2]string, err error) {
	for _, h := range o.Headers {
		name, value, err := endpoints.ParseHeader(h)
		if err != nil {
			return nil, fmt.Errorf("--header: %w", err)
		}
		all = append(all, [2]string{name, value})
	}
	return all, nil
}

// addOperations groups requests with the same method and URL into operations. If inOrder is set, requests are sent in
// the order of the list; otherwise an operation's weight is the number of its requests. If there would be more than
// mostOperations, all requests become one operation that sends them in turn.
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
