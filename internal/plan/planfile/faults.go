package planfile

import (
	"cmp"
	"reflect"

	"go.yaml.in/yaml/v4"

	"brunt/internal/plan"
	"brunt/internal/plan/planfile/form"
	"brunt/internal/protocol"
)

// groupsForm returns the form of groups of nodes.
func groupsForm() form.Form {
	return form.List{Of: form.List{Of: form.Words{}, Flow: true, Full: true}, Flow: true}
}

// hookForm returns the form of an HTTP request with its own origin.
func hookForm() form.Form {
	web := webMapping()
	return form.Custom[protocol.Web]{
		In: func(r *form.Reader, key string, n *yaml.Node, to *protocol.Web) {
			to.Method = "POST"
			web.Read(r, key, n, form.ValueOf(to))
		},
		Out: func(w *protocol.Web) *yaml.Node {
			if w.Origin == "" && w.Path == "" {
				return nil
			}
			return web.Write(form.ValueOf(w))
		}, As: web.Schema,
	}
}

// faultRequests returns the form of requests over the plan's protocol.
func faultRequests() form.Form {
	return form.List{Of: requestMapping("prepare", "a request"), Full: true}
}

// faultBodies returns the mapping of each kind of fault.
func faultBodies() map[string]*form.Mapping {
	timeout := form.Key("timeout", "Timeout", form.Span{Above: true}, "time limit of each; 30s")
	addresses := func(doc string) form.Field { return form.Key("addresses", "Addresses", form.Names(), doc) }
	return map[string]*form.Mapping{
		"process": form.NewMapping("", "process",
			form.Required("do", "Do", form.Choice{"stop", "kill", "signal"}, "stop (and continue), kill, or send a signal"),
			form.Key("signal", "Signal", form.Name(), "kill, signal: its name; SIGKILL"),
			form.Key("pid", "PID", form.Whole(1, 1<<30), "the process"),
			form.Key("pid_file", "PIDFile", form.Name(), "file whose first line is the process"),
			form.Key("match", "Match", form.Name(), "regular expression on command lines"),
			form.Key("cgroup", "CGroup", form.Name(), "control group whose processes are meant"),
			form.Key("children", "Children", form.Flag{}, "the processes that these have started too; false"),
			form.Key("restart", "Restart", form.Name(), "kill: command that starts it again"),
		),
		"command": form.NewMapping("", "command",
			form.Required("inject", "Inject", form.Name(), "for the shell"),
			form.Key("heal", "Heal", form.Name(), "for the shell; nothing"),
			timeout,
		),
		"http": form.NewMapping("", "http",
			form.Required("inject", "Inject", hookForm(), "request with its origin"),
			form.Key("heal", "Heal", hookForm(), "request with its origin; nothing"),
			timeout,
		),
		"request": form.NewMapping("", "request",
			form.Required("inject", "Inject", faultRequests(), "requests over the plan's protocol"),
			form.Key("heal", "Heal", faultRequests(), "requests over the plan's protocol; nothing"),
			addresses("of the target; all"),
			form.Key("user", "User", form.Name(), "the target's"),
			form.Key("database", "Database", form.Name(), "the target's"),
			form.Key("password_variable", "PasswordVariable", form.Name(), "environment variable of the user's password"),
			timeout,
		),
		"network": form.NewMapping("", "network",
			form.Required("do", "Do", form.Choice(plan.NetworkFaults()), "what happens to connections"),
			addresses("of the target, or names of proxies; all of the target"),
			form.Key("clients", "Clients", form.Names(), "IP addresses or prefixes of clients; all"),
			form.Key("direction", "Direction", form.Choice{"both", "to-server", "to-client"},
				"latency, bandwidth, blackhole: which way; both"),
			form.Key("delay", "Delay", form.Span{Above: true}, "latency, handshake: how long"),
			form.Key("jitter", "Jitter", form.Span{Above: true}, "latency: up to so much more; 0"),
			form.Key("bytes_per_s", "BytesPerS", form.Positive(), "bandwidth: of a connection, each way"),
			form.Key("between", "Between", groupsForm(), "partition: groups of nodes"),
		),
		"flood": form.NewMapping("", "flood",
			form.Required("connections", "Connections", form.Whole(1, plan.MaxFloodConnections), "to each address"),
			addresses("host:port; all of the target"),
			form.Key("per_s", "PerS", form.Positive(), "how many a second; as fast as they are taken"),
		),
	}
}

