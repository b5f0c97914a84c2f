package export

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"brunt/internal/measure"
	"brunt/internal/protocol"
)

// influx writes InfluxDB's line protocol: for each interval a line per operation, one per address and one for the
// whole load. Values are those of the interval, not running totals. Timestamps are in nanoseconds.
type influx struct{ endpoint }

// newInflux parses http://HOST:8086/DATABASE (version 1, and version 2 with the API of version 1) or
// http://HOST:8086?org=ORG&bucket=BUCKET (version 2 and later).
func newInflux(u *url.URL, getenv func(string) string) (destination, error) {
	at := *u
	query := at.Query()
	query.Set("precision", "ns")
	switch database := strings.Trim(at.Path, "/"); {
	case query.Get("bucket") != "":
		if query.Get("org") == "" && query.Get("orgID") == "" {
			return nil, errors.New("a bucket needs an organisation: influx=http://HOST:8086?org=ORG&bucket=BUCKET")
		}
		if !strings.HasSuffix(at.Path, "/api/v2/write") {
			at.Path = strings.TrimSuffix(at.Path, "/") + "/api/v2/write"
		}
	case query.Get("db") != "" && strings.HasSuffix(at.Path, "/write"):
	case database != "" && !strings.Contains(database, "/"):
		query.Set("db", database)
		at.Path = "/write"
	default:
		return nil, errors.New(
			"name a database, influx=http://HOST:8086/DATABASE, or influx=http://HOST:8086?org=ORG&bucket=BUCKET")
	}
	at.RawQuery = query.Encode()
	d := &influx{newEndpoint("influx", &at, "")}
	if d.user == nil && getenv("INFLUX_USERNAME") != "" {
		d.user = url.UserPassword(getenv("INFLUX_USERNAME"), getenv("INFLUX_PASSWORD"))
	}
	d.headers = []label{{"Content-Type", "text/plain; charset=utf-8"}}
	if token := getenv("INFLUX_TOKEN"); token != "" {
		d.headers = append(d.headers, label{"Authorization", "Token " + token})
	}
	return d, nil
}

func (d *influx) encode(n *names, points []*point, _ *point) ([]byte, error) {
	var w lineWriter
	for _, p := range points {
		d.point(&w, n, p)
	}
	return w.out, nil
}

func (d *influx) point(w *lineWriter, n *names, p *point) {
	seconds := float64(p.endNs-p.startNs) / 1e9
	for i := range p.operations {
		o := &p.operations[i]
		w.begin("brunt", n, p, label{"operation", nameAt(n.operations, i)})
		w.counts(o.counts.Done, o.counts.OK(), o.counts.Failed())
		w.number("dropped", o.counts.Dropped())
		for _, k := range measure.Exported() {
			w.number(k.Name, k.Of(&o.counts))
		}
		for class := 1; class < len(o.counts.Errors); class++ {
			if k := o.counts.Errors[class]; k > 0 {
				w.number("failed_"+strings.ReplaceAll(protocol.Class(class).String(), "-", "_"), k)
			}
		}
		if seconds > 0 {
			w.real("ok_per_s", float64(o.counts.OK())/seconds)
		}
		for k, d := range measure.Declared() {
			if d.Metric != "" {
				w.distribution(d.Name, &o.times[k])
			}
		}
		w.end(p.unixNs)
	}
	for i := range p.addresses {
		a := &p.addresses[i]
		w.begin("brunt_address", n, p, label{"address", nameAt(n.addresses, i)})
		w.counts(a.counts.Done, a.counts.OK(), a.counts.Failed())
		w.number("sessions", uint64(max(a.up, 0)))
		w.number("reconnects", a.reconnects)
		w.distribution("service", &a.service)
		w.end(p.unixNs)
	}
	w.begin("brunt_load", n, p)
	w.number("sessions", uint64(max(p.sessions, 0)))
	w.number("busy", uint64(max(p.busy, 0)))
	w.number("backlog", p.backlog)
	w.number("offered", p.offered)
	w.real("interval_s", seconds)
	w.real("loop_busy", finite(p.health.LoopBusy))
	w.real("cpu_cores", finite(p.health.ProcessCPU))
	w.number("rss_bytes", p.health.RSSBytes)
	w.number("gc_pause_ns", uint64(max(p.health.GCPauseNsMax, 0)))
	w.number("throttled_ns", uint64(max(p.health.CgroupThrottledNs, 0)))
	w.number("paused_ns", uint64(max(p.health.PausedNs, 0)))
	w.number("others_ns", uint64(max(p.health.OthersNs, 0)))
	w.number("steal_ns", uint64(max(p.health.StealNs, 0)))
	w.end(p.unixNs)
}

// lineWriter writes the line protocol; see InfluxData's line protocol reference.
type lineWriter struct {
	out    []byte
	fields int
}

func (w *lineWriter) begin(measurement string, n *names, p *point, tags ...label) {
	w.out = append(w.out, measurement...)
	for _, t := range append([]label{{"run", n.run}, {"id", n.id}, {"phase", p.phase}}, tags...) {
		if t.value == "" {
			continue // the protocol forbids empty tag values
		}
		w.out = append(w.out, ',')
		w.out = append(w.out, t.name...)
		w.out = append(w.out, '=')
		w.out = appendTag(w.out, t.value)
	}
	w.fields = 0
}

// appendTag escapes commas, spaces and equals signs. It replaces line ends and other characters that can't be
// escaped, and backslashes, since one at the end of the value would escape the next character.
func appendTag(out []byte, value string) []byte {
	return append(out, tagEscapes.Replace(value)...)
}

var tagEscapes = strings.NewReplacer(",", `\,`, " ", `\ `, "=", `\=`, `\`, "/", "\n", "_", "\r", "_", "\t", "_",
	"\x00", "_")

func (w *lineWriter) field(name string) {
	if w.fields++; w.fields == 1 {
		w.out = append(w.out, ' ')
	} else {
		w.out = append(w.out, ',')
	}
	w.out = append(w.out, name...)
	w.out = append(w.out, '=')
}

// number writes an integer field. The protocol's integers are signed, so larger values are cut to 2⁶³−1.
func (w *lineWriter) number(name string, v uint64) {
	w.field(name)
	w.out = strconv.AppendUint(w.out, min(v, 1<<63-1), 10)
	w.out = append(w.out, 'i')
}

func (w *lineWriter) real(name string, v float64) {
	w.field(name)
	w.out = strconv.AppendFloat(w.out, v, 'g', -1, 64)
}

func (w *lineWriter) counts(done, ok, failed uint64) {
	w.number("done", done)
	w.number("ok", ok)
	w.number("failed", failed)
}

func (w *lineWriter) distribution(name string, d *distribution) {
	if d.count == 0 {
		return
	}
	w.number(name+"_count", d.count)
	w.number(name+"_min_ns", uint64(d.minNs))
	w.real(name+"_mean_ns", d.sumNs/float64(d.count))
	for i, q := range pointQuantiles() {
		w.number(fmt.Sprintf("%s_p%s_ns", name, strings.ReplaceAll(strconv.FormatFloat(100*q, 'g', 4, 64), ".", "")),
			uint64(d.quantiles[i]))
	}
	w.number(name+"_max_ns", uint64(d.maxNs))
}

func (w *lineWriter) end(unixNs int64) {
	w.out = append(w.out, ' ')
	w.out = strconv.AppendInt(w.out, unixNs, 10)
	w.out = append(w.out, '\n')
}
