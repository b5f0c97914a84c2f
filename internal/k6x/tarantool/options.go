package tarantool

import (
	"fmt"
	"math"
	"net"
	"strings"
	"time"

	"brunt/internal/balance"
	"brunt/internal/k6x/bind"
	"brunt/internal/plan"
)

// options are what connect was given.
type options struct {
	addresses      []string
	policy         balance.Policy
	balance        string
	weights        []int
	user, password string
	timeout        time.Duration // of a request
	connectTimeout time.Duration
	reconnect      time.Duration // pause between attempts; 0 means growing ones
	maxReconnects  uint          // 0: without end
	rateLimit      uint
	rateAction     uint
	connections    int // to each address
	skipSchema     bool
	objects        bool // rows as objects
}

// key tells pools apart.
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
		"timeout", "reconnect", "max_reconnects", "user", "pass", "rate_limit", "r_limit_action", "concurrency", "skip_schema", "transport", "ssl",
		"balance", "connections", "connect_timeout", "rows")
	o.user, o.password = s.Text("user", ""), s.Text("pass", "")
	o.timeout, o.connectTimeout = s.Time("timeout", 30*time.Second), s.Time("connect_timeout", 5*time.Second)
	o.reconnect = s.Time("reconnect", 0)
	o.maxReconnects = uint(s.Whole("max_reconnects", 0, math.MaxInt32, 0))
	o.rateLimit = uint(s.Whole("rate_limit", 0, math.MaxInt32, 0))
	o.rateAction = uint(s.Whole("r_limit_action", 0, 1, 1)) // the library's RLimitDrop and RLimitWait
	s.Whole("concurrency", 0, 1<<16, 0)                     // it divides the library's locks there; there are none here
	o.connections = int(s.Whole("connections", 1, 1024, 1))
	o.skipSchema = s.Flag("skip_schema", false)
	if transport := s.Text("transport", ""); transport != "" && transport != "plain" || s.Has("ssl") {
		a.Failf("the options: TLS to Tarantool isn't spoken here; remove transport and ssl, or put a TLS proxy before the server")
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

// addresses reads a string, with commas or not, or an array of strings.
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

// complete adds the usual port. A scheme, as connectors take it, is left out.
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
