package ghz

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
	valueLine    = lazyregexp.New(`(?m)^  (Count|Total|Slowest|Fastest|Average|Requests/sec):\t([0-9.+]+)(?: (ns|ms|s))?$`)
	quantileLine = lazyregexp.New(`(?m)^  ([0-9]+) % in ([0-9.+]+) (ns|ms|s) ?$`)
	statusLine   = lazyregexp.New(`(?m)^  \[([A-Za-z]+)\]\s+([0-9]+) responses\s*$`)
)

// Results returns the formats of ghz' reports that are read: the summary and JSON.
func Results() []result.Format {
	return []result.Format{
		{About: "the report of ghz in JSON", Is: func(_ []byte, fields map[string]json.RawMessage) bool {
			return fields["statusCodeDistribution"] != nil && fields["latencyDistribution"] != nil
		}, Parse: ParseJSON},
		{About: "the summary of ghz", Is: func(text []byte, _ map[string]json.RawMessage) bool {
			s := string(text)
			return strings.Contains(s, "Summary:\n") && strings.Contains(s, "\nLatency distribution:") &&
				strings.Contains(s, " % in ")
		}, Parse: ParseSummary},
	}
}

// ParseJSON reads a report in JSON.
func ParseJSON(text []byte) (*result.Result, error) {
	var r Report
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	return r.result(), nil
}

// result returns the figures of a report.
func (r *Report) result() *result.Result {
	out := &result.Result{Program: "ghz", LoadModel: "closed"}
	if r.Options.RPS > 0 || r.Options.LoadSchedule != "const" && r.Options.LoadSchedule != "" {
		out.LoadModel = "open"
	}
	out.Add("rate", "", r.RPS)
	out.Add("count", "", float64(r.Count))
	if r.Count > 0 {
		out.Add("errors", "", float64(r.Count-min(uint64(r.Statuses["OK"]), r.Count))/float64(r.Count))
	}
	out.Add("response.avg", "", float64(r.Average))
	out.Add("response.max", "", float64(r.Slowest))
	for _, q := range r.Quantiles {
		for _, known := range result.Quantiles() {
			if float64(q.Percentage) == known {
				out.Add(result.QuantileName(known), "", float64(q.Latency))
			}
		}
	}
	return out
}

// ParseSummary reads a summary.
func ParseSummary(text []byte) (*result.Result, error) {
	s := strings.ReplaceAll(string(text), "\r\n", "\n")
	r := &Report{Statuses: map[string]int{}}
	for _, m := range valueLine().FindAllStringSubmatch(s, -1) {
		v := inNs(m[2], m[3])
		switch m[1] {
		case "Count":
			r.Count = uint64(max(v, 0))
		case "Average":
			r.Average = time.Duration(v)
		case "Slowest":
			r.Slowest = time.Duration(v)
		case "Requests/sec":
			r.RPS = v
		}
	}
	if !strings.Contains(s, "Status code distribution:") || r.Count == 0 {
		return nil, errors.New("the summary of ghz ends before its status codes: the run was killed or the output cut off")
	}
	for _, m := range quantileLine().FindAllStringSubmatch(s, -1) {
		p, _ := strconv.Atoi(m[1])
		r.Quantiles = append(r.Quantiles, Quantile{p, time.Duration(inNs(m[2], m[3]))})
	}
	for _, m := range statusLine().FindAllStringSubmatch(s, -1) {
		n, _ := strconv.Atoi(m[2])
		r.Statuses[m[1]] += n
	}
	return r.result(), nil
}

func inNs(number, unit string) float64 {
	v, _ := strconv.ParseFloat(number, 64)
	switch unit {
	case "ms":
		return v * 1e6
	case "s":
		return v * 1e9
	}
	return v
}
