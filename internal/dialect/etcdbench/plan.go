package etcdbench

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/protocol"
)

// leaseTTL is the time to live of the leases that benchmark keeps alive, in seconds.
const leaseTTL = 100

// mostTime is the longest load whose end the sessions decide.
const mostTime = 24 * time.Hour

// Plan makes the plan for the options, which must have been checked.
func (o *Options) Plan() (*plan.Plan, error) {
	p := &plan.Plan{Name: "etcd-benchmark-" + o.Command, Seed: o.Seed, Target: o.target(), Mix: plan.ByWeight}
	p.Settings = plan.Settings{Retries: -1, ConnectTimeout: o.DialTimeout, Tier: o.Tier, Awake: o.Awake}
	o.sessions(p)
	if o.AutoSync > 0 {
		p.Target.Topology = plan.Topology{Source: "members", Every: o.AutoSync}
	}
	switch o.Command {
	case "put":
		o.put(p)
	case "range":
		o.add(p, "range", 1, o.rangeWords())
	case "txn-put":
		o.txnPut(p)
	case "txn-mixed":
		o.txnMixed(p)
	case "lease-keepalive":
		o.leaseKeepAlive(p)
	case "stm":
		o.stm(p)
	case "watch", "watch-latency", "watch-get":
		o.watch(p)
	}
	if o.TargetLeader {
		for i := range p.Operations {
			p.Operations[i].Route = "primary"
		}
	}
	p.Load = []plan.Phase{o.phase()}
	if problems := p.Validate(); len(problems) > 0 {
		return nil, problems
	}
	return p, nil
}

func (o *Options) target() plan.Target {
	t := plan.Target{Protocol: "etcd", Options: map[string]string{}}
	for _, e := range o.Endpoints {
		t.Addresses = append(t.Addresses, strings.TrimSpace(e))
	}
	t.User, _, _ = o.Credentials()
	t.Password = o.Password
	t.TLS = plan.TLS{Enabled: o.secure(), InsecureSkipVerify: o.Insecure, CAFile: o.CACert, CertFile: o.Cert,
		KeyFile: o.Key}
	if len(t.Addresses) > 1 && !o.TargetLeader {
		t.Balance = plan.Balance{Mode: "round-robin", Per: "request"} // as the client of etcd does
	}
	return t
}

// secure reports whether connections use TLS.
func (o *Options) secure() bool {
	return o.Cert != "" || o.CACert != "" || o.Insecure || strings.HasPrefix(o.Endpoints[0], "https://")
}

// sessions sets how many requests are in flight over how many connections: those of the clients, which share
// connections. Over TLS and with users each client has a connection of its own, since event loops can't have those;
// and in transactions of several requests too.
func (o *Options) sessions(p *plan.Plan) {
	conns := min(o.Conns, o.Clients)
	if o.secure() || o.User != "" || o.Command == "stm" || o.Tier == plan.TierLibrary {
		conns = o.Clients
	}
	p.Settings.Sessions = int(conns)
	p.Settings.Pipeline = int((o.Clients + conns - 1) / conns)
}

// phase returns the only phase of the load: as fast as the clients can, or at a rate.
func (o *Options) phase() plan.Phase {
	p := plan.Phase{Name: o.Command, Kind: plan.Closed, Operations: uint64(o.Total)}
	if p.Operations == 0 { // the sessions say when they are done
		p.Duration = mostTime
	}
	if o.Rate > 0 {
		rate := float64(o.Rate)
		p.Kind, p.RateFrom, p.RateTo = plan.Open, rate, rate
		p.Duration = time.Duration(math.Min((float64(o.Total)/rate+1)*1e9, math.MaxInt64/4))
	}
	return p
}

// add adds an operation that sends a command with params.
func (o *Options) add(p *plan.Plan, name string, weight float64, words []string, params ...plan.Param) {
	r := protocol.Request{Verb: protocol.Command, Words: words}
	p.Operations = append(p.Operations, plan.Operation{Name: name, Weight: weight,
		Steps: []plan.Step{{Request: r, Params: params}}})
}

// key returns a key as benchmark makes them: a varint of a number below --key-space-size.
func (o *Options) key(d gen.Distribution, group, member int) plan.Param {
	return plan.Param{Value: &plan.ValueSpec{Spec: gen.Spec{Type: gen.TypeVarint, Distribution: d, HasRange: true,
		IntHi: int64(o.KeySpace) - 1, Size: o.KeySize, Group: group, Member: member}}}
}

