package vegeta

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/judge/result"
)

var (
	requestsLine  = lazyregexp.New(`(?m)^Requests +\[total, rate, throughput\] +([0-9]+), ([0-9.]+), `)
	latenciesLine = lazyregexp.New(`(?m)^Latencies +\[min, mean, 50, 90, 95, 99, max\] +(.*)$`)
	successLine   = lazyregexp.New(`(?m)^Success +\[ratio\] +([0-9.]+)%`)
)

// Results returns the format of the reports of vegeta: text and JSON.
func Results() result.Format {
	return result.Format{About: "a report of vegeta", Is: isResult, Parse: ParseResult}
}

func isResult(text []byte, keys map[string]json.RawMessage) bool {
	return requestsLine().Match(text) || keys["latencies"] != nil && keys["status_codes"] != nil
}

// ParseResult parses a report of vegeta in text or JSON.
func ParseResult(text []byte) (*result.Result, error) {
	r := &result.Result{Program: "vegeta", LoadModel: "open"}
	if len(text) > 0 && text[0] == '{' {
		m := newMetrics()
		m.Histogram = nil
		var plain struct {
			*metrics
			Histogram json.RawMessage `json:"buckets"`
		}
		plain.metrics = m
		if err := json.Unmarshal(text, &plain); err != nil {
			return nil, err
		}
		l := &m.Latencies
		add(r, float64(m.Requests), m.Rate, m.Success, []time.Duration{l.Min, l.Mean, l.P50, l.P90, l.P95, l.P99, l.Max})
		return r, nil
	}
	requests, latencies, success := requestsLine().FindSubmatch(text), latenciesLine().FindSubmatch(text),
		successLine().FindSubmatch(text)
	if requests == nil || latencies == nil || success == nil {
		return nil, errors.New("the report of vegeta ends before its success ratio")
	}
	var times []time.Duration
	for part := range strings.SplitSeq(string(latencies[1]), ",") {
		d, err := time.ParseDuration(strings.TrimSpace(part))
		if err != nil {
			return nil, errors.New("the latencies in the report of vegeta aren't times")
		}
		times = append(times, d)
	}
	if len(times) != 7 {
		return nil, errors.New("the report of vegeta doesn't have seven latencies")
	}
	number := func(b []byte) float64 { v, _ := strconv.ParseFloat(string(b), 64); return v }
	add(r, number(requests[1]), number(requests[2]), number(success[1])/100, times)
	return r, nil
}

func add(r *result.Result, requests, rate, success float64, times []time.Duration) {
	r.Add("rate", "", rate)
	r.Add("count", "", requests)
	r.Add("errors", "", 1-success)
	names := []string{"", "response.avg", "response.p(50)", "response.p(90)", "response.p(95)", "response.p(99)",
		"response.max"}
	for i, name := range names {
		if name != "" {
			r.Add(name, "", float64(times[i]))
		}
	}
}
