package cassandrastress

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"brunt/internal/base/lazyregexp"
)

// Profile is a profile of cassandra-stress: a table, how its values are made, and what is done with it.
type Profile struct {
	Path               string
	Keyspace           string
	KeyspaceDefinition string
	TableName          string
	TableDefinition    string
	Extra              []string // extra_definitions
	Insert             InsertSpec
	Queries            []Query
	RangeQueries       []RangeQuery // token_range_queries

	specs    []*ColumnSpec
	keyspace *yaml.Node // keyspace_definition
	table    *yaml.Node // table_definition
	extra    []*yaml.Node
}

// ColumnSpec says how a column's values are made.
type ColumnSpec struct {
	Name       string
	Size       *Distribution // length of texts and bytes
	Population *Distribution // how many different values, and how often each
	Cluster    *Distribution // how many values in a partition
	at         *yaml.Node
}

// InsertSpec says what an insert writes. Nil means that the profile doesn't say.
type InsertSpec struct {
	Partitions *Distribution
	Select     *Ratio // share of each partition's rows
	Filled     *Ratio // share of each row's columns
	BatchType  string // LOGGED, UNLOGGED or COUNTER
}

// Query is a query of a profile.
type Query struct {
	Name    string
	CQL     string
	SameRow bool // its parameters are of one row
	at      *yaml.Node
}

// NewColumnSpec returns the usual way to make a column's values.
func NewColumnSpec(name string) *ColumnSpec {
	must := func(text string) *Distribution {
		d, err := ParseDistribution(text)
		if err != nil {
			panic(err) // the texts are constant
		}
		return d
	}
	return &ColumnSpec{Name: name, Size: must("UNIFORM(4..8)"), Population: must("UNIFORM(1..100B)"),
		Cluster: must("FIXED(1)")}
}

// fault is a fault in a profile, at a place.
func (p *Profile) fault(n *yaml.Node, format string, args ...any) error {
	line, column := 1, 1
	if n != nil {
		line, column = n.Line, n.Column
	}
	return fmt.Errorf("%s:%d:%d: %s", p.Path, line, column, fmt.Sprintf(format, args...))
}

var yamlLine = lazyregexp.New(`line (\d+)(?:, column (\d+))?: `)

// ParseProfile parses a profile. Errors have file, line and column.
func ParseProfile(path string, text []byte) (*Profile, error) {
	p := &Profile{Path: path}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		where, message := "1:1", strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\n", " "), "yaml: ")
		if m := yamlLine().FindStringSubmatch(message); m != nil {
			line, _ := strconv.Atoi(m[1])
			column := m[2]
			if column == "" {
				column = "1"
			}
			where, message = fmt.Sprintf("%d:%s", max(line, 1), column), strings.Replace(message, m[0], "", 1)
		}
		return nil, fmt.Errorf("%s:%s: %s", path, where, message)
	}
	if len(root.Content) == 0 {
		return nil, p.fault(nil, "the profile is empty")
	}
	if err := p.top(root.Content[0]); err != nil {
		return nil, err
	}
	return p, p.check()
}

// each calls f with the keys and values of a mapping.
func (p *Profile) each(n *yaml.Node, what string, f func(key string, at, value *yaml.Node) error) error {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return p.fault(n, "%s must be a mapping", what)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if seen[strings.ToLower(key)] {
			return p.fault(n.Content[i], "%s occurs twice", key)
		}
		seen[strings.ToLower(key)] = true
		value := n.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		if err := f(key, n.Content[i], value); err != nil {
			return err
		}
	}
	return nil
}

// text reads a scalar.
func (p *Profile) text(n *yaml.Node, what string, to *string) error {
	if n.Kind != yaml.ScalarNode {
		return p.fault(n, "%s must be a text", what)
	}
	if n.Tag != "!!null" {
		*to = n.Value
	}
	return nil
}

// topKeys are the keys of a profile.
const topKeys = "specname, keyspace, keyspace_definition, table, table_definition, extra_definitions, columnspec, insert, " +
	"queries and token_range_queries"

