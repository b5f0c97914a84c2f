// Package ab is the command line and the report of ab, ApacheBench 2.3 (httpd.apache.org/docs/2.4/programs/ab.html).
package ab

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"brunt/internal/dialect/command"
	"brunt/internal/dialect/endpoints"
	"brunt/internal/dialect/httpload"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/protocol/socket"
)

// Options are the options of a command line.
type Options struct {
	Requests    uint64
	Concurrency int
	Limit       time.Duration // the load ends then; 0: it doesn't
	Timeout     time.Duration // of a request
	Method      string
	Body        []byte
	ContentType string
	Headers     []string
	Cookies     []string
	Auth, Proxy string // user:password
	Via         string // host:port of a proxy
	KeepAlive   bool
	Variable    bool // answers may have different lengths
	NoTable     bool // no percentages
	NoDeviation bool
	Quiet       bool // no progress
	Gnuplot     string
	CSV         string
	Cert        string
	NoSNI       bool   // TLS without the server's name
	Protocol    string // of TLS
	HTML        bool   // the report is a table in HTML
	Table       string // attributes of the table, its rows and its cells
	Row, Cell   string

	Version, Help bool
	target        *url.URL
}

// errors of the command line, after which ab prints its usage.
var errUsage = errors.New("")

// letters are ab's options.
const letters = "+n:c:t:s:b:T:p:u:v:lrkVhwiIx:y:z:C:H:P:A:g:X:de:SqB:m:Z:f:E:"

// refused are the options that can't be had, each with what to do.
var refused = map[rune]string{
	'B': "the system chooses the address; use a route or a namespace",
	'Z': "Go chooses the ciphers; limit them at the server",
}

// Parse parses a command line without the program's name.
func Parse(args []string) (*Options, error) {
	o := &Options{Concurrency: 1, Requests: 1, Timeout: 30 * time.Second, Method: "GET", ContentType: "text/plain",
		Cell: "bgcolor=white"}
	options, rest, err := httpload.Getopt(args, letters, nil)
	if err != nil {
		return nil, fmt.Errorf("ab: %w%w", err, errUsage)
	}
	for _, given := range options {
		if err := o.set(given); err != nil {
			return nil, err
		}
	}
	if o.Help || o.Version {
		return o, nil
	}
	if len(rest) != 1 {
		return nil, fmt.Errorf("ab: wrong number of arguments%w", errUsage)
	}
	return o, o.check(rest[0])
}

func (o *Options) set(given httpload.Option) (err error) {
	v := given.Value
	if why, no := refused[given.Letter]; no {
		return fmt.Errorf("ab: -%c isn't available: %s", given.Letter, why)
	}
	switch given.Letter {
	case 'n':
		if o.Requests, err = strconv.ParseUint(v, 10, 40); err != nil || o.Requests == 0 {
			//lint:ignore ST1005 ab's words
			return errors.New("Invalid number of requests")
		}
	case 'c':
		if o.Concurrency, err = strconv.Atoi(v); err != nil || o.Concurrency < 1 || o.Concurrency > 20_000 {
			return fmt.Errorf("ab: Invalid Concurrency [Range 0..20000]%w", errUsage)
		}
	case 't', 's':
		s, err := strconv.Atoi(v)
		if err != nil || s < 1 {
			return fmt.Errorf("ab: -%c %s: give seconds above zero", given.Letter, v)
		}
		if given.Letter == 's' {
			o.Timeout = time.Duration(s) * time.Second
		} else {
			o.Limit, o.Requests = time.Duration(s)*time.Second, 50_000
		}
	case 'p':
		return o.file("POST", v)
	case 'u':
		return o.file("PUT", v)
	case 'T':
		o.ContentType = v
	case 'i':
		o.Method = "HEAD"
	case 'm':
		o.Method = v
	case 'C':
		o.Cookies = append(o.Cookies, v)
	case 'H':
		if _, _, err := endpoints.ParseHeader(v); err != nil {
			return fmt.Errorf("ab: -H: %w", err)
		}
		o.Headers = append(o.Headers, v)
	case 'A':
		o.Auth = v
	case 'P':
		o.Proxy = v
	case 'X':
		o.Via = v
	case 'x', 'y', 'z':
		*map[rune]*string{'x': &o.Table, 'y': &o.Row, 'z': &o.Cell}[given.Letter] = v
		o.HTML = true
	case 'f':
		o.Protocol = strings.ToUpper(v)
	case 'g':
		o.Gnuplot = v
	case 'e':
		o.CSV = v
	case 'E':
		o.Cert = v
	default:
		o.flag(given.Letter)
	}
	return nil
}

// flag sets an option without a value. -r is how brunt always works; -v prints nothing more, and the system chooses
// better sizes of buffers than -b.
func (o *Options) flag(letter rune) {
	switch letter {
	case 'k':
		o.KeepAlive = true
	case 'l':
		o.Variable = true
	case 'd':
		o.NoTable = true
	case 'S':
		o.NoDeviation = true
	case 'q':
		o.Quiet = true
	case 'I':
		o.NoSNI = true
	case 'w':
		o.HTML = true
	case 'V':
		o.Version = true
	case 'h':
		o.Help = true
	}
}

