package jmeter

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/base/sqltext"
	"brunt/internal/load/gen"
)

// jdbcParameter is a parameter of a prepared or callable statement.
type jdbcParameter struct {
	kind    gen.Kind
	bits    int    // of whole numbers
	unknown string // why the type isn't one
	in, out bool
}

// jdbcTypes are the names of java.sql.Types whose values aren't sent as texts.
var jdbcTypes = map[string]jdbcParameter{
	"INTEGER": {kind: gen.Int, bits: 32}, "BIGINT": {kind: gen.Int, bits: 64}, "SMALLINT": {kind: gen.Int, bits: 16},
	"TINYINT": {kind: gen.Int, bits: 8}, "DOUBLE": {kind: gen.Float, bits: 64}, "FLOAT": {kind: gen.Float, bits: 64},
	"REAL": {kind: gen.Float, bits: 32}, "BOOLEAN": {kind: gen.Bool}, "BIT": {kind: gen.Bool},
	"DECIMAL": {kind: gen.Number}, "NUMERIC": {kind: gen.Number}, "BINARY": {kind: gen.Bytes},
	"VARBINARY": {kind: gen.Bytes}, "LONGVARBINARY": {kind: gen.Bytes}, "NULL": {kind: gen.Null},
}

// jdbcTexts are the others.
var jdbcTexts = []string{"CHAR", "VARCHAR", "LONGVARCHAR", "NCHAR", "NVARCHAR", "LONGNVARCHAR", "DATE", "TIME",
	"TIMESTAMP", "TIME_WITH_TIMEZONE", "TIMESTAMP_WITH_TIMEZONE", "OTHER", "ARRAY", "CLOB", "NCLOB", "BLOB", "SQLXML",
	"REF_CURSOR", "ROWID", "STRUCT", "REF", "DATALINK", "JAVA_OBJECT", "DISTINCT"}

// parameters reads the types of a statement's parameters.
func (c *compiler) parameters(e *Element, r *jdbcRequest) {
	if strings.TrimSpace(r.args.raw) == "" {
		return
	}
	for name := range strings.SplitSeq(c.early(e, "queryArgumentsTypes"), ",") {
		mode, kind, two := strings.Cut(name, " ")
		if !two {
			mode, kind = "", name
		}
		p, known := jdbcTypes[strings.ToUpper(kind)]
		if p.in = true; !known {
			p.kind = gen.String
			if _, err := strconv.ParseInt(kind, 0, 32); err != nil && !slices.Contains(jdbcTexts, strings.ToUpper(kind)) {
				p.unknown = "Invalid data type: " + kind
			}
		}
		switch strings.ToUpper(mode) {
		case "OUT":
			p.in, p.out = false, true
		case "INOUT":
			p.out = true
		}
		if p.out && r.kind != callableKind {
			c.fault(e, "only a callable statement has parameters that the database sets")
		}
		r.params = append(r.params, p)
	}
}

// outs reports whether the database sets parameters.
func (r *jdbcRequest) outs() bool {
	return slices.ContainsFunc(r.params, func(p jdbcParameter) bool { return p.out })
}

// sampleError is the failure of a sample that the database knows nothing of, with the sample's code.
type sampleError struct{ code, text string }

func (e *sampleError) Error() string { return e.text }

// arguments returns the values of a statement's parameters from a line, those that the database sets too.
func (r *jdbcRequest) arguments(line string, args []gen.Value) ([]gen.Value, error) {
	if !r.prepared() || strings.TrimSpace(line) == "" {
		if len(r.params) > 0 {
			return nil, &sampleError{"22023 0", "no values are given for the parameters"}
		}
		return args[:0], nil
	}
	values, err := csvValues(line)
	switch {
	case err != nil:
		return nil, &sampleError{"000", err.Error()}
	case len(values) != len(r.params):
		return nil, &sampleError{"null 0", fmt.Sprintf("number of arguments (%d) and number of types (%d) are not equal",
			len(values), len(r.params))}
	}
	if r.changes == nil && r.marks != len(r.params) {
		return nil, &sampleError{"22023 0", fmt.Sprintf("the statement has %d parameters and %d values", r.marks,
			len(r.params))}
	}
	args = slices.Grow(args[:0], len(values))[:len(values)]
	for i := range args {
		switch p := &r.params[i]; {
		case p.unknown != "":
			return nil, &sampleError{"null 0", p.unknown}
		case !p.in:
			args[i].SetNull()
		default:
			if why := argument(&args[i], values[i], p, r.source); why != "" {
				return nil, &sampleError{"000", why}
			}
		}
	}
	return args, nil
}

// csvValues splits values at commas, except for those in quotation marks.
func csvValues(line string) (values []string, err error) {
	for {
		value := ""
		if strings.HasPrefix(line, `"`) {
			for {
				text, rest, closed := strings.Cut(line[1:], `"`)
				if !closed {
					return nil, fmt.Errorf("a value's quotation marks aren't closed: %s", cut(line))
				}
				value += text
				if line = rest; !strings.HasPrefix(line, `"`) {
					break
				}
				value += `"`
			}
			if line != "" && line[0] != ',' {
				return nil, fmt.Errorf("something follows a value's quotation marks: %s", cut(line))
			}
		} else {
			value, _, _ = strings.Cut(line, ",")
			line = line[len(value):]
			if strings.Contains(value, `"`) {
				return nil, fmt.Errorf("a value has quotation marks in it: %s", cut(value))
			}
		}
		if values = append(values, value); line == "" {
			return values, nil
		}
		line = line[1:]
	}
}