// value returns the value of all puts. It is of letters, since plans are texts.
func (o *Options) value() string {
	if o.ValSize == 0 {
		return ""
	}
	g, err := gen.New(&gen.Spec{Type: gen.TypeString, HasRange: true, IntLo: int64(o.ValSize), IntHi: int64(o.ValSize)},
		gen.NewStream(o.Seed, "etcd-benchmark", "value"), 0, nil)
	if err != nil {
		panic(err) // the specification is constant apart from the length
	}
	var v gen.Value
	g.Value(&v, 0)
	return string(v.B)
}

// literal returns a word that stands for a text.
func literal(text string) string { return strings.ReplaceAll(text, "$", "$$") }

func (o *Options) put(p *plan.Plan) {
	d := gen.Uniform
	if o.Sequential {
		d = gen.Sequential
	}
	o.add(p, "put", 1, []string{"put", literal(o.Prefix) + "$1", o.value()}, o.key(d, 0, 0))
}

func (o *Options) rangeWords() []string {
	words := []string{"get", ""}
	for i, arg := range o.Args {
		words = append(words[:i+1], literal(arg))
	}
	if o.ByPrefix {
		words = append(words[:2], "--prefix")
	}
	if o.Limit > 0 {
		words = append(words, "--limit="+strconv.FormatInt(o.Limit, 10))
	}
	if o.CountOnly {
		words = append(words, "--count-only")
	}
	if o.KeysOnly {
		words = append(words, "--keys-only")
	}
	return append(words, o.consistency()...)
}

func (o *Options) consistency() []string {
	if o.Consistency == "s" {
		return []string{"--consistency=s"}
	}
	return nil
}

func (o *Options) txnPut(p *plan.Plan) {
	words, value := []string{"txn", "then"}, o.value()
	var params []plan.Param
	for i := range o.TxnOps {
		if i > 0 {
			words = append(words, ";")
		}
		words = append(words, "put", fmt.Sprintf("$%d", i+1), value)
		params = append(params, o.key(gen.Sequential, o.TxnOps, i))
	}
	o.add(p, "txn-put", 1, words, params...)
}

// txnMixed makes the reads and writes of txn-mixed. Its --end-key has no effect: the option for all keys that follows
// it in benchmark replaces it.
func (o *Options) txnMixed(p *plan.Plan) {
	words := []string{"txn", "then", "get", "", "--prefix"}
	if o.Limit != 0 {
		words = append(words, "--limit="+strconv.FormatInt(o.Limit, 10))
	}
	o.add(p, "read", o.RWRatio/(1+o.RWRatio), append(words, o.consistency()...))
	o.add(p, "write", 1/(1+o.RWRatio), []string{"txn", "then", "put", "$1", o.value()}, o.key(gen.Sequential, 0, 0))
}

// leaseKeepAlive makes a lease for each client before the load. The leases have IDs of our choice, so that operations
// know them.
func (o *Options) leaseKeepAlive(p *plan.Plan) {
	first := int64(1)<<40 + int64(gen.NewStream(o.Seed, "etcd-benchmark", "leases").Uint64n(0, 1<<40))
	for i := range int64(o.Clients) {
		p.Prepare = append(p.Prepare, protocol.Request{Verb: protocol.Command, Words: []string{"lease-grant",
			strconv.Itoa(leaseTTL), "--id=" + strconv.FormatInt(first+i, 10), "--if-absent"}})
	}
	id := plan.Param{Value: &plan.ValueSpec{Spec: gen.Spec{Type: gen.TypeInteger, Distribution: gen.Sequential,
		HasRange: true, IntLo: first, IntHi: first + int64(o.Clients) - 1}}}
	o.add(p, "lease-keepalive", 1, []string{"lease-keepalive", "$1"}, id)
}

// stm makes the script of stm, see Language.
func (o *Options) stm(p *plan.Plan) {
	s := &o.STM
	p.Scripts = plan.Scripts{Language: languageName, Options: map[string]string{
		"keys": strconv.Itoa(s.Keys), "keys-per-txn": strconv.Itoa(s.KeysPerTxn),
		"txn-wr-percent": strconv.Itoa(s.WritePercent), "isolation": s.Isolation, "stm-locker": s.Locker,
		"val-size": strconv.Itoa(o.ValSize),
	}}
	p.Operations = append(p.Operations, plan.Operation{Name: "stm", Weight: 1, Script: "stm\n"})
}
