// Package slowcooker implements slow_cooker's command line and output. It converts flags to a plan, intervals to lines,
// and a run to one of slow_cooker's final summaries. The flags, lines and summaries are those of
// github.com/BuoyantIO/slow_cooker, releases 1.0.0, 1.2.0 and later commits.
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

// Options are the options of a parsed command line.
type Options struct {
	// Options of slow_cooker.
	URLs          []*url.URL
	Target        string // the argument: a URL, @file or @-
	QPS           int    // per session; the load is QPS × Concurrency
	Concurrency   int
	Iterations    uint64 // number of reports; 0 means no end
	TotalRequests uint64 // exact number; 0 means no end
	Interval      time.Duration
	Timeout       time.Duration
	Unit          time.Duration // of printed latencies
	Method        string
	Body          []byte
	SecretBody    bool // Body is never printed or stored
	Headers       [][2]string
	Hosts         []string // a request's Host is one of them; empty means the URL's host
	NoReuse       bool
	Compress      bool
	HashValue     uint64
	HashEvery     uint32 // 0 means never
	NoSummary     bool
	CSV           string // file for latencies
	MetricAddr    string

	// Options that only brunt has.
	Layout      *Layout
	Compat      bool   // reproduce slow_cooker's known faults
	ServiceTime bool   // measure latency from the actual send
	Summary     string // "1.0", "1.2", "report" or "none"
	Insecure    bool   // don't verify certificates
	CAFile      string
	CertFile    string
	KeyFile     string
	HTTP1       bool // don't use HTTP/2
	Redirects   int  // how many a request follows
	Duration    time.Duration
	Wait        time.Duration // how long to wait for the service to come up before the load
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
	Exports     []string // where intervals are sent during the run
	Watched     []string // what is sampled during the load
	Inspected   []string // servers that are asked what they did
}

// RatePerS returns the load in requests a second.
func (o *Options) RatePerS() float64 { return float64(o.QPS) * float64(o.Concurrency) }

// maxURLs is the most URLs of a list. Every session keeps a prepared request for each, of about 500 bytes.
const maxURLs = 100_000

// readURLs reads the argument: a URL, or @file or @- for a list with a URL on each line.
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
		text := lines.Text()
		if n == 1 && isList {
			text = strings.TrimPrefix(text, "\ufeff") // a byte order mark, which editors of Windows write
		}
		text = strings.TrimSpace(text)
		if isList && text == "" {
			continue
		}
		u, err := endpoints.ParseURL(text)
		if err != nil {
			if isList {
				err = fmt.Errorf("%s:%d: %w", path, n, err)
			}
			return nil, fmt.Errorf("invalid URL: %w", err)
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
