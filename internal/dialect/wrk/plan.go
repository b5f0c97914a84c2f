package wrk

import (
	"cmp"
	"time"

	"brunt/internal/dialect/endpoints"
	"brunt/internal/plan"
)

// sampling is the length of the slices of the record: that of wrk's samples of rates.
const sampling = 100 * time.Millisecond

// Plan makes the plan of a command line: a closed load, or wrk2's open one, of one request or of a script.
func (o *Options) Plan() (*plan.Plan, error) {
	request := endpoints.Request{Method: "GET", URL: o.target, Header: o.Headers}
	if !request.Gave("User-Agent") {
		request.Header = append(request.Header, [2]string{"User-Agent", ""})
	}
	p := &plan.Plan{Name: o.Program + "-" + endpoints.Address(o.target)}
	if err := endpoints.SetTarget(p, []endpoints.Request{request}); err != nil {
		return nil, err
	}
	endpoints.Secure(&p.Target, true, "", "", "", false) // as wrk
	p.Target.Options["http2"] = "off"
	if o.Script == "" {
		endpoints.AddOperation(p, endpoints.Title(&request, false), 1, []endpoints.Request{request}, nil, plan.Pick{})
	} else {
		options, text := o.scriptOptions()
		p.Scripts = plan.Scripts{Language: Language{}.Name(), Options: options}
		p.Operations = []plan.Operation{{Name: endpoints.Name(o.Script), Weight: 1, Script: cmp.Or(text, "\n")}}
	}
	phase := plan.Phase{Name: o.Program, Kind: plan.Closed, Duration: o.Duration}
	if o.Rate > 0 {
		phase = plan.Phase{Name: o.Program, Kind: plan.Open, Duration: o.Duration, RateFrom: o.Rate, RateTo: o.Rate}
	}
	p.Load = []plan.Phase{phase}
	p.Settings = plan.Settings{Sessions: o.Connections, OperationTimeout: o.Timeout, Retries: -1, EndOnTime: true,
		Interval: sampling}
	return p, nil
}
