package slowcooker

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/dialect/endpoints"
	"brunt/internal/load/gen"
	"brunt/internal/plan"
)

// GoodStatuses are the statuses that slow_cooker counts as good.
const GoodStatuses = "200-499"

// PhaseName is the name of the only phase of the load.
const PhaseName = "cook"

// forever is the planned duration of a load without an end.
const forever = 10 * 365 * 24 * time.Hour

// Plan makes the plan for the options: an open load of evenly spaced requests without retries. Each request has its
// number in the header Sc-Req-Id. proxied makes sessions use the environment's proxy.
func (o *Options) Plan(proxied bool) (*plan.Plan, error) {
	p := &plan.Plan{Name: "cook-" + endpoints.Address(o.URLs[0]), Seed: o.Seed}
	requests := make([]endpoints.Request, len(o.URLs))
	for i, u := range o.URLs {
		requests[i] = endpoints.Request{
			Method: o.Method, URL: u, Header: o.Headers, Body: o.Body, Secret: o.SecretBody, Hash: o.HashValue,
			HashEvery: o.HashEvery,
		}
	}
	if err := endpoints.SetTarget(p, requests); err != nil {
		return nil, err
	}
	endpoints.Secure(&p.Target, o.Insecure, o.CAFile, o.CertFile, o.KeyFile, o.Redirects > 0)
	maps.Copy(p.Target.Options, map[string]string{
		"good": GoodStatuses, "compress": onOff(o.Compress), "noreuse": onOff(o.NoReuse), "http2": onOff(!o.HTTP1),
	})
	if o.Redirects > 0 {
		p.Target.Options["redirects"] = strconv.Itoa(o.Redirects)
	}
	if proxied {
		p.Target.Options["proxy"] = "env"
	}
	endpoints.AddOperation(p, o.operation(requests), 1, requests, o.fields(), o.pick())
	p.Load = []plan.Phase{o.phase()}
	if o.WarmUp > 0 {
		if err := plan.WarmUp(p, o.WarmUp); err != nil {
			return nil, fmt.Errorf("warm-up: %w", err)
		}
	}
	p.Settings = plan.Settings{
		Sessions: o.Concurrency, OperationTimeout: o.Timeout, ConnectTimeout: 5 * time.Second,
		Retries: -1, EndOnTime: o.Iterations > 0 || o.Duration > 0, LatePolicy: o.Late, Interval: o.Slice, Awake: o.Awake,
	}
	if err := p.Require(o.Thresholds); err != nil {
		return nil, err
	}
	if problems := p.Validate(); len(problems) > 0 {
		return nil, problems
	}
	return p, nil
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func (o *Options) operation(requests []endpoints.Request) string {
	if len(requests) == 1 {
		return endpoints.Title(&requests[0], false)
	}
	return fmt.Sprintf("%s %d URLs", o.Method, len(requests))
}

// pick returns how URLs are chosen from a list: in turn, or in the order of slow_cooker's goroutines.
func (o *Options) pick() plan.Pick {
	if o.Compat {
		return plan.Pick{By: plan.PickWalk, Walkers: o.Concurrency}
	}
	return plan.Pick{By: plan.PickTurn}
}

// fields returns the headers whose values differ between requests.
func (o *Options) fields() []plan.Param {
	var fields []plan.Param
	add := func(name string, spec gen.Spec) {
		fields = append(fields, plan.Param{Name: name, Value: &plan.ValueSpec{Spec: spec}})
	}
	if !o.gave("Sc-Req-Id") {
		add("Sc-Req-Id", gen.Spec{Type: gen.TypeInteger, Distribution: gen.Sequential, HasRange: true, IntLo: 1,
			IntHi: math.MaxInt64})
	}
	if len(o.Hosts) > 0 {
		add("Host", gen.Spec{Type: gen.TypeOneOf, Values: o.Hosts})
	}
	return fields
}

// gave reports whether a header was given on the command line.
func (o *Options) gave(name string) bool {
	return slices.ContainsFunc(o.Headers, func(h [2]string) bool { return strings.EqualFold(h[0], name) })
}

func (o *Options) phase() plan.Phase {
	length := cmp.Or(o.Duration, forever)
	if o.Iterations > 0 && o.Iterations < uint64(length/o.Interval) {
		length = time.Duration(o.Iterations) * o.Interval
	}
	const mostArrivals = 4e15
	if most := time.Duration(
		mostArrivals / o.RatePerS() * float64(time.Second)); o.RatePerS()*length.Seconds() > mostArrivals {
		length = most
	}
	return plan.Phase{
		Name: PhaseName, Kind: plan.Open, Duration: length, RateFrom: o.RatePerS(), RateTo: o.RatePerS(),
		Operations: o.TotalRequests,
	}
}
