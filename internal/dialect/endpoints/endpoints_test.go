package endpoints

import (
	"fmt"
	"strings"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/plan"
)

func request(t *testing.T, method, text string) Request {
	t.Helper()
	u, err := ParseURL(text)
	if err != nil {
		t.Fatal(err)
	}
	return Request{Method: method, URL: u}
}

func TestParseURL(t *testing.T) {
	for text, want := range map[string]string{
		"localhost:80": "scheme", "/a": "missing scheme", "ftp://a/": "http or https", "http://": "missing host",
		"http://u:secret@a:b/": "***@a:b", "http://a/%zz": "not a URL", "http://u:secret/x@a/": "not a URL",
		"http://u:secret x@a/": "not a URL", `http://u:secret"x@a/`: "not a URL", "http://u:secret#x@a/": "not a URL",
		"http://u:12#secret@a/": "as %23",
	} {
		if _, err := ParseURL(text); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestPlan(t *testing.T) {
	p := &plan.Plan{Seed: 3}
	requests := []Request{
		request(t, "GET", "http://a/x?price=$1"), request(t, "POST", "https://u:p@b:8443/{y}"),
		request(t, "GET", "http://[::1]:81"),
	}
	requests[1].Body = []byte("{$}")
	requests[1].Header = [][2]string{{"X-Price", "$2"}}
	if err := SetTarget(p, requests); err != nil {
		t.Fatal(err)
	}
	if p.Target.Protocol != "https" || strings.Join(p.Target.Addresses, " ") != "b:8443 a:80 [::1]:81" ||
		p.Target.Options["plain"] != "a:80,[::1]:81" || !p.Target.TLS.Enabled || p.Target.User != "" ||
		p.Target.Password != "" {
		t.Errorf("%+v", p.Target)
	}
	AddOperation(p, "GET {y}", 1, requests,
		[]plan.Param{{Name: "N", Value: &plan.ValueSpec{Spec: gen.Spec{Type: gen.TypeInteger}}}},
		plan.Pick{By: plan.PickTurn})
	p.Load = plan.RateLoad(10, 1e9).Phases
	if faults := p.Validate(); len(faults) > 0 {
		t.Fatal(faults)
	}
	step := &p.Operations[0].Steps[0]
	if p.Operations[0].Name != "GET (y)" || len(step.Variants) != 3 {
		t.Errorf("%+v", p.Operations[0])
	}
	for i, want := range []struct{ origin, path string }{{"http://a:80", "/x?price=$$1"}, {"https://b:8443", "/%7By%7D"},
		{"http://[::1]:81", "/"}} {
		if w := step.Variants[i].Web; w.Origin != want.origin || w.Path != want.path {
			t.Errorf("%d: %+v", i, w)
		}
	}
	if w := step.Variants[1].Web; string(w.Body) != "{$$}" || w.Header[0][1] != "$$2" ||
		w.Header[1] != [2]string{"Authorization", "Basic dTpw"} || w.Header[2] != [2]string{"N", "$1"} {
		t.Errorf("%+v", w)
	}
}

// A host never receives another host's password.
func TestUsersOfSeveralHosts(t *testing.T) {
	requests := []Request{
		request(t, "GET", "http://u:p@a/"), request(t, "GET", "http://b/"), request(t, "GET", "http://v:q@c/"),
		request(t, "GET", "http://v:q@c/"),
	}
	requests[3].Header = [][2]string{{"authorization", "Bearer x"}}
	p := &plan.Plan{}
	if err := SetTarget(p, requests); err != nil {
		t.Fatal(err)
	}
	AddOperation(p, "all", 1, requests, nil, plan.Pick{By: plan.PickTurn})
	for i, want := range []string{"[[Authorization Basic dTpw]]", "[]", "[[Authorization Basic djpx]]",
		"[[authorization Bearer x]]"} {
		if got := fmt.Sprint(p.Operations[0].Steps[0].Variants[i].Web.Header); got != want {
			t.Errorf("%d: %s, want %s", i, got, want)
		}
	}
	if p.Target.User != "" || p.Target.Password != "" {
		t.Errorf("%+v", p.Target)
	}
}

func TestTitle(t *testing.T) {
	one, two := request(t, "GET", "http://u:secret@a/x?y"), request(t, "GET", "http://b/")
	if got := Title(&one, SeveralHosts([]Request{one, one})); got != "GET /x?y" {
		t.Error(got)
	}
	if got := Title(&one, SeveralHosts([]Request{one, two})); got != "GET http://***@a/x?y" {
		t.Error(got)
	}
}

func TestUsersMustAgree(t *testing.T) {
	err := SetTarget(&plan.Plan{}, []Request{request(t, "GET", "http://u:secret@a/"),
		request(t, "GET", "http://v:hidden@a/")})
	if err == nil || strings.Contains(err.Error(), "hidden") {
		t.Error(err)
	}
}

func TestAListHasOneAddressAHost(t *testing.T) {
	for urls, want := range map[string]string{
		"http://a/1 http://a:80/2":        "http a:80",
		"http://a/ http://b/ http://a/2":  "http a:80 b:80",
		"https://a/ https://b:444/":       "https a:443 b:444",
		"http://a:99/ https://a:99/":      "https a:99",
		"http://a/ https://a/ http://b:1": "https a:443 a:80 b:1 plain a:80,b:1",
	} {
		var requests []Request
		for _, u := range strings.Fields(urls) {
			requests = append(requests, request(t, "GET", u))
		}
		p := &plan.Plan{}
		if err := SetTarget(p, requests); err != nil {
			t.Fatal(err)
		}
		got := p.Target.Protocol + " " + strings.Join(p.Target.Addresses, " ")
		if plain := p.Target.Options["plain"]; plain != "" {
			got += " plain " + plain
		}
		if got != want {
			t.Errorf("%s: %s, want %s", urls, got, want)
		}
	}
}

func TestTooManyAddresses(t *testing.T) {
	var requests []Request
	for i := range MaxAddresses + 1 {
		requests = append(requests, request(t, "GET", fmt.Sprintf("http://h%d/", i)))
	}
	if err := SetTarget(&plan.Plan{}, requests[:MaxAddresses]); err != nil {
		t.Error(err)
	}
	if err := SetTarget(&plan.Plan{}, requests); err == nil || !strings.Contains(err.Error(), "split the list") {
		t.Error(err)
	}
}
