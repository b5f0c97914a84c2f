package planfile

import (
	"time"

	"go.yaml.in/yaml/v4"

	"brunt/internal/plan"
)

// thinkForm is the form of a pause: a time, or a distribution of times.
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