// faultsForm returns the form of the list of faults.
func faultsForm() form.Form {
	bodies := faultBodies()
	var names []string
	places := map[plan.FaultKind]string{plan.FaultProcess: "Process", plan.FaultCommand: "Command",
		plan.FaultHTTP: "HTTP", plan.FaultRequest: "Request", plan.FaultNetwork: "Network", plan.FaultFlood: "Flood"}
	fields := []form.Field{
		form.Key("name", "Name", form.Name(), "name in reports; made from the kind unless given"),
		form.Key("at", "Start", form.Span{}, "from the beginning of the load, or of phase; 0"),
		form.Key("for", "For", form.Span{Above: true}, "until it is healed; until the load ends"),
		form.Key("every", "Every", form.Span{Above: true}, "from one to the next; once"),
		form.Key("times", "Times", form.Whole(1, plan.MaxFaultTimes), "with every: how many; until the load ends"),
		form.Key("jitter", "Jitter", form.Span{Above: true}, "each comes later by a random time up to it; 0"),
		form.Key("spacing", "Spacing", form.Choice{"even", "poisson"},
			"with every: even, or poisson for random gaps of that mean; even"),
		form.Key("phase", "Phase", form.Name(), "phase of the load that at counts from; the load"),
		form.Key("pick", "Pick", form.Choice{"all", "turn", "random"}, "which of several nodes each time; all"),
		form.Key("must", "Must", form.Choice{plan.MustHappen, plan.MustTry},
			"happen: without it the result is invalid; try: only a warning; happen if there are thresholds"),
		form.Key("affects", "Affects", form.List{Of: form.Words{}, Flow: true},
			"addresses of the target that it concerns, for the record"),
	}
	for _, kind := range plan.FaultKinds() {
		names = append(names, string(kind))
		fields = append(fields, form.Key(string(kind), places[kind], bodies[string(kind)], ""))
	}
	all := form.NewMapping("fault", "a fault", fields...)
	all.Rules = []any{form.Exactly(names)}
	which := form.Kinds{What: "a fault", Nothing: "nothing to do", Names: names}
	all.After = func(r *form.Reader, o *form.Object, to any) {
		if o == nil {
			return
		}
		kind, _ := which.Of(r, o)
		to.(*plan.Fault).Kind = plan.FaultKind(kind)
	}
	items := form.List{Of: all, Sound: true}
	return form.Custom[[]plan.Fault]{
		In: func(r *form.Reader, key string, n *yaml.Node, to *[]plan.Fault) {
			items.Read(r, key, n, form.ValueOf(to))
			nameAll(*to, func(f *plan.Fault) *string { return &f.Name }, faultName)
		},
		Out: func(from *[]plan.Fault) *yaml.Node { return items.Write(reflect.ValueOf(from).Elem()) },
		As:  items.Schema,
	}
}

// faultName names a fault after its action.
func faultName(f *plan.Fault) string {
	return cmp.Or(f.Process.Do, f.Network.Do, string(f.Kind), "fault")
}

// proxiesForm returns the form of proxies between servers.
func proxiesForm() form.Form {
	return form.List{Of: form.NewMapping("proxy", "a proxy",
		form.Required("name", "Name", form.Name(), "name in faults"),
		form.Required("listen", "Listen", form.Name(), "host:port that it listens at"),
		form.Required("to", "To", form.Name(), "host:port that it connects to"),
		form.Key("from", "From", form.Name(), "node whose connections come here; anyone's"),
		form.Key("node", "Node", form.Name(), "node behind it; its name"),
	), Sound: true}
}
