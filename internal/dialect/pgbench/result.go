// Package pgbench parses the output of pgbench.
package pgbench

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
	tpsLine      = lazyregexp.New(`(?m)^tps = ([0-9.]+)(.*)$`)
	progressLine = lazyregexp.New(`^progress: [0-9.]+ s, ([0-9.]+) tps, lat (?:([0-9.]+) ms|NaN)`)
	scriptLine   = lazyregexp.New(`^SQL script [0-9]+: (.*)$`)
	partLine     = lazyregexp.New(`^ - ([0-9]+) transactions \([0-9.]+% of total, tps = ([0-9.]+)\)`)
)

// Results returns the format of pgbench's output.
func Results() result.Format {
	return result.Format{About: "the output of pgbench", Is: isResult, Parse: ParseResult}
}

// isResult reports whether text is the output of pgbench.
func isResult(text []byte, _ map[string]json.RawMessage) bool {
	return tpsLine().Match(text) || progressLine().Match(text) ||
		strings.Contains(string(text), "number of transactions actually processed:")
}

// ParseResult parses the output of pgbench 9.5 to 18, which has no quantiles. Lines of --progress give confidence
// intervals within the run; that takes 20 lines. Times in the output are milliseconds.
func ParseResult(text []byte) (*result.Result, error) {
	p := parser{r: &result.Result{Program: "pgbench", LoadModel: "closed"}}
	for line := range strings.Lines(string(text)) {
		p.line(strings.TrimRight(line, "\r\n"))
	}
	if !p.ended {
		return nil, errors.New(
			"the output of pgbench ends before its result (tps = …): the run was killed or the output cut off")
	}
	p.finish()
	return p.r, nil
}

type parser struct {
	r          *result.Result
	script     string
	ended      bool
	rate       float64
	processed  float64
	failed     float64
	counted    bool
	latencyMs  float64
	rates      []float64
	latencies  []float64
	operations []func()
}

func (p *parser) line(line string) {
	if m := progressLine().FindStringSubmatch(line); m != nil {
		p.rates = append(p.rates, number(m[1]))
		if m[2] != "" {
			p.latencies = append(p.latencies, number(m[2])*1e6)
		}
		return
	}
	if m := tpsLine().FindStringSubmatch(line); m != nil {
		// Before version 14 there are two such lines. The one that excludes connecting corresponds to today's.
		if !p.ended || strings.Contains(m[2], "exclud") {
			p.rate, p.ended = number(m[1]), true
		}
		return
	}
	if m := scriptLine().FindStringSubmatch(line); m != nil {
		p.script = m[1]
		return
	}
	if m := partLine().FindStringSubmatch(line); m != nil && p.script != "" {
		script, count, rate := p.script, number(m[1]), number(m[2])
		p.operations = append(p.operations, func() {
			p.r.Add("rate", script, rate)
			p.r.Add("count", script, count)
		})
		return
	}
	if ms, ok := value(line, " - latency average = "); ok && p.script != "" {
		script := p.script
		p.operations = append(p.operations, func() { p.r.Add("response.avg", script, ms*1e6) })
		return
	}
	p.field(line)
}

func (p *parser) field(line string) {
	if name, ok := strings.CutPrefix(line, "transaction type: "); ok {
		p.r.Name = name
	}
	if version, ok := strings.CutPrefix(line, "pgbench ("); ok {
		p.r.Servers = serverOf(version)
	}
	if n, ok := value(line, "number of clients: "); ok {
		p.r.Sessions = int(n)
	}
	if n, ok := value(line, "number of transactions actually processed: "); ok {
		p.processed, p.counted = n, true
	}
	if n, ok := value(line, "number of failed transactions: "); ok {
		p.failed = n
	}
	if ms, ok := value(line, "latency average = "); ok {
		p.latencyMs = ms
	}
	if strings.HasPrefix(line, "rate limit schedule lag:") {
		p.r.LoadModel = "open"
	}
}

// serverOf returns the server's version from pgbench's first line, which names it if it differs from pgbench's own.
func serverOf(greeting string) []string {
	_, server, other := strings.Cut(greeting, "server ")
	if !other {
		server = strings.TrimPrefix(greeting, "PostgreSQL) ")
	}
	if fields := strings.FieldsFunc(server, func(r rune) bool {
		return r == ' ' || r == ')' || r == ',' ||
			r == '('
	}); len(fields) > 0 {
		return []string{"PostgreSQL " + fields[0]}
	}
	return nil
}

func (p *parser) finish() {
	p.r.Add("rate", "", p.rate)
	p.within("rate", p.rates)
	if p.latencyMs > 0 {
		p.r.Add("response.avg", "", p.latencyMs*1e6)
		p.within("response.avg", p.latencies)
	}
	if p.counted {
		p.r.Add("count", "", p.processed)
		if p.processed+p.failed > 0 {
			p.r.Add("errors", "", p.failed/(p.processed+p.failed))
		}
	}
	if len(p.operations) > 2 { // with a single script they repeat the totals
		for _, add := range p.operations {
			add()
		}
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

// value returns the number after a label, up to the first character that isn't a digit or a point.
func value(line, label string) (float64, bool) {
	rest, ok := strings.CutPrefix(line, label)
	if !ok {
		return 0, false
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		end = len(rest)
	}
	x, err := strconv.ParseFloat(rest[:end], 64)
	return x, err == nil
}

func number(s string) float64 {
	x, _ := strconv.ParseFloat(s, 64)
	return x
}
