package report

import (
	"testing"
	"time"

	"brunt/internal/judge/confidence"
	"brunt/internal/judge/verdict"
	"brunt/internal/measure"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/internal/render/message"
)

// finish judges the run as the program does.
func finish(t *measure.Tally, run *record.Run) *record.Run {
	record.Fill(run, t)
	verdict.Judge(run, t.Total())
	return run
}

// fixtures returns runs of every kind.
func fixtures() map[string]func() *record.Run {
	return map[string]func() *record.Run{
		"pass": passing, "fail": failing, "invalid": invalid, "incomplete": incomplete,
		"closed": closedRun, "addresses": manyAddresses, "saturated": saturated, "one-operation": oneOperation,
		"time-lost": timeWasLost, "within": withIntervals,
	}
}

// kept is a sink that keeps intervals and their sum.
type kept struct {
	measure.Tally
	intervals []*measure.Interval
}

func (k *kept) Interval(iv *measure.Interval) error {
	k.intervals = append(k.intervals, iv)
	return k.Tally.Interval(iv)
}

func (k *kept) each(f func(*measure.Interval) error) error {
	for _, iv := range k.intervals {
		if err := f(iv); err != nil {
			return err
		}
	}
	return nil
}

// withIntervals returns a run whose record has confidence intervals.
func withIntervals() *record.Run {
	run, _ := steady()
	return run
}

// steady returns a run whose response times vary a little from second to second, and its intervals.
func steady() (*record.Run, *kept) {
	run, k := recordtest.Base(), &kept{}
	run.Phases[1].StartNs = 2e9
	recordtest.Load(k, run, "warm-up", 0, recordtest.Shape{Seconds: 2, PerS: 1000, ServiceNs: 500e3, LagNs: 9e3,
		WarmUp: true, Health: recordtest.Healthy})
	for i := range 30 {
		recordtest.Load(k, run, "hold", 2+i, recordtest.Shape{Seconds: 1, PerS: 2000 + 40*(i*7%5),
			ServiceNs: 300e3 * (1 + 0.05*float64(i*3%7)), LagNs: 8e3, Health: recordtest.Healthy})
	}
	run.Thresholds = []record.Threshold{{Text: "p(99) < 10ms", Pass: true, Value: 1_532_000, Unit: "ns", Limit: 1e7}}
	finish(&k.Tally, run)
	if err := confidence.Fill(run, k.each); err != nil {
		panic(err)
	}
	return run, k
}

func passing() *record.Run {
	run := recordtest.Base()
	run.Setup = &record.Setup{DurationNs: 2_400_000_000, Tables: []record.Table{{Name: "cars", Rows: 1_000_000}}}
	run.Health.CeilingPerS = 85_000
	t := &measure.Tally{}
	recordtest.Load(t, run, "warm-up", 0, recordtest.Shape{Seconds: 1, PerS: 1000, ServiceNs: 400e3, LagNs: 9e3,
		WarmUp: true, Health: recordtest.Healthy})
	recordtest.Load(t, run, "hold", 1, recordtest.Shape{Seconds: 12, PerS: 2000, ServiceNs: 300e3, LagNs: 8e3,
		Health: recordtest.Healthy})
	run.Thresholds = []record.Threshold{
		{Text: "p(99) < 10ms", Pass: true, Value: 1_532_000, Unit: "ns", Limit: 1e7},
		{Text: "errors < 1%", Pass: true, Value: 0, Unit: "fraction", Limit: 0.01},
	}
	return finish(t, run)
}

func failing() *record.Run {
	run := recordtest.Base()
	t := &measure.Tally{}
	recordtest.Load(t, run, "hold", 0, recordtest.Shape{Seconds: 60, PerS: 500, ServiceNs: 4e6, LagNs: 12e3, FailEvery: 37,
		Failed: protocol.Server, Health: recordtest.Healthy})
	run.Thresholds = []record.Threshold{
		{Text: "p(99) < 10ms", Value: 20_417_000, Unit: "ns", Limit: 1e7},
		{Text: "rate > 400", Pass: true, Value: 486.5, Unit: "per_s", Limit: 400},
		{Text: "errors < 1%", Value: 0.027, Unit: "fraction", Limit: 0.01},
	}
	run.Failures = []record.FailureCount{
		{Class: "server", Code: "23505", Text: `duplicate key value violates unique constraint "cars_pkey"`, Count: 790},
		{Class: "server", Code: "57014",
			Text: "canceling statement due to statement timeout while it was waiting for a lock on a tuple of the relation cars in the middle of the night, and then some more words that nobody reads", Count: 21},
		{Class: "connect", Text: "dial tcp 127.0.0.1:5432: connection refused", Count: 3},
	}
	return finish(t, run)
}

func invalid() *record.Run {
	run := recordtest.Base()
	t := &measure.Tally{}
	h := recordtest.Healthy
	h.ProcessCPU, h.LoopBusy, h.CgroupThrottledNs = 1.98, 0.99, 90e6
	run.Environment.CPUQuota, run.Environment.Container = "2", true
	recordtest.Load(t, run, "hold", 0, recordtest.Shape{Seconds: 30, PerS: 3000, ServiceNs: 200e3, LagNs: 15e6, Busy: 2,
		Backlog: 90, Health: h})
	return finish(t, run)
}