func (p *Profile) top(root *yaml.Node) error {
	return p.each(root, "a profile", func(key string, at, value *yaml.Node) error {
		var ignored string
		switch key {
		case "specname":
			return p.text(value, key, &ignored)
		case "keyspace":
			return p.text(value, key, &p.Keyspace)
		case "keyspace_definition":
			p.keyspace = value
			return p.text(value, key, &p.KeyspaceDefinition)
		case "table":
			return p.text(value, key, &p.TableName)
		case "table_definition":
			p.table = value
			return p.text(value, key, &p.TableDefinition)
		case "extra_definitions":
			return p.list(value, key, func(n *yaml.Node) error {
				p.Extra, p.extra = append(p.Extra, ""), append(p.extra, n)
				return p.text(n, "a definition", &p.Extra[len(p.Extra)-1])
			})
		case "columnspec":
			return p.list(value, key, p.columnSpec)
		case "insert":
			return p.insert(value)
		case "queries":
			return p.each(value, key, p.query)
		case "token_range_queries":
			return p.each(value, key, p.rangeQuery)
		}
		return p.fault(at, "%q is no key of a profile; there are %s", key, topKeys)
	})
}

func (p *Profile) list(n *yaml.Node, what string, f func(*yaml.Node) error) error {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		return p.fault(n, "%s must be a list", what)
	}
	for _, c := range n.Content {
		if c.Kind == yaml.AliasNode {
			c = c.Alias
		}
		if err := f(c); err != nil {
			return err
		}
	}
	return nil
}

func (p *Profile) distribution(n *yaml.Node, to **Distribution) error {
	var text string
	if err := p.text(n, "a distribution", &text); err != nil {
		return err
	}
	d, err := ParseDistribution(text)
	if err != nil {
		return p.fault(n, "%v", err)
	}
	*to = d
	return nil
}

func (p *Profile) columnSpec(n *yaml.Node) error {
	s := NewColumnSpec("")
	s.at = n
	err := p.each(n, "a column", func(key string, at, value *yaml.Node) error {
		switch strings.ToLower(key) {
		case "name":
			s.at = value
			return p.text(value, key, &s.Name)
		case "size":
			return p.distribution(value, &s.Size)
		case "population":
			return p.distribution(value, &s.Population)
		case "cluster":
			return p.distribution(value, &s.Cluster)
		}
		return p.fault(at, "%q is nothing that a column has: name, size, population and cluster", key)
	})
	switch {
	case err != nil:
		return err
	case s.Name == "":
		return p.fault(n, "a column of columnspec has no name")
	case slices.ContainsFunc(p.specs, func(o *ColumnSpec) bool { return o.Name == s.Name }):
		return p.fault(s.at, "column %s occurs twice in columnspec", s.Name)
	case s.Cluster.Min < 1:
		return p.fault(s.at, "column %s: a cluster has at least one value", s.Name)
	case s.Size.Max > 1<<24:
		return p.fault(s.at, "column %s: values of more than 16 MiB", s.Name)
	}
	p.specs = append(p.specs, s)
	return nil
}

func (p *Profile) insert(n *yaml.Node) error {
	return p.each(n, "insert", func(key string, at, value *yaml.Node) error {
		var text string
		if err := p.text(value, key, &text); err != nil {
			return err
		}
		switch strings.ToLower(key) {
		case "partitions":
			d, err := parsePartitions(text)
			if err != nil {
				return p.fault(value, "%v", err)
			}
			p.Insert.Partitions = d
			return nil
		case "select", "row-population", "row-population-ratio":
			r, err := ParseRatio(text)
			if err != nil {
				return p.fault(value, "%v", err)
			}
			to := &p.Insert.Filled
			if strings.EqualFold(key, "select") {
				to = &p.Insert.Select
			}
			*to = r
			return nil
		case "batchtype":
			if p.Insert.BatchType = strings.ToUpper(text); !slices.Contains(batchTypes, p.Insert.BatchType) {
				return p.fault(value, "batchtype %q: use LOGGED, UNLOGGED or COUNTER", text)
			}
			return nil
		}
		return p.fault(at, "%q is nothing that insert has: partitions, select, row-population-ratio and batchtype", key)
	})
}

