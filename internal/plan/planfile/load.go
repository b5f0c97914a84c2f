package planfile

import (
	"cmp"
	"math"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"brunt/internal/load/control"
	"brunt/internal/plan"
	"brunt/internal/plan/metric"
	"brunt/internal/plan/planfile/form"
)

// shape holds the values of a phase's keys, for all kinds of phases.
type shape struct {
	From, To   float64 // operations a second; To is also a constant rate and a spike's peak
	Duration   time.Duration
	Rise, Fall time.Duration
	Steps      int
	Arrivals   string
	Operations uint64
	Sessions   int

	At       []time.Duration // of a listed phase
	Goal     string          // of an adaptive phase, whose start rate is From
	Adaptive plan.Adaptive
}

// phaseForm is the form of an item of load, which may be a shorthand for several phases.
type phaseForm struct {
	state  *state
	all    *form.Mapping
	kinds  form.Kinds
	bodies map[string]*form.Mapping // of the kinds; pause has none
}

func newPhaseForm(s *state) *phaseForm {
	rate := func(key, at string, must bool) form.Field {
		return form.Field{Key: key, At: at, Form: form.Decimal{Always: true}, Doc: "operations a second", Must: must}
	}
	long := func(key, at string, must bool) form.Field {
		return form.Field{Key: key, At: at, Form: form.Span{Always: must}, Must: must}
	}
	arrivals := form.Key("arrivals", "Arrivals", form.Choice{"uniform", "poisson", "whole"},
		"uniform, poisson or whole; uniform")
	operations := form.Key("operations", "Operations", form.Unsigned{Above: true}, "stop after so many")
	which := form.Kinds{What: "a phase", Nothing: "no load",
		Names: []string{"constant", "ramp", "step", "spike", "listed", "adaptive", "closed", "pause"}}
	f := &phaseForm{state: s, kinds: which, bodies: map[string]*form.Mapping{
		"constant": form.NewMapping("", "constant", rate("rate", "To", false), long("duration", "Duration", true), arrivals,
			operations),
		"ramp": form.NewMapping("", "ramp", rate("from", "From", false), rate("to", "To", true),
			long("duration", "Duration", true), arrivals, operations),
		"step": form.NewMapping("", "step", rate("from", "From", true), rate("to", "To", true),
			form.Required("steps", "Steps", form.Whole(1, plan.MaxSteps), "how many"), long("every", "Duration", true),
			arrivals),
		"spike": form.NewMapping("", "spike", rate("base", "From", false), rate("peak", "To", true),
			long("rise", "Rise", false), long("hold", "Duration", true), long("fall", "Fall", false), arrivals),
		"listed": form.NewMapping("", "listed", form.Required("at", "At", timesForm(), "when operations are due"),
			long("duration", "Duration", true)),
		"adaptive": form.NewMapping("", "adaptive", adaptiveFields(rate, long, arrivals)...),
		"closed": form.NewMapping("", "closed", form.Key("sessions", "Sessions", form.Whole(1, plan.MaxSessions),
			"sessions at work; all"), form.Key("duration", "Duration", form.Span{Above: true}, ""), operations),
	}}
	fields := []form.Field{form.Key("name", "", form.Name(), "name in reports; made from the kind unless given")}
	for _, kind := range f.kinds.Names {
		if body := f.bodies[kind]; body != nil {
			fields = append(fields, form.Key(kind, "", body, ""))
		}
	}
	f.all = form.NewMapping("phase", "a phase", append(fields, form.Key("pause", "", form.Span{}, "nothing is sent"),
		form.Key("warm_up", "", form.Flag{}, "recorded, but kept out of totals and thresholds; false"))...)
	f.all.Rules = []any{form.Exactly(f.kinds.Names)}
	return f
}

// adaptiveFields returns the keys of an adaptive phase. rate and long make fields for rates and durations.
func adaptiveFields(rate, long func(key, at string, must bool) form.Field, arrivals form.Field) []form.Field {
	return []form.Field{
		form.Key("goal", "Goal", form.Words{}, "what to keep, as in thresholds: response.p(99) < 20ms"),
		form.Key("watch", "Adaptive.Watch", form.Words{}, "instead of goal: what is watched, as --watch names it"),
		form.Key("metric", "Adaptive.Metric", form.Words{}, "of what is watched"),
		form.Key("at", "Adaptive.Level", form.Positive(), "where to keep the metric; of a counter, a second"),
		form.Key("method", "Adaptive.Method", form.Choice(control.Methods()), "pi, aimd or gradient; pi"),
		rate("start", "From", false), rate("min", "Adaptive.MinPerS", false), rate("max", "Adaptive.MaxPerS", true),
		form.Key("tolerance", "Adaptive.Tolerance", form.Positive(), "gradient: times the response time without load; 2"),
		form.Key("max_errors", "Adaptive.MaxErrors", form.Positive(),
			"share of failures from which the load backs off; 0.05"),
		long("duration", "Duration", true), arrivals,
	}
}

