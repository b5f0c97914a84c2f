package planfile

import (
	"math"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"brunt/internal/control"
	"brunt/internal/metric"
	"brunt/internal/plan"
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

	Goal     string // of an adaptive phase, whose start rate is From
	Adaptive plan.Adaptive
}

// phaseForm is the form of an item of load, which may be a shorthand for several phases.
type phaseForm struct {
	state  *state
	all    *mapping
	kinds  kinds
	bodies map[string]*mapping // of the kinds; pause has none
}

func newPhaseForm(s *state) *phaseForm {
	rate := func(key, at string, must bool) field {
		return field{key, at, decimal{always: true}, "operations a second", must}
	}
	long := func(key, at string, must bool) field { return field{key, at, span{always: must}, "", must} }
	arrivals := field{"arrivals", "Arrivals", choice{"uniform", "poisson"}, "uniform or poisson; uniform", false}
	operations := field{"operations", "Operations", unsigned{above: true}, "stop after so many", false}
	f := &phaseForm{state: s, kinds: kinds{what: "a phase", nothing: "no load", names: []string{"constant", "ramp", "step",
		"spike", "adaptive", "closed", "pause"}}, bodies: map[string]*mapping{
		"constant": newMapping("", "constant", rate("rate", "To", false), long("duration", "Duration", true), arrivals,
			operations),
		"ramp": newMapping("", "ramp", rate("from", "From", false), rate("to", "To", true),
			long("duration", "Duration", true), arrivals, operations),
		"step": newMapping("", "step", rate("from", "From", true), rate("to", "To", true),
			field{"steps", "Steps", whole{1, plan.MaxSteps}, "how many", true}, long("every", "Duration", true), arrivals),
		"spike": newMapping("", "spike", rate("base", "From", false), rate("peak", "To", true),
			long("rise", "Rise", false), long("hold", "Duration", true), long("fall", "Fall", false), arrivals),
		"adaptive": newMapping("", "adaptive", adaptiveFields(rate, long, arrivals)...),
		"closed": newMapping("", "closed", field{"sessions", "Sessions", whole{1, plan.MaxSessions},
			"sessions at work; all", false}, field{"duration", "Duration", span{above: true}, "", false}, operations),
	}}
	fields := []field{{"name", "", words{name: true}, "name in reports; made from the kind unless given", false}}
	for _, kind := range f.kinds.names {
		if body := f.bodies[kind]; body != nil {
			fields = append(fields, field{kind, "", body, "", false})
		}
	}
	f.all = newMapping("phase", "a phase", append(fields, field{"pause", "", span{}, "nothing is sent", false},
		field{"warm_up", "", flag{}, "recorded, but kept out of totals and thresholds; false", false})...)
	f.all.rules = []any{exactly(f.kinds.names)}
	return f
}

// adaptiveFields returns the keys of an adaptive phase. rate and long make fields for rates and durations.
func adaptiveFields(rate, long func(key, at string, must bool) field, arrivals field) []field {
	return []field{
		{"goal", "Goal", words{}, "what to keep, as in thresholds: response.p(99) < 20ms", false},
		{"watch", "Adaptive.Watch", words{}, "instead of goal: what is watched, as --watch names it", false},
		{"metric", "Adaptive.Metric", words{}, "of what is watched", false},
		{"at", "Adaptive.Level", positive(), "where to keep the metric; of a counter, a second", false},
		{"method", "Adaptive.Method", choice(control.Methods()), "pi, aimd or gradient; pi", false},
		rate("start", "From", false), rate("min", "Adaptive.MinPerS", false), rate("max", "Adaptive.MaxPerS", true),
		{"tolerance", "Adaptive.Tolerance", positive(), "gradient: times the response time without load; 2", false},
		{"max_errors", "Adaptive.MaxErrors", positive(), "share of failures from which the load backs off; 0.05", false},
		long("duration", "Duration", true), arrivals,
	}
}

