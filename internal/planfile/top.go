package planfile

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/secret"
)

// newFormat returns the form of a plan file with all its keys. It defines the reader, the writer and the JSON Schema.
func newFormat() *mapping {
	s := &state{}
	queries, transactions := operationForms(s)
	phase := newPhaseForm(s)
	phases := custom[[]plan.Phase]{
		out: func(load *[]plan.Phase) *yaml.Node {
			out := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
			for i := range *load {
				out.Content = append(out.Content, phase.node(&(*load)[i]))
			}
			if len(out.Content) == 0 {
				return nil
			}
			return out
		},
		as: list{of: phase.all, full: true}.schema,
	}
	prepare := newMapping("prepare", "a request", requestFields()...)
	prepare.after = func(r *reader, o *object, to any) { checkRequest(r, o, to.(*protocol.Request), "a request") }
	prepare.rules = requestRules(false)
	fields := []field{
		{"config_name", "Name", words{name: true}, "name of the plan; the file's name", false},
		{"seed", "Seed", unsigned{always: true}, "of all random choices; 0", false},
		{"first", "First", unsigned{},
			"number of the first operation: the load goes on where one of so many operations ended; 0", false},
		{"target", "", targetForm(s), "where the load goes", false},
	}
	fields = append(fields, under("Settings", settingsFields()...)...)
	fields = append(fields,
		field{"tables_schema", "Tables", list{of: tableMapping(), sound: true, cross: true}, "tables to create and fill",
			false},
		field{"indexes", "Indexes", list{of: indexMapping(), sound: true}, "indexes to create", false},
		field{"prepare", "Prepare", list{of: prepare}, "requests that are sent once before the load", false},
		field{"keyspace", "Keyspace", keyspaceForm(), "records that operations are on, as YCSB has them", false},
		field{"queries", "Operations", queries, "operations of one request", false},
		field{"transactions", "Operations", transactions, "operations of several requests", false},
		field{"mix", "", custom[plan.Plan]{out: mixNode, as: mixWords().schema},
			"how operations are chosen: count makes a queue, weight draws, turn takes them by turns; count if there are counts and no load", false},
		field{"turns", "Turns", list{of: custom[int]{turnIn, func(k *int) *yaml.Node { return number(*k + 1) },
			whole{1, 1 << 30}.schema}, flow: true}, "mix: turn, numbers of operations from 1 in their order, again and again",
			false},
		field{"scale", "", custom[plan.Plan]{as: positive().schema}, "factor on all rates; 1", false},
		field{"scaled", "Scaled", positive(), "factor that the rates of a written plan include already", false},
		field{"load", "Load", phases, "phases of the load in order", false},
		field{"thresholds", "Thresholds", list{of: thresholdForm(), sound: true}, "rules that the result must meet", false},
		field{"faults", "Faults", faultsForm(), "what is done to servers during the load, and undone", false},
		field{"proxies", "Proxies", proxiesForm(), "proxies between servers, for faults", false},
		field{"account", "Account", accountForm(), "account of outages: true, or how it is made", false},
		field{"verify", "Verify", verificationForm(), "how acknowledged writes are read back after the load", false},
		field{"registers", "Registers", registersForm(), "keys that are contested, and checked for linearizability", false},
		field{"x-*", "", custom[plan.Plan]{}, "", false},
	)
	m := newMapping("", "the plan", fields...)
	m.after = func(r *reader, o *object, to any) {
		p := to.(*plan.Plan)
		if o == nil {
			return
		}
		if len(o.values) == 0 {
			r.problemAt(o.node, "write at least tables_schema or queries", "the plan is empty")
		}
		for _, at := range s.target {
			p.Where = append(p.Where, plan.Place{Key: "target." + at.Key, At: at.At})
		}
		nameOperations(p.Operations)
		s.mix(r, o, p)
		phase.load(r, o, p)
		scale(r, o, p)
	}
	m.rules = exclude("scale", "scaled")
	return m
}

func turnIn(r *reader, _ string, n *yaml.Node, k *int) {
	*k = int(r.integerOf(n, "a turn", 1, 1<<30)) - 1
}

func mixNode(p *plan.Plan) *yaml.Node {
	if len(p.Operations) == 0 {
		return nil
	}
	return text([]string{"weight", "count", "turn"}[p.Mix])
}

// under returns fields with their places prefixed by place.
func under(place string, fields ...field) []field {
	out := make([]field, len(fields))
	for i, f := range fields {
		f.at = strings.TrimSuffix(place+"."+f.at, ".")
		out[i] = f
	}
	return out
}

