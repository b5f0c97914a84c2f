package sysbench

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/base/stats"
	"brunt/internal/judge/result"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

var (
	greetingLine = lazyregexp.New(`(?m)^sysbench ([0-9][^ ]*)`)
	intervalLine = lazyregexp.New(`^\[ [0-9]+s \] thds: ([0-9]+) tps: ([0-9.]+) qps: ([0-9.]+) .*lat \(ms,[0-9]+%\): ([0-9.]+)`)
	ratedLine    = lazyregexp.New(`^    ([a-z ]+): +([0-9]+) +\(([0-9.]+) per sec\.\)`)
	labelLine    = lazyregexp.New(`^ +([A-Za-z0-9 /()]+): +([0-9.]+)s?$`)
	centileLine  = lazyregexp.New(`^ +([0-9]+)th percentile: +([0-9.]+)$`)
)

// Results returns the format of sysbench's output.
func Results() result.Format {
	return result.Format{About: "the output of sysbench", Is: isResult, Parse: ParseResult}
}

func isResult(text []byte, _ map[string]json.RawMessage) bool {
	s := string(text)
	return strings.Contains(s, "\nSQL statistics:\n") && strings.Contains(s, "queries performed:") ||
		greetingLine().Match(text) && strings.Contains(s, "\nRunning the test with following options:")
}

// ParseResult parses the output of a database test of sysbench 1.0 or 1.1. Of several reports, which checkpoints make,
// the last counts. Lines of --report-interval give confidence intervals within the run.
func ParseResult(text []byte) (*result.Result, error) {
	p := parser{r: &result.Result{Program: "sysbench", LoadModel: "closed"}}
	for line := range strings.Lines(string(text)) {
		p.line(strings.TrimRight(line, "\r\n"))
	}
	if p.fatal != "" && !p.ended {
		return nil, errors.New("sysbench ended with an error: " + p.fatal)
	}
	if !p.ended {
		return nil, errors.New("the output of sysbench ends before its report: the run was killed or the output cut off")
	}
	p.finish()
	return p.r, nil
}

// parser reads the output line by line.
type parser struct {
	r         *result.Result
	fatal     string
	ended     bool
	section   string
	rates     []float64
	latencies []float64
	values    map[string]float64
	centile   string
}

func (p *parser) line(line string) {
	if text, ok := strings.CutPrefix(line, "FATAL: "); ok && p.fatal == "" {
		p.fatal = text
	}
	if n, ok := strings.CutPrefix(line, "Number of threads: "); ok {
		p.r.Sessions, _ = strconv.Atoi(n)
	}
	if strings.HasPrefix(line, "Target transaction rate: ") {
		p.r.LoadModel = "open"
	}
	if m := intervalLine().FindStringSubmatch(line); m != nil {
		p.rates, p.latencies = append(p.rates, number(m[2])), append(p.latencies, number(m[4])*1e6)
		return
	}
	switch {
	case line == "SQL statistics:":
		p.values, p.ended = map[string]float64{}, false
	case strings.HasPrefix(line, "Threads fairness:"):
		p.ended = p.values != nil
	}
	if line != "" && line[0] != ' ' {
		p.section = line
	}
	p.figure(line)
}

// figure takes a line of a report.
func (p *parser) figure(line string) {
	if p.values == nil {
		return
	}
	if m := ratedLine().FindStringSubmatch(line); m != nil {
		p.values[m[1]], p.values[m[1]+" per s"] = number(m[2]), number(m[3])
		return
	}
	if m := centileLine().FindStringSubmatch(line); m != nil {
		p.centile = m[1]
		p.values["percentile"] = number(m[2])
		return
	}
	if m := labelLine().FindStringSubmatch(line); m != nil {
		p.values[m[1]] = number(m[2])
	}
}

func (p *parser) finish() {
	v := p.values
	p.r.Add("rate", "", v["transactions per s"])
	p.within("rate", p.rates)
	p.r.Add("count", "", v["transactions"])
	p.r.Add("response.avg", "", v["avg"]*1e6)
	p.r.Add("response.min", "", v["min"]*1e6)
	p.r.Add("response.max", "", v["max"]*1e6)
	if p.centile != "" {
		p.r.Add("response.p("+p.centile+")", "", v["percentile"]*1e6)
		p.within("response.p("+p.centile+")", p.latencies)
	}
	if done := v["transactions"] + v["ignored errors"]; done > 0 {
		p.r.Add("errors", "", v["ignored errors"]/done)
	}
}

// within sets the confidence interval of a metric from its series.
func (p *parser) within(name string, series []float64) {
	m := p.r.Find(name, "")
	if len(series) == 0 || m == nil {
		return
	}
	i, err := stats.MeanCI(series, 0.95)
	if err != nil {
		m.Within = &record.Bounds{Why: message.OfError(err)}
		return
	}
	m.Within = &record.Bounds{Low: i.Low, High: i.High, Correlated: i.Correlated}
}

func number(s string) float64 {
	x, _ := strconv.ParseFloat(s, 64)
	return x
}
