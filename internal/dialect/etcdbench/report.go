package etcdbench

import (
	"encoding/csv"
	"fmt"
	"math"
	"strings"
	"time"

	"brunt/internal/measure"
)

// Report is what benchmark prints about its requests, in the form of pkg/report of etcd's sources. Times come from a
// histogram: the least and the greatest are exact, as are mean and count; others are exact to three digits.
type Report struct {
	Precise bool // all digits instead of four after the point
	Sample  bool // a table of seconds follows
	Total   time.Duration
	Times   *measure.Histogram // of successful requests, ns
	Errors  []ErrorCount
	Seconds []Second
}

// ErrorCount is how often requests failed with a text.
type ErrorCount struct {
	Text  string
	Count uint64
}

// Second is a row of the table of --sample.
type Second struct {
	Unix           int64
	Min, Mean, Max time.Duration
	Count          uint64
}

// percents are the quantiles that are printed.
var percents = [...]float64{10, 25, 50, 75, 90, 95, 99, 99.9}

const (
	bars     = 10 // of the histogram, and one for the fastest
	barWidth = 40
)

// String returns the report.
func (r *Report) String() string {
	var b strings.Builder
	if n := r.Times.Count(); n > 0 {
		b.WriteString("\nSummary:\n")
		r.line(&b, "Total", r.Total.Seconds())
		r.line(&b, "Slowest", seconds(r.Times.Max()))
		r.line(&b, "Fastest", seconds(r.Times.Min()))
		r.line(&b, "Average", r.Times.Mean()/1e9)
		r.line(&b, "Stddev", r.deviation())
		fmt.Fprintf(&b, "  Requests/sec:\t"+r.format()+"\n", float64(n)/r.Total.Seconds())
		r.histogram(&b)
		r.quantiles(&b)
		if r.Sample {
			b.WriteString(r.samples() + "\n")
		}
	}
	if len(r.Errors) > 0 {
		b.WriteString("\nError distribution:\n")
		for _, e := range r.Errors {
			fmt.Fprintf(&b, "  [%d]\t%s\n", e.Count, e.Text)
		}
	}
	return b.String()
}

func seconds(ns int64) float64 { return time.Duration(ns).Seconds() }

func (r *Report) format() string {
	if r.Precise {
		return "%g"
	}
	return "%4.4f"
}

func (r *Report) line(b *strings.Builder, name string, s float64) {
	fmt.Fprintf(b, "  %s:\t"+r.format()+" secs.\n", name, s)
}

// each calls f with the times, in order, and how many there are of each.
func (r *Report) each(f func(s float64, n uint64)) {
	least := uint64(1) // the first is known exactly
	f(seconds(r.Times.Min()), least)
	r.Times.Each(func(lo, hi int64, n uint64) bool {
		if n > least {
			f(seconds(min(hi, r.Times.Max())), n-least)
		}
		least = 0
		return true
	})
}

// deviation returns the standard deviation of the whole population.
func (r *Report) deviation() float64 {
	mean, sum := r.Times.Mean()/1e9, 0.0
	r.each(func(s float64, n uint64) { sum += float64(n) * (s - mean) * (s - mean) })
	return math.Sqrt(sum / float64(r.Times.Count()))
}

// histogram prints how many times are at most each of eleven limits, from the fastest to the slowest.
func (r *Report) histogram(b *strings.Builder) {
	fastest, slowest := seconds(r.Times.Min()), seconds(r.Times.Max())
	var limits [bars + 1]float64
	var counts [bars + 1]uint64
	for i := range bars {
		limits[i] = fastest + (slowest-fastest)/bars*float64(i)
	}
	limits[bars] = slowest
	at, most := 0, uint64(0)
	r.each(func(s float64, n uint64) {
		for s > limits[at] && at < bars {
			at++
		}
		counts[at] += n
		most = max(most, counts[at])
	})
	b.WriteString("\nResponse time histogram:\n")
	for i, limit := range limits {
		bar := strings.Repeat("∎", int(counts[i]*barWidth/most))
		fmt.Fprintf(b, "  "+r.format()+" [%d]\t|%s\n", limit, counts[i], bar)
	}
}

// quantiles prints, for each percentage, the first time that at least this share of the times comes before. Percentages
// for which there are too few times are left out.
func (r *Report) quantiles(b *strings.Builder) {
	b.WriteString("\nLatency distribution:\n")
	var ranks [len(percents)]uint64 // numbers of the times that are printed, from 0; two of them are never the same
	for i, p := range percents {
		rank := uint64(math.Ceil(p * float64(r.Times.Count()) / 100))
		if i > 0 {
			rank = max(rank, ranks[i-1]+1)
		}
		ranks[i] = rank
	}
	end, next := uint64(0), 0
	r.each(func(s float64, count uint64) {
		end += count
		for ; next < len(ranks) && ranks[next] < end; next++ {
			if s > 0 {
				fmt.Fprintf(b, "  %v%% in "+r.format()+" secs.\n", percents[next], s)
			}
		}
	})
}

// samples returns the table of seconds.
func (r *Report) samples() string {
	var b strings.Builder
	b.WriteString("\nSample in one second (unix latency throughput):\n")
	w := csv.NewWriter(&b)
	rows := [][]string{{"UNIX-SECOND", "MIN-LATENCY-MS", "AVG-LATENCY-MS", "MAX-LATENCY-MS", "AVG-THROUGHPUT"}}
	for i, s := range r.Seconds {
		for missing := s.Unix; i > 0 && missing > r.Seconds[i-1].Unix+1; missing-- {
			rows = append(rows, Second{Unix: r.Seconds[i-1].Unix + 1 + s.Unix - missing}.row())
		}
		rows = append(rows, s.row())
	}
	_ = w.WriteAll(rows) // to memory
	return b.String()
}

func (s Second) row() []string {
	return []string{fmt.Sprint(s.Unix), s.Min.String(), s.Mean.String(), s.Max.String(), fmt.Sprint(s.Count)}
}
