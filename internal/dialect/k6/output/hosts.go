//go:build !nok6

package output

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/types"
)

// placeOf returns the function that applies k6's options about addresses to the connections of brunt's modules, as k6
// applies them to its own (lib/netext/dialer.go): hosts, blockHostnames and blacklistIPs. localIPs has no counterpart,
// so that connections are refused rather than made from another address. It returns nil if none of them is set.
func placeOf(o *lib.Options) func(address string) (string, error) {
	if !o.Hosts.Valid && !o.BlockedHostnames.Valid && len(o.BlacklistIPs) == 0 && !o.LocalIPs.Valid {
		return nil
	}
	return func(address string) (string, error) {
		if o.LocalIPs.Valid {
			return "", fmt.Errorf("connections of brunt's modules can't be made from the addresses of localIPs: remove the option")
		}
		if strings.HasPrefix(address, "/") {
			return address, nil // a Unix socket
		}
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			host, port = strings.Trim(address, "[]"), "" // the protocol's port
		}
		ip := net.ParseIP(host)
		if trie := o.BlockedHostnames.Trie; trie != nil && ip == nil {
			if pattern, blocked := trie.Contains(host); blocked {
				return "", fmt.Errorf("%s is blocked by blockHostnames (%s)", host, pattern)
			}
		}
		if to := configured(o.Hosts.Trie, address, host); to != nil {
			ip = to.IP
			if to.Port != 0 {
				port = strconv.Itoa(to.Port)
			}
			if address = ip.String(); port != "" {
				address = net.JoinHostPort(address, port)
			}
		}
		return address, allowed(o.BlacklistIPs, host, ip)
	}
}

// configured returns where hosts leads an address; nil if nowhere else.
func configured(hosts *types.Hosts, address, host string) *types.Host {
	if hosts == nil {
		return nil
	}
	if to := hosts.Match(address); to != nil {
		return to
	}
	return hosts.Match(host)
}

// lookupTimeout is how long the addresses of a name may take.
const lookupTimeout = 10 * time.Second

// allowed refuses addresses of blacklistIPs. ip is nil if the host is a name, of which no address may be in the list.
func allowed(forbidden []*lib.IPNet, host string, ip net.IP) error {
	if len(forbidden) == 0 {
		return nil
	}
	all := []net.IP{ip}
	if ip == nil {
		var err error
		ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
		defer cancel()
		if all, err = net.DefaultResolver.LookupIP(ctx, "ip", host); err != nil {
			return err
		}
	}
	for _, ip := range all {
		for _, n := range forbidden {
			if n.Contains(ip) {
				return fmt.Errorf("%s (%s) is in blacklistIPs (%s)", host, ip, n)
			}
		}
	}
	return nil
}
