package vegeta

import (
	"context"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"brunt/internal/plan"
)

// setMaxBody parses a size such as 512, 10KB or 1MB, whose units are powers of 1024, or -1.
func (o *attackOptions) setMaxBody(text string) error {
	if text == "-1" {
		o.maxBody = -1
		return nil
	}
	number := strings.TrimRight(text, "BKMGTbkmgt ")
	unit := strings.TrimSuffix(strings.ToUpper(strings.TrimSpace(text[len(number):])), "B")
	shift, known := map[string]int{"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[unit]
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || !known || n > math.MaxInt64>>shift {
		return fmt.Errorf("-max-body %s: give a size such as 10KB or 1MB, or -1", text)
	}
	o.maxBody = n << shift
	return nil
}

// counted returns how many bytes of an answer's body count.
func (o *attackOptions) counted(bytes int64) uint64 {
	if o.maxBody >= 0 {
		bytes = min(bytes, o.maxBody)
	}
	return uint64(bytes)
}

// checkTTL checks -dns-ttl, which has no effect: names are looked up once, or for each connection by the system.
func checkTTL(text string) error {
	if text == "-1" {
		return nil
	}
	if _, err := time.ParseDuration(text); err != nil {
		return fmt.Errorf("-dns-ttl %s: give a time such as 30s, or -1", text)
	}
	return nil
}

// setResolvers parses the addresses of DNS servers, whose port is 53 unless said.
func (o *attackOptions) setResolvers(text string) error {
	for _, address := range strings.Split(text, ",") {
		if !strings.Contains(address, ":") {
			address += ":53"
		}
		host, port, err := net.SplitHostPort(address)
		if _, wrong := strconv.ParseUint(port, 10, 16); err != nil || wrong != nil || net.ParseIP(host) == nil {
			return fmt.Errorf("-resolvers: %q isn't the IP address of a DNS server, such as 10.0.0.2:53", address)
		}
		o.resolvers = append(o.resolvers, address)
	}
	return nil
}

// lookUpWithin is the time for all names.
const lookUpWithin = 30 * time.Second

// lookUp asks the resolvers for the names of a plan's addresses, and has connections go to what they answer.
func (o *attackOptions) lookUp(p *plan.Plan) error {
	if len(o.resolvers) == 0 {
		return nil
	}
	var turn atomic.Uint64
	r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		n := turn.Add(1) - 1
		return (&net.Dialer{}).DialContext(ctx, network, o.resolvers[n%uint64(len(o.resolvers))])
	}}
	ctx, cancel := context.WithTimeout(context.Background(), lookUpWithin)
	defer cancel()
	for _, address := range p.Target.Addresses {
		host, port, err := net.SplitHostPort(address)
		if err != nil || net.ParseIP(host) != nil || o.mapped(address) {
			continue
		}
		all, err := r.LookupIPAddr(ctx, host)
		if err != nil {
			return fmt.Errorf("-resolvers %s don't know %s: %w", strings.Join(o.resolvers, ","), host, err)
		}
		p.Target.Way.Resolve = append(p.Target.Way.Resolve, address+":"+net.JoinHostPort(all[0].String(), port))
	}
	return nil
}

// mapped reports whether another flag says where an address is.
func (o *attackOptions) mapped(address string) bool {
	for _, text := range o.connectTo {
		if strings.HasPrefix(text, address+":") {
			return true
		}
	}
	return o.socket != ""
}
