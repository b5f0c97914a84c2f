package planfile

import (
	"reflect"

	"go.yaml.in/yaml/v4"

	"brunt/internal/plan"
	"brunt/internal/protocol"
)

// groupsForm returns the form of groups of nodes.
func groupsForm() form { return list{of: list{of: words{}, flow: true, full: true}, flow: true} }

// hookForm returns the form of an HTTP request with its own origin.
func hookForm() form {
	web := webMapping()
	return custom[protocol.Web]{
		func(r *reader, key string, n *yaml.Node, to *protocol.Web) {
			to.Method = "POST"
			web.read(r, key, n, valueOf(to))
		},
		func(w *protocol.Web) *yaml.Node {
			if w.Origin == "" && w.Path == "" {
				return nil
			}
			return web.write(valueOf(w))
		}, web.schema,
	}
}

// faultRequests returns the form of requests over the plan's protocol.
func faultRequests() form {
	one := newMapping("prepare", "a request", requestFields()...)
	one.after = func(r *reader, o *object, to any) { checkRequest(r, o, to.(*protocol.Request), "a request") }
	one.rules = requestRules(false)
	return list{of: one, full: true}
}

// faultBodies returns the mapping of each kind of fault.
func faultBodies() map[string]*mapping {
	timeout := field{"timeout", "Timeout", span{above: true}, "time limit of each; 30s", false}
	addresses := func(doc string) field { return field{"addresses", "Addresses", names(), doc, false} }
	return map[string]*mapping{
		"process": newMapping("", "process",
			field{"do", "Do", choice{"stop", "kill", "signal"}, "stop (and continue), kill, or send a signal", true},
			field{"signal", "Signal", words{name: true}, "kill, signal: its name; SIGKILL", false},
			field{"pid", "PID", whole{1, 1 << 30}, "the process", false},
			field{"pid_file", "PIDFile", words{name: true}, "file whose first line is the process", false},
			field{"match", "Match", words{name: true}, "regular expression on command lines", false},
			field{"cgroup", "CGroup", words{name: true}, "control group whose processes are meant", false},
			field{"children", "Children", flag{}, "the processes that these have started too; false", false},
			field{"restart", "Restart", words{name: true}, "kill: command that starts it again", false},
		),
		"command": newMapping("", "command",
			field{"inject", "Inject", words{name: true}, "for the shell", true},
			field{"heal", "Heal", words{name: true}, "for the shell; nothing", false},
			timeout,
		),
		"http": newMapping("", "http",
			field{"inject", "Inject", hookForm(), "request with its origin", true},
			field{"heal", "Heal", hookForm(), "request with its origin; nothing", false},
			timeout,
		),
		"request": newMapping("", "request",
			field{"inject", "Inject", faultRequests(), "requests over the plan's protocol", true},
			field{"heal", "Heal", faultRequests(), "requests over the plan's protocol; nothing", false},
			addresses("of the target; all"),
			field{"user", "User", words{name: true}, "the target's", false},
			field{"database", "Database", words{name: true}, "the target's", false},
			field{"password_variable", "PasswordVariable", words{name: true},
				"environment variable of the user's password", false},
			timeout,
		),
		"network": newMapping("", "network",
			field{"do", "Do", choice(plan.NetworkFaults()), "what happens to connections", true},
			addresses("of the target, or names of proxies; all of the target"),
			field{"clients", "Clients", names(), "IP addresses or prefixes of clients; all", false},
			field{"direction", "Direction", choice{"both", "to-server", "to-client"},
				"latency, bandwidth, blackhole: which way; both", false},
			field{"delay", "Delay", span{above: true}, "latency, handshake: how long", false},
			field{"jitter", "Jitter", span{above: true}, "latency: up to so much more; 0", false},
			field{"bytes_per_s", "BytesPerS", positive(), "bandwidth: of a connection, each way", false},
			field{"between", "Between", groupsForm(), "partition: groups of nodes", false},
		),
		"flood": newMapping("", "flood",
			field{"connections", "Connections", whole{1, plan.MaxFloodConnections}, "to each address", true},
			addresses("host:port; all of the target"),
			field{"per_s", "PerS", positive(), "how many a second; as fast as they are taken", false},
		),
	}
}

// faultsForm returns the form of the list of faults.
func faultsForm() form {
	bodies := faultBodies()
	var names []string
	places := map[plan.FaultKind]string{plan.FaultProcess: "Process", plan.FaultCommand: "Command",
		plan.FaultHTTP: "HTTP", plan.FaultRequest: "Request", plan.FaultNetwork: "Network", plan.FaultFlood: "Flood"}
	fields := []field{
		{"name", "Name", words{name: true}, "name in reports; made from the kind unless given", false},
		{"at", "Start", span{}, "from the beginning of the load, or of phase; 0", false},
		{"for", "For", span{above: true}, "until it is healed; until the load ends", false},
		{"every", "Every", span{above: true}, "from one to the next; once", false},
		{"times", "Times", whole{1, plan.MaxFaultTimes}, "with every: how many; until the load ends", false},
		{"jitter", "Jitter", span{above: true}, "each comes later by a random time up to it; 0", false},
		{"spacing", "Spacing", choice{"even", "poisson"},
			"with every: even, or poisson for random gaps of that mean; even", false},
		{"phase", "Phase", words{name: true}, "phase of the load that at counts from; the load", false},
		{"pick", "Pick", choice{"all", "turn", "random"}, "which of several nodes each time; all", false},
		{"affects", "Affects", list{of: words{}, flow: true},
			"addresses of the target that it concerns, for the record", false},
	}
	for _, kind := range plan.FaultKinds() {
		names = append(names, string(kind))
		fields = append(fields, field{string(kind), places[kind], bodies[string(kind)], "", false})
	}
	all := newMapping("fault", "a fault", fields...)
	all.rules = []any{exactly(names)}
	which := kinds{what: "a fault", nothing: "nothing to do", names: names}
	all.after = func(r *reader, o *object, to any) {
		if o == nil {
			return
		}
		kind, _ := which.of(r, o)
		to.(*plan.Fault).Kind = plan.FaultKind(kind)
	}
	items := list{of: all, sound: true}
	return custom[[]plan.Fault]{
		func(r *reader, key string, n *yaml.Node, to *[]plan.Fault) {
			items.read(r, key, n, valueOf(to))
			nameFaults(*to)
		},
		func(from *[]plan.Fault) *yaml.Node { return items.write(reflect.ValueOf(from).Elem()) },
		items.schema,
	}
}

// nameFaults names faults without a name after their action.
func nameFaults(faults []plan.Fault) {
	taken := map[string]int{}
	for i := range faults {
		taken[faults[i].Name] = 1
	}
	for i := range faults {
		f := &faults[i]
		if f.Name != "" {
			continue
		}
		base := string(f.Kind)
		switch {
		case f.Process.Do != "":
			base = f.Process.Do
		case f.Network.Do != "":
			base = f.Network.Do
		case base == "":
			base = "fault"
		}
		f.Name = plan.Unused(base, taken)
	}
}

// proxiesForm returns the form of proxies between servers.
func proxiesForm() form {
	return list{of: newMapping("proxy", "a proxy",
		field{"name", "Name", words{name: true}, "name in faults", true},
		field{"listen", "Listen", words{name: true}, "host:port that it listens at", true},
		field{"to", "To", words{name: true}, "host:port that it connects to", true},
		field{"from", "From", words{name: true}, "node whose connections come here; anyone's", false},
		field{"node", "Node", words{name: true}, "node behind it; its name", false},
	), sound: true}
}
