package export

import (
	"math"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"brunt/internal/measure"
	"brunt/internal/protocol"
)

// names are the names of a run and of its operations and addresses.
type names struct {
	run, id, version, protocol string
	operations, addresses      []string
}

func nameAt(all []string, i int) string {
	if i < len(all) {
		return all[i]
	}
	return strconv.Itoa(i)
}

// label is a dimension of a metric.
type label struct{ name, value string }

// families builds metric families in Prometheus' data model.
type families struct {
	ladders *ladders
	all     []*dto.MetricFamily
	at      map[string]*dto.MetricFamily
}

func (f *families) family(name, help string, kind dto.MetricType) *dto.MetricFamily {
	if f.at == nil {
		f.at = map[string]*dto.MetricFamily{}
	}
	if have := f.at[name]; have != nil {
		return have
	}
	m := &dto.MetricFamily{Name: proto.String(name), Help: proto.String(help), Type: kind.Enum()}
	f.at[name] = m
	f.all = append(f.all, m)
	return m
}

func pairs(labels []label) (out []*dto.LabelPair) {
	for _, l := range labels {
		out = append(out, &dto.LabelPair{Name: proto.String(l.name), Value: proto.String(l.value)})
	}
	return out
}

func (f *families) counter(name, help string, value float64, labels ...label) {
	m := f.family(name, help, dto.MetricType_COUNTER)
	m.Metric = append(m.Metric, &dto.Metric{Label: pairs(labels), Counter: &dto.Counter{Value: proto.Float64(value)}})
}

func (f *families) gauge(name, help string, value float64, labels ...label) {
	m := f.family(name, help, dto.MetricType_GAUGE)
	m.Metric = append(m.Metric, &dto.Metric{Label: pairs(labels), Gauge: &dto.Gauge{Value: proto.Float64(value)}})
}

// histogram adds a distribution of times with classic and native buckets, in seconds.
func (f *families) histogram(name, help string, t *distribution, labels ...label) {
	m := f.family(name, help, dto.MetricType_HISTOGRAM)
	h := classic(t.count, t.sumNs/1e9, t.classic, f.ladders.classic, 1e9)
	h.Schema = proto.Int32(nativeSchema)
	h.ZeroThreshold = proto.Float64(1e-10)
	h.ZeroCount = proto.Uint64(t.zero)
	h.PositiveSpan, h.PositiveDelta = spans(t.native)
	m.Metric = append(m.Metric, &dto.Metric{Label: pairs(labels), Histogram: h})
}

// classic returns a histogram with the bounds of a ladder, converted to a unit of unitNs nanoseconds.
func classic(count uint64, sum float64, counts measure.Steps, bounds ladder, unitNs float64) *dto.Histogram {
	h := &dto.Histogram{SampleCount: proto.Uint64(count), SampleSum: proto.Float64(sum)}
	below := uint64(0)
	for i, bound := range bounds {
		if len(counts) > 0 && counts[0].Index == i {
			below, counts = below+counts[0].N, counts[1:]
		}
		h.Bucket = append(h.Bucket, &dto.Bucket{UpperBound: proto.Float64(round(bound / unitNs)),
			CumulativeCount: proto.Uint64(below)})
	}
	return h
}

// round rounds to 12 significant digits, which removes errors of floating-point arithmetic from bounds.
func round(x float64) float64 {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 12, 64), 64)
	return y
}

// spans encodes counts like Prometheus' native histograms: as runs of adjacent buckets and the differences between
// the counts of successive buckets. A single run of length 0 marks a histogram without values as native.
func spans(counts measure.Steps) (runs []*dto.BucketSpan, deltas []int64) {
	last, end := int64(0), 0 // end is the index after the last bucket; the first offset counts from 0
	for _, s := range counts {
		at := s.Index + nativeFirst
		if len(runs) > 0 && at == end {
			*runs[len(runs)-1].Length++
		} else {
			runs = append(runs, &dto.BucketSpan{Offset: proto.Int32(int32(at - end)), Length: proto.Uint32(1)})
		}
		end = at + 1
		deltas = append(deltas, int64(s.N)-last)
		last = int64(s.N)
	}
	if len(runs) == 0 {
		runs = []*dto.BucketSpan{{Offset: proto.Int32(0), Length: proto.Uint32(0)}}
	}
	return runs, deltas
}

