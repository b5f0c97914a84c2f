package sql

import (
	"fmt"
	"strconv"
	"strings"

	"brunt/internal/base/sqltext"
	"brunt/internal/load/gen"
	"brunt/internal/plan"
)

// Names are the names of a plan's tables, columns and indexes, which statements may use without quotes. A nil *Names is
// empty.
type Names struct {
	columns map[string]bool
	tables  map[string]bool
	wide    bool // an unsigned column has a range above that of signed 64-bit integers
}

// NewNames collects the names. The result is immutable.
func NewNames(tables []plan.Table, indexes []plan.Index) *Names {
	n := &Names{columns: map[string]bool{}, tables: map[string]bool{}}
	for i := range tables {
		n.tables[tables[i].Name] = true
		for k := range tables[i].Columns {
			c := &tables[i].Columns[k]
			n.columns[c.Name] = true
			n.wide = n.wide || isWide(&c.Spec)
		}
	}
	for i := range indexes {
		n.tables[indexes[i].Name] = true
	}
	return n
}

// find returns the name that an unquoted word refers to. Picodata reads unquoted words in lower case, so the word is
// looked up in lower case first and then as written.
func (n *Names) find(w string) (name string, table, ok bool) {
	if n == nil {
		return "", false, false
	}
	for _, name := range []string{strings.ToLower(w), w} {
		if n.tables[name] {
			return name, true, true
		}
		if n.columns[name] {
			return name, false, true
		}
	}
	return "", false, false
}

// Translate rewrites a statement for the flavor. It changes types of casts (`x::string`, CAST(x AS string)),
// placeholders and ON CONFLICT. For Tarantool, which reads unquoted names in upper case, it also quotes the plan's
// names. params are the kinds of the statement's parameters. All flavors take parameters numbered in the same order, so
// nothing is rearranged. Anything unknown is left unchanged, and so is everything for Picodata. It returns an error if
// the statement can't have the same effect on this product.
func (f Flavor) Translate(statement string, params []gen.Kind, names *Names) (string, []Notice, error) {
	list := sqltext.Split(statement)
	if err := checkParams(list, params); err != nil {
		return "", nil, err
	}
	if f.product == Picodata {
		return statement, nil, nil
	}
	tr := translator{flavor: f, names: names, in: list}
	if err := tr.conflict(); err != nil {
		return "", nil, fmt.Errorf("translate for %s: %w", f.product, err)
	}
	tr.number = f.product == PostgreSQL && onlyMarks(tr.in, len(params))
	if err := tr.run(); err != nil {
		return "", nil, fmt.Errorf("translate for %s: %w", f.product, err)
	}
	mapped := map[gen.Kind]gen.Type{gen.Datetime: gen.TypeDatetime, gen.Decimal: gen.TypeDecimal, gen.UUID: gen.TypeUUID,
		gen.JSON: gen.TypeJSON}
	for _, k := range params {
		tr.notices = Merge(tr.notices, f.typeNotice(mapped[k])...)
	}
	return join(tr.out), tr.notices, nil
}

func numbered(t token) bool {
	_, ok := t.Parameter()
	return ok
}

func checkParams(list []token, params []gen.Kind) error {
	for _, t := range list {
		if n, ok := t.Parameter(); ok && (n < 1 || n > len(params)) {
			return fmt.Errorf("the statement uses %.20s but has %d parameters: add the parameter or correct the number", t.Text,
				len(params))
		}
	}
	return nil
}

// onlyMarks reports whether all n parameters of the statement are written as "?".
func onlyMarks(list []token, n int) bool {
	marks := 0
	for _, t := range list {
		switch t.Kind {
		case param:
			return false
		case mark:
			marks++
		}
	}
	return marks > 0 && marks == n
}

type translator struct {
	flavor  Flavor
	names   *Names
	in, out []token
	number  bool   // replace each "?" by a number
	marks   int    // number of "?" so far
	casts   []bool // for each open parenthesis, whether it belongs to CAST
	notices []Notice
}

