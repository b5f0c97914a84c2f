// Package topology discovers the nodes of a cluster and their roles, before a load and during it. If only the
// servers of one protocol know them, it asks through that protocol's driver.
package topology

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"brunt/internal/protocol"
)

// Source discovers the nodes of a cluster.
type Source interface {
	// Discover returns the nodes, with addresses of the form host:port. all says that the list is complete: nodes
	// that it doesn't name have left.
	Discover(ctx context.Context) (nodes []protocol.Node, all bool, err error)
}

// Options are the options of a Source.
type Options struct {
	Source   string // "roles", "dns", "srv", "patroni", "sentinel" or "members"
	From     []string
	Name     string // srv: the service; sentinel: the cluster
	Resolver string // dns, srv: host:port of the DNS server; "" means the system's
	Port     string // default port, for names without one
	Driver   protocol.Driver
	Like     protocol.Target // credentials and options of the nodes
	Nodes    func() []string // roles: the addresses to ask
	Roles    bool            // ask nodes for their roles if the source doesn't report them
}

// New returns the source for o. An error is one line for the user.
func New(o Options) (Source, error) {
	reader, tells := o.Driver.(protocol.RoleReader)
	needsRoles := o.Source == "roles" || o.Roles && (o.Source == "dns" || o.Source == "srv")
	if needsRoles && !tells {
		return nil, fmt.Errorf("servers of protocol %s can't be asked for their roles: remove route, or use topology: patroni",
			o.Driver.Name())
	}
	asked := roles{reader: reader, like: o.Like}
	switch o.Source {
	case "roles":
		return roles{reader: reader, like: o.Like, nodes: o.Nodes}, nil
	case "dns", "srv":
		names := dns{from: o.From, service: o.Name, port: o.Port, resolver: resolverOf(o.Resolver)}
		if o.Source == "dns" {
			names.service = ""
		}
		if needsRoles {
			return withRoles{names, asked}, nil
		}
		return names, nil
	case "patroni":
		return patroni{from: o.From, port: o.Port}, nil
	case "sentinel", "members":
		d, ok := o.Driver.(protocol.Discoverer)
		if !ok || !d.Discovers(o.Source) {
			return nil, fmt.Errorf("topology: %s isn't known to protocol %s", o.Source, o.Driver.Name())
		}
		return members{driver: d, o: o}, nil
	}
	return nil, fmt.Errorf("unknown topology %q", o.Source)
}

// resolverOf returns a resolver that uses the DNS server at an address; "" means the system's resolver.
func resolverOf(server string) *net.Resolver {
	if server == "" {
		return net.DefaultResolver
	}
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, server)
	}}
}

// dns is a Source that returns the addresses of names (A, AAAA), or of a service's records (SRV, RFC 2782).
type dns struct {
	from     []string // names as host:port or host
	service  string   // "": use from
	port     string
	resolver *net.Resolver
}

func (d dns) Discover(ctx context.Context) (nodes []protocol.Node, all bool, err error) {
	names := d.from
	if d.service != "" {
		_, records, err := d.resolver.LookupSRV(ctx, "", "", d.service)
		if err != nil {
			return nil, false, fmt.Errorf("look up the service %s: %w", d.service, err)
		}
		names = nil
		for _, r := range records {
			names = append(names, net.JoinHostPort(strings.TrimSuffix(r.Target, "."), strconv.Itoa(int(r.Port))))
		}
	}
	for _, name := range names {
		host, port, err := net.SplitHostPort(name)
		if err != nil {
			host, port = name, d.port
		}
		addresses, err := d.resolver.LookupHost(ctx, host)
		if err != nil {
			return nil, false, fmt.Errorf("look up %s: %w", host, err)
		}
		for _, a := range addresses {
			nodes = append(nodes, protocol.Node{Address: net.JoinHostPort(a, port)})
		}
	}
	slices.SortFunc(nodes, func(a, b protocol.Node) int { return cmp.Compare(a.Address, b.Address) })
	return slices.Compact(nodes), true, nil
}

// roles is a Source that asks each node for its role.
type roles struct {
	reader protocol.RoleReader
	like   protocol.Target
	nodes  func() []string
}

func (r roles) Discover(ctx context.Context) (nodes []protocol.Node, all bool, err error) {
	for _, address := range r.nodes() {
		nodes = append(nodes, protocol.Node{Address: address})
	}
	answered, err := r.ask(ctx, nodes)
	return answered, false, err
}

// ask returns the nodes that answered, with their roles. It fails if none answered.
func (r roles) ask(ctx context.Context, nodes []protocol.Node) (answered []protocol.Node, err error) {
	failures := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i := range nodes {
		wg.Go(func() {
			t := r.like
			t.Address = nodes[i].Address
			nodes[i].Role, failures[i] = r.reader.Role(ctx, t)
		})
	}
	wg.Wait()
	for i := range nodes {
		if failures[i] == nil {
			answered = append(answered, nodes[i])
		}
	}
	if len(answered) == 0 {
		return nil, errors.Join(failures...)
	}
	return answered, nil
}

// withRoles is a Source that asks the nodes of another Source for their roles. Nodes that don't answer are
// members nevertheless.
type withRoles struct {
	Source
	roles roles
}

func (w withRoles) Discover(ctx context.Context) (nodes []protocol.Node, all bool, err error) {
	if nodes, all, err = w.Source.Discover(ctx); err != nil {
		return nil, false, err
	}
	_, _ = w.roles.ask(ctx, nodes) // a node that doesn't answer has no role for now
	return nodes, all, nil
}

// members is a Source that reads the cluster's own list of members.
type members struct {
	driver protocol.Discoverer
	o      Options
}

func (m members) Discover(ctx context.Context) (nodes []protocol.Node, all bool, err error) {
	var failures []error
	for _, from := range m.o.From {
		t := m.o.Like
		t.Address = from
		nodes, err := m.driver.Discover(ctx, t, m.o.Name)
		if err == nil {
			return nodes, true, nil
		}
		failures = append(failures, fmt.Errorf("%s: %w", from, err))
	}
	return nil, false, errors.Join(failures...)
}

// Watch updates nodes from a source at the given interval, and when soon receives, until ctx ends. If the source
// fails or returns no node, nothing changes; tell is called with the first error of each series of failures.
func Watch(ctx context.Context, s Source, nodes *protocol.Nodes, like protocol.Target, every time.Duration,
	soon <-chan struct{}, tell func(error)) {
	Every(ctx, every, soon, func(ctx context.Context) error { return Look(ctx, s, nodes, like) }, tell)
}

// Every calls look at the given interval, and when soon receives, until ctx ends. tell is called with the first
// of consecutive errors.
func Every(ctx context.Context, every time.Duration, soon <-chan struct{}, look func(context.Context) error,
	tell func(error)) {
	told := false
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-soon:
		case <-timer.C:
		}
		err := look(ctx)
		if err != nil && !told && ctx.Err() == nil {
			tell(err)
		}
		told = err != nil
		timer.Reset(every)
		if !protocol.Sleep(ctx, min(every, leastGap)) {
			return
		}
	}
}

// leastGap is the minimum time between two calls of look.
const leastGap = 100 * time.Millisecond

// askWithin is the timeout of one Discover.
const askWithin = 5 * time.Second

// ErrNone is the error of Look if a source returns no node.
var ErrNone = errors.New("it returns no node")

// Look queries a source once and updates nodes.
func Look(ctx context.Context, s Source, nodes *protocol.Nodes, like protocol.Target) error {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	found, all, err := s.Discover(ctx)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return ErrNone
	}
	nodes.Update(found, all, like)
	return nil
}
