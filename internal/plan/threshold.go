package plan

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// thresholdForm splits an expression into metric, selector, aggregate, comparison and limit.
var thresholdForm = regexp.MustCompile(`^([a-z]+)?(?:\{([^{}]*)\})?(?:\.?(p\(?[0-9.]+\)?|[a-z]+))?\s*(<=|>=|===|==|!=|<|>)\s*(\S.*)$`)

// aggregates of each metric; the first is its default.
func aggregatesOf(metric string) []string {
	switch metric {
	case "response", "service", "lag":
		return []string{"p", "avg", "min", "med", "max"}
	case "errors":
		return []string{"rate", "count"}
	case "dropped":
		return []string{"count", "rate"}
	case "rate":
		return []string{"rate"}
	case "count":
		return []string{"count"}
	}
	return nil
}

// ThresholdMetrics returns the names of the metrics that a threshold may be about.
func ThresholdMetrics() []string {
	return []string{"response", "service", "lag", "errors", "rate", "count", "dropped"}
}

// ParseThreshold reads an expression in the manner of k6's thresholds:
//
//	[metric][{operation:name}][.aggregate] comparison limit
//
// Response times are of all arrivals, and one without a good answer lies beyond every finite limit;
// {ok} or {ok,operation:name} selects the successful ones.
//
// Metrics are response (the default), service and lag with the aggregates p(0–100), avg, min,
// med, max and limits in milliseconds or with a unit (ns, us, µs, ms, s, m); errors and dropped
// with the aggregates rate (limit in % or as a fraction 0–1) and count; rate (successful
// operations a second); and count (operations done). Comparisons are < <= > >= == !=. Errors are
// one line that says what to write instead.
func ParseThreshold(text string) (Threshold, error) {
	t := Threshold{Text: text}
	if len(text) > 1000 {
		return t, errors.New("the threshold is too long; write one comparison")
	}
	m := thresholdForm.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return t, errors.New("not a threshold; write for example p(99) < 10ms or errors < 1%")
	}
	metric, aggregate := m[1], m[3]
	if metric != "" && aggregate == "" && aggregatesOf(metric) == nil {
		metric, aggregate = "", metric
	}
	if aggregate == "p" {
		return t, errors.New("p needs a quantile; write for example p(99)")
	}
	if strings.HasPrefix(aggregate, "p") && len(aggregate) > 1 {
		if err := t.quantile(aggregate); err != nil {
			return t, err
		}
		aggregate = "p"
	}
	t.Metric, t.Comparison = metric, m[4]
	if t.Comparison == "===" {
		t.Comparison = "=="
	}
	if err := t.setAggregate(aggregate, m[5]); err != nil {
		return t, err
	}
	if err := t.selectOperation(m[2], strings.Contains(text, "{")); err != nil {
		return t, err
	}
	if err := t.setLimit(strings.TrimSpace(m[5])); err != nil {
		return t, err
	}
	switch {
	case t.Limit == 0 && t.Comparison == "<":
		return t, fmt.Errorf("%q can't be met, since nothing is below 0; write for example <= or a greater limit", text)
	case t.Limit == 0 && t.Comparison == ">=":
		return t, fmt.Errorf("%q is always met, since nothing is below 0; write for example > or a greater limit", text)
	}
	return t, nil
}

func (t *Threshold) quantile(s string) error {
	q, err := strconv.ParseFloat(strings.Trim(s[1:], "()"), 64)
	if err != nil || q < 0 || q > 100 || strings.Contains(s, "(") != strings.Contains(s, ")") {
		return fmt.Errorf("%q is no quantile; write p(0) to p(100)", s)
	}
	t.Quantile = q
	return nil
}

func (t *Threshold) setAggregate(aggregate, limit string) error {
	if t.Metric == "" {
		t.Metric = "response"
	}
	known := aggregatesOf(t.Metric)
	switch {
	case known == nil:
		return fmt.Errorf("unknown metric %q; %s", t.Metric, didYouMean(t.Metric, ThresholdMetrics()))
	case aggregate == "" && known[0] == "p":
		return fmt.Errorf("%s needs an aggregate; write for example %s.p(99) or %s.max", t.Metric, t.Metric, t.Metric)
	case aggregate == "" && t.Metric == "dropped" && strings.HasSuffix(limit, "%"):
		aggregate = "rate"
	case aggregate == "":
		aggregate = known[0]
	}
	for _, k := range known {
		if k == aggregate {
			t.Aggregate = aggregate
			if aggregate == "med" {
				t.Aggregate, t.Quantile = "p", 50
			}
			return nil
		}
	}
	return fmt.Errorf("%s has no aggregate %q; %s", t.Metric, aggregate, didYouMean(aggregate, known))
}

func (t *Threshold) selectOperation(s string, braces bool) error {
	if !braces {
		return nil
	}
	if rest, ok := strings.CutPrefix(strings.TrimSpace(s), "ok"); ok && (rest == "" || rest[0] == ',') {
		if t.Metric != "response" {
			return fmt.Errorf("selector {ok} goes with response only, not with %s", t.Metric)
		}
		t.OK = true
		if rest == "" {
			return nil
		}
		s = rest[1:]
	}
	key, name, ok := strings.Cut(s, ":")
	name = strings.Trim(strings.TrimSpace(name), `"'`)
	if !ok || strings.TrimSpace(key) != "operation" || name == "" {
		return fmt.Errorf("selector {%s} is not known; write {operation:name}, or {ok} for successful operations only", s)
	}
	t.Operation = name
	return nil
}

func (t *Threshold) setLimit(s string) error {
	switch {
	case aggregatesOf(t.Metric)[0] == "p":
		return t.latencyLimit(s)
	case t.Metric == "rate":
		return t.numberLimit(strings.TrimSpace(strings.TrimSuffix(s, "/s")), "operations a second, such as 950")
	case t.Aggregate == "count":
		return t.numberLimit(s, "a number, such as 10")
	}
	percent, isPercent := strings.CutSuffix(s, "%")
	if err := t.numberLimit(strings.TrimSpace(percent), "a percentage, such as 1%"); err != nil {
		return err
	}
	if isPercent {
		t.Limit /= 100
	}
	if t.Limit > 1 {
		return fmt.Errorf("%s is more than all operations; write a percentage such as 1%% or use %s.count", s, t.Metric)
	}
	return nil
}

func (t *Threshold) latencyLimit(s string) error {
	if ms, err := strconv.ParseFloat(s, 64); err == nil {
		if !(ms >= 0) || ms > float64(math.MaxInt64)/1e6 {
			return fmt.Errorf("limit %s is out of range; write a time such as 10ms", s)
		}
		t.Limit = ms * float64(time.Millisecond)
		return nil
	}
	d, err := time.ParseDuration(strings.ReplaceAll(s, " ", ""))
	if err != nil || d < 0 {
		return fmt.Errorf("limit %q is no time; write for example 10ms or 1.5s", s)
	}
	t.Limit = float64(d)
	return nil
}

func (t *Threshold) numberLimit(s, want string) error {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 0) {
		return fmt.Errorf("limit %q is no number; write %s", s, want)
	}
	t.Limit = v
	return nil
}