func (tr *translator) run() error {
	for i := 0; i < len(tr.in); {
		t := tr.in[i]
		i++
		switch {
		case t.Kind == cast:
			n, err := tr.cast(i)
			if err != nil {
				return err
			}
			i = n
		case t.Is("as") && len(tr.casts) > 0 && tr.casts[len(tr.casts)-1]:
			tr.out = append(tr.out, t)
			i = tr.castAs(i)
		case t.Kind == word && tr.flavor.product == Tarantool:
			tr.out = append(tr.out, tr.name(t, i))
		case tr.flavor.product == SQLite && numbered(t):
			tr.out = append(tr.out, token{Kind: param, Text: "?" + t.Text[1:]})
		case tr.flavor.product == MySQL && t.Kind == quoted && len(t.Text) > 1 && t.Text[0] == '"' &&
			t.Text[len(t.Text)-1] == '"':
			name := strings.ReplaceAll(t.Text[1:len(t.Text)-1], `""`, `"`)
			tr.out = append(tr.out, token{Kind: quoted, Text: tr.flavor.quote(name)})
		case t.Kind == mark && tr.number:
			tr.marks++
			tr.out = append(tr.out, token{Kind: param, Text: "$" + strconv.Itoa(tr.marks)})
		default:
			tr.parenthesis(t)
			tr.out = append(tr.out, t)
		}
	}
	return nil
}

func (tr *translator) parenthesis(t token) {
	switch {
	case t.IsSign("("):
		p := before(tr.out, len(tr.out)-1)
		tr.casts = append(tr.casts, p >= 0 && tr.out[p].Is("cast"))
	case t.IsSign(")") && len(tr.casts) > 0:
		tr.casts = tr.casts[:len(tr.casts)-1]
	}
}

// cast translates "::type", where in[i] is the first token of the type. It returns the index after the type.
func (tr *translator) cast(i int) (next int, err error) {
	base, whole, next := typeWords(tr.in, i)
	if next == i {
		tr.out = append(tr.out, token{Kind: cast, Text: "::"})
		return i, nil
	}
	name, notices := tr.flavor.typeText(base, whole, tr.names)
	tr.notices = Merge(tr.notices, notices...)
	if tr.flavor.product == PostgreSQL {
		tr.out = append(tr.out, token{Kind: cast, Text: "::"})
		// Keep white space and comments in front of the type.
		tr.out = append(tr.out, tr.in[i:after(tr.in, i)]...)
		tr.out = append(tr.out, token{Kind: primary, Text: name})
		return next, nil
	}
	end := before(tr.out, len(tr.out)-1) + 1
	start := operand(tr.out[:end])
	if start == end {
		tr.out = append(tr.out, token{Kind: cast, Text: "::"}, token{Kind: primary, Text: whole})
		return next, nil
	}
	body := join(tr.out[start:end])
	if castTypes[base] == gen.TypeDatetime && end-start == 1 && tr.out[start].Kind == text {
		if body, err = tr.flavor.datetimeLiteral(body); err != nil {
			return 0, err
		}
		tr.out = append(tr.out[:start], token{Kind: primary, Text: body})
		return next, nil
	}
	tr.out = append(tr.out[:start], token{Kind: primary, Text: "CAST(" + body + " AS " + name + ")"})
	return next, nil
}

// castAs translates the type after the AS of a CAST. It returns the index after the type.
func (tr *translator) castAs(i int) (next int) {
	base, whole, next := typeWords(tr.in, i)
	if next == i {
		return i
	}
	name, notices := tr.flavor.typeText(base, whole, tr.names)
	tr.notices = Merge(tr.notices, notices...)
	tr.out = append(tr.out, tr.in[i:after(tr.in, i)]...)
	tr.out = append(tr.out, token{Kind: primary, Text: name})
	return next
}

// name quotes an unquoted name of the plan. in[i:] follows the name.
func (tr *translator) name(t token, i int) token {
	name, table, ok := tr.names.find(t.Text)
	if !ok || isReserved(t.Text) {
		return t
	}
	// A name followed by "(" is a function, except for the table in INSERT INTO t (…) and similar statements.
	if k := after(tr.in, i); k < len(tr.in) && tr.in[k].IsSign("(") {
		p := before(tr.out, len(tr.out)-1)
		if !table || p < 0 || !(tr.out[p].Is("into") || tr.out[p].Is("on") || tr.out[p].Is("table") ||
			tr.out[p].Is("references")) {
			return t
		}
	}
	return token{Kind: quoted, Text: tr.flavor.quote(name)}
}

