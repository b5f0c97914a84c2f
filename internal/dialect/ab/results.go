package ab

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/judge/result"
)

var (
	fieldLine   = lazyregexp.New(`(?m)^(Document Path|Concurrency Level|Complete requests|Failed requests|Non-2xx responses|Requests per second): +(\S+)`)
	perRequest  = lazyregexp.New(`(?m)^Time per request: +([0-9.]+) \[ms\] \(mean\)$`)
	servedLine  = lazyregexp.New(`(?m)^ +([0-9]+)% +([0-9]+)(?: \(longest request\))?$`)
	lengthsLine = lazyregexp.New(`(?m)^   \(Connect: ([0-9]+), Receive: ([0-9]+), Length: [0-9]+, Exceptions: ([0-9]+)\)$`)
)

// Results returns the format of ab's output.
func Results() result.Format {
	return result.Format{About: "the output of ab", Is: isResult, Parse: ParseResult}
}

func isResult(text []byte, _ map[string]json.RawMessage) bool {
	return strings.Contains(string(text), "This is ApacheBench") || strings.Contains(string(text), "\nDocument Path:")
}

// ParseResult parses ab's output. Answers whose length differs from the first one's are no errors.
func ParseResult(text []byte) (*result.Result, error) {
	s := strings.ReplaceAll(string(text), "\r\n", "\n")
	fields := map[string]string{}
	for _, m := range fieldLine().FindAllStringSubmatch(s, -1) {
		fields[m[1]] = m[2]
	}
	if fields["Requests per second"] == "" {
		return nil, errors.New("the output of ab ends before its result (Requests per second: …): the run was killed or the output cut off")
	}
	r := &result.Result{Program: "ab", LoadModel: "closed", Name: fields["Document Path"],
		Sessions: int(number(fields["Concurrency Level"]))}
	r.Add("rate", "", number(fields["Requests per second"]))
	complete := number(fields["Complete requests"])
	r.Add("count", "", complete)
	lost := 0.0
	if m := lengthsLine().FindStringSubmatch(s); m != nil {
		lost = number(m[1]) + number(m[2]) + number(m[3])
	}
	if complete+lost > 0 {
		r.Add("errors", "", (lost+number(fields["Non-2xx responses"]))/(complete+lost))
	}
	if m := perRequest().FindStringSubmatch(s); m != nil {
		r.Add("response.avg", "", number(m[1])*1e6)
	}
	for _, m := range servedLine().FindAllStringSubmatch(s, -1) {
		p, v := number(m[1]), number(m[2])*1e6
		if p == 100 {
			r.Add("response.max", "", v)
		}
		for _, q := range result.Quantiles() {
			if q == p {
				r.Add(result.QuantileName(q), "", v)
			}
		}
	}
	return r, nil
}

func number(s string) float64 {
	v, _ := strconv.ParseFloat(s, 64)
	return v
}