// parsePartitions parses how many partitions an insert has.
func parsePartitions(text string) (*Distribution, error) {
	d, err := ParseDistribution(text)
	if err == nil && (d.Min < 1 || d.Max > 1_000_000) {
		err = fmt.Errorf("%s: an insert has from 1 to a million partitions", text)
	}
	return d, err
}

// batchTypes are the types of batches.
var batchTypes = []string{"LOGGED", "UNLOGGED", "COUNTER"}

func (p *Profile) query(name string, at, n *yaml.Node) error {
	q := Query{Name: strings.ToLower(name), at: n}
	fields := "multirow"
	err := p.each(n, "a query", func(key string, keyAt, value *yaml.Node) error {
		switch strings.ToLower(key) {
		case "cql":
			q.at = value
			return p.text(value, key, &q.CQL)
		case "fields":
			if err := p.text(value, key, &fields); err != nil {
				return err
			}
			fields = strings.ToLower(fields)
			if q.SameRow = fields == "samerow"; !q.SameRow && fields != "multirow" {
				return p.fault(value, "fields %q: use samerow or multirow", fields)
			}
			return nil
		}
		return p.fault(keyAt, "%q is nothing that a query has: cql and fields", key)
	})
	switch {
	case err != nil:
		return err
	case q.CQL == "":
		return p.fault(at, "query %s has no cql", name)
	case q.Name == "insert":
		return p.fault(at, "a query can't be called insert, which writes rows")
	}
	p.Queries = append(p.Queries, q)
	return nil
}

// check checks what the parts of the profile say about each other.
func (p *Profile) check() error {
	switch {
	case p.Keyspace == "":
		return p.fault(nil, "keyspace is missing")
	case p.TableName == "":
		return p.fault(nil, "table is missing")
	}
	for _, q := range p.Queries {
		if p.rangeQueryNamed(q.Name) != nil {
			return p.fault(q.at, "%s is in queries and in token_range_queries", q.Name)
		}
	}
	return nil
}

// errNoTable says that a profile has no table_definition.
var errNoTable = errors.New("no table_definition")

// Table returns the table of the profile with the ways to make its values. definition is used if the profile has none,
// nil means that there is none either.
func (p *Profile) Table(definition *Table) (*Table, error) {
	t := definition
	if strings.TrimSpace(p.TableDefinition) != "" {
		var err error
		if t, err = ParseTable(p.TableDefinition); err != nil {
			return nil, p.fault(p.table, "table_definition: %v", err)
		}
		if !strings.EqualFold(t.Name, p.TableName) {
			return nil, p.fault(p.table, "table_definition makes table %s, and table is %s", t.Name, p.TableName)
		}
	}
	if t == nil {
		return nil, errNoTable
	}
	for _, s := range p.specs {
		i := t.Find(s.Name)
		if i < 0 {
			i = t.Find(strings.ToLower(s.Name))
		}
		if i < 0 {
			return nil, p.fault(s.at, "table %s has no column %s; it has %s", t.Name, s.Name, t.names())
		}
		t.Columns[i].Spec = s
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Spec == nil {
			c.Spec = NewColumnSpec(c.Name)
		}
		if why := unsupported(c.Type); why != "" {
			return nil, p.fault(p.table, "column %s of type %s: %s", c.Name, c.Type, why)
		}
	}
	for _, q := range p.Queries {
		if _, _, err := t.Bind(q.CQL); err != nil {
			return nil, p.fault(q.at, "query %s: %v", q.Name, err)
		}
	}
	for i := range p.RangeQueries {
		if err := p.RangeQueries[i].check(p, t); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *Table) names() string {
	var names []string
	for i := range t.Columns {
		names = append(names, t.Columns[i].Name)
	}
	return strings.Join(names, ", ")
}
