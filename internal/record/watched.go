package record

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
