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

	"brunt/internal/render/message"
)

// Watched is something that was observed during the load, such as a process, and a summary of its metrics. All its
// samples are in File.
type Watched struct {
	Source  string          `json:"source"`         // as given by the user, without secrets: "pid:4711"; "load": the load
	File    string          `json:"file,omitempty"` // in the bundle
	Samples uint64          `json:"samples"`
	Missed  uint64          `json:"missed,omitempty"` // samples that failed
	Trouble string          `json:"trouble,omitempty"`
	GoneNs  int64           `json:"gone_ns,omitempty"` // when it vanished, since the run's start; 0 if it didn't
	Metrics []WatchedMetric `json:"metrics"`
}

// WatchedHost is the source for the generator's own machine. WatchedNode is the prefix of sources for other machines.
const (
	WatchedHost = "host"
	WatchedNode = "node:"
)

// Texts of --watch that are no sources: WatchedNoHost turns off sampling of the generator's machine. WatchedServer asks
// what limits the processes of the load's targets, if they run on that machine; --inspect does so, too.
const (
	WatchedNoHost = WatchedHost + ":off"
	WatchedServer = "server"
)

// partSource returns the name of a source of one part of a merged run: "part-2/host".
func partSource(folder, source string) string { return folder + "/" + source }

// OwnSource returns a source's name within its own part of a merged run: "host" for "part-2/host". Other names are
// returned unchanged.
func OwnSource(source string) string {
	folder, own, ok := strings.Cut(source, "/")
	if n, is := strings.CutPrefix(folder, "part-"); ok && is && leadingNumber(n) > 0 {
		return own
	}
	return source
}

// IsMachine reports whether a source is a machine, as opposed to a process or a service.
func IsMachine(source string) bool {
	own := OwnSource(source)
	return own == WatchedHost || strings.HasPrefix(own, WatchedNode)
}

// WatchedScript is the source for a k6 script. WatchedCheck is the prefix of the metrics of its checks.
const (
	WatchedScript = "k6"
	WatchedCheck  = "check "
)

// Metric returns the metric called name; its Name is "" if there is none.
func (w *Watched) Metric(name string) WatchedMetric {
	if i := slices.IndexFunc(w.Metrics, func(m WatchedMetric) bool { return m.Name == name }); i >= 0 {
		return w.Metrics[i]
	}
	return WatchedMetric{}
}

// WatchedMetric is one metric of an observed source, without warm-up.
type WatchedMetric struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"` // "bytes", "count", "seconds", "per_s", "cores" or "share"
	First float64 `json:"first"`
	Last  float64 `json:"last"`
	Min   float64 `json:"min"`
	Mean  float64 `json:"mean"`
	Max   float64 `json:"max"`
	Trend *Trend  `json:"trend,omitempty"` // only of metrics that are judged
	// Kind is the type of a k6 metric: "counter", "gauge", "rate" or "trend". Values is the number of values in its
	// mean.
	Kind   string `json:"kind,omitempty"`
	Values uint64 `json:"values,omitempty"`
}

// The verdicts of a Trend.
const (
	TrendSteady    = "steady"
	TrendLeak      = "leak"
	TrendLevelling = "levelling" // it grew, but not in the second half
	TrendDrift     = "drift"     // of throughput
	TrendUnjudged  = "unjudged"  // see Why
)

// Trend is the assessment of a metric's change over the run, by the Mann–Kendall test on 12 batches and the Theil–Sen
// slope.
type Trend struct {
	Verdict      string          `json:"verdict"`
	Why          message.Message `json:"why,omitzero"`
	P            float64         `json:"p,omitempty"`
	Share        float64         `json:"share,omitempty"`      // change over the run ÷ median
	PerHour      float64         `json:"per_hour,omitempty"`   // in the metric's unit
	Limit        float64         `json:"limit,omitempty"`      // upper limit of the metric; 0 if unknown
	LimitName    string          `json:"limit_name,omitempty"` // what imposes the limit
	HoursToLimit float64         `json:"hours_to_limit,omitempty"`
}

// WatchedHeader is the first line of a source's file.
type WatchedHeader struct {
	Schema int    `json:"schema"`
	Source string `json:"source"` // see Watched
}

// WatchedSample is a further line of the file: the values at the end of an interval. Counters are stored as read; their
// rates are differences of samples.
type WatchedSample struct {
	TNs    int64              `json:"t_ns"` // since the run's start
	UnixNs int64              `json:"unix_ns"`
	Phase  string             `json:"phase,omitempty"`
	WarmUp bool               `json:"warm_up,omitempty"`
	Values map[string]float64 `json:"values,omitempty"` // by WatchedMetric.Name
	Error  string             `json:"error,omitempty"`  // why there are no values
}

// WatchedSamples calls each with every sample of the sources for which wanted returns true, until each fails. It goes
// source by source, in the order in which the user named them. Sources of the parts of a merged run have names such as
// "part-2/host". It also reads the samples of running and of killed runs. It skips damaged lines.
func (r *Recorded) WatchedSamples(wanted func(source string) bool,
	each func(source string, s *WatchedSample) error) error {
	if err := r.samplesIn(WatchedFolder, wanted, each); err != nil {
		return err
	}
	for i := 0; ; i++ {
		folder := partFolder(i)
		within := path.Join(WatchedFolder, folder)
		if _, err := r.fsys.List(filepath.Join(r.Dir, within)); err != nil {
			return nil // there are no more parts
		}
		err := r.samplesIn(within, func(source string) bool { return wanted(partSource(folder, source)) },
			func(source string, s *WatchedSample) error { return each(partSource(folder, source), s) })
		if err != nil {
			return err
		}
	}
}

// samplesIn does the work of WatchedSamples for one folder.
func (r *Recorded) samplesIn(folder string, wanted func(string) bool, each func(string, *WatchedSample) error) error {
	names, err := r.fsys.List(filepath.Join(r.Dir, folder))
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
		err := r.lines(path.Join(folder, name), func(line []byte) (func() error, error) {
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

// leadingNumber returns the number that a source's file name begins with, such as 12 for "12-pid-4711.ndjson"; 0 if
// none.
func leadingNumber(name string) int {
	n, _, _ := strings.Cut(name, "-")
	number, _ := strconv.Atoi(n)
	return number
}

// merge adds the metrics of another part. Counters are added up, means are weighted by the number of values.
func (w *Watched) merge(part *Watched) {
	w.Samples, w.Missed = w.Samples+part.Samples, w.Missed+part.Missed
	for _, m := range part.Metrics {
		i := slices.IndexFunc(w.Metrics, func(have WatchedMetric) bool { return have.Name == m.Name })
		if i < 0 {
			w.Metrics = append(w.Metrics, m)
			continue
		}
		to := &w.Metrics[i]
		if m.Kind == "counter" {
			to.First, to.Last, to.Min, to.Mean, to.Max = to.First+m.First, to.Last+m.Last, to.Min+m.Min, to.Mean+m.Mean,
				to.Max+m.Max
			continue
		}
		was, more := float64(to.Values), float64(m.Values)
		mean := func(a, b float64) float64 { return share(a*was+b*more, was+more) }
		to.First, to.Last, to.Mean = mean(to.First, m.First), mean(to.Last, m.Last), mean(to.Mean, m.Mean)
		to.Min, to.Max, to.Values = min(to.Min, m.Min), max(to.Max, m.Max), to.Values+m.Values
	}
}