// build returns the metric families of s, the sums of all intervals so far. p is the last interval; it may be nil.
func build(l *ladders, n *names, s, p *point, transfers []transfer) []*dto.MetricFamily {
	f := &families{ladders: l}
	f.gauge("brunt_run_info", "The run that these metrics are of; always 1.", 1,
		label{"run", n.run}, label{"id", n.id}, label{"version", n.version}, label{"protocol", n.protocol})
	for i := range s.operations {
		f.operation(nameAt(n.operations, i), &s.operations[i])
	}
	for i := range s.addresses {
		f.address(nameAt(n.addresses, i), &s.addresses[i])
	}
	f.counter("brunt_offered_total", "Arrivals that fell due, in open loads.", float64(s.offered))
	if p != nil {
		f.present(n, p)
	}
	f.generator(&s.health)
	for _, t := range transfers {
		to := label{"destination", t.name}
		f.counter("brunt_export_lost_intervals_total", "Intervals that could not be sent to a destination.",
			float64(t.lost), to)
		f.counter("brunt_export_sent_intervals_total", "Intervals that a destination has taken.", float64(t.sent), to)
		f.gauge("brunt_export_waiting_intervals", "Intervals that wait to be sent to a destination.", float64(t.waiting), to)
	}
	slices.SortFunc(f.all, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return f.all
}

// outcomes adds a counter per outcome: "ok" and each class of failure that has occurred.
func (f *families) outcomes(name, help string, c *measure.Counts, of label) {
	f.counter(name, help, float64(c.OK()), of, label{"outcome", "ok"})
	for class := 1; class < len(c.Errors); class++ {
		if n := c.Errors[class]; n > 0 {
			f.counter(name, help, float64(n), of, label{"outcome", protocol.Class(class).String()})
		}
	}
}

func (f *families) operation(name string, o *operationPoint) {
	of, c := label{"operation", name}, &o.counts
	f.outcomes("brunt_operations_total", "Operations finished, by outcome: ok or the class of failure.", c, of)
	f.counter("brunt_dropped_total", "Arrivals given up without being sent.", float64(c.Dropped()), of)
	for _, k := range measure.Exported() {
		f.counter("brunt_"+k.Family+"_total", k.Help, float64(k.Of(c)), of)
	}
	for class := 1; class < len(c.Status); class++ {
		if n := c.Status[class]; n > 0 {
			f.counter("brunt_http_responses_total", "HTTP responses by class of status.", float64(n), of,
				label{"status", strconv.Itoa(class) + "xx"})
		}
	}
	for i, d := range measure.Declared() {
		if d.Help != "" && (!d.Stream || o.times[i].count > 0) {
			f.histogram("brunt_"+d.Name+"_seconds", d.Help, &o.times[i], of)
		}
	}
}

func (f *families) address(name string, a *addressPoint) {
	of := label{"address", name}
	f.outcomes("brunt_address_operations_total", "Operations finished at an address, by outcome.", &a.counts, of)
	f.counter("brunt_address_reconnects_total", "Sessions that had to connect again.", float64(a.reconnects), of)
	f.histogram("brunt_address_service_seconds",
		"From the actual send to the end, of operations that succeeded at an address.", &a.service, of)
}

// present adds the gauges: what was true during, or at the end of, the last interval.
func (f *families) present(n *names, p *point) {
	for i := range p.operations {
		f.quantiles(nameAt(n.operations, i), &p.operations[i])
	}
	for i := range p.addresses {
		f.gauge("brunt_address_sessions", "Sessions connected to an address.", float64(p.addresses[i].up),
			label{"address", nameAt(n.addresses, i)})
	}
	f.gauge("brunt_sessions", "Sessions connected.", float64(p.sessions))
	f.gauge("brunt_sessions_busy", "Sessions that wait for an answer.", float64(p.busy))
	f.gauge("brunt_backlog", "Arrivals due and not yet sent.", float64(p.backlog))
	f.workers(p.workers)
	h := &p.health
	f.gauge("brunt_generator_loop_busy_ratio", "Share of time in which the busiest event loop wasn't asleep.",
		finite(h.LoopBusy))
	f.gauge("brunt_generator_cpu_cores", "Cores that the generator used.", finite(h.ProcessCPU))
	f.gauge("brunt_generator_gc_pause_seconds",
		"Longest stop of the generator by its garbage collector in the last interval.", float64(h.GCPauseNsMax)/1e9)
	f.gauge("brunt_generator_resident_memory_bytes", "Memory of the generator.", float64(h.RSSBytes))
}

// quantiles adds the quantiles of an operation's times in the last interval: of response times and those of streams.
func (f *families) quantiles(operation string, o *operationPoint) {
	for i, d := range measure.Declared() {
		if d.Metric != "response" && !d.Stream || o.times[i].count == 0 {
			continue
		}
		help := "Exact quantiles of the last interval's response times."
		if d.Stream {
			help = "Exact quantiles of the last interval. " + d.Help
		}
		for k, q := range pointQuantiles() {
			f.gauge("brunt_interval_"+d.Name+"_seconds", help, float64(o.times[i].quantiles[k])/1e9,
				label{"operation", operation}, label{"quantile", strconv.FormatFloat(q, 'g', -1, 64)})
		}
	}
}

func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

func (f *families) generator(h *measure.Health) {
	f.counter("brunt_generator_throttled_seconds_total",
		"Time in which the control group's CPU limit stopped the generator.", float64(h.CgroupThrottledNs)/1e9)
	f.counter("brunt_generator_run_queue_seconds_total", "Time in which the generator's threads waited for a core.",
		float64(h.RunQueueNs)/1e9)
	f.counter("brunt_generator_steal_seconds_total",
		"Time in which the hypervisor kept the cores that the generator may use, summed over them.", float64(h.StealNs)/1e9)
	f.counter("brunt_generator_others_cpu_seconds_total",
		"Processor time that other processes had of the cores that the generator may use.", float64(h.OthersNs)/1e9)
	f.counter("brunt_generator_gc_cycles_total", "The generator's garbage collections.", float64(h.GCCycles))
	f.counter("brunt_generator_send_stalls_total", "Writes that found a socket's buffer full.", float64(h.SendStalls))
	f.counter("brunt_generator_paused_seconds_total", "Time in which the generator stood still.", float64(h.PausedNs)/1e9)
}

// slowCooker returns the metrics of the load generator slow_cooker, under its names and with its buckets.
func slowCooker(l *ladders, s *slowPoint) []*dto.MetricFamily {
	f := &families{ladders: l}
	f.counter("requests", "Number of requests", float64(s.requests))
	f.counter("successes", "Number of successful requests", float64(s.successes))
	add := func(name, help string, counts measure.Steps, bounds ladder, unitNs float64) {
		m := f.family(name, help, dto.MetricType_HISTOGRAM)
		m.Metric = append(m.Metric, &dto.Metric{Histogram: classic(s.successes, s.sumNs/unitNs, counts, bounds, unitNs)})
	}
	add("latency_ms", "Response time of successful requests in milliseconds.", s.milli, l.milli, 1e6)
	add("latency_us", "Response time of successful requests in microseconds.", s.micro, l.micro, 1e3)
	add("latency_ns", "Response time of successful requests in nanoseconds.", s.nano, l.nano, 1)
	return f.all
}

// workers adds the workers that send the load, if one process doesn't send it.
func (f *families) workers(all []measure.Worker) {
	if len(all) == 0 {
		return
	}
	left := measure.Left(all)
	f.gauge("brunt_workers", "Workers by state.", float64(left), label{"state", "sending"})
	f.gauge("brunt_workers", "Workers by state.", float64(len(all)-left), label{"state", "lost"})
	for i := range all {
		w, name := &all[i], label{"worker", all[i].Name}
		f.gauge("brunt_worker_operations_per_second", "Operations of a worker in its last interval.", finite(w.DonePerS), name)
		f.gauge("brunt_worker_lag_max_seconds", "The largest lag of a worker in its last interval.",
			float64(w.LagMaxNs)/1e9, name)
	}
}
