// Package slowcooker takes slow_cooker's command line and prints slow_cooker's lines: flags into a
// plan, intervals into lines, a run into one of its final summaries. What the flags, lines and
// summaries are: github.com/BuoyantIO/slow_cooker, releases 1.0.0 and 1.2.0 and what followed.
package slowcooker

import (
	"bufio"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"brunt/internal/dialect/endpoints"
)

// Options is a command line, understood.
type Options struct {
	// slow_cooker's own.
	URLs          []*url.URL
	Target        string // the argument: a URL, @file or @-
	QPS           int    // a session; the load is QPS × Concurrency
	Concurrency   int
	Iterations    uint64 // reports; 0 means no end
	TotalRequests uint64 // exactly; 0 means no end
	Interval      time.Duration
	Timeout       time.Duration
	Unit          time.Duration // of latencies printed
	Method        string
	Body          []byte
	SecretBody    bool // Body is never printed or stored
	Headers       [][2]string
	Hosts         []string // a request's Host is one of them; empty means the URL's
	NoReuse       bool
	Compress      bool
	HashValue     uint64
	HashEvery     uint32 // 0 means never
	NoSummary     bool
	CSV           string // file for latencies
	MetricAddr    string

	// Ours.
	Layout      *Layout
	Compat      bool   // slow_cooker's known faults as well
	ServiceTime bool   // latency counts from the actual send
	Summary     string // "1.0", "1.2", "report" or "none"
	Insecure    bool   // certificates aren't verified
	CAFile      string
	HTTP1       bool // no HTTP/2
	Redirects   int  // followed by one request
	Duration    time.Duration
	Wait        time.Duration // for the service to come up before the load
	Slice       time.Duration // of the record
	Late        string        // "queue" or "drop"
	Awake       string        // "auto", "on" or "off": see plan.Settings
	Seed        uint64
	Thresholds  []string
	Log         string
	HDRLog      string
	Results     string // folder of run bundles
	Bundle      string // folder of this run's bundle
	NoRecord    bool   // no bundle
	WarmUp      time.Duration
	Quiet       bool
	Exports     []string // where intervals are sent while they happen
	Watched     []string // what is sampled during the load
}

// RatePerS is the load.
func (o *Options) RatePerS() float64 { return float64(o.QPS) * float64(o.Concurrency) }

// maxURLs bounds a list. Every session keeps each URL's request ready, about 500 bytes.
const maxURLs = 100_000

// readURLs reads the argument: a URL, or @file or @- with one on each line.
func readURLs(target string, stdin io.Reader) ([]*url.URL, error) {
	path, isList := strings.CutPrefix(target, "@")
	var in io.Reader = strings.NewReader(target)
	switch {
	case path == "-" && isList:
		in = stdin
	case isList:
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("list of URLs: %w", err)
		}
		defer file.Close()
		in = file
	}
	var all []*url.URL
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if isList && text == "" {
			continue
		}
		u, err := endpoints.ParseURL(text)
		if err != nil {
			return nil, fmt.Errorf("invalid URL on line %d: %w", n, err)
		}
		if len(all) == maxURLs {
			return nil, fmt.Errorf("more than %d URLs; split the list", maxURLs)
		}
		all = append(all, u)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("list of URLs: %w", err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s holds no URL; write one on each line", target)
	}
	return all, nil
}