// adaptive sets ph from the keys of an adaptive phase.
func adaptive(r *form.Reader, k *form.Object, s *shape, ph *plan.Phase) {
	a := s.Adaptive
	a.Method = cmp.Or(a.Method, control.PI)
	a.MinPerS = cmp.Or(a.MinPerS, min(1, a.MaxPerS))
	if a.Method == control.Gradient && a.Tolerance == 0 {
		a.Tolerance = 2
	}
	if !k.Has("max_errors") {
		a.MaxErrors = 0.05
	}
	if s.Goal != "" {
		rule, err := metric.ParseRule(s.Goal)
		if err != nil {
			what, fix, _ := strings.Cut(err.Error(), "; ")
			r.ProblemAt(k.Get("goal"), fix, "%s", what)
		}
		a.Goal = rule
	}
	if !k.Has("start") {
		s.From = a.MinPerS
	}
	ph.RateFrom, ph.RateTo, ph.Adaptive = s.From, s.From, &a
}

// load reads the phases of the load. Without a load, counts make a queue and rates make a constant load.
func (f *phaseForm) load(r *form.Reader, o *form.Object, p *plan.Plan) {
	if n := o.Get("load"); n != nil {
		if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
			r.ProblemAt(n, "add a phase or remove load", "load is empty")
		}
		items := form.List{Of: form.Custom[[]plan.Phase]{In: func(r *form.Reader, _ string, n *yaml.Node, to *[]plan.Phase) {
			*to = f.phases(r, n, totalRate(p))
		}}, Sound: true}
		var all [][]plan.Phase
		items.Read(r, "load", n, form.ValueOf(&all))
		for _, phases := range all {
			p.Load = append(p.Load, phases...)
		}
	} else if p.Mix == plan.ByCount {
		p.Load = plan.QueueLoad().Phases
	} else if f.state.rated {
		p.Load = plan.RateLoad(totalRate(p), impliedDuration).Phases
	}
	nameAll(p.Load, func(ph *plan.Phase) *string { return &ph.Name }, phaseName)
	for i := range p.Load {
		if p.Load[i].At == (plan.Position{}) {
			p.Load[i].At = r.At(o.Node)
		}
		if !o.Has("sessions") {
			p.Settings.Sessions = max(p.Settings.Sessions, p.Load[i].Sessions)
		}
	}
}

// impliedDuration is the duration of a load that is implied by the operations' rates.
const impliedDuration = time.Minute

// scale applies the key scale to the load.
func scale(r *form.Reader, o *form.Object, p *plan.Plan) {
	n := o.Get("scale")
	if n == nil {
		return
	}
	if o.Has("scaled") {
		r.ProblemAt(n, "remove scaled", "scale and scaled exclude each other")
		return
	}
	factor := 0.0
	if form.Positive().Read(r, "scale", n, form.ValueOf(&factor)); factor > 0 {
		// Scale fails only for factors that are not above 0.
		_ = plan.Scale(p, factor)
	}
}

// totalRate returns the sum of the operations' rates, if they have rates.
func totalRate(p *plan.Plan) float64 {
	var sum float64
	for i := range p.Operations {
		sum += p.Operations[i].Weight
	}
	return math.Min(sum, math.MaxFloat64)
}

// phaseName names a phase after its kind.
func phaseName(ph *plan.Phase) string {
	switch {
	case ph.Kind != plan.Open:
		return string(ph.Kind)
	case ph.Times != nil:
		return "listed"
	case ph.Adaptive != nil:
		return "adaptive"
	case ph.RateFrom == ph.RateTo:
		return "constant"
	}
	return "ramp"
}

// phases reads one item of load. rate is the sum of the operations' rates.
func (f *phaseForm) phases(r *form.Reader, n *yaml.Node, rate float64) []plan.Phase {
	o := r.Object(n, "a phase", f.all.Keys)
	if o == nil {
		return nil
	}
	kind, sound := f.kinds.Of(r, o)
	if !sound {
		return nil
	}
	name, warm := "", false
	if n := o.Get("name"); n != nil {
		form.Name().Read(r, "name", n, form.ValueOf(&name))
	}
	if n := o.Get("warm_up"); n != nil {
		form.Flag{}.Read(r, "warm_up", n, form.ValueOf(&warm))
	}
	phases := f.kind(r, kind, name, o, rate)
	for i := range phases {
		phases[i].At, phases[i].WarmUp = r.At(o.Node), warm
	}
	return phases
}

