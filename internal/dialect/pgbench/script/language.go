package script

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"brunt/internal/load/gen"
	planscript "brunt/internal/plan/script"
	"brunt/internal/protocol"
)

// Name is the name of the language in plans.
const Name = "pgbench"

// language implements planscript.Language.
type language struct{}

// Language returns the language for plans. Its scripts can't run shell commands.
func Language() planscript.Language { return language{} }

// Name returns the name of the language in plans.
func (language) Name() string { return Name }

// Unlimited implements planscript.Limited: each client has a number of transactions.
func (language) Unlimited(options map[string]string) { delete(options, transactionsOption) }

// Compile compiles the scripts of a plan. Its program is a *Program.
func (language) Compile(s *planscript.Source) (planscript.Program, error) {
	o, err := ParseOptions(s.Options)
	if err != nil {
		return nil, err
	}
	if o.Clients == 0 {
		o.Clients = s.Sessions
	}
	p, fault := compileAll(s.Operations, o)
	if fault != nil {
		return nil, fault
	}
	return p, nil
}

// compileAll compiles scripts with complete options.
func compileAll(scripts []planscript.Operation, o Options) (*Program, *planscript.Error) {
	b := builder{options: o, names: newTable()}
	for i, operation := range scripts {
		script, err := parse(operation.Name, operation.Text, o, b.names)
		if fault := (*Error)(nil); errors.As(err, &fault) {
			return nil, &planscript.Error{Operation: i, Line: fault.Line, Column: fault.Column, Text: fault.Message}
		}
		script.Weight = operation.Weight
		for k := range script.Commands {
			if c := &script.Commands[k]; c.SQL {
				b.statements++
				c.number = b.statements
			}
		}
		if err := b.add(script); err != nil {
			return nil, &planscript.Error{Operation: i, Line: err.Line, Text: err.Message}
		}
	}
	return b.build(), nil
}

// Program is the compiled scripts of a load. It implements planscript.Program.
type Program struct {
	options  Options
	scripts  []*Script
	requests [][]protocol.Request
	commands [][]int // for each request, the command that it belongs to
	rollback []int   // the request of each script that rolls a transaction back
	names    []string
	index    map[string]int
	presets  []variable
	clientID int // slot; −1: it isn't used, or set by an option
	seeds    []uint64
	base     prng
	chosen   []uint64 // for each client, the seed of its choices
	total    float64  // of weights
	weights  []float64
	shares   bool // a weight isn't a whole number
	params   int  // most of any request
	counts   [][]count
}

// count is how often a command failed.
type count struct{ failures, retries atomic.Uint64 }

// Use gives scripts more than a database. It must be called before any session begins.
func (p *Program) Use(host *Host) { p.options.Host = host }

// Requests returns the requests that a script may send.
func (p *Program) Requests(operation int) []protocol.Request { return p.requests[operation] }

// Commands returns the commands of a script. Command numbers in pgbench's messages are their indexes.
func (p *Program) Commands(operation int) []Command { return p.scripts[operation].Commands }

// Command returns the index of the command that a request of a script belongs to: \endpipeline for a pipeline; −1 for
// the request that rolls back after a failure.
func (p *Program) Command(operation, request int) int { return p.commands[operation][request] }

// Counts returns how often serialization failures and deadlocks of a command failed the transaction, and how often it
// was repeated for them, as pgbench -r reports. It may be called during the load.
func (p *Program) Counts(operation, command int) (failures, retries uint64) {
	c := &p.counts[operation][command]
	return c.failures.Load(), c.retries.Load()
}

// DefaultSeed returns the variable default_seed that pgbench would set.
func (p *Program) DefaultSeed() int64 { return defaultSeedOf(p.options) }

// defaultSeedOf returns the value of default_seed unless an option sets it.
func defaultSeedOf(o Options) int64 {
	base := newPRNG(o.RandomSeed)
	for range o.Clients {
		base.next()
	}
	return int64(base.next())
}

// builder makes a program.
type builder struct {
	statements int // of all scripts
	options    Options
	names      *table
	program    Program
}

