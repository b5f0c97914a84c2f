// Package recordtest makes up runs, and reads bundles, for tests of packages that use records.
package recordtest

import (
	"math"
	"time"

	"brunt/internal/measure"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// Began is the start of the made-up runs.
var Began = time.Date(2026, 3, 1, 12, 30, 5, 0, time.UTC)

// Base returns a run before its load.
func Base() *record.Run {
	return &record.Run{
		Schema: record.SchemaVersion, ID: "r1", Name: "cars", Brunt: "0.1.0", Started: Began,
		Ended:    Began.Add(13 * time.Second),
		Complete: true, Seed: 42, LoadModel: "open", Tier: "codec", Timing: message.New("timing.open"), Sessions: 16,
		Command: []string{"brunt", "rate", "-c", "cars.yml", "-a", "127.0.0.1:5432", "--rate", "2000", "--duration",
			"12s"},
		IntervalNs: 1e9,
		Environment: record.Environment{
			OS: "linux", Kernel: "6.1.0-18-amd64", Arch: "amd64", CPU: "AMD EPYC 7452 32-Core Processor", Cores: 8,
			MemoryB: 32 << 30, Go: "go1.26.0", MaxProcs: 8, Governor: "performance", ClockRes: 1, Hostname: "loader",
		},
		Targets: []record.Target{{
			Address: "127.0.0.1:5432", Protocol: "pg", Product: "PostgreSQL", Version: "15.8",
			Settings: map[string]string{"shared_buffers": "128MB", "fsync": "on", "max_connections": "100"},
		}},
		Phases: []record.Phase{
			{Name: "warm-up", Kind: "open", WarmUp: true, RateFrom: 100, RateTo: 2000, Sessions: 16},
			{Name: "hold", Kind: "open", RateFrom: 2000, RateTo: 2000, Arrivals: "poisson", Sessions: 16},
		},
		Operations: []record.Operation{{Name: "select car by id"}, {Name: "insert car"}},
	}
}

// Shape describes the made-up load.
type Shape struct {
	Seconds   int
	PerS      int
	ServiceNs float64 // median
	LagNs     float64 // median
	OwnNs     float64 // median of the generator's own part of the lag; 0 means all of it
	FailEvery int     // 0 means never
	Busy      int
	Backlog   uint64
	WarmUp    bool
	Health    measure.Health
	Failed    protocol.Class
}

// Load passes intervals of a made-up load to t. Service times are log-normal, at evenly spaced quantiles.
func Load(t measure.Sink, run *record.Run, phase string, fromS int, s Shape) {
	for k := range s.Seconds {
		iv := &measure.Interval{Kind: kindOf(run, phase), Index: fromS + k, Phase: phase, WarmUp: s.WarmUp,
			UnixNs: Began.UnixNano() + int64(fromS+k)*1e9, Account: measure.Account{StartNs: int64(fromS+k) * 1e9,
				EndNs: int64(fromS+k+1) * 1e9, Sessions: run.Sessions, Busy: s.Busy, Backlog: s.Backlog, Offered: uint64(s.PerS),
				Health: s.Health, Operations: make([]measure.OperationAccount, len(run.Operations)),
				Addresses: make([]measure.AddressAccount, len(run.Targets))}}
		if run.LoadModel == "closed" {
			iv.Offered = 0
		}
		for i := range s.PerS {
			one(iv, s, i, k*s.PerS+i)
		}
		iv.Settle()
		_ = t.Interval(iv)
	}
}

func kindOf(run *record.Run, phase string) string {
	for _, p := range run.Phases {
		if p.Name == phase {
			return p.Kind
		}
	}
	return measure.KindOpen
}

func one(iv *measure.Interval, s Shape, i, n int) {
	o := &iv.Operations[n%len(iv.Operations)]
	a := &iv.Addresses[n%7%len(iv.Addresses)]
	if o.Lag == nil {
		o.Lag, o.Service, o.WithoutGenerator, o.Response, o.FailedResponse = measure.NewHistogram(), measure.NewHistogram(),
			measure.NewHistogram(), measure.NewHistogram(), measure.NewHistogram()
	}
	if a.Service == nil {
		a.Service = measure.NewHistogram()
	}
	u := (float64(i) + 0.5) / float64(s.PerS)
	z := math.Sqrt2 * math.Erfinv(2*u-1)
	service := int64(s.ServiceNs * math.Exp(0.7*z))
	lag := int64(s.LagNs * math.Exp(0.4*z))
	failed := s.FailEvery > 0 && n%s.FailEvery == 0
	for _, c := range []*measure.Counts{&o.Counts, &a.Counts} {
		c.Done++
		c.Attempts++
		if failed {
			c.Errors[s.Failed]++
		}
		if lag > 1e6 {
			c.Late++
		}
	}
	o.Lag.Record(lag)
	own := int64(0)
	if lag > 0 {
		if iv.OwnLag == nil {
			iv.OwnLag = measure.NewHistogram()
		}
		own = lag
		if s.OwnNs > 0 {
			own = int64(s.OwnNs * math.Exp(0.4*z))
		}
		iv.OwnLag.Record(own)
	}
	if failed {
		o.FailedResponse.Record(lag + service)
		return
	}
	o.Response.Record(lag + service)
	o.WithoutGenerator.Record(lag + service - own)
	o.Service.Record(service)
	a.Service.Record(service)
}

// Healthy is the state of a generator without problems.
var Healthy = measure.Health{LoopBusy: 0.12, ProcessCPU: 0.11, GCPauseNsMax: 80_000, GCCycles: 1, RSSBytes: 48 << 20}
