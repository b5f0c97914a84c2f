package vegeta

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// metrics are the figures of vegeta's reports.
type metrics struct {
	Latencies struct {
		Total time.Duration `json:"total"`
		Mean  time.Duration `json:"mean"`
		P50   time.Duration `json:"50th"`
		P90   time.Duration `json:"90th"`
		P95   time.Duration `json:"95th"`
		P99   time.Duration `json:"99th"`
		Max   time.Duration `json:"max"`
		Min   time.Duration `json:"min"`
	} `json:"latencies"`
	Histogram   *buckets       `json:"buckets,omitempty"`
	BytesIn     byteMetrics    `json:"bytes_in"`
	BytesOut    byteMetrics    `json:"bytes_out"`
	Earliest    time.Time      `json:"earliest"`
	Latest      time.Time      `json:"latest"`
	End         time.Time      `json:"end"`
	Duration    time.Duration  `json:"duration"`
	Wait        time.Duration  `json:"wait"`
	Requests    uint64         `json:"requests"`
	Rate        float64        `json:"rate"`
	Throughput  float64        `json:"throughput"`
	Success     float64        `json:"success"`
	StatusCodes map[string]int `json:"status_codes"`
	Errors      []string       `json:"errors"`

	succeeded uint64
	all       []time.Duration
}

type byteMetrics struct {
	Total uint64  `json:"total"`
	Mean  float64 `json:"mean"`
}

func newMetrics() *metrics { return &metrics{StatusCodes: map[string]int{}, Errors: []string{}} }

func (m *metrics) add(r *Result) {
	m.Requests++
	m.StatusCodes[strconv.Itoa(int(r.Code))]++
	m.BytesIn.Total += r.BytesIn
	m.BytesOut.Total += r.BytesOut
	m.Latencies.Total += r.Latency
	m.all = append(m.all, r.Latency)
	if m.Earliest.IsZero() || r.Timestamp.Before(m.Earliest) {
		m.Earliest = r.Timestamp
	}
	if r.Timestamp.After(m.Latest) {
		m.Latest = r.Timestamp
	}
	if end := r.End(); end.After(m.End) {
		m.End = end
	}
	if r.Code >= 200 && r.Code < 400 {
		m.succeeded++
	}
	if r.Error != "" && !slices.Contains(m.Errors, r.Error) && len(m.Errors) < 1000 {
		m.Errors = append(m.Errors, r.Error)
	}
	if m.Histogram != nil {
		m.Histogram.add(r.Latency)
	}
}

// close computes the figures that depend on all results.
func (m *metrics) close() {
	slices.Sort(m.all)
	if m.Requests == 0 {
		return
	}
	n := float64(m.Requests)
	m.Rate, m.Throughput = n, float64(m.succeeded)
	m.Duration, m.Wait = m.Latest.Sub(m.Earliest), m.End.Sub(m.Latest)
	if s := m.Duration.Seconds(); s > 0 {
		m.Rate /= s
		m.Throughput /= (m.Duration + m.Wait).Seconds()
	}
	m.BytesIn.Mean, m.BytesOut.Mean = float64(m.BytesIn.Total)/n, float64(m.BytesOut.Total)/n
	m.Success = float64(m.succeeded) / n
	l := &m.Latencies
	l.Mean = time.Duration(float64(l.Total) / n)
	l.Min, l.Max = m.all[0], m.all[len(m.all)-1]
	l.P50, l.P90, l.P95, l.P99 = m.quantile(0.5), m.quantile(0.9), m.quantile(0.95), m.quantile(0.99)
}

// quantile returns the least latency that a share of the requests didn't exceed.
func (m *metrics) quantile(q float64) time.Duration {
	if len(m.all) == 0 {
		return 0
	}
	return m.all[min(max(int(math.Ceil(q*float64(len(m.all))))-1, 0), len(m.all)-1)]
}

// rounded rounds a time to the unit below its own.
func rounded(d time.Duration) time.Duration {
	all := []time.Duration{time.Hour, time.Minute, time.Second, time.Millisecond, time.Microsecond, time.Nanosecond}
	for i, unit := range all[:len(all)-1] {
		if d >= unit {
			return d.Round(all[i+1])
		}
	}
	return d
}

func (m *metrics) text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.StripEscape)
	l := &m.Latencies
	fmt.Fprintf(t, "Requests\t[total, rate, throughput]\t%d, %.2f, %.2f\n", m.Requests, m.Rate, m.Throughput)
	fmt.Fprintf(t, "Duration\t[total, attack, wait]\t%s, %s, %s\n", rounded(m.Duration+m.Wait), rounded(m.Duration),
		rounded(m.Wait))
	fmt.Fprintf(t, "Latencies\t[min, mean, 50, 90, 95, 99, max]\t%s, %s, %s, %s, %s, %s, %s\n", rounded(l.Min),
		rounded(l.Mean), rounded(l.P50), rounded(l.P90), rounded(l.P95), rounded(l.P99), rounded(l.Max))
	fmt.Fprintf(t, "Bytes In\t[total, mean]\t%d, %.2f\n", m.BytesIn.Total, m.BytesIn.Mean)
	fmt.Fprintf(t, "Bytes Out\t[total, mean]\t%d, %.2f\n", m.BytesOut.Total, m.BytesOut.Mean)
	fmt.Fprintf(t, "Success\t[ratio]\t%.2f%%\nStatus Codes\t[code:count]\t", m.Success*100)
	for _, code := range slices.Sorted(maps.Keys(m.StatusCodes)) {
		fmt.Fprintf(t, "%s:%d  ", code, m.StatusCodes[code])
	}
	fmt.Fprintf(t, "\nError Set:\n")
	for _, e := range m.Errors {
		fmt.Fprintln(t, e)
	}
	return t.Flush()
}

