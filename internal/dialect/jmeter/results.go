package jmeter

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	judged "brunt/internal/judge/result"
)

// Results returns the format of JTL files in CSV.
func Results() judged.Format {
	return judged.Format{About: "results of JMeter (JTL, CSV)", Is: isResult, Parse: ParseResult}
}

func isResult(text []byte, _ map[string]json.RawMessage) bool {
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	return bytes.HasPrefix(line, []byte("timeStamp,elapsed,")) && bytes.Contains(line, []byte("success"))
}

// ParseResult parses a JTL file in CSV.
func ParseResult(text []byte) (*judged.Result, error) {
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord, r.ReuseRecord = -1, true
	head, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("the first line: %w", err)
	}
	head = slices.Clone(head)
	at := func(name string) int { return slices.Index(head, name) }
	start, elapsed, success, threads, url := at("timeStamp"), at("elapsed"), at("success"), at("allThreads"), at("URL")
	if start < 0 || elapsed < 0 || success < 0 {
		return nil, errors.New("a JTL file needs the columns timeStamp, elapsed and success")
	}
	var times []float64
	var sum float64
	failed, most, from, to := 0, 0, int64(0), int64(0)
	for line := 2; ; line++ {
		f, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil || len(f) <= max(start, elapsed, success) {
			return nil, fmt.Errorf("line %d is incomplete: the file was cut off", line)
		}
		if url >= 0 && url < len(f) && f[url] == "null" { // a transaction, or a sampler that sends nothing
			continue
		}
		begun, err1 := strconv.ParseInt(f[start], 10, 64)
		took, err2 := strconv.ParseInt(f[elapsed], 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if len(times) == 0 || begun < from {
			from = begun
		}
		to = max(to, begun+took)
		times, sum = append(times, float64(took)*1e6), sum+float64(took)*1e6
		if f[success] != "true" {
			failed++
		}
		if threads >= 0 && threads < len(f) {
			n, _ := strconv.Atoi(f[threads])
			most = max(most, n)
		}
	}
	if len(times) == 0 {
		return nil, errors.New("the file has no samples")
	}
	out := &judged.Result{Program: "jmeter", LoadModel: "closed", Sessions: most}
	slices.Sort(times)
	n := float64(len(times))
	out.Add("count", "", n)
	out.Add("rate", "", n/max(float64(to-from)/1000, 0.001))
	out.Add("errors", "", float64(failed)/n)
	out.Add("response.avg", "", sum/n)
	out.Add("response.max", "", times[len(times)-1])
	for _, q := range judged.Quantiles() {
		out.Add(judged.QuantileName(q), "", times[min(int(q/100*n), len(times)-1)])
	}
	return out, nil
}
