package plan

import (
	"net/url"

	"brunt/internal/driver"
	"brunt/internal/secret"
)

// Secrets are the values of p that nothing printed or stored may hold.
func (p *Plan) Secrets() (all []string) {
	add := func(name, value string) {
		if secret.Name(name) && value != "" {
			all = append(all, value)
		}
	}
	add("password", p.Target.Password)
	for name, value := range p.Target.Options {
		add(name, value)
	}
	request := func(w *driver.Web) {
		if w == nil {
			return
		}
		for _, h := range w.Header {
			add(h[0], h[1])
		}
		if w.SecretBody {
			add("secret", string(w.Body))
		}
		if u, err := url.ParseRequestURI(w.Path); err == nil {
			for name, values := range u.Query() {
				for _, value := range values {
					add(name, value)
				}
			}
		}
	}
	for i := range p.Operations {
		for k := range p.Operations[i].Steps {
			step := &p.Operations[i].Steps[k]
			request(step.Request.Web)
			for v := range step.Variants {
				request(step.Variants[v].Web)
			}
		}
	}
	return all
}
