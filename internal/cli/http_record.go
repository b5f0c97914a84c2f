package cli

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/driver"
	"brunt/internal/plan"
)

// secretHeader reports whether a header may hold a secret.
func secretHeader(name string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	if name == "cookie" {
		return true
	}
	return slices.ContainsFunc([]string{"auth", "token", "secret", "key", "password", "session"}, func(s string) bool { return strings.Contains(name, s) })
}

// redactedHTTP is a command line of the HTTP commands without secrets: the values of headers that
// may hold some, and users' passwords in URLs.
func redactedHTTP(args []string) []string {
	out := slices.Clone(args)
	for i, a := range out {
		a = redactedURLs(a)
		out[i] = a
		if dashes := len(a) - len(strings.TrimLeft(a, "-")); dashes > 0 {
			name, value, hasValue := strings.Cut(a, "=")
			if hasValue && isHeaderFlag(name[dashes:]) {
				out[i] = name + "=" + redactedHeader(value)
			}
			continue
		}
		if i > 0 && isHeaderFlag(strings.TrimLeft(out[i-1], "-")) && strings.HasPrefix(out[i-1], "-") {
			out[i] = redactedHeader(a)
			continue
		}
		if u, err := url.Parse(a); err == nil && u.User != nil {
			u.User = url.User("***")
			out[i] = u.String()
		}
	}
	return out
}

func isHeaderFlag(name string) bool { return name == "header" || name == "H" }

func redactedHeader(text string) string {
	name, _, ok := strings.Cut(text, ":")
	if ok && secretHeader(name) {
		return name + ": ***"
	}
	return text
}

// mostRequestsShown bounds how much of a list of requests goes into the record's plan.
const mostRequestsShown = 100

// cookPlanText is what a run of the HTTP commands sends, for the record: YAML, without secrets.
func cookPlanText(p *plan.Plan, args []string) []byte {
	var b strings.Builder
	line := func(format string, values ...any) { fmt.Fprintf(&b, format+"\n", values...) }
	line("name: %q", p.Name)
	line("command: %q", strings.Join(redactedHTTP(args), " "))
	line("seed: %d", p.Seed)
	line("target:")
	line("  protocol: %s", p.Target.Protocol)
	line("  addresses: [%s]", strings.Join(quoted(p.Target.Addresses), ", "))
	line("  options:")
	for _, name := range []string{"good", "compress", "noreuse", "http2", "redirects", "proxy", "lazy", "plain"} {
		if v := p.Target.Options[name]; v != "" {
			line("    %s: %q", name, v)
		}
	}
	line("sessions: %d", p.Settings.Sessions)
	line("timeout: %s", p.Settings.OperationTimeout)
	line("load:")
	for _, ph := range p.Load {
		line("  - kind: %s", ph.Kind)
		if ph.Kind == plan.Open {
			line("    rate: %g", ph.RateFrom)
		}
		line("    duration: %s", ph.Duration)
		if ph.Operations > 0 {
			line("    operations: %d", ph.Operations)
		}
	}
	line("requests:")
	for i := range p.Operations {
		step := &p.Operations[i].Steps[0]
		all := step.Variants
		if len(all) == 0 {
			all = []driver.Request{step.Request}
		}
		for k := range all[:min(len(all), mostRequestsShown)] {
			webText(line, p, all[k].Web)
		}
		if more := len(all) - mostRequestsShown; more > 0 {
			line("  # and %d more", more)
		}
	}
	return []byte(b.String())
}

func quoted(texts []string) (all []string) {
	for _, s := range texts {
		all = append(all, strconv.Quote(s))
	}
	return all
}

func webText(line func(string, ...any), p *plan.Plan, w *driver.Web) {
	origin := w.Origin
	if origin == "" {
		origin = p.Target.Protocol + "://" + p.Target.Addresses[0]
	}
	line("  - request: %q", w.Method+" "+origin+w.Path)
	if len(w.Header) > 0 {
		line("    header:")
	}
	for _, h := range w.Header {
		value := h[1]
		if secretHeader(h[0]) {
			value = "***"
		}
		line("      - %q", h[0]+": "+value)
	}
	if len(w.Body) > 0 {
		line("    body_bytes: %d", len(w.Body))
	}
	if w.HashEvery > 0 {
		line("    hash: %d", w.Hash)
		line("    hash_every: %d", w.HashEvery)
	}
}
