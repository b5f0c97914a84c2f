package plan

import (
	"cmp"
	"fmt"
	"time"

	"brunt/internal/protocol"
)

// Verification says when and how acknowledged writes are read back; see Step.Verify. A zero field means the default
// given next to it.
type Verification struct {
	After       string        // AfterRun; or AfterEachFault: also during the load, after each fault. AfterRun
	Patience    time.Duration // how long to wait for addresses to answer and for readings to match the writes; 10 s
	Limit       time.Duration // total time; writes not read by then count as not checked. 10 min
	Connections int           // to each address; 8
	At          Position
	Where       Places // positions of its keys
}

// The values of Verification.After.
const (
	AfterRun       = "run"
	AfterEachFault = "each-fault"
)

// VerifyAfter returns the values of Verification.After.
func VerifyAfter() []string { return []string{AfterRun, AfterEachFault} }

// WithDefaults returns v with the default in every field that is zero.
func (v Verification) WithDefaults() Verification {
	v.After = cmp.Or(v.After, AfterRun)
	if v.Patience <= 0 {
		v.Patience = 10 * time.Second
	}
	if v.Limit <= 0 {
		v.Limit = 10 * time.Minute
	}
	if v.Connections <= 0 {
		v.Connections = 8
	}
	return v
}

// MaxVerifyConnections is the most of Verification.Connections.
const MaxVerifyConnections = 1000

// Verify says how a write of a step is read back. The read request gets the step's parameters that make the key, and
// its captures must equal the parameters that make the value. After a delete, the read must find nothing.
type Verify struct {
	Read   protocol.Request
	Key    []int  // parameters of the step, from 0; none means the first
	Expect []int  // parameters of the step, from 0, one for each capture of Read
	From   string // "every" address, or any "one"; "" means every
	At     Position
	Where  Places // positions of its keys
}

// Keys returns the indexes of the parameters that make the key.
func (v *Verify) Keys() []int {
	if len(v.Key) == 0 {
		return []int{0}
	}
	return v.Key
}

// Verifies reports whether any step's writes are read back.
func (p *Plan) Verifies() bool {
	for i := range p.Operations {
		for k := range p.Operations[i].Steps {
			if p.Operations[i].Steps[k].Verify != nil {
				return true
			}
		}
	}
	return false
}

// verification checks how writes are read back.
func (c *checker) verification() {
	v := &c.plan.Verify
	for _, d := range []struct {
		key string
		v   time.Duration
	}{{"patience", v.Patience}, {"limit", v.Limit}} {
		if d.v < 0 {
			c.add(v.Where.At(d.key, v.At), "give a time ≥ 0", "verify: %s is negative", d.key)
		}
	}
	if v.Connections < 0 || v.Connections > MaxVerifyConnections {
		c.add(v.Where.At("connections", v.At), fmt.Sprintf("give a number from 1 to %d", MaxVerifyConnections),
			"verify: connections is %d", v.Connections)
	}
	c.oneOf(v.Where.At("after", v.At), "after", v.After, VerifyAfter()...)
	if v.After == AfterEachFault && len(c.plan.Faults) == 0 {
		c.add(v.Where.At("after", v.At), "add faults, or remove it", "verify: after is %s, and the plan has no faults",
			v.After)
	}
	if len(v.Where) > 0 && !c.plan.Verifies() {
		c.add(v.At, "add verify to the query or statement that writes", "verify says how to read writes back, and no "+
			"operation has its writes read back")
	}
}

// verify checks how a step's writes are read back.
func (c *checker) verify(s *Step) {
	v := s.Verify
	if v == nil {
		return
	}
	at := func(key string) Position { return v.Where.At(key, v.At) }
	switch kind := s.Request.Kind(); {
	case kind == protocol.KindRead:
		c.add(v.At, "add it to the operation that writes", "verify in a request that only reads")
	case s.Request.Rows > 1 || s.Request.Verb == protocol.Batch:
		c.add(v.At, "write one row a request", "verify in a request of several rows")
	}
	c.oneOf(at("from"), "from", v.From, "every", "one")
	c.verifyParams(s, v.Keys(), at("key"), "key")
	c.verifyParams(s, v.Expect, at("expect"), "expect")
	deletes := s.Request.Kind() == protocol.KindDelete
	if deletes && len(v.Expect) > 0 {
		c.add(at("expect"), "remove it", "expect has no meaning in a request that deletes")
	}
	if have, want := len(v.Read.Capture), len(v.Expect); have != want && !deletes {
		c.add(at("expect"), "name a parameter for each capture of read", "read captures %d values, and expect names %d",
			have, want)
	}
	if v.Read.Kind() != protocol.KindRead && v.Read.Verb != protocol.Call && v.Read.Verb != protocol.Eval {
		c.add(at("read"), "give a request that changes nothing", "read is a request that writes")
	}
	read := Step{Request: v.Read, At: v.At, Where: v.Where}
	for _, k := range v.Keys() {
		if k >= 0 && k < len(s.Params) {
			p := s.Params[k]
			p.At = at("key")
			read.Params = append(read.Params, p)
		}
	}
	if len(read.Params) == len(v.Keys()) {
		c.request(&read)
	}
}

// verifyParams checks that parameters can be recomputed from the seed and the operation's number.
func (c *checker) verifyParams(s *Step, params []int, at Position, key string) {
	for _, k := range params {
		if k < 0 || k >= len(s.Params) {
			c.add(at, "name one of its parameters", "verify: %s names parameter %d, and there are %d", key, k+1, len(s.Params))
			continue
		}
		switch p := s.Params[k]; {
		case p.Part != "":
			c.add(at, "use a generated value", "verify: %s names parameter %d, which is a part of a record: what it was "+
				"can't be computed again after the load", key, k+1)
		case p.earlier() && !p.Argument:
			c.add(at, "use a generated value, or same_as", "verify: %s names parameter %d, which an earlier statement "+
				"captured: it can't be computed again from the seed and the operation's number", key, k+1)
		}
	}
}
