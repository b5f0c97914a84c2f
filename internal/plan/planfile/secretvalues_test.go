package planfile

import (
	"slices"
	"strings"
	"testing"

	"brunt/internal/plan"
	"brunt/internal/protocol"
)

// secretPlan returns a plan with secrets of the target, of a request before the load, and of an operation. token is the
// value of a header, as a template.
func secretPlan(token string) *plan.Plan {
	return &plan.Plan{Prepare: []protocol.Request{{Verb: protocol.HTTP, Web: &protocol.Web{Method: "POST", Path: "/login",
		Header: [][2]string{{"X-Api-Key", "k3y"}}}}},
		Name: "x", Target: plan.Target{Protocol: "http", Addresses: []string{"http://me:pa:ss@h:1"},
			Options: map[string]string{"sslPassword": "hunter2", "mode": "fast"},
			Way:     plan.Way{Via: "http://p:w@proxy:3128"}},
		Inspect: []string{"auto", "postgres=postgres://u:one@h/db?password=two&x=1&token=three", "redis=redis://:one@h",
			"influxdb=http://h?u=me&p=four"},
		Operations: []plan.Operation{{Name: "q", Weight: 1, Steps: []plan.Step{{Request: protocol.Request{
			Verb: protocol.HTTP, Web: &protocol.Web{Method: "POST", Path: "/a?token=t0p&page=2", SecretBody: true,
				Body: []byte("a body"), Header: [][2]string{{"Authorization", token}, {"Accept", "text/html"}}}}}}}}}
}

// The secrets that SecretValues names can be put back into a written plan.
func TestSecretsComeBack(t *testing.T) {
	for _, token := range []string{"Bearer abc", "costs $$5"} {
		t.Run(token, func(t *testing.T) {
			p := secretPlan(token)
			values, err := SecretValues(p)
			if err != nil {
				t.Fatal(err)
			}
			text, err := Write(p)
			if err != nil {
				t.Fatal(err)
			}
			again, err := Read("plan.yml", text)
			if err != nil {
				t.Fatal(err)
			}
			if err := Secrets(again, func(v string) (string, bool) { s, ok := values[v]; return s, ok }); err != nil {
				t.Fatal(err)
			}
			want, got := p.Operations[0].Steps[0].Request.Web, again.Operations[0].Steps[0].Request.Web
			if got.Path != want.Path || string(got.Body) != string(want.Body) || got.Header[0] != want.Header[0] {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if got := again.Prepare[0].Web.Header[0]; got != p.Prepare[0].Web.Header[0] {
				t.Errorf("before the load: %q", got)
			}
			if again.Target.Addresses[0] != p.Target.Addresses[0] {
				t.Errorf("address %s, want %s", again.Target.Addresses[0], p.Target.Addresses[0])
			}
			if !slices.Equal(again.Inspect, p.Inspect) || again.Target.Way.Via != p.Target.Way.Via {
				t.Errorf("inspect %q via %q", again.Inspect, again.Target.Way.Via)
			}
			for _, part := range []string{"BRUNT_SECRET_VIA", "BRUNT_SECRET_INSPECT and BRUNT_SECRET_INSPECT_2"} {
				if !strings.Contains(string(text), "# give it in "+part) {
					t.Errorf("the plan doesn't name %s:\n%s", part, text)
				}
			}
			for variable, value := range values {
				if len(value) > 2 && strings.Contains(string(text), value) {
					t.Errorf("%s is in\n%s", variable, text)
				}
			}
			if again.Target.Options["sslPassword"] != "hunter2" {
				t.Errorf("options %v", again.Target.Options)
			}
		})
	}
}

// Secrets that couldn't be put back are refused.
func TestSecretsThatCantComeBack(t *testing.T) {
	two := secretPlan("Bearer abc")
	two.Operations = append(two.Operations, secretPlan("Bearer def").Operations...)
	for want, p := range map[string]*plan.Plan{
		"two different secrets of the name Authorization": two,
		"the secret Authorization has parameters in it":   secretPlan("Bearer $1"),
	} {
		t.Run(want, func(t *testing.T) {
			if _, err := SecretValues(p); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Secrets in bodies come back although the names of several would have the same variable.
func TestSecretsOfLikeNamesComeBack(t *testing.T) {
	const body = `{"password": "a1", "Password": "b2", "pass-word": "c3", "token": "d4", "token_2": "e5", "x": {"token": "f6",
		"token_3": "g7", "Token": "d4"}}`
	p := secretPlan("Bearer abc")
	w := p.Operations[0].Steps[0].Request.Web
	w.Body, w.SecretBody = []byte(body), false
	values, err := SecretValues(p)
	if err != nil {
		t.Fatal(err)
	}
	text, err := Write(p)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Read("plan.yml", text)
	if err != nil {
		t.Fatal(err)
	}
	if err := Secrets(again, func(v string) (string, bool) { s, ok := values[v]; return s, ok }); err != nil {
		t.Fatal(err)
	}
	if got := string(again.Operations[0].Steps[0].Request.Web.Body); got != body {
		t.Errorf("got\n%s\nwant\n%s", got, body)
	}
}
