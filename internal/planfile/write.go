package planfile

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"brunt/internal/driver"
	"brunt/internal/plan"
	"brunt/internal/secret"
)

// Write returns a plan as YAML that Read turns into an equal plan, shorthands resolved. Secrets
// (the password, options and HTTP headers that look like secrets, and credentials in addresses)
// are replaced by ***. Generators that another dialect has made of its own (plan.Param.Custom)
// are written as type: Custom, which Read refuses, and of a step's variants only Request is
// written: such a plan is for reading by people.
func Write(p *plan.Plan) ([]byte, error) {
	w := mapping{}
	w.text("config_name", p.Name)
	w.add("seed", number(p.Seed))
	w.target(&p.Target)
	w.settings(p)
	w.items("tables_schema", len(p.Tables), func(i int) *yaml.Node { return tableNode(&p.Tables[i]) })
	w.items("indexes", len(p.Indexes), func(i int) *yaml.Node { return indexNode(&p.Indexes[i]) })
	queries, counted := 0, counted(p)
	for queries < len(p.Operations) && isQuery(&p.Operations[queries]) {
		queries++
	}
	w.items("queries", queries, func(i int) *yaml.Node { return queryNode(&p.Operations[i], counted) })
	rest := p.Operations[queries:]
	w.items("transactions", len(rest), func(i int) *yaml.Node { return transactionNode(&rest[i], counted) })
	if len(p.Operations) > 0 {
		w.text("mix", []string{"weight", "count"}[p.Mix])
	}
	if p.Scaled != 0 {
		w.add("scaled", float(p.Scaled))
	}
	w.items("load", len(p.Load), func(i int) *yaml.Node { return phaseNode(&p.Load[i]) })
	w.items("thresholds", len(p.Thresholds), func(i int) *yaml.Node { return thresholdNode(&p.Thresholds[i]) })
	out, err := yaml.Dump(w.node())
	if err != nil {
		return nil, fmt.Errorf("write the plan as YAML: %w", err)
	}
	return out, nil
}

// mapping gathers keys and values in order.
type mapping struct{ content []*yaml.Node }

func (m *mapping) node() *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: m.content}
}

func (m *mapping) add(key string, value *yaml.Node) {
	m.content = append(m.content, text(key), value)
}

func scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

func text(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	if n.Tag == "!!str" {
		n.Style = yaml.DoubleQuotedStyle
		if plainWord(s) {
			n.Style = 0
		}
	}
	return n
}

// plainWord reports whether a text needs no quotes in any version of YAML.
func plainWord(s string) bool {
	if s == "" || !('a' <= s[0] && s[0] <= 'z' || 'A' <= s[0] && s[0] <= 'Z' || s[0] == '_') {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.' || c == '/') {
			return false
		}
	}
	var probe yaml.Node
	return yaml.Load([]byte(s), &probe) == nil && len(probe.Content) == 1 && probe.Content[0].ShortTag() == "!!str" &&
		!slices.Contains([]string{"y", "n", "yes", "no", "on", "off"}, strings.ToLower(s))
}

func number[T int | int64 | uint32 | uint64](v T) *yaml.Node { return scalar("!!int", fmt.Sprint(v)) }

func float(f float64) *yaml.Node {
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		return scalar("!!int", s)
	}
	return scalar("!!float", s)
}

// constantFloat writes a float64 so that it isn't read as a whole number.
func constantFloat(f float64) *yaml.Node {
	n := float(f)
	if n.Tag == "!!int" {
		n = scalar("!!float", n.Value+".0")
	}
	return n
}

func boolean(b bool) *yaml.Node { return scalar("!!bool", strconv.FormatBool(b)) }

func flow(nodes []*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle, Content: nodes}
}

func (m *mapping) text(key, s string) {
	if s != "" {
		m.add(key, text(s))
	}
}

func (m *mapping) texts(key string, list []string) {
	if len(list) == 0 {
		return
	}
	nodes := make([]*yaml.Node, len(list))
	for i, s := range list {
		nodes[i] = text(s)
	}
	m.add(key, flow(nodes))
}

func (m *mapping) whole(key string, v int) {
	if v != 0 {
		m.add(key, number(v))
	}
}

func (m *mapping) unsigned(key string, v uint64) {
	if v != 0 {
		m.add(key, number(v))
	}
}

func (m *mapping) float(key string, v float64) {
	if v != 0 {
		m.add(key, float(v))
	}
}

func (m *mapping) flag(key string, v bool) {
	if v {
		m.add(key, boolean(v))
	}
}