// settingsFields returns the keys of Settings, which configure the execution.
func settingsFields() []field {
	timeouts := newMapping("timeouts", "timeouts",
		field{"operation", "OperationTimeout", span{above: true}, "of an operation with its retries; 30s", false},
		field{"connect", "ConnectTimeout", span{above: true}, "of a connection attempt; 5s", false},
	)
	return []field{
		{"sessions", "Sessions", whole{1, plan.MaxSessions},
			"connections over all addresses; the most that a closed phase needs, or 1", false},
		{"sessions_as_needed", "SessionsAsNeeded", flag{},
			"open loads: connect when requests wait for a session, up to sessions of them, as long as the server takes more; false: connect all before", false},
		{"timeouts", "", timeouts, "time limits", false},
		{"retries", "Retries", custom[int]{retriesIn, retriesNode, whole{0, plan.MaxRetries}.schema},
			"further attempts after a retryable error; 3", false},
		{"retry_errors", "RetryErrors", flag{}, "retry after every failure, not only retryable ones; false", false},
		{"retry_pause", "RetryPause", span{above: true}, "pause before a further attempt; 1ms, doubling to 128ms", false},
		{"late", "LatePolicy", choice{"queue", "drop"},
			"what happens to arrivals without a free session: queue or drop; queue", false},
		{"drop_after", "DropAfter", span{}, "with late: drop, how late an arrival may be; 0", false},
		{"end_on_time", "EndOnTime", flag{},
			"open loads: what is unsent when the schedule ends is given up; false: it is sent late, for the operation timeout",
			false},
		{"outage", "Outage", choice{"fail", "wait"},
			"open loads while no address can be reached: requests fail at once, or wait; fail", false},
		{"interval", "Interval", span{above: true}, "slice of the record; 1s", false},
		{"timing_tolerance", "TimingTolerance", span{}, "how late a send may be to go with others; 0", false},
		{"error_threshold", "ErrorThreshold", decimal{}, "percentage of failed operations that stops the run; 0 means none",
			false},
		{"tier", "Tier", choice{"auto", "codec", "library"}, "auto, codec or library; auto", false},
		{"pipeline", "Pipeline", whole{1, plan.MaxPipeline}, "requests in flight a session; 1", false},
		{"loops", "Loops", whole{0, plan.MaxLoops}, "event loops; 0 means as few as carry the load", false},
		{"spin", "Spin", span{}, "busy-wait before an intended start; 0", false},
		{"awake", "Awake", choice{"auto", "on", "off"}, "keep the machine's cores awake during the load; auto", false},
	}
}

func retriesIn(r *reader, key string, n *yaml.Node, to *int) {
	if *to = int(r.integerOf(n, key, 0, plan.MaxRetries)); *to == 0 {
		*to = -1
	}
}

func retriesNode(n *int) *yaml.Node {
	if *n == 0 {
		return nil
	}
	return number(max(*n, 0))
}

// targetForm returns the form of a plan's target.
func targetForm(s *state) form {
	tls := newMapping("", "tls",
		field{"enabled", "Enabled", flag{always: true}, "true", false},
		field{"insecure_skip_verify", "InsecureSkipVerify", flag{}, "don't verify the server's certificate; false", false},
		field{"ca", "CAFile", words{}, "authority's certificate, a file", false},
		field{"cert", "CertFile", words{}, "client certificate, a file", false},
		field{"key", "KeyFile", words{}, "client key, a file", false},
		field{"server_name", "ServerName", words{}, "name that the certificate must have", false},
	)
	m := newMapping("target", "target",
		field{"protocol", "Protocol", words{name: true, lower: true}, "pg, iproto, sqlite, redis, http, …", false},
		field{"addresses", "Addresses",
			custom[[]string]{addressesIn, addressesNode, anyOf(words{name: true}, list{of: words{}, full: true})},
			"host:port of each server, or with its weight host:port*3, or a file", false},
		field{"user", "User", words{}, "", false},
		field{"password", "Password",
			custom[string]{passwordIn, passwordNode, func(*definitions) schema { return schema{"const": secret.Hidden} }},
			"only ***, which written plans have; give it in the environment, in a file or at the prompt", false},
		field{"database", "Database", words{}, "", false},
		field{"balance", "Balance", balanceForm(), "how load spreads over the addresses: a mode, or more; round-robin",
			false},
		field{"topology", "Topology", topologyForm(), "how nodes are found again while the load runs", false},
		field{"tls", "TLS", custom[plan.TLS]{func(r *reader, key string, n *yaml.Node, t *plan.TLS) {
			if tagIs(n, "!!bool") {
				flag{}.read(r, key, n, valueOf(&t.Enabled))
				return
			}
			t.Enabled = true
			tls.read(r, key, n, valueOf(t))
		}, func(t *plan.TLS) *yaml.Node {
			if *t == (plan.TLS{}) {
				return nil
			}
			return tls.write(valueOf(t))
		}, anyOf(flag{}, tls)}, "true, or how to secure connections", false},
		field{"options", "Options", custom[map[string]string]{optionsIn, optionsNode, func(d *definitions) schema {
			return schema{"type": "object", "additionalProperties": typesSchema("string", "number", "boolean")(d)}
		}}, "the protocol's own settings", false},
	)
	m.after = func(r *reader, o *object, _ any) {
		if o != nil {
			s.target = o.where()
		}
	}
	return custom[plan.Plan]{
		func(r *reader, key string, n *yaml.Node, p *plan.Plan) {
			r.item(n, func() { m.read(r, key, n, valueOf(&p.Target)) })
		},
		func(p *plan.Plan) *yaml.Node { return m.write(valueOf(&p.Target)) }, m.schema,
	}
}

