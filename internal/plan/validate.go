package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"brunt/internal/base/suggest"
	"brunt/internal/load/gen"
)

// checker collects problems.
type checker struct {
	plan     *Plan
	byName   map[string]*Table // the first table of each name
	byColumn map[*Table]map[string]*Column
	problems Problems
}

func newChecker(p *Plan) *checker {
	c := &checker{plan: p, byName: map[string]*Table{}, byColumn: map[*Table]map[string]*Column{}}
	for i := range p.Tables {
		t := &p.Tables[i]
		if c.byName[t.Name] == nil {
			c.byName[t.Name] = t
		}
		c.byColumn[t] = make(map[string]*Column, len(t.Columns))
		for k := range t.Columns {
			c.byColumn[t][t.Columns[k].Name] = &t.Columns[k]
		}
	}
	return c
}

func (c *checker) column(t *Table, name string) *Column { return c.byColumn[t][name] }

func (c *checker) add(at Position, fix, format string, args ...any) {
	c.problems = append(c.problems, Problem{At: at, Text: fmt.Sprintf(format, args...), Fix: fix})
}

// cross adds a problem that is an inconsistency between two parts of the plan.
func (c *checker) cross(at Position, fix, format string, args ...any) {
	c.add(at, fix, format, args...)
	c.problems[len(c.problems)-1].Cross = true
}

// oneOf reports a word that is not one of the known ones. "" stands for the default.
func (c *checker) oneOf(at Position, key, word string, known ...string) {
	if word == "" {
		return
	}
	if slices.Contains(known, word) {
		return
	}
	c.add(at, suggest.DidYouMean(word, known), "unknown %s %q", key, word)
}

// Validate checks the plan for consistency and returns every problem in the order of the file. A plan without problems
// can be compiled.
func (p *Plan) Validate() Problems {
	c := newChecker(p)
	c.target()
	c.settings()
	c.schema()
	c.indexes()
	c.keyspace()
	c.cycles()
	c.operations()
	c.load()
	c.thresholds()
	c.proxies()
	c.faults()
	c.account()
	c.verification()
	c.registers()
	return c.problems.Sort()
}

func (c *checker) target() {
	p := c.plan
	at := func(key string) Position { return p.Where.At("target."+key, p.Where.At("target", Position{})) }
	addresses, weights := p.Target.Weighted()
	mode := p.Target.Balance.word()
	if weights != nil && !slices.Contains([]string{"weighted", "random", "hash"}, mode) {
		c.add(at("addresses"), "add balance: weighted, or random",
			"weights of addresses have no effect with balance: %s", mode)
	}
	c.balance(addresses)
	c.topology()
	c.way(at)
	for i, w := range weights {
		if w < 1 || w > maxWeight {
			c.add(at("addresses"), fmt.Sprintf("give a weight from 1 to %d", maxWeight), "address %s has the weight %d",
				addresses[i], w)
		}
	}
	seen := map[string]bool{}
	for _, a := range addresses {
		if a == "" {
			c.add(at("addresses"), "write host:port", "empty address")
		} else if seen[a] {
			c.add(at("addresses"), "remove one", "address %s stands twice", a)
		}
		seen[a] = true
	}
	t := p.Target.TLS
	if (t.CertFile == "") != (t.KeyFile == "") {
		c.add(at("tls"), "give both cert and key", "a client certificate needs its key")
	}
	if !t.Enabled && t != (TLS{}) {
		c.add(at("tls"), "add enabled: true", "TLS is set up but not enabled")
	}
	if t.MinVersion != "" && t.MaxVersion != "" && t.MinVersion > t.MaxVersion {
		c.add(at("tls"), "exchange them", "min_version is above max_version")
	}
}

// Limits of settings: enough for any machine, and small enough to catch typing errors.
const (
	MaxSessions = 1_000_000
	MaxRetries  = 1000
	MaxPipeline = 65_536
	MaxSpin     = 100 * time.Millisecond // longer busy-waiting gains nothing over a sleep that ends early
	MaxLoops    = 1024
	MaxRoom     = 1024
	maxWeight   = 1000
)

func (c *checker) settings() {
	s, at := &c.plan.Settings, func(key string) Position { return c.plan.Where.At(key, Position{}) }
	whole := func(key string, v, lo, hi int) {
		if v < lo || v > hi {
			c.add(at(key), fmt.Sprintf("give a number from %d to %d", lo, hi), "%s is %d", key, v)
		}
	}
	whole("sessions", s.Sessions, 0, MaxSessions)
	whole("retries", s.Retries, -1, MaxRetries)
	whole("pipeline", s.Pipeline, 0, MaxPipeline)
	whole("loops", s.Loops, 0, MaxLoops)
	for _, d := range []struct {
		key string
		v   time.Duration
	}{{"timeouts", s.OperationTimeout}, {"timeouts", s.ConnectTimeout}, {"retry_pause", s.RetryPause},
		{"retry_within", s.RetryWithin},
		{"drop_after", s.DropAfter},
		{"interval", s.Interval}, {"timing_tolerance", s.TimingTolerance}, {"spin", s.Spin}} {
		if d.v < 0 {
			c.add(at(d.key), "give a time ≥ 0", "%s is negative", d.key)
		}
	}
	if s.Spin > MaxSpin {
		c.add(at("spin"), fmt.Sprintf("give at most %v", MaxSpin), "spin %v would keep a core busy for nothing", s.Spin)
	}
	if s.Interval > 0 && s.Interval < 10*time.Millisecond {
		c.add(at("interval"), "give at least 10ms", "interval %v is too short", s.Interval)
	}
	c.oneOf(at("late"), "late", s.LatePolicy, "queue", "drop", "all")
	c.oneOf(at("outage"), "outage", s.Outage, "fail", "wait")
	c.oneOf(at("awake"), "awake", s.Awake, "auto", "on", "off")
	c.oneOf(at("tier"), "tier", s.Tier, TierAuto, TierCodec, TierLibrary)
	if s.DropAfter > 0 && s.LatePolicy != "drop" {
		c.add(at("drop_after"), "add late: drop", "drop_after has no effect with late: %s",
			cmp.Or(s.LatePolicy, "queue"))
	}
	if s.EndOnTime && s.LatePolicy == "all" {
		c.add(at("end_on_time"), "leave it out", "end_on_time contradicts late: all")
	}
	if !(s.ErrorThreshold >= 0 && s.ErrorThreshold <= 100) {
		c.add(at("error_threshold"), "give a percentage from 0 to 100", "error_threshold is %v", s.ErrorThreshold)
	}
}

