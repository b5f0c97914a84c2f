package planfile

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"brunt/internal/base/secret"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile/form"
)

// newFormat returns the form of a plan file with all its keys. It defines the reader, the writer and the JSON Schema.
func newFormat() *form.Mapping {
	s := &state{}
	queries, transactions := operationForms(s)
	phase := newPhaseForm(s)
	phases := form.Custom[[]plan.Phase]{
		Out: func(load *[]plan.Phase) *yaml.Node {
			out := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
			for i := range *load {
				out.Content = append(out.Content, phase.node(&(*load)[i]))
			}
			if len(out.Content) == 0 {
				return nil
			}
			return out
		},
		As: form.List{Of: phase.all, Full: true}.Schema,
	}
	fields := []form.Field{
		form.Key("config_name", "Name", form.Name(), "name of the plan; the file's name"),
		form.Key("seed", "Seed", form.Unsigned{Always: true}, "of all random choices; 0"),
		form.Key("first", "First", form.Unsigned{},
			"number of the first operation: the load goes on where one of so many operations ended; 0"),
		form.Key("target", "", targetForm(s), "where the load goes"),
	}
	fields = append(fields, under("Settings", settingsFields()...)...)
	fields = append(fields,
		form.Key("tables_schema", "Tables", form.List{Of: tableMapping(), Sound: true, Cross: true},
			"tables to create and fill"),
		form.Key("indexes", "Indexes", form.List{Of: indexMapping(), Sound: true}, "indexes to create"),
		form.Key("prepare", "Prepare", form.List{Of: requestMapping("prepare", "a request")},
			"requests that are sent once before the load"),
		form.Key("keyspace", "Keyspace", keyspaceForm(), "records that operations are on, as YCSB has them"),
		form.Key("queries", "Operations", queries, "operations of one request"),
		form.Key("transactions", "Operations", transactions, "operations of several requests"),
		form.Key("scripts", "Scripts", scriptsForm(), "the language of operations that are programs"),
		form.Key("mix", "", form.Custom[plan.Plan]{Out: mixNode, As: mixWords().Schema},
			"how operations are chosen: count makes a queue, weight draws, turn takes them by turns; count if there are counts and no load"),
		form.Key("turns", "Turns", form.List{Of: form.Custom[int]{In: turnIn,
			Out: func(k *int) *yaml.Node { return form.Number(*k + 1) }, As: form.Whole(1, 1<<30).Schema}, Flow: true},
			"mix: turn, numbers of operations from 1 in their order, again and again"),
		form.Key("scale", "", form.Custom[plan.Plan]{As: form.Positive().Schema}, "factor on all rates; 1"),
		form.Key("scaled", "Scaled", form.Positive(), "factor that the rates of a written plan include already"),
		form.Key("load", "Load", phases, "phases of the load in order"),
		form.Key("thresholds", "Thresholds", form.List{Of: thresholdForm(), Sound: true}, "rules that the result must meet"),
		form.Key("faults", "Faults", faultsForm(), "what is done to servers during the load, and undone"),
		form.Key("proxies", "Proxies", proxiesForm(), "proxies between servers, for faults"),
		form.Key("inspect", "Inspect", inspectForm(),
			"servers that are asked what they did, as --inspect names them: auto for the target, or a list"),
		form.Key("account", "Account", accountForm(), "account of outages: true, or how it is made"),
		form.Key("verify", "Verify", verificationForm(), "how acknowledged writes are read back after the load"),
		form.Key("registers", "Registers", registersForm(), "keys that are contested, and checked for linearizability"),
		form.Key("x-*", "", form.Custom[plan.Plan]{}, ""),
	)
	m := form.NewMapping("", "the plan", fields...)
	m.After = func(r *form.Reader, o *form.Object, to any) {
		p := to.(*plan.Plan)
		if o == nil {
			return
		}
		if len(o.Values) == 0 {
			r.ProblemAt(o.Node, "write at least tables_schema or queries", "the plan is empty")
		}
		for _, at := range s.target {
			p.Where = append(p.Where, plan.Place{Key: "target." + at.Key, At: at.At})
		}
		nameAll(p.Operations, func(op *plan.Operation) *string { return &op.Name }, operationName)
		s.mix(r, o, p)
		phase.load(r, o, p)
		scale(r, o, p)
	}
	m.Rules = form.Exclude("scale", "scaled")
	return m
}

func turnIn(r *form.Reader, _ string, n *yaml.Node, k *int) {
	*k = int(r.IntegerOf(n, "a turn", 1, 1<<30)) - 1
}

