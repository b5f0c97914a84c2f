package record

import (
	"math"
	"testing"

	"brunt/internal/render/message"
)

// summed is a run of an operation whose mean response is 10 ms: 1 ms of own lag, 2 ms of waiting, 7 ms of service.
func summed(in []Inspection, processes []Process) []ResponseSum {
	o := Operation{Name: "read"}
	o.Done = 1000
	o.Response.MeanNs, o.WithoutGenerator.MeanNs, o.Service.MeanNs = 10e6, 9e6, 7e6
	run := &Run{Operations: []Operation{o, {Name: "never"}}, Inspections: in, Processes: processes}
	return run.ResponseSums()
}

func TestPartsAddUpToTheResponse(t *testing.T) {
	times := func(ns float64, parts ...TimePart) []Inspection {
		return []Inspection{{RoundTripNs: 5e5, ServerTimes: []OperationTime{{"read", ns, parts}, {"never", 1, nil}}}}
	}
	process := []Process{{LengthNs: 1e9, OnCPU: 1, Queued: 3, InDisk: 0.5}}
	for _, c := range []struct {
		name      string
		in        []Inspection
		processes []Process
		want      map[string]float64 // ms
	}{
		{"nothing known", nil, nil, map[string]float64{TimeUnknown: 7}},
		{"server", times(4e6), nil, map[string]float64{TimeServer: 4, TimeNetwork: .5, TimeUnknown: 2.5}},
		{"its parts", times(4e6, TimePart{TimeDisk, 3e6}, TimePart{TimeExecuting, .6e6}), nil,
			map[string]float64{TimeDisk: 3, TimeExecuting: .6, TimeServer: .4, TimeNetwork: .5, TimeUnknown: 2.5}},
		{"waits for a CPU from the process", times(4e6, TimePart{TimeExecuting, 4e6}), process,
			map[string]float64{TimeExecuting: 1, TimeCPUWait: 3, TimeNetwork: .5, TimeUnknown: 2.5}},
		{"waits for a CPU that the server knows", times(4e6, TimePart{TimeExecuting, 2e6}, TimePart{TimeCPUWait, 2e6}),
			process,
			map[string]float64{TimeExecuting: 2, TimeCPUWait: 2, TimeNetwork: .5, TimeUnknown: 2.5}},
		{"more than there is", times(40e6, TimePart{TimeLocks, 40e6}), nil, map[string]float64{TimeLocks: 7}},
		{"two servers", append(times(1e6, TimePart{TimeDisk, 1e6}), times(2e6, TimePart{TimeDisk, 2e6})...), nil,
			map[string]float64{TimeDisk: 3, TimeNetwork: .5, TimeUnknown: 3.5}},
		{"a service without an inspector", nil, process,
			map[string]float64{TimeExecuting: 1, TimeCPUWait: 3, TimeDisk: .5, TimeUnknown: 2.5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := summed(c.in, c.processes)
			if len(all) != 1 {
				t.Fatalf("%+v", all)
			}
			c.want[TimeOwnLag], c.want[TimeSession] = 1, 2
			sum := 0.0
			for _, p := range all[0].Parts {
				sum += p.Ns
				if math.Abs(p.Ns/1e6-c.want[p.Kind]) > 1e-9 {
					t.Errorf("%s is %v ms, want %v", p.Kind, p.Ns/1e6, c.want[p.Kind])
				}
			}
			if math.Abs(sum-10e6) > 1 || len(all[0].Parts) != len(c.want) || all[0].Of(TimeSession) != 2e6 {
				t.Errorf("%v: %+v", sum, all[0].Parts)
			}
		})
	}
}

// Findings of inspections come before those of processes that are as severe, and greater shares before smaller ones.
func TestCausesInOrder(t *testing.T) {
	f := func(id, severity string, share float64) Finding {
		return Finding{ID: id, Severity: severity, Share: share, Evidence: message.Literal(id)}
	}
	run := &Run{
		Inspections: []Inspection{{Findings: []Finding{f("hint", Minor, 1), f("some", Serious, .2)}},
			{Findings: []Finding{f("more", Serious, .5)}}},
		Processes: []Process{{Findings: []Finding{f("process", Serious, 1)}}},
	}
	want := []string{"more", "some", "process", "hint"}
	for i, got := range run.Causes() {
		if got.ID != want[i] {
			t.Errorf("%d: %s, want %s", i, got.ID, want[i])
		}
	}
	run.Inspections[0].Findings[0].Severity = Critical
	if got := run.Causes()[0].ID; got != "hint" {
		t.Errorf("the most severe is %s", got)
	}
}