// account checks the settings of the analysis of outages.
func (c *checker) account() {
	a := &c.plan.Account
	for _, d := range []struct {
		key string
		v   time.Duration
	}{{"deadline", a.Deadline}, {"tolerance", a.Tolerance}, {"hold", a.Hold}} {
		if d.v < 0 {
			c.add(a.Where.At(d.key, a.At), "give a time ≥ 0", "account: %s is negative", d.key)
		}
	}
	if a.Tolerance > 0 && a.Tolerance < LeastTolerance {
		c.add(a.Where.At("tolerance", a.At), "give at least 10ms", "account: tolerance %v is too short", a.Tolerance)
	}
}

// values reports the problems that package gen finds in a specification for the given number of rows.
func (c *checker) values(v *ValueSpec, rows uint64) {
	for _, f := range v.Spec.Validate(rows) {
		text, fix := cutLast(f.Text, ": ")
		if v.Type == gen.TypeDatetime && f.Field == "range" && v.IntLo > v.IntHi {
			text = fmt.Sprintf("its start %s is after its end %s", moment(v.IntLo), moment(v.IntHi))
		}
		c.add(v.Where.At(f.Field, v.At), fix, "%s: %s", f.Field, text)
	}
	if v.Type == gen.TypeInteger && v.Distribution == gen.Normal && v.HasRange && sumOverflows(v.IntLo, v.IntHi) {
		c.add(v.Where.At("range", v.At), "narrow the range", "range: the middle of %d and %d can't be computed in 64 bits",
			v.IntLo, v.IntHi)
	}
	if v.NullPercent > 0 && !v.Nullable {
		c.add(v.Where.At("null_percentage", v.At), "add is_nullable: true or set it to 0",
			"null_percentage is %v in a column that can't be null", v.NullPercent)
	}
}

// reference reports a reference to a table or column that doesn't exist.
func (c *checker) reference(v *ValueSpec) {
	if v.Type != gen.TypeReference {
		return
	}
	t := c.byName[v.Table]
	switch {
	case v.Table == "" || v.Column == "":
	case t == nil:
		c.cross(v.Where.At("table", v.At), didYouMeanTable(c.plan, v.Table), "unknown table %q", v.Table)
	case c.column(t, v.Column) == nil:
		c.cross(v.Where.At("column", v.At), suggest.DidYouMean(v.Column, t.columnNames()), "table %s has no column %q",
			v.Table, v.Column)
	case t.Rows == 0:
		c.cross(v.Where.At("table", v.At), "set its row_count", "table %s has no rows to refer to", v.Table)
	}
}

func didYouMeanTable(p *Plan, name string) string {
	if len(p.Tables) == 0 {
		return "add it to tables_schema"
	}
	names := make([]string, len(p.Tables))
	for i := range p.Tables {
		names[i] = p.Tables[i].Name
	}
	return suggest.DidYouMean(name, names)
}

// sameRows checks that references with the same SameRow agree on table and distribution.
func (c *checker) sameRows(list []*ValueSpec) {
	first := map[string]*ValueSpec{}
	for _, v := range list {
		if v.SameRow == "" {
			continue
		}
		at := v.Where.At("same_row", v.At)
		if v.Type != gen.TypeReference {
			c.add(at, "remove it or use type: Reference", "same_row is for references only")
			continue
		}
		f, seen := first[v.SameRow]
		switch {
		case !seen:
			first[v.SameRow] = v
		case f.Table != v.Table:
			c.add(at, "give each table its own group", "same_row %q joins tables %s and %s", v.SameRow, f.Table, v.Table)
		case f.Distribution != v.Distribution || f.Param != v.Param || f.HotFraction != v.HotFraction ||
			len(f.Buckets) != len(v.Buckets) || f.Unique != v.Unique || f.NullPercent != v.NullPercent:
			c.add(at, "give both the same distribution, nulls and uniqueness", "same_row %q draws its row in two ways",
				v.SameRow)
		}
	}
}

func moment(us int64) string { return time.UnixMicro(us).UTC().Format(time.RFC3339) }

// cutLast splits s at the last occurrence of sep. after is empty if there is none.
func cutLast(s, sep string) (before, after string) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):]
	}
	return s, ""
}

func sumOverflows(a, b int64) bool {
	return a > 0 && b > math.MaxInt64-a || a < 0 && b < math.MinInt64-a
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
