package ghz

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"brunt/internal/dialect/calls"
	"brunt/internal/dialect/endpoints"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/server/connection"
)

// server returns where the server is.
func (o *Options) server() *calls.Server {
	s := &calls.Server{Address: strings.TrimPrefix(o.Host, "dns:///"), Authority: o.Authority, Compress: o.Compress,
		Reflection: o.ReflectMetadata}
	if o.Proto != "" {
		s.Protos, s.Folders = []string{o.Proto}, o.ImportPaths
	} else if o.Protoset != "" {
		s.Sets = []string{o.Protoset}
	}
	if !o.Insecure {
		s.TLS = plan.TLS{Enabled: true, InsecureSkipVerify: o.SkipTLS, CAFile: o.CACert, CertFile: o.Cert, KeyFile: o.Key,
			ServerName: o.CName}
	}
	return s
}

// forever is the timeout of -t 0.
const forever = 24 * time.Hour

// grace is how much longer than its deadline a call is waited for, before it is given up.
const grace = time.Second

// Plan makes the plan. It asks the server for the method's description where the plan depends on it: with several
// messages, and for templates that name parts of it.
func (o *Options) Plan(ctx context.Context) (*plan.Plan, error) {
	server := o.server()
	if err := o.certificates(); err != nil {
		return nil, err
	}
	p := &plan.Plan{Name: "ghz-" + endpoints.Name(o.Host), Target: server.Target()}
	p.Settings = plan.Settings{Retries: -1, ConnectTimeout: time.Duration(o.DialTimeout),
		OperationTimeout: time.Duration(o.Timeout) + grace}
	if o.Timeout == 0 {
		p.Settings.OperationTimeout = forever
	}
	scripted, err := o.operation(ctx, p, server)
	if err != nil {
		return nil, err
	}
	if err := o.load(p, scripted); err != nil {
		return nil, err
	}
	return p, nil
}

// certificates returns an error for those that can't be read, although they aren't used without TLS.
func (o *Options) certificates() error {
	t := plan.TLS{Enabled: true, CAFile: o.CACert, CertFile: o.Cert}
	if o.Cert != "" {
		t.KeyFile = o.Key
	}
	_, err := connection.TLS(&t)
	return err
}

// call returns the call without messages. md may be nil for a method that doesn't stream.
func (o *Options) call(md protoreflect.MethodDescriptor) *protocol.RPC {
	c := &protocol.RPC{Method: calls.FullName(o.Call), Deadline: time.Duration(o.Timeout)}
	if md == nil {
		return c
	}
	toServer := md.IsStreamingClient()
	if toServer {
		c.Interval = max(time.Duration(o.StreamInterval), 0)
	} else if md.IsStreamingServer() {
		c.Receive = int(o.StreamCallCount)
	}
	if toServer || md.IsStreamingServer() {
		c.Duration = max(time.Duration(o.StreamCallDuration), 0)
	}
	return c
}

// body is what the calls of a load send.
type body struct {
	messages [][]string // in turn: the messages of a call
	metadata [][2]string
	actions  []string
	encoded  []int // actions of metadata in base64
}

// operation adds the only operation. scripted says that its templates are executed for each call.
func (o *Options) operation(ctx context.Context, p *plan.Plan, server *calls.Server) (scripted bool, err error) {
	b := &body{}
	var list []string
	if !o.binary {
		if list, err = o.template(b); err != nil {
			return false, err
		}
	}
	if err := o.addMetadata(b); err != nil {
		return false, err
	}
	var md protoreflect.MethodDescriptor
	timed := o.StreamInterval > 0 || o.StreamCallDuration > 0
	if o.binary || len(list) > 1 || o.StreamCallCount > 0 || timed || b.named() {
		if md, err = server.Method(ctx, o.Call); err != nil {
			return false, err
		}
	}
	if o.binary {
		if list, err = binaryMessages(o.data, md.Input()); err != nil {
			return false, err
		}
	}
	if err := o.arrange(b, list, md); err != nil {
		return false, err
	}
	values, ok := params(b.actions)
	if !ok || len(b.encoded) > 0 {
		return true, o.script(p, b, md)
	}
	var steps []plan.Step
	for _, messages := range b.messages {
		c := o.call(md)
		c.Messages, c.Metadata = messages, b.metadata
		steps = append(steps, plan.Step{Request: protocol.Request{Verb: protocol.GRPC, RPC: c}, Params: values})
	}
	p.Operations = []plan.Operation{calls.Operation(endpoints.Name(o.Call), steps)}
	return false, nil
}

