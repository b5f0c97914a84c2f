package tank

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	grpccodes "google.golang.org/grpc/codes"

	"brunt/internal/dialect/calls"
	"brunt/internal/plan"
	"brunt/internal/protocol"
)

// callGun is the name of Pandora's gun that sends gRPC, and callAmmo that of its lists. callPlay is the name of the gun
// that plays scenarios, and of these.
const (
	callGun  = "grpc"
	callAmmo = "grpc/json"
	callPlay = "grpc/scenario"
)

// callGunKeys are the keys of the gun.
var callGunKeys = []string{"type", "target", "timeout", "tls", "reflect_port", "reflect_metadata", "dial_options",
	"answlog", "shared-client"}

// usualCallTimeout is Pandora's timeout of a call, usualDialTimeout that of a connection.
const (
	usualCallTimeout = 15 * time.Second
	usualDialTimeout = time.Second
)

// callGrace is how much longer than its deadline a call is waited for.
const callGrace = time.Second

// callEntry is a gRPC call of a list.
type callEntry struct {
	Method   string            `json:"method"` // package.Service/Method
	Message  string            `json:"message"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Deadline time.Duration     `json:"deadline"`
}

// request returns the call in the form that drivers use.
func (e *callEntry) request() protocol.Request {
	r := &protocol.RPC{Method: e.Method, Unary: true, Messages: []string{calls.Escape(e.Message)}, Deadline: e.Deadline}
	for _, name := range sortedKeys(e.Metadata) {
		r.Metadata = append(r.Metadata, [2]string{strings.ToLower(name), calls.Escape(e.Metadata[name])})
	}
	return protocol.Request{Verb: protocol.GRPC, RPC: r}
}

// call returns a copy of a call with marks instead of its secrets.
func (v *veil) call(e *callEntry) *callEntry {
	if e == nil {
		return nil
	}
	out := &callEntry{Method: e.Method, Message: v.Text(e.Message), Deadline: e.Deadline, Metadata: maps.Clone(e.Metadata)}
	for name, value := range out.Metadata {
		out.Metadata[name] = v.Value(name, value)
	}
	return out
}

// unveiled puts the secrets of a call back.
func (e *callEntry) unveiled(unveil func(string) string) {
	e.Message = unveil(e.Message)
	for name, value := range e.Metadata {
		e.Metadata[name] = unveil(value)
	}
}

// callPool reads a pool whose gun sends gRPC.
func (c *Config) callPool(p, g, a *object, gun string) {
	if g = c.object(g.node, "gun", callGunKeys...); g == nil {
		return
	}
	s := &stream{node: p.node, generator: "pandora", calls: &calls.Server{}, connectMs: usualDialTimeout.Milliseconds()}
	s.tls.on = c.flag(g.get("tls"), "tls", false)
	s.address = c.address(g, "target", nil, s.tls.on, "the gun")
	s.calls.Address = s.address
	if s.tls.on {
		s.calls.TLS = plan.TLS{Enabled: true, InsecureSkipVerify: true}
	}
	deadline := usualCallTimeout
	if n := g.get("timeout"); n != nil {
		deadline = cmp.Or(c.duration(n, "timeout"), deadline)
	}
	s.timeoutMs = (deadline + callGrace).Milliseconds()
	if n := g.get("dial_options"); n != nil {
		if o := c.object(n, "dial_options", "authority", "timeout"); o != nil {
			s.calls.Authority = c.text(o.get("authority"), "authority")
			if n := o.get("timeout"); n != nil {
				s.connectMs = cmp.Or(c.duration(n, "timeout").Milliseconds(), s.connectMs)
			}
		}
	}
	if port := c.whole(g.get("reflect_port"), "reflect_port", 0); port > 0 {
		s.calls.ReflectPort = strconv.Itoa(port)
	}
	if n := g.get("reflect_metadata"); n != nil {
		s.calls.Reflection = c.strings(n, "reflect_metadata")
	}
	if n := g.get("shared-client"); n != nil && gun == callGun {
		o := c.object(n, "shared-client", "enabled", "client-number")
		if o != nil && c.flag(o.get("enabled"), "enabled", false) {
			s.clients = max(c.whole(o.get("client-number"), "client-number", 1), 1)
		}
	}
	c.unfollowed(g)
	c.callAmmo(a, s, gun, deadline)
	c.finishPool(p, s)
}

// callAmmo reads the scenarios, or the list of calls.
func (c *Config) callAmmo(a *object, s *stream, gun string, deadline time.Duration) {
	o := c.ammoOptions(a, s)
	want := map[string]string{callGun: callAmmo, callPlay: callPlay}[gun]
	if kind := c.text(a.get("type"), "type"); kind != want {
		c.fault(cmp.Or(a.get("type"), a.node), "ammo %q doesn't fit the gun %q; use %s", kind, gun, want)
		return
	}
	file, text := c.ammoFile(o)
	if gun == callPlay {
		c.scenarios(o.get("file"), file, s, deadline)
		return
	}
	if file == "" && text == nil {
		c.fault(a.node, "ammo has no file; add one")
		return
	}
	var err error
	if text == nil {
		text, err = readFile(expand(file))
	}
	if err == nil {
		var skipped int
		on := c.flag(cmp.Or(o.get("continue_on_error"), o.get("continueonerror")), "continue_on_error", false)
		if s.list, skipped, err = readCalls(file, text, deadline, on); skipped > 0 {
			c.note("pandora: %d lines of %s are no calls; continue_on_error leaves them out", skipped, cmp.Or(file, "source"))
		}
	}
	if err != nil {
		c.faultOf(o.get("file"), file, err)
		return
	}
	if chosen := c.texts(o.get("chosencases"), "chosencases"); len(chosen) > 0 {
		s.list.shots = slices.DeleteFunc(s.list.shots, func(sh shot) bool { return !slices.Contains(chosen, sh.tag) })
		if len(s.list.shots) == 0 {
			c.fault(o.get("chosencases"), "no call has one of the chosen tags %s", strings.Join(chosen, ", "))
			s.list = nil
		}
	}
}

// readCalls reads a list of calls: an object in JSON on each line. If on is set, other lines are skipped.
func readCalls(name string, text []byte, deadline time.Duration, on bool) (a *ammo, skipped int, err error) {
	p := scanner{name: cmp.Or(name, "source"), rest: unmarked(text)}
	a = &ammo{}
	for {
		line, ok := p.next()
		if !ok {
			break
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		sh, err := readCall(line, deadline)
		switch {
		case err == nil:
			a.shots = append(a.shots, sh)
		case on:
			skipped++
		default:
			return nil, 0, p.fault("%v", err)
		}
	}
	if len(a.shots) == 0 {
		return nil, skipped, fmt.Errorf("%s: no call in this list", p.name)
	}
	return a, skipped, nil
}

// readCall reads a call: an object in JSON.
func readCall(line string, deadline time.Duration) (shot, error) {
	var e struct {
		Tag      string            `json:"tag"`
		Call     string            `json:"call"`
		Metadata map[string]string `json:"metadata"`
		Payload  json.RawMessage   `json:"payload"`
	}
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "unexpected end") {
			return shot{}, errors.New("the call ends in the middle")
		}
		return shot{}, fmt.Errorf("isn't a call in JSON: %w", err)
	}
	if !strings.Contains(strings.Trim(e.Call, "./"), ".") && !strings.Contains(e.Call, "/") {
		return shot{}, fmt.Errorf("call %q is no method; write package.Service.Method", e.Call)
	}
	message := bytes.TrimSpace(e.Payload)
	if len(message) == 0 || string(message) == "null" {
		message = []byte("{}")
	}
	if message[0] != '{' {
		return shot{}, errors.New("the payload isn't an object")
	}
	return shot{tag: e.Tag, tagged: true, call: &callEntry{Method: calls.FullName(e.Call),
		Message: string(message), Metadata: e.Metadata, Deadline: deadline}}, nil
}

// callStatuses are the HTTP statuses by which Pandora reports those of gRPC, by number; 0 stands for otherStatus.
var callStatuses = [...]int{0: 200, 1: 499, 3: 400, 4: lateStatus, 5: 404, 6: 409, 7: 403, 8: 429, 9: 400, 10: 409,
	11: 400, 12: 501, 14: goneStatus, 16: 401}

const (
	wrongStatus = 400 // the message doesn't fit the method
	lateStatus  = 504
	goneStatus  = 503
	otherStatus = 500
)

// callStatus returns the HTTP status by which Pandora reports the end of a call.
func callStatus(class protocol.Class, code, text string) int {
	for number, status := range callStatuses {
		if status != 0 && grpccodes.Code(number).String() == code {
			return status
		}
	}
	switch {
	case class == protocol.OK:
		return callStatuses[0]
	case class == protocol.Client:
		return wrongStatus
	case protocol.Overdue(class, text):
		return lateStatus
	case class == protocol.Connect || class == protocol.UnknownOutcome:
		return goneStatus
	}
	return otherStatus
}
