package cassandrastress

import (
	"fmt"
	"strings"

	"brunt/internal/base/sqltext"
)

// Table is the definition of a table, as far as values and requests depend on it.
type Table struct {
	Keyspace string // "" if the definition doesn't say
	Name     string
	Columns  []Column
}

// Column is a column of a table.
type Column struct {
	Name string
	Type string // in lower case, without spaces
	Role Role
	Spec *ColumnSpec // how its values are made
}

// Role says what a column is for.
type Role uint8

// The roles. Columns of keys are in the order of the key.
const (
	Regular Role = iota
	PartitionKey
	ClusteringKey
)

// Key returns the columns with a role, by their index in Columns.
func (t *Table) Key(role Role) (columns []int) {
	for i := range t.Columns {
		if t.Columns[i].Role == role {
			columns = append(columns, i)
		}
	}
	return columns
}

// Find returns the index of a column, -1 if there is none.
func (t *Table) Find(name string) int {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return i
		}
	}
	return -1
}

// Counters reports whether the table has counters, so that its rows are changed by adding.
func (t *Table) Counters() bool {
	for i := range t.Columns {
		if t.Columns[i].Type == "counter" {
			return true
		}
	}
	return false
}

// tableParser takes a definition apart.
type tableParser struct {
	rest []sqltext.Token
	t    Table
	key  [][]string // partition key, then clustering key
}

// ParseTable parses CREATE TABLE.
func ParseTable(text string) (*Table, error) {
	p := &tableParser{rest: sqltext.Words(text)}
	if !p.words("create") || !p.words("table") && !p.words("columnfamily") {
		return nil, fmt.Errorf("it doesn't begin with CREATE TABLE")
	}
	if p.words("if") && !(p.words("not") && p.words("exists")) {
		return nil, fmt.Errorf("IF without NOT EXISTS")
	}
	var ok bool
	if p.t.Name, ok = p.name(); !ok {
		return nil, fmt.Errorf("the name of the table is missing")
	}
	if p.sign(".") {
		p.t.Keyspace = p.t.Name
		if p.t.Name, ok = p.name(); !ok {
			return nil, fmt.Errorf("the name of the table is missing")
		}
	}
	if !p.sign("(") {
		return nil, fmt.Errorf("( is missing after the name of the table")
	}
	for {
		if err := p.column(); err != nil {
			return nil, err
		}
		if p.sign(")") {
			break
		}
		if !p.sign(",") {
			return nil, fmt.Errorf(", or ) is missing before %q", p.peek())
		}
	}
	return p.finish()
}

func (p *tableParser) peek() string {
	if len(p.rest) == 0 {
		return "the end"
	}
	return p.rest[0].Text
}

func (p *tableParser) words(w string) bool {
	if len(p.rest) > 0 && p.rest[0].Is(w) {
		p.rest = p.rest[1:]
		return true
	}
	return false
}

func (p *tableParser) sign(s string) bool {
	if len(p.rest) > 0 && p.rest[0].Text == s {
		p.rest = p.rest[1:]
		return true
	}
	return false
}

func (p *tableParser) name() (string, bool) {
	if len(p.rest) == 0 {
		return "", false
	}
	name, ok := nameOf(p.rest[0].Text)
	if ok {
		p.rest = p.rest[1:]
	}
	return name, ok
}

// nameOf returns the name that an identifier stands for: quoted ones keep their case.
func nameOf(token string) (string, bool) {
	if strings.HasPrefix(token, `"`) && strings.HasSuffix(token, `"`) && len(token) > 2 {
		return strings.ReplaceAll(token[1:len(token)-1], `""`, `"`), true
	}
	for i, c := range token {
		if !(c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || i > 0 && c >= '0' && c <= '9') {
			return "", false
		}
	}
	return strings.ToLower(token), token != ""
}

// column parses a column, or the primary key.
func (p *tableParser) column() error {
	if len(p.rest) > 1 && p.rest[0].Is("primary") && p.rest[1].Is("key") {
		p.rest = p.rest[2:]
		return p.primaryKey()
	}
	name, ok := p.name()
	if !ok {
		return fmt.Errorf("%q where a column must be", p.peek())
	}
	var kind strings.Builder
	for depth := 0; len(p.rest) > 0; p.rest = p.rest[1:] {
		text := strings.ToLower(p.rest[0].Text)
		if depth == 0 && (text == "," || text == ")" || text == "static" || text == "primary") {
			break
		}
		depth += strings.Count(text, "<") - strings.Count(text, ">")
		kind.WriteString(text)
	}
	if kind.Len() == 0 {
		return fmt.Errorf("column %s has no type", name)
	}
	if p.t.Find(name) >= 0 {
		return fmt.Errorf("column %s occurs twice", name)
	}
	p.t.Columns = append(p.t.Columns, Column{Name: name, Type: kind.String()})
	p.words("static")
	if p.words("primary") {
		if !p.words("key") || p.key != nil {
			return fmt.Errorf("PRIMARY without KEY, or for the second time")
		}
		p.key = [][]string{{name}, nil}
	}
	return nil
}

// primaryKey parses ((a, b), c).
func (p *tableParser) primaryKey() error {
	if p.key != nil || !p.sign("(") {
		return fmt.Errorf("PRIMARY KEY without (, or for the second time")
	}
	p.key = [][]string{nil, nil}
	part := 0
	if p.sign("(") {
		if err := p.names(&p.key[0]); err != nil {
			return err
		}
	} else if name, ok := p.name(); ok {
		p.key[0] = []string{name}
	}
	part++
	if p.sign(",") {
		return p.names(&p.key[part])
	}
	if !p.sign(")") || len(p.key[0]) == 0 {
		return fmt.Errorf("%q in PRIMARY KEY", p.peek())
	}
	return nil
}

