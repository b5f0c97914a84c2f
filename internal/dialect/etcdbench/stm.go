package etcdbench

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
)

// languageName is the name of Language in plans.
const languageName = "etcd-stm"

// Language compiles the transactions of benchmark's command stm: software transactional memory as in package
// concurrency of etcd's client. A transaction reads each of its keys, in a request of its own, puts new values to some
// of them, and commits on condition that what it read is unchanged; otherwise it begins again. Its options are the flags
// of stm.
type Language struct{}

// Name returns the language's name in plans.
func (Language) Name() string { return languageName }

// lockName is the name of the lock of --stm-locker, and sessionTTL the time to live of its lease, in seconds.
const (
	lockName   = "stmlock"
	sessionTTL = 60
)

// Compile reads the options.
func (Language) Compile(s *script.Source) (script.Program, error) {
	p := &stmProgram{stream: gen.NewStream(s.Seed, languageName)}
	var o Options
	o.STM.Isolation, o.STM.Locker = s.Options["isolation"], s.Options["stm-locker"]
	for name, to := range map[string]*int{"keys": &o.STM.Keys, "keys-per-txn": &o.STM.KeysPerTxn,
		"txn-wr-percent": &o.STM.WritePercent, "val-size": &o.ValSize} {
		n, err := strconv.Atoi(s.Options[name])
		if err != nil {
			return nil, fmt.Errorf("option %s of scripts is %q: give a whole number", name, s.Options[name])
		}
		*to = n
	}
	if err := o.checkSTM(); err != nil {
		return nil, err
	}
	for i, op := range s.Operations {
		if strings.TrimSpace(op.Text) != "stm" {
			return nil, &script.Error{Operation: i, Line: 1, Text: "a script in this language is the word stm"}
		}
	}
	p.STM, p.valSize = o.STM, o.ValSize
	p.writes = int(float32(p.KeysPerTxn*p.WritePercent) / 100)
	p.values = gen.Func(func(v *gen.Value, index uint64) {
		r := p.stream.Sub("values").At(index)
		v.Kind, v.B = gen.Bytes, v.B[:0]
		for range p.valSize {
			v.B = append(v.B, byte(r.Uint64()>>56))
		}
	})
	return p, nil
}

// stmProgram is a compiled command.
type stmProgram struct {
	STM
	valSize int
	writes  int // puts of a transaction
	stream  gen.Stream
	values  gen.Generator
}

// The requests of a transaction.
const (
	readLinear = iota // of the newest state
	readAt            // of the state at a revision, as the member knows it
	readMember        // of the state that the member knows
	commit
	grant // requests of the lock
	keep
	lock
	unlock
)

// repeats reports whether a transaction that begins again uses what the failed commit has read.
func (p *stmProgram) repeats() bool { return p.Isolation == "s" || p.Isolation == "ss" }

// Requests returns the requests that a transaction may send.
func (p *stmProgram) Requests(int) []protocol.Request {
	read := []protocol.Capture{{Name: "0.mod_revision", Kind: gen.Int}, {Name: "0.revision", Kind: gen.Int}}
	of := func(text string, params []gen.Kind, captures []protocol.Capture) protocol.Request {
		return protocol.Request{Verb: protocol.Command, Words: strings.Fields(text), Params: params, Capture: captures}
	}
	key := []gen.Kind{gen.Bytes}
	all := []protocol.Request{
		readLinear: of("txn then get $1", key, read),
		readAt:     of("txn then get $1 --rev=$2 --consistency=s", []gen.Kind{gen.Bytes, gen.Int}, read),
		readMember: of("txn then get $1 --consistency=s", key, read),
		commit:     p.commit(),
	}
	if p.Locker == "lock-rpc" {
		all = append(all, of(fmt.Sprintf("lease-grant %d", sessionTTL), nil, []protocol.Capture{{Name: "id", Kind: gen.Int}}),
			of("lease-keepalive $1", []gen.Kind{gen.Int}, nil),
			of("lock "+lockName+" --lease=$1", []gen.Kind{gen.Int}, []protocol.Capture{{Name: "key"}}),
			of("unlock $1", key, nil))
	}
	return all
}

