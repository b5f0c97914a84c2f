package planfile

import (
	"math"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"brunt/internal/plan"
)

func phaseKinds() []string { return []string{"constant", "ramp", "step", "spike", "closed", "pause"} }

func phaseKeys() []string { return append(phaseKinds(), "name", "warm_up") }

func constantKeys() []string { return []string{"rate", "duration", "arrivals", "operations"} }

func rampKeys() []string { return []string{"from", "to", "duration", "arrivals", "operations"} }

func stepKeys() []string { return []string{"from", "to", "steps", "every", "arrivals"} }

func spikeKeys() []string { return []string{"base", "peak", "rise", "hold", "fall", "arrivals"} }

func closedKeys() []string { return []string{"sessions", "duration", "operations"} }

// impliedDuration is how long a load lasts that follows from the operations' rates alone.
const impliedDuration = time.Minute

// load reads the phases and scales them. Without any, counts make a queue and rates a constant
// load.
func (r *reader) load(o *object, p *plan.Plan) {
	o.list("load", func(_ int, n *yaml.Node) {
		r.item(n, func() { p.Load = append(p.Load, r.phase(n, totalRate(p))...) })
	})
	switch {
	case o.has("load"):
		if n := o.get("load"); n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
			r.problemAt(n, "add a phase or remove load", "load is empty")
		}
	case p.Mix == plan.ByCount:
		p.Load = plan.QueueLoad().Phases
	case r.rated:
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
	r.scale(o, p)
}

func (r *reader) scale(o *object, p *plan.Plan) {
	if n := o.get("scaled"); n != nil {
		if p.Scaled = o.number("scaled"); p.Scaled <= 0 {
			r.problemAt(n, "write a number above 0", "scaled is %s", n.Value)
		}
	}
	n := o.get("scale")
	if n == nil {
		return
	}
	if o.has("scaled") {
		r.problemAt(n, "remove scaled", "scale and scaled exclude each other")
		return
	}
	if factor := r.numberOf(n, "scale"); tagIs(n, "!!int", "!!float") {
		if err := plan.Scale(p, factor); err != nil {
			r.problemAt(n, "write a number above 0", "scale is %s", n.Value)
		}
	}
}

// totalRate is the sum of the operations' rates, if they have rates.
func totalRate(p *plan.Plan) float64 {
	var sum float64
	for i := range p.Operations {
		sum += p.Operations[i].Weight
	}
	return math.Min(sum, math.MaxFloat64)
}

// namePhases gives phases without a name one after their kind.
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
			if ph.RateFrom == ph.RateTo {
				base = "constant"
			}
		}
		ph.Name = unused(base, taken)
	}
}

func (r *reader) phase(n *yaml.Node, rate float64) []plan.Phase {
	o := r.object(n, "a phase", phaseKeys())
	if o == nil {
		return nil
	}
	kind := ""
	for _, k := range phaseKinds() {
		if !o.has(k) {
			continue
		}
		if kind != "" {
			r.problemAt(o.get(k), "make it a phase of its own", "a phase is both %s and %s", kind, k)
			return nil
		}
		kind = k
	}
	if kind == "" {
		r.problemAt(o.node, "add one of "+strings.Join(phaseKinds(), ", "), "a phase says no load")
		return nil
	}
	name := o.text("name")
	phases := r.phasesOf(kind, name, o, rate)
	for i := range phases {
		phases[i].At, phases[i].WarmUp = r.at(o.node), o.flag("warm_up")
	}
	return phases
}

func (r *reader) phasesOf(kind, name string, o *object, rate float64) []plan.Phase {
	n := o.get(kind)
	if kind == "pause" {
		return []plan.Phase{{Name: name, Kind: plan.Pause, Duration: r.durationOf(n, "pause")}}
	}
	group := name
	if group == "" {
		group = kind
	}
	var phases []plan.Phase
	switch kind {
	case "constant":
		k := r.object(n, kind, constantKeys())
		k.require(kind, "duration")
		if k.has("rate") {
			rate = k.number("rate")
		} else if !r.rated {
			k.require(kind, "rate")
		}
		ph := plan.Phase{Name: name, Kind: plan.Open, Duration: k.duration("duration"), RateFrom: rate, RateTo: rate, Operations: k.unsigned("operations")}
		phases = arriving(k, ph)
	case "ramp":
		k := r.object(n, kind, rampKeys())
		k.require(kind, "to", "duration")
		ph := plan.Phase{Name: name, Kind: plan.Open, Duration: k.duration("duration"), RateFrom: k.number("from"), RateTo: k.number("to"), Operations: k.unsigned("operations")}
		phases = arriving(k, ph)
	case "step":
		k := r.object(n, kind, stepKeys())
		k.require(kind, "from", "to", "steps", "every")
		if steps := int(k.integer("steps", 1, plan.MaxSteps)); steps > 0 {
			phases = arriving(k, plan.Steps(group, k.number("from"), k.number("to"), steps, k.duration("every"))...)
		}
	case "spike":
		k := r.object(n, kind, spikeKeys())
		k.require(kind, "peak", "hold")
		phases = arriving(k, plan.Spike(group, k.number("base"), k.number("peak"), k.duration("rise"), k.duration("hold"), k.duration("fall"))...)
		if k != nil && len(phases) == 0 {
			r.problemAt(n, "give it rise, hold or fall", "a spike without duration")
		}
	case "closed":
		k := r.object(n, kind, closedKeys())
		phases = []plan.Phase{{Name: name, Kind: plan.Closed, Sessions: int(k.integer("sessions", 1, math.MaxInt32)),
			Duration: k.duration("duration"), Operations: k.unsigned("operations")}}
	}
	return phases
}

// arriving gives open phases the arrival process that their mapping names.
func arriving(o *object, phases ...plan.Phase) []plan.Phase {
	arrivals := o.choice("arrivals", []string{"uniform", "poisson"})
	for i := range phases {
		phases[i].Arrivals = arrivals
	}
	return phases
}