func mixNode(p *plan.Plan) *yaml.Node {
	if len(p.Operations) == 0 {
		return nil
	}
	return form.Text([]string{"weight", "count", "turn"}[p.Mix])
}

// under returns fields with their places prefixed by place.
func under(place string, fields ...form.Field) []form.Field {
	out := make([]form.Field, len(fields))
	for i, f := range fields {
		f.At = strings.TrimSuffix(place+"."+f.At, ".")
		out[i] = f
	}
	return out
}

// settingsFields returns the keys of Settings, which configure the execution.
func settingsFields() []form.Field {
	timeouts := form.NewMapping("timeouts", "timeouts",
		form.Key("operation", "OperationTimeout", form.Span{Above: true}, "of an operation with its retries; 30s"),
		form.Key("connect", "ConnectTimeout", form.Span{Above: true}, "of a connection attempt; 5s"),
	)
	return []form.Field{
		form.Key("sessions", "Sessions", form.Whole(1, plan.MaxSessions),
			"connections over all addresses; the most that a closed phase needs, or 1"),
		form.Key("sessions_as_needed", "SessionsAsNeeded", form.Flag{},
			"open loads: connect when requests wait for a session, up to sessions of them, as long as the server takes more; false: connect all before"),
		form.Key("timeouts", "", timeouts, "time limits"),
		form.Key("reconnect", "Reconnect", form.Flag{},
			"open a new connection for each operation, before it begins; false"),
		form.Key("retries", "Retries",
			form.Custom[int]{In: retriesIn, Out: retriesNode, As: form.Whole(0, plan.MaxRetries).Schema},
			"further attempts after a retryable error; 3"),
		form.Key("retry_errors", "RetryErrors", form.Flag{}, "retry after every failure, not only retryable ones; false"),
		form.Key("retry_pause", "RetryPause", form.Span{Above: true},
			"pause before a further attempt; 1ms, doubling to 128ms"),
		form.Key("retry_within", "RetryWithin", form.Span{Above: true},
			"no further attempt when so much has passed since the intended start; no limit"),
		form.Key("late", "LatePolicy", form.Choice{"queue", "drop", "all"},
			"arrivals without a free session: queue, drop, or all: queue them, and end only when all are sent; queue"),
		form.Key("drop_after", "DropAfter", form.Span{}, "with late: drop, how late an arrival may be; 0"),
		form.Key("end_on_time", "EndOnTime", form.Flag{},
			"open loads: what is unsent when the schedule ends is given up; false: it is sent late, for the operation timeout"),
		form.Key("outage", "Outage", form.Choice{"fail", "wait"},
			"open loads while no address can be reached: requests fail at once, or wait; fail"),
		form.Key("interval", "Interval", form.Span{Above: true}, "slice of the record; 1s"),
		form.Key("timing_tolerance", "TimingTolerance", form.Span{}, "how late a send may be to go with others; 0"),
		form.Key("error_threshold", "ErrorThreshold", form.Decimal{},
			"percentage of failed operations that stops the run; 0 means none"),
		form.Key("tier", "Tier", form.Choice{plan.TierAuto, plan.TierCodec, plan.TierLibrary},
			"auto, codec or library; auto"),
		form.Key("pipeline", "Pipeline", form.Whole(1, plan.MaxPipeline), "requests in flight a session; 1"),
		form.Key("loops", "Loops", form.Whole(0, plan.MaxLoops), "event loops; 0 means as few as carry the load"),
		form.Key("spin", "Spin", form.Span{}, "busy-wait before an intended start; 0"),
		form.Key("awake", "Awake", form.Choice{"auto", "on", "off"}, "keep the machine's cores awake during the load; auto"),
	}
}

func retriesIn(r *form.Reader, key string, n *yaml.Node, to *int) {
	if *to = int(r.IntegerOf(n, key, 0, plan.MaxRetries)); *to == 0 {
		*to = -1
	}
}

func retriesNode(n *int) *yaml.Node {
	if *n == 0 {
		return nil
	}
	return form.Number(max(*n, 0))
}