// commit returns the request that commits. Its parameters are the keys, the revisions of those that were read, with ss
// the first revision after the reads, and the values. Keys that are put come first.
func (p *stmProgram) commit() protocol.Request {
	n := p.KeysPerTxn
	words := []string{"txn"}
	var params []gen.Kind
	param := func(kind gen.Kind) string { params = append(params, kind); return "$" + strconv.Itoa(len(params)) }
	keys, conditions := make([]string, n), 0
	condition := func(key, sign, operand string) {
		words = append(words, map[bool]string{true: "if", false: ";"}[conditions == 0], "mod", key, sign, operand)
		conditions++
	}
	for i := range keys {
		keys[i] = param(gen.Bytes)
	}
	if p.Isolation != "c" {
		for _, k := range keys {
			condition(k, "=", param(gen.Int))
		}
	}
	if p.Isolation == "ss" && p.writes > 0 {
		after := param(gen.Int)
		for _, k := range keys[:p.writes] {
			condition(k, "<", after)
		}
	}
	words = append(words, "then")
	for i, k := range keys[:p.writes] {
		if i > 0 {
			words = append(words, ";")
		}
		words = append(words, "put", k, param(gen.Bytes))
	}
	captures := []protocol.Capture{{Name: "succeeded", Kind: gen.Int}}
	if p.repeats() && n > 0 {
		words = append(words, "else")
		for i, k := range keys {
			if i > 0 {
				words = append(words, ";")
			}
			words = append(words, "get", k)
			captures = append(captures, protocol.Capture{Name: strconv.Itoa(i) + ".mod_revision", Kind: gen.Int},
				protocol.Capture{Name: strconv.Itoa(i) + ".revision", Kind: gen.Int})
		}
	}
	return protocol.Request{Verb: protocol.Command, Words: words, Params: params, Capture: captures}
}

// Session returns the state of a session.
func (p *stmProgram) Session(int) script.Session {
	return &stmSession{p: p, keys: make([]uint64, p.KeysPerTxn), revisions: make([]int64, p.KeysPerTxn)}
}

// stmSession runs transactions.
type stmSession struct {
	p         *stmProgram
	index     uint64
	attempt   uint64
	keys      []uint64 // numbers of the keys
	revisions []int64  // that were read
	first     int64    // the least revision of the store at a read
	read      int      // how many keys have been read
	sent      int      // the request whose answer is awaited
	lease     int64
	kept      time.Time // when the lease was granted or kept alive
	lockKey   gen.Value
	failure   protocol.Failure // the transaction's, while the lock is released
	args      []gen.Value
}

// Begin draws the keys of a transaction, all different.
func (s *stmSession) Begin(_ int, index uint64) script.Step {
	s.index, s.attempt = index, 0
	r := s.p.stream.Sub("keys").At(index)
	for i := range s.keys {
		for fresh := false; !fresh; {
			s.keys[i], fresh = r.Uint64n(uint64(s.p.Keys)), true
			for _, k := range s.keys[:i] {
				fresh = fresh && k != s.keys[i]
			}
		}
	}
	return s.Again()
}

// Again begins the transaction.
func (s *stmSession) Again() script.Step {
	switch {
	case s.p.Locker == "stm":
		return s.apply()
	case s.lease == 0:
		return s.send(grant)
	case time.Since(s.kept) > sessionTTL/3*time.Second:
		s.args = s.args[:0]
		s.add().SetInt(s.lease)
		return s.send(keep)
	}
	return s.lock()
}

// Resume isn't called, since there are no pauses.
func (s *stmSession) Resume() script.Step { return script.Step{} }

func (s *stmSession) lock() script.Step {
	s.args = s.args[:0]
	s.add().SetInt(s.lease)
	return s.send(lock)
}

