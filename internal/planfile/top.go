package planfile

import (
	"math"
	"time"

	"go.yaml.in/yaml/v4"

	"brunt/internal/plan"
	"brunt/internal/secret"
)

func topKeys() []string {
	return []string{"config_name", "seed", "target", "tables_schema", "indexes", "queries", "transactions", "mix", "load",
		"scale", "scaled", "thresholds", "sessions", "timeouts", "retries", "retry_errors", "retry_pause", "late", "drop_after", "outage", "pipeline", "loops", "tier",
		"spin", "awake", "io_uring", "timing_tolerance", "interval", "error_threshold", "x-*"}
}

func (r *reader) plan(root *yaml.Node) *plan.Plan {
	p := &plan.Plan{}
	o := r.object(root, "the plan", topKeys())
	if o == nil {
		r.broken = append(r.broken, span{1, math.MaxInt})
		return p
	}
	if len(o.values) == 0 {
		r.problemAt(root, "write at least tables_schema or queries", "the plan is empty")
	}
	p.Where = o.where()
	p.Name = o.text("config_name")
	p.Seed = o.unsigned("seed")
	r.target(o, p)
	r.settings(o, p)
	before := len(r.problems)
	o.list("tables_schema", func(_ int, n *yaml.Node) {
		r.item(n, func() { p.Tables = append(p.Tables, r.table(n)) })
	})
	r.cross = len(r.problems) > before
	o.list("indexes", func(_ int, n *yaml.Node) {
		r.item(n, func() { p.Indexes = append(p.Indexes, r.index(n)) })
	})
	before = len(r.problems)
	r.operations(o, p)
	r.cross = r.cross || len(r.problems) > before
	r.load(o, p)
	o.list("thresholds", func(_ int, n *yaml.Node) {
		r.item(n, func() { p.Thresholds = append(p.Thresholds, r.threshold(n)) })
	})
	return p
}

func targetKeys() []string {
	return []string{"protocol", "addresses", "user", "database", "balance", "tls", "options", "password"}
}

func tlsKeys() []string {
	return []string{"enabled", "insecure_skip_verify", "ca", "cert", "key", "server_name"}
}

func (r *reader) target(top *object, p *plan.Plan) {
	n := top.get("target")
	if n == nil {
		return
	}
	t := &p.Target
	r.item(n, func() {
		o := r.object(n, "target", targetKeys())
		if o == nil {
			return
		}
		for k, at := range o.where() {
			p.Where["target."+k] = at
		}
		t.Protocol, t.User, t.Database, t.Balance = o.word("protocol"), o.text("user"), o.text("database"), o.word("balance")
		if a := o.get("addresses"); a != nil && a.Kind == yaml.ScalarNode {
			t.Addresses = []string{r.textOf(a, "addresses")}
		} else {
			t.Addresses = o.words("addresses")
		}
		if pw := o.get("password"); pw != nil && pw.Value != secret.Hidden {
			r.problemAt(pw, "give it in the environment, in a file or at the prompt", "a password in the plan would be kept in clear text")
		}
		r.tls(o, &t.TLS)
		r.options(o, t)
	})
}

func (r *reader) tls(o *object, t *plan.TLS) {
	n := o.get("tls")
	switch {
	case n == nil:
	case tagIs(n, "!!bool"):
		t.Enabled = o.flag("tls")
	default:
		s := r.object(n, "tls", tlsKeys())
		t.Enabled = s != nil && (!s.has("enabled") || s.flag("enabled"))
		t.InsecureSkipVerify = s.flag("insecure_skip_verify")
		t.CAFile, t.CertFile, t.KeyFile, t.ServerName = s.text("ca"), s.text("cert"), s.text("key"), s.text("server_name")
	}
}

// options reads the protocol's own settings: any keys, with plain values.
func (r *reader) options(o *object, t *plan.Target) {
	n := o.get("options")
	if n == nil {
		return
	}
	s := r.object(n, "options", []string{"*"})
	if s == nil {
		return
	}
	t.Options = map[string]string{}
	for k, v := range s.values {
		if v.Kind != yaml.ScalarNode || tagIs(v, "!!null") {
			r.wrong(v, "option "+k, "a text, number, true or false", "write one value")
			continue
		}
		t.Options[k] = v.Value
	}
}

func timeoutKeys() []string { return []string{"operation", "connect"} }

func (r *reader) settings(o *object, p *plan.Plan) {
	s := &p.Settings
	s.Sessions = int(o.integer("sessions", 1, math.MaxInt32))
	if n := o.get("timeouts"); n != nil {
		t := r.object(n, "timeouts", timeoutKeys())
		s.OperationTimeout, s.ConnectTimeout = t.duration("operation"), t.duration("connect")
	}
	if o.has("retries") {
		if s.Retries = int(o.integer("retries", 0, math.MaxInt32)); s.Retries == 0 {
			s.Retries = -1
		}
	}
	s.RetryErrors = o.flag("retry_errors")
	s.LatePolicy = o.choice("late", []string{"queue", "drop"})
	s.Outage = o.choice("outage", []string{"fail", "wait"})
	s.Tier = o.choice("tier", []string{"auto", "codec", "library"})
	s.Awake = o.choice("awake", []string{"auto", "on", "off"})
	s.Pipeline = int(o.integer("pipeline", 1, math.MaxInt32))
	s.Loops = int(o.integer("loops", 0, math.MaxInt32))
	s.IOUring = o.flag("io_uring")
	s.ErrorThreshold = o.number("error_threshold")
	for _, d := range []struct {
		key string
		to  *time.Duration
	}{{"retry_pause", &s.RetryPause}, {"drop_after", &s.DropAfter}, {"spin", &s.Spin}, {"timing_tolerance", &s.TimingTolerance}, {"interval", &s.Interval}} {
		*d.to = o.duration(d.key)
	}
}

func thresholdKeys() []string { return []string{"expr", "abort_on_fail", "after"} }

func (r *reader) threshold(n *yaml.Node) plan.Threshold {
	at, o := n, (*object)(nil)
	if n.Kind == yaml.MappingNode {
		o = r.object(n, "a threshold", thresholdKeys())
		o.require("a threshold", "expr")
		if at = o.get("expr"); at == nil {
			return plan.Threshold{At: r.at(n)}
		}
	}
	text := r.textOf(at, "a threshold")
	if !tagIs(at, "!!str") {
		return plan.Threshold{At: r.at(n)}
	}
	t, err := plan.ParseThreshold(text)
	if err != nil {
		what, fix := splitAdvice(err.Error())
		r.problemAt(at, fix, "%s", what)
	}
	t.At = r.at(at)
	t.AbortOnFail, t.AbortDelay = o.flag("abort_on_fail"), o.duration("after")
	if o.has("after") && !t.AbortOnFail {
		r.problemAt(o.get("after"), "add abort_on_fail: true", "after has no effect on a threshold that doesn't abort")
	}
	return t
}