// template returns the messages of data in JSON, and adds their actions.
func (o *Options) template(b *body) (list []string, err error) {
	data := calls.Template{Text: calls.Escape(string(o.data))}
	if !o.NoTemplates {
		if data, err = split(string(o.data), !o.NoFunctions); err != nil {
			return nil, err
		}
	}
	b.actions = data.Actions
	if list, err = calls.Messages([]byte(data.Text)); err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	return list, nil
}

// named reports whether an action is executed as a template with the names of the method.
func (b *body) named() bool {
	return slices.ContainsFunc(b.actions, func(a string) bool {
		return strings.Contains(a, "Name") && strings.Contains(a, ".") || strings.Contains(a, "Streaming")
	})
}

// addMetadata adds the metadata, in which templates may be.
func (o *Options) addMetadata(b *body) error {
	var all map[string]string
	if len(o.metadata) == 0 {
		return nil
	}
	if err := json.Unmarshal(o.metadata, &all); err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p := calls.Template{Text: calls.Escape(all[name])}
		binary := strings.HasSuffix(name, "-bin")
		if !o.NoTemplates {
			// A text in quotes, so that actions aren't put into quotes of their own.
			quoted, err := split(`"`+all[name]+`"`, !o.NoFunctions)
			if err != nil {
				return fmt.Errorf("metadata %s: %w", name, err)
			}
			p = calls.Template{Text: strings.TrimSuffix(strings.TrimPrefix(quoted.Text, `"`), `"`), Actions: quoted.Actions}
		}
		before := len(b.actions)
		text := calls.Renumber(p.Text, func(i int) int { return i + before })
		switch {
		case binary && len(p.Actions) == 0:
			plain, err := base64.StdEncoding.DecodeString(all[name])
			if err != nil {
				return fmt.Errorf("metadata %s: %w", name, err)
			}
			text = calls.Escape(string(plain))
		case binary && (len(p.Actions) > 1 || p.Text != "$1"):
			return fmt.Errorf("metadata %s: a template must be all of a value that is bytes", name)
		case binary:
			b.encoded = append(b.encoded, len(b.actions))
		}
		b.actions = append(b.actions, p.Actions...)
		b.metadata = append(b.metadata, [2]string{strings.ToLower(name), text})
	}
	return nil
}

// arrange distributes messages over calls: a stream to the server has them all, as many as --stream-call-count says,
// and other calls have one each, in turn.
func (o *Options) arrange(b *body, list []string, md protoreflect.MethodDescriptor) error {
	if md == nil || !md.IsStreamingClient() {
		for _, m := range list {
			b.messages = append(b.messages, []string{m})
		}
		if len(list) == 0 {
			b.messages = [][]string{nil}
		}
		return nil
	}
	if len(list) == 0 {
		return errors.New("no data provided for request")
	}
	const most = 100_000
	n := int(o.StreamCallCount)
	switch {
	case n == 0:
		n = len(list)
	case n > most:
		return fmt.Errorf("--stream-call-count %d: at most %d messages are sent in a call", n, most)
	}
	var all []string
	fresh := len(b.actions)
	for i := range n {
		m := list[i%len(list)]
		if o.StreamDynamicMessages && i > 0 {
			m = b.renew(m, fresh)
		}
		all = append(all, m)
	}
	b.messages = [][]string{all}
	return nil
}

