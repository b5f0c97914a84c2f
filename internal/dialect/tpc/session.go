package tpc

import (
	"math"
	"strconv"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
	"brunt/internal/server/schema/sql"
)

// Flow executes a transaction statement by statement. It is embedded into the sessions of benchmarks, which set After
// with each statement.
type Flow struct {
	Flavor sql.Flavor
	args   []gen.Value
	n      int
	after  func(*protocol.Reply) script.Step
	inside bool // a transaction has begun
	failed protocol.Failure
}

// Start forgets what an earlier attempt has left.
func (f *Flow) Start() {
	f.n, f.inside, f.after, f.failed = 0, false, nil, protocol.Failure{}
}

// slot returns the next argument of the statement that is being built.
func (f *Flow) slot() *gen.Value {
	if f.n == len(f.args) {
		f.args = append(f.args, gen.Value{})
	}
	f.n++
	return &f.args[f.n-1]
}

// Int adds an integer argument.
func (f *Flow) Int(i int64) *Flow {
	f.slot().SetInt(i)
	return f
}

// Text adds a text.
func (f *Flow) Text(s string) *Flow {
	f.slot().SetString(s)
	return f
}

// Bytes adds a text, which is copied.
func (f *Flow) Bytes(s []byte) *Flow {
	v := f.slot()
	v.Kind, v.B = gen.String, append(v.B[:0], s...)
	return f
}

// Money adds an amount in hundredths.
func (f *Flow) Money(cents int64) *Flow {
	v := f.slot()
	v.Kind, v.I, v.Scale = gen.Decimal, cents, 2
	f.Flavor.Convert(v)
	return f
}

// Time adds a time.
func (f *Flow) Time(t time.Time) *Flow {
	v := f.slot()
	v.Kind, v.I = gen.Datetime, t.UnixMicro()
	f.Flavor.Convert(v)
	return f
}

// Send sends a request with the arguments that have been added, and calls after with its answer. If it fails, the
// transaction is rolled back and the operation ends with the failure.
func (f *Flow) Send(request int, after func(*protocol.Reply) script.Step) script.Step {
	f.after = after
	step := script.Step{Move: script.Send, Request: request, Args: f.args[:f.n]}
	f.n = 0
	return step
}

// Begin begins a transaction.
func (f *Flow) Begin(request int, after func() script.Step) script.Step {
	return f.Send(request, func(*protocol.Reply) script.Step {
		f.inside = true
		return after()
	})
}

// Commit commits the transaction and ends the operation.
func (f *Flow) Commit(request int, counts []uint32) script.Step {
	step := f.Send(request, func(*protocol.Reply) script.Step { return script.Step{Counts: counts} })
	f.inside = false // if COMMIT fails, nothing is left to be rolled back
	step.Last = true
	return step
}

// RollBack rolls the transaction back and then ends the operation with success, if the server has rolled back, and
// otherwise with the failure of ROLLBACK.
func (f *Flow) RollBack(request int, counts []uint32) script.Step {
	step := f.Commit(request, counts)
	return step
}

// Answered continues after an answer. rollback is the request that ends a failed transaction, or −1.
func (f *Flow) Answered(r *protocol.Reply, rollback int) script.Step {
	switch {
	case f.failed.Class != protocol.OK: // the answer to ROLLBACK, after a failure
		failure := f.failed
		if r.Class != protocol.OK && r.Fatal {
			failure.Fatal = true
		}
		return script.Step{Failure: failure}
	case r.Class == protocol.OK:
		return f.after(r)
	case r.Fatal || !f.inside || rollback < 0:
		return script.Step{Failure: r.Failure}
	}
	return f.Fail(r.Failure, rollback)
}

// Fail rolls the transaction back and ends the operation with a failure.
func (f *Flow) Fail(failure protocol.Failure, rollback int) script.Step {
	if !f.inside || rollback < 0 {
		return script.Step{Failure: failure}
	}
	f.failed, f.inside = failure, false
	return script.Step{Move: script.Send, Request: rollback}
}

// Missing is the failure of a transaction that didn't find a row that must be there.
func Missing(what string) protocol.Failure {
	return protocol.Failure{Class: protocol.Server, Code: "no-row", Text: "the database has no " + what}
}

// IntOf returns a captured integer; ok is false for null.
func IntOf(v *gen.Value) (i int64, ok bool) {
	switch v.Kind {
	case gen.Int, gen.Uint, gen.Bool:
		return v.I, true
	case gen.Float:
		return int64(math.Round(v.F)), true
	case gen.Decimal:
		return int64(math.Round(float64(v.I) / math.Pow10(int(v.Scale)))), true
	case gen.String, gen.Number:
		f, err := strconv.ParseFloat(string(v.B), 64)
		return int64(math.Round(f)), err == nil
	}
	return 0, false
}

// CentsOf returns a captured amount in hundredths; ok is false for null.
func CentsOf(v *gen.Value) (cents int64, ok bool) {
	switch v.Kind {
	case gen.Decimal:
		return int64(math.Round(float64(v.I) / math.Pow10(int(v.Scale)) * 100)), true
	case gen.Int, gen.Uint:
		return v.I * 100, true
	case gen.Float:
		return int64(math.Round(v.F * 100)), true
	case gen.String, gen.Number:
		f, err := strconv.ParseFloat(string(v.B), 64)
		return int64(math.Round(f * 100)), err == nil
	}
	return 0, false
}

// Statements are the requests of an operation while they are built.
type Statements struct {
	Flavor protocol.Flavor
	List   []protocol.Request
}

// Add adds a statement and returns its index. params has a letter for each parameter: i integer, m money, s text, t
// time. captures are the kinds of the columns that are kept, from the first on, in the same letters.
func (s *Statements) Add(name, text, params, captures string) int {
	r := protocol.Request{Name: name, Verb: protocol.SQL, Text: text}
	for _, c := range params {
		r.Params = append(r.Params, kindOf(c))
	}
	for i, c := range captures {
		r.Capture = append(r.Capture, protocol.Capture{Column: i, Kind: kindOf(c)})
	}
	s.List = append(s.List, r)
	return len(s.List) - 1
}

func kindOf(letter rune) gen.Kind {
	switch letter {
	case 'm':
		return gen.Decimal
	case 's':
		return gen.String
	case 't':
		return gen.Datetime
	}
	return gen.Int
}

// Frame adds the requests that begin, commit and roll back a transaction; −1 on systems without transactions over
// several statements.
func (s *Statements) Frame(name, isolation string) (begin, commit, rollback int) {
	if !Transactions(s.Flavor) {
		return -1, -1, -1
	}
	if s.Flavor == protocol.FlavorSQLite {
		isolation = "" // its transactions are serializable; the text would be a mode
	}
	n := len(s.List)
	s.List = append(s.List, protocol.Request{Name: name + "/begin", Verb: protocol.Begin, Text: isolation},
		protocol.Request{Name: name + "/commit", Verb: protocol.Commit},
		protocol.Request{Name: name + "/rollback", Verb: protocol.Rollback})
	return n, n + 1, n + 2
}

// ForUpdate returns the clause that locks the rows that a query reads; "" on systems without it.
func ForUpdate(f protocol.Flavor) string {
	if f == protocol.FlavorPostgreSQL || f == protocol.FlavorMySQL {
		return " FOR UPDATE"
	}
	return ""
}

// Transactions reports whether brunt can send a system transactions of several statements.
func Transactions(f protocol.Flavor) bool {
	return f != protocol.FlavorPicodata && f != protocol.FlavorTarantool
}
