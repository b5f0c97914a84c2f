package ab

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"brunt/internal/base/secret"
	"brunt/internal/dialect/httpload"
	"brunt/internal/protocol"
)

// Outcome is what ab prints about a load.
type Outcome struct {
	Server     string // the header Server
	Samples    []httpload.Sample
	Took       time.Duration
	KeptAlive  uint64
	Interrupts bool
}

// figures are the sums of a load.
type figures struct {
	done, connect, receive, length, exceptions, status int
	bytes, html, document                              int64
	times                                              []times // of the requests that were answered
}

// times are the times of a request in µs.
type times struct {
	start                       time.Time
	connect, wait, total, other int64 // other: total without connect
}

func (o *Options) figures(r *Outcome) *figures {
	f := &figures{document: -1}
	for i := range r.Samples {
		s := &r.Samples[i]
		if !s.Answered() {
			unconnected := s.Parts.ConnectNs == 0 && s.Bytes == 0
			if o.KeepAlive { // connections aren't part of requests
				unconnected = s.Unsent
			}
			if s.Class == protocol.Connect && unconnected {
				f.connect++
			} else {
				f.receive++
			}
			continue
		}
		f.done++
		f.bytes += s.Bytes
		f.html += s.Parts.BodyBytes
		if s.Status < 200 || s.Status > 299 {
			f.status++
		}
		if f.document < 0 {
			f.document = s.Parts.BodyBytes
		} else if f.document != s.Parts.BodyBytes && !o.Variable {
			f.length++
		}
		connect, total := s.Parts.ConnectNs/1000, s.Took.Microseconds()
		f.times = append(f.times, times{s.Start, connect, s.Parts.WaitNs / 1000, max(total, connect), max(total-connect, 0)})
	}
	f.document = max(f.document, 0)
	return f
}

// Banner returns the lines before the load. ab's own name its authors.
func Banner(version string) string {
	return fmt.Sprintf("This is ApacheBench, Version 2.3 <brunt %s>\nSent by brunt, which takes ab's place.\n\n\n", version)
}

// port returns the port of the URL.
func (o *Options) port() string {
	if port := o.target.Port(); port != "" {
		return port
	}
	return map[string]string{"http": "80", "https": "443"}[o.target.Scheme]
}

// Begins returns the line that ab prints when it begins.
func (o *Options) Begins() string {
	if o.HTML {
		return ""
	}
	through := ""
	if o.Via != "" {
		through = "[through " + o.Via + "] "
	}
	line := fmt.Sprintf("Benchmarking %s %s(be patient)", o.target.Hostname(), through)
	if o.heartbeat() > 0 {
		return line + "\n"
	}
	return line + "..."
}

// heartbeat is after how many requests ab reports progress; 0 means never.
func (o *Options) heartbeat() uint64 {
	if o.Requests <= 150 || o.Quiet {
		return 0
	}
	return max(o.Requests/10, 100)
}

// Report returns ab's report.
func (o *Options) Report(r *Outcome) string {
	f := o.figures(r)
	var b strings.Builder
	field := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-24s"+format+"\n", append([]any{name}, args...)...)
	}
	b.WriteString("\n\n")
	field("Server Software:", "%s", r.Server)
	field("Server Hostname:", "%s", o.target.Hostname())
	field("Server Port:", "%s", o.port())
	b.WriteString("\n")
	field("Document Path:", "%s", secret.Text(o.target.RequestURI()))
	if o.Variable {
		field("Document Length:", "Variable")
	} else {
		field("Document Length:", "%d bytes", f.document)
	}
	b.WriteString("\n")
	field("Concurrency Level:", "%d", o.Concurrency)
	s := r.Took.Seconds()
	field("Time taken for tests:", "%.3f seconds", s)
	field("Complete requests:", "%d", f.done)
	bad := f.connect + f.receive + f.length + f.exceptions
	field("Failed requests:", "%d", bad)
	if bad > 0 {
		fmt.Fprintf(&b, "   (Connect: %d, Receive: %d, Length: %d, Exceptions: %d)\n", f.connect, f.receive, f.length, f.exceptions)
	}
	if f.status > 0 {
		field("Non-2xx responses:", "%d", f.status)
	}
	if o.KeepAlive {
		field("Keep-Alive requests:", "%d", r.KeptAlive)
	}
	field("Total transferred:", "%d bytes", f.bytes)
	sent := float64(len(o.Text())) * float64(len(r.Samples))
	if o.Body != nil {
		field("Total body sent:", "%.0f", sent)
	}
	field("HTML transferred:", "%d bytes", f.html)
	if s > 0 && f.done > 0 {
		n := float64(f.done)
		field("Requests per second:", "%.2f [#/sec] (mean)", n/s)
		field("Time per request:", "%.3f [ms] (mean)", float64(o.Concurrency)*s*1000/n)
		field("Time per request:", "%.3f [ms] (mean, across all concurrent requests)", s*1000/n)
		field("Transfer rate:", "%.2f [Kbytes/sec] received", float64(f.bytes)/1024/s)
		if o.Body != nil {
			field("", "%.2f kb/s sent", sent/1024/s)
			field("", "%.2f kb/s total", (float64(f.bytes)+sent)/1024/s)
		}
	}
	if f.done > 0 {
		o.connectionTimes(&b, f)
		if !o.NoTable && f.done > 1 {
			percentages(&b, f)
		}
	}
	return b.String()
}