// adaptive sets ph from the keys of an adaptive phase.
func adaptive(r *reader, k *object, s *shape, ph *plan.Phase) {
	a := s.Adaptive
	if a.Method == "" {
		a.Method = control.PI
	}
	if a.MinPerS == 0 {
		a.MinPerS = min(1, a.MaxPerS)
	}
	if a.Method == control.Gradient && a.Tolerance == 0 {
		a.Tolerance = 2
	}
	if !k.has("max_errors") {
		a.MaxErrors = 0.05
	}
	if s.Goal != "" {
		rule, err := metric.ParseRule(s.Goal)
		if err != nil {
			what, fix, _ := strings.Cut(err.Error(), "; ")
			r.problemAt(k.get("goal"), fix, "%s", what)
		}
		a.Goal = rule
	}
	if !k.has("start") {
		s.From = a.MinPerS
	}
	ph.RateFrom, ph.RateTo, ph.Adaptive = s.From, s.From, &a
}

// load reads the phases of the load. Without a load, counts make a queue and rates make a constant load.
func (f *phaseForm) load(r *reader, o *object, p *plan.Plan) {
	if n := o.get("load"); n != nil {
		if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
			r.problemAt(n, "add a phase or remove load", "load is empty")
		}
		items := list{of: custom[[]plan.Phase]{in: func(r *reader, _ string, n *yaml.Node, to *[]plan.Phase) {
			*to = f.phases(r, n, totalRate(p))
		}}, sound: true}
		var all [][]plan.Phase
		items.read(r, "load", n, valueOf(&all))
		for _, phases := range all {
			p.Load = append(p.Load, phases...)
		}
	} else if p.Mix == plan.ByCount {
		p.Load = plan.QueueLoad().Phases
	} else if f.state.rated {
		p.Load = plan.RateLoad(totalRate(p), impliedDuration).Phases
	}
	namePhases(p.Load)
	for i := range p.Load {
		if p.Load[i].At == (plan.Position{}) {
			p.Load[i].At = r.at(o.node)
		}
		if !o.has("sessions") {
			p.Settings.Sessions = max(p.Settings.Sessions, p.Load[i].Sessions)
		}
	}
}

// impliedDuration is the duration of a load that is implied by the operations' rates.
const impliedDuration = time.Minute

