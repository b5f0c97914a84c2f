package verdict

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
)

// If all workers were lost, nobody knows how much of the load is missing.
func TestAllWorkersLost(t *testing.T) {
	run, load := healthyLoad()
	for _, name := range []string{"1 (alpha)", "2 (beta)"} {
		run.Parts = append(run.Parts, record.Part{Worker: &record.Worker{Name: name, LostNs: int64(time.Second)}})
	}
	Judge(run, load)
	if run.Verdict.Result != Invalid || !strings.Contains(run.Verdict.Reasons[0].String(), "all 2 workers were lost") {
		t.Errorf("%+v", run.Verdict)
	}
}

// Reasons of one kind are told once for all workers.
func TestReasonsOfWorkersAreToldOnceAKind(t *testing.T) {
	t.Parallel()
	run, load := healthyLoad()
	for i := range 12 {
		why := message.New("verdict.spare")
		if i == 1 {
			why = message.Literal("its disk is full")
		}
		run.Parts = append(run.Parts, record.Part{
			Worker: &record.Worker{Name: strconv.Itoa(i+1) + " (w)"}, Invalid: []message.Message{why},
		})
	}
	Judge(run, load)
	want := []string{
		"worker 1 (w) limited the result: the generator had capacity to spare; the same holds for 10 more: 3 (w), 4 (w), " +
			"5 (w), 6 (w), 7 (w), 8 (w), 9 (w), 10 (w), …",
		"worker 2 (w) limited the result: its disk is full",
	}
	if got := message.Strings(units.English, run.Verdict.Reasons); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A worker that is invalid, or was lost with more than 1 % of the load, makes the result of all workers invalid, and is
// named. A smaller loss causes a warning.
func TestWorkersJudgeTheSum(t *testing.T) {
	t.Parallel()
	lost := func(missing uint64) record.Part {
		return record.Part{Worker: &record.Worker{Name: "2 (beta)", LostNs: int64(3 * time.Second), Missing: missing}}
	}
	for name, row := range map[string]struct {
		part   record.Part
		result string
		reason string // in the verdict
		warned bool
	}{
		"well":  {record.Part{Worker: &record.Worker{Name: "2 (beta)"}}, Pass, "", false},
		"alone": {record.Part{Invalid: []message.Message{message.New("verdict.spare")}}, Pass, "", false}, // no workers
		"bottleneck": {record.Part{Worker: &record.Worker{Name: "2 (beta)"},
			Invalid: []message.Message{message.New("verdict.spare")}},
			Invalid, "worker 2 (beta) limited the result: the generator had capacity to spare", false},
		"lost": {lost(4000), Invalid, "worker 2 (beta) was lost 3 s into the load: the record lacks about 4,000 operations, 25", true},
		"lost iterations": {record.Part{Worker: &record.Worker{Name: "2 (beta)", LostNs: 1e9, MissingIterations: 120}},
			Invalid, "the record lacks about 120 iterations, 25", true},
		"lost at last":  {lost(100), Pass, "", true}, // 100 of 12 000
		"lost too much": {lost(200), Invalid, "worker 2 (beta) was lost", true},
	} {
		t.Run(name, func(t *testing.T) {
			run, load := healthyLoad()
			run.Parts = []record.Part{{Worker: &record.Worker{Name: "1 (alpha)"}}, row.part}
			run.Iterations = &record.Iterations{Done: 360}
			run.Total.Done = 12000
			Judge(run, load)
			var reasons []string
			for _, r := range run.Verdict.Reasons {
				reasons = append(reasons, r.String())
			}
			if run.Verdict.Result != row.result {
				t.Errorf("%s, want %s: %q", run.Verdict.Result, row.result, reasons)
			}
			if row.reason != "" && !strings.Contains(strings.Join(reasons, "\n"), row.reason) {
				t.Errorf("reasons %q, want %q", reasons, row.reason)
			}
			warned := slices.ContainsFunc(run.Warnings, func(w record.Warning) bool { return w.ID == WarnWorkerLost })
			if warned != row.warned {
				t.Errorf("warned %v, want %v", warned, row.warned)
			}
		})
	}
}

// What several workers and parts lack is judged together, and each lost worker is named with the reason.
func TestSeveralLostWorkers(t *testing.T) {
	t.Parallel()
	lost := func(name string, why message.Message) record.Part {
		return record.Part{Worker: &record.Worker{Name: name, LostNs: int64(3 * time.Second), Missing: 70, Lost: why}}
	}
	ended := lost("2 (beta)", message.New("lost.ended", message.Text("how", "signal: killed")))
	silent := lost("3 (gamma)", message.New("lost.silent", message.Span("for", 2500*time.Millisecond)))
	const (
		endedIs  = "worker 2 (beta) was lost 3 s into the load (its process ended: signal: killed): the record lacks about 70 "
		silentIs = "worker 3 (gamma) was lost 3 s into the load (nothing was heard of it for 2.5 s): the record lacks about 70 "
		shortIs  = "70 operations were counted by part 2, and missing from its intervals: 0.58 % of the load"
	)
	for name, row := range map[string]struct {
		parts   []record.Part
		reasons []string // their beginnings
		warned  int
	}{
		"one":                        {[]record.Part{ended}, nil, 1}, // 70 of 12 070
		"two":                        {[]record.Part{ended, silent}, []string{endedIs, silentIs}, 2},
		"one, and a part that lacks": {[]record.Part{{Missing: 70}, silent}, []string{silentIs, shortIs}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			run, load := healthyLoad()
			run.Parts = append([]record.Part{{Worker: &record.Worker{Name: "1 (alpha)"}}}, row.parts...)
			Judge(run, load)
			reasons := message.Strings(units.English, run.Verdict.Reasons)
			if invalid := row.reasons != nil; (run.Verdict.Result == Invalid) != invalid ||
				invalid && len(reasons) != len(row.reasons) {
				t.Fatalf("%s: %q, want %q", run.Verdict.Result, reasons, row.reasons)
			}
			for i, want := range row.reasons {
				if !strings.HasPrefix(reasons[i], want) {
					t.Errorf("reason %q, want %q", reasons[i], want)
				}
			}
			warned := 0
			for i := range run.Warnings {
				if run.Warnings[i].ID == WarnWorkerLost {
					warned++
				}
			}
			if warned != row.warned {
				t.Errorf("%d warnings, want %d", warned, row.warned)
			}
		})
	}
}
