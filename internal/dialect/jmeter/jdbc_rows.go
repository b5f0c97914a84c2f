package jmeter

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// table appends the rows of a result as JMeter shows them: columns separated by tabs, below their names. It sets the
// variables of the columns, and that of the rows.
func (t *thread) table(b *strings.Builder, j *jdbcRequest, r *protocol.Result, values []gen.Value) {
	for i, name := range r.Columns {
		b.WriteString(name)
		endCell(b, i, r)
	}
	names := strings.Split(j.names.eval(t), ",")
	rows, shown := r.Captured, int(r.Rows)
	if most, err := strconv.Atoi(strings.TrimSpace(j.mostRows.eval(t))); err == nil && most >= 0 {
		rows, shown = min(rows, most), min(shown, most)
	}
	object := strings.TrimSpace(j.variable.eval(t))
	list := []any{}
	for row := range rows {
		fields := values[row*len(r.Columns) : (row+1)*len(r.Columns)]
		var columns map[string]any
		if object != "" {
			columns = make(map[string]any, len(fields))
			list = append(list, columns)
		}
		for i := range fields {
			v := &fields[i]
			text := javaText(v, r.Types[i])
			b.WriteString(text)
			endCell(b, i, r)
			if columns != nil {
				columns[r.Columns[i]] = javaValue(v, r.Types[i], text)
			}
			if i < len(names) && strings.TrimSpace(names[i]) != "" {
				t.setVariable(strings.TrimSpace(names[i])+"_"+strconv.Itoa(row+1), text, v.Kind == gen.Null)
			}
		}
	}
	if object != "" {
		if t.objects == nil {
			t.objects = map[string]any{}
		}
		t.objects[object] = list
	}
	for _, name := range names {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		before, _ := strconv.Atoi(t.vars[name+"_#"])
		for n := rows + 1; n <= before; n++ {
			delete(t.vars, name+"_"+strconv.Itoa(n))
		}
		t.vars[name+"_#"] = strconv.Itoa(shown)
	}
}

func endCell(b *strings.Builder, i int, r *protocol.Result) {
	if i == len(r.Columns)-1 {
		b.WriteByte('\n')
	} else {
		b.WriteByte('\t')
	}
}

// javaText is a value of an answer as the toString of Java's object shows it.
func javaText(v *gen.Value, kind protocol.ColumnType) string {
	if v.Kind == gen.Null {
		return "null"
	}
	text := string(v.B)
	switch kind {
	case protocol.BoolColumn:
		return strconv.FormatBool(text == "t" || text == "true" || text != "f" && text != "false" && text != "0")
	case protocol.RealColumn:
		return javaFloat(text, 32)
	case protocol.DoubleColumn:
		return javaFloat(text, 64)
	case protocol.DecimalColumn:
		return bigDecimal(text)
	case protocol.TimestampColumn:
		return javaTimestamp(text)
	case protocol.ZonedColumn:
		if at, err := time.Parse("2006-01-02 15:04:05.999999-07", text); err == nil {
			return javaTimestamp(at.Local().Format("2006-01-02 15:04:05.999999"))
		}
	case protocol.TimeColumn: // java.sql.Time has no fractions
		before, _, _ := strings.Cut(text, ".")
		return before
	case protocol.YearColumn:
		return text + "-01-01"
	}
	return text
}

// javaTimestamp is a time as java.sql.Timestamp shows it: with at least one digit after the point.
func javaTimestamp(text string) string {
	before, fraction, _ := strings.Cut(text, ".")
	if !strings.Contains(before, ":") { // infinity
		return text
	}
	if fraction = strings.TrimRight(fraction, "0"); fraction == "" {
		fraction = "0"
	}
	return before + "." + fraction
}

// javaFloat is a number as Double.toString or Float.toString writes it: with an exponent from 10⁷ on and below 10⁻³.
func javaFloat(text string, bits int) string {
	f, err := strconv.ParseFloat(text, bits)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return text
	}
	if a := math.Abs(f); a == 0 || a >= 1e-3 && a < 1e7 {
		out := strconv.FormatFloat(f, 'f', -1, bits)
		if !strings.Contains(out, ".") {
			out += ".0"
		}
		return out
	}
	digits, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, bits), "e")
	if !strings.Contains(digits, ".") {
		digits += ".0"
	}
	n, _ := strconv.Atoi(exponent)
	return digits + "E" + strconv.Itoa(n)
}

// bigDecimal is a number with a fixed point as BigDecimal.toString writes it: with an exponent if more than six zeros
// would follow the point.
func bigDecimal(text string) string {
	whole, fraction, _ := strings.Cut(text, ".")
	unscaled, ok := new(big.Int).SetString(whole+fraction, 10)
	if !ok {
		return text
	}
	digits := strings.TrimPrefix(unscaled.String(), "-")
	exponent := len(digits) - 1 - len(fraction)
	if exponent >= -6 {
		return text
	}
	out := digits[:1]
	if len(digits) > 1 {
		out += "." + digits[1:]
	}
	if unscaled.Sign() < 0 {
		out = "-" + out
	}
	return out + "E" + strconv.Itoa(exponent)
}

// sqlNumber is a number with a point of a database, which scripts show as Java does.
type sqlNumber struct {
	float64
	text string
}

// String returns the number as Java shows it.
func (n sqlNumber) String() string { return n.text }

// MarshalJSON returns the number.
func (n sqlNumber) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, n.float64, 'g', -1, 64), nil
}

// javaValue is a value of an answer in scripts; text is what javaText made of it.
func javaValue(v *gen.Value, kind protocol.ColumnType, text string) any {
	if v.Kind == gen.Null {
		return nil
	}
	switch kind {
	case protocol.BoolColumn:
		return text == "true"
	case protocol.IntegerColumn:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	case protocol.RealColumn, protocol.DoubleColumn, protocol.DecimalColumn:
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return sqlNumber{f, text}
		}
	}
	return text
}
