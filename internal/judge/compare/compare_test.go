package compare

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"brunt/internal/base/stats"
	"brunt/internal/judge/result"
	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
)

// runs generates n runs with about this rate and p99, whose logarithms have the standard deviation spread.
func runs(seed uint64, n int, rate, p99Ns, spread float64) []*result.Result {
	r := rand.New(rand.NewPCG(seed, 1))
	var all []*result.Result
	for i := range n {
		one := &result.Result{
			Path: fmt.Sprint("run-", seed, "-", i), Program: "brunt", ID: fmt.Sprint(seed, "/", i), Name: "cars", Seed: "7",
			LoadModel: "closed", Sessions: 8,
			Verdict: "pass", Servers: []string{"PostgreSQL 15.14"}, PlanHash: "h", Started: time.Unix(int64(1000*i), 0),
			Machine: &record.Environment{OS: "linux", Arch: "amd64", CPU: "x", Cores: 2, Kernel: "6.1"},
		}
		vary := func(x float64) float64 { return x * math.Exp(spread*r.NormFloat64()) }
		one.Add("rate", "", vary(rate))
		one.Add("response.avg", "", vary(p99Ns/3))
		one.Add("response.p(99)", "", vary(p99Ns))
		one.Add("count", "", 60*one.Metrics[0].Value)
		one.Add("errors", "", 0)
		all = append(all, one)
	}
	return all
}

func find(t *testing.T, c *Comparison, metric string) *Row {
	t.Helper()
	i := slices.IndexFunc(c.Rows, func(r Row) bool { return r.Metric == metric && r.Operation == "" })
	if i < 0 {
		t.Fatalf("there is no row of %s", metric)
	}
	return &c.Rows[i]
}

func TestVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		rate, p99     float64 // of the candidate; those of the base are 1000/s and 10 ms
		n             int
		spread        float64
		whole, byRate Verdict
	}{
		"the same":                      {1000, 10e6, 10, 0.01, Equivalent, Equivalent},
		"8 % slower":                    {920, 10.9e6, 10, 0.01, Regression, Regression},
		"8 % faster":                    {1080, 9.1e6, 10, 0.01, Improvement, Improvement},
		"2 % slower, which is fine":     {980, 10.2e6, 40, 0.005, Equivalent, Equivalent},
		"too noisy":                     {950, 10.5e6, 5, 0.2, Inconclusive, Inconclusive},
		"a rate without any variance":   {1000, 10e6, 5, 0, Equivalent, Equivalent},
		"worse without any variance":    {900, 12e6, 3, 0, Regression, Regression},
		"the rate stays, the tail goes": {1000, 14e6, 10, 0.01, Regression, Equivalent},
	} {
		got, err := Runs(runs(1, c.n, 1000, 10e6, c.spread), runs(2, c.n, c.rate, c.p99, c.spread), Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		row := find(t, got, "rate")
		if got.Verdict != c.whole || row.Verdict != c.byRate {
			t.Errorf("%s: %s, rate %s %+v", name, got.Verdict, row.Verdict, *row)
		}
		if row.Verdict == Inconclusive && row.Needed <= c.n {
			t.Errorf("%s: %d runs would settle it, and there are %d", name, row.Needed, c.n)
		}
		if !row.Primary || got.Rows[0].Metric != "rate" {
			t.Errorf("%s: the first row is %s", name, got.Rows[0].Metric)
		}
	}
}

