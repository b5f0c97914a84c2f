package history

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"brunt/internal/judge/compare"
	"brunt/internal/judge/result"
	"brunt/internal/plan/metric"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
	"brunt/test/testserver"
)

var then = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// version returns an entry of two runs with a rate and a mean response time.
func version(k int, rate, meanNs float64) Entry {
	return Entry{
		Added: then, Series: "cars", Version: fmt.Sprint("v", k), Environment: "here", Count: 2,
		Runs: []string{fmt.Sprint(k, "a"), fmt.Sprint(k, "b")},
		Metrics: []Metric{
			{Name: "rate", Unit: "per_s", Better: metric.Higher, Mean: record.Figure(rate), Deviation: rate / 100},
			{Name: "response.avg", Unit: "ns", Better: metric.Lower, Mean: record.Figure(meanNs), Deviation: meanNs / 100},
		},
	}
}

// steps returns a history in which the rate has each level for several versions.
func steps(levels ...float64) (all []Entry) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, level := range levels {
		for range 8 {
			all = append(all, version(len(all), level*(1+0.005*r.NormFloat64()), 1e9/level))
		}
	}
	return all
}

func changesOf(all []*Series, metric string) []Change {
	for _, s := range all {
		if s.Metric == metric {
			return s.Changes
		}
	}
	return nil
}

func TestChanges(t *testing.T) {
	for name, c := range map[string]struct {
		entries      []Entry
		acknowledged []Acknowledged
		changes      int
		fresh        bool
		version      string // version of the first change
	}{
		"level":             {entries: steps(1000, 1000)},
		"regression":        {entries: steps(1000, 900), changes: 1, fresh: true, version: "v8"},
		"improvement":       {entries: steps(1000, 1100), changes: 1, version: "v8"},
		"made good":         {entries: steps(1000, 1000, 900, 1000), changes: 2, version: "v16"},
		"made good in part": {entries: steps(1000, 800, 900), changes: 2, fresh: true, version: "v8"},
		"acknowledged": {entries: steps(1000, 900),
			acknowledged: []Acknowledged{{Version: "v8", Reason: "checksums"}}, changes: 1, version: "v8"},
		"its neighbour acknowledged": {entries: steps(1000, 900),
			acknowledged: []Acknowledged{{Version: "v7", Reason: "checksums"}}, changes: 1, version: "v8"},
		"another acknowledged": {entries: steps(1000, 900),
			acknowledged: []Acknowledged{{Version: "v10", Reason: "checksums"}}, changes: 1, fresh: true, version: "v8"},
		"acknowledged of other series": {entries: steps(1000, 900),
			acknowledged: []Acknowledged{{Version: "v8", Series: "bikes", Reason: "x"}}, changes: 1, fresh: true,
			version: "v8"},
		"too small": {entries: steps(1000, 980)},
	} {
		all := All(c.entries, c.acknowledged, Options{})
		got := changesOf(all, "rate")
		if len(got) != c.changes || Fresh(all) != c.fresh || c.changes > 0 && got[0].Version != c.version {
			t.Fatalf("%s: %+v, fresh %v", name, got, Fresh(all))
		}
		if c.version == "v8" && got[0].Previous != "v7" {
			t.Errorf("%s: the version before is %s", name, got[0].Previous)
		}
	}
}

// If runs of the same version differ by a tenth, a change by a tenth isn't found.
func TestNoiseHidesSmallChanges(t *testing.T) {
	entries := steps(1000, 900)
	for i := range entries {
		entries[i].Metrics[0].Deviation = float64(entries[i].Metrics[0].Mean) / 10
	}
	all := All(entries, nil, Options{})
	if got := changesOf(all, "rate"); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	if got := changesOf(All(entries, nil, Options{Magnitude: 0.05}), "rate"); len(got) != 1 {
		t.Errorf("with a magnitude of 5 %%: %+v", got)
	}
}

