package campaignfile

import (
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"brunt/internal/plan/planfile/form"
)

// newFormat returns the form of a campaign file with all its keys.
func newFormat() *form.Mapping {
	service := form.NewMapping("service", "service",
		form.Key("run", "Run", commandForm(), "kept running; it is ended and started again to reconfigure it"),
		form.Key("reconfigure", "Reconfigure", commandForm(),
			"applies the settings, which are environment variables, and returns"),
		form.Key("stop", "Stop", commandForm(), "run at the end"),
		form.Key("ready", "Ready", form.List{Of: probeForm()}, "signs that it is ready, all of which must come"),
		form.Key("within", "Within", form.Span{Above: true}, "how long they may take; 1m"),
	)
	service.Rules = form.Exclude("run", "reconfigure")
	service.After = func(r *form.Reader, o *form.Object, _ any) {
		if o.Has("run") && o.Has("reconfigure") {
			r.ProblemAt(o.Get("reconfigure"), "keep one", "run and reconfigure exclude each other: what runs is started again")
		}
	}
	m := form.NewMapping("", "the campaign",
		form.Key("campaign", "Name", form.Name(), "name; the file's"),
		form.Key("plan", "Plan", form.Name(), "plan of the steps that name none, from this file's folder"),
		form.Key("addresses", "Addresses", form.Names(), "instead of the plans' own"),
		form.Key("inspect", "Inspect", form.Name(), "the database that is looked at and that SQL goes to, such as pg=${DSN}"),
		form.Key("watch", "Watch", form.Names(),
			"what is sampled during every load, as --watch has it; what service runs is watched anyway"),
		form.Key("goals", "Goals", form.List{Of: form.Name()}, "for the document"),
		form.Key("settings", "Settings", settingsForm(), "of the service: environment variables of all commands"),
		form.Key("service", "Service", service, "how what is tested is started and reconfigured"),
		form.Required("steps", "Steps", form.List{Of: stepForm(), Full: true}, "in order"),
		form.Key("x-*", "", form.Custom[Campaign]{}, ""),
	)
	return m
}

// commandForm returns the form of commands: a text for the shell, or a list of a program and its arguments.
func commandForm() form.Form {
	line, args := form.Name(), form.List{Of: form.Words{}, Full: true}
	return form.Custom[Command]{
		In: func(r *form.Reader, key string, n *yaml.Node, to *Command) {
			to.At = r.At(n)
			if n.Kind == yaml.SequenceNode {
				args.Read(r, key, n, form.ValueOf(&to.Args))
				return
			}
			line.Read(r, key, n, form.ValueOf(&to.Shell))
		},
		As: form.AnyOf(line, args),
	}
}

func probeForm() form.Form {
	m := form.NewMapping("probe", "a probe",
		form.Key("url", "URL", form.Name(), "answers with a status from 200 to 399"),
		form.Key("sql", "SQL", form.Name(), "succeeds"),
		form.Key("exec", "Exec", commandForm(), "exits with 0"),
	)
	m.After = func(r *form.Reader, o *form.Object, _ any) {
		if o != nil && len(o.Values) != 1 {
			r.ProblemAt(o.Node, "write one of url, sql, exec", "a probe has %d of them", len(o.Values))
		}
	}
	m.Rules = []any{form.Exactly(m.Keys)}
	return m
}

// settingsForm returns the form of settings, whose order is kept.
func settingsForm() form.Form {
	return form.Custom[[]Setting]{
		In: func(r *form.Reader, key string, n *yaml.Node, to *[]Setting) {
			pairsOf(r, key, n, func(name string, value *yaml.Node) {
				*to = append(*to, Setting{name, r.PlainOf(value, name)})
			})
		},
		As: func(*form.Definitions) form.Schema {
			return form.Schema{"type": "object",
				"additionalProperties": form.Schema{"type": []string{"string", "number", "boolean"}}}
		},
	}
}

