package wrk

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/judge/result"
)

var (
	runningLine = lazyregexp.New(`(?m)^Running \S+ test @ (\S+)$`)
	rateLine    = lazyregexp.New(`(?m)^Requests/sec: *([0-9.]+)$`)
	totalLine   = lazyregexp.New(`(?m)^  ([0-9]+) requests in ([0-9.]+)(us|ms|s|m|h), `)
	threadsLine = lazyregexp.New(`(?m)^  [0-9]+ threads and ([0-9]+) connections$`)
	latencyLine = lazyregexp.New(`(?m)^    Latency +([0-9.]+)(us|ms|s|m|h) +([0-9.]+)(?:us|ms|s|m|h) +([0-9.]+)(us|ms|s|m|h)`)
	shareLine   = lazyregexp.New(`^ +([0-9]+(?:\.[0-9]+)?)% +([0-9.]+)(us|ms|s|m|h)$`)
	socketLine  = lazyregexp.New(`(?m)^  Socket errors: connect ([0-9]+), read ([0-9]+), write ([0-9]+), timeout ([0-9]+)$`)
	statusLine  = lazyregexp.New(`(?m)^  Non-2xx or 3xx responses: ([0-9]+)$`)
)

// Results returns the format of the output of wrk and wrk2.
func Results() result.Format {
	return result.Format{About: "the output of wrk or wrk2", Is: isResult, Parse: ParseResult}
}

func isResult(text []byte, _ map[string]json.RawMessage) bool {
	return runningLine().Match(text) && threadsLine().Match(text)
}

// ParseResult parses the output of wrk or wrk2.
func ParseResult(text []byte) (*result.Result, error) {
	s := strings.ReplaceAll(string(text), "\r\n", "\n")
	running, rate, total := runningLine().FindStringSubmatch(s), rateLine().FindStringSubmatch(s),
		totalLine().FindStringSubmatch(s)
	if running == nil || rate == nil || total == nil {
		return nil, errors.New("the output of wrk ends before its result (Requests/sec: …): the run was killed or the output cut off")
	}
	r := &result.Result{Program: "wrk", LoadModel: "closed", Name: running[1]}
	if strings.Contains(s, "HdrHistogram") || strings.Contains(s, "Thread calibration") {
		r.Program, r.LoadModel = "wrk2", "open"
	}
	if m := threadsLine().FindStringSubmatch(s); m != nil {
		r.Sessions = int(value(m[1]))
	}
	r.Add("rate", "", value(rate[1]))
	count := value(total[1])
	r.Add("count", "", count)
	failed := sum(statusLine().FindStringSubmatch(s))
	lost := sum(socketLine().FindStringSubmatch(s))
	if count+lost > 0 {
		r.Add("errors", "", (failed+lost)/(count+lost))
	}
	if m := latencyLine().FindStringSubmatch(s); m != nil {
		r.Add("response.avg", "", nanoseconds(m[1], m[2]))
		r.Add("response.max", "", nanoseconds(m[4], m[5]))
	}
	for line := range strings.Lines(s) {
		m := shareLine().FindStringSubmatch(strings.TrimRight(line, "\n"))
		if strings.Contains(line, "Uncorrected") {
			break
		}
		if m == nil {
			continue
		}
		for _, q := range result.Quantiles() {
			if value(m[1]) == q {
				r.Add(result.QuantileName(q), "", nanoseconds(m[2], m[3]))
			}
		}
	}
	return r, nil
}

func value(s string) float64 {
	v, _ := strconv.ParseFloat(s, 64)
	return v
}

func sum(m []string) (all float64) {
	for i := 1; i < len(m); i++ {
		all += value(m[i])
	}
	return all
}

// nanoseconds returns a time with a unit of wrk's.
func nanoseconds(number, unit string) float64 {
	return value(number) * map[string]float64{"us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9}[unit]
}
