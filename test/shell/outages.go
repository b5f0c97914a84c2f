package shell

import (
	"testing"
	"time"

	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/test/observer"
)

// Outages returns the outages in the account of the bundle in a folder, in order, for all arrivals, each operation and
// each address.
func Outages(t *testing.T, dir string) map[record.Scope][]observer.Outage {
	t.Helper()
	run := recordtest.Result(t, dir)
	if run.Failover == nil || !run.Failover.Refused.IsZero() {
		t.Fatalf("no account of outages: %+v", run.Failover)
	}
	first := recordtest.Intervals(t, dir)[0]
	at := func(ns int64) time.Time { return time.Unix(0, first.UnixNs+ns-first.StartNs) }
	out := map[record.Scope][]observer.Outage{}
	for _, o := range run.Failover.Outages {
		out[o.Scope] = append(out[o.Scope], observer.Outage{From: at(o.StartNs), To: at(o.EndNs)})
	}
	return out
}
