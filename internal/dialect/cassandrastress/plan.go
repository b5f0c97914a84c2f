package cassandrastress

import (
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"brunt/internal/base/sqltext"
	"brunt/internal/plan"
)

// Test is what a command line asks for: the plan of its load, and the statements before it.
type Test struct {
	Plan    *plan.Plan
	Table   *Table
	Schema  []string     // statements that make keyspace and table
	places  []*yaml.Node // where the profile has them
	Names   []string     // of the operations, as cassandra-stress prints them
	Profile *Profile
}

// Compile makes the plan. definition is the table as the server knows it, for profiles without a definition; nil if it
// isn't known. For them, the error is errNoTable.
func (o *Options) Compile(profile *Profile, definition *Table) (*Test, error) {
	if o.Command != "user" {
		profile = o.predefined()
	}
	t := &Test{Profile: profile}
	var err error
	if t.Table, err = profile.Table(definition); err != nil {
		return nil, err
	}
	t.schema(profile)
	operations, err := o.operations(profile)
	if err != nil {
		return nil, err
	}
	scripts, err := o.scripts(t)
	if err != nil {
		return nil, err
	}
	for _, op := range operations {
		t.Names = append(t.Names, op.Name)
	}
	p := &plan.Plan{Name: "cassandra-stress-" + strings.ReplaceAll(o.Command, "_", "-"), Mix: plan.ByWeight,
		Operations: operations, Scripts: plan.Scripts{Language: languageName, Options: scripts}}
	p.Target = plan.Target{Protocol: "cassandra", User: o.User, Password: o.Password, Database: profile.Keyspace,
		Options: map[string]string{"consistency": o.Consistency}}
	if o.Compression != "" {
		p.Target.Options["compression"] = o.Compression
	}
	if o.Unprepared && o.Command != "user" { // statements of profiles are always prepared
		p.Target.Options["statements"] = "text"
	}
	for _, n := range o.Nodes {
		if _, _, err := net.SplitHostPort(n); err != nil {
			n = net.JoinHostPort(n, strconv.Itoa(o.Port))
		}
		p.Target.Addresses = append(p.Target.Addresses, n)
	}
	p.Settings = plan.Settings{Sessions: max(o.Threads, o.MaxThread), Interval: o.Interval, Retries: -1}
	if o.Tries > 1 {
		p.Settings.Retries, p.Settings.RetryErrors = o.Tries-1, true
	}
	if err := o.writesOnce(operations, scripts); err != nil {
		return nil, err
	}
	once := scripts["wrap-ranges"] == "no"
	if once {
		if err := o.onceThrough(); err != nil {
			return nil, err
		}
	}
	p.Load = o.phases(o.perOperation(operations, scripts), once)
	t.Plan = p
	if problems := p.Validate(); len(problems) > 0 {
		return nil, problems
	}
	return t, nil
}

// predefined returns the profile of the tables that cassandra-stress knows by itself.
func (o *Options) predefined() *Profile {
	counters := strings.HasPrefix(o.Command, "counter_")
	table, kind := "standard1", "blob"
	if counters {
		table, kind = "counter1", "counter"
	}
	p := &Profile{Path: "cassandra-stress", Keyspace: o.Keyspace, TableName: table}
	p.KeyspaceDefinition = fmt.Sprintf("CREATE KEYSPACE IF NOT EXISTS %s WITH replication = {'class': '%s', "+
		"'replication_factor': %d} AND durable_writes = true", sqltext.Quote(o.Keyspace), o.Strategy, o.Factor)
	columns := []string{"key blob PRIMARY KEY"}
	must := func(text string) *Distribution { d, _ := ParseDistribution(text); return d }
	key := NewColumnSpec("key")
	key.Size = must("FIXED(10)")
	p.specs = []*ColumnSpec{key}
	for i := range o.Columns {
		name := "C" + strconv.Itoa(i)
		if i < len(o.Names) {
			name = o.Names[i]
		}
		columns = append(columns, sqltext.Quote(name)+" "+kind)
		s := NewColumnSpec(name)
		s.Size = must(o.ColumnSize)
		if counters {
			s.Population = must("FIXED(1)") // what is added
		}
		p.specs = append(p.specs, s)
	}
	p.TableDefinition = fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (%s)", table, strings.Join(columns, ", "))
	if o.Compaction != "" {
		p.TableDefinition += fmt.Sprintf(" WITH compaction = {'class': '%s'}", o.Compaction)
	}
	p.Queries = []Query{{Name: "read", CQL: "SELECT * FROM " + table + " WHERE key = ?", SameRow: true}}
	return p
}

// schema collects the statements that make keyspace and table. They name the keyspace, since nothing exists before.
func (t *Test) schema(p *Profile) {
	if s := strings.TrimSpace(p.KeyspaceDefinition); s != "" {
		t.Schema, t.places = append(t.Schema, s), append(t.places, p.keyspace)
	}
	if s := strings.TrimSpace(p.TableDefinition); s != "" {
		t.Schema, t.places = append(t.Schema, s), append(t.places, p.table)
	}
	t.Schema, t.places = append(t.Schema, p.Extra...), append(t.places, p.extra...)
}