func TestChangesByPermutation(t *testing.T) {
	o := Options{Permutations: 200, P: 0.01}
	if got := changesOf(All(steps(1000, 900), nil, o), "rate"); len(got) != 1 || got[0].Version != "v8" || !got[0].Fresh {
		t.Errorf("%+v", got)
	}
	if got := changesOf(All(steps(1000, 1000), nil, o), "rate"); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestVersionsAreInTheOrderOfTheirFirstEntry(t *testing.T) {
	all := All([]Entry{version(2, 10, 1), version(1, 20, 1), version(2, 30, 1)}, nil, Options{})
	if p := all[0].Points; len(p) != 2 || p[0].Version != "v2" || p[0].Mean != 20 || p[0].Runs != 4 ||
		p[1].Version != "v1" {
		t.Errorf("%+v", p)
	}
	other := version(3, 10, 1)
	other.Environment = "there"
	if all := All([]Entry{version(1, 10, 1), other}, nil, Options{}); len(all) != 4 {
		t.Errorf("%d series, want those of two environments", len(all))
	}
}

// Runs of another load aren't added to a series, as compare refuses them, unless the user insists.
func TestOtherLoadsAreRefused(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	of := func(k int, load string) Entry {
		e := version(k, 10, 1)
		e.Load = load
		return e
	}
	for k, load := range []string{"", "x", "x", ""} {
		if err := s.Add(of(k, load), false); err != nil {
			t.Errorf("%q: %v", load, err)
		}
	}
	if err := s.Add(of(4, "x"), false); err != nil {
		t.Error(err)
	}
	if err := s.Add(of(5, "y"), false); !errors.Is(err, ErrOtherLoad) || !strings.Contains(err.Error(), "v4") ||
		!strings.Contains(err.Error(), "--series") {
		t.Error(err)
	}
	if err := s.Add(of(5, "y"), true); err != nil {
		t.Error(err)
	}
}

func TestStore(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "a", "b")}
	if all, damaged, err := s.Entries(); err != nil || len(all) != 0 || len(damaged) != 0 {
		t.Errorf("an empty store: %v %v %v", all, damaged, err)
	}
	for k := range 3 {
		if err := s.Add(version(k, 10, 1), false); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Add(version(1, 10, 1), false); err == nil || !strings.Contains(err.Error(),
		"in the history already, as v1") {
		t.Errorf("a run twice: %v", err)
	}
}

