package etcdbench

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/judge/result"
)

var (
	quantileLine = lazyregexp.New(`^  ([0-9.]+)% in (\S+) secs\.$`)
	barLine      = lazyregexp.New(`^  \S+ \[([0-9]+)\]\t\|∎*$`)
	errorLine    = lazyregexp.New(`^  \[([0-9]+)\]\t`)
	titleLine    = lazyregexp.New(`^(Watch creation|Watch events received|Watch events|Put|Get during watch) summary:$`)
	partLine     = lazyregexp.New(`^Total (Read|Write) Ops: `)
)

// Results returns the format of benchmark's output.
func Results() result.Format {
	return result.Format{About: "the output of etcd's benchmark", Is: isResult, Parse: ParseResult}
}

func isResult(text []byte, _ map[string]json.RawMessage) bool {
	return bytes.Contains(text, []byte("Summary:\n  Total:\t")) && bytes.Contains(text, []byte(" secs.\n  Slowest:\t"))
}

// part is one report of an output.
type part struct {
	operation     string
	times         map[string]float64 // s
	quantiles     [][2]float64       // percent, s
	count, failed float64
}

// ParseResult parses the output of benchmark, which has one report, or one for reads and one for writes, or for watches
// and events.
func ParseResult(text []byte) (*result.Result, error) {
	var parts []*part
	operation := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if m := partLine().FindStringSubmatch(line); m != nil {
			operation = strings.ToLower(m[1])
		}
		if m := titleLine().FindStringSubmatch(line); m != nil {
			operation = strings.ToLower(m[1])
		}
		if line == "Summary:" {
			parts = append(parts, &part{operation: operation, times: map[string]float64{}})
		}
		if len(parts) > 0 {
			parts[len(parts)-1].line(line)
		}
	}
	r := &result.Result{Program: commandName}
	total := &part{}
	for _, p := range parts {
		if p.times["Requests/sec"] == 0 || p.count == 0 {
			return nil, errors.New("the output of etcd's benchmark ends before its histogram: it was cut off")
		}
		if len(parts) > 1 {
			p.add(r, p.operation)
		}
		total.count, total.failed = total.count+p.count, total.failed+p.failed
	}
	if len(parts) == 1 {
		parts[0].add(r, "")
		return r, nil
	}
	longest := 0.0
	for _, p := range parts {
		longest = max(longest, p.times["Total"])
	}
	r.Add("rate", "", total.count/longest)
	r.Add("count", "", total.count)
	r.Add("errors", "", total.failed/(total.count+total.failed))
	return r, nil
}

func (p *part) line(line string) {
	if name, value, ok := strings.Cut(strings.TrimSpace(line), ":\t"); ok {
		if s, err := strconv.ParseFloat(strings.TrimSuffix(value, " secs."), 64); err == nil {
			p.times[name] = s
		}
		return
	}
	if m := quantileLine().FindStringSubmatch(line); m != nil {
		percent, _ := strconv.ParseFloat(m[1], 64)
		if s, err := strconv.ParseFloat(m[2], 64); err == nil {
			p.quantiles = append(p.quantiles, [2]float64{percent, s})
		}
		return
	}
	if m := barLine().FindStringSubmatch(line); m != nil {
		n, _ := strconv.ParseFloat(m[1], 64)
		p.count += n
		return
	}
	if m := errorLine().FindStringSubmatch(line); m != nil {
		n, _ := strconv.ParseFloat(m[1], 64)
		p.failed += n
	}
}

func (p *part) add(r *result.Result, operation string) {
	r.Add("rate", operation, p.times["Requests/sec"])
	r.Add("count", operation, p.count)
	r.Add("errors", operation, p.failed/(p.count+p.failed))
	r.Add("response.avg", operation, p.times["Average"]*1e9)
	for _, q := range p.quantiles {
		for _, known := range result.Quantiles() {
			if q[0] == known {
				r.Add(result.QuantileName(known), operation, q[1]*1e9)
			}
		}
	}
}
