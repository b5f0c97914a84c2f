package ghz

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

var influxEscapes = strings.NewReplacer(" ", `\ `, ",", `\,`, "=", `\=`)

// influxText escapes a tag's value for InfluxDB's line protocol as ghz does.
func influxText(s string) string { return influxEscapes.Replace(s) }

// quotedJSON returns a value as JSON within a JSON text, escaped.
func quotedJSON(v any) string {
	text, err := json.Marshal(v)
	if err == nil {
		text, err = json.Marshal(string(text))
	}
	if err != nil {
		return `""`
	}
	return influxText(string(text))
}

// influxTags returns the tags of all lines.
func (r *Report) influxTags() string {
	var s []string
	add := func(format string, args ...any) { s = append(s, fmt.Sprintf(format, args...)) }
	o := &r.Options
	if r.Name != "" {
		add(`name="%s"`, influxText(strings.TrimSpace(r.Name)))
	}
	if o.Proto != "" {
		add(`proto="%s"`, o.Proto)
	} else if o.Protoset != "" {
		add(`Protoset="%s"`, o.Protoset)
	}
	add(`call="%s"`, o.Call)
	add(`host="%s"`, o.Host)
	add("n=%d", o.Total)
	if o.CSchedule == "const" {
		add("c=%d", o.Concurrency)
	} else {
		add("concurrency-schedule=%s,concurrency-start=%d,concurrency-end=%d,concurrency-step=%d", o.CSchedule, o.CStart,
			o.CEnd, o.CStep)
		add("concurrency-step-duration=%s,concurrency-max-duration=%s", o.CStepTime, o.CMaxDuration)
	}
	if o.LoadSchedule == "const" {
		add("rps=%d", o.RPS)
	} else {
		add("load-schedule=%s,load-start=%d,load-end=%d,load-step=%d", o.LoadSchedule, o.LoadStart, o.LoadEnd, o.LoadStep)
		add("load-step-duration=%s,load-max-duration=%s", o.LoadStepDuration, o.LoadMaxDuration)
	}
	add("z=%d", o.Duration.Nanoseconds())
	add("timeout=%v", o.Timeout.Seconds())
	add("dial_timeout=%v", o.DialTimeout.Seconds())
	add("keepalive=%v", o.KeepAlive.Seconds())
	add("data=%s", quotedJSON(o.Data))
	metadata, tags := `""`, `""`
	if o.Metadata != nil {
		metadata = quotedJSON(o.Metadata)
	}
	if len(r.Tags) > 0 {
		tags = quotedJSON(r.Tags)
	}
	add("metadata=%s", metadata)
	add("tags=%s", tags)
	return strings.Join(s, ",")
}

// influx writes one line about the load.
func (r *Report) influx(b *bytes.Buffer) {
	failed := r.failed()
	fmt.Fprintf(b, "ghz_run,%s,errors=%d,has_errors=%t ", r.influxTags(), failed, failed > 0)
	fmt.Fprintf(b, "count=%d,total=%d,average=%d,fastest=%d,slowest=%d,rps=%4.2f", r.Count, r.Total.Nanoseconds(),
		r.Average.Nanoseconds(), r.Fastest.Nanoseconds(), r.Slowest.Nanoseconds(), r.RPS)
	for _, q := range r.Quantiles {
		switch q.Percentage {
		case 50:
			fmt.Fprintf(b, ",median=%d", q.Latency.Nanoseconds())
		case 95:
			fmt.Fprintf(b, ",p95=%d", q.Latency.Nanoseconds())
		}
	}
	at, _ := time.Parse(time.RFC3339, r.Date)
	fmt.Fprintf(b, ",errors=%d %d", failed, max(at.UnixNano(), 0))
}

// influxDetails writes one line for each call.
func (r *Report) influxDetails(b *bytes.Buffer) {
	tags := r.influxTags()
	for i := range r.Details {
		d := &r.Details[i]
		fmt.Fprintf(b, "ghz_detail,%s,hasError=%t latency=%d,error=\"%s\",status=\"%s\" %d\n", tags, d.Error != "",
			d.Latency.Nanoseconds(), influxText(d.Error), d.Status, d.Timestamp.UnixNano())
	}
}

