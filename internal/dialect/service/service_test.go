package service

import (
	"net/url"
	"strings"
	"testing"

	"brunt/internal/dialect/endpoints"
	"brunt/internal/plan"
)

func TestOperationsOfALongList(t *testing.T) {
	var requests []endpoints.Request
	for i := range mostOperations + 1 {
		u, err := url.Parse("http://a/" + strings.Repeat("x", i))
		if err != nil {
			t.Fatal(err)
		}
		requests = append(requests, endpoints.Request{Method: "GET", URL: u})
	}
	for n, want := range map[int]int{mostOperations: mostOperations, mostOperations + 1: 1} {
		p := &plan.Plan{}
		if err := endpoints.SetTarget(p, requests[:n]); err != nil {
			t.Fatal(err)
		}
		addOperations(p, requests[:n], true)
		if len(p.Operations) != want {
			t.Errorf("%d requests make %d operations, want %d", n, len(p.Operations), want)
		}
	}
	p := &plan.Plan{}
	if err := endpoints.SetTarget(p, requests); err != nil {
		t.Fatal(err)
	}
	addOperations(p, requests, true)
	if step := p.Operations[0].Steps[0]; len(step.Variants) != mostOperations+1 || step.Pick.By != plan.PickTurn {
		t.Errorf("%d variants", len(step.Variants))
	}
}
