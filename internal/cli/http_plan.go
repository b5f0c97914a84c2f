package cli

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"

	"brunt/internal/dialect/endpoints"
	"brunt/internal/dialect/vegeta"
	"brunt/internal/plan"
)

// mostOperations is how many different requests are reported one by one.
const mostOperations = 30

// plan turns the argument and the flags into a plan.
func (f *httpFlags) plan(s *streams, target string) (*plan.Plan, error) {
	requests, err := f.read(s, target)
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
	addOperations(p, requests)
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

// read finds out what the argument is and reads its requests.
func (f *httpFlags) read(s *streams, target string) ([]endpoints.Request, error) {
	header, err := f.header()
	if err != nil {
		return nil, err
	}
	if target != "-" && !isFile(target) {
		return f.single(s, target, header)
	}
	if f.cmd.Flags().Changed("method") || f.data != "" {
		return nil, fmt.Errorf("--method and --data are for a URL; %s says for each request what they are", target)
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
	requests, err := vegeta.Read(name, in, os.ReadFile)
	for i := range requests {
		requests[i].Header = append(requests[i].Header, header...)
	}
	return requests, err
}

// isFile reports whether the argument is a list: a file of that name exists, and it is no URL.
func isFile(target string) bool {
	info, err := os.Stat(target)
	return err == nil && !info.IsDir() && !strings.Contains(target, "://")
}

func (f *httpFlags) single(s *streams, target string, header [][2]string) ([]endpoints.Request, error) {
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
	body, err := readBody(f.data, s.in)
	if err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	return []endpoints.Request{{Method: f.method, URL: u, Header: header, Body: body}}, nil
}

// readBody reads a body: text, @file or @-.
func readBody(text string, stdin io.Reader) ([]byte, error) {
	path, fromFile := strings.CutPrefix(text, "@")
	switch {
	case !fromFile:
		return []byte(text), nil
	case path == "-":
		return io.ReadAll(io.LimitReader(stdin, 64<<20))
	}
	return os.ReadFile(path)
}

func (f *httpFlags) header() (all [][2]string, err error) {
	for _, h := range f.headers {
		name, value, ok := strings.Cut(h, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok {
			return nil, fmt.Errorf("--header %q: write Name: value", name)
		}
		if err := endpoints.ValidHeader(name, value); err != nil {
			return nil, fmt.Errorf("--header: %w", err)
		}
		all = append(all, [2]string{name, value})
	}
	return all, nil
}

// addOperations makes requests with one method and URL one operation, weighted by how often it
// stands in the list. If that makes too many to report, all of them are one operation that takes
// each request in turn.
func addOperations(p *plan.Plan, requests []endpoints.Request) {
	groups := map[string][]endpoints.Request{}
	var order []string
	several := endpoints.SeveralHosts(requests)
	for _, r := range requests {
		name := endpoints.Title(&r, several)
		if groups[name] == nil {
			order = append(order, name)
		}
		groups[name] = append(groups[name], r)
	}
	if len(order) > mostOperations {
		order = []string{fmt.Sprintf("%d requests", len(requests))}
		groups[order[0]] = requests
	}
	names := map[string]bool{}
	for _, name := range order {
		group := groups[name]
		short := endpoints.Name(name)
		for n := 2; names[short]; n++ {
			short = fmt.Sprintf("%s (%d)", endpoints.Name(name), n)
		}
		names[short] = true
		endpoints.AddOperation(p, short, float64(len(group)), group, nil, func(i uint64) int { return int(i % uint64(len(group))) })
	}
}

func urlsOf(requests []endpoints.Request) (urls []*url.URL) {
	for i := range requests {
		urls = append(urls, requests[i].URL)
	}
	return urls
}