func gridForm() form.Form {
	return form.Custom[[]Axis]{
		In: func(r *form.Reader, key string, n *yaml.Node, to *[]Axis) {
			pairsOf(r, key, n, func(name string, value *yaml.Node) {
				a := Axis{Name: name}
				if value.Kind != yaml.SequenceNode || len(value.Content) == 0 {
					r.ProblemAt(value, "write a list of values", "%s is %s instead of a list of values", name, form.KindName(value))
					return
				}
				for _, v := range value.Content {
					a.Values = append(a.Values, r.PlainOf(form.Resolve(v), name))
				}
				*to = append(*to, a)
			})
		},
		As: func(*form.Definitions) form.Schema {
			return form.Schema{"type": "object", "additionalProperties": form.Schema{"type": "array", "minItems": 1,
				"items": form.Schema{"type": []string{"string", "number", "boolean"}}}}
		},
	}
}

// pairsOf calls f for each key and value of a mapping, in order.
func pairsOf(r *form.Reader, key string, n *yaml.Node, f func(name string, value *yaml.Node)) {
	if r.Object(n, key, []string{"*"}) == nil {
		return
	}
	n = form.Resolve(n)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		if name == "" || strings.ContainsAny(name, "=\x00 ") {
			r.ProblemAt(n.Content[i], "use letters, digits and _", "%q is no name of a setting", name)
			continue
		}
		f(name, form.Resolve(n.Content[i+1]))
	}
}

// stepForm returns the form of a step: exactly one key that is the step's kind, and keys common to all kinds.
func stepForm() form.Form {
	commands := func(key, doc string) form.Field {
		return form.Key(key, strings.ToUpper(key[:1])+key[1:], form.List{Of: commandForm()}, doc)
	}
	sql := form.Key("sql", "SQL", form.Names(), "files of statements, for the database of inspect")
	at := form.Key("at", "N", loadForm(),
		"N, what the profile's rates are multiplied by, or maximum: what the last search found")
	warm := form.Key("warm_up", "WarmUp", pauseForm(), "before, at the same rate; 0 for none")
	long := func(key, usual string) form.Field { return form.Key(key, "Duration", form.Span{Above: true}, usual) }
	bodies := map[string][]form.Field{
		StepPrepare: {form.Key("schema", "Schema", form.Flag{}, "create and fill the plan's tables; false"),
			commands("commands", ""), sql},
		StepSearch: {
			form.Key("start", "Start", form.Positive(), "first N; 1"), form.Key("min", "Min", form.Positive(), "lowest N; 0.1"),
			form.Key("max", "Max", form.Positive(), "highest N; 1000"),
			form.Key("width", "Width", form.Positive(), "of the bracket; 0.03"),
			form.Key("trials", "Trials", form.Whole(2, 1000), "at most; 14"),
			form.Key("max_sessions", "MaxSessions", form.Whole(1, 1_000_000), "256"),
			form.Key("trial", "Trial", form.Span{Above: true}, "length; 30s"), warm,
		},
		StepConfirm: {at, form.Key("ramp", "Ramp", pauseForm(), "up to the load; 1m; 0 for none"),
			long("hold", "at the load; 1h")},
		StepReliability: {at, form.Key("ramp", "Ramp", pauseForm(), "up to the load; 1m; 0 for none"),
			long("hold", "at the load; 6h")},
		StepAnalyse: {at, warm, long("duration", "2m")},
		StepFix: {form.Key("advisor", "Advisor", form.Flag{},
			"build the indexes that the advisor proposes, and keep those that measuring proves; false"),
			commands("commands", ""), sql,
			warm, long("duration", "of each run that proves an index; 30s"),
			form.Key("repetitions", "Repetitions", form.Whole(3, 1000), "runs with an index, and as many without it; 4")},
		StepConnections: {at, warm, long("duration", "1m")},
		StepMatrix: {
			form.Key("grid", "Grid", gridForm(), "settings and their values, all with all"),
			form.Key("cells", "Cells", form.List{Of: settingsForm(), Full: true}, "or lists of settings"),
			at, warm, long("duration", "of each measurement; 1m"),
			form.Key("repetitions", "Repetitions", form.Whole(1, 1000), "of each cell; 3"),
			form.Key("tolerance", "Tolerance", form.Positive(), "how much worse than the best is as good; 0.05"),
			form.Key("by", "By", form.Name(), "figure that decides: response.p(95), another quantile, response.avg, or rate"),
		},
		StepExperiment: {
			form.Required("set", "Set", settingsForm(), "settings of the server of inspect, and the values that are tried"),
			at, warm, long("duration", "of each run; 30s"),
			form.Key("repetitions", "Repetitions", form.Whole(3, 1000), "runs with the settings, and as many without; 4")},
		StepDocument: {form.Key("lang", "Languages", languagesForm(), "en, ru, or both")},
	}
	which := form.Kinds{What: "a step", Nothing: "nothing to do", Names: StepKinds()}
	fields := []form.Field{
		form.Key("name", "Name", form.Name(), "in the document; made from the kind"),
		form.Key("plan", "Plan", form.Name(), "from this file's folder"),
		commands("before", "commands before it"), commands("after", "commands after it"),
	}
	for _, kind := range which.Names {
		one := form.Key(kind, "", bodyForm(form.NewMapping("", kind, bodies[kind]...)), "")
		if kind == StepRepeat {
			one = form.Key(kind, "Repeat", form.List{Of: form.Choice(which.Names), Flow: true},
				"kinds of steps before it, done again for the comparison")
		}
		fields = append(fields, one)
	}
	all := form.NewMapping("step", "a step", fields...)
	all.Rules = []any{form.Exactly(which.Names)}
	return form.Custom[Step]{In: func(r *form.Reader, _ string, n *yaml.Node, to *Step) {
		to.At = r.At(n)
		before := len(r.Problems)
		o := r.Object(n, "a step", all.Keys)
		if o == nil {
			return
		}
		known := len(r.Problems)
		if to.Kind, _ = which.Of(r, o); to.Kind == "" && known > before {
			r.Problems = r.Problems[:known] // an unknown key was reported already, which may be the kind
		}
		all.Fill(r, o, form.ValueOf(to))
	}, As: all.Schema}
}