// names parses names up to a closing parenthesis.
func (p *tableParser) names(to *[]string) error {
	for {
		name, ok := p.name()
		if !ok {
			return fmt.Errorf("%q where the name of a column must be", p.peek())
		}
		*to = append(*to, name)
		if p.sign(")") {
			return nil
		}
		if !p.sign(",") {
			return fmt.Errorf("%q in PRIMARY KEY", p.peek())
		}
	}
}

// finish puts the columns in the order of the key, and then of the definition.
func (p *tableParser) finish() (*Table, error) {
	if len(p.key) == 0 {
		return nil, fmt.Errorf("there is no PRIMARY KEY")
	}
	ordered := p.t
	ordered.Columns = nil
	for part, role := range []Role{PartitionKey, ClusteringKey} {
		for _, name := range p.key[part] {
			i := p.t.Find(name)
			if i < 0 || ordered.Find(name) >= 0 {
				return nil, fmt.Errorf("PRIMARY KEY: there is no column %s, or it occurs twice", name)
			}
			c := p.t.Columns[i]
			c.Role = role
			ordered.Columns = append(ordered.Columns, c)
		}
	}
	for _, c := range p.t.Columns {
		if ordered.Find(c.Name) < 0 {
			ordered.Columns = append(ordered.Columns, c)
		}
	}
	return &ordered, nil
}

// Insert returns the statement that writes a row: an update of all columns but those of the key, or an insert if there
// are no others. order says which column each of its parameters is.
func (t *Table) Insert() (text string, order []int) {
	var set, where, names, values []string
	param := func(column int) string {
		order = append(order, column)
		return fmt.Sprintf("$%d", len(order))
	}
	for _, i := range t.Key(Regular) {
		c := &t.Columns[i]
		name := sqltext.Quote(c.Name)
		value := param(i)
		if c.Type == "counter" {
			value = name + " + " + value
		}
		set = append(set, name+" = "+value)
	}
	keys := append(t.Key(PartitionKey), t.Key(ClusteringKey)...)
	for _, i := range keys {
		name, value := sqltext.Quote(t.Columns[i].Name), param(i)
		where = append(where, name+" = "+value)
		names, values = append(names, name), append(values, value)
	}
	if len(set) == 0 {
		return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", t.quoted(), strings.Join(names, ", "),
			strings.Join(values, ", ")), order
	}
	return fmt.Sprintf("UPDATE %s SET %s WHERE %s", t.quoted(), strings.Join(set, ", "), strings.Join(where, " AND ")),
		order
}

func (t *Table) quoted() string { return sqltext.Quote(t.Name) }

// Bind translates a query's markers into parameters, and says which column each of them is for: the one that it is
// compared with, assigned to, or inserted into.
func (t *Table) Bind(cql string) (text string, order []int, err error) {
	var b strings.Builder
	tokens := sqltext.Split(cql)
	var words []string // tokens so far, without spaces
	for _, token := range tokens {
		if token.Text != "?" {
			if strings.TrimSpace(token.Text) != "" && token.Kind != sqltext.Space {
				words = append(words, token.Text)
			}
			b.WriteString(token.Text)
			continue
		}
		name, ok := columnBefore(words)
		if !ok {
			name, ok = inserted(words)
		}
		column := -1
		if ok {
			column = t.Find(name)
		}
		if column < 0 {
			what := "which column that is, isn't plain"
			if ok {
				what = "table " + t.Name + " has no column " + name
			}
			return "", nil, fmt.Errorf("parameter %d: %s", len(order)+1, what)
		}
		order = append(order, column)
		fmt.Fprintf(&b, "$%d", len(order))
		words = append(words, "?")
	}
	return b.String(), order, nil
}

// columnBefore returns the column that a marker after some words is compared with or assigned to.
func columnBefore(words []string) (string, bool) {
	i := len(words) - 1
	for i >= 0 && (words[i] == "(" || strings.EqualFold(words[i], "in") || strings.EqualFold(words[i], "contains") ||
		strings.EqualFold(words[i], "key") || words[i] == "+" || words[i] == "-") {
		i--
	}
	if i < 0 || words[i] == "?" {
		return "", false
	}
	if i == len(words)-1 || words[i] == "=" {
		if strings.Trim(words[i], "=<>!") != "" {
			if i < len(words)-1 && (words[i+1] == "+" || words[i+1] == "-") {
				return nameOf(words[i])
			}
			return "", false
		}
		for i >= 0 && strings.Trim(words[i], "=<>!") == "" {
			i--
		}
	}
	if i < 0 || words[i] == "," || strings.EqualFold(words[i], "values") {
		return "", false
	}
	return nameOf(words[i])
}

// inserted returns the column that the next marker in the list of values of an INSERT is for.
func inserted(words []string) (string, bool) {
	if len(words) < 4 || !strings.EqualFold(words[0], "insert") {
		return "", false
	}
	open := -1
	for i, w := range words {
		if w == "(" {
			open = i
			break
		}
	}
	var names []string
	i := open + 1
	for ; open > 0 && i < len(words) && words[i] != ")"; i++ {
		if words[i] != "," {
			name, ok := nameOf(words[i])
			if !ok {
				return "", false
			}
			names = append(names, name)
		}
	}
	at := 0
	for i += 3; i < len(words); i++ { // ) VALUES (
		if words[i] == "," {
			at++
		}
		if words[i] == ")" {
			return "", false
		}
	}
	if open < 0 || at >= len(names) {
		return "", false
	}
	return names[at], true
}
