package planfile

import (
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"brunt/internal/driver"
	"brunt/internal/gen"
	"brunt/internal/plan"
	"brunt/internal/secret"
)

func tableNode(t *plan.Table) *yaml.Node {
	w := mapping{}
	w.text("name", t.Name)
	w.add("row_count", number(t.Rows))
	w.items("columns", len(t.Columns), func(i int) *yaml.Node {
		c := mapping{}
		c.text("name", t.Columns[i].Name)
		c.value(&t.Columns[i].ValueSpec)
		return c.node()
	})
	w.texts("primary_keys", t.PrimaryKeys)
	w.text("engine", t.Engine)
	w.texts("distribution_keys", t.DistributionKeys)
	w.flag("global", t.Global)
	w.text("tier", t.Tier)
	w.text("wait_applied", t.WaitApplied)
	w.flag("unlogged", t.Unlogged)
	w.duration("timeout", t.Timeout)
	return w.node()
}

func indexNode(x *plan.Index) *yaml.Node {
	w := mapping{}
	w.text("name", x.Name)
	w.flag("unique", x.Unique)
	w.text("table_name", x.Table)
	w.texts("columns_names", x.Columns)
	w.text("type", x.Type)
	w.items("options", len(x.Options), func(i int) *yaml.Node {
		o := mapping{}
		o.text("name", x.Options[i].Name)
		o.add("value", text(x.Options[i].Value))
		return o.node()
	})
	w.duration("timeout", x.Timeout)
	return w.node()
}

// written is a type's or distribution's name as the format spells it.
func written(word string, known []string) string {
	for _, k := range known {
		if strings.EqualFold(k, word) {
			return k
		}
	}
	return word
}

func (m *mapping) value(v *plan.ValueSpec) {
	m.text("type", written(string(v.Type), typeNames()))
	m.text("distribution", written(string(v.Distribution), distributionNames()))
	m.float("distribution_param", v.Param)
	m.float("hot_fraction", v.HotFraction)
	m.items("histogram", len(v.Buckets), func(i int) *yaml.Node {
		b := mapping{}
		if v.Buckets[i].Lo != 0 || v.Buckets[i].Hi != 0 {
			b.add("range", flow([]*yaml.Node{float(v.Buckets[i].Lo), float(v.Buckets[i].Hi)}))
		}
		b.add("weight", float(v.Buckets[i].Weight))
		return b.node()
	})
	if v.HasRange {
		lo, hi := rangeNodes(&v.Spec)
		m.add("range", flow([]*yaml.Node{lo, hi}))
	}
	if v.DecimalScale != 0 {
		m.add("scale", number(max(v.DecimalScale, 0)))
	}
	m.texts("alphabet", v.Alphabet)
	m.flag("is_nullable", v.Nullable)
	m.float("null_percentage", v.NullPercent)
	m.flag("unique", v.Unique)
	if v.Type == gen.TypeConstant {
		m.add("value", constantNode(v.Constant))
	}
	m.text("table", v.Table)
	m.text("column", v.Column)
	m.text("same_row", v.SameRow)
}

func rangeNodes(s *gen.Spec) (lo, hi *yaml.Node) {
	switch s.Type {
	case gen.TypeUnsigned:
		return number(uint64(s.IntLo)), number(uint64(s.IntHi))
	case gen.TypeDouble, gen.TypeDecimal:
		return float(s.FloatLo), float(s.FloatHi)
	case gen.TypeDatetime:
		return timeText(s.IntLo), timeText(s.IntHi)
	}
	return number(s.IntLo), number(s.IntHi)
}

func timeText(us int64) *yaml.Node {
	n := text(time.UnixMicro(us).UTC().Format(time.RFC3339Nano))
	n.Style = yaml.SingleQuotedStyle
	return n
}

func constantNode(c any) *yaml.Node {
	switch c := c.(type) {
	case string:
		return binary([]byte(c))
	case int64:
		return number(c)
	case uint64:
		return number(c)
	case float64:
		return constantFloat(c)
	case bool:
		return boolean(c)
	case time.Time:
		return scalar("!!timestamp", c.UTC().Format(time.RFC3339Nano))
	}
	return scalar("!!null", "null")
}

// isQuery reports whether an operation needs no more than a query has.
func isQuery(op *plan.Operation) bool {
	if len(op.Steps) != 1 || op.Transaction {
		return false
	}
	s := &op.Steps[0]
	return s.Name == "" && s.Think == (plan.Think{}) && len(s.Request.Capture) == 0
}

func (m *mapping) share(op *plan.Operation, counted bool) {
	if counted {
		m.add("count", number(op.Count))
	} else {
		m.add("weight", float(op.Weight))
	}
}

// counted reports whether counts say all that weights do.
func counted(p *plan.Plan) bool {
	if p.Mix == plan.ByCount {
		return true
	}
	for i := range p.Operations {
		if float64(p.Operations[i].Count) != p.Operations[i].Weight {
			return false
		}
	}
	return true
}

