package result

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/record"
)

// Of is a run of brunt's own. Counts and rates are of successful operations; response times are of all
// arrivals, so that one without an answer lies beyond every other.
func Of(run *record.Run) *Result {
	r := &Result{
		Program: "brunt", ID: run.ID, Name: run.Name, Started: run.Started, Seed: strconv.FormatUint(run.Seed, 10),
		LoadModel: run.LoadModel, Sessions: run.Sessions, Verdict: run.Verdict.Result, Reasons: run.Verdict.Reasons,
		Killed: !run.Complete || run.Interrupted, Machine: &run.Environment, PlanHash: run.PlanHash,
	}
	for _, t := range run.Targets {
		if s := strings.TrimSpace(t.Product + " " + t.Version); s != "" && !slices.Contains(r.Servers, s) {
			r.Servers = append(r.Servers, s)
		}
	}
	slices.Sort(r.Servers)
	r.addOperation("", &run.Total)
	if len(run.Operations) > 1 {
		for i := range run.Operations {
			r.addOperation(run.Operations[i].Name, &run.Operations[i])
		}
	}
	for i := range run.Watched {
		if w := &run.Watched[i]; w.Source == record.WatchedScript && run.Complete {
			r.addScript(w)
		}
	}
	return r
}

// ofK6 reports whether a metric is one that every script of k6 has, or one of requests: they are among the
// operations, or say nothing of the server.
func ofK6(metric string) bool {
	begins := []string{"iterations", "iteration_duration", "dropped_iterations", "data_", "group_duration", "grpc_", "ws_", "http_"}
	return slices.ContainsFunc(begins, func(b string) bool { return strings.HasPrefix(metric, b) })
}

// addScript adds what a script of k6 says of itself over the whole run: the share of each check that held, and
// its own metrics, of which nobody knows which way is better.
func (r *Result) addScript(w *record.Watched) {
	for _, m := range w.Metrics {
		of := Metric{Name: m.Name, Unit: m.Unit, Value: m.Mean}
		switch {
		case m.Name == "checks", strings.HasPrefix(m.Name, record.WatchedCheck):
			of.Better = Higher
		case ofK6(m.Name):
			continue
		case m.Unit == "seconds":
			of.Unit, of.Value = "ns", 1e9*m.Mean
		case m.Unit == "count": // or a mean of any numbers
			of.Unit = "number"
		}
		r.add(of)
	}
}

func (r *Result) addOperation(name string, o *record.Operation) {
	arrivals := o.Done + o.Dropped + o.Unfinished
	if arrivals == 0 {
		return
	}
	r.Add("rate", name, o.RatePerS)
	r.Find("rate", name).Within = o.RateWithin
	within := o.Response.Within.All()
	if o.Response.Count > 0 {
		r.Add("response.avg", name, o.Response.MeanNs)
		if within != nil {
			r.Find("response.avg", name).Within = within[0]
		}
	}
	for _, q := range Quantiles() {
		r.Add(QuantileName(q), name, quantileOf(&o.Response, q))
		if k := slices.Index(record.Quantiles[:], q/100); within != nil && k >= 0 {
			r.Find(QuantileName(q), name).Within = within[k+1]
		}
	}
	r.Add("count", name, float64(o.OK))
	r.Add("errors", name, float64(arrivals-o.OK)/float64(arrivals))
}

func quantileOf(l *record.Latency, q float64) float64 {
	ns := map[float64]record.Ns{50: l.P50Ns, 90: l.P90Ns, 95: l.P95Ns, 99: l.P99Ns, 99.9: l.P999Ns}[q]
	if ns == record.Infinite {
		return math.Inf(1)
	}
	return float64(ns)
}

// QuantileName is the metric of a quantile of response times in percent.
func QuantileName(q float64) string {
	return "response.p(" + strconv.FormatFloat(q, 'f', -1, 64) + ")"
}