func (f *phaseForm) kind(r *form.Reader, kind, name string, o *form.Object, rate float64) []plan.Phase {
	n := o.Get(kind)
	if kind == "pause" {
		return []plan.Phase{{Name: name, Kind: plan.Pause, Duration: r.DurationOf(n, "pause")}}
	}
	body := f.bodies[kind]
	k := r.Object(n, kind, body.Keys)
	if k == nil {
		return nil
	}
	s := shape{To: rate}
	body.Fill(r, k, form.ValueOf(&s))
	group := cmp.Or(name, kind)
	one := plan.Phase{Name: name, Kind: plan.Open, Duration: s.Duration, RateFrom: s.From, RateTo: s.To,
		Operations: s.Operations}
	phases := []plan.Phase{one}
	switch kind {
	case "constant":
		if !k.Has("rate") && !f.state.rated {
			k.Require(kind, "rate")
		}
		phases[0].RateFrom = s.To
	case "step":
		if s.Steps == 0 {
			return nil
		}
		phases = plan.Steps(group, s.From, s.To, s.Steps, s.Duration)
	case "spike":
		if phases = plan.Spike(group, s.From, s.To, s.Rise, s.Duration, s.Fall); len(phases) == 0 {
			r.ProblemAt(n, "give it rise, hold or fall", "a spike without duration")
		}
	case "listed":
		if len(s.At) == 0 || s.Duration <= 0 {
			return nil
		}
		phases[0] = plan.Listed(name, s.At, s.Duration)
	case "adaptive":
		adaptive(r, k, &s, &phases[0])
	case "closed":
		return []plan.Phase{{Name: name, Kind: plan.Closed, Sessions: s.Sessions, Duration: s.Duration,
			Operations: s.Operations}}
	}
	for i := range phases {
		phases[i].Arrivals = s.Arrivals
	}
	return phases
}

// node writes a phase; shorthands have been expanded.
func (f *phaseForm) node(ph *plan.Phase) *yaml.Node {
	n := pairs()
	add := func(key string, value *yaml.Node) { n.Content = append(n.Content, form.Text(key), value) }
	if ph.Name != "" {
		add("name", form.Text(ph.Name))
	}
	s := shape{From: ph.RateFrom, To: ph.RateTo, Duration: ph.Duration, Arrivals: ph.Arrivals, Operations: ph.Operations,
		Sessions: ph.Sessions, At: ph.Times}
	kind := phaseName(ph)
	if a := ph.Adaptive; a != nil {
		s.Goal, s.Adaptive = a.Goal.Text, *a
	}
	if ph.Kind == plan.Pause {
		add(kind, form.Duration(ph.Duration))
	} else if body := f.bodies[kind].Write(form.ValueOf(&s)); body != nil {
		add(kind, body)
	} else {
		add(kind, pairs())
	}
	if ph.WarmUp {
		add("warm_up", form.Flag{}.Write(reflect.ValueOf(true)))
	}
	return n
}

// thinkForm returns the form of a think time: a duration, or a distribution of durations.
func thinkForm() form.Form {
	type shape struct {
		Distribution   string
		Min, Max, Mean time.Duration
	}
	m := form.NewMapping("think", "think",
		form.Required("distribution", "Distribution", form.Choice{"constant", "uniform", "exponential"}, "how pauses spread"),
		form.Key("min", "Min", form.Span{Always: true}, "constant: the pause; uniform: the shortest"),
		form.Key("max", "Max", form.Span{Above: true}, "uniform: the longest; exponential: where it is cut"),
		form.Key("mean", "Mean", form.Span{Above: true}, "exponential: the mean"),
	)
	read := func(r *form.Reader, key string, n *yaml.Node, t *plan.Think) {
		if n.Kind != yaml.MappingNode {
			t.Distribution, t.Min = "constant", r.DurationOf(n, key)
			return
		}
		var s shape
		o := r.Object(n, "think", m.Keys)
		if o == nil {
			return
		}
		m.Fill(r, o, form.ValueOf(&s))
		*t = plan.Think{Distribution: s.Distribution, Min: s.Min, Max: s.Max}
		for distribution, keys := range map[string][2]string{
			"exponential": {"mean", "min"}, "uniform": {"max", "mean"}, "constant": {"min", "mean"},
		} {
			if t.Distribution == distribution {
				o.Require(distribution+" think time", keys[0])
				o.Refuse("remove it", "for a think time that is "+distribution, keys[1])
			}
		}
		switch t.Distribution {
		case "exponential":
			t.Min = s.Mean
		case "constant":
			o.Refuse("remove it", "for a think time that is constant", "max")
		}
	}
	write := func(t *plan.Think) *yaml.Node {
		switch {
		case *t == plan.Think{}:
			return nil
		case t.Distribution == "" || t.Distribution == "constant":
			return form.Duration(t.Min)
		}
		n := pairs(form.Text("distribution"), form.Text(t.Distribution), form.Text("min"), form.Duration(t.Min))
		if t.Distribution == "exponential" {
			n.Content[2] = form.Text("mean")
		}
		if t.Max != 0 {
			n.Content = append(n.Content, form.Text("max"), form.Duration(t.Max))
		}
		return n
	}
	return form.Custom[plan.Think]{In: read, Out: write, As: form.AnyOf(form.Span{}, m)}
}
