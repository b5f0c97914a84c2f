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
		if r.Samples[i].Answered() && len(all) < most {
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
	b.WriteString("\n\nResponse time histogram:\n" + histogram(lats) + "\n\nLatency distribution:")
	percentiles(b, lats)
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

// histogram returns eleven bars between the fastest and the slowest request.
func histogram(sorted []float64) string {
	if len(sorted) == 0 {
		return ""
	}
	const bars = 10
	var marks [bars + 1]float64
	var counts [bars + 1]int
	fastest, slowest := sorted[0], sorted[len(sorted)-1]
	for i := range bars {
		marks[i] = fastest + (slowest-fastest)/bars*float64(i)
	}
	marks[bars] = slowest
	bar := 0
	for _, v := range sorted {
		for v > marks[bar] && bar < bars {
			bar++
		}
		counts[bar]++
	}
	greatest := slices.Max(counts[:])
	var b strings.Builder
	for i := range marks {
		length := (counts[i]*40 + greatest/2) / greatest
		fmt.Fprintf(&b, "  %4.3f [%d]\t|%s\n", marks[i], counts[i], strings.Repeat("■", length))
	}
	return b.String()
}

// percentiles writes the latency distribution. A percentile that lies beyond the last request is left at zeros, as in
// hey.
func percentiles(b *bufio.Writer, sorted []float64) {
	if len(sorted) == 0 {
		return
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
		fmt.Fprintf(b, "\n  %d%%%% in %4.4f secs", p, found[j])
	}
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
