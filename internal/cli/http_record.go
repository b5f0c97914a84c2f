package cli

import (
	"fmt"
	"strconv"
	"strings"

	"brunt/internal/driver"
	"brunt/internal/plan"
	"brunt/internal/secret"
)

// mostRequestsShown bounds how much of a list of requests goes into the record's plan.
const mostRequestsShown = 100

// cookPlanText is what a run of the HTTP commands sends, for the record: YAML, without secrets.
func cookPlanText(p *plan.Plan, args []string) []byte {
	var b strings.Builder
	line := func(format string, values ...any) { fmt.Fprintf(&b, format+"\n", values...) }
	line("name: %q", p.Name)
	line("command: %q", strings.Join(secret.Args(args, false), " "))
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
	line("  - request: %q", secret.Text(w.Method+" "+origin+w.Path))
	if len(w.Header) > 0 {
		line("    header:")
	}
	for _, h := range w.Header {
		line("      - %q", h[0]+": "+secret.Value(h[0], h[1]))
	}
	if len(w.Body) > 0 {
		line("    body_bytes: %d", len(w.Body))
	}
	if w.HashEvery > 0 {
		line("    hash: %d", w.Hash)
		line("    hash_every: %d", w.HashEvery)
	}
}
