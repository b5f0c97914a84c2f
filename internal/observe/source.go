// Package observe watches what else happens while a load runs: processes, services' own metrics,
// control groups. Each source is sampled once an interval, by a goroutine of its own, into a file
// of the record; at the end the figures that can leak are judged.
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

// ErrGone says that what was watched doesn't exist any more and won't come back.
var ErrGone = errors.New("it has ended")

// Source is something that is watched. Its methods are called by one goroutine.
type Source interface {
	// Name is what the user called it, without secrets.
	Name() string
	// Sample reads its figures now. An error that wraps ErrGone ends the watching of it; any
	// other is a missed sample. ctx bounds the time.
	Sample(ctx context.Context) (Sample, error)
}

// Sample is a source's figures at one moment.
type Sample []Value

// Value is one figure.
type Value struct {
	Metric
	Value     float64
	Limit     float64 // that Value can't exceed; 0 if unknown
	LimitName string  // what sets it
}

// The units of metrics.
const (
	Bytes       = "bytes"
	Count       = "count"
	Seconds     = "seconds"
	CoreSeconds = "core_seconds" // of processors' time
	Share       = "share"
)

// Metric says what a figure is.
type Metric struct {
	Name    string // with letters, digits and underscores; what it counts and its unit
	Unit    string
	Counter bool   // it only grows: its summary is of its rate per second
	Leak    bool   // it is judged for leaks
	Floor   string // the counter of collections that cut it back: its floor is judged, not its mean
}

// The figures that several sources have.
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

// Parse returns the source that a text names: "pid:N" (a process), "tree:N" (a process with its
// descendants), "url:http://HOST/metrics" (a service's own metrics in Prometheus' text format),
// "cgroup:/sys/fs/cgroup/…" (a control group), "host" (this machine), "node:http://HOST/metrics" (another
// machine through node_exporter) or "query:http://HOST?EXPRESSION" (what a Prometheus server makes of an
// expression). Errors say what to write instead and hold no password.
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
