package report

import (
	"math"
	"testing"
	"time"

	"brunt/internal/driver"
	"brunt/internal/measure"
	"brunt/internal/record"
)

var began = time.Date(2026, 3, 1, 12, 30, 5, 0, time.UTC)

// base is a run before its load.
func base() *record.Run {
	return &record.Run{
		Schema: record.SchemaVersion, ID: "r1", Name: "cars", Brunt: "0.1.0", Started: began, Ended: began.Add(13 * time.Second),
		Complete: true, Seed: 42, LoadModel: "open", Tier: "codec", Timing: "receive times from the kernel", Sessions: 16,
		Command:    []string{"brunt", "rate", "-c", "cars.yml", "-a", "127.0.0.1:5432", "--rate", "2000", "--duration", "12s"},
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

// shape says how the made-up load goes.
type shape struct {
	seconds   int
	perS      int
	serviceNs float64 // median
	lagNs     float64 // median
	ownNs     float64 // median of the generator's own part; 0 means all of the lag
	failEvery int     // 0 means never
	busy      int
	backlog   uint64
	warmUp    bool
	health    measure.Health
	failed    driver.Class
}

// load adds intervals of a made-up load: log-normal service times on a fixed grid of quantiles.
func load(t *record.Tally, run *record.Run, phase string, fromS int, s shape) {
	for k := range s.seconds {
		iv := &record.Interval{Slices: 1, Interval: measure.Interval{
			Index: fromS + k, StartNs: int64(fromS+k) * 1e9, EndNs: int64(fromS+k+1) * 1e9, Phase: phase, WarmUp: s.warmUp,
			UnixNs:   began.UnixNano() + int64(fromS+k)*1e9,
			Sessions: run.Sessions, Busy: s.busy, Backlog: s.backlog, Offered: uint64(s.perS), Health: s.health,
			Operations: make([]measure.OperationInterval, len(run.Operations)), Addresses: make([]measure.AddressInterval, len(run.Targets)),
		}}
		if run.LoadModel == "closed" {
			iv.Offered = 0
		}
		for i := range s.perS {
			one(iv, s, i, k*s.perS+i)
		}
		t.Add(iv)
	}
}

func one(iv *record.Interval, s shape, i, n int) {
	o := &iv.Operations[n%len(iv.Operations)]
	a := &iv.Addresses[n%7%len(iv.Addresses)]
	if o.Lag == nil {
		o.Lag, o.Service, o.Response, o.FailedResponse = measure.NewHistogram(), measure.NewHistogram(), measure.NewHistogram(), measure.NewHistogram()
	}
	if a.Service == nil {
		a.Service = measure.NewHistogram()
	}
	u := (float64(i) + 0.5) / float64(s.perS)
	z := math.Sqrt2 * math.Erfinv(2*u-1)
	service := int64(s.serviceNs * math.Exp(0.7*z))
	lag := int64(s.lagNs * math.Exp(0.4*z))
	failed := s.failEvery > 0 && n%s.failEvery == 0
	for _, c := range []*measure.Counts{&o.Counts, &a.Counts} {
		c.Done++
		c.Attempts++
		if failed {
			c.Errors[s.failed]++
		}
		if lag > 1e6 {
			c.Late++
		}
	}
	o.Lag.Record(lag)
	if lag > 0 {
		if iv.OwnLag == nil {
			iv.OwnLag = measure.NewHistogram()
		}
		own := lag
		if s.ownNs > 0 {
			own = int64(s.ownNs * math.Exp(0.4*z))
		}
		iv.OwnLag.Record(own)
	}
	if failed {
		o.FailedResponse.Record(lag + service)
		return
	}
	o.Response.Record(lag + service)
	o.Service.Record(service)
	a.Service.Record(service)
}

var healthy = measure.Health{LoopBusy: 0.12, ProcessCPU: 0.11, GCPauseNsMax: 80_000, GCCycles: 1, RSSBytes: 48 << 20}

// finish judges the run as the program does.
func finish(t *record.Tally, run *record.Run) *record.Run {
	t.Fill(run)
	run.Verdict = Judge(run)
	run.Warnings = Assess(run)
	return run
}

// fixtures are runs of every kind.
func fixtures() map[string]func() *record.Run {
	return map[string]func() *record.Run{
		"pass": passing, "fail": failing, "invalid": invalid, "incomplete": incomplete,
		"closed": closedRun, "addresses": manyAddresses, "saturated": saturated, "one-operation": oneOperation,
		"time-lost": timeWasLost,
	}
}

func passing() *record.Run {
	run := base()
	run.Setup = &record.Setup{DurationNs: 2_400_000_000, Tables: []record.Table{{Name: "cars", Rows: 1_000_000}}}
	run.Health.CeilingPerS = 85_000
	t := record.NewTally(run)
	load(t, run, "warm-up", 0, shape{seconds: 1, perS: 1000, serviceNs: 400e3, lagNs: 9e3, warmUp: true, health: healthy})
	load(t, run, "hold", 1, shape{seconds: 12, perS: 2000, serviceNs: 300e3, lagNs: 8e3, health: healthy})
	run.Thresholds = []record.Threshold{
		{Text: "p(99) < 10ms", Pass: true, Value: 1_532_000, Unit: "ns", Limit: 1e7},
		{Text: "errors < 1%", Pass: true, Value: 0, Unit: "fraction", Limit: 0.01},
	}
	return finish(t, run)
}

func failing() *record.Run {
	run := base()
	t := record.NewTally(run)
	load(t, run, "hold", 0, shape{seconds: 60, perS: 500, serviceNs: 4e6, lagNs: 12e3, failEvery: 37, failed: driver.Server, health: healthy})
	run.Thresholds = []record.Threshold{
		{Text: "p(99) < 10ms", Value: 20_417_000, Unit: "ns", Limit: 1e7},
		{Text: "rate > 400", Pass: true, Value: 486.5, Unit: "per_s", Limit: 400},
		{Text: "errors < 1%", Value: 0.027, Unit: "fraction", Limit: 0.01},
	}
	run.Failures = []record.FailureCount{
		{Class: "server", Code: "23505", Text: `duplicate key value violates unique constraint "cars_pkey"`, Count: 790},
		{Class: "server", Code: "57014", Text: "canceling statement due to statement timeout while it was waiting for a lock on a tuple of the relation cars in the middle of the night, and then some more words that nobody reads", Count: 21},
		{Class: "connect", Text: "dial tcp 127.0.0.1:5432: connection refused", Count: 3},
	}
	return finish(t, run)
}

func invalid() *record.Run {
	run := base()
	t := record.NewTally(run)
	h := healthy
	h.ProcessCPU, h.LoopBusy, h.CgroupThrottledNs = 1.98, 0.99, 90e6
	run.Environment.CPUQuota, run.Environment.Container = "2", true
	load(t, run, "hold", 0, shape{seconds: 30, perS: 3000, serviceNs: 200e3, lagNs: 15e6, busy: 2, backlog: 90, health: h})
	return finish(t, run)
}

func incomplete() *record.Run {
	run := base()
	run.Complete, run.Ended = false, began.Add(5*time.Second)
	t := record.NewTally(run)
	load(t, run, "warm-up", 0, shape{seconds: 1, perS: 1000, serviceNs: 400e3, lagNs: 9e3, warmUp: true, health: healthy})
	load(t, run, "hold", 1, shape{seconds: 4, perS: 2000, serviceNs: 300e3, lagNs: 8e3, health: healthy})
	run.Failures = []record.FailureCount{{Class: "timeout", Text: "no answer within 30 s", Count: 2}}
	return finish(t, run)
}

func closedRun() *record.Run {
	run := base()
	run.LoadModel, run.Tier, run.TierReason, run.Timing = "closed", "library", "protocol sqlite has no codec", ""
	run.Command = []string{"brunt", "queue", "-c", "cars.yml", "--proto", "sqlite", "--vu", "2"}
	run.Sessions = 2
	run.Targets = []record.Target{{Address: "cars.db", Protocol: "sqlite", Product: "SQLite", Version: "3.51.0"}}
	run.Phases = []record.Phase{{Name: "queue", Kind: "closed", Sessions: 2}}
	t := record.NewTally(run)
	load(t, run, "queue", 0, shape{seconds: 4, perS: 160, serviceNs: 9e3, health: healthy})
	return finish(t, run)
}

func manyAddresses() *record.Run {
	run := base()
	run.Name = "нагрузка на кластер 車"
	run.Operations = []record.Operation{{Name: "выбрать автомобиль по номеру"}, {Name: "車を追加する"}, {Name: "transfer between two accounts of one customer"}}
	run.Targets = nil
	for _, a := range []string{"10.0.0.1:3301", "10.0.0.2:3301", "10.0.0.3:3301"} {
		run.Targets = append(run.Targets, record.Target{Address: a, Protocol: "iproto", Product: "Tarantool", Version: "2.6.0"})
	}
	run.Phases = []record.Phase{
		{Name: "ramp up", Kind: "open", RateFrom: 100, RateTo: 3000}, {Name: "hold", Kind: "open", RateFrom: 3000, RateTo: 3000},
		{Name: "rest", Kind: "pause"}, {Name: "closed end", Kind: "closed", Sessions: 4},
	}
	run.LoadModel = "mixed"
	t := record.NewTally(run)
	load(t, run, "ramp up", 0, shape{seconds: 5, perS: 1500, serviceNs: 900e3, lagNs: 8e3, health: healthy})
	load(t, run, "hold", 5, shape{seconds: 20, perS: 3000, serviceNs: 1100e3, lagNs: 8e3, failEvery: 4001, failed: driver.UnknownOutcome, health: healthy})
	load(t, run, "closed end", 30, shape{seconds: 2, perS: 2500, serviceNs: 1100e3, lagNs: 0, health: healthy})
	t.Total().Addresses[1].Reconnects = 4
	run.Failures = []record.FailureCount{{Class: "unknown-outcome", Text: "connection reset by peer", Count: 15}}
	return finish(t, run)
}

func saturated() *record.Run {
	run := base()
	run.Sessions = 4
	t := record.NewTally(run)
	load(t, run, "hold", 0, shape{seconds: 20, perS: 1000, serviceNs: 8e6, lagNs: 3e9, ownNs: 9e3, busy: 4, backlog: 4000, health: healthy})
	return finish(t, run)
}

func oneOperation() *record.Run {
	run := base()
	run.Operations = run.Operations[:1]
	run.Phases = run.Phases[1:]
	t := record.NewTally(run)
	load(t, run, "hold", 0, shape{seconds: 3, perS: 30, serviceNs: 300e3, lagNs: 8e3, health: healthy})
	return finish(t, run)
}

func timeWasLost() *record.Run {
	run := base()
	t := record.NewTally(run)
	load(t, run, "hold", 0, shape{seconds: 60, perS: 100, serviceNs: 300e3, lagNs: 8e3, health: healthy})
	t.Add(&record.Interval{Slices: 1, Interval: measure.Interval{
		Index: 60, StartNs: 60e9, EndNs: 60_020_000_000, Phase: "hold",
		Standstills: []measure.Standstill{
			{StartNs: 5e9, EndNs: 10e9}, {StartNs: 15e9, EndNs: 20e9}, {StartNs: 25e9, EndNs: 30_100_000_000}, {StartNs: 35e9, EndNs: 40e9},
		},
	}})
	return finish(t, run)
}

func fixture(t *testing.T, name string) *record.Run {
	t.Helper()
	make := fixtures()[name]
	if make == nil {
		t.Fatalf("no fixture %q", name)
	}
	return make()
}
