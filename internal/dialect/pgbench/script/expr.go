package script

import "strings"

// op is what a node of an expression does.
type op uint8

const (
	opConstant op = iota
	opVariable
	// Operators.
	opAdd
	opSub
	opMul
	opDiv
	opMod
	opEqual
	opNotEqual
	opLessEqual
	opLess
	opBitAnd
	opBitOr
	opBitXor
	opLeft
	opRight
	opNot
	opAnd
	opOr
	opIs
	opCase
	// Functions.
	opAbs
	opDebug
	opDouble
	opExp
	opGreatest
	opHashFNV1a
	opHashMurmur2
	opInt
	opLeast
	opLn
	opPermute
	opPi
	opPow
	opRandom
	opExponential
	opGaussian
	opZipfian
	opSqrt
)

// node is a node of an expression.
type node struct {
	op    op
	value value // opConstant
	slot  int   // opVariable
	args  []*node
}

func constant(v value) *node                   { return &node{op: opConstant, value: v} }
func operation(o op, arguments ...*node) *node { return &node{op: o, args: arguments} }

// function is what is known of a function by its name.
type function struct {
	op    op
	least int // number of arguments
	most  int // anyNumber, or more than least: the last one may be left out
}

const anyNumber = -1

// defaultSeed is the variable that is the second argument of hash functions, and the third one of permute, if they are
// called without.
const defaultSeed = "default_seed"

var calls = map[string]function{
	"abs": {op: opAbs, least: 1, most: 1}, "debug": {op: opDebug, least: 1, most: 1},
	"double": {op: opDouble, least: 1, most: 1}, "exp": {op: opExp, least: 1, most: 1},
	"greatest": {op: opGreatest, least: 1, most: anyNumber}, "hash": {op: opHashMurmur2, least: 1, most: 2},
	"hash_fnv1a": {op: opHashFNV1a, least: 1, most: 2}, "hash_murmur2": {op: opHashMurmur2, least: 1, most: 2},
	"int": {op: opInt, least: 1, most: 1}, "least": {op: opLeast, least: 1, most: anyNumber},
	"ln": {op: opLn, least: 1, most: 1}, "mod": {op: opMod, least: 2, most: 2},
	"permute": {op: opPermute, least: 2, most: 3}, "pi": {op: opPi}, "pow": {op: opPow, least: 2, most: 2},
	"power": {op: opPow, least: 2, most: 2}, "random": {op: opRandom, least: 2, most: 2},
	"random_exponential": {op: opExponential, least: 3, most: 3},
	"random_gaussian":    {op: opGaussian, least: 3, most: 3},
	"random_zipfian":     {op: opZipfian, least: 3, most: 3}, "sqrt": {op: opSqrt, least: 1, most: 1},
}

// Levels of precedence, from the loosest.
const (
	levelOr = 1 + iota
	levelAnd
	levelNot
	levelIs
	levelCompare
	levelBit
	levelSum
	levelProduct
	levelSign
)

// binary is an operator between two operands.
type binary struct {
	op      op
	level   int
	swapped bool // the right operand is the first argument
}

var operators = map[token]binary{
	orToken: {op: opOr, level: levelOr}, andToken: {op: opAnd, level: levelAnd},
	'<': {op: opLess, level: levelCompare}, lessEqualToken: {op: opLessEqual, level: levelCompare},
	'>':               {op: opLess, level: levelCompare, swapped: true},
	greaterEqualToken: {op: opLessEqual, level: levelCompare, swapped: true},
	'=':               {op: opEqual, level: levelCompare}, notEqualToken: {op: opNotEqual, level: levelCompare},
	'|': {op: opBitOr, level: levelBit}, '#': {op: opBitXor, level: levelBit}, '&': {op: opBitAnd, level: levelBit},
	leftToken: {op: opLeft, level: levelBit}, rightToken: {op: opRight, level: levelBit},
	'+': {op: opAdd, level: levelSum}, '-': {op: opSub, level: levelSum},
	'*': {op: opMul, level: levelProduct}, '/': {op: opDiv, level: levelProduct},
	'%': {op: opMod, level: levelProduct},
}

// maxDepth bounds how deep expressions nest, as the parser that pgbench's is made with does.
const maxDepth = 10000

// exprParser parses an expression by precedence climbing.
type exprParser struct {
	*line
	names *table
	depth int
}

// expression parses the rest of a command as an expression.
func (l *line) expression(names *table) (*node, error) {
	p := &exprParser{line: l, names: names}
	if err := p.next(); err != nil {
		return nil, err
	}
	n, err := p.parse(levelOr)
	if err == nil && p.token != endToken {
		err = p.wrong()
	}
	return n, err
}

// wrong returns the error for a token that doesn't fit.
func (p *exprParser) wrong() error { return p.fault("syntax error", "") }

// expect reads over a token.
func (p *exprParser) expect(t token) error {
	if p.token != t {
		return p.wrong()
	}
	return p.next()
}