// operations returns the operations of the plan.
func (o *Options) operations(p *Profile) (out []plan.Operation, err error) {
	add := func(name, text string, weight float64) {
		out = append(out, plan.Operation{Name: name, Weight: weight, Script: text + "\n"})
	}
	switch o.Command {
	case "write", "counter_write":
		add(strings.ToUpper(o.Command), "insert", 1)
		return out, nil
	case "read", "counter_read":
		add(strings.ToUpper(o.Command), "read", 1)
		return out, nil
	}
	for _, s := range o.Ops {
		switch {
		case o.Command == "mixed" && s.Name == "write":
			add("WRITE", "insert", s.Weight)
		case o.Command == "mixed" && s.Name == "read":
			add("READ", "read", s.Weight)
		case o.Command == "mixed":
			return nil, fmt.Errorf("ratio: %q isn't supported: use read and write", s.Name)
		case s.Name == "insert":
			add("insert", "insert", s.Weight)
		case p.rangeQueryNamed(s.Name) != nil:
			add(s.Name, s.Name, s.Weight)
		case !slices.ContainsFunc(p.Queries, func(q Query) bool { return q.Name == s.Name }):
			var names []string
			for _, q := range p.Queries {
				names = append(names, q.Name)
			}
			for _, q := range p.RangeQueries {
				names = append(names, q.Name)
			}
			return nil, fmt.Errorf("ops: %s has no query %q; it has insert and %s", p.Path, s.Name, strings.Join(names, ", "))
		default:
			add(s.Name, s.Name, s.Weight)
		}
	}
	// cassandra-stress prints operations by name.
	slices.SortFunc(out, func(a, b plan.Operation) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// scripts returns the options of Language.
func (o *Options) scripts(t *Test) (map[string]string, error) {
	text, err := t.Profile.yaml(t.Table)
	if err != nil {
		return nil, err
	}
	out := map[string]string{"profile": text, "population": o.Population}
	in := &t.Profile.Insert
	set := func(name, given string, d *Distribution, tail string) {
		if given == "" && d != nil {
			given = d.String() + tail
		}
		if given != "" {
			out[name] = given
		}
	}
	set("partitions", o.Partitions, in.Partitions, "")
	ratio := func(name, given string, r *Ratio) {
		if r != nil {
			set(name, given, r.Distribution, "/"+strconv.FormatFloat(r.Divisor, 'g', -1, 64))
		} else {
			set(name, given, nil, "")
		}
	}
	ratio("select", o.Select, in.Select)
	ratio("row-population-ratio", o.Filled, in.Filled)
	set("visits", o.Visits, nil, "")
	set("revisit", o.Revisit, nil, "")
	set("lookback", o.Lookback, nil, "")
	set("contents", o.Contents, nil, "")
	if o.NoWrap {
		out["wrap"] = "no"
	}
	if out["batchtype"] = o.BatchType; o.BatchType == "" {
		out["batchtype"] = in.BatchType
	}
	if out["batchtype"] == "" {
		out["batchtype"] = map[bool]string{true: "COUNTER", false: "LOGGED"}[t.Table.Counters()]
	}
	set("clustering", "", o.Clustering, "")
	if o.Command != "user" {
		out["hexadecimal"] = "key"
	}
	if o.sendsRanges(t.Profile) {
		set("tokens", o.tokens, nil, "")
		out["split-factor"] = strconv.FormatInt(o.SplitRanges, 10)
		out["wrap-ranges"] = map[bool]string{true: "yes", false: "no"}[o.WrapRanges]
	}
	return out, nil
}

// String returns the distribution as profiles write it.
func (d *Distribution) String() string {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	args := fmt.Sprintf("%d..%d", d.Min, d.Max)
	switch d.Name {
	case "fixed":
		args = strconv.FormatInt(d.Min, 10)
	case "gaussian":
		args += "," + number(d.mean) + "," + number(d.deviation)
		if d.deviation == 0 {
			return fmt.Sprintf("FIXED(%d)", d.Min)
		}
	case "extreme":
		args += "," + number(d.shape)
	case "qextreme":
		args += "," + number(d.shape) + "," + strconv.Itoa(len(d.bounds)-1)
	}
	text := strings.ToUpper(d.Name) + "(" + args + ")"
	if d.Inverted {
		return "~" + text
	}
	return text
}

// yaml writes what Language needs of a profile: the table, how its values are made, and the queries.
func (p *Profile) yaml(t *Table) (string, error) {
	definition := p.TableDefinition
	if strings.TrimSpace(definition) == "" {
		definition = t.definition()
	}
	type column struct{ Name, Size, Population, Cluster string }
	type query struct{ CQL, Fields string }
	type pages struct {
		Columns string
		Page    int `yaml:"page_size"`
	}
	out := struct {
		Keyspace   string
		Table      string
		Definition string   `yaml:"table_definition"`
		Columns    []column `yaml:"columnspec"`
		Queries    map[string]query
		Ranges     map[string]pages `yaml:"token_range_queries,omitempty"`
	}{Keyspace: p.Keyspace, Table: p.TableName, Definition: definition, Queries: map[string]query{},
		Ranges: map[string]pages{}}
	for i := range t.Columns {
		c := &t.Columns[i]
		out.Columns = append(out.Columns, column{c.Name, c.Spec.Size.String(), c.Spec.Population.String(),
			c.Spec.Cluster.String()})
	}
	for _, q := range p.Queries {
		out.Queries[q.Name] = query{q.CQL, map[bool]string{true: "samerow", false: "multirow"}[q.SameRow]}
	}
	for _, q := range p.RangeQueries {
		out.Ranges[q.Name] = pages{q.Columns, q.Page}
	}
	text, err := yaml.Marshal(out)
	return string(text), err
}

// definition returns a statement that makes the table.
func (t *Table) definition() string {
	var columns []string
	key := func(role Role) string {
		var names []string
		for _, i := range t.Key(role) {
			names = append(names, sqltext.Quote(t.Columns[i].Name))
		}
		return strings.Join(names, ", ")
	}
	for i := range t.Columns {
		columns = append(columns, sqltext.Quote(t.Columns[i].Name)+" "+t.Columns[i].Type)
	}
	primary := "(" + key(PartitionKey) + ")"
	if c := key(ClusteringKey); c != "" {
		primary += ", " + c
	}
	return fmt.Sprintf("CREATE TABLE %s (%s, PRIMARY KEY (%s))", t.quoted(), strings.Join(columns, ", "), primary)
}

// perOperation returns the mean number of partitions of an operation. n=, throttle= and fixed= count partitions.
func (o *Options) perOperation(operations []plan.Operation, scripts map[string]string) float64 {
	d, err := ParseDistribution(scripts["partitions"])
	if err != nil {
		return 1
	}
	sum, weights := 0.0, 0.0
	for _, op := range operations {
		weights += op.Weight
		if op.Script == "insert\n" {
			sum += op.Weight * d.Mean()
		} else {
			sum += op.Weight
		}
	}
	return sum / weights
}

// writesOnce checks that the number of operations follows from a sequence that isn't begun again.
func (o *Options) writesOnce(operations []plan.Operation, scripts map[string]string) error {
	if !o.NoWrap || scripts["partitions"] == "" {
		return nil
	}
	d, err := ParseDistribution(scripts["partitions"])
	if err == nil && (!d.Fixed() || d.Min > 1 && len(operations) > 1) {
		err = errors.New("-pop: no-wrap needs inserts of as many partitions each, and of one beside queries; give n= or " +
			"duration= instead")
	}
	return err
}

// mostWarmUp is the greatest number of operations of a warm-up.
const mostWarmUp = 50_000

// phases returns the load. With a range of threads, it has a phase for each number of them. once says that it reads
// ranges of tokens that aren't begun again.
func (o *Options) phases(per float64, once bool) (out []plan.Phase) {
	count := uint64(math.Ceil(float64(o.Count) / per))
	if o.NoWrap && count == 0 {
		count = uint64(math.Ceil(float64(o.limit) / per))
	}
	if !o.NoWarmUp && !o.NoWrap && !once {
		n := uint64(mostWarmUp)
		if o.Count > 0 {
			n = min(n, count/4)
		}
		if n *= uint64(len(o.Nodes)); n > 0 {
			threads := min(100, max(o.Threads, o.MaxThread))
			out = append(out, plan.Phase{Name: "warm-up", Kind: plan.Closed, Operations: n, Sessions: threads, WarmUp: true})
		}
	}
	one := plan.Phase{Name: "load", Kind: plan.Closed, Operations: count, Duration: o.Duration}
	if o.Rate > 0 {
		rate := o.Rate / per
		one.Kind, one.RateFrom, one.RateTo = plan.Open, rate, rate
		if o.Count > 0 {
			one.Duration = time.Duration(math.Min((float64(count)/rate+1)*1e9, math.MaxInt64/4))
		}
	}
	if o.Threads > 0 {
		return append(out, one)
	}
	for _, n := range o.steps() {
		p := one
		p.Name, p.Sessions = fmt.Sprintf("%d threads", n), n
		out = append(out, p)
	}
	return out
}

// steps returns the numbers of threads of a range: doubled below 16, then times 1.5.
func (o *Options) steps() (out []int) {
	for n := o.MinThread; n <= o.MaxThread; {
		out = append(out, n)
		if n < 16 {
			n *= 2
		} else {
			n = n * 3 / 2
		}
	}
	return out
}
