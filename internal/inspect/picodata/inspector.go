// Package picodata inspects the instances of a Picodata cluster: their metrics in Prometheus' text format, and the
// plans of the load's statements by EXPLAIN (RAW, BUCKETS). It doesn't write.
//
// The metrics and the plans are those of "Metrics" and "EXPLAIN" in Picodata's documentation (25.3 and later). Metrics
// that an instance lacks are left out.
package picodata

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"brunt/internal/base/secret"
	"brunt/internal/inspect"
	"brunt/internal/protocol"
	"brunt/internal/protocol/iproto"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/server/connection"
)

// Form returns how URLs of clusters are written.
func Form() connection.Form { return connection.Form{Plain: "picodata", Port: "3301"} }

// optionMetrics is the parameter that lists the addresses of the instances' HTTP servers.
const optionMetrics = "metrics"

// Inspector is the inspect.Inspector for a Picodata cluster.
type Inspector struct {
	target   protocol.Target // an instance that explains statements
	metrics  []string        // host:port of the HTTP servers
	client   *http.Client
	version  string
	queries  int
	samples  int
	readings inspect.Readings
	activity *inspect.Activity
	seen     sightings
	missing  []record.Warning
}

var _ inspect.Inspector = (*Inspector)(nil)

// New parses a URL, picodata://user:password@host:3301,host:3301?metrics=host:8081,host:8081, and returns the inspector
// of that cluster. Its errors are one line, without secrets.
func New(url string) (*Inspector, error) {
	all, err := Form().Parse(url)
	if err == nil {
		err = connection.Only(all[0], optionMetrics, "sql")
	}
	if err != nil {
		return nil, err
	}
	i := &Inspector{target: all[0], client: &http.Client{Transport: &http.Transport{}}, activity: inspect.NewActivity(),
		readings: inspect.Readings{Gauges: func(kind, _ string) bool { return kind == kindGauge }}}
	if list := i.target.Options[optionMetrics]; list != "" {
		i.metrics = strings.Split(list, ",")
	}
	delete(i.target.Options, optionMetrics)
	return i, nil
}

// Name implements inspect.Inspector.
func (i *Inspector) Name() string { return "picodata " + i.target.Address }

// Begin implements inspect.Inspector.
func (i *Inspector) Begin(ctx context.Context) error {
	info, err := iproto.New().Describe(ctx, i.target)
	i.queries++
	switch {
	case err != nil:
		return errors.New(secret.Text(secret.Redact(err.Error(), []string{i.target.Password})))
	case info.Product != "Picodata":
		return fmt.Errorf("this is %s, not Picodata: write tarantool= instead", info.Product)
	}
	if i.version = info.Version; len(i.metrics) == 0 {
		i.miss(record.NewWarning("inspect-picodata-metrics"))
	}
	return i.Snapshot(ctx)
}

// Snapshot implements inspect.Inspector.
func (i *Inspector) Snapshot(ctx context.Context) error {
	r := i.reading(ctx)
	i.seen.add(r)
	i.readings.Add(r)
	return ctx.Err()
}

// Mark implements inspect.Inspector.
func (i *Inspector) Mark(phase inspect.Phase) { i.readings.Mark(phase) }

// metricsEvery is how many samples pass between two readings of metrics, which take milliseconds.
const metricsEvery = 5

// Sample implements inspect.Inspector.
func (i *Inspector) Sample(ctx context.Context, at time.Duration) error {
	if i.samples++; i.samples%metricsEvery == 0 {
		i.seen.add(i.reading(ctx))
	}
	i.activity.Add(int64(at), nil)
	return ctx.Err()
}

// End implements inspect.Inspector.
func (i *Inspector) End(ctx context.Context, last inspect.Phase, load inspect.Load) (*record.Inspection, error) {
	out := &record.Inspection{Source: i.Name(), Product: "Picodata", Version: i.version}
	err := i.Snapshot(ctx)
	i.Mark(last)
	if out.Windows = i.readings.Windows(load.Operations, inspect.Normal); len(out.Windows) == 0 {
		return nil, err
	}
	if i.readings.Reset() {
		i.miss(record.Notice("inspect-began-anew"))
	}
	out.Activity = i.activity.Record(func(string) bool { return false })
	c := &caseFile{seen: &i.seen, inspection: out, load: &out.Windows[0], operations: load.Operations}
	if !load.Brief {
		c.plans, err = i.explainAll(ctx, load.Operations)
	}
	c.judge()
	out.Missing, out.Cost.Queries = i.missing, i.queries
	return out, err
}

// Close implements inspect.Inspector.
func (i *Inspector) Close() { i.client.CloseIdleConnections() }

// miss adds a notice about missing information.
func (i *Inspector) miss(w record.Warning) { inspect.Miss(&i.missing, w) }

// unread adds a notice that the metrics of an instance can't be read.
func (i *Inspector) unread(address string, err error) {
	i.miss(record.NewWarning("inspect-picodata-unread", message.Text("address", address),
		message.Text("error", protocol.Line(err.Error(), ""))))
}