func (m *mapping) duration(key string, d time.Duration) {
	if d != 0 {
		m.add(key, duration(d))
	}
}

func duration(d time.Duration) *yaml.Node {
	if d == 0 {
		return number(0)
	}
	return text(d.String())
}

func (m *mapping) items(key string, n int, item func(i int) *yaml.Node) {
	if n == 0 {
		return
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for i := range n {
		list.Content = append(list.Content, item(i))
	}
	m.add(key, list)
}

func (m *mapping) target(t *plan.Target) {
	w := mapping{}
	w.text("protocol", t.Protocol)
	addresses := make([]string, len(t.Addresses))
	for i, a := range t.Addresses {
		addresses[i] = secret.Text(a)
	}
	w.texts("addresses", addresses)
	w.text("user", t.User)
	if t.Password != "" {
		w.text("password", secret.Hidden)
	}
	w.text("database", t.Database)
	w.text("balance", t.Balance)
	if t.TLS != (plan.TLS{}) {
		s := mapping{}
		s.add("enabled", boolean(t.TLS.Enabled))
		s.flag("insecure_skip_verify", t.TLS.InsecureSkipVerify)
		s.text("ca", t.TLS.CAFile)
		s.text("cert", t.TLS.CertFile)
		s.text("key", t.TLS.KeyFile)
		s.text("server_name", t.TLS.ServerName)
		w.add("tls", s.node())
	}
	if t.Options != nil {
		s := mapping{}
		for _, k := range slices.Sorted(maps.Keys(t.Options)) {
			s.add(k, text(secret.Value(k, t.Options[k])))
		}
		w.add("options", s.node())
	}
	if len(w.content) > 0 {
		m.add("target", w.node())
	}
}

func (m *mapping) settings(p *plan.Plan) {
	s := &p.Settings
	m.whole("sessions", s.Sessions)
	if s.OperationTimeout != 0 || s.ConnectTimeout != 0 {
		t := mapping{}
		t.duration("operation", s.OperationTimeout)
		t.duration("connect", s.ConnectTimeout)
		m.add("timeouts", t.node())
	}
	if s.Retries != 0 {
		m.add("retries", number(max(s.Retries, 0)))
	}
	m.flag("retry_errors", s.RetryErrors)
	m.duration("retry_pause", s.RetryPause)
	m.text("late", s.LatePolicy)
	m.duration("drop_after", s.DropAfter)
	m.text("outage", s.Outage)
	m.duration("interval", s.Interval)
	m.duration("timing_tolerance", s.TimingTolerance)
	m.float("error_threshold", s.ErrorThreshold)
	m.text("tier", s.Tier)
	m.whole("pipeline", s.Pipeline)
	m.whole("loops", s.Loops)
	m.duration("spin", s.Spin)
	m.text("awake", s.Awake)
	m.flag("io_uring", s.IOUring)
}

func phaseNode(ph *plan.Phase) *yaml.Node {
	w, in := mapping{}, mapping{}
	w.text("name", ph.Name)
	switch {
	case ph.Kind == plan.Pause:
		w.add("pause", duration(ph.Duration))
		w.flag("warm_up", ph.WarmUp)
		return w.node()
	case ph.Kind == plan.Closed:
		in.whole("sessions", ph.Sessions)
		in.duration("duration", ph.Duration)
		in.unsigned("operations", ph.Operations)
		w.add("closed", in.node())
	default:
		kind := "ramp"
		if ph.RateFrom == ph.RateTo {
			kind = "constant"
			in.add("rate", float(ph.RateTo))
		} else {
			in.add("from", float(ph.RateFrom))
			in.add("to", float(ph.RateTo))
		}
		in.add("duration", duration(ph.Duration))
		in.text("arrivals", ph.Arrivals)
		in.unsigned("operations", ph.Operations)
		w.add(kind, in.node())
	}
	w.flag("warm_up", ph.WarmUp)
	return w.node()
}

func thresholdNode(t *plan.Threshold) *yaml.Node {
	if !t.AbortOnFail {
		return text(t.Text)
	}
	w := mapping{}
	w.text("expr", t.Text)
	w.flag("abort_on_fail", true)
	w.duration("after", t.AbortDelay)
	return w.node()
}

func binary(b []byte) *yaml.Node {
	if utf8.Valid(b) {
		return text(string(b))
	}
	n := &yaml.Node{}
	n.SetString(string(b))
	return n
}

func verbKey(v driver.Verb) string {
	for _, key := range verbKeys() {
		if verbOf(key) == v {
			return key
		}
	}
	return "sql"
}
