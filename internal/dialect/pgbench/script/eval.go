package script

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxArguments is how many arguments a function can have.
const maxArguments = 16

// Limits of the parameters of random functions.
const (
	leastGaussian = 2.0
	leastZipfian  = 1.001
	mostZipfian   = 1000.0
)

// machine evaluates expressions with the variables and the random numbers of a client.
type machine struct {
	names  []string // of vars
	vars   []variable
	random prng
	debug  func(value)
	// problem is why the last evaluation failed; "" if pgbench says nothing of it.
	problem string
}

// fail keeps the reason of a failure.
func (m *machine) fail(problem string) (value, bool) {
	m.problem = problem
	return value{}, false
}

// eval evaluates an expression. ok is false if that failed.
func (m *machine) eval(n *node) (v value, ok bool) {
	switch n.op {
	case opConstant:
		return n.value, true
	case opVariable:
		return m.variable(n.slot)
	case opAnd, opOr:
		return m.logic(n)
	case opCase:
		return m.caseWhen(n.args)
	case opLeast, opGreatest:
		return m.extreme(n)
	}
	var a [3]value
	missing := false
	for i, argument := range n.args {
		if a[i], ok = m.eval(argument); !ok {
			return value{}, false
		}
		missing = missing || a[i].kind == null
	}
	switch {
	case n.op == opIs:
		return boolValue(a[0] == a[1]), true
	case n.op == opDebug:
		if m.debug != nil {
			m.debug(a[0])
		}
		return a[0], true
	case missing:
		return nullValue, true
	case n.op <= opLess:
		return m.arithmetic(n.op, a[0], a[1])
	case n.op <= opRight:
		return m.bitwise(n.op, a[0], a[1])
	}
	return m.call(n.op, &a)
}

// variable returns the value of a variable. It is found out from its text when it is first needed.
func (m *machine) variable(slot int) (value, bool) {
	v := &m.vars[slot]
	if v.value.kind != none {
		return v.value, true
	}
	if !v.known {
		return m.fail(`undefined variable "` + m.names[slot] + `"`)
	}
	x, problem := parseValue(v.text)
	if problem == malformed {
		problem = fmt.Sprintf(`malformed variable "%s" value: "%s"`, m.names[slot], v.text)
	}
	if x.kind == none {
		return m.fail(problem)
	}
	v.value = x
	return x, true
}

// malformed is the problem of a text that is no value.
const malformed = "malformed"

// parseValue returns the value of a variable's text. If its kind is none, problem says why.
func parseValue(text []byte) (v value, problem string) {
	if len(text) == 0 {
		return value{}, ""
	}
	is := func(word string) bool { return strings.EqualFold(string(text), word) }
	begins := func(word string) bool { return len(text) <= len(word) && is(word[:len(text)]) }
	switch {
	case is("null"):
		return nullValue, ""
	case begins("true"), begins("yes"), is("on"):
		return trueValue, ""
	case begins("false"), begins("no"), is("off"), is("of"):
		return falseValue, ""
	}
	trimmed := bytes.TrimLeft(text, " \t\n\v\f\r")
	if unsigned := bytes.TrimLeft(trimmed[:min(1, len(trimmed))], "+-"); allDigits(trimmed[min(1, len(trimmed)):]) &&
		allDigits(unsigned) {
		i, err := strconv.ParseInt(string(trimmed), 10, 64)
		switch {
		case errors.Is(err, strconv.ErrRange):
			return value{}, fmt.Sprintf(`value "%s" is out of range for type bigint`, text)
		case err != nil:
			return value{}, fmt.Sprintf(`invalid input syntax for type bigint: "%s"`, text)
		}
		return intValue(i), ""
	}
	f, err := parseDouble(string(text))
	if err != nil {
		return value{}, malformed
	}
	return doubleValue(f), ""
}

func allDigits(text []byte) bool {
	for _, c := range text {
		if !digit(c) {
			return false
		}
	}
	return true
}

// logic evaluates AND and OR. The right operand is evaluated only if it matters.
func (m *machine) logic(n *node) (value, bool) {
	for i, argument := range n.args {
		a, ok := m.eval(argument)
		if !ok || a.kind == null {
			return a, ok
		}
		b, ok := m.truth(a)
		if !ok {
			return value{}, false
		}
		if i == 1 || b == (n.op == opOr) {
			return boolValue(b), true
		}
	}
	return value{}, false
}

