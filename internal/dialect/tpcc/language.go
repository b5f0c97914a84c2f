package tpcc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/dialect/tpc"
	"brunt/internal/load/gen"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
	"brunt/internal/server/schema/sql"
)

// LanguageName is the name of the language of TPC-C's transactions in plans. Its scripts are the names of transactions.
const LanguageName = "tpcc"

// The options of the language.
const (
	optionSystem     = "system"
	optionWarehouses = "warehouses"
	optionLastNameC  = "last_name_c"
	optionItems      = "items"
	optionCustomers  = "customers"
	optionIsolation  = "isolation"
	optionThink      = "think"
	optionDeck       = "deck"
)

// Language is the language of TPC-C's transactions.
type Language struct {
	Now func() time.Time // the clock of dates in the data
}

var _ script.Language = Language{}

// Name returns LanguageName.
func (Language) Name() string { return LanguageName }

// Compile compiles transactions.
func (l Language) Compile(s *script.Source) (script.Program, error) {
	p := &program{seed: s.Seed, now: l.Now, sessions: s.Sessions}
	if err := p.options(s.Options); err != nil {
		return nil, err
	}
	p.of = slices.Repeat([]int{-1}, int(kinds))
	for i, op := range s.Operations {
		k, ok := kindOf(strings.TrimSpace(op.Text))
		if !ok {
			return nil, &script.Error{Operation: i, Line: 1, Text: fmt.Sprintf("there is no transaction %q; write new-order, "+
				"payment, order-status, delivery or stock-level", strings.TrimSpace(op.Text))}
		}
		if p.of[k] >= 0 {
			return nil, &script.Error{Operation: i, Line: 1, Text: "another operation is " + profiles[k].name + " too"}
		}
		p.of[k] = i
		p.kinds = append(p.kinds, k)
		p.weights[k] = op.Weight
		p.total += op.Weight
	}
	if p.deck {
		for k, i := range p.of {
			if i < 0 {
				return nil, fmt.Errorf("a deck of cards has all five transactions, and there is no %s; add it, or write deck: "+
					"\"no\"", profiles[k].name)
			}
		}
	}
	p.build()
	return p, nil
}

// program is the compiled transactions of a plan.
type program struct {
	Sizes
	Constants
	flavor     sql.Flavor
	system     protocol.Flavor
	warehouses int64
	isolation  string
	think      bool
	deck       bool
	seed       uint64
	sessions   int
	now        func() time.Time
	kinds      []Kind // by operation
	of         []int  // operations by kind; −1: none
	weights    [kinds]float64
	total      float64
	draws      [kinds]gen.Stream
	terminals  gen.Stream
	statements
}

// number reads an option that is a number of at least least.
func number(options map[string]string, name string, least, usual int64) (int64, error) {
	text, given := options[name]
	if !given {
		return usual, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least {
		return 0, fmt.Errorf("option %s: %q isn't a whole number of at least %d", name, text, least)
	}
	return n, nil
}

func yes(options map[string]string, name string, usual bool) (bool, error) {
	switch text, given := options[name]; {
	case !given:
		return usual, nil
	case text == "yes":
		return true, nil
	case text == "no":
		return false, nil
	default:
		return false, fmt.Errorf("option %s: %q is neither yes nor no", name, text)
	}
}

// options reads the options of the plan.
func (p *program) options(o map[string]string) (err error) {
	known := []string{optionSystem, optionWarehouses, optionLastNameC, optionItems, optionCustomers, optionIsolation,
		optionThink, optionDeck}
	for name := range o {
		if !slices.Contains(known, name) {
			return fmt.Errorf("TPC-C has no option %s; it has %s", name, strings.Join(known, ", "))
		}
	}
	name := o[optionSystem]
	flavor, ok := tpc.Flavor(name)
	if !ok {
		return fmt.Errorf("option %s: %q is none of %s", optionSystem, name, strings.Join(tpc.Systems(), ", "))
	}
	p.system = flavor
	full := Full()
	var lastName int64
	for _, one := range []struct {
		name         string
		least, usual int64
		to           *int64
	}{{optionWarehouses, 1, 1, &p.warehouses}, {optionItems, 1000, full.Items, &p.Items},
		{optionCustomers, 30, full.Customers, &p.Customers}, {optionLastNameC, 0, 0, &lastName}} {
		if *one.to, err = number(o, one.name, one.least, one.usual); err != nil {
			return err
		}
	}
	if lastName > lastNameA {
		return fmt.Errorf("option %s: %d is above %d", optionLastNameC, lastName, lastNameA)
	}
	p.Constants = RunConstants(p.seed, lastName)
	p.isolation = o[optionIsolation]
	if p.isolation != "" {
		if err := tpc.Isolation(p.isolation); err != nil {
			return err
		}
	}
	if p.think, err = yes(o, optionThink, true); err == nil {
		p.deck, err = yes(o, optionDeck, true)
	}
	return err
}

// build prepares what sessions share.
func (p *program) build() {
	p.flavor = tpc.SQL(p.system)
	for k := range kinds {
		p.draws[k] = gen.NewStream(p.seed, "tpcc", "load", profiles[k].name)
	}
	p.terminals = gen.NewStream(p.seed, "tpcc", "terminals")
	p.statements = newStatements(p.system, p.isolation)
}

// Requests returns the requests of an operation.
func (p *program) Requests(operation int) []protocol.Request { return p.lists[p.kinds[operation]] }

// Counters returns what an operation counts.
func (p *program) Counters(operation int) []string { return profiles[p.kinds[operation]].counts }

// Session returns a terminal. Ten of them belong to each warehouse, and each of the ten to one of its districts for
// Stock-Level (clauses 2.8.1.1, 4.2.2). Fewer are spread over the warehouses.
func (p *program) Session(number int) script.Session {
	s := &session{p: p, draws: p.terminals.At(uint64(number)),
		terminalWarehouse: int64(number)%p.warehouses + 1, terminalDistrict: int64(number)/p.warehouses%Districts + 1,
		number: int64(number)}
	s.Flavor = p.flavor
	return s
}
