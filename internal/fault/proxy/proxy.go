// Package proxy is a TCP proxy that can make the network in front of a server bad, and good again, as a network would:
// what a black hole holds back arrives when it is healed, connections are reset by RST at once although nothing is sent
// over them, and random delays are functions of a seed.
//
// What a proxy of this kind can't do: lose single packets, since the kernel sends them again unseen, and keep a
// connection from being accepted, since the kernel does that too. So a client in front of a black hole connects, and
// then hears nothing.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Config is what a proxy needs. The zero values mean what is said next to them.
type Config struct {
	Listen      string        // host:port; port 0 means any that is free
	To          string        // host:port of the server
	Seed        uint64        // of random delays
	DialTimeout time.Duration // of connections to the server; 5 s
	// Buffer bounds how many bytes of a connection and direction are on the way because of a delay; 1 MiB. What is in the
	// kernel's buffers is bounded by the kernel.
	Buffer int
}

// Proxy is a proxy that is listening. Its methods are safe for concurrent use.
//
// A rule that says HalfOpen ends the connections to the server that are there when it is set, and leaves those to
// clients open: what these send is never answered, and when the rule is gone they end by RST, as those of a machine
// that has started again do. New connections work.
type Proxy struct {
	config Config
	listen net.Listener
	rules  atomic.Pointer[rules]
	ctx    context.Context
	stop   context.CancelFunc
	wait   sync.WaitGroup

	mu    sync.Mutex
	links map[*link]struct{}
	made  uint64 // connections so far
}

// Listen starts a proxy. The error says what to do, in one line.
func Listen(c Config) (*Proxy, error) {
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("the proxy to %s can't listen at %s: %w; give it another address, or end what listens there",
			c.To, c.Listen, errors.Unwrap(err))
	}
	if c.DialTimeout <= 0 {
		c.DialTimeout = 5 * time.Second
	}
	if c.Buffer <= 0 {
		c.Buffer = 1 << 20
	}
	p := &Proxy{config: c, listen: l, links: map[*link]struct{}{}}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.rules.Store(&rules{changed: make(chan struct{})})
	p.wait.Go(p.accept)
	return p, nil
}

// Address is where the proxy listens.
func (p *Proxy) Address() string { return p.listen.Addr().String() }

// Connections is how many connections there are.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Set sets a rule, which must not be changed any more. It returns when the rule holds: connections that it ends have
// been ended.
func (p *Proxy) Set(r *Rule) {
	p.replace(func(all []*Rule) []*Rule { return append(all, r) })
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		switch {
		case !r.of(l.client):
		case r.Reset:
			l.reset()
		case r.HalfOpen:
			l.halve()
		}
	}
}

// Clear takes a rule away; one that isn't set is nothing. It returns when what the rule held back is on its way.
func (p *Proxy) Clear(r *Rule) {
	p.replace(func(all []*Rule) []*Rule {
		return slices.DeleteFunc(all, func(have *Rule) bool { return have == r })
	})
	if !r.HalfOpen {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		if l.halved && r.of(l.client) {
			l.reset()
		}
	}
}

func (p *Proxy) replace(edit func([]*Rule) []*Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.rules.Load()
	p.rules.Store(&rules{all: edit(slices.Clone(old.all)), changed: make(chan struct{})})
	close(old.changed)
}

// Close ends the proxy and its connections, and waits until they have ended.
func (p *Proxy) Close() error {
	p.stop()
	err := p.listen.Close()
	p.mu.Lock()
	for l := range p.links {
		l.close()
	}
	p.mu.Unlock()
	p.wait.Wait()
	return err
}

func (p *Proxy) accept() {
	const pause = 10 * time.Millisecond // after a failure, such as a lack of file descriptors
	for p.ctx.Err() == nil {
		c, err := p.listen.Accept()
		if err != nil {
			if p.sleep(pause) {
				continue
			}
			return
		}
		p.wait.Go(func() { p.serve(c.(*net.TCPConn)) })
	}
}

// sleep waits and reports whether the proxy is still there.
func (p *Proxy) sleep(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-p.ctx.Done():
		return false
	}
}

// serve carries a connection from its first moment to its last.
func (p *Proxy) serve(c *net.TCPConn) {
	l := &link{proxy: p, down: c, ended: make(chan struct{})}
	if a, err := netip.ParseAddrPort(c.RemoteAddr().String()); err == nil {
		l.client = a.Addr().Unmap()
	}
	p.mu.Lock()
	p.made++
	l.number = p.made
	p.links[l] = struct{}{}
	reset, wait := p.rules.Load().opening(l.client)
	if reset {
		l.reset()
	}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.links, l)
		p.mu.Unlock()
	}()
	defer l.close()
	if reset || !l.hold(wait) || !l.dial() {
		return
	}
	l.carry()
}
