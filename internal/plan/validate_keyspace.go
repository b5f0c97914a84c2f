package plan

import (
	"slices"

	"brunt/internal/keyspace"
)

// keyspace checks what operations say of records.
func (c *checker) keyspace() {
	p := c.plan
	at := p.Where.At("keyspace", Position{})
	k := p.Keyspace
	if k != nil {
		if err := k.Validate(); err != nil {
			what, fix, _ := cutLast(err.Error(), "; ")
			c.add(at, fix, "keyspace: %s", what)
		}
	}
	for i := range p.Operations {
		op := &p.Operations[i]
		for s := range op.Steps {
			for _, param := range op.Steps[s].Params {
				switch {
				case param.Part == "":
				case k == nil:
					c.cross(param.At, "add a keyspace", "a part of a record, and the plan has no records")
				case param.Part == keyspace.Field && param.Field != "" && !slices.Contains(k.Fields, param.Field):
					c.cross(param.At, didYouMean(param.Field, k.Fields), "records have no field %q", param.Field)
				case !op.Inserts && k.Choice == nil && param.Part != keyspace.ScanLength:
					c.cross(param.At, "add choice to the keyspace, or inserts: true here", "nothing says which record is meant")
				}
			}
		}
	}
}

// variants checks the requests that may stand in for a step's own, and how they are picked.
func (c *checker) variants(s *Step) {
	at := s.Where.At("variants", s.At)
	if len(s.Variants) == 0 {
		if s.Pick != (Pick{}) {
			c.add(s.Where.At("pick", s.At), "remove it or add variants", "pick without variants")
		}
		c.parts(s)
		return
	}
	c.oneOf(s.Where.At("pick", at), "pick", s.Pick.By, PickTurn, PickWalk, PickField, PickOtherField)
	k := c.plan.Keyspace
	switch byField := s.Pick.By == PickField || s.Pick.By == PickOtherField; {
	case s.Pick.By == "":
		c.add(at, "add pick: turn", "variants, and nothing says how one is picked")
	case byField && (k == nil || len(k.Fields) != len(s.Variants)):
		c.add(at, "give one for each field of the keyspace", "%d variants can't be picked by field", len(s.Variants))
	}
	for i := range s.Variants[1:] {
		one := *s
		one.Request = s.Variants[i+1]
		c.request(&one)
		if len(one.Request.Capture) != len(s.Request.Capture) || one.Request.Rows != s.Request.Rows {
			c.add(at, "give all the same number of captures and rows", "variant %d differs from the first", i+2)
		}
	}
	c.parts(s)
}

// parts checks what only a step with a keyspace can have.
func (c *checker) parts(s *Step) {
	byField := s.Pick.By == PickField || s.Pick.By == PickOtherField
	for i := range s.Params {
		if p := &s.Params[i]; p.Part == keyspace.Field && p.Field == "" && !byField {
			c.add(p.At, "name it, or pick variants by field", "nothing says which field parameter %d is", i+1)
		}
	}
	if s.Check == "" {
		return
	}
	at := s.Where.At("check", s.At)
	c.oneOf(at, "check", string(s.Check), string(keyspace.CheckFields), string(keyspace.CheckSome), string(keyspace.CheckDocument))
	switch {
	case c.plan.Keyspace == nil:
		c.add(at, "add a keyspace", "a check of records, and the plan has none")
	case !c.plan.Keyspace.Integrity:
		c.add(at, "add integrity: true to the keyspace", "what records hold can't be checked")
	case len(s.Params) == 0 || s.Params[0].Part != keyspace.Key || len(s.Request.Capture) == 0:
		c.add(at, "make the record's key the first parameter, and capture its fields", "a check without a record")
	}
}
