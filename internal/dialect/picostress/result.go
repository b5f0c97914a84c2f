package picostress

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/judge/result"
)

// Results returns the format of Picostress' summaries.
func Results() result.Format {
	return result.Format{About: "Picostress's summary_*.json", Is: isResult, Parse: ParseResult}
}

// isResult reports whether there is the object rps, which holds rps.actual.
func isResult(_ []byte, keys map[string]json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimSpace(keys["rps"]), []byte("{"))
}

// ParseResult parses a summary_<seed>.json. The article about Picostress names the keys picodataVersion, configName,
// seed and rps.actual. How it writes response times and counts isn't published, so common spellings are tried. Times
// are milliseconds.
func ParseResult(data []byte) (*result.Result, error) {
	var file map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // seeds don't fit into a float64
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("damaged summary: %w", err)
	}
	s := flatten(file)
	rate, ok := s.number("rps.actual")
	if !ok {
		return nil, errors.New("not a summary of Picostress: it has no rps.actual")
	}
	r := &result.Result{
		Program: "picostress", Name: s.text("configname"), Seed: s.text("seed"), LoadModel: s.text("loadmodel"),
		Verdict: s.text("verdict"),
	}
	if v := s.text("picodataversion"); v != "" {
		r.Servers = []string{v}
		if !strings.Contains(v, " ") {
			r.Servers = []string{"Picodata " + v}
		}
	}
	r.Started, _ = time.Parse(time.RFC3339, s.text("started"))
	if n, ok := s.number("vus", "vu"); ok {
		r.Sessions = int(n)
	}
	if complete, there := file["complete"].(bool); there {
		r.Killed = !complete
	}
	r.Add("rate", "", rate)
	for _, m := range []struct {
		name string
		keys []string
	}{
		{"response.avg", []string{"avg", "mean"}}, {"response.p(50)", []string{"med", "p50", "p(50)"}},
		{"response.p(90)", []string{"p90", "p(90)"}},
		{"response.p(95)", []string{"p95", "p(95)"}}, {"response.p(99)", []string{"p99", "p(99)"}},
		{"response.p(99.9)", []string{"p999", "p(99.9)"}},
	} {
		if ms, ok := s.number(under([]string{"resptime", "responsetime", "latency"}, m.keys)...); ok {
			r.Add(m.name, "", ms*1e6)
		}
	}
	total, counted := s.number("requests.total", "requests.count", "totalrequests", "requests")
	succeeded, told := s.number("requests.succeeded")
	failed, failures := s.number("requests.failed", "totalerrors", "errors.total", "errors")
	if !told {
		succeeded = total - failed
	}
	if counted {
		r.Add("count", "", succeeded)
		if total > 0 && (told || failures) {
			r.Add("errors", "", (total-succeeded)/total)
		}
	}
	return r, nil
}

// under returns all combinations name.key.
func under(names, keys []string) (all []string) {
	for _, n := range names {
		for _, k := range keys {
			all = append(all, n+"."+k)
		}
	}
	return all
}

// values are those of the file. Their names are in lower case without underscores, and joined by dots.
type values map[string]any

func flatten(file map[string]any) values {
	s := values{}
	for _, key := range slices.Sorted(maps.Keys(file)) {
		name := strings.ToLower(strings.ReplaceAll(key, "_", ""))
		if inner, ok := file[key].(map[string]any); ok {
			for k, v := range flatten(inner) {
				s[name+"."+k] = v
			}
			continue
		}
		s[name] = file[key]
	}
	return s
}

// number returns the value of the first name that has a number.
func (s values) number(names ...string) (float64, bool) {
	for _, n := range names {
		switch v := s[n].(type) {
		case json.Number:
			if x, err := v.Float64(); err == nil {
				return x, true
			}
		case string:
			if x, err := strconv.ParseFloat(v, 64); err == nil {
				return x, true
			}
		}
	}
	return 0, false
}

func (s values) text(name string) string {
	switch v := s[name].(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}