// operand returns the index of the first token of the operand at the end of list: a parameter, a literal, a name with
// qualifiers, a call, a subscript, CASE … END or a parenthesis. It returns len(list) if there is none.
func operand(list []token) int {
	i := len(list) - 1
	for i >= 0 {
		t := list[i]
		switch {
		case t.IsSign(")"), t.IsSign("]"):
			open := opening(list, i)
			if open < 0 {
				return len(list)
			}
			p := before(list, open-1)
			switch {
			case t.IsSign("]") && p >= 0 && endsOperand(list[p]):
				i = p
				continue
			case t.IsSign("]") && p >= 0 && list[p].Is("array"):
				return p
			case t.IsSign(")") && p >= 0 && (list[p].Kind == word && !isReserved(list[p].Text) || list[p].Kind == quoted):
				return qualified(list, p)
			}
			return open
		case t.Is("end"):
			return caseStart(list, i)
		case t.Kind == word && (!isReserved(t.Text) || t.Is("null") || t.Is("true") || t.Is("false")), t.Kind == quoted:
			return qualified(list, i)
		case t.Kind == text, t.Kind == number, t.Kind == param, t.Kind == mark, t.Kind == primary:
			return i
		}
		return len(list)
	}
	return len(list)
}

func endsOperand(t token) bool {
	return t.IsSign(")") || t.IsSign("]") || t.Kind == quoted || t.Kind == param || t.Kind == primary ||
		t.Kind == word && !isReserved(t.Text)
}

// qualified returns the index of the first token of the dotted name that ends at i.
func qualified(list []token, i int) int {
	for i >= 2 && list[i-1].IsSign(".") && (list[i-2].Kind == word || list[i-2].Kind == quoted) {
		i -= 2
	}
	return i
}

// opening returns the index of the opening bracket for the closing bracket at i, or -1.
func opening(list []token, i int) int {
	depth := 0
	for ; i >= 0; i-- {
		switch {
		case list[i].IsSign(")"), list[i].IsSign("]"):
			depth++
		case list[i].IsSign("("), list[i].IsSign("["):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

func caseStart(list []token, i int) int {
	depth := 0
	for k := i; k >= 0; k-- {
		switch {
		case list[k].Is("end"):
			depth++
		case list[k].Is("case"):
			if depth--; depth == 0 {
				return k
			}
		}
	}
	return len(list)
}

type token = sqltext.Token

const (
	space  = sqltext.Space
	word   = sqltext.Word
	quoted = sqltext.Quoted
	text   = sqltext.Text
	number = sqltext.Number
	param  = sqltext.Param
	mark   = sqltext.Mark
	cast   = sqltext.Cast
	sign   = sqltext.Sign

	primary = sqltext.Sign + 1 // an operand that the translator has assembled
)

// after returns the index of the first token from i on that isn't white space, or len(list).
func after(list []token, i int) int {
	for i < len(list) && list[i].Kind == space {
		i++
	}
	return i
}

// before returns the index of the last token up to i that isn't white space, or -1.
func before(list []token, i int) int {
	for i >= 0 && list[i].Kind == space {
		i--
	}
	return i
}

// isReserved reports whether a word is reserved in SQL, so that it can't be a name or a function unless it is quoted.
func isReserved(w string) bool {
	switch strings.ToLower(w) {
	case "all", "and", "any", "array", "as", "asc", "between", "by", "case", "check", "collate", "conflict",
		"constraint", "create", "cross", "default", "delete", "desc", "distinct", "do", "drop", "else", "end",
		"except", "exists", "false", "for", "foreign", "from", "full", "group", "having", "ilike", "in", "index",
		"inner", "insert", "intersect", "into", "is", "join", "left", "like", "limit", "natural", "not", "null",
		"offset", "on", "or", "order", "outer", "primary", "references", "returning", "right", "select", "set",
		"some", "table", "then", "to", "true", "union", "unique", "update", "using", "values", "when", "where", "with":
		return true
	}
	return false
}
