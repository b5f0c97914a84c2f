// Package results reads the JSON that k6 writes at the end of a run.
package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/judge/result"
)

// metric is one of k6's metrics, from any of the formats.
type metric struct {
	kind   string // "counter", "gauge", "rate", "trend"; "" if the format doesn't say
	time   bool
	values map[string]float64
}

// Results returns the format of k6's JSON summaries.
func Results() result.Format {
	return result.Format{About: "k6's JSON summaries", Is: isResult, Parse: ParseResult}
}

func isResult(_ []byte, keys map[string]json.RawMessage) bool {
	return keys["metrics"] != nil || keys["results"] != nil && keys["config"] != nil
}

// ParseResult parses the argument of handleSummary, the output of --summary-export, and both of them with
// --new-machine-readable-summary. Times in them are milliseconds. The response time is the first of these metrics that
// the run has: http_req_duration, resp_time (Picostress), grpc_req_duration, iteration_duration. The rate and the count
// are those of the matching counter. Every other trend of times becomes an operation.
func ParseResult(data []byte) (*result.Result, error) {
	all, seconds, err := metricsOf(data)
	if err != nil {
		return nil, err
	}
	r := &result.Result{Program: "k6"}
	main := ""
	for _, m := range mains() {
		if all[m.trend].values == nil || all[m.counter].values["count"] == 0 {
			continue
		}
		main = m.trend
		addCounter(r, all[m.counter], seconds)
		addTrend(r, "", all[main])
		addErrors(r, all, m)
		break
	}
	if main == "" {
		return nil, errors.New("a summary of k6 without http_reqs, total_requests or iterations: it has no rate to tell")
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if m := all[name]; name != main && m.isTime() && !strings.Contains(name, "{") {
			addTrend(r, name, m)
		}
	}
	return r, nil
}

type mainMetric struct{ trend, counter, failed string }

// mains returns the metrics that a run may be about, in order of preference.
func mains() []mainMetric {
	return []mainMetric{
		{"http_req_duration", "http_reqs", "http_req_failed"},
		{"resp_time", "total_requests", "total_errors"},
		{"grpc_req_duration", "iterations", ""},
		{"iteration_duration", "iterations", ""},
	}
}

func addCounter(r *result.Result, m metric, seconds float64) {
	count, ok := m.values["count"]
	if !ok {
		return
	}
	if rate, ok := m.values["rate"]; ok {
		r.Add("rate", "", rate)
	} else if seconds > 0 {
		r.Add("rate", "", count/seconds)
	}
	r.Add("count", "", count)
}

func addTrend(r *result.Result, operation string, m metric) {
	for _, v := range [][2]string{
		{"response.avg", "avg"}, {"response.p(50)", "med"}, {"response.p(90)", "p(90)"}, {"response.p(95)", "p(95)"},
		{"response.p(99)", "p(99)"}, {"response.p(99.9)", "p(99.9)"},
	} {
		if ms, ok := m.values[v[1]]; ok {
			r.Add(v[0], operation, ms*1e6)
		}
	}
}

// addErrors adds the share of failures: k6's rate, or a counter divided by the number of requests.
func addErrors(r *result.Result, all map[string]metric, main mainMetric) {
	failed, ok := all[main.failed]
	if !ok {
		return
	}
	for _, name := range []string{"rate", "value"} {
		if share, ok := failed.values[name]; ok && failed.values["count"] == 0 {
			r.Add("errors", "", share)
			return
		}
	}
	if requests := all[main.counter].values["count"]; requests > 0 {
		r.Add("errors", "", failed.values["count"]/requests)
	}
}

// isTime reports whether m is a trend of times. If its kind is unknown, it is one if it has an average and a median.
func (m metric) isTime() bool {
	if m.kind != "" {
		return m.kind == "trend" && m.time
	}
	_, avg := m.values["avg"]
	_, med := m.values["med"]
	return avg && med
}

// metricsOf returns the metrics by name, and the duration of the run in seconds, 0 if the format doesn't say.
func metricsOf(data []byte) (map[string]metric, float64, error) {
	var form struct {
		Metrics map[string]json.RawMessage `json:"metrics"`
		State   struct {
			DurationMs float64 `json:"testRunDurationMs"`
		} `json:"state"`
		Config struct {
			Duration float64 `json:"duration"`
		} `json:"config"`
		Results struct {
			Metrics []struct {
				Name string `json:"name"`
				newForm
			} `json:"metrics"`
		} `json:"results"`
	}
	if err := json.Unmarshal(data, &form); err != nil {
		return nil, 0, fmt.Errorf("damaged summary of k6: %w", err)
	}
	all := map[string]metric{}
	for _, m := range form.Results.Metrics {
		all[m.Name] = m.metric()
	}
	for name, text := range form.Metrics {
		var m newForm
		if err := json.Unmarshal(text, &m); err == nil && m.Values != nil {
			all[name] = m.metric()
			continue
		}
		var values map[string]any
		if err := json.Unmarshal(text, &values); err != nil {
			return nil, 0, fmt.Errorf("damaged summary of k6: metric %s: %w", name, err)
		}
		all[name] = metric{values: numbers(values)}
	}
	if len(all) == 0 {
		return nil, 0, errors.New("a summary of k6 without metrics")
	}
	return all, max(form.State.DurationMs/1e3, form.Config.Duration), nil
}

type newForm struct {
	Type     string         `json:"type"`
	Contains string         `json:"contains"`
	Values   map[string]any `json:"values"`
}

func (m newForm) metric() metric {
	return metric{kind: m.Type, time: m.Contains == "time", values: numbers(m.Values)}
}

func numbers(values map[string]any) map[string]float64 {
	out := map[string]float64{}
	for name, v := range values {
		switch v := v.(type) {
		case float64:
			out[name] = v
		case string:
			if x, err := strconv.ParseFloat(v, 64); err == nil {
				out[name] = x
			}
		}
	}
	return out
}