// add compiles a script.
func (b *builder) add(s *Script) *Error {
	c := compiler{builder: b, script: s}
	if err := c.compile(); err != nil {
		return err
	}
	p := &b.program
	p.scripts = append(p.scripts, s)
	c.commands = append(c.commands, -1)
	p.rollback = append(p.rollback, len(c.requests))
	p.requests = append(p.requests, append(c.requests,
		protocol.Request{Name: "ROLLBACK", Verb: protocol.SQL, Text: "ROLLBACK", Simple: true}))
	p.commands = append(p.commands, c.commands)
	p.counts = append(p.counts, make([]count, len(s.Commands)))
	p.weights = append(p.weights, s.Weight)
	p.total += s.Weight
	p.shares = p.shares || s.Weight != math.Trunc(s.Weight)
	return nil
}

// build finishes the program.
func (b *builder) build() *Program {
	p := &b.program
	p.options = b.options
	for name := range b.options.Variables {
		b.names.slot(name)
	}
	p.names, p.index = b.names.names, b.names.index
	p.presets = make([]variable, len(p.names))
	for name, text := range b.options.Variables {
		p.presets[p.index[name]].setText([]byte(text))
	}
	preset := func(name string, v int64) {
		if i, ok := p.index[name]; ok && !p.presets[i].defined() {
			p.presets[i].set(intValue(v))
		}
	}
	p.clientID = -1
	if i, ok := p.index["client_id"]; ok && !p.presets[i].defined() {
		p.clientID = i
	}
	preset("scale", b.options.Scale)
	preset("random_seed", int64(b.options.RandomSeed))
	p.seed()
	preset(defaultSeed, defaultSeedOf(b.options))
	return p
}

// seed draws what pgbench draws from the stream of --random-seed: a seed for each client, the default seed, then three
// seeds for each thread, the first of which is for the choice of scripts.
func (p *Program) seed() {
	p.base = newPRNG(p.options.RandomSeed)
	for range p.options.Clients {
		p.seeds = append(p.seeds, p.base.next())
	}
	if _, set := p.options.Variables[defaultSeed]; !set {
		p.base.next()
	}
	threads := max(p.options.Threads, 1)
	for client, thread := 0, 0; thread < threads && client < p.options.Clients; thread++ {
		choice := p.base.next()
		p.base.next()
		p.base.next()
		// The clients that aren't dealt yet are dealt evenly among the threads that have none.
		left := threads - thread
		of := (p.options.Clients - client + left - 1) / left
		for i := range of {
			p.chosen = append(p.chosen, choice+uint64(i)*sharing)
		}
		client += of
	}
}

// sharing tells apart the choices of clients of one thread.
const sharing = 0x632be59bd9b4e019

// sessionSeeds returns the seeds of a session's random numbers and of its choices.
func (p *Program) sessionSeeds(number int) (random, choice uint64) {
	if number < len(p.seeds) {
		return p.seeds[number], p.chosen[number]
	}
	// pgbench has no such client: the streams are of the same kind.
	more := p.base
	more.s0 ^= uint64(number) * sharing
	return more.next(), more.next()
}

// Session returns the state of a client.
func (p *Program) Session(number int) planscript.Session { return p.session(number) }

func (p *Program) session(number int) *session {
	random, choice := p.sessionSeeds(number)
	s := &session{program: p, number: number, choice: newPRNG(choice), failed: -1}
	s.machine = machine{names: p.names, vars: make([]variable, len(p.presets)), random: newPRNG(random)}
	for i := range p.presets {
		if v := &p.presets[i]; v.known {
			s.vars[i].setText(v.text)
		} else {
			s.vars[i].value = v.value
		}
	}
	if p.clientID >= 0 {
		s.vars[p.clientID].set(intValue(int64(number)))
	}
	if h := p.options.Host; h != nil && h.Debug != nil {
		s.debug = func(v value) {
			h.Debug(string(v.appendDebug(fmt.Appendf(nil, "debug(script=%d,command=%d): ", s.script, s.pc+1))))
		}
	}
	if h := p.options.Host; h != nil {
		s.timed = h.Timed != nil
		s.tracing = tracing{to: h.Trace, prepared: map[int]bool{}}
	}
	s.args = make([]gen.Value, 0, p.params)
	return s
}
