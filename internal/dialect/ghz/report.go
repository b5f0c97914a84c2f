package ghz

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Settings are the options of a load as reports in JSON have them, in their order.
type Settings struct {
	Call              string   `json:"call,omitempty"`
	Host              string   `json:"host,omitempty"`
	Proto             string   `json:"proto,omitempty"`
	Protoset          string   `json:"protoset,omitempty"`
	ImportPaths       []string `json:"import-paths,omitempty"`
	EnableCompression bool     `json:"enable-compression,omitempty"`

	CACert    string `json:"cacert,omitempty"`
	Cert      string `json:"cert,omitempty"`
	Key       string `json:"key,omitempty"`
	CName     string `json:"cname,omitempty"`
	SkipTLS   bool   `json:"skipTLS,omitempty"`
	Insecure  bool   `json:"insecure"`
	Authority string `json:"authority,omitempty"`

	RPS              int           `json:"rps,omitempty"`
	LoadSchedule     string        `json:"load-schedule"`
	LoadStart        int           `json:"load-start"`
	LoadEnd          int           `json:"load-end"`
	LoadStep         int           `json:"load-step"`
	LoadStepDuration time.Duration `json:"load-step-duration"`
	LoadMaxDuration  time.Duration `json:"load-max-duration"`

	Concurrency  int           `json:"concurrency,omitempty"`
	CSchedule    string        `json:"concurrency-schedule"`
	CStart       int           `json:"concurrency-start"`
	CEnd         int           `json:"concurrency-end"`
	CStep        int           `json:"concurrency-step"`
	CStepTime    time.Duration `json:"concurrency-step-duration"`
	CMaxDuration time.Duration `json:"concurrency-max-duration"`

	Total int  `json:"total,omitempty"`
	Async bool `json:"async,omitempty"`

	Connections int           `json:"connections,omitempty"`
	Duration    time.Duration `json:"duration,omitempty"`
	Timeout     time.Duration `json:"timeout,omitempty"`
	DialTimeout time.Duration `json:"dial-timeout,omitempty"`
	KeepAlive   time.Duration `json:"keepalive,omitempty"`

	Data     any                `json:"data,omitempty"`
	Binary   bool               `json:"binary"`
	Metadata *map[string]string `json:"metadata,omitempty"`

	CPUs int    `json:"CPUs"`
	Name string `json:"name,omitempty"`

	SkipFirst   int  `json:"skipFirst,omitempty"`
	CountErrors bool `json:"count-errors,omitempty"`
}

// Report is what ghz reports. Its fields are in the order of the report in JSON.
type Report struct {
	Date      string   `json:"date"` // RFC 3339
	Name      string   `json:"name,omitempty"`
	EndReason string   `json:"endReason,omitempty"`
	Options   Settings `json:"options,omitempty"`

	Count   uint64        `json:"count"`
	Total   time.Duration `json:"total"`
	Average time.Duration `json:"average"`
	Fastest time.Duration `json:"fastest"`
	Slowest time.Duration `json:"slowest"`
	RPS     float64       `json:"rps"`

	Errors   map[string]int `json:"errorDistribution"`
	Statuses map[string]int `json:"statusCodeDistribution"`

	Quantiles []Quantile        `json:"latencyDistribution"`
	Histogram []Bucket          `json:"histogram"`
	Details   []Detail          `json:"details"`
	Tags      map[string]string `json:"tags,omitempty"`
}

// Quantile is a time that a percentage of the calls didn't exceed.
type Quantile struct {
	Percentage int           `json:"percentage"`
	Latency    time.Duration `json:"latency"`
}

// Bucket is a bar of the histogram: how many times are at most Mark.
type Bucket struct {
	Mark      float64 `json:"mark"` // s
	Count     int     `json:"count"`
	Frequency float64 `json:"frequency"`
}

// Detail is a call.
type Detail struct {
	Timestamp time.Time     `json:"timestamp"` // its end
	Latency   time.Duration `json:"latency"`
	Error     string        `json:"error"`
	Status    string        `json:"status"`
}

// mostDetails is the greatest number of calls that a report has details of.
const mostDetails = 1_000_000

var percentages = [...]int{10, 25, 50, 75, 90, 95, 99}

const bars = 10 // of the histogram, and one for the fastest

// Tally computes what a report says about calls, in the order of their ends. total is the length of the load.
func (r *Report) Tally(all []Detail, total time.Duration) {
	r.Total, r.Errors, r.Statuses = total, map[string]int{}, map[string]int{}
	if n := min(r.Options.SkipFirst, len(all)); n > 0 {
		all = all[n:]
	}
	sum := 0.0
	var seconds []float64
	for i := range all {
		d := &all[i]
		r.Count++
		sum += d.Latency.Seconds()
		r.Statuses[d.Status]++
		if d.Error != "" {
			r.Errors[d.Error]++
		}
		if i < mostDetails && (d.Error == "" || r.Options.CountErrors) {
			seconds = append(seconds, d.Latency.Seconds())
		}
	}
	if r.Count == 0 {
		return
	}
	r.Details = all[:min(len(all), mostDetails)]
	r.Average = time.Duration(sum / float64(r.Count) * float64(time.Second))
	r.RPS = float64(r.Count) / total.Seconds()
	if len(seconds) == 0 {
		return
	}
	slices.Sort(seconds)
	fastest, slowest := seconds[0], seconds[len(seconds)-1]
	r.Fastest, r.Slowest = nanoseconds(fastest), nanoseconds(slowest)
	r.Histogram, r.Quantiles = histogram(seconds), quantiles(seconds)
}

func nanoseconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// quantiles returns the times at the percentages. Those of 0 are left out, as a zero value.
func quantiles(sorted []float64) []Quantile {
	out := make([]Quantile, len(percentages))
	for i, p := range percentages {
		rank := float64(p) / 100 * float64(len(sorted))
		at := int(rank)
		if rank == float64(at) {
			at--
		}
		if s := sorted[max(at, 0)]; s > 0 {
			out[i] = Quantile{p, nanoseconds(s)}
		}
	}
	return out
}

func histogram(sorted []float64) []Bucket {
	fastest, slowest := sorted[0], sorted[len(sorted)-1]
	out := make([]Bucket, bars+1)
	step := (slowest - fastest) / bars
	for i := range bars {
		out[i].Mark = fastest + step*float64(i)
	}
	out[bars].Mark = slowest
	at := 0
	for _, s := range sorted {
		for s > out[at].Mark && at < bars {
			at++
		}
		out[at].Count++
	}
	for i := range out {
		out[i].Frequency = float64(out[i].Count) / float64(len(sorted))
	}
	return out
}

// Write writes the report in a form.
func (r *Report) Write(w io.Writer, form string) error {
	var b bytes.Buffer
	switch form {
	case "csv":
		r.csv(&b)
	case "json", "pretty":
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if b.Write(text); form == "pretty" {
			b.Reset()
			_ = json.Indent(&b, text, "", "  ") // of JSON
		}
	case "html":
		r.html(&b)
	case "influx-summary":
		r.influx(&b)
	case "influx-details":
		r.influxDetails(&b)
	case "prometheus":
		r.prometheus(&b)
	default:
		r.summary(&b)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// inUnit writes a time in ns, ms or s.
func inUnit(d time.Duration) string {
	ms := float64(d) / 1e6
	switch {
	case d < 10_000:
		return fmt.Sprintf("%+v ns", d.Nanoseconds())
	case ms < 1000:
		return fmt.Sprintf("%4.2f ms", ms)
	}
	return fmt.Sprintf("%4.2f s", ms/1000)
}

func (r *Report) summary(b *bytes.Buffer) {
	b.WriteString("\nSummary:\n")
	if r.Name != "" {
		fmt.Fprintf(b, "  Name:\t\t%s\n", r.Name)
	}
	fmt.Fprintf(b, "  Count:\t%d\n  Total:\t%s\n  Slowest:\t%s\n  Fastest:\t%s\n  Average:\t%s\n  Requests/sec:\t%4.2f\n\n",
		r.Count, inUnit(r.Total), inUnit(r.Slowest), inUnit(r.Fastest), inUnit(r.Average), r.RPS)
	b.WriteString("Response time histogram:\n")
	r.bars(b)
	b.WriteString("\nLatency distribution:")
	for _, q := range r.Quantiles {
		fmt.Fprintf(b, "\n  %d %% in %s ", q.Percentage, inUnit(q.Latency))
	}
	b.WriteString("\n\n")
	if len(r.Statuses) > 0 {
		b.WriteString("Status code distribution:\n")
		columns(b, r.Statuses, func(w io.Writer, status string, n int) {
			fmt.Fprintf(w, "  [%s]\t%d responses\t\n", status, n)
		})
	}
	b.WriteString("\n")
	if len(r.Errors) > 0 {
		b.WriteString("Error distribution:\n")
		columns(b, r.Errors, func(w io.Writer, text string, n int) { fmt.Fprintf(w, "  [%d]\t%s\t\n", n, text) })
	}
	b.WriteString("\n")
}

func columns(b *bytes.Buffer, counts map[string]int, row func(w io.Writer, name string, n int)) {
	w := tabwriter.NewWriter(b, 0, 0, 3, ' ', 0)
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		row(w, name, counts[name])
	}
	_ = w.Flush() // to memory
}

// bars writes the histogram.
func (r *Report) bars(b *bytes.Buffer) {
	const width = 40
	most, longestMark, longestCount := 0, 0, 0
	for _, k := range r.Histogram {
		most = max(most, k.Count)
		longestMark = max(longestMark, len(fmt.Sprintf("%.3f", k.Mark*1000)))
		longestCount = max(longestCount, len(fmt.Sprint(k.Count)))
	}
	for _, k := range r.Histogram {
		mark, count := fmt.Sprintf("%.3f", k.Mark*1000), fmt.Sprint(k.Count)
		bar := (k.Count*width + most/2) / most
		fmt.Fprintf(b, "  %-*s [%s]%*s |%s\n", longestMark, mark, count, longestCount-len(count), "",
			strings.Repeat("∎", bar))
	}
}

func (r *Report) csv(b *bytes.Buffer) {
	b.WriteString("\nduration (ms),status,error")
	for i := range r.Details {
		d := &r.Details[i]
		fmt.Fprintf(b, "\n%4.2f,%s,%s", d.Latency.Seconds()*1000, d.Status, d.Error)
	}
	b.WriteString("\n")
}

// failed returns how many calls failed.
func (r *Report) failed() (n int) {
	for _, k := range r.Errors {
		n += k
	}
	return n
}

// milliseconds of a mark, as charts show it.
func milliseconds(s float64) string { return fmt.Sprintf("%.2f", math.Round(s*1e5)/100) }
