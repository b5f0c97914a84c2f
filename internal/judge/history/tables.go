package history

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/judge/compare"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/junit"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
)

// fewVersions is the number of versions below which changes can hardly be detected.
const fewVersions = 6

// dependent is the autocorrelation above which a series' changes are doubtful.
const dependent = 0.5

// Tables returns the history as tables: the changes, the series and, unless brief, the versions of each series.
func Tables(l units.Language, all []*Series, o Options, brief bool) []cell.Table {
	tables := []cell.Table{changesTable(l, all, o), seriesTable(l, all)}
	if brief {
		return tables
	}
	for start := 0; start < len(all); {
		end := start
		for end < len(all) && all[end].Name == all[start].Name && all[end].Environment == all[start].Environment {
			end++
		}
		tables = append(tables, versionsTable(l, all[start:end]))
		start = end
	}
	return tables
}

// changesTable lists the changes of all series.
func changesTable(l units.Language, all []*Series, o Options) cell.Table {
	t := cell.Table{
		ID: "changes", Title: message.Label(l, "CHANGES"), Note: message.Label(l, "where the level changed (E-divisive, p ≤ %s)",
			l.Figure(fmt.Sprint(o.level()))),
		Columns: []cell.Column{
			{Head: message.Label(l, "version"), Left: true}, {Head: message.Label(l, "series"), Left: true, Priority: 1},
			{Head: message.Label(l, "metric"), Left: true},
			{Head: message.Label(l, "before")}, {Head: message.Label(l, "after")}, {Head: message.Label(l, "change")},
			{Head: "p", Priority: 3},
			{Head: message.Label(l, "state"), Left: true},
		},
	}
	for _, s := range all {
		for i := range s.Changes {
			c := &s.Changes[i]
			t.Add(cell.Text(c.Version), cell.Text(s.Name), cell.Text(s.title(l)), cell.Metric(c.Before, s.Unit),
				cell.Metric(c.After, s.Unit),
				changeOf(c), cell.Text(l.Figure(fmt.Sprintf("%.1g", c.P))), state(l, s, c))
		}
	}
	if len(t.Rows) == 0 {
		t.Foot = append(t.Foot, message.Label(l, "no changes"))
	}
	return t
}

func changeOf(c *Change) cell.Cell {
	if c.Before == 0 || math.IsInf(c.Before, 0) {
		return cell.None()
	}
	return cell.Figure(c.After/c.Before-1, "change")
}

func state(l units.Language, s *Series, c *Change) cell.Cell {
	switch {
	case c.Fresh:
		return cell.Text(message.Label(l, "REGRESSION")).Marked(cell.Bad)
	case c.Acknowledged != "":
		return cell.Text(message.Label(l, "acknowledged: %s", c.Acknowledged)).Marked(cell.Dim)
	case c.Worse:
		return cell.Text(message.Label(l, "worse, made good since")).Marked(cell.Dim)
	case s.worse(c.After, c.Before):
		return cell.Text(message.Label(l, "improvement")).Marked(cell.Good)
	}
	return cell.Text(message.Label(l, "change"))
}

// Title returns the series' metric and operation, which distinguish it from others with the same name.
func (s *Series) Title() string {
	if s.Operation != "" {
		return s.Operation + ": " + s.Metric
	}
	return s.Metric
}

// title returns the Title with the metric's name in language l.
func (s *Series) title(l units.Language) string {
	return compare.RowName(l, s.Metric, s.Operation)
}

// seriesTable lists all series with their latest value, noise, autocorrelation and number of changes.
func seriesTable(l units.Language, all []*Series) cell.Table {
	t := cell.Table{
		ID: "series", Title: message.Label(l, "SERIES"),
		Columns: []cell.Column{
			{Head: message.Label(l, "series"), Left: true}, {Head: message.Label(l, "metric"), Left: true},
			{Head: message.Label(l, "versions")},
			{Head: message.Label(l, "last")}, {Head: message.Label(l, "spread of runs"), Priority: 1},
			{Head: message.Label(l, "lag-1 autocorrelation")},
			{Head: message.Label(l, "changes")},
		},
	}
	few, doubtful := false, false
	for _, s := range all {
		last, spread := s.Points[len(s.Points)-1].Mean, cell.None()
		if slices.ContainsFunc(s.Points, func(p Point) bool { return p.Runs > 1 }) {
			spread = cell.Figure(s.Noise, "share")
		}
		t.Add(cell.Text(s.Name), cell.Text(s.title(l)), cell.Count(len(s.Points)), cell.Metric(last, s.Unit),
			spread, cell.Text(l.Figure(fmt.Sprintf("%.2f", s.Autocorrelation))), cell.Count(len(s.Changes)))
		few = few || len(s.Points) < fewVersions
		doubtful = doubtful || len(s.Points) >= fewVersions && len(s.Changes) == 0 && s.Autocorrelation > dependent
	}
	if few {
		t.Foot = append(t.Foot, message.Label(l, "changes show from about %d versions on: 3 before and 3 after", fewVersions))
	}
	if doubtful {
		t.Foot = append(t.Foot, message.Label(l,
			"versions that depend on those before them (autocorrelation above 0.5) make false alarms: measure from the same state each time"))
	}
	return t
}