func (m *machine) caseWhen(args []*node) (value, bool) {
	for len(args) > 1 {
		condition, ok := m.eval(args[0])
		if !ok {
			return value{}, false
		}
		if condition.truth() {
			return m.eval(args[1])
		}
		args = args[2:]
	}
	return m.eval(args[0])
}

// extreme evaluates least and greatest.
func (m *machine) extreme(n *node) (value, bool) {
	var a [maxArguments]value
	missing, doubles := false, false
	for i, argument := range n.args[:min(len(n.args), maxArguments)] {
		var ok bool
		if a[i], ok = m.eval(argument); !ok {
			return value{}, false
		}
		missing = missing || a[i].kind == null
		doubles = doubles || a[i].kind == double
	}
	if len(n.args) > maxArguments {
		return m.fail("too many function arguments, maximum is " + strconv.Itoa(maxArguments))
	}
	if missing {
		return nullValue, true
	}
	if doubles {
		return fold(a[:len(n.args)], m.double, doubleValue, n.op == opLeast)
	}
	return fold(a[:len(n.args)], m.int, intValue, n.op == opLeast)
}

// fold returns the least or the greatest of values, as C's macros Min and Max do.
func fold[T int64 | float64](a []value, convert func(value) (T, bool), back func(T) value, least bool) (value, bool) {
	var extreme T
	for i, v := range a {
		x, ok := convert(v)
		if !ok {
			return value{}, false
		}
		if keep := least && extreme < x || !least && extreme > x; i == 0 || !keep {
			extreme = x
		}
	}
	return back(extreme), true
}

func (m *machine) truth(v value) (bool, bool) {
	if v.kind != boolean {
		m.problem = "cannot coerce " + v.kind.name() + " to boolean"
		return false, false
	}
	return v.i != 0, true
}

func (m *machine) int(v value) (int64, bool) {
	switch v.kind {
	case integer:
		return v.i, true
	case double:
		f := math.RoundToEven(v.f)
		if !(f >= -0x1p63 && f < 0x1p63) {
			m.problem = "double to int overflow for " + fixed(f)
			return 0, false
		}
		return int64(f), true
	default:
		m.problem = "cannot coerce " + v.kind.name() + " to int"
		return 0, false
	}
}

func (m *machine) double(v value) (float64, bool) {
	switch v.kind {
	case integer:
		return float64(v.i), true
	case double:
		return v.f, true
	default:
		m.problem = "cannot coerce " + v.kind.name() + " to double"
		return 0, false
	}
}

// ints and doubles convert two operands.
func (m *machine) ints(a, b value) (x, y int64, ok bool) {
	if x, ok = m.int(a); !ok {
		return 0, 0, false
	}
	y, ok = m.int(b)
	return x, y, ok
}

func (m *machine) doubles(a, b value) (x, y float64, ok bool) {
	if x, ok = m.double(a); !ok {
		return 0, 0, false
	}
	y, ok = m.double(b)
	return x, y, ok
}

// arithmetic evaluates an operator that takes integers and, but for %, doubles.
func (m *machine) arithmetic(o op, a, b value) (value, bool) {
	if (a.kind == double || b.kind == double) && o != opMod {
		x, y, ok := m.doubles(a, b)
		if !ok {
			return value{}, false
		}
		switch o {
		case opAdd:
			return doubleValue(x + y), true
		case opSub:
			return doubleValue(x - y), true
		case opMul:
			return doubleValue(x * y), true
		case opDiv:
			return doubleValue(x / y), true
		}
		return boolValue(compare(o, x, y)), true
	}
	x, y, ok := m.ints(a, b)
	if !ok {
		return value{}, false
	}
	switch o {
	case opAdd:
		if s := x + y; (s > x) == (y > 0) {
			return intValue(s), true
		}
		return m.fail("bigint add out of range")
	case opSub:
		if s := x - y; (s < x) == (y > 0) {
			return intValue(s), true
		}
		return m.fail("bigint sub out of range")
	case opMul:
		if p := x * y; x == 0 || p/x == y && !(x == -1 && y == math.MinInt64) {
			return intValue(p), true
		}
		return m.fail("bigint mul out of range")
	case opDiv, opMod:
		return m.divide(o, x, y)
	}
	return boolValue(compare(o, x, y)), true
}