func (m *metrics) json(w io.Writer) error { return json.NewEncoder(w).Encode(m) }

// hdrplot writes the quantiles that plots of HdrHistogram show: steps that halve with the distance to 1.
func (m *metrics) hdrplot(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.StripEscape)
	fmt.Fprintf(t, "Value(ms)\tPercentile\tTotalCount\t1/(1-Percentile)\n")
	for _, q := range quantiles() {
		inverse := float64(10_000_000)
		if q < 1 {
			inverse = 1 / (1 - q)
		}
		fmt.Fprintf(t, "%f\t%f\t%d\t%f\n", float64(m.quantile(q))/float64(time.Millisecond), q,
			int64(q*float64(m.Requests)+0.5), inverse)
	}
	return t.Flush()
}

// quantiles returns the quantiles of hdrplot: five steps for each half of the distance to 1.
func quantiles() (all []float64) {
	for q, step := 0.0, 0.1; q < 0.999999; {
		for range 5 {
			all = append(all, math.Round(q*1e6)/1e6)
			q += step
		}
		step /= 2
	}
	return append(all, 1)
}

// buckets is a histogram of latencies.
type buckets struct {
	edges  []time.Duration
	counts []uint64
	total  uint64
}

// parseBuckets parses "[0,1ms,10ms]".
func parseBuckets(text string) (*buckets, error) {
	inner, closed := strings.CutSuffix(strings.TrimPrefix(text, "["), "]")
	if !closed || !strings.HasPrefix(text, "[") {
		return nil, fmt.Errorf("bad buckets: %s; write [0,1ms,10ms]", text)
	}
	b := &buckets{}
	for i, part := range strings.Split(inner, ",") {
		d, err := time.ParseDuration(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("bad buckets: %s: %w", text, err)
		}
		if i == 0 && d > 0 {
			b.edges = append(b.edges, 0)
		}
		b.edges = append(b.edges, d)
	}
	b.counts = make([]uint64, len(b.edges))
	return b, nil
}

func (b *buckets) add(d time.Duration) {
	i := 0
	for i < len(b.edges)-1 && !(d >= b.edges[i] && d < b.edges[i+1]) {
		i++
	}
	b.counts[i]++
	b.total++
}

// MarshalJSON keeps the order of the buckets.
func (b *buckets) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, edge := range b.edges {
		if i > 0 {
			out.WriteString(", ")
		}
		fmt.Fprintf(&out, "\"%d\": %d", edge, b.counts[i])
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

func (b *buckets) text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.StripEscape)
	fmt.Fprintf(t, "Bucket\t\t#\t%%\tHistogram\n")
	for i, n := range b.counts {
		to := "+Inf"
		if i+1 < len(b.edges) {
			to = b.edges[i+1].String()
		}
		share := 0.0
		if b.total > 0 {
			share = float64(n) / float64(b.total)
		}
		fmt.Fprintf(t, "[%s,\t%s]\t%d\t%.2f%%\t%s\n", b.edges[i], to, n, share*100, strings.Repeat("#", int(share*75)))
	}
	return t.Flush()
}

// reporting is a report of a type that is to be written.
type reporting struct {
	kind, edges string
	again       <-chan time.Time // when the report so far is written; nil: never
	before      string           // text before each such report
}

// report reads results and writes the report.
func (p *reporting) report(w io.Writer, results func(*Result) error) error {
	m := newMetrics()
	kind, edges := p.kind, p.edges
	name, inline, _ := strings.Cut(kind, "[")
	if inline != "" {
		edges = "[" + inline
	}
	if edges != "" {
		var err error
		if m.Histogram, err = parseBuckets(edges); err != nil {
			return err
		}
	}
	write, ok := map[string]func(io.Writer) error{"text": m.text, "json": m.json, "hdrplot": m.hdrplot,
		"hist": func(w io.Writer) error { return m.Histogram.text(w) }}[name]
	switch {
	case !ok:
		return fmt.Errorf("unknown report type: %q; use text, json, hist[buckets] or hdrplot", kind)
	case name == "hist" && m.Histogram == nil:
		return fmt.Errorf("bad buckets: '%s'; write hist[0,1ms,10ms]", edges)
	}
	var r Result
	for {
		select {
		case <-p.again:
			m.close()
			if _, err := io.WriteString(w, p.before); err != nil {
				return err
			}
			if err := write(w); err != nil {
				return err
			}
		default:
		}
		switch err := results(&r); {
		case errors.Is(err, io.EOF):
			m.close()
			return write(w)
		case err != nil:
			return err
		}
		m.add(&r)
	}
}
