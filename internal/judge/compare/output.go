package compare

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"

	"brunt/internal/base/stats"
	"brunt/internal/judge/result"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/junit"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
)

// number is a number in JSON: null if it is infinite, and left out if it is NaN.
type number = record.Figure

// intervalJSON is an estimate in JSON.
type intervalJSON struct {
	Value number `json:"value,omitzero"`
	Low   number `json:"low,omitzero"`
	High  number `json:"high,omitzero"`
}

func intervalOf(i stats.Interval) intervalJSON {
	return intervalJSON{number(i.Value), number(i.Low), number(i.High)}
}

type rowJSON struct {
	Metric    string          `json:"metric"`
	Operation string          `json:"operation,omitempty"`
	Unit      string          `json:"unit"`
	Primary   bool            `json:"primary"`
	Verdict   Verdict         `json:"verdict"`
	Base      intervalJSON    `json:"base"`
	Candidate intervalJSON    `json:"candidate"`
	Change    intervalJSON    `json:"change"`
	ChangeIs  string          `json:"change_is"` // "ratio": of the base; "difference": of shares
	Tolerance number          `json:"tolerance,omitzero"`
	P         number          `json:"p_corrected,omitzero"`
	RanksP    number          `json:"p_mann_whitney,omitzero"`
	ByRanks   bool            `json:"by_ranks,omitempty"`
	Lacking   bool            `json:"lacking,omitempty"`
	Effect    number          `json:"effect_hedges_g,omitzero"`
	Needed    int             `json:"runs_needed,omitempty"`
	Note      message.Message `json:"note,omitzero"`
}

type sideJSON struct {
	Runs    int      `json:"runs"`
	Name    string   `json:"name"`
	Servers []string `json:"servers"`
}

// JSON writes the comparison with all operations. Times are in nanoseconds, changes are shares. Infinite numbers are
// null, missing ones are left out.
func (c *Comparison) JSON(w io.Writer, exitCode int) error {
	out := struct {
		Verdict    Verdict           `json:"verdict"`
		ExitCode   int               `json:"exit_code"`
		Confidence float64           `json:"confidence"`
		Base       sideJSON          `json:"base"`
		Candidate  sideJSON          `json:"candidate"`
		Metrics    []rowJSON         `json:"metrics"`
		Warnings   []message.Message `json:"warnings,omitempty"`
	}{
		Verdict: c.Verdict, ExitCode: exitCode, Confidence: c.Confidence, Warnings: c.Warnings,
		Base: sideJSON{c.Base.Runs, c.Base.Name, c.Base.Servers}, Candidate: sideJSON{c.Candidate.Runs, c.Candidate.Name,
			c.Candidate.Servers},
	}
	for _, r := range c.Rows {
		out.Metrics = append(out.Metrics, rowJSON{
			Metric: r.Metric, Operation: r.Operation, Unit: r.Unit, Primary: r.Primary, Verdict: r.Verdict,
			Base: intervalOf(r.Base), Candidate: intervalOf(r.Candidate), Change: intervalOf(r.Change), ChangeIs: r.changeIs(),
			Tolerance: number(r.Tolerance), P: number(r.P), RanksP: number(r.RanksP), ByRanks: r.ByRanks, Lacking: r.Lacking,
			Effect: number(r.Effect), Needed: r.Needed, Note: r.Note,
		})
	}
	return cell.WriteJSON(w, out)
}

// changeIs returns the kind of the change: a difference of shares or a ratio.
func (r *Row) changeIs() string {
	if r.Unit == "share" {
		return "difference"
	}
	return "ratio"
}