// targetForm returns the form of a plan's target.
func targetForm(s *state) form.Form {
	tls := form.NewMapping("", "tls",
		form.Key("enabled", "Enabled", form.Flag{Always: true}, "true"),
		form.Key("insecure_skip_verify", "InsecureSkipVerify", form.Flag{}, "don't verify the server's certificate; false"),
		form.Key("ca", "CAFile", form.Words{}, "authority's certificate, a file"),
		form.Key("cert", "CertFile", form.Words{}, "client certificate, a file"),
		form.Key("key", "KeyFile", form.Words{}, "client key, a file"),
		form.Key("server_name", "ServerName", form.Words{}, "name that the certificate must have"),
		form.Key("min_version", "MinVersion", form.Choice{"1.0", "1.1", "1.2", "1.3"}, "oldest version of TLS; 1.2"),
		form.Key("max_version", "MaxVersion", form.Choice{"1.0", "1.1", "1.2", "1.3"}, "newest version of TLS; 1.3"),
		form.Key("ciphers", "Ciphers", form.Words{},
			"cipher suites for versions up to 1.2, with colons between them: IANA's names or OpenSSL's"),
		form.Key("resume", "Resume", form.Flag{}, "continue earlier sessions of TLS on new connections; false"),
	)
	m := form.NewMapping("target", "target",
		form.Key("protocol", "Protocol", form.Words{Name: true, Lower: true}, "pg, iproto, sqlite, redis, http, …"),
		form.Key("addresses", "Addresses", addressesForm(),
			"host:port of each server, or with its weight host:port*3, or a file"),
		form.Key("user", "User", form.Words{}, ""),
		form.Key("password", "Password",
			form.Custom[string]{In: passwordIn, Out: passwordNode,
				As: func(*form.Definitions) form.Schema { return form.Schema{"const": secret.Hidden} }},
			"only ***, which written plans have; give it in the environment, in a file or at the prompt"),
		form.Key("database", "Database", form.Words{}, ""),
		form.Key("balance", "Balance", balanceForm(), "how load spreads over the addresses: a mode, or more; round-robin"),
		form.Key("topology", "Topology", topologyForm(), "how nodes are found again while the load runs"),
		form.Key("tls", "TLS", form.Custom[plan.TLS]{In: func(r *form.Reader, key string, n *yaml.Node, t *plan.TLS) {
			if form.TagIs(n, "!!bool") {
				form.Flag{}.Read(r, key, n, form.ValueOf(&t.Enabled))
				return
			}
			t.Enabled = true
			tls.Read(r, key, n, form.ValueOf(t))
		}, Out: func(t *plan.TLS) *yaml.Node {
			if *t == (plan.TLS{}) {
				return nil
			}
			return tls.Write(form.ValueOf(t))
		}, As: form.AnyOf(form.Flag{}, tls)}, "true, or how to secure connections"),
		form.Key("resolve", "Way.Resolve", form.List{Of: form.Words{}},
			"addresses that are used instead: host:port:address, as curl's --resolve"),
		form.Key("via", "Way.Via", form.Custom[string]{In: viaIn, Out: viaNode, As: form.Words{}.Schema},
			"HTTP proxy through which connections go: http://host:port"),
		form.Key("proxy_protocol", "Way.Announce", form.Choice{"v1", "v2"},
			"begin each connection with a header of the PROXY protocol: v1 or v2"),
		form.Key("from", "Way.From", form.Words{}, "this machine's IP address from which connections go"),
		form.Key("options", "Options", form.Custom[map[string]string]{In: optionsIn, Out: optionsNode, As: optionsSchema},
			"the protocol's own settings"),
	)
	m.After = func(r *form.Reader, o *form.Object, _ any) {
		if o != nil {
			s.target = o.Where()
		}
	}
	return form.Custom[plan.Plan]{
		In: func(r *form.Reader, key string, n *yaml.Node, p *plan.Plan) {
			r.Item(n, func() { m.Read(r, key, n, form.ValueOf(&p.Target)) })
		},
		Out: func(p *plan.Plan) *yaml.Node { return m.Write(form.ValueOf(&p.Target)) }, As: m.Schema,
	}
}

// viaSecret is the name of the user and password of the proxy.
const viaSecret = "via"

func viaIn(r *form.Reader, key string, n *yaml.Node, to *string) {
	form.Words{}.Read(r, key, n, form.ValueOf(to))
}

// viaNode writes a proxy without its password.
func viaNode(via *string) *yaml.Node {
	if *via == "" {
		return nil
	}
	return textNodes([]string{*via}, viaSecret)[0]
}

// addressesForm returns the form of one address or several.
func addressesForm() form.Form {
	return form.Custom[[]string]{In: addressesIn, Out: addressesNode,
		As: form.AnyOf(form.Name(), form.List{Of: form.Words{}, Full: true})}
}

func addressesIn(r *form.Reader, key string, n *yaml.Node, to *[]string) {
	if n.Kind == yaml.ScalarNode {
		*to = []string{r.TextOf(n, key)}
		return
	}
	form.List{Of: form.Words{}, Full: true}.Read(r, key, n, form.ValueOf(to))
}

