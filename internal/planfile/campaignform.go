package planfile

import (
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// campaignForm returns the form of a campaign file with all its keys.
func campaignForm() *mapping {
	service := newMapping("service", "service",
		field{"run", "Run", commandForm(), "kept running; it is ended and started again to reconfigure it", false},
		field{"reconfigure", "Reconfigure", commandForm(),
			"applies the settings, which are environment variables, and returns", false},
		field{"stop", "Stop", commandForm(), "run at the end", false},
		field{"ready", "Ready", list{of: probeForm()}, "signs that it is ready, all of which must come", false},
		field{"within", "Within", span{above: true}, "how long they may take; 1m", false},
	)
	service.rules = exclude("run", "reconfigure")
	service.after = func(r *reader, o *object, _ any) {
		if o.has("run") && o.has("reconfigure") {
			r.problemAt(o.get("reconfigure"), "keep one", "run and reconfigure exclude each other: what runs is started again")
		}
	}
	m := newMapping("", "the campaign",
		field{"campaign", "Name", words{name: true}, "name; the file's", false},
		field{"plan", "Plan", words{name: true}, "plan of the steps that name none, from this file's folder", false},
		field{"addresses", "Addresses", names(), "instead of the plans' own", false},
		field{"inspect", "Inspect", words{name: true},
			"the database that is looked at and that SQL goes to, such as pg=${DSN}", false},
		field{"watch", "Watch", names(),
			"what is sampled during every load, as --watch has it; what service runs is watched anyway", false},
		field{"goals", "Goals", list{of: words{name: true}}, "for the document", false},
		field{"settings", "Settings", settingsForm(), "of the service: environment variables of all commands", false},
		field{"service", "Service", service, "how what is tested is started and reconfigured", false},
		field{"steps", "Steps", list{of: stepForm(), full: true}, "in order", true},
		field{"x-*", "", custom[Campaign]{}, "", false},
	)
	return m
}

// commandForm returns the form of commands: a text for the shell, or a list of a program and its arguments.
func commandForm() form {
	line, args := words{name: true}, list{of: words{}, full: true}
	return custom[Command]{
		in: func(r *reader, key string, n *yaml.Node, to *Command) {
			to.At = r.at(n)
			if n.Kind == yaml.SequenceNode {
				args.read(r, key, n, valueOf(&to.Args))
				return
			}
			line.read(r, key, n, valueOf(&to.Shell))
		},
		as: anyOf(line, args),
	}
}

func probeForm() form {
	m := newMapping("probe", "a probe",
		field{"url", "URL", words{name: true}, "answers with a status from 200 to 399", false},
		field{"sql", "SQL", words{name: true}, "succeeds", false},
		field{"exec", "Exec", commandForm(), "exits with 0", false},
	)
	m.after = func(r *reader, o *object, _ any) {
		if o != nil && len(o.values) != 1 {
			r.problemAt(o.node, "write one of url, sql, exec", "a probe has %d of them", len(o.values))
		}
	}
	m.rules = []any{exactly(m.keys)}
	return m
}

// settingsForm returns the form of settings, whose order is kept.
func settingsForm() form {
	return custom[[]Setting]{
		in: func(r *reader, key string, n *yaml.Node, to *[]Setting) {
			pairsOf(r, key, n, func(name string, value *yaml.Node) {
				*to = append(*to, Setting{name, plainOf(r, name, value)})
			})
		},
		as: func(*definitions) schema {
			return schema{"type": "object", "additionalProperties": schema{"type": []string{"string", "number", "boolean"}}}
		},
	}
}

func gridForm() form {
	return custom[[]Axis]{
		in: func(r *reader, key string, n *yaml.Node, to *[]Axis) {
			pairsOf(r, key, n, func(name string, value *yaml.Node) {
				a := Axis{Name: name}
				if value.Kind != yaml.SequenceNode || len(value.Content) == 0 {
					r.problemAt(value, "write a list of values", "%s is %s instead of a list of values", name, kindName(value))
					return
				}
				for _, v := range value.Content {
					a.Values = append(a.Values, plainOf(r, name, resolve(v)))
				}
				*to = append(*to, a)
			})
		},
		as: func(*definitions) schema {
			return schema{"type": "object", "additionalProperties": schema{"type": "array", "minItems": 1,
				"items": schema{"type": []string{"string", "number", "boolean"}}}}
		},
	}
}

// pairsOf calls f for each key and value of a mapping, in order.
func pairsOf(r *reader, key string, n *yaml.Node, f func(name string, value *yaml.Node)) {
	if r.object(n, key, []string{"*"}) == nil {
		return
	}
	n = resolve(n)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		if name == "" || strings.ContainsAny(name, "=\x00 ") {
			r.problemAt(n.Content[i], "use letters, digits and _", "%q is no name of a setting", name)
			continue
		}
		f(name, resolve(n.Content[i+1]))
	}
}

// plainOf returns a scalar value as written.
func plainOf(r *reader, name string, n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || tagIs(n, "!!null") {
		r.wrong(n, name, "a text, number, true or false", "write one value")
		return ""
	}
	return n.Value
}