// scale applies the key scale to the load.
func scale(r *reader, o *object, p *plan.Plan) {
	n := o.get("scale")
	if n == nil {
		return
	}
	if o.has("scaled") {
		r.problemAt(n, "remove scaled", "scale and scaled exclude each other")
		return
	}
	factor := 0.0
	if positive().read(r, "scale", n, valueOf(&factor)); factor > 0 {
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

// namePhases names phases without a name after their kind.
func namePhases(phases []plan.Phase) {
	taken := map[string]int{}
	for i := range phases {
		taken[phases[i].Name] = 1
	}
	for i := range phases {
		ph := &phases[i]
		if ph.Name != "" {
			continue
		}
		base := string(ph.Kind)
		if ph.Kind == plan.Open {
			base = "ramp"
			switch {
			case ph.Adaptive != nil:
				base = "adaptive"
			case ph.RateFrom == ph.RateTo:
				base = "constant"
			}
		}
		ph.Name = plan.Unused(base, taken)
	}
}

// phases reads one item of load. rate is the sum of the operations' rates.
func (f *phaseForm) phases(r *reader, n *yaml.Node, rate float64) []plan.Phase {
	o := r.object(n, "a phase", f.all.keys)
	if o == nil {
		return nil
	}
	kind, sound := f.kinds.of(r, o)
	if !sound {
		return nil
	}
	name, warm := "", false
	if n := o.get("name"); n != nil {
		words{name: true}.read(r, "name", n, valueOf(&name))
	}
	if n := o.get("warm_up"); n != nil {
		flag{}.read(r, "warm_up", n, valueOf(&warm))
	}
	phases := f.kind(r, kind, name, o, rate)
	for i := range phases {
		phases[i].At, phases[i].WarmUp = r.at(o.node), warm
	}
	return phases
}

func (f *phaseForm) kind(r *reader, kind, name string, o *object, rate float64) []plan.Phase {
	n := o.get(kind)
	if kind == "pause" {
		return []plan.Phase{{Name: name, Kind: plan.Pause, Duration: r.durationOf(n, "pause")}}
	}
	body := f.bodies[kind]
	k := r.object(n, kind, body.keys)
	if k == nil {
		return nil
	}
	s := shape{To: rate}
	body.fill(r, k, valueOf(&s))
	group := name
	if group == "" {
		group = kind
	}
	one := plan.Phase{Name: name, Kind: plan.Open, Duration: s.Duration, RateFrom: s.From, RateTo: s.To,
		Operations: s.Operations}
	phases := []plan.Phase{one}
	switch kind {
	case "constant":
		if !k.has("rate") && !f.state.rated {
			k.require(kind, "rate")
		}
		phases[0].RateFrom = s.To
	case "step":
		if s.Steps == 0 {
			return nil
		}
		phases = plan.Steps(group, s.From, s.To, s.Steps, s.Duration)
	case "spike":
		if phases = plan.Spike(group, s.From, s.To, s.Rise, s.Duration, s.Fall); len(phases) == 0 {
			r.problemAt(n, "give it rise, hold or fall", "a spike without duration")
		}
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
	add := func(key string, value *yaml.Node) { n.Content = append(n.Content, text(key), value) }
	if ph.Name != "" {
		add("name", text(ph.Name))
	}
	s := shape{From: ph.RateFrom, To: ph.RateTo, Duration: ph.Duration, Arrivals: ph.Arrivals, Operations: ph.Operations,
		Sessions: ph.Sessions}
	kind := string(ph.Kind)
	if ph.Kind == plan.Open {
		if kind = "ramp"; ph.RateFrom == ph.RateTo {
			kind = "constant"
		}
		if a := ph.Adaptive; a != nil {
			kind, s.Goal, s.Adaptive = "adaptive", a.Goal.Text, *a
		}
	}
	if ph.Kind == plan.Pause {
		add(kind, duration(ph.Duration))
	} else if body := f.bodies[kind].write(valueOf(&s)); body != nil {
		add(kind, body)
	} else {
		add(kind, pairs())
	}
	if ph.WarmUp {
		add("warm_up", flag{}.write(reflect.ValueOf(true)))
	}
	return n
}

// thinkForm returns the form of a think time: a duration, or a distribution of durations.
func thinkForm() form {
	type shape struct {
		Distribution   string
		Min, Max, Mean time.Duration
	}
	m := newMapping("think", "think",
		field{"distribution", "Distribution", choice{"constant", "uniform", "exponential"}, "how pauses spread", true},
		field{"min", "Min", span{always: true}, "constant: the pause; uniform: the shortest", false},
		field{"max", "Max", span{above: true}, "uniform: the longest; exponential: where it is cut", false},
		field{"mean", "Mean", span{above: true}, "exponential: the mean", false},
	)
	read := func(r *reader, key string, n *yaml.Node, t *plan.Think) {
		if n.Kind != yaml.MappingNode {
			t.Distribution, t.Min = "constant", r.durationOf(n, key)
			return
		}
		var s shape
		o := r.object(n, "think", m.keys)
		if o == nil {
			return
		}
		m.fill(r, o, valueOf(&s))
		*t = plan.Think{Distribution: s.Distribution, Min: s.Min, Max: s.Max}
		for distribution, keys := range map[string][2]string{
			"exponential": {"mean", "min"}, "uniform": {"max", "mean"}, "constant": {"min", "mean"},
		} {
			if t.Distribution == distribution {
				o.require(distribution+" think time", keys[0])
				o.refuse("remove it", "for a think time that is "+distribution, keys[1])
			}
		}
		switch t.Distribution {
		case "exponential":
			t.Min = s.Mean
		case "constant":
			o.refuse("remove it", "for a think time that is constant", "max")
		}
	}
	write := func(t *plan.Think) *yaml.Node {
		switch {
		case *t == plan.Think{}:
			return nil
		case t.Distribution == "" || t.Distribution == "constant":
			return duration(t.Min)
		}
		n := pairs(text("distribution"), text(t.Distribution), text("min"), duration(t.Min))
		if t.Distribution == "exponential" {
			n.Content[2] = text("mean")
		}
		if t.Max != 0 {
			n.Content = append(n.Content, text("max"), duration(t.Max))
		}
		return n
	}
	return custom[plan.Think]{read, write, anyOf(span{}, m)}
}