func addressesIn(r *reader, key string, n *yaml.Node, to *[]string) {
	if n.Kind == yaml.ScalarNode {
		*to = []string{r.textOf(n, key)}
		return
	}
	list{of: words{}, full: true}.read(r, key, n, valueOf(to))
}

func addressesNode(addresses *[]string) *yaml.Node {
	out := flow()
	for _, a := range *addresses {
		n := text(secret.Text(a))
		if secret.Text(a) != a {
			n, out.Style = marked(n, addressSecret), 0
		}
		out.Content = append(out.Content, n)
	}
	if len(out.Content) == 0 {
		return nil
	}
	return out
}

func passwordIn(r *reader, _ string, n *yaml.Node, to *string) {
	if *to = n.Value; *to != secret.Hidden {
		r.problemAt(n, "give it in the environment, in a file or at the prompt",
			"a password in the plan would be kept in clear text")
	}
}

func passwordNode(password *string) *yaml.Node {
	if *password == "" {
		return nil
	}
	n := text(secret.Hidden)
	n.LineComment = "# give it with -p, --password-file, --ask-password or in BRUNT_PASSWORD"
	return n
}

// optionsIn reads protocol-specific settings: any keys, with scalar values.
func optionsIn(r *reader, _ string, n *yaml.Node, to *map[string]string) {
	o := r.object(n, "options", []string{"*"})
	if o == nil {
		return
	}
	*to = map[string]string{}
	for k, v := range o.values {
		if v.Kind != yaml.ScalarNode || tagIs(v, "!!null") {
			r.wrong(v, "option "+k, "a text, number, true or false", "write one value")
			continue
		}
		(*to)[k] = v.Value
	}
}

func optionsNode(options *map[string]string) *yaml.Node {
	if *options == nil {
		return nil
	}
	out := pairs()
	for _, k := range slices.Sorted(maps.Keys(*options)) {
		v := text((*options)[k])
		if secret.Name(k) {
			v = marked(text(secret.Hidden), k)
		}
		out.Content = append(out.Content, text(k), v)
	}
	return out
}

// accountForm returns the form of Plan.Account: true, or a mapping.
func accountForm() form {
	m := newMapping("", "account",
		field{"deadline", "Deadline", span{above: true},
			"from its intended start, within which a good arrival succeeds; 1s, or the operation timeout if that is less", false},
		field{"tolerance", "Tolerance", span{above: true}, "the shortest outage that is reported, at least 10ms; 100ms", false},
		field{"hold", "Hold", span{above: true},
			"how long all must be well again, to count as recovered; 5s, or three intervals if those are more", false},
	)
	return custom[plan.Account]{func(r *reader, key string, n *yaml.Node, a *plan.Account) {
		if tagIs(n, "!!bool") {
			flag{}.read(r, key, n, valueOf(&a.Enabled))
			return
		}
		a.Enabled = true
		m.read(r, key, n, valueOf(a))
	}, func(a *plan.Account) *yaml.Node {
		if node := m.write(valueOf(a)); node != nil || !a.Enabled {
			return node
		}
		enabled := true
		return flag{}.write(valueOf(&enabled))
	}, anyOf(flag{}, m)}
}

// thresholdForm returns the form of a threshold: an expression, or a mapping.
func thresholdForm() form {
	expr := words{name: true}
	m := newMapping("", "a threshold",
		field{"expr", "Text", expr, "for example response.p(99) < 10ms", true},
		field{"abort_on_fail", "AbortOnFail", flag{}, "stop the run when it fails; false", false},
		field{"after", "AbortDelay", span{}, "grace from the start of the load before it may stop the run; 0", false},
	)
	read := func(r *reader, _ string, n *yaml.Node, to *plan.Threshold) {
		at, o := n, (*object)(nil)
		if n.Kind == yaml.MappingNode {
			o = r.object(n, "a threshold", m.keys)
			o.require("a threshold", "expr")
			if at = o.get("expr"); at == nil {
				to.At = r.at(n)
				return
			}
		}
		expression := r.textOf(at, "a threshold")
		if to.At = r.at(at); !tagIs(at, "!!str") {
			return
		}
		t, err := plan.ParseThreshold(expression)
		if err != nil {
			what, fix, _ := strings.Cut(err.Error(), "; ")
			r.problemAt(at, fix, "%s", what)
		}
		*to = t
		if o != nil {
			m.fill(r, o, valueOf(to))
		}
		to.At = r.at(at)
		if o.has("after") && !to.AbortOnFail {
			r.problemAt(o.get("after"), "add abort_on_fail: true", "after has no effect on a threshold that doesn't abort")
		}
	}
	write := func(t *plan.Threshold) *yaml.Node {
		if !t.AbortOnFail {
			return text(t.Text)
		}
		return m.write(reflect.ValueOf(t).Elem())
	}
	return custom[plan.Threshold]{read, write, anyOf(expr, m)}
}