// stepForm returns the form of a step: exactly one key that is the step's kind, and keys common to all kinds.
func stepForm() form {
	commands := func(key, doc string) field {
		return field{key, strings.ToUpper(key[:1]) + key[1:], list{of: commandForm()}, doc, false}
	}
	sql := field{"sql", "SQL", names(), "files of statements, for the database of inspect", false}
	at := field{"at", "N", loadForm(),
		"N, what the profile's rates are multiplied by, or maximum: what the last search found", false}
	warm := field{"warm_up", "WarmUp", pauseForm(), "before, at the same rate; 0 for none", false}
	long := func(key, usual string) field { return field{key, "Duration", span{above: true}, usual, false} }
	bodies := map[string][]field{
		StepPrepare: {{"schema", "Schema", flag{}, "create and fill the plan's tables; false", false},
			commands("commands", ""), sql},
		StepSearch: {
			{"start", "Start", positive(), "first N; 1", false}, {"min", "Min", positive(), "lowest N; 0.1", false},
			{"max", "Max", positive(), "highest N; 1000", false},
			{"width", "Width", positive(), "of the bracket; 0.03", false}, {"trials", "Trials", whole{2, 1000}, "at most; 14",
				false},
			{"max_sessions", "MaxSessions", whole{1, 1_000_000}, "256", false},
			{"trial", "Trial", span{above: true}, "length; 30s", false}, warm,
		},
		StepConfirm: {at, {"ramp", "Ramp", pauseForm(), "up to the load; 1m; 0 for none", false},
			long("hold", "at the load; 1h")},
		StepReliability: {at, {"ramp", "Ramp", pauseForm(), "up to the load; 1m; 0 for none", false},
			long("hold", "at the load; 6h")},
		StepAnalyse: {at, warm, long("duration", "2m")},
		StepFix: {{"advisor", "Advisor", flag{},
			"build the indexes that the advisor proposes, and keep those that measuring proves; false", false},
			commands("commands", ""), sql,
			warm, long("duration", "of each run that proves an index; 30s"),
			{"repetitions", "Repetitions", whole{3, 1000}, "runs with an index, and as many without it; 4", false}},
		StepConnections: {at, warm, long("duration", "1m")},
		StepMatrix: {
			{"grid", "Grid", gridForm(), "settings and their values, all with all", false},
			{"cells", "Cells", list{of: settingsForm(), full: true}, "or lists of settings", false},
			at, warm, long("duration", "of each measurement; 1m"),
			{"repetitions", "Repetitions", whole{1, 1000}, "of each cell; 3", false},
			{"tolerance", "Tolerance", positive(), "how much worse than the best is as good; 0.05", false},
			{"by", "By", words{name: true}, "figure that decides: response.p(95), another quantile, response.avg, or rate",
				false},
		},
		StepDocument: {{"lang", "Languages", languagesForm(), "en, ru, or both", false}},
	}
	which := kinds{what: "a step", nothing: "nothing to do", names: StepKinds()}
	fields := []field{
		{"name", "Name", words{name: true}, "in the document; made from the kind", false},
		{"plan", "Plan", words{name: true}, "from this file's folder", false},
		commands("before", "commands before it"), commands("after", "commands after it"),
	}
	for _, kind := range which.names {
		one := field{kind, "", bodyForm(newMapping("", kind, bodies[kind]...)), "", false}
		if kind == StepRepeat {
			one = field{kind, "Repeat", list{of: choice(which.names), flow: true},
				"kinds of steps before it, done again for the comparison", false}
		}
		fields = append(fields, one)
	}
	all := newMapping("step", "a step", fields...)
	all.rules = []any{exactly(which.names)}
	return custom[Step]{in: func(r *reader, _ string, n *yaml.Node, to *Step) {
		to.At = r.at(n)
		before := len(r.problems)
		o := r.object(n, "a step", all.keys)
		if o == nil {
			return
		}
		known := len(r.problems)
		if to.Kind, _ = which.of(r, o); to.Kind == "" && known > before {
			r.problems = r.problems[:known] // an unknown key was reported already, which may be the kind
		}
		all.fill(r, o, valueOf(to))
	}, as: all.schema}
}

// bodyForm returns the form of what a step does: a mapping, or nothing if the defaults do.
func bodyForm(m *mapping) form {
	return custom[Step]{in: func(r *reader, key string, n *yaml.Node, to *Step) {
		if empty(n) {
			return
		}
		if o := r.object(n, key, m.keys); o != nil {
			m.fill(r, o, valueOf(to))
		}
	}, as: m.schema}
}

// pauseForm returns the form of a duration whose default is not 0: 0 is stored as None.
func pauseForm() form {
	of := span{}
	return custom[time.Duration]{in: func(r *reader, key string, n *yaml.Node, to *time.Duration) {
		if of.read(r, key, n, valueOf(to)); *to == 0 {
			*to = None
		}
	}, as: of.schema}
}

// loadForm returns the form of N: a number, or the word maximum.
func loadForm() form {
	return custom[float64]{
		in: func(r *reader, key string, n *yaml.Node, to *float64) {
			if tagIs(n, "!!str") && strings.EqualFold(n.Value, "maximum") {
				*to = Maximum
				return
			}
			positive().read(r, key, n, valueOf(to))
		},
		as: anyOf(positive(), choice{"maximum"}),
	}
}

func languagesForm() form {
	one := choice{"en", "ru"}
	return custom[[]string]{
		in: func(r *reader, key string, n *yaml.Node, to *[]string) {
			if n.Kind == yaml.ScalarNode {
				*to = []string{""}
				one.read(r, key, n, valueOf(&(*to)[0]))
				return
			}
			list{of: one, full: true}.read(r, key, n, valueOf(to))
		},
		as: anyOf(one, list{of: one, full: true}),
	}
}

// CampaignSchema returns the JSON Schema of campaign files for editors: docs/campaign.schema.json.
func CampaignSchema() []byte {
	return campaignForm().document("campaign.schema.json", schema{"title": "brunt campaign",
		"description": "Steps that find out what a service can take, and prove it."})
}
