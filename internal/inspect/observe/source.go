// Package observe watches processes, control groups, machines and services' own metrics while a load runs. A
// goroutine per source takes a sample after each interval and writes it to a file of the record. At the end the
// figures that can leak are judged.
package observe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"brunt/internal/record"
)

// ErrGone means that the observed process or control group no longer exists and won't come back.
var ErrGone = errors.New("it has ended")

// Source is something that can be sampled. Only one goroutine calls its methods.
type Source interface {
	// Name returns the name that the user gave, without secrets.
	Name() string
	// Sample returns the current figures. After an error that wraps ErrGone the source isn't sampled again; any
	// other error counts as a missed sample. ctx limits the duration.
	Sample(ctx context.Context) (Sample, error)
}

// Sample holds the figures of a source at one moment.
type Sample []Value

// Value is one figure.
type Value struct {
	Metric
	Value     float64
	Limit     float64 // the most that Value can reach; 0 if unknown
	LimitName string  // what sets the limit
}

// The units of metrics.
const (
	Bytes       = "bytes"
	Count       = "count"
	Seconds     = "seconds"
	CoreSeconds = "core_seconds" // processor time
	Share       = "share"
)

// Metric describes a figure.
type Metric struct {
	Name    string // what it counts and its unit, in letters, digits and underscores
	Unit    string
	Counter bool   // whether it only grows; its summary is then of its rate per second
	Leak    bool   // whether it is judged for leaks
	Floor   string // counter of collections that cut it back: its minima are judged, not its means
}

// The figures that several kinds of source have.
var (
	metricRSS     = Metric{Name: "rss_bytes", Unit: Bytes, Leak: true}
	metricFiles   = Metric{Name: "open_files", Unit: Count, Leak: true}
	metricThreads = Metric{Name: "threads", Unit: Count, Leak: true}
	metricSockets = Metric{Name: "sockets", Unit: Count, Leak: true}
	metricCPU     = Metric{Name: "cpu_seconds", Unit: CoreSeconds, Counter: true}
	metricHeap    = Metric{Name: "heap_bytes", Unit: Bytes, Leak: true, Floor: "gc_cycles"}
	metricCycles  = Metric{Name: "gc_cycles", Unit: Count, Counter: true}
	metricPauses  = Metric{Name: "gc_pause_seconds", Unit: Seconds, Counter: true}
	metricTasks   = Metric{Name: "goroutines", Unit: Count, Leak: true}
)

// The usual mount points.
const (
	procDir   = "/proc"
	cgroupDir = "/sys/fs/cgroup"
)

const forms = "use host, pid:N, tree:N, url:ADDRESS, node:ADDRESS, cgroup:FOLDER or query:ADDRESS?EXPRESSION"

// Parse returns the source that a text names:
//
//	pid:N                              a process
//	tree:N                             a process and its descendants
//	url:http://HOST/metrics            a service's own metrics in Prometheus' text format
//	cgroup:/sys/fs/cgroup/…            a control group
//	host                               this machine
//	node:http://HOST/metrics           another machine, through node_exporter
//	query:http://HOST?EXPRESSION       the value of an expression on a Prometheus server
//
// Errors tell the user what to write instead and never contain a password.
func Parse(text string) (Source, error) {
	if text == record.WatchedHost {
		return NewHost()
	}
	kind, rest, ok := strings.Cut(text, ":")
	if !ok {
		return nil, fmt.Errorf("%q is not of the form kind:what; %s", text, forms)
	}
	switch kind {
	case "pid", "tree":
		if runtime.GOOS != "linux" {
			return nil, fmt.Errorf("%s: processes can only be watched on Linux; use url:ADDRESS", text)
		}
		pid, err := strconv.Atoi(rest)
		if err != nil || pid < 1 {
			return nil, fmt.Errorf("%s: %q is not the number of a process", text, rest)
		}
		return newProcess(text, procDir, cgroupDir, pid, kind == "tree")
	case "cgroup":
		if rest != "" && !filepath.IsAbs(rest) {
			return nil, fmt.Errorf("%s: give the whole path of the group's folder, below %s", text, cgroupDir)
		}
		return newCgroup(text, os.DirFS("/"), rest)
	case queryKind:
		return newQuery(rest)
	case "url", nodeKind:
		return newScrape(kind, rest)
	}
	return nil, fmt.Errorf("%q can't be watched; %s", kind, forms)
}
