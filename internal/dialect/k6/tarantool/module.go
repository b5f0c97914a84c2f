// Package tarantool is the JavaScript module k6/x/tarantool. It has the functions of xk6-tarantool. All virtual users
// share the connections, which may go to several addresses.
package tarantool

import (
	"fmt"
	"maps"
	"math"
	"net"
	"strings"
	"time"

	"github.com/grafana/sobek"
	"github.com/tarantool/go-iproto"
	"go.k6.io/k6/v2/js/modules"

	"brunt/internal/dialect/k6/bind"
	"brunt/internal/dialect/k6/session"
	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/protocol/balance"
)

// New returns the module.
func New(s *session.Session) modules.Module {
	return bind.Module(s, func(vu *bind.VU) *sobek.Object {
		i := &instance{vu: vu}
		s.BeforeSettled(i.settleAll)
		functions := map[string]bind.Func{
			"connect": i.connect, "select": i.selectTuples, "delete": i.remove, "update": i.update, "upsert": i.upsert,
			"execute": i.execute,
			"insert":  i.put("insert", iproto.IPROTO_INSERT), "replace": i.put("replace", iproto.IPROTO_REPLACE),
			"call":              i.function("call", iproto.IPROTO_CALL_16, iproto.IPROTO_FUNCTION_NAME, tuples),
			"call17":            i.function("call", iproto.IPROTO_CALL, iproto.IPROTO_FUNCTION_NAME, values),
			"eval":              i.function("eval", iproto.IPROTO_EVAL, iproto.IPROTO_EXPR, values),
			"callAsyncNoReturn": i.callAsync, "resolveCallFutures": i.resolve,
		}
		maps.Copy(functions, bind.Types())
		i.results = newResults(vu)
		return vu.Object("tarantool", functions)
	})
}

// instance is the module of one virtual user.
type instance struct {
	vu      *bind.VU
	results *results
	pending []*exchange // asynchronous calls whose outcome isn't recorded yet
	buffer  []byte
	args    [1]gen.Value  // a request's body
	free    chan struct{} // a channel that can be reused; see signal
}

// connection is what connect returns to scripts.
type connection struct {
	*pool
	objects bool // rows are returned as objects
}

// connect(addresses, options) returns a connection. It dials immediately, except while the script is loaded: that
// happens for every virtual user, and also when no load follows.
func (i *instance) connect(a *bind.Args) (any, error) {
	o := readOptions(a)
	if err := a.Err(); err != nil {
		return nil, err
	}
	shared, err := i.vu.Session.Shared(o.key(), func() (closer, error) { return newPool(i.vu.Session, o), nil })
	if err != nil {
		return nil, err
	}
	p := shared.(*pool)
	if !i.vu.Initial() {
		if _, err := p.pick().get(i.vu.Context()); err != nil {
			return nil, err
		}
	}
	return i.vu.Runtime().ToValue(&connection{p, o.objects}), nil
}

// on reads the call's first argument, the connection.
func (i *instance) on(a *bind.Args) *connection {
	if c, ok := a.At(0).Export().(*connection); ok {
		return c
	}
	a.Fault(0, "the connection", "what connect() returned in this virtual user: it can't come from setup()")
	return nil
}

// send sends a request and waits for its answer.
func (i *instance) send(a *bind.Args, c *connection, r *request) (any, error) {
	if err := a.Err(); err != nil {
		return nil, err
	}
	r.objects = c.objects
	x, err := i.begin(c.pool, r)
	if err != nil {
		return nil, err
	}
	if err := i.wait(x); err != nil {
		return nil, err
	}
	return i.results.later(x), nil
}

// number returns the operation's number in the record.
func (i *instance) number(r *request) int {
	name := r.verb
	if r.on != "" {
		name += " " + r.on
	}
	return i.vu.Operation(name)
}

// note records the outcome of a request.
func (i *instance) note(x *exchange) {
	c := session.Call{Operation: i.number(x.request), Address: x.address, Sent: x.Sent, End: x.end, Attempts: 1,
		Facts: protocol.Facts{BytesIn: x.bytes}, Cut: x.cut}
	if f := x.failure; f != nil {
		c.Class, c.Code, c.Text = f.Class, f.Code, f.Text
	}
	i.vu.Run.Done(c)
}