// bodyForm returns the form of what a step does: a mapping, or nothing if the defaults do.
func bodyForm(m *form.Mapping) form.Form {
	return form.Custom[Step]{In: func(r *form.Reader, key string, n *yaml.Node, to *Step) {
		if form.Empty(n) {
			return
		}
		if o := r.Object(n, key, m.Keys); o != nil {
			m.Fill(r, o, form.ValueOf(to))
		}
	}, As: m.Schema}
}

// pauseForm returns the form of a duration whose default is not 0: 0 is stored as None.
func pauseForm() form.Form {
	of := form.Span{}
	return form.Custom[time.Duration]{In: func(r *form.Reader, key string, n *yaml.Node, to *time.Duration) {
		if of.Read(r, key, n, form.ValueOf(to)); *to == 0 {
			*to = None
		}
	}, As: of.Schema}
}

// loadForm returns the form of N: a number, or the word maximum.
func loadForm() form.Form {
	return form.Custom[float64]{
		In: func(r *form.Reader, key string, n *yaml.Node, to *float64) {
			if form.TagIs(n, "!!str") && strings.EqualFold(n.Value, "maximum") {
				*to = Maximum
				return
			}
			form.Positive().Read(r, key, n, form.ValueOf(to))
		},
		As: form.AnyOf(form.Positive(), form.Choice{"maximum"}),
	}
}

func languagesForm() form.Form {
	one := form.Choice{"en", "ru"}
	return form.Custom[[]string]{
		In: func(r *form.Reader, key string, n *yaml.Node, to *[]string) {
			if n.Kind == yaml.ScalarNode {
				*to = []string{""}
				one.Read(r, key, n, form.ValueOf(&(*to)[0]))
				return
			}
			form.List{Of: one, Full: true}.Read(r, key, n, form.ValueOf(to))
		},
		As: form.AnyOf(one, form.List{Of: one, Full: true}),
	}
}

// Schema returns the JSON Schema of campaign files for editors: docs/campaign.schema.json.
func Schema() []byte {
	return newFormat().Document("campaign.schema.json", form.Schema{"title": "brunt campaign",
		"description": "Steps that find out what a service can take, and prove it."})
}