// parse parses an expression of operators that bind at least as tightly as level.
func (p *exprParser) parse(level int) (*node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fault("memory exhausted", "")
	}
	defer func() { p.depth-- }()
	left, err := p.operand()
	compared := false // left is a comparison that isn't in parentheses
	for err == nil {
		switch o, ok := operators[p.token]; {
		case level <= levelIs && (p.token == isToken || p.token == isNullToken || p.token == notNullToken):
			left, err = p.is(left)
			compared = false
		case !ok || o.level < level:
			return left, nil
		case compared && o.level == levelCompare:
			return nil, p.wrong()
		default:
			left, err = p.apply(o, left)
			compared = o.level == levelCompare
		}
	}
	return nil, err
}

// apply parses an operator's right operand.
func (p *exprParser) apply(o binary, left *node) (*node, error) {
	if err := p.next(); err != nil {
		return nil, err
	}
	right, err := p.parse(o.level + 1)
	if err != nil {
		return nil, err
	}
	if o.swapped {
		left, right = right, left
	}
	return operation(o.op, left, right), nil
}

// is parses what follows an operand: ISNULL, NOTNULL or IS [NOT] constant.
func (p *exprParser) is(left *node) (*node, error) {
	t := p.token
	if err := p.next(); err != nil {
		return nil, err
	}
	switch t {
	case isNullToken:
		return operation(opIs, left, constant(nullValue)), nil
	case notNullToken:
		return operation(opNot, operation(opIs, left, constant(nullValue))), nil
	}
	negated := p.token == notToken
	if negated {
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	var what *node
	switch p.token {
	case nullToken:
		what = constant(nullValue)
	case booleanToken:
		what = constant(p.value)
	default:
		return nil, p.wrong()
	}
	n := operation(opIs, left, what)
	if negated {
		n = operation(opNot, n)
	}
	return n, p.next()
}

// operand parses an operand with its prefix operators.
func (p *exprParser) operand() (*node, error) {
	t := p.token
	switch t {
	case '+', '-', '~', notToken, '(':
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	switch t {
	case '+':
		return p.parse(levelSign)
	case '-':
		if p.token == biggestToken {
			return constant(intValue(-1 << 63)), p.next()
		}
		n, err := p.parse(levelSign)
		return operation(opSub, constant(intValue(0)), n), err
	case '~':
		n, err := p.parse(levelSum)
		return operation(opBitXor, constant(intValue(-1)), n), err
	case notToken:
		n, err := p.parse(levelNot)
		return operation(opNot, n), err
	case '(':
		n, err := p.parse(levelOr)
		if err != nil {
			return nil, err
		}
		return n, p.expect(')')
	case integerToken, doubleToken, booleanToken:
		n := constant(p.value)
		return n, p.next()
	case nullToken:
		return constant(nullValue), p.next()
	case variableToken:
		n := &node{op: opVariable, slot: p.names.slot(p.name)}
		return n, p.next()
	case functionToken:
		return p.call()
	case caseToken:
		return p.caseWhen()
	}
	return nil, p.wrong()
}

// call parses a call of a function.
func (p *exprParser) call() (*node, error) {
	f, ok := calls[strings.ToLower(p.name)]
	if !ok {
		return nil, p.fault("unexpected function name", p.name)
	}
	// pgbench says the name as its table has it.
	name := strings.ToLower(p.name)
	if err := p.next(); err != nil {
		return nil, err
	}
	if err := p.expect('('); err != nil {
		return nil, err
	}
	n := operation(f.op)
	for first := true; p.token != ')'; first = false {
		// An empty first argument may be followed by a comma: so the grammar of pgbench has it.
		if !first || p.token == ',' {
			if err := p.expect(','); err != nil {
				return nil, err
			}
		}
		argument, err := p.parse(levelOr)
		if err != nil {
			return nil, err
		}
		n.args = append(n.args, argument)
	}
	switch count := len(n.args); {
	case f.most == anyNumber && count == 0:
		return nil, p.fault("at least one argument expected", name)
	case count < f.least, f.most != anyNumber && count > f.most:
		return nil, p.fault("unexpected number of arguments", name)
	case count < f.most:
		n.args = append(n.args, &node{op: opVariable, slot: p.names.slot(defaultSeed)})
	}
	return n, p.next()
}

// caseWhen parses CASE WHEN … THEN … [WHEN …] [ELSE …] END. Its arguments are conditions with their results, and the
// result if none holds.
func (p *exprParser) caseWhen() (*node, error) {
	n := operation(opCase)
	if err := p.next(); err != nil {
		return nil, err
	}
	part := func(t token) error {
		if err := p.expect(t); err != nil {
			return err
		}
		argument, err := p.parse(levelOr)
		n.args = append(n.args, argument)
		return err
	}
	for first := true; first || p.token == whenToken; first = false {
		if err := part(whenToken); err != nil {
			return nil, err
		}
		if err := part(thenToken); err != nil {
			return nil, err
		}
	}
	if p.token != elseToken {
		n.args = append(n.args, constant(nullValue))
	} else if err := part(elseToken); err != nil {
		return nil, err
	}
	return n, p.expect(endKeyToken)
}