// apply begins to read.
func (s *stmSession) apply() script.Step {
	s.read, s.first = 0, math.MaxInt64-1
	s.attempt++
	return s.next()
}

// add returns the next argument.
func (s *stmSession) add() *gen.Value {
	if len(s.args) == cap(s.args) {
		s.args = append(s.args, gen.Value{})
	} else {
		s.args = s.args[:len(s.args)+1]
	}
	return &s.args[len(s.args)-1]
}

// addKey adds a key: 16 bytes that begin with the varint of a number.
func (s *stmSession) addKey(number uint64) {
	var b [16]byte
	binary.PutVarint(b[:], int64(number))
	v := s.add()
	v.Kind, v.B = gen.Bytes, append(v.B[:0], b[:]...)
}

func (s *stmSession) send(request int) script.Step {
	s.sent = request
	return script.Step{Move: script.Send, Request: request, Args: s.args,
		Last: request == commit && s.p.Locker == "stm" || request == unlock}
}

// next reads the next key, or commits.
func (s *stmSession) next() script.Step {
	s.args = s.args[:0]
	if s.read == len(s.keys) {
		return s.commit()
	}
	s.addKey(s.keys[s.read])
	switch {
	case !s.p.repeats():
		return s.send(readMember)
	case s.read == 0:
		return s.send(readLinear)
	}
	s.add().SetInt(s.first)
	return s.send(readAt)
}

func (s *stmSession) commit() script.Step {
	for _, k := range s.keys {
		s.addKey(k)
	}
	if s.p.Isolation != "c" {
		for _, r := range s.revisions {
			s.add().SetInt(r)
		}
	}
	if s.p.Isolation == "ss" && s.p.writes > 0 {
		s.add().SetInt(s.first + 1)
	}
	for i := range s.p.writes {
		s.p.values.Value(s.add(), s.index<<24|s.attempt&0xfff<<12|uint64(i)&0xfff)
	}
	return s.send(commit)
}

// Answered continues after an answer.
func (s *stmSession) Answered(r *protocol.Reply) script.Step {
	if r.Class != protocol.OK {
		return s.failed(r.Failure)
	}
	switch s.sent {
	case grant:
		s.lease = r.Captured[0].I
		s.kept = time.Now()
		return s.lock()
	case keep:
		s.kept = time.Now()
		return s.lock()
	case lock:
		s.lockKey.Set(&r.Captured[0])
		s.failure = protocol.Failure{}
		return s.apply()
	case unlock:
		return script.Step{Failure: s.failure}
	case commit:
		return s.committed(r)
	}
	s.revisions[s.read], s.first = r.Captured[0].I, min(s.first, r.Captured[1].I)
	s.read++
	return s.next()
}

// committed continues after the answer to a commit.
func (s *stmSession) committed(r *protocol.Reply) script.Step {
	switch {
	case r.Captured[0].I == 1:
		return s.end(protocol.Failure{})
	case !s.p.repeats():
		return s.apply()
	}
	s.first = math.MaxInt64 - 1
	s.attempt++
	for i := range s.revisions {
		s.revisions[i], s.first = r.Captured[1+2*i].I, min(s.first, r.Captured[2+2*i].I)
	}
	s.args = s.args[:0]
	return s.commit()
}

func (s *stmSession) failed(f protocol.Failure) script.Step {
	if s.sent == grant || s.sent == keep || s.sent == lock || s.sent == unlock || f.Fatal {
		s.lease = 0
		return script.Step{Failure: f}
	}
	return s.end(f)
}

// end ends a transaction: it releases the lock, if there is one.
func (s *stmSession) end(f protocol.Failure) script.Step {
	if s.p.Locker == "stm" {
		return script.Step{Failure: f}
	}
	s.failure = f
	s.args = s.args[:0]
	s.add().Set(&s.lockKey)
	return s.send(unlock)
}