// An added entry is readable for any end of the file, and no entry is lost.
func TestStoreAddsBehindWhatIsThere(t *testing.T) {
	const whole, half = `{"schema":1,"series":"cars","version":"v1","runs":["1a"]}`, `{"schema":1,"ser`
	for name, row := range map[string]struct {
		text    string
		entries int
		damaged []string
	}{
		"half a line, as a crash leaves it":        {whole + "\n" + half, 2, nil},
		"a line without newline, of an editor":     {whole, 2, nil},
		"a damaged line, which a newline ends too": {half + "\n" + whole + "\n", 2, []string{"history.ndjson:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := Store{Dir: t.TempDir()}
			if err := os.WriteFile(filepath.Join(s.Dir, EntriesFile), []byte(row.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := s.Add(version(7, 10, 1), false); err != nil {
				t.Fatal(err)
			}
			all, damaged, err := s.Entries()
			if err != nil || len(all) != row.entries || !slices.Equal(damaged, row.damaged) {
				t.Fatalf("%v: %d entries, damaged %v", err, len(all), damaged)
			}
			if last := all[len(all)-1]; last.Version != "v7" || last.Schema != SchemaVersion {
				t.Errorf("the last entry is %+v", last)
			}
		})
	}
}

func TestStoreTakesSeveralAtOnce(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	var wait sync.WaitGroup
	for k := range 20 {
		wait.Go(func() {
			if err := s.Add(version(k, 10, 1), false); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if all, damaged, err := s.Entries(); err != nil || len(all) != 20 || len(damaged) != 0 {
		t.Errorf("%d entries, damaged %v, %v", len(all), damaged, err)
	}
}

func TestStoreRefusesNewerEntries(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	text := `{"schema":2,"series":"a","version":["b"]}` + "\n"
	if err := os.WriteFile(filepath.Join(s.Dir, EntriesFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := s.Entries()
	if err == nil || !strings.Contains(err.Error(), "newer than this program reads") ||
		!strings.Contains(err.Error(), EntriesFile+":1") {
		t.Errorf("%v", err)
	}
}

// A line that isn't an entry is reported and skipped. The other lines are used.
func TestOddLinesStopNothing(t *testing.T) {
	for _, line := range []string{
		`null`, `[]`, `7`, `"text"`, `{}`, `{"a":1}`, `{"schema":"x"}`, `{"schema":1,"ser`,
		`{"schema":1,"series":"cars","version":""}`,
		`{"schema":1,"series":"cars","version":"v","metrics":[{"name":"rate","mean":1e400}]}`, "\x00",
	} {
		t.Run(line, func(t *testing.T) {
			s := Store{Dir: t.TempDir()}
			for _, e := range steps(1000, 900) {
				if err := s.Add(e, false); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Acknowledge(Acknowledged{Version: "v8", Reason: "known"}); err != nil {
				t.Fatal(err)
			}
			for name, line := range map[string]string{EntriesFile: line, AcknowledgedFile: "null"} {
				path := filepath.Join(s.Dir, name)
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				// Editors on Windows put a byte order mark at the beginning.
				if err := os.WriteFile(path, slices.Concat([]byte("\ufeff"+line+"\n"), text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			all, damaged, err := s.Series(Options{})
			if err != nil || !slices.Equal(damaged, []string{"history.ndjson:1", "acknowledged.ndjson:1"}) {
				t.Errorf("%v, damaged %q", err, damaged)
			}
			if c := changesOf(all, "rate"); len(c) != 1 || c[0].Acknowledged != "known" {
				t.Errorf("%+v", c)
			}
		})
	}
}

// A version with an infinite p99, such as one with 1 % failures, is stored, read back, and found as a regression.
func TestEndlessTimesAreKept(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	add := func(k int, p99 ...float64) {
		t.Helper()
		all := runs(len(p99), 100)
		for i, r := range all {
			r.ID = fmt.Sprint(k, "/", i)
			r.Add("response.p(99)", "", p99[i])
		}
		e, err := NewEntry(all, "", fmt.Sprint("v", k), then, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Add(e, false); err != nil {
			t.Fatal(err)
		}
	}
	endless := math.Inf(1)
	for k := range 8 {
		add(k, 10e6+float64(k%3)*1e4, 10e6)
	}
	for k := 8; k < 16; k++ {
		add(k, 12e6, endless)
	}
	all, damaged, err := s.Series(Options{})
	if err != nil || len(damaged) != 0 {
		t.Fatal(err, damaged)
	}
	i := slices.IndexFunc(all, func(s *Series) bool { return s.Metric == "response.p(99)" })
	if i < 0 || len(all[i].Points) != 16 || !math.IsInf(all[i].Points[8].Mean, 1) {
		t.Fatalf("what had no end is lost: %+v", all)
	}
	c := all[i].Changes
	if len(c) != 1 || c[0].Index != 8 || !c[0].Fresh || !math.IsInf(c[0].After, 1) || !(c[0].Before < 11e6) {
		t.Errorf("%+v", c)
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"text": func(b *bytes.Buffer) error {
			return cell.WriteText(b, cell.Look{}, Tables(units.English, all, Options{}, false)...)
		},
		"JSON":  func(b *bytes.Buffer) error { return JSON(b, all) },
		"CSV":   func(b *bytes.Buffer) error { return CSV(b, all) },
		"JUnit": func(b *bytes.Buffer) error { return JUnit(b, all) },
		"page":  func(b *bytes.Buffer) error { return Page(b, units.English, all, Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			for _, bad := range []string{"NaN", "Inf", "e+"} {
				if strings.Contains(b.String(), bad) {
					t.Errorf("there is %q in\n%s", bad, b.String())
				}
			}
			if sees := map[string]string{"JSON": `"mean": null`, "CSV": "v8,2,,"}[name]; !strings.Contains(b.String(),
				cmp.Or(sees, "∞")) {
				t.Errorf("it doesn't say that v8 has no end:\n%s", b.String())
			}
		})
	}
}

// A release that fails for a moment doesn't make later releases regressions, and a regression that was corrected isn't
// fresh.
func TestEndlessTimesMadeGood(t *testing.T) {
	var entries []Entry
	for k := range 32 {
		e := version(k, 1000, 10e6+float64(k%3)*1e4)
		if k >= 4 && k < 16 {
			e.Metrics[1].Mean = record.Figure(math.Inf(1))
		}
		entries = append(entries, e)
	}
	if c := changesOf(All(entries, nil, Options{}), "response.avg"); len(c) != 2 || c[0].Fresh || c[1].Fresh ||
		c[1].Worse {
		t.Errorf("%+v", c)
	}
}

// CSV contains one table.
func TestCSVIsOneTable(t *testing.T) {
	var b bytes.Buffer
	if err := CSV(&b, All(steps(1000, 900), nil, Options{})); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(lines) != 1+2*16 {
		t.Fatalf("%v: %d lines", err, len(lines))
	}
	if changed := lines[1+8]; changed[5] != "v8" || changed[12] != "true" {
		t.Errorf("%q", changed)
	}
}

func runs(n int, rate float64) (all []*result.Result) {
	for i := range n {
		r := &result.Result{
			Program: "brunt", ID: fmt.Sprint("r", i), Name: "cars", Servers: []string{"PostgreSQL 15.14"},
			Started: then.Add(time.Duration(-i) * time.Hour),
			Machine: &record.Environment{Cores: 2, CPU: "x  y", OS: "linux", Arch: "amd64"}, Verdict: "pass",
		}
		r.Add("rate", "", rate+float64(i))
		r.Add("errors", "", 0)
		all = append(all, r)
	}
	return all
}

func TestNewEntry(t *testing.T) {
	e, err := NewEntry(runs(3, 100), "", "v1", then, false)
	if err != nil || e.Series != "cars" || e.Count != 3 || len(e.Runs) != 3 || !e.Began.Equal(then.Add(-2*time.Hour)) ||
		e.Metrics[0].Mean != 101 || e.Metrics[0].Deviation != 1 {
		t.Errorf("%+v, %v", e, err)
	}
	if e.Environment != "brunt, 2 × x y, linux/amd64, PostgreSQL" {
		t.Errorf("environment %q", e.Environment)
	}
	if _, err := NewEntry(runs(1, 100), "", "", then, false); err == nil || !strings.Contains(err.Error(), "--version") {
		t.Errorf("%v", err)
	}
	for _, odd := range []string{"v1\nv2", "v1\t", " v1", "v\u202e1"} {
		if _, err := NewEntry(runs(1, 100), "", odd, then, false); err == nil ||
			!strings.Contains(err.Error(), "in one line") {
			t.Errorf("version %q: %v", odd, err)
		}
		if _, err := NewEntry(runs(1, 100), odd, "v1", then, false); err == nil ||
			!strings.Contains(err.Error(), "--series") {
			t.Errorf("series %q: %v", odd, err)
		}
	}
	nameless := runs(1, 100)
	nameless[0].Name = ""
	if _, err := NewEntry(nameless, "", "v1", then, false); err == nil || !strings.Contains(err.Error(), "--series") {
		t.Errorf("%v", err)
	}
	bad := runs(2, 100)
	bad[1].Verdict = "invalid"
	var refused *compare.Refused
	if _, err := NewEntry(bad, "", "v1", then, false); !errors.As(err, &refused) || !refused.Invalid {
		t.Errorf("%v", err)
	}
	if _, err := NewEntry(bad, "x", "v1", then, true); err != nil {
		t.Errorf("%v", err)
	}
}

func TestOutputs(t *testing.T) {
	all := All(steps(1000, 900), nil, Options{})
	var b bytes.Buffer
	if err := cell.WriteText(&b, cell.Look{}, Tables(units.English, all, Options{}, false)...); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"v8 ", "REGRESSION", "lag-1 autocorrelation", "CARS", "v15 "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("there is no %q in\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := JSON(&b, all); err != nil || !json.Valid(b.Bytes()) || !strings.Contains(b.String(), `"fresh": true`) {
		t.Errorf("%v\n%s", err, b.String())
	}
	b.Reset()
	if err := JUnit(&b, all); err != nil {
		t.Fatal(err)
	}
	var suites struct {
		Suites []struct {
			Failures int `xml:"failures,attr"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(b.Bytes(), &suites); err != nil || suites.Suites[0].Failures != 2 {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// The page loads nothing from elsewhere.
func TestPage(t *testing.T) {
	entries := steps(1000, 900)
	for i := range entries {
		entries[i].Metrics = append(entries[i].Metrics, Metric{Name: "rate", Operation: "look <up>", Unit: "per_s",
			Better: metric.Higher, Mean: 5})
	}
	var b bytes.Buffer
	if err := Page(&b, units.Russian, All(entries, nil, Options{}), Options{}); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{"<svg", "УХУДШЕНИЕ", "v8", "look &lt;up&gt;", "История"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q", want)
		}
	}
	plain := regexp.MustCompile(`(?s)<style.*?</style>|<script.*?</script>|<[^>]*>`).ReplaceAllString(text, " ")
	for _, word := range regexp.MustCompile(`[A-Za-z]{3,}`).FindAllString(plain, -1) {
		if !slices.Contains([]string{"cars", "CARS", "here", "look", "brunt", "divisive"}, word) {
			t.Errorf("the Russian page has %q", word)
		}
	}
	for _, bad := range []string{"look <up>", "src=", "@import", "http://", "NaN"} {
		if strings.Contains(strings.ReplaceAll(text, "http://www.w3.org/2000/svg", ""), bad) {
			t.Errorf("there is %q", bad)
		}
	}
}

// Versions are labelled with their names, and a step of 5 % is visible.
func TestChartsOfAHistory(t *testing.T) {
	all := All(steps(1000, 950), nil, Options{})
	picture := timeline(units.English, all[0])
	for _, want := range []string{">v15</text>", ">v7</text>"} {
		if !strings.Contains(picture, want) {
			t.Errorf("there is no %s in\n%s", want, picture)
		}
	}
	for _, c := range []struct {
		name  string
		means []float64
		least float64 // as a fraction of the height between the smallest and the largest value
		zero  bool
	}{
		{"a step of 5 %", []float64{1000, 1000, 950, 950}, 0.3, false},
		{"all the same", []float64{1000, 1000}, 0, false},
		{"half", []float64{1000, 500}, 0.4, true},
		{"no errors", []float64{0, 0}, 0, true},
		{"some without end", []float64{1000, math.Inf(1)}, 0.4, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, drawn := axis(c.means, "per_s"), ends(c.means)
			if share := (slices.Max(drawn) - slices.Min(drawn)) / (a.Max - a.Min); a.Max > 0 && share < c.least ||
				(a.Min == 0) != c.zero {
				t.Errorf("%v to %v: %v of the height", a.Min, a.Max, share)
			}
		})
	}
}

// Changed metrics are listed first, the others are folded, and the filter finds both.
func TestPageInABrowser(t *testing.T) {
	entries := steps(1000, 900)
	for i := range entries {
		entries[i].Metrics = append(entries[i].Metrics, Metric{Name: "rate", Operation: "pay", Unit: "per_s",
			Better: metric.Higher, Mean: 5})
	}
	path := filepath.Join(t.TempDir(), "history.html")
	var b bytes.Buffer
	if err := Page(&b, units.English, All(entries, nil, Options{}), Options{}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	browser := testserver.NewBrowser(t, t.TempDir())
	browser.Look(1400, 900, "screen", "light")
	browser.Open("file://" + path)
	seen := func() (titles []string) {
		browser.Eval(`[...document.querySelectorAll(".chart h2")].filter(h => h.checkVisibility()).map(h => h.textContent)`,
			&titles)
		return titles
	}
	filter := func(text string) {
		browser.Eval(fmt.Sprintf(
			`(i => { i.value = %q; i.dispatchEvent(new Event("input")); })(document.getElementById("filter"))`, text), nil)
	}
	changed := []string{"cars: rate", "cars: response mean"}
	if got := seen(); !slices.Equal(got, changed) {
		t.Errorf("at first %q are seen", got)
	}
	filter("PAY rate")
	if got := seen(); !slices.Equal(got, []string{"cars: pay: rate"}) {
		t.Errorf("of pay %q are seen", got)
	}
	filter("")
	if got := seen(); !slices.Equal(got, changed) {
		t.Errorf("without a filter again %q are seen", got)
	}
	for _, width := range []int{390, 1400} {
		browser.Look(width, 900, "screen", "dark")
		var wide int
		browser.Eval(`document.documentElement.scrollWidth`, &wide)
		if wide > width {
			t.Errorf("in a window of %d pixels the page has %d", width, wide)
		}
	}
	if faults := browser.Faults(); len(faults) > 0 {
		t.Error(faults)
	}
}
