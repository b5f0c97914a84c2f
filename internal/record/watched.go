package record

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Watched is something beside the load that was watched, such as a process, and what became of
// it. All its samples are in File.
type Watched struct {
	Source  string          `json:"source"`         // as asked for, without secrets: "pid:4711"; "load" is the load itself
	File    string          `json:"file,omitempty"` // in the bundle
	Samples uint64          `json:"samples"`
	Missed  uint64          `json:"missed,omitempty"` // samples that failed
	Trouble string          `json:"trouble,omitempty"`
	GoneNs  int64           `json:"gone_ns,omitempty"` // since the run's start, when it vanished; 0 if it didn't
	Metrics []WatchedMetric `json:"metrics"`
}

// WatchedHost is the source that is the generator's own machine; others are called "node:ADDRESS".
const WatchedHost = "host"

// WatchedScript is the source that is a script of k6, and WatchedCheck begins the names of its checks' figures.
const (
	WatchedScript = "k6"
	WatchedCheck  = "check "
)

// Metric returns the figure with a name; its Name is "" if there is none.
func (w *Watched) Metric(name string) WatchedMetric {
	if i := slices.IndexFunc(w.Metrics, func(m WatchedMetric) bool { return m.Name == name }); i >= 0 {
		return w.Metrics[i]
	}
	return WatchedMetric{}
}

// WatchedMetric is one figure of something watched, warm-up excluded.
type WatchedMetric struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"` // "bytes", "count", "seconds", "per_s", "cores" or "share"
	First float64 `json:"first"`
	Last  float64 `json:"last"`
	Min   float64 `json:"min"`
	Mean  float64 `json:"mean"`
	Max   float64 `json:"max"`
	Trend *Trend  `json:"trend,omitempty"` // of figures that are judged
	// Kind is what a figure of a script of k6 is: "counter", "gauge", "rate" or "trend"; Values is how many values its
	// mean is of.
	Kind   string `json:"kind,omitempty"`
	Values uint64 `json:"values,omitempty"`
}

// The verdicts of a Trend.
const (
	TrendSteady    = "steady"
	TrendLeak      = "leak"
	TrendLevelling = "levelling" // it grew, but not in the later half
	TrendDrift     = "drift"     // of throughput
	TrendUnjudged  = "unjudged"  // see Why
)

// Trend is the judgement of a figure's change over the run: Mann–Kendall's test on 12 batches and
// Theil–Sen's slope.
type Trend struct {
	Verdict      string  `json:"verdict"`
	Why          string  `json:"why,omitempty"`
	P            float64 `json:"p,omitempty"`
	Share        float64 `json:"share,omitempty"`      // change over the run ÷ median
	PerHour      float64 `json:"per_hour,omitempty"`   // in the metric's unit
	Limit        float64 `json:"limit,omitempty"`      // that the figure can't exceed; 0 if unknown
	LimitName    string  `json:"limit_name,omitempty"` // what sets it
	HoursToLimit float64 `json:"hours_to_limit,omitempty"`
}

// WatchedHeader is the first line of a source's file.
type WatchedHeader struct {
	Schema int    `json:"schema"`
	Source string `json:"source"` // see Watched
}

// WatchedSample is a further line of it: the figures at the end of an interval. Counters are as they were
// read, so that their rates are differences of samples.
type WatchedSample struct {
	TNs    int64              `json:"t_ns"` // since the run's start
	UnixNs int64              `json:"unix_ns"`
	Phase  string             `json:"phase,omitempty"`
	WarmUp bool               `json:"warm_up,omitempty"`
	Values map[string]float64 `json:"values,omitempty"` // by WatchedMetric's names
	Error  string             `json:"error,omitempty"`  // why there are none
}

// WatchedSamples calls each with every sample of the sources that are wanted, source by source in the
// order in which they were named, until each fails. It reads those of runs under way and of killed runs
// too; damaged lines are passed over.
func (r *Recorded) WatchedSamples(wanted func(source string) bool, each func(source string, s *WatchedSample) error) error {
	names, err := r.fsys.List(filepath.Join(r.Dir, WatchedFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list what was watched: %w", err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".ndjson") })
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(leadingNumber(a), leadingNumber(b)) })
	for _, name := range names {
		source, known := "", false
		err := r.lines(path.Join(WatchedFolder, name), func(line []byte) (func() error, error) {
			if known {
				s := &WatchedSample{}
				err := json.Unmarshal(line, s)
				return func() error { return each(source, s) }, err
			}
			var h WatchedHeader
			ok := json.Unmarshal(line, &h) == nil && h.Schema == 1 && wanted(h.Source)
			source, known = h.Source, true
			return func() error {
				if ok {
					return nil
				}
				return errUnwanted
			}, nil
		})
		if err != nil && !errors.Is(err, errUnwanted) {
			return err
		}
	}
	return nil
}

var errUnwanted = errors.New("unwanted")

// leadingNumber is the number of a source's file: "12-pid-4711.ndjson".
func leadingNumber(name string) int {
	n, _, _ := strings.Cut(name, "-")
	number, _ := strconv.Atoi(n)
	return number
}