// options are the arguments of connect.
type options struct {
	addresses      []string
	policy         balance.Policy
	balance        string
	weights        []int
	user, password string
	timeout        time.Duration // of a request
	connectTimeout time.Duration
	reconnect      time.Duration // pause between attempts; 0 means exponential backoff
	maxReconnects  uint          // 0: no limit
	rateLimit      uint
	rateAction     uint
	connections    int // per address
	skipSchema     bool
	objects        bool // return rows as objects
}

// key identifies the pool that these options use.
func (o *options) key() string {
	c := *o
	c.policy, c.objects = nil, false
	return fmt.Sprintf("tarantool %+v", c)
}

const usual = "localhost:3301"

func readOptions(a *bind.Args) *options {
	o := &options{}
	t := plan.Target{Addresses: addresses(a)}
	s := a.Settings(1, "the options",
		"timeout", "reconnect", "max_reconnects", "user", "pass", "rate_limit", "r_limit_action", "concurrency",
		"skip_schema", "transport", "ssl",
		"balance", "connections", "connect_timeout", "rows")
	o.user, o.password = s.Text("user", ""), s.Text("pass", "")
	o.timeout, o.connectTimeout = s.Time("timeout", 30*time.Second), s.Time("connect_timeout", 5*time.Second)
	o.reconnect = s.Time("reconnect", 0)
	o.maxReconnects = uint(s.Whole("max_reconnects", 0, math.MaxInt32, 0))
	o.rateLimit = uint(s.Whole("rate_limit", 0, math.MaxInt32, 0))
	o.rateAction = uint(s.Whole("r_limit_action", 0, 1, 1)) // 0 is the library's RLimitDrop, 1 its RLimitWait
	s.Whole("concurrency", 0, 1<<16, 0)                     // it shards the library's locks; there are none here
	o.connections = int(s.Whole("connections", 1, 1024, 1))
	o.skipSchema = s.Flag("skip_schema", false)
	if transport := s.Text("transport", ""); transport != "" && transport != "plain" || s.Has("ssl") {
		a.Failf(
			"the options: TLS to Tarantool isn't spoken here; remove transport and ssl, or put a TLS proxy before the server")
	}
	switch rows := s.Text("rows", "array"); rows {
	case "array", "object":
		o.objects = rows == "object"
	default:
		a.Failf(`the options: "rows" is %q; give "array" or "object"`, rows)
	}
	if o.addresses, o.weights = t.Weighted(); o.weights != nil {
		o.balance = "weighted"
	}
	o.balance = s.Text("balance", o.balance)
	var err error
	if o.policy, err = balance.New(o.balance, len(o.addresses), o.weights, a.Session.Seed()); err != nil {
		a.Failf("the options: %v", err)
	}
	for k, address := range o.addresses {
		if o.addresses[k], err = complete(address); err != nil {
			a.Failf("argument 1 (the addresses): %v", err)
		}
	}
	return o
}

// addresses reads a string, perhaps with several addresses separated by commas, or an array of strings.
func addresses(a *bind.Args) (all []string) {
	if !a.Has(0) {
		return []string{usual}
	}
	const want = `"host:port" or an array of such`
	list := []any{a.Plain(0)}
	if many, ok := list[0].([]any); ok {
		list = many
	}
	for _, x := range list {
		text, ok := x.(string)
		if !ok {
			a.Fault(0, "the addresses", want)
			break
		}
		for one := range strings.SplitSeq(text, ",") {
			if one = strings.TrimSpace(one); one != "" {
				all = append(all, one)
			}
		}
	}
	if len(all) == 0 {
		return []string{usual}
	}
	return all
}

// complete adds the default port, and removes a scheme that connectors accept.
func complete(address string) (string, error) {
	address = strings.TrimPrefix(strings.TrimPrefix(address, "tcp://"), "tarantool://")
	if strings.HasPrefix(address, "unix:") || strings.HasPrefix(address, "/") {
		return strings.TrimPrefix(address, "unix:"), nil
	}
	if strings.Contains(address, "@") {
		return "", fmt.Errorf("an address names a user; give user and pass in the options")
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		if strings.Contains(address, ":") {
			return "", fmt.Errorf("%q is not host:port", address)
		}
		return net.JoinHostPort(address, "3301"), nil
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return "", fmt.Errorf("%q: %q is not a port", address, port)
	}
	return net.JoinHostPort(host, port), nil
}
