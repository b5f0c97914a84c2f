package brunt

import (
	"cmp"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"brunt/internal/dialect/k6/bind"
	"brunt/internal/dialect/k6/conns"
	"brunt/internal/dialect/k6/session"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile"
	"brunt/internal/protocol/balance"
	"brunt/internal/protocol/protocols"
	"brunt/internal/server/target"
)

// destination is the target of a database, and the settings for its use.
type destination struct {
	conns.Target
	plan    plan.Target
	key     string        // identifies the target among others
	timeout time.Duration // of a request
}

// The settings of open in addition to those of a plan's target.
const (
	sessionsKey = "sessions"
	timeoutKey  = "timeout"
)

// readTarget reads "protocol://user:password@host:port/database", or an object with the keys of a plan's target
// (docs/plan.md), password, sessions and timeout. The plan's reader checks the values.
func readTarget(a *bind.Args) *destination {
	t := &destination{}
	var fields map[string]any
	if text, ok := a.Plain(0).(string); ok {
		fields = ofURL(a, text)
	} else {
		o, ok := a.Plain(0).(map[string]any)
		if !ok {
			a.Fault(0, "the target",
				`"protocol://host:port", or an object such as {protocol: "pg", addresses: ["127.0.0.1:5432"], user: "stress"}`)
		}
		fields = maps.Clone(o)
	}
	if a.Err() != nil {
		return t
	}
	password := take[string](a, fields, "password", "a string")
	own := a.SettingsOf("the target", fields)
	t.Most, t.timeout = int(own.Whole(sessionsKey, 0, 1_000_000, 0)), own.Time(timeoutKey, 30*time.Second)
	delete(fields, sessionsKey)
	delete(fields, timeoutKey)
	text, err := bind.JSON(map[string]any{"target": fields, "queries": []any{map[string]any{"sql": "select 1"}}})
	if err != nil {
		a.Failf("the target can't be read: %v", err)
		return t
	}
	p, err := planfile.Read("", text)
	if err != nil {
		a.Failf("the target: %v", plan.FirstProblem(err))
		return t
	}
	if err := target.Unfold(p); err != nil {
		a.Failf("the target: %v", err)
		return t
	}
	p.Target.Password = cmp.Or(password, p.Target.Password)
	t.complete(a, p)
	t.key = string(text) + "\x00" + password
	return t
}

// pool returns the pool of a target. All who open the same target share it.
func (t *destination) pool(s *session.Session) (*conns.Pool, error) {
	shared, err := s.Shared("brunt "+t.key, func() (io.Closer, error) {
		s.Serves(&t.plan, t.Protocol, "")
		return conns.New(s, t.Target), nil
	})
	if err != nil {
		return nil, err
	}
	return shared.(*conns.Pool), nil
}

// complete fills in the driver, the addresses and the balancing policy.
func (t *destination) complete(a *bind.Args, p *plan.Plan) {
	d, err := protocols.Find(p.Target.Protocol)
	if err != nil {
		a.Failf("the target: %v", err)
		return
	}
	t.Driver, t.Protocol, t.Embedded, t.plan = d.Open(), d.Name(), d.Embedded, p.Target
	if t.Targets, err = target.Targets(p); err != nil {
		a.Failf("the target: %v", err)
		return
	}
	_, weights := p.Target.Weighted()
	if t.Policy, err = balance.New(p.Target.Balance.Mode, len(t.Targets), weights, a.Session.Seed()); err != nil {
		a.Failf("the target: %v", err)
	}
}

func take[T any](a *bind.Args, fields map[string]any, key, want string) (v T) {
	x, given := fields[key]
	delete(fields, key)
	if v, ok := x.(T); ok || !given {
		return v
	}
	a.Failf("the target: %q isn't %s", key, want)
	return v
}

// ofURL reads a target from a URL.
func ofURL(a *bind.Args, text string) map[string]any {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" {
		a.Failf(`the target isn't of the form "protocol://user:password@host:port/database"`)
		return nil
	}
	if target.IsConnection(text) {
		return ofConnection(u)
	}
	fields := map[string]any{"protocol": u.Scheme}
	rest := strings.TrimPrefix(u.Path, "/")
	switch {
	case protocols.Of(u.Scheme).Embedded:
		fields["addresses"] = []any{u.Host + u.Path + u.Opaque}
		rest = ""
	case u.Host != "":
		fields["addresses"] = strings.Split(u.Host, ",")
	}
	if rest != "" {
		fields["database"] = rest
	}
	if u.User != nil {
		fields["user"] = u.User.Username()
		if password, ok := u.User.Password(); ok {
			fields["password"] = password
		}
	}
	options := map[string]any{}
	for key, values := range u.Query() {
		options[key] = values[0]
	}
	if len(options) > 0 {
		fields["options"] = options
	}
	return fields
}

// ofConnection reads a target from a URL that -a takes too, and whose parameters mean the same here. Others are options
// of the protocol.
func ofConnection(u *url.URL) map[string]any {
	own, options := url.Values{}, map[string]any{}
	for key, values := range u.Query() {
		if slices.Contains(target.Keywords(), key) {
			own[key] = values
		} else {
			options[key] = values[0]
		}
	}
	rest := *u
	rest.RawQuery = own.Encode()
	fields := map[string]any{"addresses": []any{rest.String()}}
	if len(options) > 0 {
		fields["options"] = options
	}
	return fields
}
