package plan

import (
	"slices"
	"strings"

	"brunt/internal/base/sqltext"
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// Start says where a sequence of keys begins.
type Start string

// The values of Start. By default, a sequence or UUIDs that an INSERT writes to a key of the plan's own tables begin
// after the existing values, and all others begin at the start of their range.
const (
	StartUnsaid Start = ""
	StartRange  Start = "range" // at the start of its range, whatever the table holds
	StartAfter  Start = "after" // after the column's greatest value, unless that is below the range
)

// IsSequence reports whether the values are numbers that don't repeat until the whole range has been used.
func (v *ValueSpec) IsSequence() bool {
	return (v.Type == gen.TypeInteger || v.Type == gen.TypeUnsigned) && (v.Unique || v.Distribution == gen.Sequential)
}

// renewable reports whether later runs can use values that earlier runs didn't use.
func (v *ValueSpec) renewable() bool { return v.IsSequence() || v.Type == gen.TypeUUID }

// Follows returns the column after whose greatest value parameter k of a step begins, or, for UUIDs, from whose rows
// they must differ. ok is false if the parameter begins at the start of its range.
func (p *Plan) Follows(s *Step, k int) (table, column string, ok bool) {
	v := s.Params[k].Value
	if v == nil || v.Start == StartRange || !v.renewable() {
		return "", "", false
	}
	if v.Start == StartAfter && v.Table != "" {
		return v.Table, v.Column, v.Column != ""
	}
	t, col, plain := p.inserted(s, k)
	if col == nil || v.Start == StartUnsaid && !(plain && t.identifies(col)) {
		return "", "", false
	}
	return t.Name, col.Name, true
}

// identifies reports whether the numbers or UUIDs in a column are unique.
func (t *Table) identifies(col *Column) bool {
	if col.Type != gen.TypeInteger && col.Type != gen.TypeUnsigned && col.Type != gen.TypeUUID {
		return false
	}
	return col.Unique || len(t.PrimaryKeys) == 1 && t.PrimaryKeys[0] == col.Name
}

// inserted returns the table and column of the plan that parameter k of a step is written to unchanged; nil if there is
// none or it can't be determined. plain means that the insert fails if the key exists.
func (p *Plan) inserted(s *Step, k int) (t *Table, col *Column, plain bool) {
	table, columns, n := s.Request.Text, []string(nil), k
	switch {
	case len(s.Variants) > 0:
		return nil, nil, false
	case s.Request.Verb == protocol.Insert && len(s.Request.Fields) == 0:
		plain = true
	case s.Request.Verb == protocol.SQL:
		var values []int
		var path []string
		if path, columns, values, plain = readInsert(s.Request.Text); path == nil {
			return nil, nil, false
		}
		table = p.named(path)
		n = slices.Index(values, k+1)
	default:
		return nil, nil, false
	}
	i := slices.IndexFunc(p.Tables, func(t Table) bool { return strings.EqualFold(t.Name, table) })
	if i < 0 || n < 0 {
		return nil, nil, false
	}
	t = &p.Tables[i]
	if columns == nil {
		columns = t.columnNames()
	}
	if n >= len(columns) {
		return nil, nil, false
	}
	c := slices.IndexFunc(t.Columns, func(c Column) bool { return strings.EqualFold(c.Name, columns[n]) })
	if c < 0 {
		return nil, nil, false
	}
	return t, &t.Columns[c], plain
}

// named returns the name of the plan's table that a statement means, which may name its schema; "" if there is none.
func (p *Plan) named(path []string) string {
	at := func(match func(own []string) bool) string {
		i := slices.IndexFunc(p.Tables, func(t Table) bool { return match(sqltext.Path(t.Name)) })
		if i < 0 {
			return ""
		}
		return p.Tables[i].Name
	}
	same := func(a, b []string) bool { return strings.EqualFold(strings.Join(a, "."), strings.Join(b, ".")) }
	whole := at(func(own []string) bool { return same(own, path) })
	if whole != "" {
		return whole
	}
	return at(func(own []string) bool { // one of both leaves the schema out
		return (len(own) == 1 || len(path) == 1) && same(own[len(own)-1:], path[len(path)-1:])
	})
}

// readInsert parses INSERT INTO table [(columns)] VALUES (…). table is its path. values has for each value of the first
// row the number of its parameter, or 0 if it isn't one. columns is nil if the statement doesn't list them; table is
// nil if it is another statement. plain means that the statement doesn't handle existing keys.
func readInsert(statement string) (table, columns []string, values []int, plain bool) {
	list := sqltext.Words(statement)
	if len(list) < 4 || !list[0].Is("insert") {
		return nil, nil, nil, false
	}
	plain = list[1].Is("into")
	i := 1 + slices.IndexFunc(list, func(t sqltext.Token) bool { return t.Is("into") })
	if i == 0 || i >= len(list) {
		return nil, nil, nil, false
	}
	name := []string{nameOf(list[i])}
	for i++; i+1 < len(list) && list[i].IsSign("."); i += 2 {
		name = append(name, nameOf(list[i+1]))
	}
	if i < len(list) && list[i].IsSign("(") {
		for i++; i < len(list) && !list[i].IsSign(")"); i++ {
			if !list[i].IsSign(",") {
				columns = append(columns, nameOf(list[i]))
			}
		}
		i++
	}
	if i+1 >= len(list) || !list[i].Is("values") || !list[i+1].IsSign("(") {
		return nil, nil, nil, false
	}
	values, rest := readRow(list[i+2:])
	said := slices.ContainsFunc(rest, func(t sqltext.Token) bool { return t.Is("conflict") || t.Is("duplicate") })
	return name, columns, values, plain && !said
}

// readRow reads values up to the closing parenthesis and returns them and the tokens after it.
func readRow(list []sqltext.Token) (values []int, rest []sqltext.Token) {
	depth, marks, first := 0, 0, 0
	for i, t := range list {
		if t.Kind == sqltext.Mark {
			marks++
		}
		switch {
		case t.IsSign("("):
			depth++
		case depth > 0 && t.IsSign(")"):
			depth--
		case depth == 0 && (t.IsSign(",") || t.IsSign(")")):
			values = append(values, parameterOf(list[first:i], marks))
			first = i + 1
			if t.IsSign(")") {
				return values, list[first:]
			}
		}
	}
	return nil, nil
}

// parameterOf returns the number of the parameter that a value consists of, with or without a cast; 0 if it is anything
// else. marks is the number of question marks up to the value's end.
func parameterOf(value []sqltext.Token, marks int) int {
	if len(value) >= 4 && value[0].Is("cast") && value[1].IsSign("(") && value[3].Is("as") {
		value = value[2:3]
	}
	if len(value) == 0 || len(value) > 1 && value[1].Kind != sqltext.Cast {
		return 0
	}
	if value[0].Kind == sqltext.Mark {
		return marks
	}
	n, _ := value[0].Parameter()
	return n
}

func nameOf(t sqltext.Token) string {
	if t.Kind != sqltext.Quoted {
		return t.Text
	}
	mark := t.Text[:1]
	return strings.ReplaceAll(strings.Trim(t.Text, mark), mark+mark, mark)
}

// start checks that the column that a sequence begins after is given or can be determined.
func (c *checker) start(s *Step, k int) {
	v := s.Params[k].Value
	if v.Start == StartUnsaid {
		return
	}
	at := v.Where.At("start", v.At)
	if !v.renewable() {
		c.add(at, "remove it, or use type: Integer with distribution: Sequential or unique: true",
			"start is for sequences of integers only")
		return
	}
	if v.Start != StartAfter {
		return
	}
	if _, _, ok := c.plan.Follows(s, k); !ok {
		c.add(at, "give its table and column",
			"parameter %d begins after what is there, but isn't inserted into a table of the plan", k+1)
	}
}