// argument sets the value of a parameter.
func argument(v *gen.Value, s string, p *jdbcParameter, d *dataSource) string {
	if s == "]NULL[" { // as JMeter's users write it
		v.SetNull()
		return ""
	}
	noNumber := "java.lang.NumberFormatException: For input string: \"" + s + "\""
	switch p.kind {
	case gen.Null:
		v.SetNull()
	case gen.Int:
		n, err := strconv.ParseInt(s, 10, p.bits)
		if err != nil {
			return noNumber
		}
		v.SetInt(n)
	case gen.Float:
		n, err := strconv.ParseFloat(strings.TrimSpace(s), p.bits)
		if err != nil {
			return noNumber
		}
		v.Kind, v.F = gen.Float, n
	case gen.Number:
		if _, err := strconv.ParseFloat(s, 64); err != nil && !errors.Is(err, strconv.ErrRange) {
			return noNumber
		}
		set(v, s)
		v.Kind = gen.Number
	case gen.Bool:
		v.Kind, v.I = gen.Bool, 0
		if strings.EqualFold(s, "true") {
			v.I = 1
		}
	case gen.Bytes:
		if set(v, s); !d.postgres {
			v.Kind = gen.Bytes
			break
		}
		set(v, `\x`+hex.EncodeToString([]byte(s)))
	default:
		set(v, s)
	}
	return ""
}

// statement returns a text as it is sent, and the number of its question marks. Calls in the escape syntax of JDBC
// (java.sql.CallableStatement) are translated as the database's driver does.
func (r *jdbcRequest) statement(raw string) (query string, marks int, err error) {
	query = trimmed(raw)
	switch r.kind {
	case commitKind, rollbackKind:
		return r.kind, 0, nil
	case automaticKind:
		return commitKind, 0, nil
	case callableKind:
		return r.call(query)
	}
	if r.source.limits && r.timeout > 0 {
		query = fmt.Sprintf("set statement max_statement_time=%d for %s", r.timeout, query)
	}
	if r.prepared() {
		query, marks = numbered(query)
	}
	return query, marks, nil
}

// call translates a call.
func (r *jdbcRequest) call(query string) (out string, marks int, err error) {
	inner, escaped := strings.CutPrefix(query, "{")
	inner = strings.TrimSpace(strings.TrimSuffix(inner, "}"))
	function := false
	if rest, ok := strings.CutPrefix(inner, "?"); ok {
		if rest, ok = strings.CutPrefix(strings.TrimSpace(rest), "="); ok {
			inner, function = strings.TrimSpace(rest), true
		}
	}
	word, rest, _ := strings.Cut(inner, " ")
	switch {
	case escaped && !strings.EqualFold(word, "call"):
		return "", 0, fmt.Errorf("%q isn't a call; write {call NAME(?, ?)}", cut(query))
	case function && (len(r.params) == 0 || r.params[0].in):
		return "", 0, fmt.Errorf("the first type of a call with a result is that of the result: OUT INTEGER")
	case r.source.postgres && r.outs() && !escaped:
		return "", 0, fmt.Errorf("a call with parameters that the database sets is written as {call NAME(?, ?)} here")
	case r.source.postgres && escaped:
		out = "select * from " + rest
	case function:
		out = "select " + rest
	case escaped:
		out = "call " + rest
	default:
		out = query
	}
	return r.mark(out, function)
}

// mark numbers the parameters of a call that are given, and writes those that the database sets: as variables of the
// session (MariaDB, MySQL), or not at all (PostgreSQL).
func (r *jdbcRequest) mark(query string, function bool) (out string, marks int, err error) {
	var b strings.Builder
	given := 0
	if function {
		marks = 1
	}
	for _, t := range sqltext.Split(query) {
		if t.Kind != sqltext.Mark {
			b.WriteString(t.Text)
			continue
		}
		marks++
		p := jdbcParameter{in: true}
		if marks <= len(r.params) {
			p = r.params[marks-1]
		}
		switch {
		case p.out && !r.source.postgres:
			b.WriteString(outVariable(marks))
		case p.in:
			given++
			b.WriteString("$" + strconv.Itoa(given))
		default: // the comma before it, or that after it
			if text := strings.TrimRight(b.String(), " \t\r\n"); strings.HasSuffix(text, ",") {
				b.Reset()
				b.WriteString(text[:len(text)-1])
			} else {
				b.WriteString(dropped)
			}
		}
	}
	out = b.String()
	for {
		before, after, found := strings.Cut(out, dropped)
		if !found {
			return out, marks, nil
		}
		after = strings.TrimPrefix(strings.TrimLeft(after, " \t\r\n"), ",")
		out = before + after
	}
}

// dropped stands for a parameter that isn't given, until the comma after it has been dropped too.
const dropped = "\x00"

// outVariable is the variable of a session that a parameter sets, by the parameter's number from 1.
func outVariable(number int) string { return "@brunt_out" + strconv.Itoa(number) }

// literal is a value in a statement of MariaDB or MySQL, whatever the session's rules of quotation are.
func literal(v *gen.Value) string {
	switch v.Kind {
	case gen.Null:
		return "null"
	case gen.Bool:
		return strconv.FormatInt(v.I, 10)
	case gen.Int, gen.Float, gen.Number:
		return string(v.AppendText(nil))
	case gen.Bytes:
		return "x'" + hex.EncodeToString(v.B) + "'"
	}
	return "convert(x'" + hex.EncodeToString(v.B) + "' using utf8mb4)"
}