// renew gives a message parameters of its own for the first n actions, as far as it has them.
func (b *body) renew(message string, n int) string {
	fresh := map[int]int{}
	return calls.Renumber(message, func(i int) int {
		if i > n || b.actions[i-1] == ".RequestNumber" {
			return i
		}
		if fresh[i] == 0 {
			b.actions = append(b.actions, b.actions[i-1])
			fresh[i] = len(b.actions)
		}
		return fresh[i]
	})
}

// script makes the operation a script, whose templates are executed for each call.
func (o *Options) script(p *plan.Plan, b *body, md protoreflect.MethodDescriptor) error {
	call := o.call(md)
	c := &templated{Method: call.Method, Messages: b.messages, Metadata: b.metadata, Deadline: call.Deadline,
		Receive: call.Receive, Interval: call.Interval, Duration: call.Duration, Actions: b.actions,
		Encoded: b.encoded, Test: o.Name, Conns: int(o.Connections),
		Functions: !o.NoFunctions}
	if md != nil {
		c.Call = callNames{string(md.FullName()), string(md.Name()), string(md.Parent().Name()), string(md.Input().Name()),
			string(md.Output().Name()), md.IsStreamingClient(), md.IsStreamingServer()}
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	check := &compiled{templated: *c}
	if err := check.check(); err != nil {
		return fmt.Errorf("data: %w", err)
	}
	p.Scripts = plan.Scripts{Language: languageName}
	p.Operations = []plan.Operation{{Name: endpoints.Name(o.Call), Weight: 1, Script: string(text) + "\n"}}
	return nil
}

// mostAsync is the greatest number of calls in flight of a load that doesn't wait for answers.
const mostAsync = 10_000

// load sets the phases and sessions.
func (o *Options) load(p *plan.Plan, scripted bool) error {
	inFlight := int(o.Concurrency)
	if o.CSchedule != "const" {
		inFlight = int(max(o.CStart, o.CEnd, o.Concurrency))
	}
	open := o.RPS > 0 || o.LoadSchedule != "const"
	switch {
	case open && o.LoadSchedule != "const":
		p.Load = o.stepped()
	case open:
		ph := plan.Phase{Name: "ghz", Kind: plan.Open, RateFrom: float64(o.RPS), RateTo: float64(o.RPS),
			Duration: time.Duration(o.Duration)}
		o.limit(&ph, float64(o.Total))
		p.Load = []plan.Phase{ph}
	case o.CSchedule != "const":
		p.Load, inFlight = o.crowds()
		if o.Duration == 0 || o.MaxDuration > 0 {
			p.Mix = plan.ByCount
			p.Operations[0].SetCount(uint64(o.Total))
		}
	default:
		p.Load = []plan.Phase{{Name: "ghz", Kind: plan.Closed, Operations: uint64(o.Total),
			Duration: time.Duration(o.Duration)}}
	}
	if o.Duration > 0 && o.MaxDuration == 0 {
		for i := range p.Load {
			p.Load[i].Operations = 0
		}
	}
	if o.Async && open {
		inFlight = min(max(inFlight, int(o.Total)), mostAsync)
	}
	if len(p.Load) > plan.MaxSteps {
		return fmt.Errorf("the schedule has more than %d steps: give longer ones, or a total time", plan.MaxSteps)
	}
	connections := int(o.Connections)
	if o.CSchedule != "const" && !open || scripted {
		connections = inFlight
	}
	p.Settings.Sessions, p.Settings.Pipeline = calls.Spread(inFlight, connections, !o.Insecure, "")
	return nil
}

// limit ends an open phase after a number of arrivals, if its duration doesn't end it before.
func (o *Options) limit(ph *plan.Phase, arrivals float64) {
	needs := time.Duration(arrivals/ph.RateFrom*float64(time.Second)) + time.Second
	ph.Operations = uint64(arrivals)
	if ph.Duration == 0 || needs < ph.Duration {
		ph.Duration = needs
	}
}

// stepped returns the phases of a load schedule. As in ghz, a line has steps of a second.
func (o *Options) stepped() (all []plan.Phase) {
	left := float64(o.Total)
	end := time.Duration(o.Duration)
	every, until := time.Duration(o.LoadStepDuration), o.constantAt()
	for at := time.Duration(0); left >= 1 && (end == 0 || at < end) && len(all) <= plan.MaxSteps; {
		rate := o.rateAt(at, until)
		last := until > 0 && at >= until
		d := every
		if last {
			d = 0
		} else if until > 0 {
			d = min(d, until-at)
		}
		if end > 0 && (d == 0 || at+d > end) {
			d = end - at
		}
		if rate <= 0 {
			if last || o.LoadStep < 0 {
				return all
			}
			all, at = append(all, plan.Phase{Name: fmt.Sprintf("step %d", len(all)+1), Kind: plan.Pause, Duration: d}), at+d
			continue
		}
		ph := plan.Phase{Name: fmt.Sprintf("step %d", len(all)+1), Kind: plan.Open, RateFrom: rate, RateTo: rate, Duration: d}
		if d == 0 || rate*d.Seconds() >= left {
			o.limit(&ph, left)
			return append(all, ph)
		}
		all, left, at = append(all, ph), left-rate*d.Seconds(), at+d
		if last {
			return all
		}
	}
	return all
}

// constantAt returns when the rate of a schedule stops to change; 0: never.
func (o *Options) constantAt() time.Duration {
	if o.LoadMaxDuration > 0 {
		return time.Duration(o.LoadMaxDuration)
	}
	if o.LoadEnd == 0 || (o.LoadStep > 0) != (o.LoadEnd > o.LoadStart) {
		return 0
	}
	steps := (int64(o.LoadEnd)-int64(o.LoadStart))/int64(o.LoadStep) + 1 // the first step beyond the end
	return time.Duration(steps) * time.Duration(o.LoadStepDuration)
}

// rateAt returns the rate at a time, in calls a second. until is when it stops to change.
func (o *Options) rateAt(at, until time.Duration) float64 {
	stepped := func(at time.Duration) float64 {
		return float64(o.LoadStart) + float64(o.LoadStep)*float64(at/time.Duration(o.LoadStepDuration))
	}
	switch {
	case until == 0 || at < until:
		return max(stepped(at), 0)
	case o.LoadEnd > 0:
		return float64(o.LoadEnd)
	}
	return max(stepped(until), 0)
}

// crowds returns the phases of a concurrency schedule, and the greatest number of calls in flight.
func (o *Options) crowds() (all []plan.Phase, most int) {
	every, end := time.Duration(o.CStepTime), time.Duration(o.Duration)
	up, n, at := o.CStep > 0, int(o.CStart), time.Duration(0)
	add := func(d time.Duration) {
		ph := plan.Phase{Name: fmt.Sprintf("crowd %d", len(all)+1), Kind: plan.Closed, Sessions: n, Duration: d}
		if n == 0 {
			ph.Kind = plan.Pause
		}
		all = append(all, ph)
		most = max(most, n)
	}
	for len(all) <= plan.MaxSteps {
		over := o.CMaxDuration > 0 && at+every >= time.Duration(o.CMaxDuration)
		reached := o.CMaxDuration == 0 && (up && o.CEnd > 0 && n >= int(o.CEnd) || !up && n <= int(o.CEnd))
		if reached || end > 0 && at+every >= end {
			break
		}
		add(every)
		at += every
		if over {
			if o.CEnd > 0 && up == (int(o.CEnd) >= n) {
				n = int(o.CEnd)
			}
			break
		}
		if n = max(n+o.CStep, 1); up && o.CEnd > 0 && o.CMaxDuration == 0 {
			n = min(n, max(int(o.CEnd), int(o.CStart)))
		}
	}
	rest := time.Duration(0)
	if end > 0 {
		rest = end - at
	}
	add(rest)
	return all, most
}