// The rate of an open load is no main metric. If most operations are faster, the verdict is an improvement, though the
// tail over all of them varies.
func TestOpenLoads(t *testing.T) {
	open := func(all []*result.Result, ops int, ns float64) []*result.Result {
		r := rand.New(rand.NewPCG(9, uint64(ns)))
		for _, one := range all {
			one.LoadModel = "open"
			for k := range ops {
				name := fmt.Sprint("op", k)
				one.Add("response.avg", name, ns*math.Exp(0.02*r.NormFloat64()))
				one.Add("rate", name, 10)
			}
		}
		return all
	}
	c, err := Runs(open(runs(1, 6, 100, 10e6, 0.5), 12, 50e6), open(runs(2, 6, 100, 9e6, 0.5), 12, 10e6), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if find(t, c, "rate").Primary || !find(t, c, "response.p(99)").Primary {
		t.Error("the rate is a main metric")
	}
	if c.Verdict != Improvement || find(t, c, "response.p(99)").Verdict != Inconclusive {
		t.Errorf("%s; p99: %s", c.Verdict, find(t, c, "response.p(99)").Verdict)
	}
	failing := open(runs(2, 6, 100, 9e6, 0.5), 12, 10e6)
	for i, one := range failing {
		one.Find("errors", "").Value = []float64{0, 0.2, 0, 0.4, 0.1, 0}[i]
	}
	if c, err = Runs(open(runs(1, 6, 100, 10e6, 0.5), 12, 50e6), failing, Options{}); err != nil {
		t.Fatal(err)
	}
	if c.Verdict != Inconclusive || find(t, c, "errors").Verdict != Inconclusive {
		t.Errorf("with errors: %s; errors: %s", c.Verdict, find(t, c, "errors").Verdict)
	}
}

// A run without a profile doesn't change the shares of functions, and a mean that isn't there has no change.
func TestWhatChangedInside(t *testing.T) {
	profiled := func(own float64) *result.Result {
		return &result.Result{Profiles: []record.Profile{{Functions: []record.FunctionTime{{Name: "work", Own: own}}}},
			Sums: []record.ResponseSum{{Operation: "empty"}, {Operation: "read", MeanNs: 100 * own,
				Parts: []record.TimePart{{Kind: record.TimeExecuting, Ns: 100 * own}}}}}
	}
	base, candidate := []*result.Result{profiled(0.4), profiled(0.4)}, []*result.Result{profiled(0.4), profiled(0.4)}
	if got := sumChanges(base, candidate); got != nil {
		t.Errorf("nothing changed: %+v", got)
	}
	candidate[0].Profiles = nil
	if got := functionChanges(base, candidate); got != nil {
		t.Errorf("one run has no profile: %+v", got)
	}
	candidate[1] = profiled(0.6)
	if got := functionChanges(base, candidate); len(got) != 1 || math.Abs(got[0].Candidate-0.6) > 1e-9 {
		t.Errorf("%+v", got)
	}
	sums := sumChanges(base, candidate)
	if len(sums) != 1 || sums[0].Operation != "read" || sums[0].Sentence(units.English) !=
		"the mean rose by 10 ns: 10 ns executing" {
		t.Errorf("%+v", sums)
	}
}

// Runs of other loads have another fingerprint. Targets and seeds don't matter.
func TestFingerprint(t *testing.T) {
	of := func(model, plan string) string {
		return Fingerprint(&result.Result{LoadModel: model, Plan: []byte(plan)})
	}
	a := of("open", "{queries: [{name: a, rate: 5}], target: {addresses: [x]}, seed: 1}")
	for plan, same := range map[string]bool{
		"{queries: [{rate: 5, name: a}], target: {addresses: [y]}, seed: 2, thresholds: [x]}": true,
		"{queries: [{name: a, rate: 50}], target: {addresses: [x]}, seed: 1}":                 false,
	} {
		if (of("open", plan) == a) != same {
			t.Errorf("%s: the same load is %v", plan, !same)
		}
	}
	if of("closed", "{queries: [{name: a, rate: 5}]}") == a || a == "" || Fingerprint(&result.Result{}) != "" {
		t.Error(a)
	}
}

// If a system is compared with itself, almost none of the comparisons is a regression, and with enough runs most are
// called equivalent.
func TestTheSameIsRarelyARegression(t *testing.T) {
	const times = 300
	count := map[Verdict]int{}
	for i := range times {
		c, err := Runs(runs(uint64(10+2*i), 10, 1000, 10e6, 0.02), runs(uint64(11+2*i), 10, 1000, 10e6, 0.02), Options{})
		if err != nil {
			t.Fatal(err)
		}
		count[c.Verdict]++
	}
	if count[Regression] > times/100 || count[Equivalent] < times*6/10 {
		t.Errorf("%v", count)
	}
}

func TestOneRunAgainstOneHasNoVerdict(t *testing.T) {
	base, candidate := runs(1, 1, 1000, 10e6, 0), runs(2, 1, 800, 15e6, 0)
	base[0].Find("rate", "").Within = &record.Bounds{Low: 990, High: 1010}
	candidate[0].Find("response.p(99)", "").Within = &record.Bounds{Low: -5e6, High: 35e6}
	c, err := Runs(base, candidate, Options{})
	if err != nil {
		t.Fatal(err)
	}
	row := find(t, c, "rate")
	if c.Verdict != Unknown || !math.IsNaN(row.P) || !math.IsNaN(row.RanksP) || !math.IsNaN(row.Change.Low) ||
		math.Abs(row.Change.Value+0.2) > 1e-12 {
		t.Errorf("%s %+v", c.Verdict, *row)
	}
	if row.Base.Low != 990 || row.Base.High != 1010 || !math.IsNaN(row.Candidate.Low) {
		t.Errorf("the interval within the run is %+v", row.Base)
	}
	if times := find(t, c, "response.p(99)").Candidate; times.Low != 0 || times.High != 35e6 {
		t.Errorf("a time lies within %+v", times)
	}
	if !strings.Contains(said(c.Warnings),
		"between-run variance unknown: repeat each side at least 5 times") {
		t.Errorf("%q", c.Warnings)
	}
	legend := strings.Join(cell.Legend(units.English, c.Tables(units.English)...), "\n")
	if !strings.Contains(legend, "within this run") || strings.Contains(legend, "over these runs") {
		t.Errorf("the interval of one run is explained by %q", legend)
	}
	for _, out := range []func() (string, error){
		func() (string, error) { var b bytes.Buffer; err := c.JSON(&b, 0); return b.String(), err },
		func() (string, error) { var b bytes.Buffer; err := c.JUnit(&b); return b.String(), err },
	} {
		if text, err := out(); err != nil || strings.Contains(text, `"p_corrected": 0`) {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

func TestIncomparableRunsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(base, candidate []*result.Result)
		want    string
		invalid bool
	}{
		"an invalid run": {func(_, b []*result.Result) {
			b[1].Verdict, b[1].Reasons = "invalid", []message.Message{message.Literal("the generator was late")}
		}, "the generator was late", true},
		"no success":    {func(a, _ []*result.Result) { a[0].Metrics[0].Value = 0 }, "no successful operation", false},
		"other program": {func(_, b []*result.Result) { b[0].Program = "k6" }, "k6", false},
		"other load":    {func(_, b []*result.Result) { b[2].LoadModel = "open" }, "open", false},
		"other plan": {func(a, b []*result.Result) {
			for _, r := range a {
				r.Plan = []byte("config_name: a\nseed: 1\nqueries: [{sql: select 1}]\n")
			}
			for _, r := range b {
				r.Plan, r.PlanHash = []byte("config_name: b\nseed: 2\nqueries: [{sql: select 2}]\nload: []\n"), "i"
			}
		}, "different plans: load, queries", false},
		"other script": {func(a, b []*result.Result) {
			a[0].Plan = []byte("name: a\nscript: /x/a.js\nsha256: 1\nscenarios: {default: {rate: 5}}\n")
			b[0].Plan, b[0].PlanHash = []byte("name: b\nscript: /y/b.js\nsha256: 2\nscenarios: {default: {rate: 6}}\n"), "i"
		}, "different plans: scenarios, script", false},
		"other plan, without text": {func(_, b []*result.Result) { b[0].PlanHash, b[0].Name = "i", "bikes" },
			`"cars" and "bikes"`, false},
		"other machine": {func(_, b []*result.Result) {
			b[0].Machine = &record.Environment{CPU: "y", Cores: 2, OS: "linux", Arch: "amd64"}
		}, "different machines: processor x and y", false},
		"versions within a side": {func(_, b []*result.Result) { b[0].Servers = []string{"PostgreSQL 16.1"} },
			"PostgreSQL 15.14, PostgreSQL 16.1", false},
		"a run twice": {func(a, b []*result.Result) { b[0].ID, b[0].Path = a[0].ID, a[0].Path }, "named twice", false},
		"a copy of a run": {func(a, b []*result.Result) { b[0].ID, a[0].Path, b[0].Path = a[0].ID, "one", "copy" },
			"copy and one are one run, of which one is a copy", false},
	} {
		a, b := runs(1, 3, 1000, 10e6, 0.01), runs(2, 3, 1000, 10e6, 0.01)
		c.change(a, b)
		_, err := Runs(a, b, Options{})
		var refused *Refused
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) || refused.Invalid != c.invalid ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := Runs(a, b, Options{Anyway: true})
		if err != nil || !strings.Contains(said(got.Warnings), c.want) {
			t.Errorf("%s, anyway: %v %+v", name, err, got)
		}
	}
}

func TestDifferencesAreTold(t *testing.T) {
	for name, c := range map[string]struct {
		change func(base, candidate []*result.Result)
		want   string
	}{
		"versions": {func(_, b []*result.Result) {
			for _, r := range b {
				r.Servers = []string{"PostgreSQL 16.1"}
			}
		}, "servers: PostgreSQL 15.14 → PostgreSQL 16.1"},
		"seeds":    {func(_, b []*result.Result) { b[1].Seed = "9" }, "seeds differ (7 → 7, 9)"},
		"sessions": {func(a, _ []*result.Result) { a[1].Sessions = 9 }, "sessions differ: 8, 9"},
		"kernels": {func(a, _ []*result.Result) {
			a[1].Machine = &record.Environment{OS: "linux", Arch: "amd64", CPU: "x", Cores: 2, Kernel: "6.2"}
		}, "kernels differ: 6.1, 6.2"},
		"killed": {func(a, _ []*result.Result) { a[0].Killed = true }, "was killed"},
		"where plans go": {func(a, b []*result.Result) {
			a[0].Plan, b[0].Plan = []byte("target: {addresses: [a]}\nseed: 1\n"),
				[]byte("target: {addresses: [b]}\nseed: 2\n")
			b[0].PlanHash = "i"
		}, ""},
		"one side's seeds aren't known": {func(a, _ []*result.Result) {
			for _, r := range a {
				r.Seed = ""
			}
		}, ""},
		"where scripts are": {func(a, b []*result.Result) {
			a[0].Plan = []byte("name: before\nscript: /x/before.js\nsha256: 1\n")
			b[0].Plan, b[0].PlanHash = []byte("name: after\nscript: /y/after.js\nsha256: 1\n"), "i"
		}, ""},
	} {
		a, b := runs(1, 3, 1000, 10e6, 0.01), runs(2, 3, 1000, 10e6, 0.01)
		c.change(a, b)
		got, err := Runs(a, b, Options{})
		if err != nil || !strings.Contains(said(got.Warnings), c.want) || c.want == "" &&
			len(got.Warnings) > 0 {
			t.Errorf("%s: %v, %+v", name, err, got)
		}
	}
}

// Infinite times have no ratio; they are compared by ranks.
func TestTimesWithoutEnd(t *testing.T) {
	a, b := runs(1, 6, 1000, 10e6, 0.01), runs(2, 6, 1000, 10e6, 0.01)
	for _, r := range b {
		r.Find("response.p(99)", "").Value = math.Inf(1)
	}
	c, err := Runs(a, b, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if row := find(t, c, "response.p(99)"); row.Verdict != Regression || row.Note.IsZero() || c.Verdict != Regression {
		t.Errorf("%+v", *row)
	}
	c, err = Runs(b, a, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if row := find(t, c, "response.p(99)"); row.Verdict != Improvement {
		t.Errorf("%+v", *row)
	}
	b[0].Find("response.p(99)", "").Value = 10e6
	same, err := Runs(b[:3], b[3:], Options{})
	if err != nil {
		t.Fatal(err)
	}
	if row := find(t, same, "response.p(99)"); row.Verdict != Inconclusive {
		t.Errorf("%+v", *row)
	}
}

// Comparisons by ranks respect the tolerance and the correction for the number of metrics, as other comparisons do.
func TestRanksObeyTheTolerance(t *testing.T) {
	set := func(runs []*result.Result, metric string, value float64, n int) {
		for _, r := range runs[:n] {
			r.Find(metric, "").Value = value
		}
	}
	endless := math.Inf(1)
	for _, c := range []struct {
		name            string
		n               int
		p99             float64 // of the candidate; that of the base is 10 ms
		value           float64 // of the first runs on one side
		base, candidate int     // numbers of runs with this value
		want            Verdict
	}{
		{"an endless time in the base, 0.8 % more", 10, 10.08e6, endless, 1, 0, Equivalent},
		{"an endless time in the candidate, 0.8 % more", 10, 10.08e6, endless, 0, 1, Equivalent},
		{"an endless time on both sides", 10, 10.08e6, endless, 1, 1, Equivalent},
		{"a time of 0 in the base, 0.8 % more", 10, 10.08e6, 0, 1, 0, Equivalent},
		{"an endless time in the base, 12 % more", 10, 11.2e6, endless, 1, 0, Regression},
		{"an endless time in the base, 12 % less", 10, 8.8e6, endless, 1, 0, Improvement},
		{"an endless time in the base, 5 % more", 10, 10.5e6, endless, 1, 0, Inconclusive},
		{"no end in all runs of the candidate", 6, 10e6, endless, 0, 6, Regression},
		{"no end in all runs of both sides", 6, 10e6, endless, 6, 6, Inconclusive},
		{"as far apart as 4 runs can be, of three primary metrics", 4, 10e6, endless, 0, 4, Inconclusive},
		{"all times 0", 6, 10e6, 0, 6, 6, Equivalent},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := runs(3, c.n, 1000, 10e6, 0.002), runs(4, c.n, 1000, c.p99, 0.002)
			set(a, "response.p(99)", c.value, c.base)
			set(b, "response.p(99)", c.value, c.candidate)
			got, err := Runs(a, b, Options{})
			if err != nil {
				t.Fatal(err)
			}
			row := find(t, got, "response.p(99)")
			if row.Verdict != c.want || !row.ByRanks || row.Note.IsZero() {
				t.Errorf("%s, want %s: %+v", row.Verdict, c.want, *row)
			}
			if got.Verdict != c.want {
				t.Errorf("the whole is %s, want %s", got.Verdict, c.want)
			}
			if row.P < row.RanksP {
				t.Errorf("corrected, p fell from %g to %g", row.RanksP, row.P)
			}
		})
	}
}

// A metric that one side lacks is reported, and is not called equivalent.
func TestWhatASideLacksIsTold(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(base, candidate []*result.Result)
		want   Verdict
		told   string
	}{
		{"a primary metric", func(_, b []*result.Result) { drop(b, "errors") }, Inconclusive,
			"6 of 6 base runs and 0 of 6 candidate runs have it"},
		{"a metric of one run", func(a, _ []*result.Result) { drop(a[:1], "response.avg") }, Inconclusive,
			"5 of 6 base runs and 6 of 6 candidate runs have it"},
		{"an operation of the base", func(a, _ []*result.Result) {
			for _, r := range a {
				r.Add("rate", "pay", 10)
			}
		}, Inconclusive, "not compared, because not all runs have it: pay"},
		{"an operation of the candidate", func(_, b []*result.Result) {
			for _, r := range b {
				r.Add("rate", "pay", 10)
			}
		}, Inconclusive, "not compared, because not all runs have it: pay"},
		{"nothing", func(_, _ []*result.Result) {}, Equivalent, ""},
		{"a regression besides", func(_, b []*result.Result) {
			drop(b, "errors")
			for _, r := range b {
				r.Find("rate", "").Value *= 0.8
			}
		}, Regression, "0 of 6 candidate runs have it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := runs(1, 6, 1000, 10e6, 0.001), runs(2, 6, 1000, 10e6, 0.001)
			c.change(a, b)
			got, err := Runs(a, b, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			if err := cell.WriteText(&out, cell.Look{Columns: 200}, got.Tables(units.English)...); err != nil {
				t.Fatal(err)
			}
			if got.Verdict != c.want || !strings.Contains(out.String(), c.told) {
				t.Errorf("%s, want %s, and to be told %q:\n%s", got.Verdict, c.want, c.told, out.String())
			}
			s, err := Intervals(slices.Concat(a, b), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if told := strings.Contains(said(s.Warnings), "not all runs have it"); told != (c.told != "") {
				t.Errorf("intervals tell %q", s.Warnings)
			}
		})
	}
}

// drop removes a metric of all operations from runs.
func drop(runs []*result.Result, metric string) {
	for i, r := range runs {
		without := &result.Result{
			Path: r.Path, Program: r.Program, ID: r.ID, Name: r.Name, Started: r.Started, Seed: r.Seed,
			LoadModel: r.LoadModel,
			Sessions:  r.Sessions, Verdict: r.Verdict, Servers: r.Servers, Machine: r.Machine, PlanHash: r.PlanHash,
		}
		for _, m := range r.Metrics {
			if m.Name != metric {
				without.Add(m.Name, m.Operation, m.Value)
			}
		}
		runs[i] = without
	}
}

// CSV has the same columns for all comparisons, and plain numbers.
func TestCSVIsForMachines(t *testing.T) {
	written := func(write func(*bytes.Buffer) error) [][]string {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(&b).ReadAll() // returns an error for lines of different lengths
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines[1:] {
			for i, head := range lines[0] {
				text := slices.Contains([]string{"metric", "operation", "unit", "primary", "verdict", "change_is", "typical_is",
					"note"}, head)
				if _, err := strconv.ParseFloat(line[i], 64); !text && line[i] != "" && err != nil {
					t.Errorf("%s is %q", head, line[i])
				}
			}
		}
		return lines
	}
	var heads [2][]string
	for _, n := range []int{1, 2, 12} {
		a, b := runs(1, n, 1000, 10e6, 0.01), runs(2, n, 1000, 10e6, 0.01)
		a[0].Find("response.p(99)", "").Value = math.Inf(1)
		for _, r := range slices.Concat(a, b) {
			for i := range 30 {
				r.Add("rate", fmt.Sprint("op, \"", i), 5)
			}
		}
		c, err := Runs(a, b, Options{})
		s, err2 := Intervals(a, Options{})
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		for i, lines := range [][][]string{
			written(func(w *bytes.Buffer) error { return c.CSV(w) }),
			written(func(w *bytes.Buffer) error { return s.CSV(w) }),
		} {
			if len(lines) != 1+5+30 {
				t.Errorf("%d runs: %d lines", n, len(lines))
			}
			if heads[i] == nil {
				heads[i] = lines[0]
			} else if !slices.Equal(heads[i], lines[0]) {
				t.Errorf("%d runs have other columns: %q", n, lines[0])
			}
		}
	}
}

// Texts say how wide an interval is. For shares they use percentage points.
func TestTextOfIntervals(t *testing.T) {
	a, b := runs(1, 6, 1000, 1.0135e9, 0.0005), runs(2, 6, 1000, 1.0135e9, 0.0005)
	for i, r := range a {
		r.Find("response.avg", "").Value = []float64{1e6, 1e6, 1e6, 1e6, 1e6, 90e6}[i]
	}
	for _, r := range b {
		r.Find("errors", "").Value = 0.02
	}
	s, err := Intervals(a, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range s.Rows {
		if r.Mean.Low < 0 || r.Unit == "share" && r.Mean.High > 1 {
			t.Errorf("%s lies in %g … %g", r.Metric, r.Mean.Low, r.Mean.High)
		}
	}
	text := func(l units.Language, tables []cell.Table) string {
		var out strings.Builder
		if err := cell.WriteText(&out, cell.Look{Columns: 200, Language: l}, tables...); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if p99 := regexp.MustCompile(`response p99 +(\S+) s +(\S+) s +(\S+) s`).FindStringSubmatch(text(units.English,
		s.Tables(units.English))); p99 == nil || p99[1] == p99[2] || p99[2] == p99[3] {
		t.Errorf("the interval can't be seen: %q\n%s", p99, text(units.English, s.Tables(units.English)))
	}
	c, err := Runs(a, b, Options{Confidence: 0.9999999})
	if err != nil {
		t.Fatal(err)
	}
	out := text(units.English, c.Tables(units.English))
	for _, want := range []string{"+2.00 pp", "±0.1 pp", "intervals at 99.99999 % confidence"} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in\n%s", want, out)
		}
	}
	if russian := text(units.Russian, c.Tables(units.Russian)); !strings.Contains(russian, "+2,00\u00a0п.\u00a0п.") ||
		strings.Contains(russian, " pp") {
		t.Errorf("in Russian:\n%s", russian)
	}
}

// The interval that is valid for skewed figures is listed first.
func TestTypicalIsWhatHolds(t *testing.T) {
	all := runs(1, 8, 1000, 10e6, 0.5)
	s, err := Intervals(all, Options{})
	if err != nil {
		t.Fatal(err)
	}
	all[0].Find("response.p(99)", "").Value = math.Inf(1)
	endless, err := Intervals(all, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		row  SummaryRow
		is   string
		want stats.Interval
	}{
		{"a rate", s.Rows[0], GeometricMean, s.Rows[0].Log}, {"a time", s.Rows[2], GeometricMean, s.Rows[2].Log},
		{"a share", s.Rows[4], ArithmeticMean, s.Rows[4].Mean}, {"endless times", endless.Rows[2], MedianOfRuns,
			endless.Rows[2].Median},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.row.TypicalIs != c.is || c.row.Typical != c.want || math.IsNaN(c.row.Typical.Low) {
				t.Errorf("%s %+v, want %s %+v", c.row.TypicalIs, c.row.Typical, c.is, c.want)
			}
		})
	}
}

