package cassandrastress

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/judge/result"
)

// resultLine matches a line of results: its name, the value, the unit, and the values of operations.
var resultLine = lazyregexp.New(`^([A-Za-z0-9. ]+?) *: *([0-9,.NaN]+) *([a-z/]*) *(?:\[(.*)\])?$`)

// partForm matches the value of an operation.
var partForm = lazyregexp.New(`^(.+): ([0-9,.]+)(?: ([a-z/]+))?$`)

// Results returns the format of cassandra-stress's output.
func Results() result.Format {
	return result.Format{About: "the output of cassandra-stress", Is: isResult, Parse: ParseResult}
}

func isResult(text []byte, _ map[string]json.RawMessage) bool {
	return bytes.Contains(text, []byte("Results:\n")) && bytes.Contains(text, []byte("\nTotal operation time      : ")) ||
		bytes.Contains(text, []byte("type ")) && bytes.Contains(text, []byte("total ops,    op/s,    pk/s,   row/s,"))
}

// metrics maps the names of results to metrics and the factor of their unit.
var metrics = map[string]struct {
	name   string
	factor float64
}{
	"Op rate": {"rate", 1}, "Latency mean": {"response.avg", 1e6}, "Latency median": {"response.p(50)", 1e6},
	"Latency 95th percentile": {"response.p(95)", 1e6}, "Latency 99th percentile": {"response.p(99)", 1e6},
	"Latency 99.9th percentile": {"response.p(99.9)", 1e6},
}

// ParseResult parses the output of cassandra-stress 3.11 to 5.0. Of several results, the last one counts.
func ParseResult(text []byte) (*result.Result, error) {
	all := string(text)
	at := strings.LastIndex(all, "Results:\n")
	if at < 0 || !strings.Contains(all[at:], "\nTotal operation time") {
		return nil, errors.New("the output of cassandra-stress ends before its results: it was killed or cut off")
	}
	r := &result.Result{Program: commandName}
	total, failed := lastTotal(all[:at]), 0.0
	for line := range strings.Lines(all[at:]) {
		m := resultLine().FindStringSubmatch(strings.TrimRight(line, " \r\n"))
		if m == nil {
			continue
		}
		if m[1] == "Total errors" {
			failed = number(m[2])
		}
		to, ok := metrics[m[1]]
		if !ok {
			continue
		}
		r.Add(to.name, "", number(m[2])*to.factor)
		parts := strings.Split(m[4], ", ")
		for _, part := range parts {
			if p := partForm().FindStringSubmatch(part); p != nil && len(parts) > 1 {
				r.Add(to.name, p[1], number(p[2])*to.factor)
			}
		}
	}
	if total > 0 {
		r.Add("count", "", total-failed)
		r.Add("errors", "", failed/total)
	}
	return r, nil
}

// lastTotal returns the number of operations in the last line of totals.
func lastTotal(text string) (n float64) {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "total, "); ok {
			n = number(strings.TrimSpace(strings.SplitN(rest, ",", 2)[0]))
		}
	}
	return n
}

func number(text string) float64 {
	x, _ := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	return x
}
