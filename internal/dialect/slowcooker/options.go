// Package slowcooker takes slow_cooker's command line and prints slow_cooker's lines: flags into a
// plan, intervals into lines, a run into one of its final summaries. What the flags, lines and
// summaries are: github.com/BuoyantIO/slow_cooker, releases 1.0.0 and 1.2.0 and what followed.
package slowcooker

import (
	"net/url"
	"time"
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
	Watched     []string // what is sampled beside the load
}

// RatePerS is the load.
func (o *Options) RatePerS() float64 { return float64(o.QPS) * float64(o.Concurrency) }
