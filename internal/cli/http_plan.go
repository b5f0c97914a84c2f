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

	"brunt/internal/dialect/endpoints"
	"brunt/internal/dialect/vegeta"
	"brunt/internal/plan"
)

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
	p.Settings = plan.Settings{Sessions: sessions, Retries: -1}
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