func addressesNode(addresses *[]string) *yaml.Node {
	out := flow()
	for _, a := range *addresses {
		n := form.Text(secret.Text(a))
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

func passwordIn(r *form.Reader, _ string, n *yaml.Node, to *string) {
	if *to = n.Value; *to != secret.Hidden {
		r.ProblemAt(n, "give it in the environment, in a file or at the prompt",
			"a password in the plan would be kept in clear text")
	}
}

func passwordNode(password *string) *yaml.Node {
	if *password == "" {
		return nil
	}
	n := form.Text(secret.Hidden)
	n.LineComment = "# give it with -p, --password-file, --ask-password or in BRUNT_PASSWORD"
	return n
}

// optionsIn reads protocol-specific settings: any keys, with scalar values.
func optionsIn(r *form.Reader, _ string, n *yaml.Node, to *map[string]string) {
	o := r.Object(n, "options", []string{"*"})
	if o == nil {
		return
	}
	*to = map[string]string{}
	for k, v := range o.Values {
		(*to)[k] = r.PlainOf(v, "option "+k)
	}
}

func optionsSchema(d *form.Definitions) form.Schema {
	return form.Schema{"type": "object", "additionalProperties": typesSchema("string", "number", "boolean")(d)}
}

func optionsNode(options *map[string]string) *yaml.Node {
	if *options == nil {
		return nil
	}
	out := pairs()
	for _, k := range slices.Sorted(maps.Keys(*options)) {
		v := form.Text((*options)[k])
		if secret.Name(k) {
			v = marked(form.Text(secret.Hidden), k)
		}
		out.Content = append(out.Content, form.Text(k), v)
	}
	return out
}

// accountForm returns the form of Plan.Account: true, or a mapping.
func accountForm() form.Form {
	m := form.NewMapping("", "account",
		form.Key("deadline", "Deadline", form.Span{Above: true},
			"from its intended start, within which a good arrival succeeds; 1s, or the operation timeout if that is less"),
		form.Key("tolerance", "Tolerance", form.Span{Above: true},
			"the shortest outage that is reported, at least 10ms; 100ms"),
		form.Key("hold", "Hold", form.Span{Above: true},
			"how long all must be well again, to count as recovered; 5s, or three intervals if those are more"),
	)
	return form.Custom[plan.Account]{In: func(r *form.Reader, key string, n *yaml.Node, a *plan.Account) {
		if form.TagIs(n, "!!bool") {
			form.Flag{}.Read(r, key, n, form.ValueOf(&a.Enabled))
			return
		}
		a.Enabled = true
		m.Read(r, key, n, form.ValueOf(a))
	}, Out: func(a *plan.Account) *yaml.Node {
		if node := m.Write(form.ValueOf(a)); node != nil || !a.Enabled {
			return node
		}
		enabled := true
		return form.Flag{}.Write(form.ValueOf(&enabled))
	}, As: form.AnyOf(form.Flag{}, m)}
}

// thresholdForm returns the form of a threshold: an expression, or a mapping.
func thresholdForm() form.Form {
	expr := form.Name()
	m := form.NewMapping("", "a threshold",
		form.Required("expr", "Text", expr, "for example response.p(99) < 10ms"),
		form.Key("abort_on_fail", "AbortOnFail", form.Flag{}, "stop the run when it fails; false"),
		form.Key("after", "AbortDelay", form.Span{}, "grace from the start of the load before it may stop the run; 0"),
	)
	read := func(r *form.Reader, _ string, n *yaml.Node, to *plan.Threshold) {
		at, o := n, (*form.Object)(nil)
		if n.Kind == yaml.MappingNode {
			o = r.Object(n, "a threshold", m.Keys)
			o.Require("a threshold", "expr")
			if at = o.Get("expr"); at == nil {
				to.At = r.At(n)
				return
			}
		}
		expression := r.TextOf(at, "a threshold")
		if to.At = r.At(at); !form.TagIs(at, "!!str") {
			return
		}
		t, err := plan.ParseThreshold(expression)
		if err != nil {
			what, fix, _ := strings.Cut(err.Error(), "; ")
			r.ProblemAt(at, fix, "%s", what)
		}
		*to = t
		if o != nil {
			m.Fill(r, o, form.ValueOf(to))
		}
		to.At = r.At(at)
		if o.Has("after") && !to.AbortOnFail {
			r.ProblemAt(o.Get("after"), "add abort_on_fail: true", "after has no effect on a threshold that doesn't abort")
		}
	}
	write := func(t *plan.Threshold) *yaml.Node {
		if !t.AbortOnFail {
			return form.Text(t.Text)
		}
		return m.Write(reflect.ValueOf(t).Elem())
	}
	return form.Custom[plan.Threshold]{In: read, Out: write, As: form.AnyOf(expr, m)}
}
