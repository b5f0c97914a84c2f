package runner

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile"
	"brunt/internal/record"
)

const shop = `config_name: SHOP
seed: 7
tables_schema:
  - name: goods
    row_count: 50
    columns:
      - {name: id, type: Integer, unique: true}
      - {name: title, type: String}
    primary_keys: [id]
queries:
  - {name: find, sql: "SELECT title FROM goods WHERE id = $1", params: [{type: Integer, range: [1, 50]}], weight: 20}
  - {name: all, sql: "SELECT count(*) FROM goods", weight: 1}
`

func read(t *testing.T, text string) *plan.Plan {
	t.Helper()
	p := readTarget(t, text)
	p.Target = plan.Target{Protocol: "sqlite", Addresses: []string{":memory:"}}
	return p
}

// readTarget parses a plan that names its target.
func readTarget(t *testing.T, text string) *plan.Plan {
	t.Helper()
	p, err := planfile.Read("plan.yml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// shown returns a text of the whole plan: its file and every field.
func shown(t *testing.T, p *plan.Plan) string {
	t.Helper()
	text, err := planfile.Write(p)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s%+v", text, *p)
}

// A run doesn't change its plan, so that the caller can use the plan again.
func TestRunsLeaveThePlanAsItWas(t *testing.T) {
	text := shop + "load: [{closed: {operations: 20}}, {closed: {operations: 10}}]\nretries: 0\n"
	p := read(t, text)
	before := shown(t, p)
	var runs []*record.Run
	for range 2 {
		run, err := Run(context.Background(), nil, p, Options{Recording: Recording{None: true}})
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run)
		if after := shown(t, p); after != before {
			t.Fatalf("the run changed its plan:\n%s\nwas\n%s", after, before)
		}
	}
	for i := range runs[0].Operations {
		a, b := &runs[0].Operations[i], &runs[1].Operations[i]
		if a.Done != b.Done || a.OK != b.OK || a.Missing != b.Missing || a.Attempts != b.Attempts {
			t.Errorf("%s: %+v, and in the second run %+v", a.Name, a.Counts, b.Counts)
		}
	}
	if runs[0].Total.Done != 30 || runs[0].Phases[0].Name == runs[0].Phases[1].Name {
		t.Errorf("done %d in %+v", runs[0].Total.Done, runs[0].Phases)
	}
	if a, b := runs[0].Setup, runs[1].Setup; a == nil || b == nil || a.Tables[0].Checksum != b.Tables[0].Checksum {
		t.Errorf("filled %+v and %+v", a, b)
	}
}

func TestSettingsAreCompletedOnce(t *testing.T) {
	for _, s := range []plan.Settings{{}, {Retries: -1}, {Retries: 7, Sessions: 3, Tier: "codec", Interval: time.Minute}} {
		once := s.WithDefaults()
		if twice := once.WithDefaults(); twice != once {
			t.Errorf("%+v becomes %+v and then %+v", s, once, twice)
		}
	}
}

// The next phase can depend on what happened before. The record lists each phase as it was executed.
func TestNextIsDecidedFromWhatHappened(t *testing.T) {
	dir := t.TempDir() + "/bundle"
	r, err := Open(context.Background(), read(t, shop), Options{
		Recording: Recording{Dir: dir}, PeakPerS: 800,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.SetUp(context.Background()); err != nil {
		t.Fatal(err)
	}
	rate, before := 100.0, uint64(0)
	var seen []uint64
	err = r.Drive(context.Background(), nil, func(sofar *measure.Tally) []plan.Phase {
		if len(sofar.Phases()) > 0 {
			c := sofar.Total().Totals()
			seen = append(seen, c.Done-before)
			before = c.Done
			if rate *= 2; rate > 800 {
				return nil
			}
		}
		return []plan.Phase{{Name: "step", Kind: plan.Open, Duration: 100 * time.Millisecond, RateFrom: rate, RateTo: rate}}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Finish(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(seen); got != "[10 20 40 80]" {
		t.Errorf("the steps were told of %s operations, want [10 20 40 80]", got)
	}
	bundle, err := record.Open(record.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"step", "step 2", "step 3", "step 4"} {
		if i >= len(bundle.Run.Phases) {
			t.Fatalf("the record has %d phases, want 4", len(bundle.Run.Phases))
		}
		ph := bundle.Run.Phases[i]
		if ph.Name != want || ph.Kind != "open" || ph.RateTo != float64(uint(100)<<i) || ph.Offered != 10<<i {
			t.Errorf("phase %d is %+v, want %s", i, ph, want)
		}
	}
	if bundle.Run.LoadModel != "open" {
		t.Errorf("the load is called %s", bundle.Run.LoadModel)
	}
}

func TestNoRecordLeavesNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	p := read(t, shop+"load: [{closed: {operations: 5}}]\n")
	run, err := Run(context.Background(), nil, p, Options{Recording: Recording{None: true}})
	if err != nil || run.Total.Done != 5 || run.Verdict.Result == "" {
		t.Errorf("%v, %+v", err, run)
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// slowSink takes a while for each interval, as a full disk or a busy machine would, and keeps the intervals' bounds.
type slowSink struct {
	takes  time.Duration
	phases []string
	bounds [][2]int64
}

func (s *slowSink) Interval(iv *measure.Interval) error {
	s.phases, s.bounds = append(s.phases, iv.Phase), append(s.bounds, [2]int64{iv.StartNs, iv.EndNs})
	time.Sleep(s.takes)
	return nil
}

// What happens between two stages belongs to no phase: a phase begins when its first arrival may fall due.
func TestTheTimeBetweenStagesBelongsToNoPhase(t *testing.T) {
	p := read(t, `seed: 7
queries: [{name: one, sql: select 1}]
load:
  - closed: {operations: 20}
  - constant: {rate: 200, duration: 100ms}
  - pause: 50ms
  - constant: {rate: 100, duration: 100ms}
`)
	s := &slowSink{takes: 40 * time.Millisecond}
	run, err := Run(context.Background(), nil, p, Options{Recording: Recording{None: true},
		Hooks: Hooks{Sinks: []measure.Sink{s}}})
	if err != nil {
		t.Fatal(err)
	}
	began := 0
	for i := 1; i < len(s.phases); i++ {
		if s.phases[i] == s.phases[i-1] {
			continue
		}
		began++
		if gap := s.bounds[i][0] - s.bounds[i-1][1]; gap < int64(s.takes) {
			t.Errorf("%s begins %v after %s ended, although the sink took %v", s.phases[i], time.Duration(gap),
				s.phases[i-1], s.takes)
		}
	}
	if began != 3 {
		t.Errorf("the phases were %q", s.phases)
	}
	if got := run.Phases[1].Done + run.Phases[3].Done; got != 20+10 {
		t.Errorf("%d arrivals in the open phases, want 30", got)
	}
}