func (o *Options) file(method, path string) (err error) {
	o.Method = method
	if o.Body, err = command.ReadFile(path); err != nil {
		return fmt.Errorf("ab: Could not open POST data file (%s): %w", path, errors.Unwrap(err))
	}
	if o.Body == nil {
		o.Body = []byte{}
	}
	return nil
}

func (o *Options) check(text string) error {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := endpoints.ParseURL(text)
	if err != nil || u.Path == "" {
		return fmt.Errorf("ab: invalid URL%w", errUsage)
	}
	o.target = u
	if o.Requests < uint64(o.Concurrency) {
		return fmt.Errorf("ab: Cannot use concurrency level greater than total number of requests%w", errUsage)
	}
	if o.Protocol != "" && o.Protocol != "ALL" && u.Scheme == "https" {
		return fmt.Errorf("ab: -f %s isn't available with https: Go takes the newest of TLS 1.2 and 1.3; "+
			"limit the versions at the server", o.Protocol)
	}
	if o.Via != "" {
		if !strings.Contains(o.Via, ":") {
			o.Via += ":80"
		}
		if _, _, err := net.SplitHostPort(o.Via); err != nil {
			return fmt.Errorf("ab: -X %s: write host:port", o.Via)
		}
		if u.Scheme == "https" {
			return errors.New("ab: -X isn't available with https")
		}
	}
	return nil
}

// Text returns the request as it is sent.
func (o *Options) Text() string {
	var b strings.Builder
	path := o.target.RequestURI()
	if o.Via != "" {
		path = o.target.String()
	}
	fmt.Fprintf(&b, "%s %s HTTP/1.0\r\n", o.Method, path)
	if o.KeepAlive {
		b.WriteString("Connection: Keep-Alive\r\n")
	}
	if len(o.Cookies) > 0 {
		b.WriteString("Cookie: " + strings.Join(o.Cookies, "; ") + "\r\n")
	}
	for _, a := range [][2]string{{"Authorization", o.Auth}, {"Proxy-Authorization", o.Proxy}} {
		if a[1] != "" {
			fmt.Fprintf(&b, "%s: Basic %s\r\n", a[0], base64.StdEncoding.EncodeToString([]byte(a[1])))
		}
	}
	if o.Body != nil {
		fmt.Fprintf(&b, "Content-length: %d\r\nContent-type: %s\r\n", len(o.Body), o.ContentType)
	}
	for _, h := range o.Headers {
		b.WriteString(h + "\r\n")
	}
	host := socket.WithoutZone(o.target.Host)
	for _, d := range [][2]string{{"Host", host}, {"User-Agent", "ApacheBench/2.3"}, {"Accept", "*/*"}} {
		if !o.gave(d[0]) {
			fmt.Fprintf(&b, "%s: %s\r\n", d[0], d[1])
		}
	}
	return b.String() + "\r\n" + string(o.Body)
}

func (o *Options) gave(name string) bool {
	for _, h := range o.Headers {
		if len(h) > len(name) && strings.EqualFold(h[:len(name)+1], name+":") {
			return true
		}
	}
	return false
}

// Plan makes the plan: a closed load of a number of requests, over connections of their own without -k.
func (o *Options) Plan() (*plan.Plan, error) {
	request := endpoints.Request{Method: o.Method, URL: o.target}
	p := &plan.Plan{Name: "ab-" + endpoints.Address(o.target)}
	if err := endpoints.SetTarget(p, []endpoints.Request{request}); err != nil {
		return nil, err
	}
	endpoints.Secure(&p.Target, true, "", o.Cert, o.Cert, false) // as ab
	if o.NoSNI && o.target.Scheme == "https" {
		p.Target.TLS.ServerName = "0.0.0.0" // addresses aren't sent as SNI, and ab verifies no names
	}
	if o.Via != "" {
		p.Target.Addresses = []string{o.Via}
	}
	p.Target.User, p.Target.Password = "", ""
	p.Target.Options["good"], p.Target.Options["parts"] = "200-399", "on"
	if !o.KeepAlive {
		p.Target.Options["noreuse"] = "on"
	}
	w := &protocol.Web{Method: strings.ToUpper(o.Method), Path: "/", Raw: true,
		Body: []byte(strings.ReplaceAll(o.Text(), "$", "$$"))}
	p.Operations = []plan.Operation{{Name: endpoints.Name(endpoints.Title(&request, false)), Weight: 1,
		Steps: []plan.Step{{Request: protocol.Request{Verb: protocol.HTTP, Web: w}}}}}
	p.Load = []plan.Phase{{Name: "ab", Kind: plan.Closed, Duration: o.Limit, Operations: o.Requests}}
	p.Settings = plan.Settings{Sessions: o.Concurrency, OperationTimeout: o.Timeout, Retries: -1, EndOnTime: o.Limit > 0}
	return p, nil
}