func (m *machine) divide(o op, x, y int64) (value, bool) {
	switch {
	case y == 0:
		return m.fail("division by zero")
	case o == opDiv && y == -1 && x == math.MinInt64:
		return m.fail("bigint div out of range")
	case o == opDiv:
		return intValue(x / y), true
	}
	return intValue(x % y), true
}

func compare[T int64 | float64](o op, x, y T) bool {
	switch o {
	case opEqual:
		return x == y
	case opNotEqual:
		return x != y
	case opLessEqual:
		return x <= y
	default:
		return x < y
	}
}

// bitwise evaluates an operator on bits. Shifts use the lowest six bits of their count, as processors do.
func (m *machine) bitwise(o op, a, b value) (value, bool) {
	x, y, ok := m.ints(a, b)
	if !ok {
		return value{}, false
	}
	switch o {
	case opBitAnd:
		x &= y
	case opBitOr:
		x |= y
	case opBitXor:
		x ^= y
	case opLeft:
		x <<= y & 63
	default:
		x >>= y & 63
	}
	return intValue(x), true
}

// call evaluates NOT and the functions, of which no argument is NULL.
func (m *machine) call(o op, a *[3]value) (value, bool) {
	switch o {
	case opNot:
		b, ok := m.truth(a[0])
		return boolValue(!b), ok
	case opPi:
		return doubleValue(math.Pi), true
	case opAbs:
		if a[0].kind == integer {
			return intValue(max(a[0].i, -a[0].i)), true
		}
		if a[0].kind == boolean { // the C program takes its bits for a double's
			return doubleValue(math.Float64frombits(uint64(a[0].i))), true
		}
		f, ok := m.double(a[0])
		if f < 0 {
			f = -f
		}
		return doubleValue(f), ok
	case opInt:
		i, ok := m.int(a[0])
		return intValue(i), ok
	case opDouble, opSqrt, opLn, opExp:
		f, ok := m.double(a[0])
		return doubleValue(ofOne(o, f)), ok
	case opPow:
		x, y, ok := m.doubles(a[0], a[1])
		if !ok {
			return value{}, false
		}
		return doubleValue(pow(x, y)), true
	case opHashFNV1a:
		v, seed, ok := m.ints(a[0], a[1])
		return intValue(hashFNV1a(v, seed)), ok
	case opHashMurmur2:
		v, seed, ok := m.ints(a[0], a[1])
		return intValue(hashMurmur2(v, seed)), ok
	case opPermute:
		return m.permute(a)
	}
	return m.draw(o, a)
}

// ofOne is a function of one double.
func ofOne(o op, f float64) float64 {
	switch o {
	case opSqrt:
		return math.Sqrt(f)
	case opLn:
		return ln(f)
	case opExp:
		return exp(f)
	}
	return f
}

func (m *machine) permute(a *[3]value) (value, bool) {
	v, size, ok := m.ints(a[0], a[1])
	if !ok {
		return value{}, false
	}
	seed, ok := m.int(a[2])
	if !ok {
		return value{}, false
	}
	if size <= 0 {
		return m.fail("permute size parameter must be greater than zero")
	}
	return intValue(permute(v, size, seed)), true
}

// draw evaluates the random functions.
func (m *machine) draw(o op, a *[3]value) (value, bool) {
	low, high, ok := m.ints(a[0], a[1])
	if !ok {
		return value{}, false
	}
	if low > high {
		return m.fail("empty range given to random")
	}
	if size := uint64(high) - uint64(low); size >= math.MaxInt64 {
		return m.fail("random range is too large")
	}
	if o == opRandom {
		return intValue(m.random.uniform(low, high)), true
	}
	parameter, ok := m.double(a[2])
	if !ok {
		return value{}, false
	}
	switch o {
	case opGaussian:
		if parameter < leastGaussian {
			return m.fail(fmt.Sprintf("gaussian parameter must be at least %f (not %s)", leastGaussian, fixed(parameter)))
		}
		return intValue(m.random.gaussian(low, high, parameter)), true
	case opZipfian:
		if parameter < leastZipfian || parameter > mostZipfian {
			return m.fail(fmt.Sprintf("zipfian parameter must be in range [%.3f, %.0f] (not %s)", leastZipfian,
				mostZipfian, fixed(parameter)))
		}
		return intValue(m.random.zipfian(low, high, parameter)), true
	}
	if parameter <= 0 {
		return m.fail("exponential parameter must be greater than zero (not " + fixed(parameter) + ")")
	}
	return intValue(m.random.exponential(low, high, parameter)), true
}
