package vegeta

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
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
	http2, h2c, insecure, keepalive                                bool
	duration, timeout                                              time.Duration
	ratePerS                                                       float64 // 0: as fast as the workers can
	workers, maxWorkers                                            uint64
	redirects                                                      int
	maxBody                                                        int64 // bytes of an answer that count; below 0: all
	resolvers                                                      []string
	headers                                                        []string
	socket                                                         string   // path of a Unix socket for all targets
	connectTo                                                      []string // host:port:host:port
	requests                                                       []endpoints.Request
}

// unavailable are the flags of vegeta attack that brunt doesn't have, with the reason.
var unavailable = map[string]string{
	"chunked": "bodies are sent with their length", "laddr": "the system chooses the address",
	"proxy-header": "no proxy is asked to connect", "max-connections": "give -max-workers: each has one connection", "session-tickets": "sessions aren't resumed",
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
	fs.StringVar(&o.roots, "root-certs", "", "")
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
	fs.Func("connect-to", "", func(s string) error { o.connectTo = append(o.connectTo, s); return nil })
	fs.Func("rate", "", o.setRate)
	fs.Func("header", "", func(s string) error { o.headers = append(o.headers, s); return nil })
	for name, why := range unavailable {
		fs.BoolFunc(name, "", func(string) error { return fmt.Errorf("isn't available: %s", why) })
	}
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	return o, o.check()
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
		if !r.Gave("User-Agent") {
			r.Header = append(r.Header, [2]string{"User-Agent", "Go-http-client/1.1"})
		}
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
	p.Target.Way.Resolve = o.connectTo
	for _, address := range p.Target.Addresses {
		if o.socket != "" {
			p.Target.Way.Resolve = append(p.Target.Way.Resolve, address+":"+o.socket)
		}
	}
	options := p.Target.Options
	options["parts"] = "on"
	if options["good"] = "200-399"; o.redirects == 0 {
		options["good"] = "200-299"
	}
	if o.redirects > 0 {
		options["redirects"] = strconv.Itoa(min(o.redirects, 20))
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
	p.Settings = plan.Settings{Sessions: int(min(o.maxWorkers, mostWorkers)), Retries: -1, OperationTimeout: o.timeout}
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