// ms rounds microseconds to milliseconds.
func ms(us int64) int64 { return (us + 500) / 1000 }

func (o *Options) connectionTimes(b *strings.Builder, f *figures) {
	b.WriteString("\nConnection Times (ms)\n")
	rows := []struct {
		name, whole string
		of          func(*times) int64
	}{
		{"Connect:", "initial connection", func(t *times) int64 { return t.connect }},
		{"Processing:", "processing", func(t *times) int64 { return t.other }},
		{"Waiting:", "waiting", func(t *times) int64 { return t.wait }},
		{"Total:", "total", func(t *times) int64 { return t.total }},
	}
	doubts := ""
	if o.NoDeviation {
		b.WriteString("              min   avg   max\n")
	} else {
		b.WriteString("              min  mean[+/-sd] median   max\n")
	}
	for _, row := range rows {
		all := make([]int64, len(f.times))
		for i := range f.times {
			all[i] = row.of(&f.times[i])
		}
		slices.Sort(all)
		d := describe(all)
		switch {
		case !o.NoDeviation:
			fmt.Fprintf(b, "%-12s%5d %4d %5.1f %6d %7d\n", row.name, ms(d.least), ms(d.mean), d.deviation/1000, ms(d.median),
				ms(d.most))
			doubts += d.doubt(row.whole)
		default:
			fmt.Fprintf(b, "%-12s%5d %5d%5d\n", row.name, ms(d.least), ms(d.mean), ms(d.most))
		}
	}
	b.WriteString(doubts)
}

// description are the figures of a sorted list of times, computed as ab does.
type description struct {
	least, mean, median, most int64
	deviation                 float64
}

// doubt returns ab's warning that the median and the mean of the time named are far apart, or "". ab compares the
// two as it prints them, in whole milliseconds, so it also warns where only rounding sets them apart.
func (d *description) doubt(name string) string {
	switch apart := math.Abs(float64(ms(d.mean) - ms(d.median))); {
	case apart > 2*d.deviation/1000:
		return fmt.Sprintf("ERROR: The median and mean for the %s time are more than twice the standard\n"+
			"       deviation apart. These results are NOT reliable.\n", name)
	case apart > d.deviation/1000:
		return fmt.Sprintf("WARNING: The median and mean for the %s time are not within a normal deviation\n"+
			"        These results are probably not that reliable.\n", name)
	}
	return ""
}

func describe(all []int64) (d description) {
	n := len(all)
	var sum int64
	for _, v := range all {
		sum += v
	}
	d.least, d.most, d.mean = all[0], all[n-1], sum/int64(n)
	var squares float64
	for _, v := range all {
		squares += float64(v-d.mean) * float64(v-d.mean)
	}
	if n > 1 {
		d.deviation = math.Sqrt(squares / float64(n-1))
	}
	d.median = all[n/2]
	if n > 2 && n%2 == 0 {
		d.median = (all[n/2] + all[n/2+1]) / 2 // ab's own
	}
	return d
}

// served are the percentages of the table.
var served = []int{50, 66, 75, 80, 90, 95, 98, 99, 100}

func percentages(b *strings.Builder, f *figures) {
	f.sort()
	b.WriteString("\nPercentage of the requests served within a certain time (ms)\n")
	for _, p := range served {
		if p == 100 {
			fmt.Fprintf(b, " %3d%%  %5d (longest request)\n", p, ms(f.times[f.done-1].total))
			continue
		}
		fmt.Fprintf(b, "  %d%%  %5d\n", p, ms(f.times[f.done*p/100].total))
	}
}

func (f *figures) sort() {
	slices.SortStableFunc(f.times, func(a, b times) int { return int(min(max(a.total-b.total, -1), 1)) })
}

// WriteCSV writes the file of -e: the time within which each percentage was served.
func (o *Options) WriteCSV(w io.Writer, r *Outcome) error {
	f := o.figures(r)
	f.sort()
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "Percentage served,Time in ms\n")
	for i := 0; i < 100 && f.done > 0; i++ {
		at := 0
		if i > 0 {
			at = min(int(0.5+float64(f.done)*float64(i)/100), f.done-1)
		}
		fmt.Fprintf(out, "%d,%.3f\n", i, float64(f.times[at].total)/1000)
	}
	return out.Flush()
}

// WriteGnuplot writes the file of -g: the times of each request, the shortest first.
func (o *Options) WriteGnuplot(w io.Writer, r *Outcome) error {
	f := o.figures(r)
	f.sort()
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "starttime\tseconds\tctime\tdtime\tttime\twait\n")
	for i := range f.times {
		t := &f.times[i]
		fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%d\t%d\n", t.start.Local().Format(time.ANSIC), t.start.Unix(), ms(t.connect),
			ms(t.other), ms(t.total), ms(t.wait))
	}
	return out.Flush()
}
