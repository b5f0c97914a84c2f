package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/judge/result"
)

var plainLine = lazyregexp.New(`(?m)^([A-Z_]+)\s+- Takes\(s\): ([^,\n]+), Count: (.*)$`)

// jsonLine matches a line of results in JSON. During the run, go-ycsb prints one for each interval.
var jsonLine = lazyregexp.New(`(?m)^\[\{.*"Operation":.*\}\]\r?$`)

// tableHead matches the beginning of a table's line of centred headings.
var tableHead = lazyregexp.New(`(?m)^\| *OPERATION *\|`)

// Format returns the format of go-ycsb's output.
func Format() result.Format {
	return result.Format{About: "the output of go-ycsb", Is: isResult, Parse: ParseResult}
}

// isResult reports whether text is the output of go-ycsb, in any of its styles, with or without the lines before and
// after its results. No other supported program writes a JSON array.
func isResult(text []byte, _ map[string]json.RawMessage) bool {
	return text[0] == '[' || plainLine().Match(text) || jsonLine().Match(text) || tableHead().Match(text)
}

// ParseResult parses the output of go-ycsb in any of its styles (plain, table, json). The last line of an operation
// counts; earlier ones are progress lines. Rates are go-ycsb's own: each operation's clock starts at its first request.
// Times in the output are microseconds.
func ParseResult(text []byte) (*result.Result, error) {
	rows, err := rowsOf(string(text))
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, errors.New("not the output of go-ycsb: it has no line of an operation, such as READ - Takes(s): …")
	}
	r := &result.Result{Program: "go-ycsb", Name: property(string(text), "workload"), LoadModel: "closed"}
	if n, err := strconv.Atoi(property(string(text), "threadcount")); err == nil {
		r.Sessions = n
	}
	names := slices.Sorted(maps.Keys(rows))
	successes := slices.DeleteFunc(slices.Clone(names),
		func(n string) bool { return n == Total || strings.HasSuffix(n, "_ERROR") })
	switch {
	case rows[Total] != nil:
		addRow(r, "", rows[Total], failedOf(rows))
	case len(successes) == 1:
		addRow(r, "", rows[successes[0]], failedOf(rows))
		return r, nil
	}
	for _, n := range successes {
		addRow(r, n, rows[n], figure(rows[n+"_ERROR"], "Count"))
	}
	return r, nil
}

// row maps the columns of an operation to their values.
type row map[string]string

func rowsOf(text string) (map[string]row, error) {
	rows := map[string]row{}
	lists := jsonLine().FindAllString(text, -1)
	if strings.HasPrefix(text, "[") && len(lists) == 0 {
		lists = []string{text}
	}
	for _, list := range lists {
		if err := addObjects(rows, list); err != nil {
			return nil, err
		}
	}
	if len(lists) > 0 {
		return rows, nil
	}
	names := header()
	for line := range strings.Lines(text) {
		if m := plainLine().FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil {
			o := row{}
			for part := range strings.SplitSeq("Takes(s): "+m[2]+", Count: "+m[3], ", ") {
				name, value, _ := strings.Cut(part, ": ")
				o[name] = value
			}
			rows[m[1]] = o
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != len(names) || strings.TrimSpace(cells[0]) == "OPERATION" {
			continue
		}
		o := row{}
		for i, name := range names {
			o[name] = strings.TrimSpace(cells[i])
		}
		rows[o["Operation"]] = o
	}
	return rows, nil
}

// addObjects adds the rows of a JSON list.
func addObjects(rows map[string]row, list string) error {
	var objects []row
	if err := json.Unmarshal([]byte(list), &objects); err != nil {
		return fmt.Errorf("damaged output of go-ycsb: %w", err)
	}
	for _, o := range objects {
		if o["Operation"] == "" {
			return errors.New("not the output of go-ycsb: an object has no Operation")
		}
		rows[o["Operation"]] = o
	}
	return nil
}

// failedOf returns the failures of all operations. It counts the parts of a READ_MODIFY_WRITE, not the whole.
func failedOf(rows map[string]row) (sum float64) {
	for name, o := range rows {
		if strings.HasSuffix(name, "_ERROR") && !strings.HasPrefix(name, "READ_MODIFY_WRITE") {
			sum += figure(o, "Count")
		}
	}
	return sum
}

func addRow(r *result.Result, operation string, o row, failed float64) {
	count := figure(o, "Count")
	add := func(metric, column string, unit float64) {
		if text, ok := o[column]; ok {
			if x, err := strconv.ParseFloat(text, 64); err == nil && x >= 0 {
				r.Add(metric, operation, x*unit)
			}
		}
	}
	add("rate", "OPS", 1)
	for _, m := range [][2]string{
		{"response.avg", "Avg(us)"}, {"response.p(50)", "50th(us)"}, {"response.p(90)", "90th(us)"},
		{"response.p(95)", "95th(us)"}, {"response.p(99)", "99th(us)"}, {"response.p(99.9)", "99.9th(us)"},
	} {
		add(m[0], m[1], 1e3)
	}
	r.Add("count", operation, count)
	if count+failed > 0 {
		r.Add("errors", operation, failed/(count+failed))
	}
}

func figure(o row, column string) float64 {
	x, err := strconv.ParseFloat(o[column], 64)
	if err != nil || x < 0 {
		return 0
	}
	return x
}

// property returns a property that go-ycsb printed before the run as "name"="value", "" if there is none.
func property(text, name string) string {
	_, after, found := strings.Cut(text, `"`+name+`"="`)
	value, _, closed := strings.Cut(after, `"`)
	if !found || !closed || strings.Contains(value, "\n") {
		return ""
	}
	return value
}