// CSV writes the comparison as one table with a line for each metric, including those of all operations. The columns
// are always the same. Times are in nanoseconds, changes and tolerances are shares. Missing values are empty.
func (c *Comparison) CSV(w io.Writer) error {
	lines := [][]string{{
		"metric", "operation", "unit", "primary", "verdict", "base", "base_low", "base_high", "candidate", "candidate_low",
		"candidate_high",
		"change", "change_low", "change_high", "change_is", "tolerance", "p_corrected", "p_mann_whitney", "effect_hedges_g",
		"runs_needed", "note",
	}}
	for i := range c.Rows {
		r := &c.Rows[i]
		line := []string{r.Metric, r.Operation, r.Unit, strconv.FormatBool(r.Primary), string(r.Verdict)}
		line = append(line, plain(r.Base, r.Candidate, r.Change)...)
		line = append(line, r.changeIs(), cell.Number(r.Tolerance), cell.Number(r.P), cell.Number(r.RanksP),
			cell.Number(r.Effect))
		lines = append(lines, append(line, neededText(r.Needed), r.Note.String()))
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// CSV writes the summary as one table with a line for each metric, including those of all operations. The columns are
// always the same. Times are in nanoseconds. Missing values are empty.
func (s *Summary) CSV(w io.Writer) error {
	lines := [][]string{{
		"metric", "operation", "unit", "runs", "typical", "typical_low", "typical_high", "typical_is", "mean", "mean_low",
		"mean_high",
		"geometric_mean", "geometric_mean_low", "geometric_mean_high", "median", "median_low", "median_high", "spread",
		"runs_needed", "note",
	}}
	for i := range s.Rows {
		r := &s.Rows[i]
		line := []string{r.Metric, r.Operation, r.Unit, strconv.Itoa(s.Runs)}
		line = append(append(line, plain(r.Typical)...), r.TypicalIs)
		line = append(append(line, plain(r.Mean, r.Log, r.Median)...), cell.Number(r.Deviation), neededText(r.Needed),
			r.Note.String())
		lines = append(lines, line)
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// plain formats estimates and the limits of their intervals as plain numbers.
func plain(all ...stats.Interval) (out []string) {
	for _, i := range all {
		out = append(out, cell.Number(i.Value), cell.Number(i.Low), cell.Number(i.High))
	}
	return out
}

func neededText(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// JSON writes the summary. Times are in nanoseconds. Infinite numbers are null, missing ones are left out.
func (s *Summary) JSON(w io.Writer) error {
	type row struct {
		Metric    string          `json:"metric"`
		Operation string          `json:"operation,omitempty"`
		Unit      string          `json:"unit"`
		Typical   intervalJSON    `json:"typical"`
		TypicalIs string          `json:"typical_is"`
		Mean      intervalJSON    `json:"mean"`
		Geometric intervalJSON    `json:"geometric_mean"`
		Median    intervalJSON    `json:"median"`
		Spread    number          `json:"spread,omitzero"`
		Needed    int             `json:"runs_needed,omitempty"`
		Note      message.Message `json:"note,omitzero"`
	}
	out := struct {
		Runs       int               `json:"runs"`
		Name       string            `json:"name"`
		Confidence float64           `json:"confidence"`
		Metrics    []row             `json:"metrics"`
		Warnings   []message.Message `json:"warnings,omitempty"`
	}{Runs: s.Runs, Name: s.Name, Confidence: s.Confidence, Warnings: s.Warnings}
	for _, r := range s.Rows {
		out.Metrics = append(out.Metrics, row{
			r.Metric, r.Operation, r.Unit, intervalOf(r.Typical), r.TypicalIs, intervalOf(r.Mean), intervalOf(r.Log),
			intervalOf(r.Median), number(r.Deviation), r.Needed, r.Note,
		})
	}
	return cell.WriteJSON(w, out)
}

// JUnit writes the comparison as a test suite with a case for each metric. A regression is a failure; an inconclusive
// or unknown verdict is a skipped case.
func (c *Comparison) JUnit(w io.Writer) error {
	s := junit.Suite{Name: "compare " + c.Candidate.Name}
	for _, r := range c.Rows {
		name := r.Metric
		if r.Operation != "" {
			name = r.Operation + ": " + name
		}
		one := junit.Case{Class: "brunt.compare." + c.Candidate.Name, Name: name, Output: r.sentence()}
		switch r.Verdict {
		case Regression:
			one.Failure = r.sentence()
		case Inconclusive, Unknown:
			one.Skipped = r.sentence()
		}
		s.Cases = append(s.Cases, one)
	}
	return junit.Write(w, s)
}

// sentence describes the row in one sentence.
func (r *Row) sentence() string {
	if r.Lacking {
		return fmt.Sprintf("%s: %s", r.Verdict, r.Note)
	}
	change := func(x float64) string { return units.Value(x, r.changeUnit()) }
	s := fmt.Sprintf("%s: %s → %s, %s", r.Verdict, units.Value(r.Base.Value, r.Unit),
		units.Value(r.Candidate.Value, r.Unit), change(r.Change.Value))
	if !math.IsNaN(r.Change.Low) {
		s += fmt.Sprintf(" (%s … %s), tolerance %s", change(r.Change.Low), change(r.Change.High), r.tolerance())
	}
	if r.Needed > 0 {
		s += fmt.Sprintf("; about %d runs on each side would settle it", r.Needed)
	}
	return s
}

// Benchfmt writes all runs in the format of Go's benchmarks (golang.org/x/perf/benchfmt), a line for each run and
// operation. Use it with benchstat -col side.
func Benchfmt(w io.Writer, base, candidate []*result.Result) error {
	var b strings.Builder
	b.WriteString("Unit req/s better=higher\nUnit errors better=lower\n")
	for _, side := range []struct {
		name string
		runs []*result.Result
	}{{"base", base}, {"candidate", candidate}} {
		fmt.Fprintf(&b, "side: %s\n", side.name)
		for _, r := range side.runs {
			benchLines(&b, r)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func benchLines(b *strings.Builder, r *result.Result) {
	var operations []string
	values := map[string][]string{}
	iterations := map[string]uint64{}
	for _, m := range r.Metrics {
		if values[m.Operation] == nil {
			operations = append(operations, m.Operation)
		}
		if m.Name == "count" {
			iterations[m.Operation] = uint64(max(m.Value, 0))
			continue
		}
		if math.IsInf(m.Value, 0) {
			continue
		}
		values[m.Operation] = append(values[m.Operation], strconv.FormatFloat(m.Value, 'f', -1, 64)+" "+benchUnit(&m))
	}
	for _, o := range operations {
		if len(values[o]) == 0 {
			continue
		}
		name := "Benchmark" + benchName(r.Name)
		if o != "" {
			name += "/operation=" + benchName(o)
		}
		fmt.Fprintf(b, "%s %d %s\n", name, max(iterations[o], 1), strings.Join(values[o], " "))
	}
}

func benchUnit(m *result.Metric) string {
	switch m.Name {
	case "rate":
		return "req/s"
	case "response.avg":
		return "ns/op"
	case "errors":
		return "errors"
	}
	if q, ok := strings.CutPrefix(m.Name, "response.p("); ok {
		return "p" + strings.TrimSuffix(q, ")") + "-ns/op"
	}
	if m.Unit == "ns" {
		return benchWord(m.Name) + "-ns"
	}
	return benchWord(m.Name)
}

// benchWord replaces spaces, slashes, hyphens and control characters by underscores.
func benchWord(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '/' || r == '-' || unicode.IsControl(r) {
			return '_'
		}
		return r
	}, s)
}

// benchName makes a valid name of a benchmark: it begins with a capital and has no spaces or slashes.
func benchName(s string) string {
	s = benchWord(s)
	if s == "" {
		return "Run"
	}
	first := []rune(s)
	first[0] = unicode.ToUpper(first[0])
	return string(first)
}