func incomplete() *record.Run {
	run := recordtest.Base()
	run.Complete, run.Ended = false, recordtest.Began.Add(5*time.Second)
	t := &measure.Tally{}
	recordtest.Load(t, run, "warm-up", 0, recordtest.Shape{Seconds: 1, PerS: 1000, ServiceNs: 400e3, LagNs: 9e3,
		WarmUp: true, Health: recordtest.Healthy})
	recordtest.Load(t, run, "hold", 1, recordtest.Shape{Seconds: 4, PerS: 2000, ServiceNs: 300e3, LagNs: 8e3,
		Health: recordtest.Healthy})
	run.Failures = []record.FailureCount{{Class: "timeout", Text: "no answer within 30 s", Count: 2}}
	return finish(t, run)
}

func closedRun() *record.Run {
	run := recordtest.Base()
	run.LoadModel, run.Tier, run.TierReason, run.Timing = "closed", "library",
		message.New("tier.no-codec", message.Text("protocol", "sqlite")), message.Message{}
	run.Command = []string{"brunt", "queue", "-c", "cars.yml", "--proto", "sqlite", "--vu", "2"}
	run.Sessions = 2
	run.Targets = []record.Target{{Address: "cars.db", Protocol: "sqlite", Product: "SQLite", Version: "3.51.0"}}
	run.Phases = []record.Phase{{Name: "queue", Kind: "closed", Sessions: 2}}
	t := &measure.Tally{}
	recordtest.Load(t, run, "queue", 0, recordtest.Shape{Seconds: 4, PerS: 160, ServiceNs: 9e3,
		Health: recordtest.Healthy})
	return finish(t, run)
}

func manyAddresses() *record.Run {
	run := recordtest.Base()
	run.Name = "нагрузка на кластер 車"
	run.Operations = []record.Operation{{Name: "выбрать автомобиль по номеру"}, {Name: "車を追加する"},
		{Name: "transfer between two accounts of one customer"}}
	run.Targets = nil
	for _, a := range []string{"10.0.0.1:3301", "10.0.0.2:3301", "10.0.0.3:3301"} {
		run.Targets = append(run.Targets, record.Target{Address: a, Protocol: "iproto", Product: "Tarantool",
			Version: "2.6.0"})
	}
	run.Phases = []record.Phase{
		{Name: "ramp up", Kind: "open", RateFrom: 100, RateTo: 3000},
		{Name: "hold", Kind: "open", RateFrom: 3000, RateTo: 3000},
		{Name: "rest", Kind: "pause"}, {Name: "closed end", Kind: "closed", Sessions: 4},
	}
	run.LoadModel = "mixed"
	t := &measure.Tally{}
	recordtest.Load(t, run, "ramp up", 0, recordtest.Shape{Seconds: 5, PerS: 1500, ServiceNs: 900e3, LagNs: 8e3,
		Health: recordtest.Healthy})
	recordtest.Load(t, run, "hold", 5, recordtest.Shape{Seconds: 20, PerS: 3000, ServiceNs: 1100e3, LagNs: 8e3,
		FailEvery: 4001, Failed: protocol.UnknownOutcome, Health: recordtest.Healthy})
	recordtest.Load(t, run, "closed end", 30, recordtest.Shape{Seconds: 2, PerS: 2500, ServiceNs: 1100e3, LagNs: 0,
		Health: recordtest.Healthy})
	t.Total().Addresses[1].Reconnects = 4
	run.Failures = []record.FailureCount{{Class: "unknown-outcome", Text: "connection reset by peer", Count: 15}}
	return finish(t, run)
}

func saturated() *record.Run {
	run := recordtest.Base()
	run.Sessions = 4
	t := &measure.Tally{}
	recordtest.Load(t, run, "hold", 0, recordtest.Shape{Seconds: 20, PerS: 1000, ServiceNs: 8e6, LagNs: 3e9, OwnNs: 9e3,
		Busy: 4, Backlog: 4000, Health: recordtest.Healthy})
	return finish(t, run)
}

func oneOperation() *record.Run {
	run := recordtest.Base()
	run.Operations = run.Operations[:1]
	run.Phases = run.Phases[1:]
	t := &measure.Tally{}
	recordtest.Load(t, run, "hold", 0, recordtest.Shape{Seconds: 3, PerS: 30, ServiceNs: 300e3, LagNs: 8e3,
		Health: recordtest.Healthy})
	return finish(t, run)
}

func timeWasLost() *record.Run {
	run := recordtest.Base()
	t := &measure.Tally{}
	recordtest.Load(t, run, "hold", 0, recordtest.Shape{Seconds: 60, PerS: 100, ServiceNs: 300e3, LagNs: 8e3,
		Health: recordtest.Healthy})
	iv := &measure.Interval{Kind: "open", Index: 60, Phase: "hold",
		Account: measure.Account{StartNs: 60e9, EndNs: 60_020_000_000, Standstills: []measure.Standstill{
			{StartNs: 5e9, EndNs: 10e9}, {StartNs: 15e9, EndNs: 20e9}, {StartNs: 25e9, EndNs: 30_100_000_000},
			{StartNs: 35e9, EndNs: 40e9},
		}}}
	iv.Settle()
	_ = t.Interval(iv)
	return finish(t, run)
}

func fixture(t *testing.T, name string) *record.Run {
	t.Helper()
	build := fixtures()[name]
	if build == nil {
		t.Fatalf("no fixture %q", name)
	}
	return build()
}

// passes returns a new run that passes without warnings.
func passes() *record.Run {
	run, t := recordtest.Base(), &measure.Tally{}
	recordtest.Load(t, run, "hold", 0, recordtest.Shape{Seconds: 12, PerS: 1000, ServiceNs: 300e3, LagNs: 8e3,
		Health: recordtest.Healthy})
	run.Thresholds = []record.Threshold{{Text: "p(99) < 10ms"}, {Text: "errors < 1%"}}
	return finish(t, run)
}
