package hey

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/template"
	"time"

	"brunt/internal/dialect/httpload"
)

// figures are what templates of -o know of a load, by hey's names. Times are in seconds. What hey calls the greatest of
// the parts of a time is the least, and the other way round.
type figures struct {
	AvgTotal, Fastest, Slowest, Average, Rps  float64
	AvgConn, AvgDNS, AvgReq, AvgRes, AvgDelay float64
	ConnMax, ConnMin, DnsMax, DnsMin          float64
	ReqMax, ReqMin, ResMax, ResMin            float64
	DelayMax, DelayMin                        float64
	Lats, ConnLats, DnsLats, ReqLats, ResLats []float64
	DelayLats, Offsets                        []float64
	StatusCodes                               []int
	Total                                     time.Duration
	ErrorDist, StatusCodeDist                 any // map[string]int, map[int]int
	SizeTotal, SizeReq, NumRes                int64
	LatencyDistribution                       []LatencyDistribution
	Histogram                                 []Bucket
}

// functions are those of hey's templates.
var functions = template.FuncMap{
	"formatNumber":    func(v float64) string { return fmt.Sprintf("%4.4f", v) },
	"formatNumberInt": func(n int) string { return fmt.Sprint(n) },
	"histogram":       histogram,
	"jsonify": func(v any) string {
		text, _ := json.Marshal(v) // NaN has no form, as in hey
		return string(text)
	},
}

// parse parses a template of -o.
func parse(text string) (*template.Template, error) {
	t, err := template.New("-o").Funcs(functions).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("-o: %s", strings.TrimPrefix(err.Error(), "template: "))
	}
	return t, nil
}

// checkTemplate returns an error unless -o can be written: before the load, with no requests.
func checkTemplate(text string) error {
	if text == "" || text == "csv" {
		return nil
	}
	_, err := parse(text)
	return err
}

// WriteTemplate writes what a template makes of the load.
func (r *Outcome) WriteTemplate(w io.Writer, text string) error {
	t, err := parse(text)
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := t.Execute(&b, r.figures()); err != nil {
		return fmt.Errorf("-o: %s", strings.TrimPrefix(err.Error(), "template: "))
	}
	_, err = io.WriteString(w, b.String()+"\n")
	return err
}

// figures returns the load's figures.
func (r *Outcome) figures() *figures {
	all := r.answered()
	f := &figures{Total: r.Total, NumRes: int64(len(r.Samples)), Rps: float64(len(r.Samples)) / r.Total.Seconds()}
	codes, failures := map[int]int{}, map[string]int{}
	for text, n := range r.Errors {
		failures[text] = int(n)
	}
	f.ErrorDist, f.StatusCodeDist = failures, codes
	for i := range all {
		s := &all[i]
		codes[s.Status]++
		f.SizeTotal += s.Parts.BodyBytes
		f.StatusCodes = append(f.StatusCodes, s.Status)
		f.Offsets = append(f.Offsets, time.Duration(s.SentNs-r.Samples[0].SentNs).Seconds())
	}
	if len(all) == 0 {
		return f
	}
	f.SizeReq = f.SizeTotal / int64(len(all))
	took := part{of: func(s *httpload.Sample) time.Duration { return s.Took }}
	for i, to := range []struct {
		all                 *[]float64
		mean, least, latest *float64
	}{
		{&f.Lats, &f.Average, &f.Fastest, &f.Slowest}, {&f.ConnLats, &f.AvgConn, &f.ConnMax, &f.ConnMin},
		{&f.DnsLats, &f.AvgDNS, &f.DnsMax, &f.DnsMin}, {&f.ReqLats, &f.AvgReq, &f.ReqMax, &f.ReqMin},
		{&f.DelayLats, &f.AvgDelay, &f.DelayMax, &f.DelayMin}, {&f.ResLats, &f.AvgRes, &f.ResMax, &f.ResMin},
	} {
		p := took
		if i > 0 {
			p = parts[i-1]
		}
		var sorted []float64
		sorted, *to.mean = seconds(all, p.of)
		*to.least, *to.latest = sorted[0], sorted[len(sorted)-1]
		for k := range all {
			*to.all = append(*to.all, p.of(&all[k]).Seconds())
		}
		if i == 0 {
			f.Histogram, f.LatencyDistribution = buckets(sorted), percentiles(sorted)
		}
	}
	f.AvgTotal = f.Average
	return f
}