// versionsTable lists the headline metrics of the given series by version, newest first.
func versionsTable(l units.Language, of []*Series) cell.Table {
	t := cell.Table{
		ID: "versions-" + of[0].Name, Title: strings.ToUpper(of[0].Name), Note: of[0].Environment,
		Columns: []cell.Column{{Head: message.Label(l, "version"), Left: true}, {Head: message.Label(l, "runs")}},
	}
	var shown []*Series
	for _, name := range []string{"rate", "response.avg", "response.p(50)", "response.p(95)", "response.p(99)",
		"first.p(99)", "between.p(99)", "errors"} {
		if i := slices.IndexFunc(of, func(s *Series) bool { return s.Metric == name && s.Operation == "" }); i >= 0 {
			shown = append(shown, of[i])
			t.Columns = append(t.Columns, cell.Column{Head: message.Metric(l, name), Priority: len(shown)})
		}
	}
	if len(shown) == 0 {
		return t
	}
	for _, p := range slices.Backward(shown[0].Points) {
		row := []cell.Cell{cell.Text(p.Version), cell.Count(p.Runs)}
		for _, s := range shown {
			k := slices.IndexFunc(s.Points, func(q Point) bool { return q.Version == p.Version })
			if k < 0 {
				row = append(row, cell.None())
				continue
			}
			f := cell.Metric(s.Points[k].Mean, s.Unit)
			for _, c := range s.Changes {
				if c.Index == k && c.Worse {
					f = f.Marked(cell.Bad)
				} else if c.Index == k {
					f = f.Marked(cell.Good)
				}
			}
			row = append(row, f)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// CSV writes the series as one table with a line per version. The columns are always the same. Times are in
// nanoseconds; infinite ones are empty. A line at which the level changed also has the levels before and after.
func CSV(w io.Writer, all []*Series) error {
	lines := [][]string{{
		"series", "environment", "metric", "operation", "unit", "version", "runs", "mean", "before", "after", "p", "worse",
		"fresh", "acknowledged",
	}}
	for _, s := range all {
		for k, p := range s.Points {
			line := []string{s.Name, s.Environment, s.Metric, s.Operation, s.Unit, p.Version, strconv.Itoa(p.Runs),
				cell.Number(p.Mean)}
			changed := []string{"", "", "", "", "", ""}
			for _, c := range s.Changes {
				if c.Index == k {
					changed = []string{
						cell.Number(c.Before), cell.Number(c.After), cell.Number(c.P),
						strconv.FormatBool(c.Worse), strconv.FormatBool(c.Fresh), c.Acknowledged,
					}
				}
			}
			lines = append(lines, append(line, changed...))
		}
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// JSON writes the series with their changes.
func JSON(w io.Writer, all []*Series) error {
	type point struct {
		Version string        `json:"version"`
		Mean    record.Figure `json:"mean"` // null if infinite
		Runs    int           `json:"runs"`
	}
	type change struct {
		Version      string        `json:"version"`
		Previous     string        `json:"previous"`
		Before       record.Figure `json:"before"`
		After        record.Figure `json:"after"`
		P            float64       `json:"p"`
		Worse        bool          `json:"worse"`
		Fresh        bool          `json:"fresh"`
		Acknowledged string        `json:"acknowledged,omitempty"`
	}
	type series struct {
		Name            string   `json:"series"`
		Environment     string   `json:"environment"`
		Metric          string   `json:"metric"`
		Operation       string   `json:"operation,omitempty"`
		Unit            string   `json:"unit"`
		Noise           float64  `json:"spread_of_runs"`
		Autocorrelation float64  `json:"lag_1_autocorrelation"`
		Points          []point  `json:"points"`
		Changes         []change `json:"changes"`
	}
	out := []series{}
	for _, s := range all {
		one := series{s.Name, s.Environment, s.Metric, s.Operation, s.Unit, s.Noise, s.Autocorrelation, nil, []change{}}
		for _, p := range s.Points {
			one.Points = append(one.Points, point{p.Version, record.Figure(p.Mean), p.Runs})
		}
		for _, c := range s.Changes {
			one.Changes = append(one.Changes, change{
				c.Version, c.Previous, record.Figure(c.Before), record.Figure(c.After), finite(c.P), c.Worse, c.Fresh,
				c.Acknowledged,
			})
		}
		out = append(out, one)
	}
	return cell.WriteJSON(w, out)
}

// JUnit writes a test suite with a case per series. A series with a fresh regression fails.
func JUnit(w io.Writer, all []*Series) error {
	suite := junit.Suite{Name: "history"}
	for _, s := range all {
		c := junit.Case{Class: "brunt.history." + s.Name, Name: s.Title()}
		if len(s.Points) < fewVersions {
			c.Skipped = fmt.Sprintf("%d versions: changes show from about %d on", len(s.Points), fewVersions)
		}
		for i := range s.Changes {
			if x := &s.Changes[i]; x.Fresh {
				c.Failure = fmt.Sprintf("since %s: %s → %s", x.Version, units.Value(x.Before, s.Unit), units.Value(x.After, s.Unit))
				if by := changeOf(x); !math.IsNaN(by.Value) && !math.IsInf(by.Value, 0) {
					c.Failure += fmt.Sprintf(" (%s)", by)
				}
			}
		}
		suite.Cases = append(suite.Cases, c)
	}
	return junit.Write(w, suite)
}