func TestErrorsAreComparedByTheirDifference(t *testing.T) {
	a, b := runs(1, 6, 1000, 10e6, 0.01), runs(2, 6, 1000, 10e6, 0.01)
	for i, r := range b {
		r.Find("errors", "").Value = 0.02 + 0.0001*float64(i)
	}
	c, err := Runs(a, b, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if row := find(t, c, "errors"); row.Verdict != Regression || math.Abs(row.Change.Value-0.02025) > 1e-12 {
		t.Errorf("%+v", *row)
	}
}

func TestIntervals(t *testing.T) {
	s, err := Intervals(runs(1, 5, 1000, 10e6, 0.02), Options{})
	if err != nil {
		t.Fatal(err)
	}
	rate := s.Rows[0]
	if rate.Metric != "rate" || !(rate.Mean.Low < 1000 && 1000 < rate.Mean.High) || math.IsNaN(rate.Log.Low) ||
		!math.IsNaN(rate.Median.Low) {
		t.Errorf("%+v", rate)
	}
	if !strings.Contains(said(s.Warnings), "at least 6 runs, there are 5") {
		t.Errorf("%q", s.Warnings)
	}
	if s, err = Intervals(runs(1, 20, 1000, 10e6, 0.2), Options{Confidence: 0.99}); err != nil ||
		math.IsNaN(s.Rows[0].Log.Low) || math.IsNaN(s.Rows[0].Median.Low) || s.Rows[0].Needed <= 20 {
		t.Errorf("%+v, %v", s, err)
	}
	one, err := Intervals(runs(1, 1, 1000, 10e6, 0), Options{})
	if err != nil || !math.IsNaN(one.Rows[0].Mean.Low) || !strings.Contains(said(one.Warnings),
		"need at least 2 runs") {
		t.Errorf("%+v, %v", one, err)
	}
	var b bytes.Buffer
	if err := one.JSON(&b); err != nil || !json.Valid(b.Bytes()) || strings.Contains(b.String(), `"none"`) ||
		strings.Contains(b.String(), `"low"`) {
		t.Errorf("%v\n%s", err, b.String())
	}
	if _, err := Intervals(nil, Options{}); err == nil {
		t.Error("no runs were summed up")
	}
	drifting := runs(1, 12, 1000, 10e6, 0)
	for i, r := range drifting {
		r.Metrics[0].Value += 10 * float64(i)
	}
	if s, err = Intervals(drifting, Options{}); err != nil || !strings.Contains(said(s.Warnings),
		"depends on the run before it") {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestJUnitTellsRegressions(t *testing.T) {
	c, err := Runs(runs(1, 10, 1000, 10e6, 0.01), runs(2, 10, 900, 10e6, 0.01), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := c.JUnit(&b); err != nil {
		t.Fatal(err)
	}
	var suites struct {
		Suites []struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(b.Bytes(), &suites); err != nil || suites.Suites[0].Tests != len(c.Rows) ||
		suites.Suites[0].Failures != 2 {
		t.Errorf("%v: %+v\n%s", err, suites, b.String())
	}
}

func TestBenchfmt(t *testing.T) {
	var b bytes.Buffer
	a := runs(1, 2, 1000, 10e6, 0)
	a[0].Name = "my cars/2"
	a[0].Add("rate", "look up", 500)
	a[0].Find("response.p(99)", "").Value = math.Inf(1)
	if err := Benchfmt(&b, a, runs(2, 1, 900, 10e6, 0)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Unit req/s better=higher\n", "side: base\nBenchmarkMy_cars_2 60000 1000 req/s 3333333.",
		"BenchmarkMy_cars_2/operation=Look_up 1 500 req/s\n",
		"side: candidate\nBenchmarkCars 54000 900 req/s", " 10000000 p99-ns/op",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("there is no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "Inf") {
		t.Error(b.String())
	}
}

func TestTolerances(t *testing.T) {
	got, err := ParseTolerances([]string{"10%", "rate=0.02", "response.p(99)=20 %", "first=30%", "between.avg=0.4"})
	if err != nil || got.Of("rate") != 0.02 || got.Of("count") != 0.1 || got.Of("response.p(99)") != 0.2 ||
		got.Of("response.p(50)") != 0.1 || got.Of("errors") != 0.001 || got.Of("first.p(99)") != 0.3 ||
		got.Of("between.avg") != 0.4 || got.Of("between.p(50)") != 0.1 {
		t.Errorf("%v, %v", got, err)
	}
	usual, _ := ParseTolerances(nil)
	if usual.Of("rate") != 0.03 || usual.Of("response.p(99)") != 0.05 {
		t.Errorf("%v", usual)
	}
	for _, text := range []string{"", "x", "rate=", "speed=5%", "first.min=5%", "service.p(99)=5%",
		"0", "-5%", "100%", "NaN", "rate=1e400"} {
		if _, err := ParseTolerances([]string{text}); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

// The times of streams' messages are compared, also of single operations.
func TestStreamsAreCompared(t *testing.T) {
	sides := [][]*result.Result{runs(1, 6, 1000, 10e6, 0.01), runs(2, 6, 1000, 10e6, 0.01)}
	for k, side := range sides {
		for i, r := range side {
			for _, operation := range []string{"", "list"} {
				r.Add("first.p(99)", operation, 1e6*(1+0.5*float64(k)+0.001*float64(i)))
				r.Add("between.p(99)", operation, 2e6+1e3*float64(i))
			}
		}
	}
	c, err := Runs(sides[0], sides[1], Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Verdict{"first.p(99)": Regression, "between.p(99)": Equivalent}
	compared := 0
	for _, r := range c.Rows {
		if v, ok := want[r.Metric]; ok {
			compared++
			if r.Verdict != v {
				t.Errorf("%s of %q: %s", r.Metric, r.Operation, r.Verdict)
			}
		}
	}
	var text strings.Builder
	for _, table := range c.Tables(units.English) {
		for _, row := range table.Rows {
			text.WriteString(row[0].Text + "\n")
		}
	}
	if compared != 4 || !strings.Contains(text.String(), "first message p99\n") ||
		!strings.Contains(text.String(), "list: between messages p99\n") {
		t.Errorf("%d rows are compared:\n%s", compared, text.String())
	}
}

// Comparing twenty runs with twenty takes a fraction of a second, even with many operations.
func TestManyOperations(t *testing.T) {
	a, b := runs(1, 20, 1000, 10e6, 0.01), runs(2, 20, 1000, 10e6, 0.01)
	for _, r := range slices.Concat(a, b) {
		for i := range 200 {
			r.Add("rate", fmt.Sprint("op ", i), 5+float64(i)+0.01*r.Metrics[0].Value)
		}
	}
	c, err := Runs(a, b, Options{})
	if err != nil || len(c.Rows) != 205 {
		t.Errorf("%v: %d rows", err, len(c.Rows))
	}
}

// BenchmarkRuns compares 20 runs with 20 runs.
func BenchmarkRuns(b *testing.B) {
	base, candidate := runs(1, 20, 1000, 10e6, 0.01), runs(2, 20, 1000, 10e6, 0.01)
	for b.Loop() {
		if _, err := Runs(base, candidate, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// In Russian, comparisons and intervals contain English only in names.
func TestTablesAreInRussian(t *testing.T) {
	say := map[string][]cell.Table{}
	compared := func(name string, change func(base, candidate []*result.Result)) {
		a, b := runs(1, 4, 1000, 10e6, 0.02), runs(2, 4, 1000, 10e6, 0.02)
		change(a, b)
		c, err := Runs(a, b, Options{Anyway: true})
		if err != nil {
			t.Fatal(err)
		}
		say[name] = c.Tables(units.Russian)
		s, err := Intervals(a, Options{Anyway: true})
		if err != nil {
			t.Fatal(err)
		}
		say[name+", intervals"] = s.Tables(units.Russian)
	}
	compared("open", func(_, b []*result.Result) {
		for _, r := range b {
			r.Find("response.p(99)", "").Value *= 1.06
		}
	})
	compared("refused", func(a, b []*result.Result) {
		a[0].Verdict, a[0].Reasons = "invalid", []message.Message{message.New("verdict.paused", message.Span("paused",
			3e9))}
		b[1].LoadModel, b[2].Seed, a[1].Killed = "closed", "9", true
		b[0].Servers = []string{"PostgreSQL 16.1"}
	})
	compared("endless", func(a, b []*result.Result) {
		a[0].Find("response.p(99)", "").Value, b[0].Find("response.avg", "").Value = math.Inf(1), math.Inf(1)
	})
	one, err := Runs(runs(1, 1, 1000, 10e6, 0), runs(2, 1, 1000, 10e6, 0), Options{})
	if err != nil {
		t.Fatal(err)
	}
	say["one"] = one.Tables(units.Russian)
	names := []string{"cars", "PostgreSQL", "anyway", "open", "closed", "run"}
	for name, tables := range say {
		var b bytes.Buffer
		if err := cell.WriteText(&b, cell.Look{Language: units.Russian}, tables...); err != nil {
			t.Fatal(err)
		}
		for _, word := range regexp.MustCompile(`[A-Za-z]{3,}`).FindAllString(b.String(), -1) {
			if !slices.Contains(names, word) {
				t.Errorf("%s has %q:\n%s", name, word, b.String())
				break
			}
		}
	}
}

// scripts generates n runs of a k6 script with a check and a metric of its own that are about held and bought.
func scripts(seed uint64, n int, held, bought float64) []*result.Result {
	r := rand.New(rand.NewPCG(seed, 1))
	var all []*result.Result
	for i := range n {
		run := &record.Run{
			ID: fmt.Sprint(seed, "/", i), Name: "buy.js", PlanHash: "h", LoadModel: "open", Complete: true,
			Total: record.Operation{Counts: record.CountsOf(&measure.Counts{Done: 1000}), RatePerS: 100},
			Watched: []record.Watched{{Source: record.WatchedScript, Metrics: []record.WatchedMetric{
				{Name: "check it fits", Unit: "share", Mean: held - 0.0001*r.Float64()},
				{Name: "bought", Unit: "count", Mean: bought + r.Float64()},
			}}},
		}
		all = append(all, result.Of(run))
	}
	return all
}

// The checks of a script are judged; its own metrics are only shown.
func TestChecksAreJudged(t *testing.T) {
	for name, c := range map[string]struct {
		held, bought float64
		whole, check Verdict
	}{
		"as before":     {0.99, 500, Equivalent, Equivalent},
		"fewer hold":    {0.97, 500, Regression, Regression},
		"more hold":     {1, 500, Equivalent, Improvement},
		"another value": {0.99, 900, Equivalent, Equivalent},
	} {
		base, candidate := scripts(1, 6, 0.99, 500), scripts(2, 6, c.held, c.bought)
		got, err := Runs(base, candidate, Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		check, own := find(t, got, "check it fits"), find(t, got, "bought")
		if got.Verdict != c.whole || check.Verdict != c.check || check.Primary {
			t.Errorf("%s: %s, %+v", name, got.Verdict, *check)
		}
		if want := map[bool]Verdict{true: Equivalent, false: Inconclusive}[c.bought == 500]; own.Verdict != want ||
			!own.Note.IsZero() {
			t.Errorf("%s: %+v", name, *own)
		}
		var bench bytes.Buffer
		if err := Benchfmt(&bench, base, candidate); err != nil || !strings.Contains(bench.String(), " check_it_fits ") ||
			!strings.Contains(bench.String(), " bought\n") {
			t.Errorf("%v: %s", err, bench.String())
		}
	}
	for _, text := range []string{"check=2%", "check it fits=2%"} {
		tolerances, err := ParseTolerances([]string{text})
		if err != nil || tolerances.Of("check it fits") != 0.02 || tolerances.Of("errors") != 0.001 {
			t.Errorf("%s: %v, %v", text, tolerances, err)
		}
	}
}

// A run without a name is named after its program.
func TestRunsWithoutAName(t *testing.T) {
	all := runs(1, 3, 1000, 10e6, 0.01)
	for _, r := range all {
		r.Name, r.Program = "", "k6"
	}
	if s, err := Intervals(all, Options{}); err != nil || s.Name != "k6" {
		t.Errorf("%v: %+v", err, s)
	}
}

// said returns messages in English, one per line.
func said(messages []message.Message) string {
	return strings.Join(message.Strings(units.English, messages), "\n")
}
