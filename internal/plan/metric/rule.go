package metric

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/base/suggest"
)

// thresholdForm matches an expression: metric, selector, aggregate, comparison and limit.
var thresholdForm = lazyregexp.New(
	`^([a-z]+)?(?:\{([^{}]*)\})?(?:\.?(p\(?[0-9.]+\)?|[a-z]+))?\s*(<=|>=|===|==|!=|<|>)\s*(\S.*)$`)

// windowForm matches what may follow the limit: the windows' length, and how long in total they may break the rule.
var windowForm = lazyregexp.New(`^(.*\S)\s+over\s+(\S+)(?:\s+at\s+most\s+(\S+)\s+in\s+all)?$`)

// The limits of a window's length.
const (
	leastWindow = 10 * time.Millisecond
	mostWindow  = 24 * time.Hour
)

// Rule is a comparison of a metric with a limit.
type Rule struct {
	Text       string  // as written, e.g. "p(99) < 10ms"
	Metric     string  // a name of All
	Operation  string  // "" for all operations
	OK         bool    // response: of successful operations only
	Aggregate  string  // one of the metric's aggregates; "p" for "med"
	Quantile   float64 // for "p": 0–100
	Comparison string  // "<" "<=" ">" ">=" "==" "!="
	Limit      float64 // in the unit of the metric's aggregate
	// Window is the length of the windows in each of which the rule must hold; 0 means that it applies to the whole
	// load.
	Window time.Duration
	Budget time.Duration // total time for which the rule may be broken
}

// Comparisons returns the comparisons that rules can have.
func Comparisons() []string { return []string{"<", "<=", ">", ">=", "==", "!="} }

// ParseRule parses an expression in the style of k6's thresholds:
//
//	[metric][{operation:name}][.aggregate] comparison limit
//
// Response times are those of all arrivals; an arrival without a good answer exceeds every finite limit. {ok} or
// {ok,operation:name} selects successful operations only.
//
// Metrics are response (the default), service, lag, and the times of streams' messages first, between and pace, with
// the aggregates p(0–100), avg, min, med, max and limits in milliseconds or with a unit (ns, us, µs, ms, s, m);
// errors and dropped with the aggregates rate (limit in % or as a fraction 0–1) and count; rate (successful
// operations a second); and count (operations done). Comparisons are < <= > >= == !=. Errors are one line that says
// what to write instead.
//
// "over 10s" after the limit requires the rule to hold in every window of that length. "at most 2m in all" after that
// allows it to be broken for that time in total.
func ParseRule(text string) (Rule, error) {
	t := Rule{Text: text}
	if len(text) > 1000 {
		return t, errors.New("the threshold is too long; write one comparison")
	}
	whole := strings.TrimSpace(text)
	if w := windowForm().FindStringSubmatch(whole); w != nil {
		if err := t.setWindow(w[2], w[3]); err != nil {
			return t, err
		}
		whole = w[1]
	}
	m := thresholdForm().FindStringSubmatch(whole)
	if m == nil {
		return t, errors.New("not a threshold; write for example p(99) < 10ms or errors < 1%")
	}
	metric, aggregate := m[1], m[3]
	if metric != "" && aggregate == "" && Find(metric) == nil {
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

// setWindow parses the length of the windows and the total time in which they may break the rule; budget may be "".
func (t *Rule) setWindow(window, budget string) (err error) {
	if t.Window, err = time.ParseDuration(window); err != nil || t.Window < leastWindow || t.Window > mostWindow {
		return fmt.Errorf("%q is no window; write a time from 10ms to 24h, such as over 10s", window)
	}
	if budget == "" {
		return nil
	}
	if t.Budget, err = time.ParseDuration(budget); err != nil || t.Budget <= 0 {
		return fmt.Errorf("%q is no time; write for example at most 2m in all", budget)
	}
	return nil
}

func (t *Rule) quantile(s string) error {
	q, err := strconv.ParseFloat(strings.Trim(s[1:], "()"), 64)
	if err != nil || q < 0 || q > 100 || strings.Contains(s, "(") != strings.Contains(s, ")") {
		return fmt.Errorf("%q is no quantile; write p(0) to p(100)", s)
	}
	t.Quantile = q
	return nil
}

func (t *Rule) setAggregate(aggregate, limit string) error {
	if t.Metric == "" {
		t.Metric = "response"
	}
	m := Find(t.Metric)
	var known []string
	if m != nil {
		known = m.Aggregates
	}
	switch {
	case m == nil:
		return fmt.Errorf("unknown metric %q; %s", t.Metric, suggest.DidYouMean(t.Metric, Names()))
	case aggregate == "" && m.Times:
		return fmt.Errorf("%s needs an aggregate; write for example %s.p(99) or %s.max", t.Metric, t.Metric, t.Metric)
	case aggregate == "" && slices.Contains(known, "rate") && strings.HasSuffix(limit, "%"):
		aggregate = "rate"
	case aggregate == "":
		aggregate = known[0]
	}
	if slices.Contains(known, aggregate) {
		t.Aggregate = aggregate
		if aggregate == "med" {
			t.Aggregate, t.Quantile = "p", 50
		}
		return nil
	}
	return fmt.Errorf("%s has no aggregate %q; %s", t.Metric, aggregate, suggest.DidYouMean(aggregate, known))
}

func (t *Rule) selectOperation(s string, braces bool) error {
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

func (t *Rule) setLimit(s string) error {
	switch Find(t.Metric).UnitOf(t.Aggregate) {
	case Nanoseconds:
		return t.latencyLimit(s)
	case PerSecond:
		return t.numberLimit(strings.TrimSpace(strings.TrimSuffix(s, "/s")), "operations a second, such as 950")
	case Number:
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

func (t *Rule) latencyLimit(s string) error {
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

func (t *Rule) numberLimit(s, want string) error {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 0) {
		return fmt.Errorf("limit %q is no number; write %s", s, want)
	}
	t.Limit = v
	return nil
}
