// Package ab is the command line and the report of ab, ApacheBench 2.3 (httpd.apache.org/docs/2.4/programs/ab.html).
package ab

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"brunt/internal/dialect/command"
	"brunt/internal/dialect/endpoints"
	"brunt/internal/dialect/httpload"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/protocol/socket"
	"brunt/internal/server/connection"
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
	Protocol    string // of TLS; "" or "ALL": 1.2 and 1.3
	Ciphers     string // of TLS; "": Go's choice
	From        string // IP address from which connections go; "": the system chooses it
	HTML        bool   // the report is a table in HTML
	Table       string // attributes of the table, its rows and its cells
	Row, Cell   string

	Version, Help bool
	target        *url.URL
	chosen        bool // an option has chosen the method
}

// errors of the command line, after which ab prints its usage.
var errUsage = errors.New("")

// letters are ab's options.
const letters = "+n:c:t:s:b:T:p:u:v:lrkVhwiIx:y:z:C:H:P:A:g:X:de:SqB:m:Z:f:E:"

// versions are the versions of TLS, by ab's names. ab ignores other names, as does brunt.
var versions = map[string]string{"TLS1": "1.0", "TLS1.1": "1.1", "TLS1.2": "1.2", "TLS1.3": "1.3"}

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
	switch given.Letter {
	case 'n':
		n := atoi(v)
		if n <= 0 {
			//lint:ignore ST1005 ab's words
			return errors.New("Invalid number of requests")
		}
		o.Requests = uint64(n)
	case 'c':
		if o.Concurrency = int(atoi(v)); o.Concurrency < 1 || o.Concurrency > 20_000 {
			return fmt.Errorf("ab: Invalid Concurrency [Range 0..20000]%w", errUsage)
		}
	case 't':
		s := atoi(v)
		if s < 0 {
			return fmt.Errorf("ab: -t %s: give seconds above zero", v)
		}
		o.Limit, o.Requests = time.Duration(s)*time.Second, 50_000
	case 's':
		return o.setTimeout(v)
	case 'p':
		return o.file("POST", v)
	case 'u':
		return o.file("PUT", v)
	case 'T':
		o.ContentType = v
	case 'i':
		return o.choose("HEAD")
	case 'm':
		o.Method, o.chosen = v, true
	case 'B':
		return o.bind(v)
	case 'Z':
		if o.Ciphers = v; v == "" {
			return errors.New("error setting ciphersuite list []")
		}
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
		if o.Via = v; v == "" {
			return errors.New("ab: -X: write host:port")
		}
	case 'x', 'y', 'z':
		*map[rune]*string{'x': &o.Table, 'y': &o.Row, 'z': &o.Cell}[given.Letter] = v
		o.HTML = true
	case 'f':
		o.Protocol = strings.ToUpper(v)
	case 'g':
		if o.Gnuplot = v; v == "" {
			//lint:ignore ST1005 ab's words
			return errors.New("Cannot open gnuplot output file: No such file or directory")
		}
	case 'e':
		if o.CSV = v; v == "" {
			//lint:ignore ST1005 ab's words
			return errors.New("Cannot open CSV output file: No such file or directory")
		}
	case 'E':
		if o.Cert = v; !readable(v) {
			return fmt.Errorf("unable to get certificate from '%s'", v)
		}
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

// readable reports whether a file can be read.
func readable(path string) bool {
	f, err := os.Open(path)
	if err == nil {
		f.Close()
	}
	return err == nil
}

// choose sets the method, which only -m may set again.
func (o *Options) choose(method string) error {
	if o.chosen {
		//lint:ignore ST1005 ab's words
		return fmt.Errorf("Cannot mix %s with other methods", method)
	}
	o.Method, o.chosen = method, true
	return nil
}

// atoi reads the number at the beginning of a text, as C's atoi: 0 if there is none.
func atoi(text string) int64 {
	text = strings.TrimLeft(text, " \t\n\v\f\r")
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || end == 0 && (text[0] == '-' || text[0] == '+')) {
		end++
	}
	n, err := strconv.ParseInt(text[:end], 10, 32)
	if errors.Is(err, strconv.ErrRange) {
		return -1 // as the 64 bits of a larger number are cut to 32
	}
	return n
}

// setTimeout sets the time for a request; below 0 means without end.
func (o *Options) setTimeout(text string) error {
	switch s := atoi(text); {
	case s == 0:
		return fmt.Errorf("ab: -s %s: give seconds above zero", text)
	case s < 0:
		o.Timeout = forever
	default:
		o.Timeout = time.Duration(s) * time.Second
	}
	return nil
}

// forever is the time for requests without one.
const forever = 24 * time.Hour

// bind sets the address from which connections go, by its name or as an IP address.
func (o *Options) bind(host string) error {
	ip, err := net.ResolveIPAddr("ip", host)
	if host == "" || err != nil {
		return fmt.Errorf("ab: -B %s: it isn't an address of this machine", host)
	}
	if !ip.IP.IsUnspecified() {
		o.From = ip.String()
	}
	return nil
}

func (o *Options) file(method, path string) (err error) {
	if err := o.choose(method); err != nil {
		return err
	}
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
	if (o.Protocol == "SSL2" || o.Protocol == "SSL3") && u.Scheme == "https" {
		return fmt.Errorf("ab: -f %s isn't available with https: use TLS1, TLS1.1, TLS1.2, TLS1.3 or ALL", o.Protocol)
	}
	if _, err := connection.Ciphers(ciphersOf(o.Ciphers)); err != nil && u.Scheme == "https" {
		return fmt.Errorf("ab: -Z %s: %w", o.Ciphers, err)
	}
	if o.Via != "" {
		if !strings.Contains(o.Via, ":") {
			o.Via += ":80"
		}
		if _, _, err := net.SplitHostPort(o.Via); err != nil {
			return fmt.Errorf("ab: -X %s: write host:port", o.Via)
		}
	}
	return nil
}

// ciphersOf returns the names in a list of ciphers as OpenSSL has it, or "" if it has a group of them, for all that Go
// takes.
func ciphersOf(list string) string {
	var names []string
	parts := func(c rune) bool { return strings.ContainsRune(":, ", c) }
	for name := range strings.FieldsFuncSeq(list, parts) {
		switch name {
		case "ALL", "DEFAULT", "HIGH", "MEDIUM":
			return ""
		}
		names = append(names, name)
	}
	return strings.Join(names, ":")
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
	if o.Via != "" { // with https, ab has TLS to the proxy, too
		if o.target.Scheme == "https" && !o.NoSNI {
			p.Target.TLS.ServerName = o.target.Hostname()
		}
		p.Target.Addresses = []string{o.Via}
	}
	if p.Target.Way.From = o.From; o.target.Scheme == "https" {
		v := versions[o.Protocol]
		p.Target.TLS.MinVersion, p.Target.TLS.MaxVersion, p.Target.TLS.Ciphers = v, v, ciphersOf(o.Ciphers)
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
