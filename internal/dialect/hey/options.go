// Package hey is the command line and the report of hey (github.com/rakyll/hey, 0.1.5).
package hey

import (
	"errors"
	"flag"
	"io"
	"math"
	"net/url"
	"strings"
	"time"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/dialect/command"
	"brunt/internal/dialect/endpoints"
	"brunt/internal/plan"
)

// Options are the options of a command line.
type Options struct {
	Requests, Workers int
	Rate              float64 // requests a second of each worker; 0: no limit
	Duration          time.Duration
	Output            string // "", "csv" or a template
	Method            string
	Headers           [][2]string
	TimeoutS          int
	Body              []byte
	User, Password    string
	HTTP2             bool
	NoCompression     bool
	NoKeepAlive       bool
	NoRedirects       bool
	Proxy             string // URL; "": none

	target *url.URL
}

// usageError is a mistake after which hey prints its usage.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

// errFlags is a mistake that the flag parser has found.
type errFlags struct{ text string }

func (e *errFlags) Error() string { return e.text }

const userAgent = "hey/0.0.1"

var (
	headerForm = lazyregexp.New(`^([\w-]+):\s*(.+)`)
	authForm   = lazyregexp.New(`^(.+):([^\s].+)`)
)

// Parse parses a command line without the program's name.
func Parse(args []string) (*Options, error) {
	o := &Options{}
	fs := flag.NewFlagSet("hey", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	fs.StringVar(&o.Method, "m", "GET", "")
	deprecated := fs.String("h", "", "")
	body, bodyFile := fs.String("d", "", ""), fs.String("D", "", "")
	accept, contentType := fs.String("A", "", ""), fs.String("T", "text/html", "")
	auth, host, agent := fs.String("a", "", ""), fs.String("host", "", ""), fs.String("U", "", "")
	fs.StringVar(&o.Output, "o", "", "")
	fs.IntVar(&o.Workers, "c", 50, "")
	fs.IntVar(&o.Requests, "n", 200, "")
	fs.Float64Var(&o.Rate, "q", 0, "")
	fs.IntVar(&o.TimeoutS, "t", 20, "")
	fs.DurationVar(&o.Duration, "z", 0, "")
	fs.BoolVar(&o.HTTP2, "h2", false, "")
	fs.Int("cpus", 0, "")
	fs.BoolVar(&o.NoCompression, "disable-compression", false, "")
	fs.BoolVar(&o.NoKeepAlive, "disable-keepalive", false, "")
	fs.BoolVar(&o.NoRedirects, "disable-redirects", false, "")
	fs.StringVar(&o.Proxy, "x", "", "")
	var headers []string
	fs.Func("H", "", func(s string) error { headers = append(headers, s); return nil })
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, &errFlags{}
		}
		return nil, &errFlags{strings.Join(strings.Fields(err.Error()), " ")}
	}
	if fs.NArg() < 1 {
		return nil, &usageError{}
	}
	switch {
	case o.Workers <= 0 && o.Duration > 0:
		return nil, &usageError{"-c cannot be smaller than 1."}
	case o.Duration <= 0 && (o.Requests <= 0 || o.Workers <= 0):
		return nil, &usageError{"-n and -c cannot be smaller than 1."}
	case o.Duration <= 0 && o.Requests < o.Workers:
		return nil, &usageError{"-n cannot be less than -c."}
	case *deprecated != "":
		return nil, &usageError{"Flag '-h' is deprecated, please use '-H' instead."}
	}
	if err := checkTemplate(o.Output); err != nil {
		return nil, err
	}
	if o.Rate = max(o.Rate, 0); math.IsNaN(o.Rate) || o.Rate > 1e9 {
		return nil, errors.New("-q: give requests a second, up to 1e9")
	}
	if o.Method = strings.ToUpper(o.Method); o.Method == "" {
		o.Method = "GET"
	}
	if err := o.fields(headers, *accept, *contentType, *host, *agent); err != nil {
		return nil, err
	}
	if *auth != "" {
		m := authForm().FindStringSubmatch(*auth)
		if m == nil {
			return nil, &usageError{"could not parse the provided input; write -a user:password"}
		}
		o.User, o.Password = m[1], m[2]
	}
	if *body != "" {
		o.Body = []byte(*body)
	}
	if *bodyFile != "" {
		var err error
		if o.Body, err = command.ReadFile(*bodyFile); err != nil {
			return nil, err
		}
	}
	var err error
	if o.target, err = endpoints.ParseURL(fs.Arg(0)); err != nil {
		return nil, &usageError{err.Error()}
	}
	return o, nil
}

