package plan

import (
	"cmp"
	"fmt"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// Registers configures a linearizability check: a few dedicated sessions concurrently write and read keys during the
// load, and the history of each key is checked. A zero field means the default given next to it.
type Registers struct {
	Write    protocol.Request // two parameters: the register's number, and a value unique to this write
	Read     protocol.Request // one parameter: the register's number; it captures the value
	Keys     int              // number of registers in use at once; 2
	Sessions int              // over all addresses, which limits how many contend for a register; 8
	RatePerS float64          // operations a second of all sessions together; 100
	At       Position
	Where    Places // positions of its keys
}

// Limits of registers. More sessions aren't allowed because the time of the check grows with their number.
const (
	MaxRegisters        = 64
	MaxRegisterSessions = 8
	MaxRegisterRate     = 10_000
)

// WithDefaults returns r with the default in every field that is zero.
func (r Registers) WithDefaults() Registers {
	r.Keys = cmp.Or(r.Keys, 2)
	r.Sessions = cmp.Or(r.Sessions, MaxRegisterSessions)
	r.RatePerS = cmp.Or(r.RatePerS, 100)
	return r
}

// registers checks the plan's registers.
func (c *checker) registers() {
	r := c.plan.Registers
	if r == nil {
		return
	}
	at := func(key string) Position { return r.Where.At(key, r.At) }
	number := func(key string, n, most int) {
		if n < 0 || n > most {
			c.add(at(key), fmt.Sprintf("give a number from 1 to %d", most), "registers: %s is %d", key, n)
		}
	}
	number("keys", r.Keys, MaxRegisters)
	number("sessions", r.Sessions, MaxRegisterSessions)
	if !(r.RatePerS >= 0 && r.RatePerS <= MaxRegisterRate) {
		c.add(at("rate"), fmt.Sprintf("give a rate up to %d", MaxRegisterRate), "registers: rate is %v", r.RatePerS)
	}
	if r.Write.Kind() == protocol.KindRead {
		c.add(at("write"), "give a request that writes", "registers: write is a request that only reads")
	}
	if n := len(r.Read.Capture); n != 1 {
		c.add(at("read"), "add capture: with the column of the value", "registers: read captures %d values instead of one", n)
	}
	param := func(key string) Param {
		return Param{Value: &ValueSpec{Spec: gen.Spec{Type: gen.TypeInteger}, At: at(key)}, At: at(key)}
	}
	write := Step{Request: r.Write, At: at("write"), Params: []Param{param("write"), param("write")}}
	read := Step{Request: r.Read, At: at("read"), Params: []Param{param("read")}}
	c.request(&write)
	c.request(&read)
}
