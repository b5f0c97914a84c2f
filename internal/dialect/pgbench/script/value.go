package script

import (
	"math"
	"strconv"
)

// kind is the type of a value.
type kind uint8

const (
	none kind = iota // a variable of which only the text is known
	null
	boolean
	integer
	double
)

var kindNames = [...]string{"none", "null", "int", "int", "double"}

// name returns pgbench's name of the type.
func (k kind) name() string {
	if k == boolean {
		return "boolean"
	}
	return kindNames[k]
}

// value is the value of an expression.
type value struct {
	kind kind
	i    int64 // integer; boolean: 0 or 1
	f    float64
}

var (
	nullValue  = value{kind: null}
	trueValue  = value{kind: boolean, i: 1}
	falseValue = value{kind: boolean}
)

func boolValue(b bool) value {
	if b {
		return trueValue
	}
	return falseValue
}

func intValue(i int64) value      { return value{kind: integer, i: i} }
func doubleValue(f float64) value { return value{kind: double, f: f} }

// truth reports whether a condition holds: numbers other than zero do, NULL doesn't.
func (v value) truth() bool {
	switch v.kind {
	case boolean, integer:
		return v.i != 0
	case double:
		return v.f != 0
	default:
		return false
	}
}

// appendText appends the text of the value as it is substituted in SQL.
func (v value) appendText(b []byte) []byte {
	switch v.kind {
	case boolean:
		return strconv.AppendBool(b, v.i != 0)
	case integer:
		return strconv.AppendInt(b, v.i, 10)
	case double:
		return appendDouble(b, v.f)
	default:
		return append(b, "NULL"...)
	}
}

// appendDebug appends the text of the value as the function debug prints it.
func (v value) appendDebug(b []byte) []byte {
	if v.kind == null {
		return append(b, "null"...)
	}
	return v.appendText(append(append(b, v.kind.name()...), ' '))
}

// doubleDigits is DBL_DIG of C: the decimal digits that a double keeps.
const doubleDigits = 15

// appendDouble appends f as PostgreSQL's printf does with "%.15g".
func appendDouble(b []byte, f float64) []byte {
	if special, ok := specialDouble(f); ok {
		return append(b, special...)
	}
	return strconv.AppendFloat(b, f, 'g', doubleDigits, 64)
}

// specialDouble returns what PostgreSQL's printf prints for infinities and for what isn't a number.
func specialDouble(f float64) (text string, ok bool) {
	switch {
	case math.IsNaN(f):
		return "NaN", true
	case math.IsInf(f, 1):
		return "Infinity", true
	case math.IsInf(f, -1):
		return "-Infinity", true
	}
	return "", false
}

// fixed returns f as PostgreSQL's printf does with "%f".
func fixed(f float64) string {
	if special, ok := specialDouble(f); ok {
		return special
	}
	return strconv.FormatFloat(f, 'f', 6, 64)
}

// variable is a client's variable. Its text and its value are computed from each other when they are needed.
type variable struct {
	value value // kind none: only the text is known
	text  []byte
	known bool // the text is known
}

func (v *variable) defined() bool { return v.known || v.value.kind != none }

// setText sets the variable to a text, whose value is found out when an expression uses it.
func (v *variable) setText(text []byte) {
	v.text = append(v.text[:0], text...)
	v.known, v.value = true, value{}
}

func (v *variable) set(x value) { v.known, v.value = false, x }

// content returns the text of a defined variable. It is valid until the variable changes.
func (v *variable) content() []byte {
	if !v.known {
		v.text = v.value.appendText(v.text[:0])
		v.known = true
	}
	return v.text
}

// table numbers the names of variables.
type table struct {
	names []string
	index map[string]int
}

func newTable() *table { return &table{index: map[string]int{}} }

// slot returns the number of a name.
func (t *table) slot(name string) int {
	i, ok := t.index[name]
	if !ok {
		i = len(t.names)
		t.names = append(t.names, name)
		t.index[name] = i
	}
	return i
}

// letter reports whether a byte may begin a variable's name: letters, '_' and all that isn't ASCII.
func letter(c byte) bool { return c >= 0x80 || c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }

func digit(c byte) bool { return c >= '0' && c <= '9' }

// validName reports whether a variable can have this name.
func validName(name string) bool {
	if name == "" || !letter(name[0]) {
		return false
	}
	for i := range len(name) {
		if !letter(name[i]) && !digit(name[i]) {
			return false
		}
	}
	return true
}

// reference returns the name of the variable that text, which begins with a colon, refers to; "" if it isn't a
// reference.
func reference(text string) string {
	if len(text) < 2 || !letter(text[1]) {
		return ""
	}
	end := 2
	for end < len(text) && (letter(text[end]) || digit(text[end])) {
		end++
	}
	return text[1:end]
}
