package loadtest

import (
	"testing"

	"brunt/internal/plan/planfile"
	"brunt/internal/run/scale"
)

// A worker gets the secrets of what it sends. The coordinator carries out the faults, and keeps theirs, which may have
// the same names.
func TestSecretsOfFaultsStayWithTheCoordinator(t *testing.T) {
	p, err := planfile.Read("plan.yml", []byte(`
target: {protocol: http, addresses: ["127.0.0.1:80"]}
prepare: [{http: {path: "/login?token=t0p"}}]
queries: [{name: get, weight: 1, http: {path: /, headers: {Authorization: Bearer sent}}}]
load: [{constant: {duration: 5s, rate: 10}}]
faults:
  - {name: slow, at: 1s, for: 1s,
     http: {inject: {origin: "http://127.0.0.1:81", path: /, headers: {Authorization: Bearer fault}}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	text, secrets, err := textOf(p)
	if err != nil {
		t.Fatal(err)
	}
	for variable, value := range secrets {
		if value == "Bearer fault" {
			t.Errorf("workers get the fault's secret in %s", variable)
		}
	}
	got, err := planOf(&scale.Job{Plan: text, Secrets: secrets})
	if err != nil {
		t.Fatal(err)
	}
	if h := got.Operations[0].Steps[0].Request.Web.Header; len(h) != 1 || h[0][1] != "Bearer sent" {
		t.Errorf("the operation is sent with %q", h)
	}
	if path := got.Prepare[0].Web.Path; path != "/login?token=t0p" {
		t.Errorf("sent before the load: %s", path)
	}
	if len(got.Faults) != 1 {
		t.Errorf("%d faults", len(got.Faults))
	}
}
