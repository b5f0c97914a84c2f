package hey

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"brunt/internal/dialect/httpload"
)

// most is the greatest number of requests that hey reports.
const most = 1_000_000

// Outcome is what hey prints about a load.
type Outcome struct {
	Samples []httpload.Sample
	Total   time.Duration
	Errors  map[string]uint64 // requests without an answer, by text
}

// part is a part of a request's time.
type part struct {
	name string
	of   func(*httpload.Sample) time.Duration
}

var parts = []part{
	{"DNS+dialup", func(s *httpload.Sample) time.Duration { return time.Duration(s.Parts.ConnectNs) }},
	{"DNS-lookup", func(s *httpload.Sample) time.Duration { return time.Duration(s.Parts.LookupNs) }},
	{"req write", func(s *httpload.Sample) time.Duration { return time.Duration(s.Parts.WriteNs) }},
	{"resp wait", func(s *httpload.Sample) time.Duration { return time.Duration(s.Parts.WaitNs) }},
	{"resp read", func(s *httpload.Sample) time.Duration { return time.Duration(s.Parts.ReadNs) }},
}

// answered returns the requests that were answered.
func (r *Outcome) answered() (all []httpload.Sample) {
	for i := range r.Samples {
		if s := &r.Samples[i]; s.Answered() && !s.Circled() && len(all) < most {
			all = append(all, r.Samples[i])
		}
	}
	return all
}

// seconds returns one time of each request, ascending, and their mean.
func seconds(all []httpload.Sample, of func(*httpload.Sample) time.Duration) (sorted []float64, mean float64) {
	sorted = make([]float64, len(all))
	for i := range all {
		sorted[i] = of(&all[i]).Seconds()
		mean += sorted[i]
	}
	slices.Sort(sorted)
	return sorted, mean / float64(len(all))
}

// Write writes the summary.
func (r *Outcome) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	all := r.answered()
	lats, average := seconds(all, func(s *httpload.Sample) time.Duration { return s.Took })
	fastest, slowest := 0.0, 0.0
	if len(lats) > 0 {
		fastest, slowest = lats[0], lats[len(lats)-1]
	}
	fmt.Fprintf(b, "\nSummary:\n  Total:\t%4.4f secs\n  Slowest:\t%4.4f secs\n  Fastest:\t%4.4f secs\n"+
		"  Average:\t%4.4f secs\n  Requests/sec:\t%4.4f\n  ", r.Total.Seconds(), slowest, fastest, average,
		float64(len(r.Samples))/r.Total.Seconds())
	var size int64
	codes := map[int]int{}
	for i := range all {
		size += all[i].Parts.BodyBytes
		codes[all[i].Status]++
	}
	if size > 0 {
		fmt.Fprintf(b, "\n  Total data:\t%d bytes\n  Size/request:\t%d bytes", size, size/int64(len(all)))
	}
	b.WriteString("\n\nResponse time histogram:\n" + histogram(buckets(lats)) + "\n\nLatency distribution:")
	for _, p := range percentiles(lats) {
		fmt.Fprintf(b, "\n  %d%%%% in %4.4f secs", p.Percentage, p.Latency)
	}
	b.WriteString("\n\nDetails (average, fastest, slowest):")
	for _, p := range parts {
		sorted, mean := seconds(all, p.of)
		least, greatest := 0.0, 0.0
		if len(sorted) > 0 {
			least, greatest = sorted[0], sorted[len(sorted)-1]
		}
		fmt.Fprintf(b, "\n  %s:\t%4.4f secs, %4.4f secs, %4.4f secs", p.name, mean, least, greatest)
	}
	b.WriteString("\n\nStatus code distribution:")
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		fmt.Fprintf(b, "\n  [%d]\t%d responses", code, codes[code])
	}
	b.WriteString("\n\n")
	if len(r.Errors) > 0 {
		b.WriteString("Error distribution:")
		for _, text := range slices.Sorted(maps.Keys(r.Errors)) {
			fmt.Fprintf(b, "\n  [%d]\t%s", r.Errors[text], text)
		}
	}
	b.WriteString("\n\n")
	return b.Flush()
}

// Bucket is a bar of the histogram: how many times, in seconds, are at most Mark and above that of the bar before.
type Bucket struct {
	Mark, Frequency float64
	Count           int
}

// buckets returns eleven bars between the fastest and the slowest request.
func buckets(sorted []float64) []Bucket {
	if len(sorted) == 0 {
		return nil
	}
	const bars = 10
	all := make([]Bucket, bars+1)
	fastest, slowest := sorted[0], sorted[len(sorted)-1]
	for i := range bars {
		all[i].Mark = fastest + (slowest-fastest)/bars*float64(i)
	}
	all[bars].Mark = slowest
	bar := 0
	for _, v := range sorted {
		for v > all[bar].Mark && bar < bars {
			bar++
		}
		all[bar].Count++
	}
	for i := range all {
		all[i].Frequency = float64(all[i].Count) / float64(len(sorted))
	}
	return all
}

// histogram draws bars.
func histogram(all []Bucket) string {
	greatest := 1
	for _, bar := range all {
		greatest = max(greatest, bar.Count)
	}
	var b strings.Builder
	for _, bar := range all {
		length := (bar.Count*40 + greatest/2) / greatest
		fmt.Fprintf(&b, "  %4.3f [%d]\t|%s\n", bar.Mark, bar.Count, strings.Repeat("■", length))
	}
	return b.String()
}

// LatencyDistribution is a time in seconds that a percentage of the requests didn't exceed.
type LatencyDistribution struct {
	Percentage int
	Latency    float64
}

// percentiles returns the latency distribution. A percentile that lies beyond the last request is left at zeros, as in
// hey.
func percentiles(sorted []float64) (all []LatencyDistribution) {
	if len(sorted) == 0 {
		return nil
	}
	wanted := []int{10, 25, 50, 75, 90, 95, 99}
	found := make([]float64, len(wanted))
	for i, j := 0, 0; i < len(sorted) && j < len(wanted); i++ {
		if i*100/len(sorted) >= wanted[j] {
			found[j] = sorted[i]
			j++
		}
	}
	for j, p := range wanted {
		if found[j] == 0 {
			p = 0
		}
		all = append(all, LatencyDistribution{p, found[j]})
	}
	return all
}

// WriteCSV writes a line for each request that was answered, in seconds.
func (r *Outcome) WriteCSV(w io.Writer) error {
	b := bufio.NewWriter(w)
	b.WriteString("response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset")
	all := r.answered()
	for i := range all {
		s := &all[i]
		fmt.Fprintf(b, "\n%4.4f", s.Took.Seconds())
		for _, p := range parts {
			fmt.Fprintf(b, ",%4.4f", p.of(s).Seconds())
		}
		fmt.Fprintf(b, ",%d,%4.4f", s.Status, time.Duration(s.SentNs-r.Samples[0].SentNs).Seconds())
	}
	b.WriteString("\n")
	return b.Flush()
}
