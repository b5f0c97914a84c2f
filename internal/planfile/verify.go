package planfile

import (
	"go.yaml.in/yaml/v4"

	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/suggest"
)

// verifyForm returns the form of Step.Verify: how a statement's writes are read back.
func verifyForm(refs *references) form {
	read := newMapping("", "read", requestFields()...)
	read.after = func(r *reader, o *object, to any) { checkRequest(r, o, to.(*protocol.Request), "read") }
	read.rules = requestRules(false)
	params := list{of: custom[int]{refs.verified, func(k *int) *yaml.Node { return number(*k + 1) },
		anyOf(whole{1, 1 << 30}, words{name: true})}, flow: true, full: true}
	m := newMapping("verify", "verify",
		field{"read", "Read", read, "request that reads back what was written; its parameters are those of key", true},
		field{"key", "Key", params, "the statement's parameters that make the key, by name or number from 1; the first", false},
		field{"expect", "Expect", params, "the statement's parameters that read must capture, one for each capture; none",
			false},
		field{"from", "From", choice{"every", "one"}, "read from every address, or any one; every", false},
	)
	return pointer[plan.Verify]{m}
}

// verified reads a reference to a parameter of the current statement: its number from 1, or its name.
func (f *references) verified(r *reader, key string, n *yaml.Node, k *int) {
	if tagIs(n, "!!int") {
		*k = int(r.integerOf(n, "a parameter's number", 1, 1<<30)) - 1
		return
	}
	name := r.textOf(n, "a parameter")
	if !tagIs(n, "!!str") {
		return
	}
	at, ok := f.params[name]
	if ok && at[0] == f.step {
		*k = at[1]
		return
	}
	var own []string
	for _, have := range keysOf(f.params) {
		if f.params[have][0] == f.step {
			own = append(own, have)
		}
	}
	fix := "give the parameter that name, or write its number"
	if near := suggest.Nearest(name, own); near != "" {
		fix = "did you mean " + near + "?"
	}
	r.problemAt(n, fix, "verify names unknown parameter %q", name)
}

// verificationForm returns the form of Plan.Verify: how all writes are read back.
func verificationForm() form {
	return newMapping("", "verify",
		field{"after", "After", choice(plan.VerifyAfter()), "when: after the run, or also after each fault; run", false},
		field{"patience", "Patience", span{above: true},
			"for addresses to answer, and for readings to agree with what was written; 10s", false},
		field{"limit", "Limit", span{above: true}, "time limit of reading back; 10m", false},
		field{"connections", "Connections", whole{1, plan.MaxVerifyConnections}, "to each address; 8", false},
	)
}

// registersForm returns the form of keys that are contended during the load.
func registersForm() form {
	request := func(what string) *mapping {
		m := newMapping("", what, requestFields()...)
		m.after = func(r *reader, o *object, to any) { checkRequest(r, o, to.(*protocol.Request), what) }
		m.rules = requestRules(false)
		return m
	}
	m := newMapping("", "registers",
		field{"write", "Write", request("write"), "request that writes: $1 is the register's number, $2 the value", true},
		field{"read", "Read", request("read"), "request that reads: $1 is the register's number; it captures the value", true},
		field{"keys", "Keys", whole{1, plan.MaxRegisters}, "registers at a time; 2", false},
		field{"sessions", "Sessions", whole{1, plan.MaxRegisterSessions}, "that write and read them; 8", false},
		field{"rate", "RatePerS", decimal{bounded: true, above: true, hi: plan.MaxRegisterRate},
			"operations a second of all sessions; 100", false},
	)
	return pointer[plan.Registers]{m}
}