func (m *mapping) think(t plan.Think) {
	switch {
	case t == plan.Think{}:
	case t.Distribution == "" || t.Distribution == "constant" && t.Max == 0:
		m.add("think", duration(t.Min))
	default:
		w := mapping{}
		w.text("distribution", t.Distribution)
		if t.Distribution == "exponential" {
			w.add("mean", duration(t.Min))
		} else {
			w.add("min", duration(t.Min))
		}
		if t.Max != 0 || t.Distribution == "uniform" {
			w.add("max", duration(t.Max))
		}
		m.add("think", w.node())
	}
}

func queryNode(op *plan.Operation, counted bool) *yaml.Node {
	w := mapping{}
	w.text("name", op.Name)
	w.request(op, 0)
	w.think(op.Think)
	w.share(op, counted)
	return w.node()
}

func transactionNode(op *plan.Operation, counted bool) *yaml.Node {
	w := mapping{}
	w.text("name", op.Name)
	w.share(op, counted)
	w.text("isolation", op.Isolation)
	w.add("atomic", boolean(op.Transaction))
	w.think(op.Think)
	w.items("statements", len(op.Steps), func(i int) *yaml.Node {
		s := mapping{}
		s.text("name", op.Steps[i].Name)
		s.request(op, i)
		s.captures(op.Steps[i].Request.Capture)
		s.think(op.Steps[i].Think)
		return s.node()
	})
	return w.node()
}

func (m *mapping) captures(list []driver.Capture) {
	nodes := make([]*yaml.Node, len(list))
	for i, c := range list {
		nodes[i] = text(c.Name)
		if c.Name == "" {
			nodes[i] = number(c.Column)
		}
		for _, t := range typeNames()[:9] {
			if c.Kind != gen.Null && (&gen.Spec{Type: gen.Type(strings.ToLower(t))}).Kind() == c.Kind {
				w := mapping{}
				w.add("column", nodes[i])
				w.text("type", t)
				nodes[i] = w.node()
				break
			}
		}
	}
	if len(nodes) > 0 {
		m.add("capture", flow(nodes))
	}
}

func (m *mapping) request(op *plan.Operation, step int) {
	s := &op.Steps[step]
	q := &s.Request
	switch key := verbKey(q.Verb); q.Verb {
	case driver.Command:
		m.texts(key, q.Words)
	case driver.HTTP:
		m.add(key, webNode(q.Web))
	default:
		m.add(key, text(q.Text))
	}
	m.texts("fields", q.Fields)
	m.whole("rows", q.Rows)
	m.flag("simple", q.Simple)
	m.items("params", len(s.Params), func(i int) *yaml.Node { return paramNode(op, &s.Params[i], step, i) })
}

func webNode(web *driver.Web) *yaml.Node {
	w := mapping{}
	if web == nil {
		return w.node()
	}
	w.text("method", web.Method)
	w.text("path", web.Path)
	if len(web.Header) > 0 {
		w.add("headers", headersNode(web.Header))
	}
	switch {
	case web.SecretBody:
		w.add("body", text(secret.Hidden))
	case web.Body != nil:
		w.add("body", binary(web.Body))
	}
	w.unsigned("hash", web.Hash)
	if web.HashEvery != 0 || web.Hash != 0 {
		w.add("hash_every", number(web.HashEvery))
	}
	return w.node()
}

func headersNode(header [][2]string) *yaml.Node {
	h := mapping{}
	at := map[string]*yaml.Node{}
	for _, pair := range header {
		value := text(secret.Value(pair[0], pair[1]))
		earlier := at[pair[0]]
		switch {
		case earlier == nil:
			at[pair[0]] = value
			h.add(pair[0], value)
		case earlier.Kind == yaml.SequenceNode:
			earlier.Content = append(earlier.Content, value)
		default:
			first := *earlier
			*earlier = *flow([]*yaml.Node{&first, value})
		}
	}
	return h.node()
}

// paramNode writes a parameter; one that others repeat gets a name if it has none.
func paramNode(op *plan.Operation, p *plan.Param, step, index int) *yaml.Node {
	w := mapping{}
	w.text("name", paramName(op, p, step, index))
	switch {
	case p.Custom != nil:
		w.text("type", "Custom")
	case p.Value != nil:
		w.value(p.Value)
	case p.Argument:
		source := &op.Steps[p.Step].Params[p.Index]
		w.text("same_as", paramName(op, source, p.Step, p.Index))
	default:
		c := op.Steps[p.Step].Request.Capture[p.Index]
		column := c.Name
		if column == "" {
			column = itoa(c.Column)
		}
		w.add("from", text(itoa(p.Step+1)+"."+column))
	}
	return w.node()
}

func paramName(op *plan.Operation, p *plan.Param, step, index int) string {
	if p.Name != "" {
		return p.Name
	}
	for s := range op.Steps {
		for _, other := range op.Steps[s].Params {
			if other.Argument && other.Step == step && other.Index == index {
				return "statement " + itoa(step+1) + " parameter " + itoa(index+1)
			}
		}
	}
	return ""
}
