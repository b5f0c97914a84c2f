package vegeta

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"brunt/internal/dialect/command"
	"brunt/internal/dialect/endpoints"
	"brunt/internal/plan"
)

// attackOptions are the options of vegeta attack.
type attackOptions struct {
	name, targets, format, output, body, cert, key, roots, metrics string
	http2, h2c, insecure, keepalive, chunked, tickets              bool
	duration, timeout                                              time.Duration
	ratePerS                                                       float64 // 0: as fast as the workers can
	workers, maxWorkers                                            uint64
	redirects, maxConnections                                      int   // maxConnections 0: no limit
	maxBody                                                        int64 // bytes of an answer that count; below 0: all
	resolvers                                                      []string
	headers, proxyHeaders                                          []string
	from                                                           string   // address from which connections go
	socket                                                         string   // path of a Unix socket for all targets
	connectTo                                                      []string // host:port:host:port
	requests                                                       []endpoints.Request
}

// formats are those of lists of targets, which Read recognizes.
const formats = "http json"

// defaults of vegeta.
const (
	usualTimeout   = 30 * time.Second
	usualRedirects = 10
	mostWorkers    = 10_000
)

func parseAttack(args []string) (*attackOptions, error) {
	o := &attackOptions{ratePerS: 50, maxBody: -1}
	fs := flag.NewFlagSet("attack", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	fs.StringVar(&o.name, "name", "", "")
	fs.StringVar(&o.targets, "targets", "stdin", "")
	fs.StringVar(&o.format, "format", "http", "")
	fs.StringVar(&o.output, "output", "stdout", "")
	fs.StringVar(&o.body, "body", "", "")
	fs.StringVar(&o.cert, "cert", "", "")
	fs.StringVar(&o.key, "key", "", "")
	fs.Func("root-certs", "", func(s string) error {
		if o.roots = s; s == "" {
			return errors.New("bad certificate")
		}
		return nil
	})
	fs.BoolVar(&o.http2, "http2", true, "")
	fs.BoolVar(&o.h2c, "h2c", false, "")
	fs.BoolVar(&o.insecure, "insecure", false, "")
	fs.Bool("lazy", false, "")
	fs.DurationVar(&o.duration, "duration", 0, "")
	fs.DurationVar(&o.timeout, "timeout", usualTimeout, "")
	fs.Uint64Var(&o.workers, "workers", 10, "")
	fs.Uint64Var(&o.maxWorkers, "max-workers", math.MaxUint64, "")
	fs.Int("connections", 10_000, "")
	fs.IntVar(&o.redirects, "redirects", usualRedirects, "")
	fs.Func("max-body", "", o.setMaxBody)
	fs.Func("dns-ttl", "", checkTTL)
	fs.Func("resolvers", "", o.setResolvers)
	fs.BoolVar(&o.keepalive, "keepalive", true, "")
	fs.StringVar(&o.metrics, "prometheus-addr", "", "")
	fs.StringVar(&o.socket, "unix-socket", "", "")
	fs.Func("connect-to", "", func(s string) error { o.connectTo = append(o.connectTo, s); return checkMapping(s) })
	fs.Func("rate", "", o.setRate)
	fs.Func("header", "", func(s string) error { o.headers = append(o.headers, s); return checkField(s) })
	fs.BoolVar(&o.chunked, "chunked", false, "")
	fs.BoolVar(&o.tickets, "session-tickets", false, "")
	fs.IntVar(&o.maxConnections, "max-connections", 0, "")
	fs.Func("proxy-header", "", func(s string) error { o.proxyHeaders = append(o.proxyHeaders, s); return checkField(s) })
	fs.Func("laddr", "", o.setFrom)
	if err := fs.Parse(args); err != nil {
		return nil, flagsError{err}
	}
	return o, o.check()
}

// flagsError is a mistake that the flag parser has found.
type flagsError struct{ error }

// Unwrap returns the parser's error.
func (e flagsError) Unwrap() error { return e.error }

// checkField returns vegeta's error for a field that isn't one.
func checkField(text string) error {
	if name, value, ok := strings.Cut(text, ":"); !ok || strings.TrimSpace(name) == "" || strings.TrimSpace(value) == "" {
		return fmt.Errorf("header '%s' has a wrong format", text)
	}
	return nil
}

// checkMapping returns an error for a mapping that isn't one.
func checkMapping(text string) error {
	if strings.Count(text, ":") != 3 {
		return fmt.Errorf("invalid -connect-to %q, expected format: src:port:dst:port", text)
	}
	_, err := (&plan.Way{Resolve: []string{text}}).Compile()
	return err
}

// setFrom sets the address from which connections go, by its name or as an IP address. 0.0.0.0 leaves the choice to the
// system.
func (o *attackOptions) setFrom(text string) error {
	ip, err := net.ResolveIPAddr("ip", text)
	if err == nil && !ip.IP.IsUnspecified() {
		o.from = ip.String()
	}
	return err
}

// setRate parses "50", "50/1s", "100/m", "0" and "infinity".
func (o *attackOptions) setRate(text string) error {
	if text == "infinity" {
		o.ratePerS = 0
		return nil
	}
	count, per, given := strings.Cut(text, "/")
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 {
		return fmt.Errorf("-rate format %q doesn't match the \"freq/duration\" format (i.e. 50/1s)", text)
	}
	unit := time.Second
	if given {
		if strings.Trim(per, "0123456789.") == per {
			per = "1" + per
		}
		if unit, err = time.ParseDuration(per); err != nil || unit <= 0 {
			return fmt.Errorf("-rate %s: give a time above zero after /, such as 1s", text)
		}
	}
	o.ratePerS = float64(n) / unit.Seconds()
	return nil
}

func (o *attackOptions) check() error {
	switch {
	case o.ratePerS == 0 && o.maxWorkers == math.MaxUint64:
		return errors.New("-rate=0 requires setting -max-workers")
	case o.maxWorkers == 0:
		return errors.New("-max-workers 0: give at least 1")
	case !strings.Contains(" "+formats+" ", " "+o.format+" "):
		return fmt.Errorf("format %q isn't one of [%s]", o.format, formats)
	case strings.Contains(o.roots, ","):
		return errors.New("-root-certs: give one file with all certificates")
	case o.duration < 0 || o.timeout < 0:
		return errors.New("-duration and -timeout: give a time above zero")
	}
	return nil
}

// read reads the targets.
func (o *attackOptions) read(stdin io.Reader) error {
	in := stdin
	if o.targets != "stdin" {
		f, err := os.Open(o.targets)
		if err != nil {
			return fmt.Errorf("error opening %s: %w", o.targets, errors.Unwrap(err))
		}
		defer f.Close()
		in = f
	}
	var err error
	if o.requests, err = Read(o.targets, in, command.ReadFile); err != nil {
		return err
	}
	var body []byte
	if o.body != "" {
		if body, err = command.ReadFile(o.body); err != nil {
			return fmt.Errorf("error opening %s: %w", o.body, errors.Unwrap(err))
		}
	}
	return o.complete(body)
}

// complete adds the body and the fields that the flags give.
func (o *attackOptions) complete(body []byte) error {
	for i := range o.requests {
		r := &o.requests[i]
		if r.Body == nil {
			r.Body = body
		}
		for _, text := range o.headers {
			name, value, err := endpoints.ParseHeader(text)
			if err != nil {
				return fmt.Errorf("header '%s' has a wrong format: %w", name, err)
			}
			if !r.Gave(name) {
				r.Header = append(r.Header, [2]string{name, value})
			}
		}
		if o.chunked && len(r.Body) > 0 {
			r.Header = append(r.Header, [2]string{"Transfer-Encoding", "chunked"})
		}
		if !r.Gave("User-Agent") {
			r.Header = append(r.Header, [2]string{"User-Agent", "Go-http-client/1.1"})
		}
	}
	return nil
}

// sessions returns how many requests can be in flight.
func (o *attackOptions) sessions() int {
	n := min(o.maxWorkers, mostWorkers)
	if o.maxConnections > 0 {
		n = min(n, uint64(o.maxConnections))
	}
	return int(n)
}

// waits reports whether requests wait for a connection, which is part of their latency, and not for a worker.
func (o *attackOptions) waits() bool {
	return o.maxConnections > 0 && uint64(o.maxConnections) < o.maxWorkers
}

// proxies sets the options for the proxies that the environment names, and what they are told.
func (o *attackOptions) proxies(options map[string]string) error {
	for i := range o.requests {
		via, err := http.ProxyFromEnvironment(&http.Request{URL: o.requests[i].URL})
		if err != nil {
			return err
		}
		if via != nil {
			options["proxy"] = "env"
		}
	}
	if options["proxy"] == "" {
		return nil
	}
	for _, text := range o.proxyHeaders {
		name, value, err := endpoints.ParseHeader(text)
		if err != nil {
			return fmt.Errorf("-proxy-header: %w", err)
		}
		options["proxy."+name] = value
	}
	return nil
}

// forever is the duration of a load without an end.
const forever = 10 * 365 * 24 * time.Hour

// Plan makes the plan: an open load, or a closed one of -max-workers at rate 0. Targets are taken in turn.
func (o *attackOptions) plan() (*plan.Plan, error) {
	p := &plan.Plan{Name: "vegeta-" + endpoints.Address(o.requests[0].URL)}
	if o.name != "" {
		p.Name = endpoints.Name(o.name)
	}
	if err := endpoints.SetTarget(p, o.requests); err != nil {
		return nil, err
	}
	endpoints.Secure(&p.Target, o.insecure, o.roots, o.cert, o.key, o.redirects > 0)
	p.Target.TLS.Resume = o.tickets && p.Target.TLS.Enabled
	p.Target.Way.Resolve, p.Target.Way.From = o.connectTo, o.from
	socket, err := filepath.Abs(o.socket)
	if err != nil {
		return nil, err
	}
	for _, address := range p.Target.Addresses {
		if o.socket != "" {
			p.Target.Way.Resolve = append(p.Target.Way.Resolve, address+":"+socket)
		}
	}
	options := p.Target.Options
	options["parts"], options["compress"] = "on", "on"
	if options["good"] = "200-399"; o.redirects == 0 {
		options["good"] = "200-299"
	}
	if o.redirects > 0 {
		options["redirects"] = strconv.Itoa(min(o.redirects, 20))
		options["lazy"] = "on"
	}
	if err := o.proxies(options); err != nil {
		return nil, err
	}
	if !o.keepalive {
		options["noreuse"] = "on"
	}
	if !o.http2 {
		options["http2"] = "off"
	}
	if o.h2c {
		options["http2"] = "prior"
	}
	name := endpoints.Title(&o.requests[0], false)
	if len(o.requests) > 1 {
		name = fmt.Sprintf("%d targets", len(o.requests))
	}
	endpoints.AddOperation(p, name, 1, o.requests, nil, plan.Pick{By: plan.PickTurn})
	length := o.duration
	if length == 0 {
		length = forever
	}
	phase := plan.Phase{Name: "attack", Kind: plan.Closed, Duration: length}
	p.Settings = plan.Settings{Sessions: o.sessions(), Retries: -1, OperationTimeout: o.timeout}
	if o.timeout == 0 {
		p.Settings.OperationTimeout = 24 * time.Hour
	}
	if o.ratePerS > 0 {
		phase.Kind, phase.RateFrom, phase.RateTo = plan.Open, o.ratePerS, o.ratePerS
		p.Settings.SessionsAsNeeded = true
	}
	p.Load = []plan.Phase{phase}
	return p, nil
}
