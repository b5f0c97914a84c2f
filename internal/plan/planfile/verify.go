package planfile

import (
	"go.yaml.in/yaml/v4"

	"brunt/internal/base/suggest"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile/form"
)

// verifyForm returns the form of Step.Verify: how a statement's writes are read back.
func verifyForm(refs *references) form.Form {
	params := form.List{Of: form.Custom[int]{In: refs.verified,
		Out: func(k *int) *yaml.Node { return form.Number(*k + 1) }, As: form.AnyOf(form.Whole(1, 1<<30), form.Name())},
		Flow: true, Full: true}
	m := form.NewMapping("verify", "verify",
		form.Required("read", "Read", requestMapping("", "read"),
			"request that reads back what was written; its parameters are those of key"),
		form.Key("key", "Key", params, "the statement's parameters that make the key, by name or number from 1; the first"),
		form.Key("expect", "Expect", params, "the statement's parameters that read must capture, one for each capture; none"),
		form.Key("from", "From", form.Choice{"every", "one"}, "read from every address, or any one; every"),
	)
	return pointer[plan.Verify]{m}
}

// verified reads a reference to a parameter of the current statement: its number from 1, or its name.
func (f *references) verified(r *form.Reader, key string, n *yaml.Node, k *int) {
	if form.TagIs(n, "!!int") {
		*k = int(r.IntegerOf(n, "a parameter's number", 1, 1<<30)) - 1
		return
	}
	name := r.TextOf(n, "a parameter")
	if !form.TagIs(n, "!!str") {
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
	fix := suggest.Or(name, own, "give the parameter that name, or write its number")
	r.ProblemAt(n, fix, "verify names unknown parameter %q", name)
}

// verificationForm returns the form of Plan.Verify: how all writes are read back.
func verificationForm() form.Form {
	return form.NewMapping("", "verify",
		form.Key("after", "After", form.Choice(plan.VerifyAfter()), "when: after the run, or also after each fault; run"),
		form.Key("patience", "Patience", form.Span{Above: true},
			"for addresses to answer, and for readings to agree with what was written; 10s"),
		form.Key("limit", "Limit", form.Span{Above: true}, "time limit of reading back; 10m"),
		form.Key("connections", "Connections", form.Whole(1, plan.MaxVerifyConnections), "to each address; 8"),
	)
}

// registersForm returns the form of keys that are contended during the load.
func registersForm() form.Form {
	m := form.NewMapping("", "registers",
		form.Required("write", "Write", requestMapping("", "write"),
			"request that writes: $1 is the register's number, $2 the value"),
		form.Required("read", "Read", requestMapping("", "read"),
			"request that reads: $1 is the register's number; it captures the value"),
		form.Key("keys", "Keys", form.Whole(1, plan.MaxRegisters), "registers at a time; 2"),
		form.Key("sessions", "Sessions", form.Whole(1, plan.MaxRegisterSessions), "that write and read them; 8"),
		form.Key("rate", "RatePerS", form.Decimal{Bounded: true, Above: true, Hi: plan.MaxRegisterRate},
			"operations a second of all sessions; 100"),
	)
	return pointer[plan.Registers]{m}
}