// fields sets the header fields. Later ones replace earlier ones of the same name.
func (o *Options) fields(given []string, accept, contentType, host, agent string) error {
	set := func(name, value string) {
		for i := range o.Headers {
			if strings.EqualFold(o.Headers[i][0], name) {
				o.Headers[i][1] = value
				return
			}
		}
		o.Headers = append(o.Headers, [2]string{name, value})
	}
	if host != "" {
		set("Host", host)
	}
	set("Content-Type", contentType)
	full := userAgent
	for _, h := range given {
		m := headerForm().FindStringSubmatch(h)
		if m == nil {
			return &usageError{"could not parse the provided input; write -H \"Name: value\""}
		}
		if strings.EqualFold(m[1], "Host") {
			continue // as net/http
		}
		if err := endpoints.ValidHeader(m[1], m[2]); err != nil {
			return &usageError{err.Error()}
		}
		if strings.EqualFold(m[1], "User-Agent") {
			full = m[2] + " " + userAgent
			continue
		}
		set(m[1], m[2])
	}
	if accept != "" {
		set("Accept", accept)
	}
	if agent != "" {
		full = agent + " " + userAgent
	}
	set("User-Agent", full)
	return nil
}

// forever is the timeout of -t 0.
const forever = 24 * time.Hour

// Plan makes the plan: a closed load, or an open one with a limit of the rate.
func (o *Options) Plan() (*plan.Plan, error) {
	request := endpoints.Request{Method: o.Method, URL: o.target, Header: o.Headers, Body: o.Body}
	p := &plan.Plan{Name: "hey-" + endpoints.Address(o.target)}
	if err := endpoints.SetTarget(p, []endpoints.Request{request}); err != nil {
		return nil, err
	}
	endpoints.Secure(&p.Target, true, "", "", "", !o.NoRedirects)
	if o.User != "" {
		p.Target.User, p.Target.Password = o.User, o.Password
	}
	options := p.Target.Options
	options["good"], options["parts"], options["lazy"] = "200-399", "on", "on"
	for name, on := range map[string]bool{"compress": !o.NoCompression, "noreuse": o.NoKeepAlive} {
		if on {
			options[name] = "on"
		}
	}
	if !o.NoRedirects {
		options["redirects"] = "9" // net/http's limit
	}
	if p.Target.Way.Via = o.Proxy; o.Proxy != "" {
		options["proxy"] = "via"
	}
	if !o.HTTP2 {
		options["http2"] = "off"
	}
	endpoints.AddOperation(p, endpoints.Title(&request, false), 1, []endpoints.Request{request}, nil, plan.Pick{})
	each := uint64(o.Requests / o.Workers * o.Workers)
	phase := plan.Phase{Name: "hey", Kind: plan.Closed, Duration: o.Duration, Operations: each}
	if o.Duration > 0 {
		phase.Operations = 0
	}
	if rate := o.Rate * float64(o.Workers); rate > 0 {
		phase.Kind, phase.RateFrom, phase.RateTo = plan.Open, rate, rate
		if o.Duration == 0 {
			phase.Duration = time.Duration(math.Ceil(float64(each)/rate))*time.Second + time.Minute
		}
	}
	p.Load = []plan.Phase{phase}
	p.Settings = plan.Settings{Sessions: o.Workers, OperationTimeout: time.Duration(o.TimeoutS) * time.Second, Retries: -1,
		EndOnTime: o.Duration > 0}
	if o.TimeoutS <= 0 {
		p.Settings.OperationTimeout = forever
	}
	return p, nil
}