// labels returns the labels of all metrics of Prometheus, sorted by name. ghz has them in no order.
func (r *Report) labels() string {
	o := &r.Options
	all := map[string]string{"name": r.Name, "end_reason": r.EndReason, "call": o.Call, "host": o.Host,
		"import_paths": strings.Join(o.ImportPaths, ","), "skipTLS": strconv.FormatBool(o.SkipTLS),
		"insecure": strconv.FormatBool(o.Insecure), "async": strconv.FormatBool(o.Async),
		"binary": strconv.FormatBool(o.Binary), "count_errors": strconv.FormatBool(o.CountErrors),
		"rps": strconv.Itoa(o.RPS), "concurrency": strconv.Itoa(o.Concurrency), "total": strconv.Itoa(o.Total),
		"connections": strconv.Itoa(o.Connections), "CPUs": strconv.Itoa(o.CPUs), "skipFirst": strconv.Itoa(o.SkipFirst),
		"duration": nano(o.Duration), "timeout": nano(o.Timeout), "dial_timeout": nano(o.DialTimeout),
		"keepalive": nano(o.KeepAlive)}
	for name, value := range map[string]string{"proto": o.Proto, "protoset": o.Protoset, "cacert": o.CACert,
		"cert": o.Cert, "key": o.Key, "cname": o.CName, "authority": o.Authority} {
		if value != "" {
			all[name] = value
		}
	}
	if o.EnableCompression {
		all["enable_compression"] = "true"
	}
	if o.CSchedule != "const" {
		maps.Copy(all, map[string]string{"concurrency_schedule": o.CSchedule, "concurrency_start": strconv.Itoa(o.CStart),
			"concurrency_end": strconv.Itoa(o.CEnd), "concurrency_step": strconv.Itoa(o.CStep),
			"concurrency_step_duration": nano(o.CStepTime), "concurrency_max_duration": nano(o.CMaxDuration)})
	}
	if o.LoadSchedule != "const" {
		maps.Copy(all, map[string]string{"load_schedule": o.LoadSchedule, "load_start": strconv.Itoa(o.LoadStart),
			"load_end": strconv.Itoa(o.LoadEnd), "load_step": strconv.Itoa(o.LoadStep),
			"load_step_duration": nano(o.LoadStepDuration), "load_max_duration": nano(o.LoadMaxDuration)})
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		value := strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(all[name])
		out = append(out, name+`="`+value+`"`)
	}
	return strings.Join(out, ",")
}

func nano(d time.Duration) string { return strconv.FormatInt(d.Nanoseconds(), 10) }

// prometheus writes metrics in Prometheus' text format (version 0.0.4).
func (r *Report) prometheus(b *bytes.Buffer) {
	labels := r.labels()
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	line := func(name, more string, v float64) { fmt.Fprintf(b, "%s{%s%s} %s\n", name, labels, more, number(v)) }
	gauge := func(name string, v float64) {
		fmt.Fprintf(b, "# TYPE %s gauge\n", name)
		line(name, "", v)
	}
	gauge("ghz_run_count", float64(r.Count))
	gauge("ghz_run_total", float64(r.Total))
	gauge("ghz_run_average", float64(r.Average))
	gauge("ghz_run_fastest", float64(r.Fastest))
	gauge("ghz_run_slowest", float64(r.Slowest))
	gauge("ghz_run_rps", r.RPS)
	b.WriteString("# TYPE ghz_run_histogram histogram\n")
	for _, k := range r.Histogram {
		line("ghz_run_histogram_bucket", `,le="`+number(k.Mark)+`"`, float64(k.Count))
	}
	line("ghz_run_histogram_bucket", `,le="+Inf"`, float64(r.Count))
	line("ghz_run_histogram_sum", "", float64(r.Total))
	line("ghz_run_histogram_count", "", float64(r.Count))
	b.WriteString("# TYPE ghz_run_latency summary\n")
	for _, q := range r.Quantiles {
		line("ghz_run_latency", `,quantile="`+number(float64(q.Percentage)/100)+`"`, float64(q.Latency))
	}
	line("ghz_run_latency_sum", "", float64(r.Total))
	line("ghz_run_latency_count", "", float64(r.Count))
	gauge("ghz_run_errors", float64(r.failed()))
}

// html writes a page of brunt's own: the figures of the summary in tables, without scripts.
func (r *Report) html(b *bytes.Buffer) {
	name := html.EscapeString(r.Name)
	if name == "" {
		name = html.EscapeString(r.Options.Call)
	}
	fmt.Fprintf(b, "<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n<title>%s</title>\n</head>\n<body>\n"+
		"<h1>%s</h1>\n<p>%s</p>\n", name, name, html.EscapeString(r.Date))
	table := func(title string, rows ...[2]string) {
		fmt.Fprintf(b, "<h2>%s</h2>\n<table>\n", title)
		for _, row := range rows {
			fmt.Fprintf(b, "<tr><th>%s</th><td>%s</td></tr>\n", html.EscapeString(row[0]), html.EscapeString(row[1]))
		}
		b.WriteString("</table>\n")
	}
	table("Summary", [2]string{"Count", fmt.Sprint(r.Count)}, [2]string{"Total", inUnit(r.Total)},
		[2]string{"Slowest", inUnit(r.Slowest)}, [2]string{"Fastest", inUnit(r.Fastest)},
		[2]string{"Average", inUnit(r.Average)}, [2]string{"Requests / sec", fmt.Sprintf("%4.2f", r.RPS)})
	var rows [][2]string
	for _, k := range r.Histogram {
		rows = append(rows, [2]string{milliseconds(k.Mark) + " ms", fmt.Sprint(k.Count)})
	}
	table("Histogram", rows...)
	rows = nil
	for _, q := range r.Quantiles {
		rows = append(rows, [2]string{fmt.Sprintf("%d %%", q.Percentage), inUnit(q.Latency)})
	}
	table("Latency distribution", rows...)
	table("Status distribution", countRows(r.Statuses)...)
	if len(r.Errors) > 0 {
		table("Errors", countRows(r.Errors)...)
	}
	b.WriteString("</body>\n</html>\n")
}

func countRows(counts map[string]int) (rows [][2]string) {
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		rows = append(rows, [2]string{name, fmt.Sprint(counts[name])})
	}
	return rows
}
