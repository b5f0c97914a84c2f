package hey

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/judge/result"
)

var (
	valueLine  = lazyregexp.New(`(?m)^  (Total|Slowest|Fastest|Average|Requests/sec):\t([0-9.]+)`)
	shareLine  = lazyregexp.New(`(?m)^  ([0-9]+)%%? in ([0-9.]+) secs`)
	statusLine = lazyregexp.New(`(?m)^  \[([0-9]+)\]\t([0-9]+) responses$`)
	errorLine  = lazyregexp.New(`(?m)^  \[([0-9]+)\]\t(.*)$`)
)

// Results returns the format of hey's summary.
func Results() result.Format {
	return result.Format{About: "the output of hey", Is: isResult, Parse: ParseResult}
}

func isResult(text []byte, _ map[string]json.RawMessage) bool {
	s := string(text)
	return strings.HasPrefix(s, "Summary:") && strings.Contains(s, "Response time histogram:")
}

// ParseResult parses hey's summary.
func ParseResult(text []byte) (*result.Result, error) {
	s := strings.ReplaceAll(string(text), "\r\n", "\n")
	values := map[string]float64{}
	for _, m := range valueLine().FindAllStringSubmatch(s, -1) {
		values[m[1]] = number(m[2])
	}
	_, after, complete := strings.Cut(s, "Status code distribution:")
	if !complete || values["Requests/sec"] == 0 {
		return nil, errors.New("the output of hey ends before its status codes: the run was killed or the output cut off")
	}
	r := &result.Result{Program: "hey", LoadModel: "closed"}
	r.Add("rate", "", values["Requests/sec"])
	after, failures, _ := strings.Cut(after, "Error distribution:")
	var count, failed float64
	for _, m := range statusLine().FindAllStringSubmatch(after, -1) {
		count += number(m[2])
		if number(m[1]) >= 400 {
			failed += number(m[2])
		}
	}
	for _, m := range errorLine().FindAllStringSubmatch(failures, -1) {
		count += number(m[1])
		failed += number(m[1])
	}
	r.Add("count", "", count)
	if count > 0 {
		r.Add("errors", "", failed/count)
	}
	r.Add("response.avg", "", values["Average"]*1e9)
	r.Add("response.max", "", values["Slowest"]*1e9)
	for _, m := range shareLine().FindAllStringSubmatch(s, -1) {
		for _, q := range result.Quantiles() {
			if number(m[1]) == q {
				r.Add(result.QuantileName(q), "", number(m[2])*1e9)
			}
		}
	}
	return r, nil
}

func number(s string) float64 {
	v, _ := strconv.ParseFloat(s, 64)
	return v
}
